"""Wording of "unknown name" messages: what was meant, and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 20


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """`" (did you mean 'x'?)"` if a name of `allowed` is near, else an empty string."""
    by_lower = {candidate.lower(): candidate for candidate in allowed}
    near = difflib.get_close_matches(name[:100].lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[near[0]]!r}?)" if near else ""


def listed(names: Iterable[str]) -> str:
    """The names in order, with commas; `"none"` if there are none; long lists are cut."""
    ordered = list(names)
    shown = ", ".join(ordered[:_SHOWN])
    left = len(ordered) - _SHOWN
    return (f"{shown} and {left} more" if left > 0 else shown) or "none"
