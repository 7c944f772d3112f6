"""Find the code in a reply: its fenced Python blocks. The text is never parsed as Python here."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

_FENCE = re.compile(r"([ \t]*)(`{3,})([^`]*)")
_NAMED = ("py", "python", "python3")
_PYTHON = ("", *_NAMED)
_MAX_EXTRA_INDENT = 3
"""Columns by which a fence may be indented more than the one that opened the block."""


@dataclass(slots=True)
class _Block:
    """A block whose end was not seen yet."""

    indent: int
    ticks: int
    language: str
    lines: list[str] = field(default_factory=list)

    def code(self) -> str:
        """Its content, without common indentation."""
        return textwrap.dedent("\n".join(self.lines)).rstrip("\n") + "\n"


def extract_code(text: str, entry_point: str | None = None) -> str | None:
    """The last Python block that defines `entry_point`, else the last one, else `None`."""
    blocks = code_blocks(text)
    if entry_point is not None:
        name = re.escape(entry_point)
        defines = re.compile(
            rf"^(?:(?:async\s+)?def|class)\s+{name}\b|^{name}\s*(?::[^=\n]*)?=(?!=)", re.MULTILINE
        )
        blocks = [block for block in blocks if defines.search(block)] or blocks
    return blocks[-1] if blocks else None


def unfenced(source: str, entry_point: str | None = None) -> str:
    """Source that may come in a fence, as models write it; fences further down are its own."""
    if not _FENCE.match(source.lstrip()):
        return source
    return extract_code(source, entry_point) or source


def code_blocks(text: str) -> list[str]:
    """The contents of fenced blocks marked as Python or not at all, in order, dedented; none is blank.

    A fence with a language inside a block begins a new one: that before was not closed. One that is indented
    much more than its block is content, e.g. of a docstring. A block marked as Python that is not closed
    goes on to the end of the text.
    Source: CommonMark 0.31, "Fenced code blocks".
    """
    found: list[_Block] = []
    block: _Block | None = None
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.fullmatch(line)
        indent = len(fence[1].expandtabs(4)) if fence else 0
        if block is not None and (fence is None or indent > block.indent + _MAX_EXTRA_INDENT):
            block.lines.append(line)
        elif fence is not None and (block is None or fence[3].strip()):
            words = fence[3].lower().split()
            block = _Block(indent, len(fence[2]), words[0] if words else "")
        elif fence is not None and block is not None:
            if len(fence[2]) < block.ticks:
                block.lines.append(line)
                continue
            found.append(block)
            block = None
    if block is not None and block.language in _NAMED:
        found.append(block)
    codes = [item.code() for item in found if item.language in _PYTHON]
    return [code for code in codes if code.strip()]
