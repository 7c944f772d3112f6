"""`trainer.*` of a recipe to TRL's `GRPOConfig`: every field passes through, none is declared twice."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from trl.trainer.grpo_config import GRPOConfig

from ..envs.nearest import did_you_mean
from .errors import RecipeError, as_user_error
from .guard import check_args, make_args
from .quiet import quiet_trl
from .recipe import Recipe

_OURS = {
    "output_dir": "run.folder and run.name",
    "seed": "seed",
    "resume_from_checkpoint": "resume",
    "disable_tqdm": "--quiet",
}
"""Fields that a key of our own sets."""

_ALLOWED: Mapping[str, tuple[object, ...]] = {
    "loss_type": ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo"),
    "scale_rewards": ("group", "batch", "none", True, False),
    "importance_sampling_level": ("token", "sequence"),
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
}
"""Values of fields that TRL itself checks only once it trains."""

_POSITIVE = frozenset(
    {
        "generation_batch_size",
        "gradient_accumulation_steps",
        "num_generations",
        "num_generations_eval",
        "num_iterations",
        "per_device_eval_batch_size",
        "per_device_train_batch_size",
        "steps_per_generation",
    }
)
"""Counts that TRL divides by."""

_SCALARS = (bool, int, float, str, type(None))


def grpo_args(recipe: Recipe, folder: Path, *, n_tasks: int, model_path: str = "") -> GRPOConfig:
    """The checked arguments of `GRPOTrainer`.

    What the recipe does not say is set so that a run can be watched and resumed: every step is logged,
    and one checkpoint kept. `max_completion_length`, which under a rollout is only the constant of
    `dr_grpo`, follows `limits.max_completion_tokens`.

    Args:
        recipe: the run's.
        folder: where checkpoints go.
        n_tasks: rows to train on.
        model_path: where a reference model can be loaded from.

    Raises:
        RecipeError: a field is unknown or has a bad value.
        UserError: values that do not go together.
    """
    check_fields(recipe.trainer)
    fields: dict[str, Any] = {  # Any: GRPOConfig's own types
        "logging_steps": 1,
        "save_total_limit": 1,
        "max_completion_length": recipe.limits.max_completion_tokens,
        **recipe.trainer,
        "seed": recipe.seed,
        "disable_tqdm": True,
    }
    with as_user_error("trainer"), quiet_trl():
        args = make_args(folder, **fields)
    with as_user_error():
        check_args(args, n_tasks=n_tasks, has_adapter=recipe.model.lora is not None, model_path=model_path)
    return args


def check_fields(fields: Mapping[str, object]) -> None:
    """Check names and plain types of `trainer.*`.

    Raises:
        RecipeError: with the nearest name, or the type or value that is wanted.
    """
    hints = _hints()
    for name, value in fields.items():
        if name in _OURS:
            raise RecipeError(f"trainer.{name} is set by {_OURS[name]}; use that")
        if name not in hints:
            raise RecipeError(
                f"unknown key 'trainer.{name}'{did_you_mean(name, hints)}; "
                "trainer.* are the fields of GRPOConfig"
            )
        if not _fits(value, hints[name]):
            raise RecipeError(f"trainer.{name} is {value!r}; it must be of type {_worded(hints[name])}")
        if name in _POSITIVE and isinstance(value, int) and value < 1:
            raise RecipeError(f"trainer.{name} is {value}; it must be at least 1")
        if name in _ALLOWED and value not in _ALLOWED[name]:
            allowed = [str(each) for each in _ALLOWED[name]]
            raise RecipeError(
                f"trainer.{name} is {value!r}; it must be one of {', '.join(allowed)}"
                f"{did_you_mean(str(value), allowed)}"
            )


@cache
def _hints() -> Mapping[str, Any]:  # Any: type expressions
    hints = typing.get_type_hints(GRPOConfig)
    return {each.name: hints[each.name] for each in dataclasses.fields(GRPOConfig) if each.init}


def _options(hint: Any) -> tuple[Any, ...]:  # Any: type expressions
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _fits(value: object, hint: Any) -> bool:  # Any: a type expression
    options = _options(hint)
    if any(option not in _SCALARS for option in options):
        return True  # enumerations and containers are checked by GRPOConfig itself
    if isinstance(value, bool):
        return bool in options or hint is str  # `scale_rewards` is declared as text and takes both
    if isinstance(value, int):
        return int in options or float in options
    return type(value) in options


def _worded(hint: Any) -> str:  # Any: a type expression
    names = {bool: "true or false", int: "integer", float: "number", str: "text", type(None): "null"}
    return " or ".join(names[option] for option in _options(hint))
