"""One run from its recipe: evaluate, train, evaluate again, report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback, TrainerCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from ..agents.chat import ChatFormat
from ..agents.core import Generator
from ..agents.rollout import RolloutEngine
from . import grpo
from .argument import grpo_args
from .assembly import Scene, chat_format, make_engine, make_generator, set_scene
from .callback import TimeBudget, latest_checkpoint
from .errors import UserError, as_user_error
from .evaluate import Evaluation, evaluate
from .loop import LoopThread
from .model import find_model, load_model, load_tokenizer, lora_config
from .outcome import Outcome, check_scored
from .progress import Progress
from .recipe import Recipe
from .recorder import Recorder
from .rollout_func import RolloutFunc
from .store import RunFolder


@dataclass(frozen=True, slots=True)
class Plan:
    """A run whose recipe was checked as far as it can be without weights."""

    recipe: Recipe
    scene: Scene
    model_folder: Path
    tokenizer: PreTrainedTokenizerBase
    chat: ChatFormat


@dataclass(frozen=True, slots=True)
class Result:
    """What a training run came to."""

    is_complete: bool
    """False if it was asked to stop."""
    evaluations: dict[str, dict[str, Any]]  # Any: JSON of an `Evaluation`
    """By phase: before, after; those that were held."""


def plan(recipe: Recipe, cache_dir: Path, *, training: bool) -> Plan:
    """Check a recipe and gather what a run needs before its weights.

    Raises:
        UserError: something in the recipe cannot be used.
    """
    scene = set_scene(recipe, training=training)
    if training:
        grpo_args(recipe, cache_dir, n_tasks=len(scene.train_tasks), model_path=recipe.model.name)
        lora_config(recipe.model)
    if not len(scene.eval_tasks):
        raise UserError(f"the environment {recipe.env_name} has no tasks in its split {recipe.eval.split!r}")
    folder = find_model(recipe.model.name, cache_dir)
    tokenizer = load_tokenizer(folder)
    return Plan(recipe, scene, folder, tokenizer, chat_format(recipe.chat, tokenizer))


class Session:
    """A planned run at work: model, generator and event loop. Make it with `opened`."""

    def __init__(self, plan: Plan, run: RunFolder, progress: Progress, loop: LoopThread) -> None:
        self.plan, self.run, self.progress, self.loop = plan, run, progress, loop
        progress.note(f"loading {plan.model_folder}")
        self.model: PreTrainedModel = load_model(plan.model_folder, plan.recipe.model)
        self.generator: Generator = make_generator(plan.recipe, self.model, plan.chat)

    def evaluate(self, phase: str, step: int = 0) -> Evaluation:
        """Hold the held-out evaluation, `step` optimizer steps into training, and store it as `phase`.

        Raises:
            UnscoredAlarm: too many episodes were unscored; nothing is stored.
        """
        recipe, tasks = self.plan.recipe.eval, self.plan.scene.eval_tasks
        self.progress.begin(phase, len(tasks) * recipe.samples, "episodes")
        with self._engine(recipe.seed) as engine:
            work = evaluate(engine, tasks, recipe.samples, temperature=recipe.temperature, seed=recipe.seed)
            figures, episodes = self.loop.run(work)
        self.progress.end()
        check_scored(list(map(Outcome.of, episodes)), self.plan.recipe.rollout.max_unscored_share)
        self.run.write_episodes(phase, episodes, step)
        self.run.write_evaluation(phase, {"step": step, **figures.to_dict()})
        self.progress.note(f"{phase}: {headline(figures)}")
        return figures

    def train(self, checkpoint: Path | None) -> bool:
        """Train to the end, or until asked to stop; returns whether the end was reached.

        Args:
            checkpoint: where to go on from.
        """
        recipe, recorder = self.plan.recipe, Recorder(self.run, self.progress)
        with self._engine(recipe.seed) as engine:
            rollout = RolloutFunc(
                engine,
                max_unscored_share=recipe.rollout.max_unscored_share,
                skip_flat_groups=recipe.rollout.skip_flat_groups,
                on_episodes=recorder.on_episodes,
                loop=self.loop,
            )
            trainer = self._trainer(rollout, recorder)
            stop = grpo.train(trainer, resume_from=checkpoint, on_stop_request=self._say_stop)
        self.progress.end()
        return not stop.is_requested or trainer.state.global_step >= trainer.state.max_steps

    def _trainer(self, rollout: RolloutFunc, recorder: Recorder) -> GRPOTrainer:
        plan = self.plan
        callbacks: list[TrainerCallback] = [recorder]
        if plan.recipe.max_train_minutes is not None:
            callbacks.append(TimeBudget(plan.recipe.max_train_minutes * 60))
        with as_user_error():
            trainer = grpo.build_trainer(
                model=self.model,
                tokenizer=plan.tokenizer,
                rollout_func=rollout,
                tasks=plan.scene.train_tasks,
                eval_tasks=plan.scene.eval_tasks if self._args.eval_strategy != "no" else None,
                args=self._args,
                callbacks=callbacks,
                peft_config=lora_config(plan.recipe.model),
            )
        trainer.remove_callback(PrinterCallback)
        return trainer

    def _say_stop(self) -> None:
        self.progress.note("stopping after this step; Ctrl-C again stops at once")

    @contextmanager
    def _engine(self, seed: int) -> Iterator[RolloutEngine]:
        """An engine on the session's generator, which outlives it."""
        plan, on_episode = self.plan, self.progress.episode
        engine = make_engine(
            plan.recipe, plan.scene, self.generator, plan.chat, seed=seed, on_episode=on_episode
        )
        try:
            yield engine
        finally:
            engine.release()

    @property
    def _args(self) -> GRPOConfig:
        plan = self.plan
        n_tasks = len(plan.scene.train_tasks)
        return grpo_args(plan.recipe, self.run.path, n_tasks=n_tasks, model_path=str(plan.model_folder))


@contextmanager
def opened(plan: Plan, run: RunFolder, progress: Progress) -> Iterator[Session]:
    """Load the weights and start sandbox and generator; free all on leaving.

    Raises:
        SandboxUnavailable: before any weights are loaded.
        ModelError: the weights cannot be read.
    """
    with closing(LoopThread()) as loop:
        try:
            loop.run(plan.scene.open())
            session = Session(plan, run, progress, loop)
            try:
                yield session
            finally:
                loop.run(session.generator.close())
        finally:
            loop.run(plan.scene.close())


def train(plan: Plan, run: RunFolder, progress: Progress) -> Result:
    """Evaluate, train, evaluate: the whole of `grpo-agent train` but the report.

    A run that was begun before goes on from its last whole checkpoint; an evaluation that was held is
    not held again.
    """
    recipe, checkpoint = plan.recipe, latest_checkpoint(run.path)
    run.rewind(_step(checkpoint))
    is_complete = is_trained(checkpoint, recipe)
    if checkpoint is None or not is_complete:
        is_complete = _train(plan, run, progress, checkpoint)
    elif recipe.eval.after and not _is_held(run, "after", _step(checkpoint)):
        # Only evaluated: TRL would take one more step.
        with opened(replace(plan, model_folder=checkpoint), run, progress) as session:
            session.evaluate("after", _step(checkpoint))
    held = {phase: run.read_evaluation(phase) for phase in ("before", "after")}
    return Result(is_complete, {phase: figures for phase, figures in held.items() if figures is not None})


def _train(plan: Plan, run: RunFolder, progress: Progress, checkpoint: Path | None) -> bool:
    evaluation = plan.recipe.eval
    with opened(plan, run, progress) as session:
        if evaluation.before and run.read_evaluation("before") is None:
            session.evaluate("before")
        is_complete = session.train(checkpoint)
        if evaluation.after and is_complete:
            session.evaluate("after", _step(latest_checkpoint(run.path)))
    return is_complete


def _is_held(run: RunFolder, phase: str, step: int) -> bool:
    """Whether an evaluation was held `step` optimizer steps into training."""
    figures = run.read_evaluation(phase)
    return figures is not None and figures.get("step") == step


def is_trained(checkpoint: Path | None, recipe: Recipe) -> bool:
    """Whether a checkpoint stands at the end of training, or beyond."""
    if checkpoint is None:
        return False
    total = int(recipe.trainer.get("max_steps", -1))
    if total <= 0:
        total = int(json.loads((checkpoint / "trainer_state.json").read_text())["max_steps"])
    return _step(checkpoint) >= total


def _step(checkpoint: Path | None) -> int:
    return 0 if checkpoint is None else int(checkpoint.name.rpartition("-")[2])


def headline(figures: Evaluation) -> str:
    """The figures in one line."""
    parts = [f"success {figures.pass_at[1]}"] if figures.pass_at else []
    if len(figures.pass_at) > 1:
        k = max(figures.pass_at)
        parts.append(f"pass@{k} {figures.pass_at[k].mean:.1%}")
    if figures.reward is not None:
        parts.append(f"reward {figures.reward.mean:.3f}")
    return "  ".join(
        [*parts, f"{figures.episodes} episodes of {figures.tasks} tasks, {figures.unscored} unscored"]
    )
