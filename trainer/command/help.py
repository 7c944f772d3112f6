"""The help of a command that takes a recipe, with all its settings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..recipe import packaged_recipes
from ..setting import settings
from .argument import FLAGS

_WIDTH = 79


def command_help(name: str, about: str, examples: str, flags: Sequence[str]) -> str:
    """Usage, examples, flags and every key with default and meaning."""
    parts = [
        f"usage: grpo-agent {name} [RECIPE.yaml] [key=value ...] [--flag ...]",
        about,
        f"examples:\n{examples}",
        "flags:\n" + "\n".join(f"  {flag:10} {FLAGS[flag]}" for flag in flags),
        f"recipes that come along: {', '.join(packaged_recipes())}",
        "keys (Hydra's override grammar: key=value, ~key, lists as [1,2]):\n" + "\n".join(_keys()),
    ]
    return "\n\n".join(parts)


def _keys() -> list[str]:
    lines = []
    for setting in settings():
        head = f"  {setting.key}={setting.default}" if setting.default else f"  {setting.key}"
        lines.append(head)
        lines += textwrap.wrap(setting.doc, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines
