"""Writes what happens in training to the run's folder and the screen."""

from __future__ import annotations

import time
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .batch import RolloutBatch
from .progress import Progress
from .store import RunFolder


class Recorder(TrainerCallback):
    """A callback of the trainer, and `on_episodes` of a `RolloutFunc`.

    Each log entry of the trainer becomes one line of `metrics.jsonl`, with `time/step_s`, the wall time
    of its step.
    """

    def __init__(self, run: RunFolder, progress: Progress) -> None:
        self._run, self._progress = run, progress
        self._began = 0.0
        self._step_s = 0.0

    def on_episodes(self, batch: RolloutBatch) -> None:
        """Keep the episodes of a batch."""
        phase = "train" if batch.mode == "train" else "while-training"
        self._run.append_episodes(phase, batch.episodes, batch.step)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Show how far training is."""
        self._progress.begin("train", state.max_steps, "steps", done=state.global_step)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Start the clock of the step."""
        # Later steps begin where the one before ended: saving and evaluating in between count too.
        self._began = self._began or time.monotonic()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Take the time of the step."""
        now = time.monotonic()
        self._step_s, self._began = now - self._began, now

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep and show the trainer's figures."""
        if not logs or not state.is_world_process_zero:
            return
        row = {"step": state.global_step, "time": time.time(), "time/step_s": self._step_s, **logs}
        self._run.append_metrics(row)
        if "loss" in logs:
            self._progress.step(state.global_step, row)
