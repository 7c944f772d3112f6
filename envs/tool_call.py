"""One tool call: find the tool, check the arguments, run it in time, word the answer.

Whatever the agent did wrong is answered in words. Only a fault of what the tool stands on
(`SandboxError`, `EnvError`) is raised, so that the episode is left unscored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic_core import to_jsonable_python

from ..sandboxes.errors import FileAccessError, SandboxError
from .core import Message, ToolCall
from .errors import EnvError
from .invoke import CallExpired, invoke_within
from .nearest import did_you_mean, listed
from .text import brief, truncate
from .tool import Tool, ToolResult


class Outcome(StrEnum):
    """How one call went."""

    OK = "ok"
    MALFORMED = "malformed"
    """Not readable, an unknown tool, or wrong arguments: the tool did not run."""
    ERROR = "error"
    """The tool raised."""
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call gave."""

    call: ToolCall
    outcome: Outcome
    result: ToolResult
    """Its content is text or chat content blocks, already cut to length."""

    def to_message(self) -> Message:
        """The `role: tool` message of this answer."""
        return {
            "role": "tool",
            "tool_call_id": self.call.id,
            "name": self.call.name,
            "content": self.result.content,
        }


async def answer(
    call: ToolCall, tools: Mapping[str, Tool], *, timeout_s: float, max_output_chars: int
) -> Answer:
    """Run one call to its end.

    Args:
        call: as the agent wrote it.
        tools: those on offer, by name.
        timeout_s: for a tool without a time of its own.
        max_output_chars: for a tool without a limit of its own.

    Raises:
        SandboxError: the sandbox below the tool failed (a file that is not there is the agent's doing).
        EnvError: other infrastructure below the tool failed.
    """
    tool = tools.get(call.name)
    if tool is None:
        return _unknown(call, tools)
    limit = tool.spec.max_output_chars or max_output_chars
    try:
        arguments = _checked_arguments(call, tool)
    except ValueError as error:
        return Answer(call, Outcome.MALFORMED, ToolResult(truncate(f"Error: {error}", limit)))
    seconds = tool.spec.timeout_s or timeout_s
    try:
        value = await invoke_within(seconds, tool.function, **arguments)
        result = value if isinstance(value, ToolResult) else ToolResult(value)
        content = render(result.content, limit)
    except CallExpired:
        text = f"Error: {tool.name} did not finish within {seconds:g} s; its result is discarded."
        return Answer(call, Outcome.TIMEOUT, ToolResult(text))
    except FileAccessError as error:
        return _failed(call, error, limit)
    except (SandboxError, EnvError):
        raise
    except Exception as error:  # noqa: BLE001  # a tool's exception is what the agent's call led to
        return _failed(call, error, limit)
    ends = tool.spec.ends_episode if result.ends_episode is None else result.ends_episode
    return Answer(call, Outcome.OK, ToolResult(content, result.reward, ends, result.info))


def render(value: object, max_chars: int) -> Any:  # Any: text, or a list of chat content blocks
    """A tool's return value as message content: text and content blocks as they are, others as JSON."""
    if value is None:
        return "(no output)"
    if isinstance(value, list) and value and all(isinstance(b, dict) and "type" in b for b in value):
        return [_cut_block(block, max_chars) for block in value]
    if not isinstance(value, str):
        plain = to_jsonable_python(value, fallback=repr, inf_nan_mode="constants")
        value = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return truncate(value, max_chars)


def _cut_block(block: dict[str, Any], max_chars: int) -> dict[str, Any]:
    if isinstance(block.get("text"), str):
        return {**block, "text": truncate(block["text"], max_chars)}
    return block


def _checked_arguments(call: ToolCall, tool: Tool) -> dict[str, Any]:
    if not isinstance(call.arguments, Mapping):
        why = call.error or f"its arguments are {brief(call.arguments)}"
        raise ValueError(
            f"the call of {tool.name} could not be read: {why}. "
            f"Give the arguments as one JSON object. Usage: {tool.usage}"
        )
    try:
        return tool.spec.arguments.validate(call.arguments)
    except ValueError as error:
        raise ValueError(f"{tool.name} was not called: {error}. Usage: {tool.usage}") from None


def _unknown(call: ToolCall, tools: Mapping[str, Tool]) -> Answer:
    if call.error and not call.name:
        what = f"the tool call could not be read: {call.error[:300]}"
    else:
        what = f"there is no tool {call.name[:100]!r}{did_you_mean(call.name, tools)}"
    return Answer(call, Outcome.MALFORMED, ToolResult(f"Error: {what}. Tools: {listed(tools)}."))


def _failed(call: ToolCall, error: Exception, limit: int) -> Answer:
    said = str(error).strip()
    text = f"Error: {type(error).__name__}: {said}" if said else f"Error: {type(error).__name__}"
    return Answer(call, Outcome.ERROR, ToolResult(truncate(text, limit)))
