"""Reward functions for TRL: the episode's own return, and others beside it.

A reward of `None` marks a row as unscored. TRL leaves a row out of its group's baseline only if *every*
reward function returns `None`; a single `None` among numbers counts as 0. Hence `scored_only`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

Rewards = Sequence[float | None]
RewardFunc = Callable[..., Rewards | Awaitable[Rewards]]
"""TRL's: `(prompts, completions, **columns) -> one reward a row`, plain or `async`."""


def episode_reward(**columns: Any) -> list[float | None]:  # Any: TRL's columns
    """The return of each row's episode, as the environment gave it; `None` is unscored."""
    rewards: list[float | None] = columns["episode_reward"]
    return rewards


def scored_only(reward_func: RewardFunc) -> RewardFunc:
    """`reward_func`, which returns `None` on rows whose episode is unscored.

    Raises:
        TypeError: it is not a function: a class or a model by name cannot be masked by row.
    """
    if not callable(reward_func) or isinstance(reward_func, type):
        raise TypeError(f"a reward function is a callable, got {reward_func!r}")
    name = getattr(reward_func, "__name__", type(reward_func).__name__)  # partials and instances have none

    if inspect.iscoroutinefunction(reward_func) or inspect.iscoroutinefunction(type(reward_func).__call__):

        async def masked_async(**columns: Any) -> list[float | None]:  # Any: TRL's columns
            rewards: Any = reward_func(**columns)  # Any: awaitable, by the test above
            return _masked(await rewards, columns["episode_reward"], name)

        return functools.update_wrapper(masked_async, reward_func)

    def masked(**columns: Any) -> list[float | None]:  # Any: TRL's columns
        rewards: Any = reward_func(**columns)  # Any: not awaitable, by the test above
        return _masked(rewards, columns["episode_reward"], name)

    functools.update_wrapper(masked, reward_func)
    masked.__name__ = name
    return masked


def _masked(rewards: Rewards, episode_rewards: Sequence[float | None], name: str) -> list[float | None]:
    if len(rewards) != len(episode_rewards):
        raise ValueError(
            f"reward function {name!r} returned {len(rewards)} rewards for {len(episode_rewards)} rows"
        )
    pairs = zip(rewards, episode_rewards, strict=True)
    return [None if of_episode is None else reward for reward, of_episode in pairs]
