"""Whether a solution's value is the expected one; values are plain data (see `value`)."""

from __future__ import annotations

import math
from typing import Any  # a plain value, throughout


def is_equal(got: Any, expected: Any, tolerance: float = 0.0) -> bool:
    """Whether plain data equals what was expected, types respected.

    `True` is not 1, a tuple is not a list, NaN equals nothing. Where a float is expected an int of the same
    value will do, and a number within `tolerance` (relative or absolute, whichever is wider); an expected
    int takes an int only. Set members and dict keys must be the same, type included.
    """
    if type(expected) is float:
        return type(got) in (int, float) and _is_close(got, expected, tolerance)
    if type(got) is not type(expected):
        return False
    if type(expected) in (list, tuple):
        pairs = zip(got, expected, strict=False)
        return len(got) == len(expected) and all(is_equal(g, e, tolerance) for g, e in pairs)
    if type(expected) is dict:
        return _same_members(got, expected) and all(
            is_equal(got[k], v, tolerance) for k, v in expected.items()
        )
    if type(expected) is set:
        return _same_members(got, expected)
    return bool(got == expected)


def _is_close(got: float, expected: float, tolerance: float) -> bool:
    try:
        return got == expected or math.isclose(got, expected, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:
        return False


def _same_members(got: Any, expected: Any) -> bool:
    """Equal as sets, and each member of the same type as its equal: {1} is not {True}."""
    return len(got) == len(expected) and {_typed(item) for item in got} == {_typed(item) for item in expected}


def _typed(item: Any) -> tuple[str, Any]:
    parts = tuple(_typed(part) for part in item) if type(item) is tuple else item
    return type(item).__name__, parts
