"""Stock `trl.GRPOTrainer`, put together with a `RolloutFunc`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from ..envs.core import Task
from .callback import GracefulStop
from .guard import check_args, check_eval_batch
from .lean import make_lean
from .probe import CalledProbe
from .prompt import to_prompt
from .quiet import quiet_trl
from .reward_func import RewardFunc, episode_reward, scored_only
from .rollout_func import RolloutFunc


class TrainerOptions(TypedDict, total=False):
    """Further arguments of `build_trainer`."""

    reward_funcs: Sequence[RewardFunc]
    """Rewards added to the episode's own; weighed by `args.reward_weights`, the episode's first."""
    callbacks: Sequence[TrainerCallback]
    peft_config: Any  # Any: peft is optional
    lean_forward: bool
    """Whether training on a CPU leaves out positions that do not count (default; see `lean`)."""


def task_dataset(tasks: Sequence[Task]) -> Dataset:
    """TRL's dataset of `tasks`: one `prompt` column that carries the rows.

    A row without `task_id` is named by its position.

    Raises:
        TypeError: a row holds something that JSON cannot.
        ValueError: there are no rows, or two that differ share a `task_id`. Equal rows are one task that
            is met more often.
    """
    if not len(tasks):
        raise ValueError("there are no tasks to train on")
    rows = [{"task_id": f"task-{index}", **_present(tasks[index])} for index in range(len(tasks))]
    prompts, seen = [to_prompt(row) for row in rows], dict[str, str]()
    for row, prompt in zip(rows, prompts, strict=True):
        if seen.setdefault(str(row["task_id"]), prompt[0]["task"]) != prompt[0]["task"]:
            raise ValueError(f"task_id {row['task_id']!r} stands for two rows that differ; name them apart")
    return Dataset.from_dict({"prompt": prompts})


def build_trainer(
    *,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rollout_func: RolloutFunc,
    tasks: Sequence[Task],
    args: GRPOConfig,
    eval_tasks: Sequence[Task] | None = None,
    **options: Unpack[TrainerOptions],
) -> GRPOTrainer:
    """Stock `GRPOTrainer` that learns from the episodes of `rollout_func`.

    Args:
        model: the policy.
        tokenizer: its tokenizer, with an EOS token.
        rollout_func: plays the episodes.
        tasks: rows to train on.
        args: TRL's configuration; `make_args` builds one.
        eval_tasks: rows for evaluation while training.
        options: see `TrainerOptions`.

    Raises:
        ValueError: a setting that would train wrongly, named with the remedy.
        TypeError: a reward that is not a function.
    """
    check_args(
        args,
        n_tasks=len(tasks),
        has_adapter=options.get("peft_config") is not None or hasattr(model, "peft_config"),
        model_path=model.config._name_or_path,
    )
    if eval_tasks is not None:
        check_eval_batch(args)
    rewards: list[Any] = [
        episode_reward,
        *map(scored_only, options.get("reward_funcs", ())),
    ]  # Any: TRL's union
    probe = CalledProbe(lambda: rollout_func.n_calls)
    with quiet_trl():
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            rollout_func=rollout_func,
            reward_funcs=rewards,
            args=args,
            train_dataset=task_dataset(tasks),
            eval_dataset=None if eval_tasks is None else task_dataset(eval_tasks),
            callbacks=[probe, *options.get("callbacks", ())],
            peft_config=options.get("peft_config"),
        )
    probe.trainer = trainer
    if options.get("lean_forward", True):
        make_lean(trainer)
    return trainer


def train(
    trainer: GRPOTrainer,
    *,
    resume_from: Path | None = None,
    on_stop_request: Callable[[], object] | None = None,
) -> GracefulStop:
    """Train to the end, or until asked to stop by SIGINT or SIGTERM: then the step is finished and saved.

    Args:
        trainer: of `build_trainer`.
        resume_from: a checkpoint, such as `latest_checkpoint` finds.
        on_stop_request: called when first asked to stop, on a thread of its own.

    Returns:
        The stop, which says whether it was asked for.

    Raises:
        KeyboardInterrupt: asked to stop twice.
        UnscoredAlarm: too many episodes were unscored.
        TrainerError: see its kinds.
    """
    stop = GracefulStop(on_stop_request)
    trainer.add_callback(stop)
    try:
        with stop, quiet_trl():
            trainer.train(resume_from_checkpoint=None if resume_from is None else str(resume_from))
    finally:
        trainer.remove_callback(stop)
    return stop


def _present(task: Task) -> dict[str, Any]:  # Any: a dataset row
    return {name: value for name, value in task.items() if name != "task_id" or value is not None}
