"""Level 2: functions of a few lines, with a loop or a condition or two."""

from __future__ import annotations

from . import algorithms, dicts, lists, numbers, strings

FAMILIES = (
    *numbers.FAMILIES,
    *strings.FAMILIES,
    *lists.FAMILIES,
    *dicts.FAMILIES,
    *algorithms.FAMILIES,
)
