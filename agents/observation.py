"""Making an observation fit the tokens that are left: head and tail, with a notice between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..envs.core import Message
from ..envs.text import truncate
from .chat import ChatFormat
from .tool_prompt import content_text

_MAX_TRIES = 8
_SAFETY = 0.9
"""Of the characters that should fit; tokens per character vary over a text."""


class FittedObservation(NamedTuple):
    """An observation as the agent will see it."""

    messages: list[Message]
    ids: list[int]


def fit_observation(
    chat_format: ChatFormat, messages: Sequence[Message], max_ids: int
) -> FittedObservation | None:
    """Encode an observation in at most `max_ids` tokens, shortening its longest texts if need be.

    Returns:
        The messages as shortened and their ids, or `None` if even the notice does not fit.

    Raises:
        ChatFormatError: the template refuses the messages.
    """
    fitted = list(messages)
    for _ in range(_MAX_TRIES):
        ids = chat_format.encode_observation(fitted)
        excess = len(ids) - max_ids
        if excess <= 0:
            return FittedObservation(fitted, ids)
        longest = max(range(len(fitted)), key=lambda index: len(content_text(fitted[index])))
        text = content_text(fitted[longest])
        tokens = len(chat_format.encode_text(text))
        keep_chars = int(len(text) * _SAFETY * (tokens - excess) / max(tokens, 1))
        shortened = truncate(text, keep_chars)
        if len(shortened) >= len(text):
            return None
        fitted[longest] = {**fitted[longest], "content": shortened}
    return None
