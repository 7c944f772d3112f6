"""Tools for models whose chat template knows none: in words, as text messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..envs.core import Message

_TOOL_PROMPT = """\
You can call these tools:
{schemas}

To call a tool, reply with a JSON object between tags, one for each call:
<tool_call>
{{"name": "<name of the tool>", "arguments": {{"<argument>": <value>}}}}
</tool_call>
The results come back in the next message."""


def with_tool_prompt(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],  # Any: JSON schema
) -> list[Message]:
    """`messages` with the tools described in the system prompt; one is made if there is none."""
    if not tools:
        return list(messages)
    prompt = _TOOL_PROMPT.format(schemas="\n".join(json.dumps(dict(tool)) for tool in tools))
    if messages and messages[0]["role"] == "system":
        first: Message = {**messages[0], "content": f"{content_text(messages[0])}\n\n{prompt}".strip()}
        return [first, *messages[1:]]
    return [{"role": "system", "content": prompt}, *messages]


def without_tool_roles(messages: Sequence[Message]) -> list[Message]:
    """`messages` in which calls and results of tools are text of the assistant and the user."""
    return joined([_as_text(message) for message in messages])


def joined(messages: Sequence[Message]) -> list[Message]:
    """Neighbouring user messages made one, as templates that insist on alternation need."""
    result: list[Message] = []
    for message in messages:
        if result and message["role"] == result[-1]["role"] == "user":
            text = f"{content_text(result[-1])}\n{content_text(message)}"
            result[-1] = {"role": "user", "content": text}
        else:
            result.append(message)
    return result


def content_text(message: Message) -> str:
    """The text of a message, whose content may be blocks.

    Raises:
        TypeError: the content is neither text nor text blocks.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(
        isinstance(b, dict) and isinstance(b.get("text"), str) for b in content
    ):
        return "".join(block["text"] for block in content)
    raise TypeError(
        f"content of a {message['role']} message must be text or text blocks, got {content!r:.200}"
    )


def _as_text(message: Message) -> Message:
    if message["role"] == "tool":
        return {"role": "user", "content": f"<tool_response>\n{content_text(message)}\n</tool_response>"}
    if message.get("tool_calls"):
        calls = [json.dumps(call["function"], default=str) for call in message["tool_calls"]]
        blocks = [f"<tool_call>\n{call}\n</tool_call>" for call in calls]
        return {"role": "assistant", "content": "\n".join([content_text(message), *blocks]).strip()}
    return message
