"""A coding task as the grader sees it: what to write, one of three kinds of tests, and the grade.

A task row is the JSON-able form of it:

- `prompt`, what to write; `task_id`; `entry_point`, the function's name (absent: a whole program);
- `tests`, hidden: a list of `{"args": [...], "result": ...}` (`kwargs` if need be), of
  `{"stdin": "...", "stdout": "..."}`, or of assert statements; or that list as JSON text;
- or `test_code`, trusted source that asserts, and `setup`, trusted source it needs;
- `example`, one test that is shown; `preamble`, source put before the solution; `solution`, a reference.

In `args`, `result` and `kwargs`, what JSON lacks is tagged: `{"$tuple": [...]}`, `{"$set": [...]}`,
`{"$dict": [[key, value], ...]}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any  # plain data

from ..core import Task
from ..text import shown
from .value import untag


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the function and its result."""

    args: tuple[Any, ...]
    expected: Any
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the program: what it reads and what it must print."""

    stdin: str
    expected: str


@dataclass(frozen=True, slots=True)
class Asserts:
    """Trusted test code that calls the function, under its own name or as `candidate`."""

    units: tuple[str, ...]
    """Each is one test: source that raises if it fails."""
    setup: str = ""
    """Trusted source that the units need."""


Tests = tuple[Call, ...] | tuple[Run, ...] | Asserts


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One task."""

    task_id: str
    prompt: str
    entry_point: str | None
    """The function to write; `None` if it is a program (`Run` tests)."""
    tests: Tests
    example: Call | Run | None = None
    """Shown to the agent."""
    preamble: str = ""
    """Source that is put before the solution, e.g. the imports of the prompt."""
    solution: str | None = None
    """A reference that passes, without the preamble."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of the hidden tests."""

    passed: int
    total: int
    suspicious: int = 0
    """Runs that ended well without an answer, or wrote into the answer's channel."""

    @property
    def is_pass(self) -> bool:
        """Whether all tests passed; no tests are no pass."""
        return self.passed == self.total > 0

    @property
    def share(self) -> float:
        """Share of the tests passed."""
        return self.passed / self.total if self.total else 0.0


class RowError(ValueError):
    """A task row does not hold what a coding task needs."""

    def __init__(self, row: Task, problem: str, fields: Mapping[str, str], index: int | None) -> None:
        place = "" if index is None else f"row {index}, "
        mapping = ", ".join(f"{name}={path}" for name, path in fields.items()) or "none"
        super().__init__(
            f"{place}task {row.get('task_id', '(without task_id)')!r}: {problem}; "
            f"its keys are {', '.join(map(str, row)) or '(none)'}; field mapping in force: {mapping}"
        )


def read_problem(row: Task, fields: Mapping[str, str] | None = None, *, index: int | None = None) -> Problem:
    """Read a task row.

    Args:
        row: see the module's text.
        fields: the mapping that made the row, for messages.
        index: position of the row, for messages.

    Raises:
        RowError: a field is missing or of the wrong kind.
    """
    fields = fields or {}
    try:
        return _read(row)
    except (KeyError, TypeError, ValueError) as error:
        told = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise RowError(row, told, fields, index) from None


def _read(row: Task) -> Problem:
    prompt = _text(row["prompt"], "prompt")
    entry_point = row.get("entry_point") or None
    tests = _read_tests(row)
    if isinstance(tests, Asserts) and entry_point is None:
        entry_point = _called_name(tests.units)
    is_program = not isinstance(tests, Asserts) and isinstance(tests[0], Run)
    if entry_point is None and not is_program:
        raise KeyError("entry_point")
    if entry_point is not None and not _text(entry_point, "entry_point").isidentifier():
        raise ValueError(f"field 'entry_point' must be the name of a function, got {shown(entry_point)}")
    example = row.get("example")
    return Problem(
        task_id=str(row.get("task_id", "")),
        prompt=prompt,
        entry_point=None if is_program else entry_point,
        tests=tests,
        example=None if example is None else _read_test(_parsed(example, "example"), "example"),
        preamble=row.get("preamble") or "",
        solution=row.get("solution"),
    )


def _read_tests(row: Task) -> Tests:
    if row.get("test_code"):
        return Asserts((_called(_text(row["test_code"], "test_code")),), row.get("setup") or "")
    items = _parsed(row["tests"], "tests")
    if not isinstance(items, Sequence) or not items:
        raise ValueError(f"field 'tests' must be a list of tests, got {shown(items)}")
    if all(isinstance(item, str) for item in items):
        return Asserts(tuple(items), row.get("setup") or "")
    tests = [_read_test(item, f"tests[{index}]") for index, item in enumerate(items)]
    calls = tuple(test for test in tests if isinstance(test, Call))
    runs = tuple(test for test in tests if isinstance(test, Run))
    if calls and runs:
        raise ValueError("field 'tests' mixes args/result and stdin/stdout")
    return calls or runs


def _read_test(item: Any, where: str) -> Call | Run:
    if isinstance(item, Mapping) and "stdout" in item:
        stdin, stdout = item.get("stdin") or "", item["stdout"]
        return Run(_text(stdin, f"{where}.stdin"), _text(stdout, f"{where}.stdout"))
    if not isinstance(item, Mapping) or "args" not in item or "result" not in item:
        raise ValueError(
            f"{where} must be {{'args': [...], 'result': ...}}, {{'stdin': '...', 'stdout': '...'}} "
            f"or an assert statement, got {shown(item)}"
        )
    args = untag(item["args"])
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"{where}.args must be a list, got {shown(args)}")
    return Call(tuple(args), untag(item["result"]), untag(item.get("kwargs") or {}))


def _called(test_code: str) -> str:
    """Test code that defines `check(candidate)` without calling it gets the call."""
    has = re.search(r"^def check\(", test_code, re.MULTILINE)
    return (
        f"{test_code}\ncheck(candidate)\n"
        if has and not re.search(r"^check\(", test_code, re.MULTILINE)
        else test_code
    )


def _called_name(units: Sequence[str]) -> str | None:
    """The function that the first assert calls, e.g. `f` in `assert f(1) == 2`."""
    found = re.search(r"^\s*assert\s+\(*(?:not\s+)?([A-Za-z_]\w*)\(", units[0], re.MULTILINE)
    return found[1] if found else None


def _parsed(value: Any, name: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError(f"field {name!r} is text but not JSON: {shown(value)}") from None


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"field {name!r} must be text, got {shown(value)}")
    return value
