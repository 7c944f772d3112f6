"""Learning: TRL's `GRPOTrainer` on episodes, recipes, evaluation, run folders, the command line.

The names load lazily: importing this package loads neither torch nor TRL.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch import RolloutBatch
    from .callback import GracefulStop, TimeBudget, latest_checkpoint
    from .check import check_rollout
    from .errors import PatchedTrainerError, RankError, RolloutOutputError, TrainerError
    from .grpo import build_trainer, task_dataset, train
    from .guard import make_args
    from .loop import LoopThread
    from .reward_func import episode_reward, scored_only
    from .rollout_func import RolloutFunc

_HOMES = {
    "GracefulStop": ".callback",
    "LoopThread": ".loop",
    "PatchedTrainerError": ".errors",
    "RankError": ".errors",
    "RolloutBatch": ".batch",
    "RolloutFunc": ".rollout_func",
    "RolloutOutputError": ".errors",
    "TimeBudget": ".callback",
    "TrainerError": ".errors",
    "build_trainer": ".grpo",
    "check_rollout": ".check",
    "episode_reward": ".reward_func",
    "latest_checkpoint": ".callback",
    "make_args": ".guard",
    "scored_only": ".reward_func",
    "task_dataset": ".grpo",
    "train": ".grpo",
}

__all__ = [
    "GracefulStop",
    "LoopThread",
    "PatchedTrainerError",
    "RankError",
    "RolloutBatch",
    "RolloutFunc",
    "RolloutOutputError",
    "TimeBudget",
    "TrainerError",
    "build_trainer",
    "check_rollout",
    "episode_reward",
    "latest_checkpoint",
    "make_args",
    "scored_only",
    "task_dataset",
    "train",
]


def __getattr__(name: str) -> Any:  # Any: whatever the public name is
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value
