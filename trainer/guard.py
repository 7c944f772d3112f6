"""What must hold before a model is loaded, checked with clear messages.

Each setting below is one that TRL accepts and that then trains wrongly, crashes late or does nothing
when episodes come from a `RolloutFunc`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from trl.trainer.grpo_config import GRPOConfig

from .precision import has_fast_bfloat16

_FULL_VOCABULARY = {"top_p": (1.0,), "top_k": (0, None), "min_p": (None, 0.0), "repetition_penalty": (1.0,)}
_MUST_BE_OFF = {
    "remove_unused_columns": "it would strip the columns that rewards need",
    "mask_truncated_completions": (
        "it looks at the last token only, so it would mask complete episodes that the environment ended"
    ),
}


def make_args(output_dir: str | Path, **fields: Any) -> GRPOConfig:  # Any: GRPOConfig's own types
    """`GRPOConfig(output_dir, **fields)`, on the CPU if this machine has no accelerator.

    `gradient_checkpointing` is taken under its new name, `activation_checkpointing`; TRL's default stays.
    Unless `bf16` or `fp16` is said, passes run in bfloat16 where this machine is fast in it.

    Raises:
        ValueError: TRL refuses the values.
        TypeError: a field is unknown.
    """
    if not torch.accelerator.is_available():
        fields.setdefault("use_cpu", True)
    if fields.get("bf16") is None and not fields.get("fp16"):
        fields["bf16"] = has_fast_bfloat16()
    fields.setdefault("activation_checkpointing", fields.pop("gradient_checkpointing", True))
    return GRPOConfig(output_dir=str(output_dir), **fields)


def check_sampling(args: GRPOConfig) -> None:
    """Check that the policy samples from the full vocabulary.

    Raises:
        ValueError: a setting truncates or bends the distribution, so that the sampler's logprobs would
            not be those that the trainer computes.
    """
    for name, allowed in _FULL_VOCABULARY.items():
        value = getattr(args, name)
        if value not in allowed:
            raise ValueError(
                f"trainer.{name} is {value!r}; it must be {allowed[0]!r}, because the trainer's "
                "log-probabilities are over the full vocabulary; trainer.temperature may change"
            )
    if args.generation_kwargs:
        raise ValueError(
            f"trainer.generation_kwargs is {args.generation_kwargs!r}, which rollouts do not use; remove it"
        )
    if args.temperature <= 0:
        raise ValueError(f"trainer.temperature is {args.temperature!r}; it must be above 0 to learn")


def check_args(args: GRPOConfig, *, n_tasks: int, has_adapter: bool = False, model_path: str = "") -> None:
    """Check `args` for training with a `RolloutFunc`.

    Args:
        args: TRL's configuration, as built.
        n_tasks: rows of the training dataset.
        has_adapter: whether a PEFT adapter is trained, whose base model is the reference model.
        model_path: where the reference model can be loaded from: a folder or a hub name.

    Raises:
        ValueError: naming the setting, its value and what to do.
    """
    check_sampling(args)
    for name, why in _MUST_BE_OFF.items():
        if getattr(args, name):
            raise ValueError(f"trainer.{name} is true; set it to false: {why}")
    if args.beta != 0 and not has_adapter and not model_path:
        raise ValueError(
            f"trainer.beta is {args.beta!r}, which needs a reference model: load the model from a folder or "
            "the hub, train an adapter, or set trainer.beta=0"
        )
    _check_batch(args, n_tasks)
    _check_save_steps(args)
    _check_vllm(args)


def check_eval_batch(args: GRPOConfig) -> None:
    """Check that an evaluation batch holds whole groups.

    Raises:
        ValueError: it does not.
    """
    group = args.num_generations_eval or args.num_generations
    rows = args.per_device_eval_batch_size * args.world_size
    if rows % group:
        raise ValueError(
            f"an evaluation batch has {rows} rows (trainer.per_device_eval_batch_size="
            f"{args.per_device_eval_batch_size} x {args.world_size} processes), which groups of {group} do "
            "not divide; change trainer.per_device_eval_batch_size or trainer.num_generations_eval"
        )


def _check_batch(args: GRPOConfig, n_tasks: int) -> None:
    batch_size = args.generation_batch_size or 0  # TRL sets it, and steps_per_generation, when it is built
    tasks_per_batch = batch_size // (args.num_generations or 1)
    if n_tasks < tasks_per_batch:
        raise ValueError(
            f"there are {n_tasks} tasks but one batch takes {tasks_per_batch} (generation_batch_size="
            f"{args.generation_batch_size} / num_generations={args.num_generations}): TRL would train "
            "on none. Give more tasks, lower trainer.gradient_accumulation_steps or raise "
            "trainer.num_generations"
        )


def _check_save_steps(args: GRPOConfig) -> None:
    window = (args.steps_per_generation or 1) * args.num_iterations
    micro_steps = args.save_steps * args.gradient_accumulation_steps
    if args.save_strategy == "steps" and micro_steps % window:
        raise ValueError(
            f"trainer.save_steps={args.save_steps} saves in the middle of a generation window ("
            f"save_steps x gradient_accumulation_steps = {micro_steps:g}, window = steps_per_generation x "
            f"num_iterations = {window}), so a resumed run would differ; make the first a multiple of "
            "the second"
        )


def _check_vllm(args: GRPOConfig) -> None:
    if not args.use_vllm:
        return
    mode = args.vllm_importance_sampling_mode
    if args.vllm_importance_sampling_correction and mode.startswith("sequence"):
        raise ValueError(
            f"trainer.vllm_importance_sampling_mode is {mode!r}, whose ratio is "
            "a product over all tokens of an episode and drops long ones whole; use 'token_truncate'"
        )
    if args.vllm_enable_sleep_mode:
        raise ValueError(
            "trainer.vllm_enable_sleep_mode is true; set it to false: "
            "all weights would be loaded again each turn"
        )
