"""`code`: write a Python function (or program) that passes hidden tests.

In the `code_block` form a reply is an attempt: its fenced Python block is run against the visible example;
what is wrong with it is the next observation; once the example is right, or the attempts are used up, the
hidden tests decide. In the `tool` form the agent may run Python and submits when it is sure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cache
from typing import Literal, TypeVar, get_args

from ...sandboxes.core import ExecResult, Sandbox, SandboxLimits, SandboxProvider, SandboxSpec
from ...sandboxes.errors import FileAccessError, SandboxError
from ...sandboxes.input import MAX_TIMEOUT_S
from ...sandboxes.registry import make_provider, shared_provider
from ..core import Action, Info, Message, Observation, Step, Task, ToolCall
from ..errors import EnvError
from ..tool import ToolResult, tool
from ..tool_env import ToolEnv
from .extract import extract_code, unfenced
from .family import LEVELS
from .grade import Grader
from .problem import Grade, Problem, read_problem
from .source import Division, TaskSource
from .wording import complaint, example_text, output_text

ActionFormat = Literal["code_block", "tool"]

T = TypeVar("T")

_NO_TOOL_TIMEOUT_S = 86_400.0
"""The tools bound the agent's code themselves; being late for another reason is no fault of the agent's."""
_ASK_BLOCK = "Reply with one Python code block."
_ASK_TOOLS = "You may try code with run_python. Call submit with the whole code when it is right."
_NO_BLOCK = "No Python code block found. " + _ASK_BLOCK


class CodeEnv(ToolEnv):
    """Write Python that passes hidden tests.

    Reward 1 if all hidden tests pass, else 0 (or the share that passed). `info` has `success` on the last
    step and `metrics`: `tests_passed`, `tests_total`, `attempts`, `suspicious` (runs that ended well without
    an answer, or wrote into its channel).

    Args:
        sandbox: a provider, or the name of one that all environments of a loop share.
        action_format: what an action is.
        levels: difficulty of the built-in task families, of 1, 2, 3.
        tasks_seed: seeds the built-in tasks.
        size: built-in tasks in a split.
        source: instead of the built-in families: `"humaneval"`, the path of a JSONL, Parquet or CSV file, a
            `datasets` name, or rows.
        fields: jmespath expressions that make the fields of a task (see `problem`) from a row of `source`.
        split: how a source without splits of its own (one file, rows) is divided. `"hash"`: one task in
            five, chosen by a hash of its `task_id`, is `test`, the others are `train`. `"none"`: all are in
            both, so that nothing is held out. HumanEval is for evaluation: it has a `test` split only.
        partial_credit: reward the share of hidden tests that pass.
        max_attempts: replies that are tried, in the `code_block` form.
        test_timeout_s: seconds for one call or run of a solution.
        memory_bytes: memory of one run.
        system_prompt: opens the conversation; `None`: no system message.
        float_tolerance: how far a float may be off, relative or absolute.

    Raises:
        ValueError: a setting is out of range.
    """

    work_timeout_s: float = 600.0
    """Seconds for one grading or run, waiting for a sandbox included; past it the episode is unscored."""

    def __init__(  # noqa: PLR0913 - each is one setting of a recipe
        self,
        *,
        sandbox: SandboxProvider | str = "local",
        action_format: ActionFormat = "code_block",
        levels: Sequence[int] | int = LEVELS,
        tasks_seed: int = 0,
        size: int = 1000,
        source: str | Sequence[Task] | None = None,
        fields: Mapping[str, str] | None = None,
        split: Division = "hash",
        partial_credit: bool = False,
        max_attempts: int = 3,
        test_timeout_s: float = 3.0,
        memory_bytes: int = 256 * 2**20,
        system_prompt: str | None = None,
        float_tolerance: float = 1e-6,
    ) -> None:
        super().__init__()
        if action_format not in get_args(ActionFormat):
            allowed = ", ".join(get_args(ActionFormat))
            raise ValueError(f"action_format is {action_format!r}; it must be one of {allowed}")
        if max_attempts < 1:
            raise ValueError(f"max_attempts is {max_attempts!r}; it must be at least 1")
        if not 0 < test_timeout_s <= MAX_TIMEOUT_S:
            raise ValueError(
                f"test_timeout_s is {test_timeout_s!r}; it must be above 0 and at most {MAX_TIMEOUT_S:g}"
            )
        if not 0 <= float_tolerance < 1:
            raise ValueError(f"float_tolerance is {float_tolerance!r}; it must be at least 0 and below 1")
        if isinstance(sandbox, str):
            _check_sandbox(sandbox)
        self.action_format = action_format
        self.max_attempts = max_attempts
        self.partial_credit = partial_credit
        self.system_prompt = system_prompt
        self._sandbox = sandbox
        self._fields = dict(fields or {})
        self._tasks = TaskSource(
            source=source,
            fields=self._fields,
            levels=(levels,) if isinstance(levels, int) else tuple(levels),
            size=size,
            seed=tasks_seed,
            split=split,
        )
        self._test_timeout_s = test_timeout_s
        self._limits = SandboxLimits(memory_bytes=memory_bytes)
        self._float_tolerance = float_tolerance
        self._problem: Problem | None = None
        self._attempts = 0
        self._box: Sandbox | None = None
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()
        self.offer_tools(None if action_format == "tool" else ())

    def tasks(self, split: str) -> Sequence[Task]:
        """Rows as `problem` describes them.

        Raises:
            ValueError: the split is unknown, or a row lacks a field.
        """
        return self._tasks.rows(split)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Pose the task in `options["task"]`, or a drawn one (of the training split, if there is one).

        Raises:
            ValueError: the row lacks a field.
        """
        super().reset(seed=seed, options=options)
        task = (options or {}).get("task")
        if task is None:
            rows = self.tasks(self._tasks.main_split)
            task = rows[int(self.np_random.integers(len(rows)))]
        self._problem = read_problem(task, self._fields)
        self._attempts = 0
        messages: list[Message] = [{"role": "user", "content": self._first_message(self._problem)}]
        if self.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        return messages, {}

    async def step(self, action: Action) -> Step:
        """Try the code block of a reply, or run the tool calls."""
        if self.action_format == "tool":
            return await super().step(action)
        self._attempts += 1
        is_last = self._attempts >= self.max_attempts
        source = extract_code(action.text, self._task.entry_point)
        if source is None:
            return self._end(None) if is_last else self._again(_NO_BLOCK)
        wrong = None if is_last else await self._try_example(source)
        if wrong is not None:
            return self._again(f"{wrong} Try again.")
        return self._end(await self._grade(source))

    @tool(timeout_s=_NO_TOOL_TIMEOUT_S)
    async def run_python(self, code: str) -> str:
        """Run Python code and return what it prints.

        Args:
            code: Python source. Each run is a new process; files are kept.
        """
        return output_text(await self._in_time(self._run(code), "running code"))

    @tool(timeout_s=_NO_TOOL_TIMEOUT_S)
    async def submit(self, code: str) -> ToolResult:
        """Submit the solution. This ends the task.

        Args:
            code: The whole Python source.
        """
        if self._attempts:
            return ToolResult("Already submitted.")
        self._attempts += 1
        step = self._end(await self._grade(unfenced(code, self._task.entry_point)))
        return ToolResult("Submitted.", reward=step.reward, ends_episode=True, info=step.info)

    async def close(self) -> None:
        """Close the sandbox that `run_python` opened, if it did."""
        self._box = None
        await self._opened.aclose()

    def gold_action(self, task: Task) -> Action:
        """The action that solves a task in one step.

        Raises:
            ValueError: the task has no `solution`.
        """
        problem = read_problem(task, self._fields)
        if problem.solution is None:
            raise ValueError(f"task {problem.task_id!r} has no field 'solution' to make a gold action from")
        if self.action_format == "code_block":
            return Action(f"```python\n{problem.solution.rstrip()}\n```")
        return Action("", (ToolCall("gold", "submit", {"code": problem.solution}),))

    @property
    def _task(self) -> Problem:
        if self._problem is None:
            raise RuntimeError("step was called before reset")
        return self._problem

    def _first_message(self, problem: Problem) -> str:
        asked = _ASK_TOOLS if self.action_format == "tool" else _ASK_BLOCK
        parts = [part for part in (problem.prompt, example_text(problem), asked) if part]
        return "".join(part if part.endswith("\n") else f"{part} " for part in parts).rstrip()

    @property
    def _provider(self) -> SandboxProvider:
        return shared_provider(self._sandbox) if isinstance(self._sandbox, str) else self._sandbox

    async def _open_box(self) -> Sandbox:
        """The episode's own sandbox; calls of one turn share it."""
        async with self._opening:
            if self._box is None:
                session = self._provider.session(SandboxSpec(limits=self._limits))
                self._box = await self._opened.enter_async_context(session)
            return self._box

    @property
    def _grader(self) -> Grader:
        return Grader(
            self._provider,
            timeout_s=self._test_timeout_s,
            limits=self._limits,
            float_tolerance=self._float_tolerance,
            keep_going=self.partial_credit,
        )

    async def _grade(self, source: str) -> Grade:
        return await self._in_time(
            self._grader.grade(self._task, source), f"grading task {self._task.task_id!r}"
        )

    async def _in_time(self, work: Awaitable[T], what: str) -> T:
        """Await what stands between the agent and its score: no fault of it is the agent's.

        Raises:
            SandboxError: the sandbox failed.
            EnvError: anything else did, or it took too long.
        """
        try:
            async with asyncio.timeout(self.work_timeout_s):
                return await work
        except TimeoutError as error:
            raise EnvError(
                f"{what} did not end within {self.work_timeout_s:g} s; lower the concurrency"
            ) from error
        except FileAccessError as error:  # elsewhere the agent's own doing
            raise EnvError(f"{what} failed: {error}") from error
        except (SandboxError, EnvError):
            raise
        except Exception as error:
            raise EnvError(f"{what} failed: {type(error).__name__}: {error}") from error

    async def _run(self, code: str) -> ExecResult:
        box = await self._open_box()
        return await box.run_python(code, timeout_s=min(self._test_timeout_s, self.tool_timeout_s))

    async def _try_example(self, source: str) -> str | None:
        """What is wrong with the code, as far as the visible example tells."""
        example = self._task.example
        if example is None:
            answer = await self._grader.load(self._task, source)
            return None if answer.error is None else f"Your code failed: {answer.error}."
        answer = await self._grader.answer(self._task, source, example)
        return None if self._grader.accepts(answer, example) else complaint(self._task, example, answer)

    def _again(self, observation: str) -> Step:
        return Step(observation, 0.0, False, False, {"metrics": {"attempts": float(self._attempts)}})

    def _end(self, grade: Grade | None) -> Step:
        grade = grade or Grade(0, 0)
        reward = grade.share if self.partial_credit else float(grade.is_pass)
        metrics = {
            "tests_passed": float(grade.passed),
            "tests_total": float(grade.total),
            "attempts": float(self._attempts),
            "suspicious": float(grade.suspicious),
        }
        return Step([], reward, True, False, {"success": grade.is_pass, "metrics": metrics})


@cache
def _check_sandbox(name: str) -> None:
    make_provider(name)  # starts nothing; an unknown name should not wait for the first episode
