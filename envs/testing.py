"""Conformance check for environments, players of scripted actions, and small environments for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from ..sandboxes.registry import close_shared_providers
from .core import Action, Env, Info, Message, Observation, Step, Task, ToolCall, as_messages
from .invoke import invoke
from .tool import ToolResult, tool
from .tool_env import ToolEnv

MAX_TASKS_CHECKED = 200
_STEP_FIELDS = 5


def tool_action(*calls: tuple[str, dict[str, Any]], text: str = "") -> Action:  # Any: decoded JSON
    """An action of tool calls, e.g. `tool_action(("add", {"a": 1, "b": 2}))`; ids are `call-0`, ..."""
    made = tuple(ToolCall(f"call-{i}", name, arguments) for i, (name, arguments) in enumerate(calls))
    return Action(text, made)


async def play(
    env: Env, actions: Sequence[Action], *, seed: int | None = None, task: Task | None = None
) -> tuple[Observation, list[Step]]:
    """Reset, step through the actions until one ends the episode, and close.

    Returns:
        The first observation, and the steps taken.
    """
    steps: list[Step] = []
    try:
        first, _ = await invoke(env.reset, seed=seed, options={} if task is None else {"task": task})
        for action in actions:
            steps.append(Step(*await invoke(env.step, action)))
            if steps[-1].terminated or steps[-1].truncated:
                break
    finally:
        await invoke(env.close)
    return first, steps


def check_env(
    factory: Callable[[], Env],
    actions: Sequence[Action] = (Action("hello"), Action("")),
    *,
    split: str = "train",
    seed: int = 0,
) -> None:
    """Check that an environment keeps the contract of `Env`.

    Args:
        factory: makes a fresh environment.
        actions: what to play, at most until the episode ends.
        split: whose tasks to check; the first is played.
        seed: of the episode.

    Raises:
        AssertionError: a rule is broken; the message is the rule.
    """
    asyncio.run(_check_and_tidy(factory, actions, split, seed))


async def _check_and_tidy(
    factory: Callable[[], Env], actions: Sequence[Action], split: str, seed: int
) -> None:
    try:
        await _check(factory, actions, split, seed)
    finally:
        await close_shared_providers()


async def _check(factory: Callable[[], Env], actions: Sequence[Action], split: str, seed: int) -> None:
    env = factory()
    _require(isinstance(env, Env), f"the factory must return an Env, got {type(env).__name__}")
    rows = await invoke(env.tasks, split)
    if rows is not None:
        _check_tasks(rows)
    task = None if rows is None else rows[0]
    await invoke(env.close)  # allowed without a reset
    first = await _checked_episode(factory(), actions, seed, task)
    again = await _checked_episode(factory(), actions, seed, task)
    for index, (one, other) in enumerate(zip(first, again, strict=True)):
        what = "the observation of reset" if index == 0 else f"step {index}"
        _require(one == other, f"{what} must repeat with equal seed and task: {one!r:.200} != {other!r:.200}")


async def _checked_episode(
    env: Env, actions: Sequence[Action], seed: int, task: Task | None
) -> list[tuple[Any, ...]]:
    """Play one episode, checking every reply; returns what must repeat."""
    options: Info = {} if task is None else {"task": task}
    try:
        reply = await invoke(env.reset, seed=seed, options=options)
        is_pair = isinstance(reply, tuple) and len(reply) == 2
        _require(is_pair, f"reset must return (observation, info), got {reply!r:.200}")
        _require(isinstance(reply[1], dict), f"the info of reset must be a dict, got {reply[1]!r:.200}")
        _check_tools(env)
        record: list[tuple[Any, ...]] = [(_messages(reply[0], "reset"),)]
        for action in actions:
            step = _checked_step(await invoke(env.step, action), action)
            record.append((_messages(step.observation, "step"), step.reward, step.terminated, step.truncated))
            if step.terminated or step.truncated:
                break
    finally:
        await invoke(env.close)
    return record


def _checked_step(reply: Any, action: Action) -> Step:
    is_five = isinstance(reply, tuple) and len(reply) == _STEP_FIELDS
    _require(
        is_five, f"step must return (observation, reward, terminated, truncated, info), got {reply!r:.99}"
    )
    step = Step(*reply)
    is_number = isinstance(step.reward, int | float) and not isinstance(step.reward, bool)
    is_finite = is_number and abs(float(step.reward or 0)) < float("inf")
    _require(step.reward is None or is_finite, f"reward must be a finite number or None, got {step.reward!r}")
    for name in ("terminated", "truncated"):
        value = getattr(step, name)
        _require(isinstance(value, bool), f"{name} must be a bool, got {value!r}")
    _require(isinstance(step.info, dict), f"info must be a dict, got {step.info!r:.200}")
    _require(isinstance(step.info.get("success", True), bool), "info['success'] must be a bool")
    _check_answers(step, action)
    return step


def _check_answers(step: Step, action: Action) -> None:
    answers = [m for m in _messages(step.observation, "step") if m["role"] == "tool"]
    if answers:
        ids, wanted = [m.get("tool_call_id") for m in answers], [call.id for call in action.tool_calls]
        _require(ids == wanted, f"every tool call must be answered once, in order: {ids} answer {wanted}")


def _check_tools(env: Env) -> None:
    names = []
    for schema in env.tools:
        function = schema.get("function", {})
        name = function.get("name")
        _require(bool(name), f"a tool schema must hold function.name: {schema!r:.200}")
        _require(bool(function.get("description")), f"tool {name!r} must have a description")
        parameters = function.get("parameters", {})
        _require(parameters.get("type") == "object", f"parameters of tool {name!r} must be an object schema")
        _require(_is_json(schema), f"the schema of tool {name!r} must be JSON-able")
        names.append(name)
    _require(len(set(names)) == len(names), f"tool names must differ: {names}")


def _check_tasks(rows: Sequence[Task]) -> None:
    _require(len(rows) > 0, "tasks must not be empty; return None if the seed alone makes a task")
    seen: set[str] = set()
    for index in range(min(len(rows), MAX_TASKS_CHECKED)):
        row = rows[index]
        _require(_is_json(dict(row)), f"task row {index} must be JSON-able: {row!r:.200}")
        name = row.get("task_id")
        if name is not None:
            _require(isinstance(name, str), f"task_id of row {index} must be text, got {name!r}")
            _require(name not in seen, f"task_id must be unique, {name!r} is not")
            seen.add(name)


def _messages(observation: Observation, where: str) -> list[Message]:
    try:
        return as_messages(observation)
    except TypeError as error:
        raise AssertionError(f"{where}: {error}") from error


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _require(is_kept: bool, rule: str) -> None:
    if not is_kept:
        raise AssertionError(rule)


class EchoEnv(Env):
    """Says back what it hears; the word `stop` ends the episode with reward 1."""

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Begin; the task's `prompt` is the first message, if there is a task."""
        super().reset(seed=seed, options=options)
        task: Task = (options or {}).get("task") or {}
        return task.get("prompt", "Say something; say stop to end."), {}

    def step(self, action: Action) -> Step:
        """Say the text back."""
        is_last = action.text.strip().lower() == "stop"
        return Step(f"You said: {action.text}", float(is_last), is_last, False, {"success": is_last})


class CounterEnv(ToolEnv):
    """Counts calls of its one tool; reaching `goal` ends the episode with reward 1."""

    def __init__(self, goal: int = 3) -> None:
        super().__init__()
        self.goal = goal
        self.count = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Begin at zero."""
        super().reset(seed=seed, options=options)
        self.count = 0
        return f"Count to {self.goal} with the tool.", {}

    @tool
    async def increment(self, by: int = 1) -> ToolResult:
        """Add to the counter and return it.

        Args:
            by: How much to add.
        """
        self.count += by
        is_done = self.count >= self.goal
        return ToolResult(self.count, float(is_done), is_done, {"success": is_done})


class GuessEnv(Env):
    """Guess a number from 1 to `high`; every answer says higher or lower."""

    def __init__(self, high: int = 100) -> None:
        self.high = high
        self.secret = 0

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Draw the number."""
        super().reset(seed=seed, options=options)
        self.secret = int(self.np_random.integers(1, self.high + 1))
        return f"Guess a number from 1 to {self.high}.", {}

    def step(self, action: Action) -> Step:
        """Compare."""
        text = action.text.strip()
        if not text.isascii() or not text.isdigit() or len(text) > len(str(self.high)):
            return Step(f"Reply with a number from 1 to {self.high}.", 0.0, False, False, {})
        guess = int(text)
        if guess == self.secret:
            return Step("Yes.", 1.0, True, False, {"success": True})
        return Step("higher" if guess < self.secret else "lower", 0.0, False, False, {"success": False})
