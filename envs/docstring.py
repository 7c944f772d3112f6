"""Google docstrings, as far as tools need them: the description, and what each argument means."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Yields?|Raises):\s*$")
_ARGUMENT = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring taken apart. `Returns`, `Yields` and `Raises` are for programmers and left out."""

    description: str = ""
    arguments: dict[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> Docstring:
    """Take a Google docstring apart. Never raises: what is not understood is description."""
    description: list[str] = []
    arguments: list[str] = []
    target = description
    for line in inspect.cleandoc(text or "").splitlines():
        if header := _SECTION.match(line):
            target = arguments if header[1] in ("Args", "Arguments", "Parameters") else []
        elif line and not line[0].isspace() and target is not description:
            target = description  # a section ends where the indentation does
            target.append(line)
        else:
            target.append(line)
    return Docstring("\n".join(description).strip(), _parse_arguments(arguments))


def _parse_arguments(lines: list[str]) -> dict[str, str]:
    parsed: dict[str, list[str]] = {}
    name = ""
    filled = [line for line in lines if line.strip()]
    margin = min((_indent(line) for line in filled), default=0)
    for line in filled:
        match = _ARGUMENT.match(line.strip()) if _indent(line) == margin else None
        if match:
            name = match[1]
            parsed[name] = [match[2]]
        elif name:
            parsed[name].append(line.strip())
    return {key: " ".join(part for part in parts if part) for key, parts in parsed.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
