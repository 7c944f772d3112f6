"""Many episodes at once: bounded, without a barrier between turns, in order, and reproducible.

An episode advances as soon as its own generation or step ends. One that breaks is tried again with a
fresh environment, then left unscored; the others never notice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from ..envs.core import Env, Task
from ..envs.registry import env_factory
from ..sandboxes.registry import close_shared_providers
from .chat import ChatFormat
from .core import Episode, Generator, Sampling, Turn
from .episode import EpisodeRun, ParseErrorPolicy, Setting, Start
from .failure import Failure, FailureKind, Stage
from .limits import RolloutLimits
from .thread import WorkerPool

T = TypeVar("T")

_logger = logging.getLogger(__name__)
_CLOSE_TIMEOUT_S = 10.0


class RolloutEngine:
    """Runs episodes of one environment with one generator."""

    def __init__(  # noqa: PLR0913  # the settings of a batch, each by name
        self,
        env: str | Callable[[], Env],
        generator: Generator,
        chat_format: ChatFormat,
        limits: RolloutLimits | None = None,
        *,
        max_concurrent: int = 64,
        retries: int = 1,
        min_group: int = 2,
        seed: int = 0,
        parse_error: ParseErrorPolicy = "feedback",
        on_episode: Callable[[Episode], None] | None = None,
        on_turn: Callable[[Turn], None] | None = None,
    ) -> None:
        """Set up; nothing runs yet.

        Args:
            env: makes one environment for one episode (a class, a function), or a registered name.
            generator: samples the agent's turns.
            chat_format: writes and reads the model's conversations.
            limits: bounds of an episode and a batch.
            max_concurrent: episodes alive at once; bounds sandboxes and memory.
            retries: further attempts, each with a fresh environment, at an episode that broke.
            min_group: a group with fewer scored members is unscored whole; a group that is smaller
                in the first place needs all of its members.
            seed: of the run; every other seed follows from it.
            parse_error: what a malformed tool call leads to.
            on_episode: called with every episode as it ends, in the order they end.
            on_turn: called after every step.

        Raises:
            ValueError: a number is out of range, or `parse_error` or the name of `env` is unknown.
            TypeError: `env` is neither a factory nor a name.
        """
        for name, value, least in (
            ("max_concurrent", max_concurrent, 1),
            ("retries", retries, 0),
            ("min_group", min_group, 1),
        ):
            if value < least:
                raise ValueError(f"{name} is {value}; it must be at least {least}")
        if parse_error not in ("feedback", "end"):
            raise ValueError(f"parse_error is {parse_error!r}; it must be 'feedback' or 'end'")
        self._make_env = _factory(env)
        self._generator, self._format = generator, chat_format
        self._limits = limits or RolloutLimits()
        self._max_concurrent, self._retries, self._min_group = max_concurrent, retries, min_group
        self._seed, self._parse_error = seed, parse_error
        self._on_episode, self._on_turn = _guarded(on_episode), _guarded(on_turn)
        self._workers = WorkerPool()

    async def run(
        self, tasks: Sequence[Task], group_size: int = 1, *, step: int = 0, sampling: Sampling | None = None
    ) -> list[Episode]:
        """Play every task `group_size` times.

        Args:
            tasks: rows; one that stands here several times goes on counting its samples.
            group_size: episodes that face the same task and seed.
            step: of the training; with the task's id it decides the environment's seed.
            sampling: how tokens are drawn.

        Returns:
            `len(tasks) * group_size` episodes, in the order of the tasks. Those that broke or did not
            end before the deadline are unscored, and so is a group with fewer than `min_group` scored.

        Raises:
            ValueError: `group_size` is below 1.
        """
        if group_size < 1:
            raise ValueError(f"group_size is {group_size}; it must be at least 1")
        rows = [task for task in tasks for _ in range(group_size)]
        counts: Counter[str] = Counter()
        samples: list[int] = []
        for row in rows:
            samples.append(counts[_task_id(row)])
            counts[_task_id(row)] += 1
        episodes = await self.run_rows(rows, samples, step=step, sampling=sampling)
        return self._without_small_groups(episodes)

    async def run_rows(
        self,
        tasks: Sequence[Task],
        samples: Sequence[int],
        *,
        step: int = 0,
        sampling: Sampling | None = None,
    ) -> list[Episode]:
        """Play every row once, for a caller whose groups may be spread over several processes.

        Args:
            tasks: one row for each episode.
            samples: the index of each episode within its group, wherever the others are played.
            step: of the training; with the task's id it decides the environment's seed.
            sampling: how tokens are drawn.

        Returns:
            One episode for each row, in order. `min_group` does not apply here.

        Raises:
            ValueError: `tasks` and `samples` differ in length.
        """
        starts = [self._start(task, sample, step) for task, sample in zip(tasks, samples, strict=True)]
        setting = self._setting(sampling or Sampling())
        began, queue = perf_counter(), iter(enumerate(starts))
        results: list[Episode | None] = [None] * len(starts)
        async with self._generator, asyncio.TaskGroup() as group:
            workers = [
                group.create_task(self._work(queue, results, setting, began))
                for _ in range(min(self._max_concurrent, len(starts)))
            ]
            if workers:
                _, late = await asyncio.wait(workers, timeout=self._limits.batch_deadline_s)
                for worker in late:
                    worker.cancel()
        return [
            EpisodeRun(start, setting).episode() if episode is None else episode
            for start, episode in zip(starts, results, strict=True)
        ]

    async def close(self) -> None:
        """Close the generator, the sandboxes shared in this event loop, and idle threads."""
        self.release()
        try:
            await self._generator.close()
        finally:
            await close_shared_providers()

    def release(self) -> None:
        """End idle threads only: the generator and the sandboxes live on, for others that use them."""
        self._workers.close()

    async def _work(
        self,
        queue: Iterator[tuple[int, Start]],
        results: list[Episode | None],
        setting: Setting,
        began: float,
    ) -> None:
        for index, start in queue:
            attempt = 1
            run = EpisodeRun(replace(start, wait_s=perf_counter() - began), setting)
            try:
                await run.run()
                while run.may_retry and attempt <= self._retries:
                    _logger.info("task %s, sample %d: %s; retrying", start.task_id, start.sample, run.failure)
                    attempt += 1
                    run = EpisodeRun(run.start, setting)
                    await run.run()
            finally:
                results[index] = episode = replace(run.episode(), attempts=attempt)
            if episode.failure is not None:
                _logger.warning("task %s, sample %d: %s", start.task_id, start.sample, episode.failure)
            self._on_episode(episode)

    def _setting(self, sampling: Sampling) -> Setting:
        return Setting(
            make_env=self._make_env,
            generator=self._generator,
            chat_format=self._format,
            limits=self._limits,
            sampling=sampling,
            workers=self._workers,
            parse_error=self._parse_error,
            close_timeout_s=_CLOSE_TIMEOUT_S,
            on_turn=self._on_turn,
        )

    def _start(self, task: Task, sample: int, step: int) -> Start:
        task_id = _task_id(task)
        return Start(
            task=task,
            task_id=task_id,
            sample=sample,
            env_seed=stable_seed(self._seed, task_id, step),
            turn_seed=partial(stable_seed, self._seed, task_id, step, sample),
        )

    def _without_small_groups(self, episodes: list[Episode]) -> list[Episode]:
        groups: dict[str, list[int]] = defaultdict(list)
        for index, episode in enumerate(episodes):
            groups[episode.task_id].append(index)
        for members in groups.values():
            scored = [index for index in members if episodes[index].is_scored]
            if len(scored) >= min(self._min_group, len(members)):
                continue
            message = f"{len(scored)} of {len(members)} members scored; min_group is {self._min_group}"
            failure = Failure(FailureKind.SMALL_GROUP, Stage.REWARD, message)
            for index in scored:
                episodes[index] = replace(episodes[index], reward=None, failure=failure)
        return episodes


def stable_seed(*parts: object) -> int:
    """A 32-bit seed that depends on nothing but `parts`: equal in every process and on every rank."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())


def _task_id(task: Task) -> str:
    if task.get("task_id") is not None:
        return str(task["task_id"])
    row = json.dumps(dict(task), sort_keys=True, default=repr)
    return hashlib.blake2b(row.encode(), digest_size=8).hexdigest()


def _factory(env: str | Callable[[], Env]) -> Callable[[], Env]:
    if isinstance(env, str):
        return env_factory(env)
    if not callable(env):
        raise TypeError(
            f"env must be a name, an Env class or a function that makes one, got {type(env).__name__}; "
            "every episode needs an environment of its own"
        )
    return env


def _guarded(callback: Callable[[T], None] | None) -> Callable[[T], None]:
    """A progress callback whose faults are logged and never end a batch."""
    if callback is None:
        return lambda _: None

    def call(value: T) -> None:
        try:
            callback(value)
        except Exception:  # a broken display must not cost a batch
            _logger.exception("the progress callback raised")

    return call
