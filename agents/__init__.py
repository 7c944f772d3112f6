"""What acts: chat formats, token logs, generators, and the engine that plays episodes.

The names load lazily: those that need transformers or torch import them on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chat import ChatFormat
    from .core import Episode, Generation, Generator, Sampling, StopReason, Timings, Turn
    from .errors import AgentError, ChatFormatError, EnvContractError, GeneratorError, UnscoredAlarm
    from .failure import Failure, FailureKind, Stage
    from .generator.scripted import ScriptedGenerator
    from .limits import RolloutLimits
    from .rollout import RolloutEngine
    from .tokenlog import TokenLog

_HOMES = {
    "AgentError": ".errors",
    "ChatFormat": ".chat",
    "ChatFormatError": ".errors",
    "EnvContractError": ".errors",
    "Episode": ".core",
    "Failure": ".failure",
    "FailureKind": ".failure",
    "Generation": ".core",
    "Generator": ".core",
    "GeneratorError": ".errors",
    "RolloutEngine": ".rollout",
    "RolloutLimits": ".limits",
    "Sampling": ".core",
    "ScriptedGenerator": ".generator.scripted",
    "Stage": ".failure",
    "StopReason": ".core",
    "Timings": ".core",
    "TokenLog": ".tokenlog",
    "Turn": ".core",
    "UnscoredAlarm": ".errors",
}

__all__ = [
    "AgentError",
    "ChatFormat",
    "ChatFormatError",
    "EnvContractError",
    "Episode",
    "Failure",
    "FailureKind",
    "Generation",
    "Generator",
    "GeneratorError",
    "RolloutEngine",
    "RolloutLimits",
    "Sampling",
    "ScriptedGenerator",
    "Stage",
    "StopReason",
    "Timings",
    "TokenLog",
    "Turn",
    "UnscoredAlarm",
]


def __getattr__(name: str) -> Any:  # Any: whatever the public name is
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
