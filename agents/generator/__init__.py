"""Model backends: what turns token ids into sampled token ids. The names load lazily."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conformance import check_generator
    from .scripted import ScriptedGenerator
    from .transformers import TransformersGenerator

_HOMES = {
    "ScriptedGenerator": ".scripted",
    "TransformersGenerator": ".transformers",
    "check_generator": ".conformance",
}

__all__ = ["ScriptedGenerator", "TransformersGenerator", "check_generator"]


def __getattr__(name: str) -> Any:  # Any: whatever the public name is
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
