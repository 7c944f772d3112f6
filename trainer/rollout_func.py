"""Episodes for `trl.GRPOTrainer(rollout_func=...)`, the stock trainer included.

`RolloutFunc` is the one bridge between TRL and the rollout engine: task rows out of the prompts,
episodes from the engine, rows for TRL. It never fails on one rank alone.

Shapes: `B` rows of this rank; TRL repeats each prompt `num_generations` times beforehand and deals the
rows to the ranks in order, so that a group may straddle ranks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ..agents.core import Episode, Sampling
from ..agents.failure import Failure, FailureKind, Stage
from ..envs.core import Task
from .batch import Columns, RolloutBatch, columns, in_small_groups, unscored, with_tokens
from .check import check_groups, check_rollout
from .flat import in_flat_groups, is_free
from .guard import check_sampling
from .loop import LoopThread
from .outcome import Outcome, check_scored, measure
from .probe import probe_mask
from .prompt import to_task
from .rank import agreed

_EVAL_STEP = -1  # evaluations face the same seeds whenever they are held


class Engine(Protocol):
    """What `RolloutFunc` needs of `agents.rollout.RolloutEngine`."""

    async def run_rows(
        self,
        tasks: Sequence[Task],
        samples: Sequence[int],
        *,
        step: int = 0,
        sampling: Sampling | None = None,
    ) -> list[Episode]:
        """One episode for each row, in order; `samples` are the indices within the rows' groups."""
        ...

    async def close(self) -> None:
        """Free what the engine holds on the running loop."""
        ...


@dataclass(frozen=True, slots=True)
class _Rows:
    """This rank's part of a batch that all ranks know."""

    tasks: tuple[Task, ...]
    samples: tuple[int, ...]
    first: int
    """Index of this rank's first row in the whole batch."""
    group_size: int


class RolloutFunc:
    """A callable for `trl.GRPOTrainer(rollout_func=...)` that plays episodes.

    - Returns one row a prompt, in order, checked by `check_rollout`.
    - An unscored episode becomes one masked EOS with reward `None`; a group left with fewer than
      `min_group` scored members is unscored whole.
    - A group whose rewards are all equal is not passed through the model, if the gradient is the same
      without it. TRL's own figures of lengths, entropy and clipping then leave it out; ours do not.
    - Sample indices, and with them the seeds, follow from task and step, never from rank or position.
    - Whatever fails on one rank is raised on all of them.
    - The model is left in the mode, train or eval, in which it was found.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        max_unscored_share: float = 0.5,
        min_group: int = 2,
        skip_flat_groups: bool = True,
        on_episodes: Callable[[RolloutBatch], None] | None = None,
        loop: LoopThread | None = None,
    ) -> None:
        """Prepare; nothing runs before the first call.

        Args:
            engine: plays the episodes.
            max_unscored_share: the alarm: a greater share of unscored episodes in a batch of all ranks
                stops the run; 1 switches it off.
            min_group: scored members that a group needs to be trained on.
            skip_flat_groups: whether groups of equal rewards are left out of the training pass, where
                that changes no gradient.
            on_episodes: called on each rank with its episodes, once they are final.
            loop: where the engine runs, if others share it; the caller closes it and the engine then.

        Raises:
            ValueError: a share outside 0 to 1, or `min_group` below 1.
        """
        if not 0 <= max_unscored_share <= 1:
            raise ValueError(f"max_unscored_share is {max_unscored_share!r}; it must be between 0 and 1")
        if min_group < 1:
            raise ValueError(f"min_group is {min_group!r}; it must be at least 1")
        self.n_calls = 0
        self._engine = engine
        self._max_unscored_share = max_unscored_share
        self._min_group = min_group
        self._skip_flat_groups = skip_flat_groups
        self._on_episodes = on_episodes
        self._loop = loop or LoopThread("grpo-agent-rollout")
        self._owns_loop = loop is None
        self._is_closed = self._is_probed = False
        self._numbering = _Numbering()

    def __call__(self, prompts: list[Any], trainer: Any) -> Columns:  # Any: trl is untyped
        """Play one episode a prompt. A collective: TRL calls it on every rank.

        Raises:
            UnscoredAlarm: too many episodes were unscored; on every rank.
            RankError: another rank failed.
            PatchedTrainerError: the trainer does not apply `env_mask`.
            RolloutOutputError: the rows are not what TRL trains on rightly.
            ValueError: a prompt carries no valid task, or the sampling is not full-vocabulary.
        """
        with _modes_kept(trainer.model):
            mode = "train" if trainer.model.training else "eval"
            self._check_trainer(trainer)
            self.n_calls += 1
            rows = self._rows(prompts, trainer, mode)
            return self._play(rows, trainer, mode)

    def close(self) -> None:
        """Close the engine and the event loop, if the loop is this object's own. Idempotent."""
        if self._owns_loop and not self._is_closed:
            self._is_closed = True
            try:
                self._loop.run(self._engine.close())
            finally:
                self._loop.close()

    def _check_trainer(self, trainer: Any) -> None:
        check_sampling(trainer.args)
        if not self._is_probed and trainer.is_in_train and trainer.model.training:
            probe_mask(trainer, trainer.processing_class.eos_token_id)
            self._is_probed = True

    def _rows(self, prompts: list[Any], trainer: Any, mode: str) -> _Rows:
        tasks: list[Task] = []

        def read() -> list[str]:
            tasks.extend(to_task(prompt) for prompt in prompts)
            return [_name(task) for task in tasks]

        by_rank = agreed(read)
        names = [name for of_rank in by_rank for name in of_rank]
        group_size = trainer.num_generations if mode == "train" else trainer.num_generations_eval
        check_groups(names, group_size)
        samples = self._numbering.number(names, trainer.state.global_step if mode == "train" else None)
        first = sum(len(of_rank) for of_rank in by_rank[: trainer.accelerator.process_index])
        return _Rows(tuple(tasks), tuple(samples[first : first + len(tasks)]), first, group_size)

    def _play(self, rows: _Rows, trainer: Any, mode: str) -> Columns:
        started = time.monotonic()
        step = trainer.state.global_step if mode == "train" else _EVAL_STEP
        episodes: list[Episode] = []

        def play() -> list[Outcome]:
            sampling = Sampling(temperature=trainer.args.temperature)
            work = self._engine.run_rows(rows.tasks, rows.samples, step=step, sampling=sampling)
            episodes.extend(with_tokens(episode) for episode in self._loop.run(work))
            if len(episodes) != len(rows.tasks):
                raise ValueError(f"the engine returned {len(episodes)} episodes for {len(rows.tasks)} rows")
            return [Outcome.of(episode) for episode in episodes]

        outcomes = [outcome for of_rank in agreed(play) for outcome in of_rank]
        metrics = measure(outcomes, time.monotonic() - started)
        check_scored(outcomes, self._max_unscored_share)
        flat: frozenset[int] = frozenset()
        if mode == "train":
            metrics["failure/small_group"] = self._unscore_small_groups(episodes, outcomes, rows)
            flat = self._flat(outcomes, rows, trainer)
        for name, value in metrics.items():
            trainer._metrics[mode][name].append(value)
        ids = tuple(
            f"{mode}-{trainer.state.global_step}/{episode.task_id}/{sample}"
            for episode, sample in zip(episodes, rows.samples, strict=True)
        )
        batch = RolloutBatch(mode, trainer.state.global_step, ids, tuple(episodes), metrics)
        return self._finish(batch, flat, trainer)

    def _unscore_small_groups(
        self, episodes: list[Episode], outcomes: Sequence[Outcome], rows: _Rows
    ) -> float:
        """Unscore them in place; return their members' share of all ranks' rows."""
        is_scored = [outcome.reward is not None for outcome in outcomes]
        small = in_small_groups(is_scored, rows.group_size, self._min_group)
        for index, episode in enumerate(episodes):
            if rows.first + index in small:
                message = f"fewer than {self._min_group} members of the group are scored"
                episodes[index] = unscored(episode, Failure(FailureKind.SMALL_GROUP, Stage.REWARD, message))
        return len(small) / len(outcomes)

    def _flat(self, outcomes: Sequence[Outcome], rows: _Rows, trainer: Any) -> frozenset[int]:
        """Rows of this rank that are left out because their group's rewards are equal."""
        if not self._skip_flat_groups or not is_free(trainer):
            return frozenset()
        flat = in_flat_groups([outcome.reward for outcome in outcomes], rows.group_size)
        return frozenset(row for row in range(len(rows.tasks)) if rows.first + row in flat)

    def _finish(self, batch: RolloutBatch, untrained: frozenset[int], trainer: Any) -> Columns:
        output: Columns = {}

        def finish() -> None:
            eos_token_id = trainer.processing_class.eos_token_id
            output.update(columns(batch.episodes, batch.episode_ids, eos_token_id, untrained))
            vocab_size = trainer.model.config.get_text_config().vocab_size
            check_rollout(output, len(batch.episodes), vocab_size=vocab_size, untrained=untrained)
            if self._on_episodes is not None:
                self._on_episodes(batch)

        agreed(finish)
        return output


class _Numbering:
    """Sample indices: how often a task was seen before in this optimizer step, over all ranks."""

    def __init__(self) -> None:
        self._step: int | None = None
        self._seen: Counter[str] = Counter()

    def number(self, names: Sequence[str], step: int | None) -> list[int]:
        """Indices of the rows; with `step=None` the call stands alone."""
        if step is None or step != self._step:
            self._step, self._seen = step, Counter()
        samples = []
        for name in names:
            samples.append(self._seen[name])
            self._seen[name] += 1
        return samples


def _name(task: Task) -> str:
    task_id = task.get("task_id")
    if task_id is None:
        raise ValueError(f"a task row needs a 'task_id', got {str(task)[:200]}; task_dataset() adds one")
    return str(task_id)


@contextmanager
def _modes_kept(model: Any) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, is_training in modes.items():
            module.training = is_training
