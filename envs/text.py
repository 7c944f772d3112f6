"""Fitting text into little room."""

from __future__ import annotations


def truncate(text: str, max_chars: int) -> str:
    """Keep the head and the tail of a long text, with a notice between; at most `max_chars` long.

    Where not even the notice fits, it stands with one character on each side.
    """
    if len(text) <= max_chars:
        return text
    notice = "\n[... {} characters left out ...]\n"
    room = max(max_chars - len(notice.format(len(text))), 2)
    head, tail = room - room // 2, room // 2
    return text[:head] + notice.format(len(text) - head - tail) + text[len(text) - tail :]


def brief(value: object, max_chars: int = 80) -> str:
    """A short `repr` that never raises."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of thousands of digits, or nesting without end
        text = f"{type(value).__name__} too large to show"
    return text if len(text) <= max_chars else f"{text[:max_chars]}..."


def shown(value: object, max_chars: int = 80) -> str:
    """`brief`, after the name of the type."""
    return f"{type(value).__name__} {brief(value, max_chars)}"
