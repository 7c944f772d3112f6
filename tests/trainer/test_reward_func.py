import asyncio
import functools

import pytest

from grpo_agent.trainer.reward_func import episode_reward, scored_only

COLUMNS = {"prompts": [[], []], "completions": ["a", "bb"], "episode_reward": [0.5, None]}


def length(completions, **columns):
    return [float(len(completion)) for completion in completions]


async def slow_length(completions, **columns):
    return length(completions)


class Scaled:
    def __call__(self, completions, **columns):
        return length(completions)


def test_the_episodes_own_reward_passes_through():
    assert episode_reward(**COLUMNS) == [0.5, None]


@pytest.mark.parametrize("func", [length, Scaled(), functools.partial(length)])
def test_an_unscored_row_has_no_reward_from_any_function(func):
    assert scored_only(func)(**COLUMNS) == [1.0, None]


def test_async_functions_stay_async():
    masked = scored_only(slow_length)
    assert asyncio.iscoroutinefunction(masked)
    assert asyncio.run(masked(**COLUMNS)) == [1.0, None]


def test_the_name_for_the_metrics_is_kept():
    names = [scored_only(func).__name__ for func in (length, Scaled(), slow_length)]
    assert names == ["length", "Scaled", "slow_length"]


def test_a_wrong_number_of_rewards_is_refused():
    with pytest.raises(ValueError, match="'length' returned 1 rewards for 2 rows"):
        scored_only(length)(**COLUMNS | {"completions": ["a"]})


@pytest.mark.parametrize("func", ["org/model", int])
def test_what_is_no_function_is_refused(func):
    with pytest.raises(TypeError, match="a reward function is a callable, got"):
        scored_only(func)
