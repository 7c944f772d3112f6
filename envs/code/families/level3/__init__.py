"""Level 3: small algorithms."""

from __future__ import annotations

from . import algorithms, dicts, lists, numbers, strings

FAMILIES = (
    *numbers.FAMILIES,
    *strings.FAMILIES,
    *lists.FAMILIES,
    *dicts.FAMILIES,
    *algorithms.FAMILIES,
)
