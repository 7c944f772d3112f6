"""Samplers of plain data: the constants and the random arguments of tasks.

Each function returns a sampler, which draws one value from a random generator.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Sampler = Callable[[Random], Any]  # Any: plain data of whatever kind the argument is

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORDS = (
    "apple", "banana", "river", "stone", "light", "garden", "window", "coffee", "planet", "silver",
    "tree", "cloud", "rabbit", "letter", "summer", "pepper", "bottle", "kitten", "moon", "sea",
    "sky", "ant", "bee", "level", "noon", "radar", "street", "balloon", "egg", "ox",
)  # fmt: skip


def integer(low: int, high: int) -> Sampler:
    """A whole number from `low` to `high`, both included."""
    return lambda rng: rng.randint(low, high)


def choice(*options: Any) -> Sampler:  # Any: plain data
    """One of `options`."""
    return lambda rng: rng.choice(options)


def mixture(*samplers: Sampler) -> Sampler:
    """What one of `samplers`, chosen with equal chance, draws."""
    return lambda rng: rng.choice(samplers)(rng)


def list_of(sample: Sampler, least: int = 0, most: int = 8) -> Sampler:
    """A list of `least` to `most` values."""
    return lambda rng: [sample(rng) for _ in range(rng.randint(least, most))]


def integers(low: int = -20, high: int = 20, least: int = 1, most: int = 8) -> Sampler:
    """A list of whole numbers."""
    return list_of(integer(low, high), least, most)


def letter() -> Sampler:
    """A lower-case ASCII letter."""
    return choice(*_LETTERS)


def characters(alphabet: str, least: int = 1, most: int = 10) -> Sampler:
    """A string over `alphabet`; repeat a character to make it more frequent."""
    return lambda rng: "".join(rng.choice(alphabet) for _ in range(rng.randint(least, most)))


def word() -> Sampler:
    """A lower-case English word."""
    return choice(*_WORDS)


def words(least: int = 1, most: int = 6) -> Sampler:
    """A list of lower-case English words, repeats possible."""
    return list_of(word(), least, most)


def sentence(least: int = 2, most: int = 6) -> Sampler:
    """Lower-case English words separated by single spaces."""
    sample = words(least, most)
    return lambda rng: " ".join(sample(rng))


def mixed_case(sample: Sampler) -> Sampler:
    """A string of `sample` with about a third of its letters in upper case."""
    return lambda rng: "".join(c.upper() if rng.random() < 0.35 else c for c in sample(rng))


def mapping(values: Sampler, least: int = 1, most: int = 6) -> Sampler:
    """A dict from English words to values."""

    def draw(rng: Random) -> dict[str, Any]:
        keys = rng.sample(_WORDS, rng.randint(least, most))
        return {key: values(rng) for key in keys}

    return draw
