"""A generator that says what it is told: for dry runs, load tests and tests of environments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Self

from ..chat import ChatFormat
from ..core import Generation, Sampling

Reply = Sequence[str] | Callable[[str, int], str]
"""Texts by turn (the last one repeats), or a function of the conversation's text and the turn."""


class ScriptedGenerator:
    """Replies by script, as ids with made-up but finite and repeatable logprobs.

    The turn is counted from the conversation itself, so that one generator serves any number of
    episodes; a prompt's own assistant messages count as turns.
    """

    def __init__(
        self,
        chat_format: ChatFormat,
        reply: Reply,
        *,
        latency_s: float = 0.0,
        max_context: int = 8192,
        stops: bool = True,
    ) -> None:
        """Set the script.

        Args:
            chat_format: writes the replies as the model would.
            reply: what to say.
            latency_s: time of one turn.
            max_context: what the made-up model can hold, in tokens.
            stops: end every reply that fits with the end-of-turn token.

        Raises:
            ValueError: `reply` is an empty list.
        """
        if not callable(reply) and not reply:
            raise ValueError("reply is empty; give at least one text")
        self._format, self._reply = chat_format, reply
        self._latency_s, self._max_context = latency_s, max_context
        self._end = chat_format.turn_end_ids if stops else ()
        self._encode = lru_cache(maxsize=1024)(self._encode_reply)

    @property
    def max_context(self) -> int:
        """Tokens of prompt and generation together."""
        return self._max_context

    async def generate(
        self, ids: Sequence[int], *, max_new_tokens: int, sampling: Sampling, seed: int | None = None
    ) -> Generation:
        """Say the reply of this turn, cut to `max_new_tokens`.

        Raises:
            ValueError: `ids` is empty, or does not leave room for `max_new_tokens` in the context.
        """
        if not ids or max_new_tokens < 1 or len(ids) + max_new_tokens > self._max_context:
            raise ValueError(
                f"{len(ids)} ids and max_new_tokens={max_new_tokens} must be at least 1 and fit "
                f"a context of {self._max_context}"
            )
        await asyncio.sleep(self._latency_s)
        turn = max(self._count_turns(ids) - 1, 0)
        if callable(self._reply):
            text = self._reply(self._format.decode(ids), turn)
        else:
            text = self._reply[min(turn, len(self._reply) - 1)]
        reply = self._encode(text)
        said = reply[:max_new_tokens]
        return Generation(
            ids=said,
            logprobs=tuple(-0.01 * (1 + token % 97) for token in said),
            finish_reason="stop" if said and said[-1] in self._format.stop_ids else "length",
        )

    async def close(self) -> None:
        """Nothing to free."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        return None

    def _encode_reply(self, text: str) -> tuple[int, ...]:
        reply = (*self._format.encode_text(text), *self._end)
        return reply or self._format.turn_end_ids

    def _count_turns(self, ids: Sequence[int]) -> int:
        header, ids, at, turns = self._format.generation_prompt_ids, list(ids), -1, 0
        while True:
            try:
                at = ids.index(header[0], at + 1)
            except ValueError:
                return turns
            turns += tuple(ids[at : at + len(header)]) == header
