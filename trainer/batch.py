"""Episodes to the columns that TRL trains on, and what is left out of training.

Shapes: `B` rows of this rank, `P` prompt tokens, `T` completion tokens, both differing by row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ..agents.core import Episode
from ..agents.failure import Failure, FailureKind, Stage

Columns = dict[str, list[object]]


@dataclass(frozen=True, slots=True)
class RolloutBatch:
    """The episodes of one call of a `RolloutFunc`, on this rank."""

    mode: str
    """`"train"` or `"eval"`."""
    step: int
    """Optimizer steps taken before."""
    episode_ids: tuple[str, ...]
    episodes: tuple[Episode, ...]
    """In the order of TRL's rows."""
    metrics: Mapping[str, float]
    """Of all ranks together."""


def columns(
    episodes: Sequence[Episode],
    episode_ids: Sequence[str],
    eos_token_id: int,
    untrained: Collection[int] = (),
) -> Columns:
    """The rows of `episodes`.

    Environment tokens after the last sampled one are cut: they have no gradient and cost a forward
    pass. An unscored episode becomes one masked EOS with reward `None`, so that it leaves the group's
    baseline and the gradient alone; so does a row of `untrained`, but with its reward.
    """
    rows = [_row(episode, eos_token_id, row in untrained) for row, episode in enumerate(episodes)]
    return {
        "prompt_ids": [row[0] for row in rows],
        "completion_ids": [row[1] for row in rows],
        "logprobs": [row[2] for row in rows],
        "env_mask": [row[3] for row in rows],
        "episode_reward": [episode.reward for episode in episodes],
        "episode_id": list(episode_ids),
    }


def with_tokens(episode: Episode) -> Episode:
    """`episode`, unscored if the agent never emitted a token: there is nothing to credit."""
    if episode.reward is None or (episode.tokens is not None and episode.tokens.sampled_tokens):
        return episode
    message = f"the episode stopped as {episode.stop_reason} before the agent emitted a token"
    return unscored(episode, Failure(FailureKind.GENERATOR, Stage.GENERATE, message))


def unscored(episode: Episode, failure: Failure) -> Episode:
    """`episode` without its reward, for the reason given."""
    return replace(episode, reward=None, failure=episode.failure or failure)


def in_small_groups(is_scored: Sequence[bool], group_size: int, min_group: int) -> frozenset[int]:
    """Rows whose group has some, but fewer than `min_group`, scored members.

    Args:
        is_scored: of all ranks; TRL's groups are consecutive runs of `group_size`.
        group_size: rows of a group.
        min_group: scored members that a group needs.
    """
    small: set[int] = set()
    for start in range(0, len(is_scored), group_size):
        group = range(start, min(start + group_size, len(is_scored)))
        scored = [row for row in group if is_scored[row]]
        if len(scored) < min_group:
            small.update(scored)
    return frozenset(small)


def _row(
    episode: Episode, eos_token_id: int, is_untrained: bool
) -> tuple[list[int], list[int], list[float], list[int]]:
    tokens = episode.tokens
    if episode.reward is None or tokens is None or is_untrained:
        return [eos_token_id], [eos_token_id], [0.0], [0]
    mask = list(tokens.env_mask)
    while mask[-1] == 0:
        mask.pop()
    end = len(mask)
    return list(tokens.prompt_ids), list(tokens.completion_ids[:end]), list(tokens.logprobs[:end]), mask
