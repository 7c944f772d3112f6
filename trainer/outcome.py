"""What is counted about episodes, and the metrics made of it.

An `Outcome` is the small part of an episode that ranks exchange; `measure` turns the outcomes of a
batch, of all ranks together, into named numbers. The names are stable.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from ..agents.core import Episode, StopReason
from ..agents.errors import UnscoredAlarm
from ..agents.failure import Failure, FailureKind


@dataclass(frozen=True, slots=True)
class Outcome:
    """The counted part of one episode."""

    reward: float | None
    is_success: bool
    turns: int
    parse_errors: int
    tool_calls: int
    sampled_tokens: int
    env_tokens: int
    stop_reason: StopReason
    failure: Failure | None
    attempts: int
    wait_s: float
    generate_s: float
    env_s: float
    """Resets included."""
    total_s: float
    values: Mapping[str, float]
    """The environment's own metrics, `info["metrics"]`."""

    @classmethod
    def of(cls, episode: Episode) -> Self:
        """Count `episode`."""
        tokens, timings = episode.tokens, episode.timings
        sampled = tokens.sampled_tokens if tokens else 0
        return cls(
            reward=episode.reward,
            is_success=episode.is_success,
            turns=len(episode.turns),
            parse_errors=sum(turn.parse_error is not None for turn in episode.turns),
            tool_calls=sum(turn.tool_calls for turn in episode.turns),
            sampled_tokens=sampled,
            env_tokens=len(tokens) - sampled if tokens else 0,
            stop_reason=episode.stop_reason,
            failure=episode.failure,
            attempts=episode.attempts,
            wait_s=timings.wait_s,
            generate_s=timings.generate_s,
            env_s=timings.reset_s + timings.env_s,
            total_s=timings.total_s,
            values=_numbers(episode.info.get("metrics")),
        )


def measure(outcomes: Sequence[Outcome], wall_s: float) -> dict[str, float]:
    """Metrics of one batch; means over scored episodes where a score is meant, else over all.

    Args:
        outcomes: of all ranks.
        wall_s: how long the batch took.

    Returns:
        Named numbers; `nan` where there was nothing to average.
    """
    scored = [each for each in outcomes if each.reward is not None]
    turns = sum(each.turns for each in outcomes)
    sampled = sum(each.sampled_tokens for each in outcomes)
    busy_s = sum(each.total_s for each in outcomes)
    metrics = {
        "episode/success": _mean([each.is_success for each in scored]),
        "episode/reward": _mean([each.reward for each in scored if each.reward is not None]),
        "episode/turns": _mean([each.turns for each in outcomes]),
        "episode/sampled_tokens": _mean([each.sampled_tokens for each in scored]),
        "episode/tool_calls": _mean([each.tool_calls for each in outcomes]),
        "episode/parse_errors": _share(sum(each.parse_errors for each in outcomes), turns),
        "episode/retries": _mean([each.attempts - 1 for each in outcomes]),
        "episode/unscored": _share(len(outcomes) - len(scored), len(outcomes)),
        "tokens/sampled": float(sampled),
        "tokens/env": float(sum(each.env_tokens for each in outcomes)),
        "tokens/sampled_per_s": _share(sampled, wall_s),
        "time/rollout_s": wall_s,
        "time/generate_share": _share(sum(each.generate_s for each in outcomes), busy_s),
        "time/env_share": _share(sum(each.env_s for each in outcomes), busy_s),
        "time/wait_s": _mean([each.wait_s for each in outcomes]),
    }
    stops = Counter(each.stop_reason for each in outcomes)
    kinds = Counter(each.failure.kind for each in outcomes if each.failure is not None)
    metrics |= {f"stop/{reason}": _share(stops[reason], len(outcomes)) for reason in StopReason}
    metrics |= {f"failure/{kind}": _share(kinds[kind], len(outcomes)) for kind in FailureKind}
    return metrics | _means_of(outcomes)


def check_scored(outcomes: Sequence[Outcome], max_unscored_share: float) -> None:
    """The alarm: check that few enough episodes are unscored for their figures to mean something.

    Raises:
        UnscoredAlarm: a greater share than `max_unscored_share` is, with the most frequent failures.
    """
    n_unscored = sum(each.reward is None for each in outcomes)
    if n_unscored > max_unscored_share * len(outcomes):
        raise UnscoredAlarm(
            f"{n_unscored} of {len(outcomes)} episodes were unscored, above the alarm of "
            f"{max_unscored_share:.0%}; most frequent: {frequent_failures(outcomes)}"
        )


def frequent_failures(outcomes: Sequence[Outcome], n_most: int = 3) -> str:
    """The most frequent failures in words, each with its count."""
    counts = Counter(
        str(each.failure) if each.failure else f"stopped as {each.stop_reason} without a reward"
        for each in outcomes
        if each.reward is None
    )
    return "; ".join(f"{count} x {failure}" for failure, count in counts.most_common(n_most))


def _means_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    columns: defaultdict[str, list[float]] = defaultdict(list)
    for each in outcomes:
        for name, value in each.values.items():
            columns[f"env/{name}"].append(value)
    return {name: _mean(values) for name, values in columns.items()}


def _numbers(values: object) -> dict[str, float]:
    if not isinstance(values, Mapping):
        return {}
    numbers = {str(name): value for name, value in values.items() if isinstance(value, (int, float))}
    return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
