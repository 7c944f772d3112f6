"""What an agent faces: the environment contract and its vocabulary.

An `Env` is gymnasium's five-tuple over text or chat messages. One instance lives for one episode at
a time: `reset`, then `step` until `terminated` or `truncated`, then `close`. Each of the three may be
`def` (run in a worker thread) or `async def` (run on the event loop).

Not here: tokens (`agents`), sandboxes (`sandboxes`), tools (`tool_env`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Required, TypedDict

import numpy as np

from .text import shown

Task = Mapping[str, Any]  # Any: a dataset row holds whatever its environment needs
Info = dict[str, Any]  # Any: gymnasium's info


class FunctionCall(TypedDict):
    """The function part of a tool call in a chat message."""

    name: str
    arguments: Any  # Any: a decoded JSON object, or the raw text of a malformed one


class MessageToolCall(TypedDict):
    """One entry of `Message["tool_calls"]`."""

    id: str
    type: str
    function: FunctionCall


class Message(TypedDict, total=False):
    """A chat message, in the format of `apply_chat_template`."""

    role: Required[str]
    content: Any  # Any: text, or a list of content blocks
    reasoning_content: str
    tool_calls: list[MessageToolCall]
    tool_call_id: str
    name: str


Observation = str | list[Message]
"""Text stands for one message: of role `user`."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as the model wrote it.

    `arguments` is `None` when the call was malformed; `error` then says why and `raw` is the text.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None  # Any: decoded JSON
    raw: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What the agent did in one turn: its text, with reasoning and tool calls taken out."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None

    def to_message(self) -> Message:
        """The assistant message that stands for this action in the transcript."""
        message: Message = {"role": "assistant", "content": self.text}
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": call.raw if call.arguments is None else dict(call.arguments),
                    },
                }
                for call in self.tool_calls
            ]
        return message


class Step(NamedTuple):
    """What a step returns; gymnasium's five-tuple."""

    observation: Observation
    reward: float | None
    """`None`: this step cannot be scored, and the episode is unscored."""
    terminated: bool
    """The task itself ended (solved, failed, submitted)."""
    truncated: bool
    """The environment cut the episode short (its own turn or time limit)."""
    info: Info
    """`info["success"]` (bool), if given in the last step, is what evaluation counts."""


class Env:
    """Five-tuple gymnasium semantics, over text or chat messages.

    Subclasses implement `step`, and `reset` if they have state or a prompt of their own. Contract:

    - `reset` returns `(observation, info)`. Equal `seed` and `options["task"]` give an equal episode.
      `options["task"]` is the dataset row, absent if the environment has no tasks.
    - `step` takes an `Action` and returns a `Step` (any five-tuple).
    - `close` is called once after every episode, whatever happened; it must not fail if `reset` did.
    - A raised exception means that the environment broke: the episode is retried, then left unscored.
      What the agent did wrong is an observation, not an exception.
    """

    name: ClassVar[str] = ""
    """The registered name; set by `register`."""

    _np_random: np.random.Generator | None = None

    @property
    def np_random(self) -> np.random.Generator:
        """The episode's random generator, seeded by `reset`."""
        if self._np_random is None:
            self._np_random = np.random.default_rng()
        return self._np_random

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:  # Any: JSON schema
        """JSON schemas of the tools offered to the agent in this episode; asked for after `reset`."""
        return ()

    def tasks(self, split: str) -> Sequence[Task] | None:
        """The rows of `split` (`"train"` or `"test"`), or `None` if the seed alone makes a task.

        A `datasets.Dataset` is a valid result. Rows may hold `task_id` (str), `level`, `tags`.

        Raises:
            ValueError: the split is unknown or a row lacks a field that this environment needs.
        """
        return None

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[Observation, Info] | Awaitable[tuple[Observation, Info]]:
        """Begin an episode.

        Args:
            seed: seeds `np_random`.
            options: `options["task"]` is the dataset row.

        Returns:
            The first observation (text, or chat messages including a system prompt) and an info dict.
        """
        if seed is not None:
            self._np_random = np.random.default_rng(seed)
        return "", {}

    def step(self, action: Action) -> Step | Awaitable[Step]:
        """Apply one turn of the agent."""
        raise NotImplementedError(f"{type(self).__name__} must implement step(action)")

    def close(self) -> Awaitable[None] | None:
        """Release what the episode holds."""
        return None


def as_messages(observation: Observation, role: str = "user") -> list[Message]:
    """Turn an observation into chat messages; text becomes one message of `role`.

    Raises:
        TypeError: neither text nor a list of dicts with a `role`.
    """
    if isinstance(observation, str):
        return [{"role": role, "content": observation}]
    is_chat = isinstance(observation, list) and all(isinstance(m, dict) and "role" in m for m in observation)
    if not is_chat:
        raise TypeError(
            "an observation is text or a list of chat messages with a 'role', "
            f"got {shown(observation, 200)}; "
            "return a str, or e.g. [{'role': 'user', 'content': '...'}]"
        )
    return list(observation)
