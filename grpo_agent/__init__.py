"""Agentic reinforcement learning of language models, on TRL's `GRPOTrainer`.

The public names load lazily: `import grpo_agent` is fast and loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents.rollout import RolloutEngine
    from .envs.core import Action, Env, Step
    from .envs.registry import make, register
    from .envs.tool import tool
    from .envs.tool_env import ToolEnv
    from .sandboxes.registry import make_provider
    from .trainer.rollout_func import RolloutFunc

_HOMES = {
    "Action": ".envs.core",
    "Env": ".envs.core",
    "RolloutEngine": ".agents.rollout",
    "RolloutFunc": ".trainer.rollout_func",
    "Step": ".envs.core",
    "ToolEnv": ".envs.tool_env",
    "make": ".envs.registry",
    "make_provider": ".sandboxes.registry",
    "register": ".envs.registry",
    "tool": ".envs.tool",
}

__all__ = [
    "Action",
    "Env",
    "RolloutEngine",
    "RolloutFunc",
    "Step",
    "ToolEnv",
    "make",
    "make_provider",
    "register",
    "tool",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:  # Any: whatever the public name is
    if name not in _HOMES:
        raise AttributeError(f"module 'grpo_agent' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
