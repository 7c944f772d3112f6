import os
import signal
import threading
from queue import SimpleQueue
from types import SimpleNamespace

import pytest
from fake_engine import FakeEngine, make_trainer
from transformers import TrainerControl, TrainerState

from grpo_agent.trainer.callback import GracefulStop, TimeBudget, latest_checkpoint
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.rollout_func import RolloutFunc

ARGS = SimpleNamespace(gradient_accumulation_steps=1, steps_per_generation=1, num_iterations=1)


def at(step):
    return TrainerState(global_step=step)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    rollout = RolloutFunc(FakeEngine())
    train(make_trainer(folder, rollout, max_steps=2, save_strategy="steps", save_steps=1))
    rollout.close()
    return folder


@pytest.fixture
def run(checkpoints, tmp_path):
    for path in checkpoints.glob("checkpoint-*"):
        (tmp_path / path.name).mkdir()
        for file in path.iterdir():
            (tmp_path / path.name / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_the_newest_checkpoint_is_found(run):
    assert latest_checkpoint(run).name == "checkpoint-2"


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth"])
def test_a_checkpoint_with_a_file_cut_short_is_passed_over(run, name):
    path = run / "checkpoint-2" / name
    path.write_bytes(path.read_bytes()[:-20])
    assert latest_checkpoint(run).name == "checkpoint-1"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"global_step": 1}'])
def test_a_checkpoint_with_a_broken_state_is_passed_over(run, text):
    (run / "checkpoint-2" / "trainer_state.json").write_text(text)
    assert latest_checkpoint(run).name == "checkpoint-1"


def test_a_checkpoint_without_weights_is_passed_over(run):
    (run / "checkpoint-3").mkdir()
    (run / "checkpoint-3" / "trainer_state.json").write_text('{"global_step": 3}')
    (run / "checkpoint-best").mkdir()
    assert latest_checkpoint(run).name == "checkpoint-2"


def test_an_empty_or_missing_folder_has_none(tmp_path):
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path / "missing") is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_for_a_stop_and_the_second_one_stops_at_once(number):
    stop, control = GracefulStop(), TrainerControl()
    with stop:
        os.kill(os.getpid(), number)
        stop.on_step_end(ARGS, at(1), control)
        assert control.should_save
        assert control.should_training_stop
        with pytest.raises(KeyboardInterrupt, match="asked to stop twice"):
            os.kill(os.getpid(), number)


def test_without_a_request_nothing_stops():
    stop, control = GracefulStop(), TrainerControl()
    stop.on_step_end(ARGS, at(1), control)
    assert not control.should_training_stop
    stop.request()
    stop.on_step_end(ARGS, at(2), control)
    assert control.should_training_stop


@pytest.mark.parametrize(
    ("accumulation", "per_generation", "iterations", "first"),
    [(1, 1, 2, 2), (2, 2, 3, 3), (2, 4, 1, 2), (2, 3, 1, 3), (4, 2, 1, 1), (1, 2, 3, 6)],
)
@pytest.mark.parametrize("make", [GracefulStop, lambda: TimeBudget(1e-9)])
def test_a_stop_waits_for_the_end_of_the_generation_window(
    make, accumulation, per_generation, iterations, first
):
    stop, control = make(), TrainerControl()
    args = SimpleNamespace(
        gradient_accumulation_steps=accumulation,
        steps_per_generation=per_generation,
        num_iterations=iterations,
    )
    stop.on_train_begin(args, at(0), control)
    if isinstance(stop, GracefulStop):
        stop.request()
    for step in range(1, first + 1):
        assert not control.should_training_stop
        assert not control.should_save
        stop.on_step_end(args, at(step), control)
    assert control.should_training_stop
    assert control.should_save


def test_the_first_request_is_answered_once_and_not_in_the_signals_own_frame():
    said = SimpleQueue()
    with GracefulStop(lambda: said.put(threading.current_thread())) as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert said.get(timeout=10) is not threading.main_thread()
        stop.request()
    assert said.empty()


def test_a_budget_must_be_positive():
    with pytest.raises(ValueError, match="max_train_s is 0; it must be positive"):
        TimeBudget(0)
