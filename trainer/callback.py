"""Ends and resumes a training in good order: stop requests, a time budget, whole checkpoints."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Self

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .rank import any_rank

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_Handler = Callable[[int, FrameType | None], Any] | int | None


class GracefulStop(TrainerCallback):
    """Stops at the next end of an optimizer step and saves, when asked once; at once, when asked twice.

    Where steps share the episodes of one generation, it is the last of them: a run that is resumed there
    goes on as if it had not stopped. Listens to SIGINT and SIGTERM while used as a context:
    `with stop: trainer.train()`. One rank that is asked stops all.
    """

    def __init__(self, on_request: Callable[[], object] | None = None) -> None:
        """Prepare; nothing is listened to before the context is entered.

        Args:
            on_request: called once, when first asked; on a thread of its own, since a signal may come in
                the midst of a write.
        """
        self.is_requested = False
        self._on_request = on_request
        self._previous: dict[signal.Signals, _Handler] = {}

    def request(self) -> None:
        """Ask for a stop; asking again changes nothing."""
        if not self.is_requested and self._on_request is not None:
            threading.Thread(target=self._on_request, name="grpo-agent-stop", daemon=True).start()
        self.is_requested = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = {each: signal.signal(each, self._on_signal) for each in _SIGNALS}
        return self

    def __exit__(self, *exc_info: object) -> None:
        for each, handler in self._previous.items():
            signal.signal(each, handler)
        self._previous = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            raise KeyboardInterrupt(f"asked to stop twice (signal {number})")
        self.request()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Save and stop, if any rank was asked to and no episodes are left to learn from."""
        if _ends_window(args, state) and any_rank(self.is_requested):
            self.is_requested = True
            _save_and_stop(control)


class TimeBudget(TrainerCallback):
    """Stops at the end of an optimizer step, and saves, once `max_train_s` seconds have passed.

    A step is not begun if one as long as the longest so far would pass the budget by more than half of
    itself. Steps that share the episodes of one generation count as one.
    """

    def __init__(self, max_train_s: float) -> None:
        """Set the budget, in seconds from the begin of training.

        Raises:
            ValueError: it is not positive.
        """
        if max_train_s <= 0:
            raise ValueError(f"max_train_s is {max_train_s!r}; it must be positive")
        self._max_train_s = max_train_s
        self._started = self._last = 0.0
        self._longest_s = 0.0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Start the clock."""
        self._started = self._last = time.monotonic()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Save and stop, if the budget is spent."""
        if not _ends_window(args, state):
            return
        now = time.monotonic()
        self._longest_s, self._last = max(self._longest_s, now - self._last), now
        if any_rank(now - self._started + self._longest_s / 2 >= self._max_train_s):
            _save_and_stop(control)


def latest_checkpoint(folder: str | Path) -> Path | None:
    """The newest whole `checkpoint-*` of a run folder; half-written ones are passed over."""
    numbered = []
    for path in Path(folder).glob("checkpoint-*"):
        match = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if match and path.is_dir():
            numbered.append((int(match[1]), path))
    for step, path in sorted(numbered, reverse=True):
        if is_whole(path, step):
            return path
    return None


def is_whole(checkpoint: Path, step: int) -> bool:
    """Whether a checkpoint was written to its end.

    The trainer writes `trainer_state.json` last; weights and states are checked for their full length.
    """
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_text())
    except (OSError, ValueError):
        return False
    weights = list(checkpoint.rglob("*.safetensors"))
    archives = [path for pattern in ("*.pt", "*.pth", "*.bin") for path in checkpoint.rglob(pattern)]
    has_step = isinstance(state, dict) and state.get("global_step") == step
    return (
        has_step
        and bool(weights or archives)
        and all(_is_whole_safetensors(path) for path in weights)
        and all(zipfile.is_zipfile(path) for path in archives)
    )


def _is_whole_safetensors(path: Path) -> bool:
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if header_bytes > path.stat().st_size:
            return False
        try:
            header = json.loads(file.read(header_bytes))
        except ValueError:
            return False
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    data_bytes = max((entry["data_offsets"][1] for entry in tensors), default=0)
    return path.stat().st_size == 8 + header_bytes + data_bytes


def _ends_window(args: Any, state: TrainerState) -> bool:  # Any: trl is untyped
    """Whether all learning from the last generated episodes is done."""
    window = (args.steps_per_generation or 1) * args.num_iterations
    return bool(state.global_step * args.gradient_accumulation_steps % window == 0)


def _save_and_stop(control: TrainerControl) -> None:
    control.should_save = True
    control.should_training_stop = True
