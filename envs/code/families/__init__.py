"""The built-in task families, by level and topic."""

from __future__ import annotations

from .core import Family
from .level1 import FAMILIES as _LEVEL1
from .level2 import FAMILIES as _LEVEL2
from .level3 import FAMILIES as _LEVEL3

FAMILIES: dict[str, Family] = {family.name: family for family in (*_LEVEL1, *_LEVEL2, *_LEVEL3)}

__all__ = ["FAMILIES", "Family"]
