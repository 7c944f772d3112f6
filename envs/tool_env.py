"""An environment whose actions are tool calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

from .argument_schema import JsonSchema
from .core import Action, Env, Info, Observation, Step, ToolCall
from .invoke import invoke
from .locate import load_object
from .nearest import did_you_mean, listed
from .tool import Tool, as_tool, tool_spec
from .tool_call import Answer, Outcome, answer


class ToolEnv(Env):
    """Methods marked `@tool`, and whatever is given as `tools`, are what the agent may call.

    The calls of one turn run side by side (sync ones in threads, so guard state that two calls of a
    turn may change); n calls give n `role: tool` messages, in call order. Attributes of the instance
    last over turns. A call that is malformed, wrong, late or raises is answered in words. Faults of the
    infrastructure (`SandboxError`, `EnvError`) are raised. A tool may return `ToolResult` to give reward
    or end the episode. A turn without calls goes to `on_text`.
    """

    tool_timeout_s: float = 30.0
    """Seconds one call may take, unless the tool has its own; `options["tool_timeout_s"]` replaces it."""
    max_output_chars: int = 4000
    """Longest text of one result, unless the tool has its own limit."""
    text_ends_episode: bool = False
    """Whether a turn without tool calls is the agent's last."""

    _given: tuple[Tool, ...] = ()
    _offered: frozenset[str] | None = None
    _toolbox: dict[str, Tool] | None = None
    _counts: dict[str, float] | None = None

    def __init__(self, tools: Iterable[object] = ()) -> None:
        """Take tools besides the marked methods.

        Args:
            tools: functions, async functions, bound methods, objects with `__call__`; or the paths of
                such, e.g. `"package.module:function"`.

        Raises:
            TypeError: one of them is not a tool, or has an argument without annotation.
            ValueError: one is not described, a path cannot be loaded, or two have the same name.
        """
        loaded = (load_object(item) if isinstance(item, str) else item for item in tools)
        self._given = tuple(as_tool(item) for item in loaded)
        self._toolbox = self._collect()

    def __init_subclass__(cls, **kwargs: Any) -> None:  # Any: class keywords are the subclass's affair
        """Refuse to lose a tool silently by overriding it.

        Raises:
            TypeError: a marked method is overridden by an unmarked one.
        """
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            inherited = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
            if tool_spec(inherited) and callable(value) and not tool_spec(value):
                raise TypeError(
                    f"{cls.__name__}.{name} overrides a tool without being one; "
                    f"add @tool above it, or set `{name} = None` to take the tool away"
                )

    @property
    def tools(self) -> Sequence[JsonSchema]:
        """JSON schemas of the tools on offer."""
        return [tool.schema for tool in self._on_offer().values()]

    def offer_tools(self, names: Iterable[str] | None) -> None:
        """Offer only these tools from now on, e.g. in `reset` by what the task says; `None`: all.

        Raises:
            ValueError: a name is unknown.
        """
        wanted = None if names is None else frozenset(names)
        known = self._all_tools()
        for name in sorted(wanted or ()):
            if name not in known:
                raise ValueError(f"unknown tool {name!r}{did_you_mean(name, known)} (tools: {listed(known)})")
        self._offered = wanted

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[Observation, Info] | Awaitable[tuple[Observation, Info]]:
        """Begin an episode; the observation is the task's `prompt`, if it has one."""
        super().reset(seed=seed, options=options)
        options = options or {}
        self._counts = None
        timeout_s = options.get("tool_timeout_s")
        if timeout_s is not None:
            self.tool_timeout_s = float(timeout_s)
        task: Mapping[str, Any] = options.get("task") or {}
        return task.get("prompt", ""), {}

    async def step(self, action: Action) -> Step:
        """Run the calls of one turn, or hand a turn without calls to `on_text`."""
        if not action.tool_calls:
            return Step(*await invoke(self.on_text, action))
        return self._to_step(await self.run_calls(action.tool_calls))

    def on_text(self, action: Action) -> Step | Awaitable[Step]:
        """Answer a turn without tool calls; override at will, sync or async."""
        if self.text_ends_episode:
            return Step([], 0.0, True, False, {})
        names = listed(self._on_offer())
        return Step(f"Your reply called no tool. Call one of the tools: {names}.", 0.0, False, False, {})

    async def run_calls(self, calls: Sequence[ToolCall]) -> list[Answer]:
        """Run calls side by side; the answers are in call order.

        Raises:
            SandboxError: the sandbox below a tool failed; the other calls are cancelled.
            EnvError: other infrastructure below a tool failed.
        """
        tools = self._on_offer()
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(
                        answer(
                            call, tools, timeout_s=self.tool_timeout_s, max_output_chars=self.max_output_chars
                        )
                    )
                    for call in calls
                ]
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from faults
        return [task.result() for task in tasks]

    def _to_step(self, answers: Sequence[Answer]) -> Step:
        rewards = [item.result.reward for item in answers]
        reward = sum(r for r in rewards if r is not None)
        info: Info = {}
        for item in answers:
            info.update(item.result.info)
        info["metrics"] = {**self._count(answers), **info.get("metrics", {})}
        ended = any(bool(item.result.ends_episode) for item in answers)
        messages = [item.to_message() for item in answers]
        return Step(messages, None if None in rewards else float(reward), ended, False, info)

    def _count(self, answers: Sequence[Answer]) -> dict[str, float]:
        """Calls of the episode so far, by how they went."""
        counts = dict(self._counts or {"tool_calls": 0.0, **{f"tool_{o}": 0.0 for o in Outcome if o != "ok"}})
        for item in answers:
            counts["tool_calls"] += 1
            if item.outcome is not Outcome.OK:
                counts[f"tool_{item.outcome}"] += 1
        self._counts = counts
        return counts

    def _on_offer(self) -> dict[str, Tool]:
        tools = self._all_tools()
        if self._offered is None:
            return tools
        return {name: tool for name, tool in tools.items() if name in self._offered}

    def _all_tools(self) -> dict[str, Tool]:
        if self._toolbox is None:  # a subclass with its own __init__ need not call ours
            self._toolbox = self._collect()
        return self._toolbox

    def _collect(self) -> dict[str, Tool]:
        cls = type(self)
        names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base))
        marked = [name for name in names if tool_spec(_static(cls, name))]
        toolbox: dict[str, Tool] = {}
        for item in [*(as_tool(getattr(self, name)) for name in marked), *self._given]:
            if item.name in toolbox:
                raise ValueError(f"two tools are called {item.name!r}; rename one with @tool(name='...')")
            toolbox[item.name] = item
        return toolbox


def _static(cls: type, name: str) -> object:
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
