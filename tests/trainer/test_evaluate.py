import asyncio
import itertools
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lazy import Lazy

from grpo_agent.agents.core import Episode, StopReason
from grpo_agent.agents.failure import Failure, FailureKind, Stage
from grpo_agent.envs.registry import make
from grpo_agent.trainer.compose import load_recipe
from grpo_agent.trainer.evaluate import (
    DRAWN_FROM,
    bootstrap,
    draw_tasks,
    evaluate,
    pass_at_all,
    pass_at_k,
    summarize,
)


def episode(task_id, reward, *, success=None, level=1):
    failure = None if reward is not None else Failure(FailureKind.SANDBOX, Stage.STEP, "lost")
    return Episode(
        task={"task_id": task_id, "level": level},
        task_id=task_id,
        sample=0,
        seed=0,
        messages=(),
        tools=(),
        tokens=None,
        turns=(),
        reward=reward,
        stop_reason=StopReason.TERMINATED if failure is None else StopReason.FAILED,
        failure=failure,
        info={} if success is None else {"success": success},
    )


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_subsets_that_hold_a_success(case):
    n, c, k = case
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize("case", [(4, 5, 1), (4, -1, 1), (4, 1, 5), (4, 1, 0)])
def test_pass_at_k_refuses_what_makes_no_sense(case):
    with pytest.raises(ValueError, match="pass@k needs"):
        pass_at_k(*case)


def test_interval_agrees_with_resampling_by_hand():
    values = np.random.default_rng(3).random(40)
    drawn = np.random.default_rng(4).integers(0, 40, size=(20_000, 40))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975])
    estimate = bootstrap(list(values), seed=1)
    assert estimate.mean == pytest.approx(values.mean())
    assert (estimate.low, estimate.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_interval_is_repeatable_and_holds_the_mean():
    estimate = bootstrap([0.0, 1.0, 1.0], seed=5)
    assert estimate == bootstrap([0.0, 1.0, 1.0], seed=5)
    assert estimate.low <= estimate.mean <= estimate.high


def test_pass_at_k_leaves_out_tasks_with_too_few_scored_episodes():
    estimates = pass_at_all([[True, False], [True]], samples=2)
    assert estimates[1].mean == pytest.approx(0.75)
    assert estimates[2].mean == 1.0


def test_unscored_episodes_are_counted_apart_and_not_as_wrong():
    figures = summarize([episode("a", 1.0), episode("a", None), episode("b", None)], 2, 1.0)
    assert (figures.tasks, figures.episodes, figures.unscored) == (1, 3, 2)
    assert figures.pass_at[1].mean == 1.0
    assert figures.failures == {"sandbox": 2}


def test_success_of_the_environment_counts_not_the_reward():
    figures = summarize([episode("a", 0.9, success=False), episode("b", 0.1, success=True)], 1, 1.0)
    assert figures.pass_at[1].mean == 0.5
    assert figures.reward is not None
    assert figures.reward.mean == pytest.approx(0.5)


def test_levels_are_told_apart():
    figures = summarize([episode("a", 1.0), episode("b", 0.0, level=2), episode("c", 1.0, level=2)], 1, 1.0)
    assert figures.by_level["1"].success == 1.0
    assert (figures.by_level["2"].success, figures.by_level["2"].tasks) == (0.5, 2)


def test_nothing_scored_has_no_estimate_and_is_json():
    figures = summarize([episode("a", None)], 1, 1.0)
    assert (figures.pass_at, figures.reward) == ({}, None)
    assert json.loads(json.dumps(figures.to_dict()))["unscored"] == 1


def test_evaluate_plays_each_task_as_often_as_asked():
    class Engine:
        async def run(self, tasks, group_size, *, step=0, sampling=None):
            assert sampling.temperature == 0.0
            return [episode(task["task_id"], 1.0) for task in tasks for _ in range(group_size)]

    figures, episodes = asyncio.run(
        evaluate(Engine(), [{"task_id": "a"}, {"task_id": "b"}], 3, temperature=0.0)
    )
    assert (figures.tasks, figures.samples, len(episodes)) == (2, 3, 6)
    assert sorted(figures.pass_at) == [1, 2, 3]


def test_drawn_tasks_are_distinct_ordered_and_the_same_for_a_seed():
    rows = [{"task_id": str(index)} for index in range(50)]
    drawn = draw_tasks(rows, 10, seed=1)
    numbers = [int(row["task_id"]) for row in drawn]
    assert numbers == sorted(set(numbers))
    assert drawn == draw_tasks(rows, 10, seed=1)
    assert draw_tasks(rows, None, seed=1) == rows


@pytest.mark.parametrize(
    ("key", "values"), [("family", "aaaaaaaaabbbbc"), ("level", [1] * 9 + [2] * 4 + [3])]
)
@given(count=st.integers(1, 13), seed=st.integers(0, 99))
def test_kinds_are_drawn_evenly(key, values, count, seed):
    rows = [{"task_id": str(index), key: value} for index, value in enumerate(values)]
    drawn = Counter(row[key] for row in draw_tasks(rows, count, seed))
    assert drawn.total() == count
    available = Counter(values)
    for kind in available:
        # None has two fewer than another, unless all of its rows are drawn.
        assert drawn[kind] >= min(available[kind], max(drawn.values()) - 1)


def test_the_default_run_faces_each_of_its_held_out_families_twice():
    made = load_recipe(None, ["env=code"])
    rows = make("code", **made.env_settings).tasks("test")
    drawn = Counter(row["family"] for row in draw_tasks(rows, made.eval.tasks, made.eval.seed))
    assert len(drawn) == 34
    assert set(drawn.values()) == {2}


def test_of_many_rows_that_are_made_when_asked_for_a_part_is_looked_at():
    rows = Lazy(lambda index: {"task_id": str(index), "family": index % 3}, count=1_000_000)
    drawn = draw_tasks(rows, 6, seed=2)
    assert Counter(row["family"] for row in drawn) == {0: 2, 1: 2, 2: 2}
    assert rows.n_made == DRAWN_FROM
