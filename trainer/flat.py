"""Groups whose members all have the same reward, which teach nothing and need no training pass.

Their advantage is 0, so their policy gradient is too. Leaving out their tokens changes nothing else
exactly where the loss weighs each row by itself, which `is_free` looks up in the trainer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .reward_func import episode_reward

_LOSSES = ("grpo", "dr_grpo", "sapo", "luspo")
"""Divide by rows or a constant. The others divide by the tokens of a batch, those of flat groups too."""


def in_flat_groups(rewards: Sequence[float | None], group_size: int) -> frozenset[int]:
    """Scored rows of the groups whose scored members all have one reward.

    Args:
        rewards: of all ranks; TRL's groups are consecutive runs of `group_size`.
        group_size: rows of a group.
    """
    flat: set[int] = set()
    for start in range(0, len(rewards), group_size):
        scored = [
            row for row in range(start, min(start + group_size, len(rewards))) if rewards[row] is not None
        ]
        if len({rewards[row] for row in scored}) == 1:
            flat.update(scored)
    return frozenset(flat)


def is_free(trainer: Any) -> bool:  # Any: trl is untyped
    """Whether the gradient is the same without the tokens of flat groups.

    It needs the episode's reward alone (another may differ within the group), a loss that counts rows,
    and no term beside the policy's: no KL, no entropy bonus or quantile, no balancing of experts. Any
    `scale_rewards` will do: the rewards stay, and with them every mean and deviation.

    Source: trl 1.16, `GRPOTrainer._generate_and_score_completions` and `_compute_loss`.
    """
    return (
        trainer.loss_type in _LOSSES
        and trainer.multi_objective_aggregation == "sum_then_normalize"
        and list(trainer.reward_funcs) == [episode_reward]
        and trainer.beta == 0
        and trainer.top_entropy_quantile == 1
        and not trainer._entropy_bonus_enabled
        and not trainer.aux_loss_enabled
    )
