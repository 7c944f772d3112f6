"""Judge solutions where they cannot reach: expected values never enter a process that runs a solution.

- `Call` tests: the sandbox gets the solution and one call's arguments; what it answers is compared here.
- `Run` tests: the sandbox gets stdin; its whole stdout is compared here.
- `Asserts`: the test code runs in a sandbox of its own, without the solution; see `replay`.

Every call and run has a fresh process, so nothing is carried from one to the next. What a solution did
wrong (crash, timeout, too much memory or output, no answer, no plain data) is a failed test. What the
sandbox did wrong is a `SandboxError` and never a grade.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ...sandboxes.core import SandboxLimits, SandboxProvider
from .comparison import is_equal
from .concurrency import first_then_rest
from .problem import Asserts, Call, Grade, Problem, Run
from .replay import Replay
from .runner import Answer, Runner, failure
from .value import encode


class Grader:
    """Runs and judges solutions.

    Args:
        provider: where code runs.
        timeout_s: of one call, one run, or one pass of assert-style tests.
        limits: of one process.
        float_tolerance: see `comparison.is_equal`; for `Call` tests.
        keep_going: run all tests although one failed, for partial credit.
    """

    def __init__(
        self,
        provider: SandboxProvider,
        *,
        timeout_s: float = 3.0,
        limits: SandboxLimits | None = None,
        float_tolerance: float = 1e-6,
        keep_going: bool = False,
    ) -> None:
        self._runner = Runner(provider, timeout_s=timeout_s, limits=limits)
        self.float_tolerance = float_tolerance
        self.keep_going = keep_going

    async def grade(self, problem: Problem, source: str) -> Grade:
        """Run the hidden tests against a solution.

        Raises:
            SandboxError: the sandbox failed.
            ValueError: the task's own test code is broken.
        """
        if isinstance(problem.tests, Asserts):
            replay = Replay(self._runner, problem, _parts(problem, source), keep_going=self.keep_going)
            return await replay.grade()

        async def judge(test: Call | Run) -> tuple[bool, bool]:
            answer = await self.answer(problem, source, test)
            return self.accepts(answer, test), answer.is_suspicious

        tests: Sequence[Call | Run] = problem.tests
        outcomes = await first_then_rest(
            judge, tests, stop=lambda outcome: not outcome[0] and not self.keep_going
        )
        return Grade(
            passed=sum(is_right for is_right, _ in outcomes),
            total=len(problem.tests),
            suspicious=sum(is_suspicious for _, is_suspicious in outcomes),
        )

    async def answer(self, problem: Problem, source: str, test: Call | Run) -> Answer:
        """Let a solution answer one test.

        Raises:
            SandboxError: the sandbox failed.
        """
        parts = _parts(problem, source)
        if isinstance(test, Call):
            return await self._runner.call(parts, problem.entry_point, _arguments(test))
        result = await self._runner.run("\n".join(parts), test.stdin)
        error = failure(result)
        return Answer(error=error) if error else Answer(result.stdout)

    async def load(self, problem: Problem, source: str) -> Answer:
        """Load a solution without calling it; an error if its function is missing.

        Raises:
            SandboxError: the sandbox failed.
        """
        return await self._runner.call(_parts(problem, source), problem.entry_point, None)

    def accepts(self, answer: Answer, test: Call | Run) -> bool:
        """Whether an answer is right.

        Printed text must have the same lines, white space at the end of lines and of the text aside.
        """
        if answer.error is not None:
            return False
        if isinstance(test, Run):
            return _lines(answer.value) == _lines(test.expected)
        return is_equal(answer.value, test.expected, self.float_tolerance)


def _parts(problem: Problem, source: str) -> list[str]:
    return [problem.preamble, source] if problem.preamble else [source]


def _arguments(call: Call) -> str:
    return json.dumps(encode([list(call.args), dict(call.kwargs)]))


def _lines(text: str) -> list[str]:
    """Lines without trailing white space, and without empty lines at the end."""
    return [line.rstrip() for line in text.rstrip().split("\n")]
