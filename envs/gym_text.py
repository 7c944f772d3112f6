"""Between gymnasium and text: a space of all texts, and renderings. Not here: reading actions of spaces."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory

from .core import Action, ToolCall

_SAMPLE_CHARS = 64
_MAX_INFO_ITEMS = 64
_HIGHLIGHT = re.compile(r"\x1b\[[0-9;]*m(.*?)\x1b\[0m", re.DOTALL)
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class AnyText(spaces.Text):
    """All texts up to a length, of any characters. Samples are short and printable."""

    def __init__(self, max_length: int, seed: int | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:  # Any: gymnasium's signature
        """A short printable text; masks do not apply."""
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_CHARS) + 1))
        return "".join(self.np_random.choice(list(string.printable), size=length))

    def contains(self, x: Any) -> bool:
        """Whether it is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash(self.max_length)

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"


@create_shared_memory.register(AnyText)
def _refuse_shared_memory(*_args: Any, **_kwargs: Any) -> Any:  # Any: gymnasium's signature
    """Say so: gymnasium's shared memory gives back blank text for every Text space."""
    raise CustomSpaceError("text does not go through shared memory; pass shared_memory=False")


def messages_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of chat messages, one after another."""
    return "\n\n".join(_content_text(message.get("content")) for message in messages)


def _content_text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", f"[{block.get('type')}]")) for block in content)
    return "" if content is None else str(content)


def read_action(text: str, *, has_tools: bool) -> Action:
    """An agent's text as an action; JSON objects with a `name` are tool calls where there are tools."""
    if has_tools and text.lstrip().startswith(("{", "[")):
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return Action(text)
        items = data if isinstance(data, list) else [data]
        if items and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items):
            calls = (_tool_call(index, item) for index, item in enumerate(items))
            return Action("", tuple(calls))
    return Action(text)


def _tool_call(index: int, item: Mapping[str, Any]) -> ToolCall:
    arguments = item.get("arguments", {})
    if isinstance(arguments, dict):
        return ToolCall(f"call-{index}", item["name"], arguments, json.dumps(item))
    error = f"arguments are {type(arguments).__name__}, not an object"
    return ToolCall(f"call-{index}", item["name"], None, json.dumps(item), error)


def rendered(observation: object) -> str:
    """An observation as text; colours of a terminal become brackets: `S[F]H`."""
    if isinstance(observation, str):
        return _ESCAPE.sub("", _HIGHLIGHT.sub(r"[\1]", observation)).strip("\n")
    return json.dumps(plain(observation), ensure_ascii=False)


def plain(value: object) -> Any:  # Any: JSON
    """Numpy and containers as JSON-able values; floats rounded to 4 places."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 4)
    return value if isinstance(value, str | int | bool) or value is None else repr(value)


def plain_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """An info dict that JSON can hold; large values are left out."""
    small = {key: value for key, value in info.items() if _size(value) <= _MAX_INFO_ITEMS}
    result: dict[str, Any] = plain(small)
    if "is_success" in result:
        result.setdefault("success", bool(result["is_success"]))
    if "success" in result:
        result["success"] = bool(result["success"])
    return result


def _size(value: object) -> int:
    """Numbers and texts in a value, ragged or not."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, Mapping):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 1
