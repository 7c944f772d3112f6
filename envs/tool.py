"""Tools: typed, documented Python functions that an agent may call.

    @tool
    def add(a: int, b: int) -> int:
        ...  # with a Google docstring that describes `a` and `b`

Also async functions, bound methods, and objects with `__call__` that keep state. What is wrong with a
definition is said when it is defined. Not here: running the calls of a turn (`tool_env`).
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
import sys
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from .argument_schema import ArgumentSchema, JsonSchema, argument_schema
from .docstring import parse_docstring
from .text import brief

F = TypeVar("F", bound=Callable[..., Any])  # Any: a decorator must accept every signature

_MARK = "__grpo_agent_tool__"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool may return when its answer is more than content."""

    content: object
    """Text, chat content blocks, or anything that JSON can hold."""
    reward: float | None = 0.0
    """Added to the reward of the step; `None`: the step cannot be scored."""
    ends_episode: bool | None = None
    """Whether the episode is over; `None` leaves it to the tool's option."""
    info: Mapping[str, Any] = field(default_factory=dict)  # Any: gymnasium's info
    """Merged into the info of the step."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What is known of a tool before it is bound to an object."""

    name: str
    description: str
    arguments: ArgumentSchema
    timeout_s: float | None = None
    """Seconds a call may take; `None` follows the environment."""
    max_output_chars: int | None = None
    """Longest text of a result; `None` follows the environment."""
    ends_episode: bool = False
    """Whether a call that succeeds ends the episode."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that can be called."""

    spec: ToolSpec
    function: Callable[..., Any]  # Any: the user's signature

    @property
    def name(self) -> str:
        """What the agent calls it."""
        return self.spec.name

    @property
    def schema(self) -> JsonSchema:
        """The JSON schema that chat templates take; the caller's own copy."""
        return {
            "type": "function",
            "function": {
                "name": self.spec.name,
                "description": self.spec.description,
                "parameters": copy.deepcopy(self.spec.arguments.parameters),
            },
        }

    @property
    def usage(self) -> str:
        """One line that shows how to call it."""
        return self.spec.arguments.usage(self.spec.name)


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    name: str | None = None,
    timeout_s: float | None = None,
    max_output_chars: int | None = None,
    ends_episode: bool = False,
) -> Callable[[F], F]: ...


def tool(
    function: Any = None,  # Any: the overloads say what
    /,
    *,
    name: str | None = None,
    timeout_s: float | None = None,
    max_output_chars: int | None = None,
    ends_episode: bool = False,
) -> Any:
    """Mark a function or a method as a tool. It stays callable as before.

    Args:
        function: typed, with a Google docstring that describes every argument.
        name: what the agent calls it; the function's name by default.
        timeout_s: seconds a call may take; the environment's `tool_timeout_s` by default.
        max_output_chars: longest text of a result; the environment's by default.
        ends_episode: whether a call that succeeds ends the episode.

    Raises:
        TypeError: an argument has no annotation, or this is not a function.
        ValueError: the function or an argument is not described, or an option is out of range.
    """
    local_names = sys._getframe(1).f_locals
    _check_options(name, timeout_s, max_output_chars)

    def mark(target: F) -> F:
        plain = target.__func__ if isinstance(target, (staticmethod, classmethod)) else target
        if not inspect.isfunction(plain):
            raise TypeError(
                f"@tool marks functions and methods, got {brief(target)}; "
                "give other callables to ToolEnv(tools=[...]) as they are"
            )
        spec = _read(plain, name or plain.__name__, plain.__doc__, _first_is_self(plain), local_names)
        spec = replace(
            spec, timeout_s=timeout_s, max_output_chars=max_output_chars, ends_episode=ends_episode
        )
        setattr(plain, _MARK, spec)
        return target

    return mark if function is None else mark(function)


def as_tool(source: object) -> Tool:
    """Make a tool of a function, async function, bound method or callable object.

    Raises:
        TypeError: not callable, a class, a generator, or an argument has no annotation.
        ValueError: the function or an argument is not described.
    """
    if isinstance(source, Tool):
        return source
    if inspect.isclass(source):
        raise TypeError(f"{source.__name__} is a class; give an instance, e.g. tools=[{source.__name__}()]")
    if not callable(source):
        raise TypeError(f"{brief(source)} is not a tool; give a typed function with a docstring")
    marked = tool_spec(source)
    if marked is not None:
        return Tool(marked, source)
    if inspect.isroutine(source):
        return Tool(_cached_read(source), source)
    return Tool(_read_object(source), source)


def tool_spec(source: object) -> ToolSpec | None:
    """What `@tool` noted on a function, method, static or class method; `None` if not marked."""
    plain = getattr(source, "__func__", source)
    spec = getattr(plain, _MARK, None) if inspect.isfunction(plain) else None
    return spec if isinstance(spec, ToolSpec) else None


_read_before: weakref.WeakKeyDictionary[Callable[..., Any], ToolSpec] = weakref.WeakKeyDictionary()


def _cached_read(source: Callable[..., Any]) -> ToolSpec:
    """Environments are made once an episode; their plain functions are read once a process."""
    plain = getattr(source, "__func__", source)
    spec = _read_before.get(plain)
    if spec is None:
        spec = _read(source, source.__name__, source.__doc__)
        if inspect.isfunction(plain):
            _read_before[plain] = spec
    return spec


def _read_object(source: Callable[..., Any]) -> ToolSpec:
    if isinstance(source, functools.partial):
        return _read(source, source.func.__name__, source.func.__doc__)
    kind = type(source)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
    own_name = getattr(source, "name", None)
    marked = tool_spec(kind.__call__)
    if marked is not None:
        return replace(marked, name=name) if marked.name == "__call__" else marked
    doc = source.__call__.__doc__ or kind.__doc__  # type: ignore[operator]  # mypy misreads __call__ here
    return _read(source, own_name if isinstance(own_name, str) else name, doc)


def _read(
    function: Callable[..., Any],
    name: str,
    doc: str | None,
    skip_first: bool = False,
    local_names: Mapping[str, Any] | None = None,
) -> ToolSpec:
    label = f"tool {name!r}{_place(function)}"
    _check_options(name, None, None)
    called = function if inspect.isroutine(function) else type(function).__call__
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise TypeError(f"{label} is a generator; return the whole result instead")
    docstring = parse_docstring(doc)
    if not docstring.description:
        raise ValueError(
            f"{label} has no description; begin the function with a docstring, e.g. "
            '"""Search the web."""; the agent reads it'
        )
    arguments = argument_schema(
        function, label=label, docstring=docstring, skip_first=skip_first, local_names=local_names
    )
    return ToolSpec(name, docstring.description, arguments)


def _place(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code else ""


def _first_is_self(function: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(function).parameters), "")
    return first in ("self", "cls") and "." in function.__qualname__


def _check_options(name: str | None, timeout_s: float | None, max_output_chars: int | None) -> None:
    if name is not None and not _NAME.fullmatch(name):
        raise ValueError(
            f"tool name {name!r} is not usable; use letters, digits and underscores, e.g. 'search_web'"
        )
    if timeout_s is not None and not timeout_s > 0:
        raise ValueError(f"timeout_s is {timeout_s!r}; it must be positive seconds")
    if max_output_chars is not None and max_output_chars < MIN_OUTPUT_CHARS:
        raise ValueError(f"max_output_chars is {max_output_chars!r}; it must be at least {MIN_OUTPUT_CHARS}")


MIN_OUTPUT_CHARS = 100
"""Below this a cut result is mostly the notice that it was cut."""
