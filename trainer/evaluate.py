"""Evaluation: figures one can trust, from many episodes of each task.

pass@k is the unbiased estimator of Chen et al. 2021 (arXiv 2107.03374, eq. 1). Intervals are 95 %
percentile bootstrap over tasks, since episodes of one task are not independent. Unscored episodes are
counted apart and never taken for wrong.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np

from ..agents.core import Episode, Sampling
from ..envs.core import Task

RESAMPLES = 10_000
LEVEL = 0.95
DRAWN_FROM = 10_000
"""Rows that are looked at to draw some of them evenly."""


class Engine(Protocol):
    """What evaluation needs of `agents.rollout.RolloutEngine`."""

    async def run(
        self, tasks: Sequence[Task], group_size: int, *, step: int = 0, sampling: Sampling = ...
    ) -> list[Episode]:
        """`group_size` episodes of each task, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1%} [{self.low:.1%}, {self.high:.1%}]"


@dataclass(frozen=True, slots=True)
class Group:
    """Figures of the tasks that share a level."""

    tasks: int
    success: float
    """pass@1."""
    reward: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of one evaluation. What could not be estimated is absent, or `None`."""

    tasks: int
    """Tasks with at least one scored episode."""
    samples: int
    """Episodes asked for of each task."""
    episodes: int
    unscored: int
    pass_at: dict[int, Estimate]
    """pass@k by k; over tasks with at least k scored episodes."""
    reward: Estimate | None
    by_level: dict[str, Group]
    stop_reasons: dict[str, int]
    failures: dict[str, int]
    """Of unscored episodes, by kind."""
    turns: float
    """Mean of the agent's turns."""
    sampled_tokens: float
    """Mean of the agent's tokens in an episode."""
    wall_s: float
    method: str = field(
        default=f"pass@k: unbiased estimator; intervals: {LEVEL:.0%} percentile bootstrap over tasks, "
        f"{RESAMPLES} resamples; unscored episodes are left out"
    )

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """As plain data for JSON."""
        plain = asdict(self)
        plain["pass_at"] = {str(k): asdict(estimate) for k, estimate in self.pass_at.items()}
        return plain


async def evaluate(
    engine: Engine, tasks: Sequence[Task], samples: int, *, temperature: float = 1.0, seed: int = 0
) -> tuple[Evaluation, list[Episode]]:
    """Play `samples` episodes of each task and summarize them.

    Args:
        engine: plays the episodes.
        tasks: rows.
        samples: episodes of each task, at least 1.
        temperature: of sampling; 0 is greedy.
        seed: of the bootstrap.

    Returns:
        The figures, and the episodes.
    """
    started = time.monotonic()
    episodes = await engine.run(tasks, samples, sampling=Sampling(temperature=temperature))
    return summarize(episodes, samples, time.monotonic() - started, seed=seed), episodes


def summarize(episodes: Sequence[Episode], samples: int, wall_s: float, *, seed: int = 0) -> Evaluation:
    """Figures of finished episodes.

    Args:
        episodes: in any order; those of one task share `task_id`.
        samples: episodes asked for of each task.
        wall_s: how long they took, in seconds.
        seed: of the bootstrap.
    """
    by_task = _scored_by_task(episodes)
    outcomes = [[episode.is_success for episode in group] for group in by_task.values()]
    rewards = [_mean([episode.reward or 0.0 for episode in group]) for group in by_task.values()]
    unscored = [episode for episode in episodes if not episode.is_scored]
    return Evaluation(
        tasks=len(by_task),
        samples=samples,
        episodes=len(episodes),
        unscored=len(unscored),
        pass_at=pass_at_all(outcomes, samples, seed),
        reward=bootstrap(rewards, seed) if rewards else None,
        by_level=_by_level(by_task),
        stop_reasons=_counted(str(episode.stop_reason) for episode in episodes),
        failures=_counted(str(each.failure.kind) if each.failure else "no reward" for each in unscored),
        turns=_mean([len(episode.turns) for episode in episodes]),
        sampled_tokens=_mean([each.tokens.sampled_tokens if each.tokens else 0 for each in episodes]),
        wall_s=wall_s,
    )


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that at least one of `k` episodes, drawn from `n` of which `c` succeed, succeeds.

    `1 - C(n-c, k) / C(n, k)`.

    Raises:
        ValueError: not `0 <= c <= n` and `1 <= k <= n`.

    Source: Chen et al. 2021, arXiv 2107.03374, eq. 1.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass@k needs 0 <= c <= n and 1 <= k <= n, got n={n}, c={c}, k={k}")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_at_all(outcomes: Sequence[Sequence[bool]], samples: int, seed: int = 0) -> dict[int, Estimate]:
    """pass@1 to pass@`samples` with intervals; `outcomes` holds the successes of each task."""
    estimates = {}
    for k in range(1, samples + 1):
        values = [pass_at_k(len(task), sum(task), k) for task in outcomes if len(task) >= k]
        if values:
            estimates[k] = bootstrap(values, seed)
    return estimates


def bootstrap(values: Sequence[float], seed: int = 0) -> Estimate:
    """Mean of `values` with its percentile bootstrap interval.

    Raises:
        ValueError: there are no values.
    """
    if not len(values):
        raise ValueError("a mean needs at least one value")
    data = np.asarray(values, dtype=np.float64)
    counts = np.random.default_rng(seed).multinomial(len(data), np.full(len(data), 1 / len(data)), RESAMPLES)
    means = counts @ data / len(data)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(data.mean()), float(low), float(high))


def draw_tasks(tasks: Sequence[Task], count: int | None, seed: int) -> list[Task]:
    """`count` distinct rows, in their order; all of them if `None` or if there are no more.

    Rows that name a `family`, or else a `level`, are drawn evenly over those: each comes up as often as
    any other, give or take one, as long as it has rows. Of more than 10,000 rows, that many are drawn
    from, so that rows that are made when asked for need not all be made.
    """
    if count is None or count >= len(tasks):
        return [tasks[index] for index in range(len(tasks))]
    order = np.random.default_rng(seed).permutation(len(tasks))[: max(count, DRAWN_FROM)]
    by_kind: defaultdict[str, list[tuple[int, Task]]] = defaultdict(list)
    for index in map(int, order):
        task = tasks[index]
        by_kind[_kind(task)].append((index, task))
    rounds = itertools.chain.from_iterable(itertools.zip_longest(*by_kind.values()))
    chosen = itertools.islice((each for each in rounds if each is not None), count)
    return [task for _, task in sorted(chosen, key=lambda each: each[0])]


def _kind(task: Task) -> str:
    """What a row is one of several of; equal for all rows that say nothing."""
    return json.dumps([task.get("family", task.get("level"))], default=repr)


def _scored_by_task(episodes: Sequence[Episode]) -> Mapping[str, list[Episode]]:
    by_task: defaultdict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if episode.is_scored:
            by_task[episode.task_id].append(episode)
    return by_task


def _by_level(by_task: Mapping[str, list[Episode]]) -> dict[str, Group]:
    levels: defaultdict[str, list[list[Episode]]] = defaultdict(list)
    for episodes in by_task.values():
        if "level" in episodes[0].task:
            levels[str(episodes[0].task["level"])].append(episodes)
    return {level: _group(groups) for level, groups in sorted(levels.items())}


def _group(groups: Sequence[Sequence[Episode]]) -> Group:
    return Group(
        tasks=len(groups),
        success=_mean([_mean([episode.is_success for episode in group]) for group in groups]),
        reward=_mean([_mean([episode.reward or 0.0 for episode in group]) for group in groups]),
    )


def _counted(names: Any) -> dict[str, int]:  # Any: an iterable of names
    return dict(Counter(names).most_common())


def _mean(values: Sequence[float]) -> float:
    return float(sum(values)) / len(values) if values else 0.0
