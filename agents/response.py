"""Reading turns by a tokenizer's own `response_template`, where a model ships one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..envs.core import Action, ToolCall
from .parse import malformed, number_calls, read_call

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_PARSE_ERRORS = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class ResponseParser:
    """Calls `tokenizer.parse_response`, and never raises where that does."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, generation_prompt: str) -> None:
        """Read after `generation_prompt`, which may have opened a block of reasoning."""
        self._tokenizer, self._prefix = tokenizer, generation_prompt

    def __call__(self, text: str, turn: int) -> Action:
        """Read one turn; one that the template cannot read is a malformed call."""
        try:
            message = self._tokenizer.parse_response(text, prefix=self._prefix)
        except _PARSE_ERRORS as error:
            return Action(text="", tool_calls=number_calls([malformed(text, str(error)[:200])], turn))
        calls = [self._call_of(call, text) for call in message.get("tool_calls") or ()]
        return Action(
            text=_text(message.get("content")).strip(),
            tool_calls=number_calls(calls, turn),
            reasoning=message.get("reasoning_content") or message.get("thinking"),
        )

    @staticmethod
    def _call_of(call: Any, text: str) -> ToolCall:  # Any: what the template made of it
        return replace(read_call(call, text), raw=text)


def has_response_template(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether the tokenizer brings a template to read responses by."""
    return isinstance(getattr(tokenizer, "response_template", None), Mapping)


def _text(content: Any) -> str:  # Any: text, blocks or nothing
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or () if isinstance(block, Mapping))
