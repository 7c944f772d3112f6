"""What runs in the sandbox of assert-style tests: trusted test code, never a solution.

The tested function is a stub here. A call of it is looked up among the answers that the solution gave in
its own sandbox; the first unknown call makes this a *guessing* pass: it runs on with stand-in values only to
find out which further calls the tests will make, and returns those instead of a verdict. A verdict counts
only from a pass in which every answer was real. In an *exploring* pass asserts are evaluated, not checked.

Tests must be deterministic (`random` is seeded) and pass plain data. Equal calls get equal answers.

This file is sent to the sandbox after `value.py` and `harness.py`; see `runner.Program`.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import random
from collections.abc import Callable
from typing import Any

from .harness import describe, send, take_channel
from .value import decode, encode

MAX_PENDING = 256
MAX_GUESSES = 20_000


class StopPass(BaseException):
    """Ends a pass early."""


class Guess:
    """Stands for an answer that is not known yet, and for whatever is computed from it."""

    used = 0

    def __init__(self, *_: object) -> None:
        Guess.used += 1
        if Guess.used > MAX_GUESSES:
            raise StopPass

    def __getattr__(self, name: str) -> Guess:
        return Guess()

    def __hash__(self) -> int:
        return 0

    def __iter__(self) -> Any:
        return iter(())


def _operation(made: Callable[[], Any]) -> Callable[..., Any]:
    def method(*_: object, **__: object) -> Any:
        Guess()  # counts
        return made()

    return method


_BINARY = "add sub mul matmul truediv floordiv mod divmod pow and or xor lshift rshift"
_REFLECTED = " ".join(f"r{name}" for name in _BINARY.split(" "))
_OPERATIONS: dict[Callable[[], Any], str] = {
    Guess: f"{_BINARY} {_REFLECTED} neg pos abs invert round floor ceil trunc call getitem enter",
    lambda: True: "bool eq ne lt le gt ge contains exit",
    int: "len int index",
    float: "float",
    complex: "complex",
    str: "str repr",
}
for _made, _names in _OPERATIONS.items():
    for _name in _names.split(" "):
        setattr(Guess, f"__{_name}__", _operation(_made))


class Candidate:
    """The stub that the tests call."""

    def __init__(self, name: str, answers: dict[str, Any], *, explores: bool) -> None:
        self.__name__ = name
        self._explores = explores
        self.pending: dict[str, None] = {}
        self.has_fault = False
        """Whether a call got no answer: a test that made it fails, whatever it catches."""
        self.broken = ""
        """Why these tests cannot be run here."""
        self._answers = answers
        self._unknown = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the solution returned for this call, a guess if it was not asked yet, or what it raised."""
        key = self._key(args, kwargs)
        if key not in self._answers:
            self._unknown += 1
            if self._unknown > MAX_PENDING:
                raise StopPass
            self.pending[key] = None
            return Guess()
        answer = self._answers[key]
        if "value" in answer:
            return decode(answer["value"])
        raise self._raised(answer["kind"], answer["message"])

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        try:
            return json.dumps(encode([list(args), kwargs]))
        except (TypeError, ValueError) as error:
            if not self._explores:  # it may be made of what the solution answered
                self.has_fault = True
            elif not self.pending:  # otherwise it may be a guess that was passed on
                self.broken = f"{self.__name__} is called with what cannot be sent: {error}"
            raise StopPass from None

    def _raised(self, kind: str, message: str) -> BaseException:
        raised = getattr(builtins, kind, None)
        if not (isinstance(raised, type) and issubclass(raised, Exception)):
            self.has_fault = True
            return StopPass()
        if issubclass(raised, (StopIteration, StopAsyncIteration)):
            return RuntimeError(message)  # as from a generator: it must not end a loop of the tests
        try:
            return raised(message)
        except TypeError:  # e.g. UnicodeDecodeError takes five arguments
            return RuntimeError(message)


class _Unchecked(ast.NodeTransformer):
    """Turns `assert x` into `x`."""

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        return ast.copy_location(ast.Expr(node.test), node)


def run_tests(request: dict[str, Any]) -> dict[str, Any]:
    """One pass: `{"pending": [...], "passed": [...]}`, or `{"broken": ...}`."""
    random.seed(0)
    candidate = Candidate(request["name"], request["answers"], explores=request["explore"])
    namespace: dict[str, Any] = {"__name__": "tests"}
    try:
        exec(compile(request["setup"], "setup.py", "exec"), namespace)  # noqa: S102 - trusted code
        trees = [ast.parse(unit) for unit in request["units"]]
    except Exception as error:  # noqa: BLE001 - the row's fault, told by its text
        return {"broken": describe(error)}
    namespace |= {"candidate": candidate, request["name"]: candidate}
    passed: list[bool] = []
    for tree in trees:
        tested = ast.fix_missing_locations(_Unchecked().visit(tree)) if request["explore"] else tree
        passed.append(_passes(tested, namespace, candidate))
        if not (passed[-1] or request["all"] or candidate.pending):
            break
    if candidate.broken:
        return {"broken": candidate.broken}
    return {"pending": list(candidate.pending), "passed": passed}


def _passes(tree: ast.Module, namespace: dict[str, Any], candidate: Candidate) -> bool:
    candidate.has_fault = False
    try:
        exec(compile(tree, "tests.py", "exec"), namespace)  # noqa: S102 - trusted code
    except BaseException:  # noqa: BLE001 - a failed test
        return False
    return not candidate.has_fault


def main(data: bytes) -> None:
    """Answer one request; test code may print, but not into the channel."""
    request = json.loads(data)
    channel = take_channel()
    send(channel, request["nonce"], run_tests(request))
    os._exit(0)
