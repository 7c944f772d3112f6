"""Grade by assert-style test code, which runs in a sandbox of its own, without the solution.

The calls that the tests make are recorded, answered by the solution in fresh sandboxes of its own, and the
tests run again with the answers, until a run asks for nothing new: that one is the verdict. A call without
an answer fails the test, whatever the test code catches. Therefore tests must be deterministic, pass plain
data, judge what the function returns or raises (not what it does to its arguments), and never `eval` it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any  # plain data

from .concurrency import first_then_rest
from .problem import Asserts, Grade, Problem
from .runner import Answer, Runner, program
from .value import encode

MAX_PASSES = 300
MAX_CALLS = 2000
MAX_BYTES = 16 * 2**20
_KEPT = 4096


class Replay:
    """Grades one solution by assert-style tests.

    Args:
        runner: runs both sides.
        problem: a task with `Asserts`.
        sources: the solution, in parts that are run in order.
        keep_going: run all units although one failed.
    """

    def __init__(self, runner: Runner, problem: Problem, sources: Sequence[str], *, keep_going: bool) -> None:
        if not isinstance(problem.tests, Asserts):
            raise TypeError(f"task {problem.task_id!r} has no assert-style tests")
        self._runner = runner
        self._problem = problem
        self._tests = problem.tests
        self._sources = sources
        self._keep_going = keep_going
        self._answers: dict[str, dict[str, str]] = {}
        self._bytes = 0
        self._suspicious = 0

    async def grade(self) -> Grade:
        """Answer and replay until there is a verdict; none within bounds is a fail.

        Raises:
            SandboxError: the sandbox failed.
            ValueError: the test code itself is broken, as it shows before any solution is asked.
        """
        passed = 0
        pending = await self._explore()
        for _ in range(MAX_PASSES):
            await self._answer_all(pending)
            if len(self._answers) > MAX_CALLS or self._bytes > MAX_BYTES:
                break
            verdict = await self._run_tests()
            pending = verdict["pending"] if verdict else ()
            if not pending:
                passed = sum(verdict["passed"]) if verdict else 0
                break
        return Grade(passed, len(self._tests.units), self._suspicious)

    async def _explore(self) -> Sequence[str]:
        """The calls that the tests make as far as can be told without a solution; kept for the next one."""
        key = (self._problem.entry_point, self._tests)
        if key not in _explored:
            found = await self._run_tests(explore=True)
            if found is None:
                raise ValueError(f"task {self._problem.task_id!r}: its test code does not end by itself")
            if len(_explored) >= _KEPT:
                _explored.clear()
            _explored[key] = tuple(found["pending"])
        return _explored[key]

    async def _answer_all(self, calls: Sequence[str]) -> None:
        """Answer calls; after one that gets no answer, the tests must ask for the rest again."""

        async def one(call: str) -> Answer:
            answer = await self._runner.call(self._sources, self._problem.entry_point, call)
            self._suspicious += answer.is_suspicious
            if answer.error is None:
                self._answers[call] = {"value": json.dumps(encode(answer.value))}
            else:
                self._answers[call] = {"kind": answer.kind, "message": answer.message}
            self._bytes += sum(map(len, self._answers[call].values()))
            return answer

        await first_then_rest(
            one, calls, stop=lambda answer: answer.error is not None and not answer.is_raised
        )

    async def _run_tests(self, *, explore: bool = False) -> dict[str, Any] | None:
        """One pass of the test code; `None` if it did not finish."""
        request = {
            "setup": self._tests.setup,
            "units": self._tests.units,
            "name": self._problem.entry_point,
            "answers": self._answers,
            "explore": explore,
            "all": self._keep_going,
        }
        _, body = await self._runner.ask(program("value", "harness", "tester"), request)
        if body is None:
            return None
        verdict: dict[str, Any] = json.loads(body)
        if "broken" in verdict:
            raise ValueError(
                f"task {self._problem.task_id!r}: its test code cannot be run: {verdict['broken']}"
            )
        return verdict


_explored: dict[tuple[str | None, Asserts], Sequence[str]] = {}
