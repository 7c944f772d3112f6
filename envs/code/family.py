"""Procedural tasks of the kind "write this small Python function".

Unlimited, reproducible to the byte and without download: a task is a function of its family and a seed.
Expected results come from running the trusted reference in this process; nothing here runs untrusted code.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from random import Random
from typing import Any, Literal, overload

from .families import FAMILIES
from .families.core import Arguments, Family, Variant

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")
LEVELS = (1, 2, 3)

_OPENINGS = (
    "Write a Python function `{}`.",
    "Write the function `{}`.",
    "Define `{}` in Python.",
    "Implement `{}`.",
)
_GENERIC_NAMES = ("solve", "compute", "f", "func", "answer")
_GENERIC_SHARE = 0.2
_TESTS = 10
_DRAWS = 60

Row = dict[str, Any]  # Any: a task row is JSON-able data
Case = dict[str, Any]  # Any: arguments and result of one call


def build_task(family: Family, seed: int) -> Row:
    """Build one task.

    Args:
        family: the function to write.
        seed: any whole number; equal seeds give equal rows.

    Returns:
        A JSON-able row: `task_id`, `family`, `level`, `topic`, `prompt`, `entry_point`, `example` (one
        visible call with its result), `tests` (6 to 12 hidden ones) and `solution` (the reference's source).
    """
    rng = Random(f"{family.name}:{seed}")  # noqa: S311 - reproducible, not secret
    variant = family.draw_variant(rng)
    if rng.random() < _GENERIC_SHARE:
        variant = _renamed(variant, rng.choice(_GENERIC_NAMES))
    source = family.source(variant)
    cases = _Cases(load_function(source, variant.entry_point))
    for arguments in family.edge_arguments(variant.parameters):
        cases.add(arguments)
    example, tests = _draw_cases(family, variant, cases, rng)
    opening = rng.choice(_OPENINGS).format(f"{variant.entry_point}({variant.signature})")
    return {
        "task_id": f"{family.name}-{seed}",
        "family": family.name,
        "level": family.level,
        "topic": family.topic,
        "prompt": f"{opening} {family.statement(variant)}",
        "entry_point": variant.entry_point,
        "example": example,
        "tests": tests,
        "solution": source,
    }


def load_function(source: str, entry_point: str) -> Callable[..., Any]:  # Any: the function's own types
    """Run trusted source in this process and return its function `entry_point`."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<{entry_point}>", "exec"), namespace)  # noqa: S102 - our own reference
    function: Callable[..., Any] = namespace[entry_point]
    return function


def split_of(family_name: str) -> Split:
    """The split a family belongs to: about a third of each level and topic is held out.

    Raises:
        ValueError: there is no such family.
    """
    if family_name not in FAMILIES:
        raise ValueError(f"no task family named {family_name!r}; the names are the keys of FAMILIES")
    return "test" if family_name in _held_out() else "train"


class FamilyTasks(Sequence[Row]):
    """Tasks of one split, each built when it is asked for.

    Row `i` depends on `seed`, `split`, `levels` and `i` alone. Every family comes up once, in a new order,
    before any comes up again.

    Raises:
        ValueError: unknown split or level, or `size` below 1.
    """

    def __init__(self, split: str, levels: Iterable[int] = LEVELS, size: int = 1000, seed: int = 0) -> None:
        self.split = split
        self.levels = tuple(sorted(set(levels)))
        self.size = size
        self.seed = seed
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
        if not self.levels or not set(self.levels) <= set(LEVELS):
            raise ValueError(f"levels must be some of {list(LEVELS)}, got {list(self.levels)}")
        if size < 1:
            raise ValueError(f"size must be at least 1 task, got {size}")
        self._families = tuple(
            name
            for name, family in FAMILIES.items()
            if family.level in self.levels and split_of(name) == split
        )

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.size))]
        if not -self.size <= index < self.size:
            raise IndexError(f"row {index} of {self.size} tasks")
        index %= self.size
        key = f"{self.seed}:{self.split}"
        cycle, position = divmod(index, len(self._families))
        name = _cycle_order(self._families, f"{key}:{cycle}")[position]
        return build_task(FAMILIES[name], _stable_hash(f"{key}:{index}"))

    def __repr__(self) -> str:
        return (
            f"FamilyTasks({self.split!r}, levels={self.levels}, size={self.size}, seed={self.seed}): "
            f"{len(self._families)} families"
        )


class _Cases:
    """Calls of the reference, each with its result, without repeats."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._seen: set[str] = set()
        self.cases: list[Case] = []
        self.keys: list[str] = []

    def add(self, arguments: Arguments) -> None:
        """Call the reference and keep the case, if the arguments are new."""
        key = json.dumps(arguments)
        if key in self._seen:
            return
        self._seen.add(key)
        result = self._function(*arguments)
        self.cases.append({"args": arguments, "result": result})
        self.keys.append(json.dumps(result))


def _draw_cases(family: Family, variant: Variant, cases: _Cases, rng: Random) -> tuple[Case, list[Case]]:
    """The visible example and the hidden tests: all edge cases, then varied random ones."""
    edges = len(cases.cases)
    for draw in range(_DRAWS):
        cases.add(family.draw_arguments(rng, variant.parameters))
        if draw < 2 * _TESTS or len(cases.cases) <= edges:
            continue
        spread = _spread(cases.keys, start=edges + 1)[: max(_TESTS - edges, 3)]
        tests = [cases.cases[i] for i in [*range(edges), *spread]]
        if not _passes_trivially(tests):
            return cases.cases[edges], tests
    raise RuntimeError(f"family {family.name!r} drew no tests that tell its function from a trivial one")


def _spread(keys: Sequence[str], start: int) -> list[int]:
    """Positions from `start` on, ordered so that different keys come before repeats of one."""
    rank: dict[str, int] = defaultdict(int)
    order = []
    for key in keys[:start]:
        rank[key] += 1
    for position in range(start, len(keys)):
        order.append((rank[keys[position]], position))
        rank[keys[position]] += 1
    return [position for _, position in sorted(order)]


def _passes_trivially(tests: Sequence[Case]) -> bool:
    """Whether a constant, or the function that returns one of its arguments, passes all tests."""
    results = [json.dumps(test["result"]) for test in tests]
    if len(set(results)) == 1:
        return True
    columns = zip(*(test["args"] for test in tests), strict=True)
    return any([json.dumps(value) for value in column] == results for column in columns)


def _renamed(variant: Variant, entry_point: str) -> Variant:
    return Variant(
        parameters=variant.parameters,
        entry_point=entry_point,
        signature=variant.signature,
        wording=variant.wording,
    )


@lru_cache(maxsize=1)
def _held_out() -> frozenset[str]:
    """A third of the families, spread evenly over levels and topics, chosen by hash of the name."""
    groups: dict[tuple[int, str], list[str]] = defaultdict(list)
    for family in FAMILIES.values():
        groups[family.level, family.topic].append(family.name)
    held_out: set[str] = set()
    for names in groups.values():
        held_out.update(sorted(names, key=_stable_hash)[: round(len(names) / 3)])
    return frozenset(held_out)


@lru_cache(maxsize=64)
def _cycle_order(names: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: _stable_hash(f"{key}:{name}")))


def _stable_hash(text: str) -> int:
    """48 bits that are the same in every process, unlike `hash`."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
