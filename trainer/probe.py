"""Checks that the trainer at hand really uses `rollout_func` and `env_mask`.

Replaced or compiled trainers are known to ignore one or the other, and then train on the environment's
tokens, or on other completions, without an error. `probe_mask` costs two forward passes of one short
row; `CalledProbe` costs nothing. Both speak before the first change of a weight.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .errors import PatchedTrainerError

_N_TOKENS = 4


def probe_mask(trainer: Any, token_id: int) -> None:  # Any: trl is untyped
    """Check that the loss of a row masked whole does not depend on its advantage.

    A collective: every rank must call it. Leaves the trainer's metrics as they were.

    Raises:
        PatchedTrainerError: it does depend, so masked tokens would be trained.
    """
    with torch.no_grad(), _metrics_kept(trainer):
        losses = [
            float(trainer.compute_loss(trainer.model_wrapped, _masked_row(trainer, token_id, advantage)))
            for advantage in (1.0, -1.0)
        ]
    if losses[0] != losses[1]:
        raise PatchedTrainerError(
            f"{_origin(trainer, 'compute_loss')} trains on tokens that env_mask excludes; "
            "use trl.GRPOTrainer as TRL ships it (was a library imported that replaces it?)"
        )


class CalledProbe(TrainerCallback):
    """Stops a training whose trainer never called `rollout_func`."""

    def __init__(self, n_calls: Callable[[], int]) -> None:
        self._n_calls = n_calls
        self.trainer: Any = None  # Any: trl is untyped; set once the trainer is built

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Check once gradients are there and before they are applied.

        Raises:
            PatchedTrainerError: `rollout_func` was not called.
        """
        if not self._n_calls():
            raise PatchedTrainerError(
                f"{_origin(self.trainer, '_generate_and_score_completions')} did not call rollout_func; "
                "use trl.GRPOTrainer as TRL ships it (was a library imported that replaces it?)"
            )


def _masked_row(trainer: Any, token_id: int, advantage: float) -> dict[str, torch.Tensor]:
    device = trainer.accelerator.device
    ids = torch.full((1, _N_TOKENS), token_id, device=device)
    zeros = torch.zeros(1, _N_TOKENS, device=device)
    return {
        "prompt_ids": ids,
        "prompt_mask": torch.ones_like(ids),
        "completion_ids": ids,
        "completion_mask": torch.ones_like(ids),
        "tool_mask": torch.zeros_like(ids),
        "advantages": torch.tensor([advantage], device=device),
        "num_items_in_batch": torch.tensor(_N_TOKENS, device=device),
        "ref_per_token_logps": zeros,
        "sampling_per_token_logps": zeros,
        "importance_sampling_ratio": torch.ones(1, 1, device=device),
    }


@contextlib.contextmanager
def _metrics_kept(trainer: Any) -> Iterator[None]:
    saved = {
        mode: {name: list(values) for name, values in named.items()} for mode, named in _metrics(trainer)
    }
    try:
        yield
    finally:
        for mode, named in _metrics(trainer):
            named.clear()
            named.update(saved[mode])


def _metrics(trainer: Any) -> list[tuple[str, dict[str, list[float]]]]:
    return list(trainer._metrics.items())


def _origin(trainer: Any, method: str) -> str:
    owner = next((base for base in type(trainer).__mro__ if method in vars(base)), type(trainer))
    return f"the trainer {owner.__module__}.{owner.__qualname__}"
