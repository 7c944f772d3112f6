"""The number of threads follows what is faster, and trials cost little."""

import pytest
import torch

from grpo_agent.agents.generator.openmp import release_idle_threads
from grpo_agent.agents.generator.thread_count import ThreadCount

CPU = torch.device("cpu")


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def drive(count: ThreadCount, steps: int, one_s: float, all_s: float) -> list[int]:
    used = []
    for _ in range(steps):
        used.append(count.current)
        count.observe(one_s if count.current == 1 else all_s)
    return used


@pytest.mark.usefixtures("four_threads")
def test_free_cores_are_all_used_and_trials_grow_seldom() -> None:
    count = ThreadCount(CPU)
    used = drive(count, 1000, one_s=0.06, all_s=0.03)
    assert used.count(1) <= 24
    assert count.current == 4


@pytest.mark.usefixtures("four_threads")
def test_busy_cores_make_it_use_one_thread_and_free_ones_all_again() -> None:
    count = ThreadCount(CPU)
    drive(count, 100, one_s=0.06, all_s=0.03)
    busy = drive(count, 200, one_s=0.12, all_s=1.0)
    assert busy.count(4) <= 12
    assert torch.get_num_threads() == 1
    free = drive(count, 400, one_s=0.06, all_s=0.03)
    assert free.count(4) >= 300


@pytest.mark.usefixtures("four_threads")
def test_reset_gives_torch_its_threads_back() -> None:
    count = ThreadCount(CPU)
    drive(count, 50, one_s=0.01, all_s=1.0)
    assert torch.get_num_threads() == 1
    count.reset()
    assert torch.get_num_threads() == 4


def test_a_single_core_or_a_gpu_is_left_alone() -> None:
    before = torch.get_num_threads()
    for device in (torch.device("cuda"), CPU):
        count = ThreadCount(device)
        if device == CPU and before > 1:
            continue
        assert set(drive(count, 100, one_s=0.01, all_s=1.0)) == {before}


@pytest.mark.usefixtures("four_threads")
def test_a_sudden_slowness_costs_one_step() -> None:
    count = ThreadCount(CPU)
    drive(count, 20, one_s=0.06, all_s=0.03)
    assert drive(count, 8, one_s=0.08, all_s=1.0).count(4) == 1


@pytest.mark.usefixtures("four_threads")
def test_a_hiccup_is_made_good_within_a_few_steps() -> None:
    count = ThreadCount(CPU)
    drive(count, 20, one_s=0.06, all_s=0.03)
    count.observe(0.5)
    assert drive(count, 40, one_s=0.06, all_s=0.03).count(1) <= 14


@pytest.mark.usefixtures("four_threads")
def test_a_new_batch_of_requests_soon_tries_all_threads_again() -> None:
    count = ThreadCount(CPU)
    drive(count, 300, one_s=0.06, all_s=1.0)
    count.reset()
    count.begin()
    assert drive(count, 20, one_s=0.06, all_s=0.03).count(4) >= 12


@pytest.mark.usefixtures("four_threads")
def test_releasing_idle_threads_leaves_results_and_the_count_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "30000")
    before = torch.get_num_threads()
    matrix = torch.randn(300, 300)
    product = matrix @ matrix
    release_idle_threads()
    release_idle_threads()
    torch.testing.assert_close(matrix @ matrix, product)
    assert torch.get_num_threads() == before
