"""The arguments that all commands share: `[RECIPE.yaml] [key=value ...] [--flag ...]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...envs.nearest import did_you_mean, listed
from ..errors import UserError

FLAGS: Mapping[str, str] = {
    "--cfg": "print the resolved recipe and stop",
    "--dry-run": "check everything that can be checked without weights, and play one scripted batch",
    "--quiet": "show only the result",
    "--help": "show this help",
}
"""Flag to meaning."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a command, taken apart."""

    recipe: str | None
    """A YAML file or the name of a packaged recipe."""
    overrides: tuple[str, ...]
    flags: frozenset[str]


def parse(argv: Sequence[str], flags: Sequence[str]) -> Arguments:
    """Take the arguments of a command apart.

    Args:
        argv: what follows the command.
        flags: those of `FLAGS` that the command knows.

    Raises:
        UserError: an unknown flag, or more than one recipe.
    """
    given = {"--help" if word == "-h" else word for word in argv if word.startswith("-")}
    for word in sorted(given - set(flags)):
        raise UserError(f"unknown flag {word}{did_you_mean(word, flags)}; known are {listed(flags)}")
    words = [word for word in argv if not word.startswith("-")]
    recipes = [word for word in words if not is_override(word)]
    if len(recipes) > 1:
        raise UserError(
            f"two recipes are given, {recipes[0]!r} and {recipes[1]!r}; an override is written key=value"
        )
    overrides = tuple(word for word in words if is_override(word))
    return Arguments(recipes[0] if recipes else None, overrides, frozenset(given))


def is_override(word: str) -> bool:
    """Whether a word is a Hydra override rather than a recipe."""
    return "=" in word or word.startswith(("~", "+"))
