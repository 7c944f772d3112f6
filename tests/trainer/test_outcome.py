import math
from dataclasses import replace

import pytest
from fake_engine import GONE, make_episode, random_log, rng_of
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.agents.core import StopReason, Timings
from grpo_agent.agents.errors import UnscoredAlarm
from grpo_agent.trainer.batch import in_small_groups
from grpo_agent.trainer.outcome import Outcome, check_scored, frequent_failures, measure

TASK = {"task_id": "t"}


def outcome(reward, *, failure=None, **changes):
    episode = make_episode(TASK, 0, random_log(rng_of(TASK, 0, 0), 2), reward, failure)
    return Outcome.of(replace(episode, **changes))


def test_shares_and_means():
    timings = Timings(wait_s=1.0, reset_s=1.0, generate_s=6.0, env_s=1.0, total_s=10.0)
    metrics = measure(
        [
            outcome(1.0, timings=timings, info={"success": True, "metrics": {"tests": 3, "bad": "x"}}),
            outcome(0.0, timings=timings, info={"success": False, "metrics": {"tests": 1}}),
            outcome(None, failure=GONE, attempts=2, timings=timings),
        ],
        wall_s=2.0,
    )
    assert metrics["episode/success"] == 0.5
    assert metrics["episode/reward"] == 0.5
    assert metrics["episode/unscored"] == pytest.approx(1 / 3)
    assert metrics["episode/retries"] == pytest.approx(1 / 3)
    assert metrics["time/generate_share"] == pytest.approx(0.6)
    assert metrics["time/env_share"] == pytest.approx(0.2)
    assert metrics["stop/failed"] == metrics["failure/sandbox"] == pytest.approx(1 / 3)
    assert metrics["env/tests"] == 2
    assert metrics["tokens/sampled_per_s"] == metrics["tokens/sampled"] / 2


def test_tokens_of_an_episode_are_averaged_over_the_scored_ones():
    long, short = outcome(1.0), outcome(0.0)
    broken = replace(outcome(None, failure=GONE), sampled_tokens=0)
    metrics = measure(
        [replace(long, sampled_tokens=30), replace(short, sampled_tokens=10), broken], wall_s=1.0
    )
    assert metrics["episode/sampled_tokens"] == 20
    assert metrics["tokens/sampled"] == 40


def test_the_alarm_goes_off_above_the_share_and_names_the_failures():
    outcomes = [outcome(None, failure=GONE), outcome(1.0), outcome(1.0), outcome(0.0)]
    check_scored(outcomes, 0.25)
    check_scored([], 0.0)
    with pytest.raises(UnscoredAlarm, match=f"1 of 4 episodes .* alarm of 20%; most frequent: 1 x {GONE}"):
        check_scored(outcomes, 0.2)


def test_every_stop_reason_has_a_stable_name():
    names = set(measure([outcome(1.0)], 1.0))
    assert {f"stop/{reason.value}" for reason in StopReason} <= names


def test_without_a_scored_episode_there_is_no_mean():
    assert math.isnan(measure([outcome(None, failure=GONE)], 1.0)["episode/success"])


def test_the_most_frequent_failures_come_first_with_their_counts():
    unscored = [outcome(None), outcome(None, failure=GONE), outcome(None, failure=GONE), outcome(1.0)]
    assert frequent_failures(unscored) == f"2 x {GONE}; 1 x stopped as terminated without a reward"


@given(st.lists(st.booleans(), max_size=24), st.integers(1, 5), st.integers(1, 4))
def test_a_group_keeps_all_of_its_scored_members_or_none(is_scored, group_size, min_group):
    small = in_small_groups(is_scored, group_size, min_group)
    for start in range(0, len(is_scored), group_size):
        rows = range(start, min(start + group_size, len(is_scored)))
        scored = {row for row in rows if is_scored[row]}
        assert small & set(rows) == (scored if len(scored) < min_group else set())
