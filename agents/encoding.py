"""Text to ids, such that only the chat template can write control tokens.

Text of a user or a tool may contain `<|im_end|>`. Encoded naively it would end the turn: the oldest
prompt injection. Here such text is hidden from the template and from the tokenizer's table of added
tokens, and encoded as the plain characters it is. Text without it gets the ids the tokenizer gives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from tokenizers import Tokenizer

from ..envs.core import Message

_TRUSTED_ROLES = ("system", "developer", "assistant")
_STRUCTURAL_KEYS = ("role", "type")


class Hidden:
    """Texts that stand in a conversation as placeholders, which no tokenizer or template knows."""

    def __init__(self, messages: Sequence[Message]) -> None:
        """Choose placeholder characters that do not occur in `messages`."""
        text = json.dumps(messages, ensure_ascii=False, default=str)
        unused = (chr(code) for code in range(0xF0000, 0xFFFFE) if chr(code) not in text)
        self._open, self._close = next(unused), next(unused)
        self._pattern = re.compile(f"{self._open}([0-9]+){self._close}")
        self._texts: list[str] = []

    def hide(self, match: re.Match[str]) -> str:
        """Remember the matched text and give its placeholder."""
        self._texts.append(match[0])
        return f"{self._open}{len(self._texts) - 1}{self._close}"

    def occurs_in(self, text: str) -> bool:
        """Whether `text` holds a placeholder."""
        return self._open in text

    def reveal(self, text: str) -> str:
        """`text` with the placeholders replaced by what they stand for."""
        return self._pattern.sub(lambda match: self._texts[int(match[1])], text)


class Escaped(NamedTuple):
    """Messages in which the text of control tokens is replaced by placeholders."""

    messages: list[Message]
    hidden: Hidden | None
    """`None` if nothing had to be hidden."""


class SafeEncoder:
    """Encodes rendered conversations with a private copy of a tokenizer.

    The copy matters: padding, truncation and `split_special_tokens` set on the shared one by others
    do not reach it, nor does use of it in two threads at once.
    """

    def __init__(self, backend: Tokenizer) -> None:
        """Copy `backend`."""
        self._state: dict[str, Any] = json.loads(backend.to_str())  # Any: the tokenizer's JSON
        self._state |= {"padding": None, "truncation": None}
        self._tokenizer = Tokenizer.from_str(json.dumps(self._state))
        added = self._tokenizer.get_added_tokens_decoder()
        self._added_ids = frozenset(added)
        self._any_added = _alternation(token.content for token in added.values())
        self._control = _alternation(token.content for token in added.values() if token.special)
        self._plain: Tokenizer | None = None

    def escape(self, messages: Sequence[Message]) -> Escaped:
        """Hide the text of added tokens in what users and tools said.

        In what the author of an environment wrote (system, assistant) only control tokens are hidden:
        `<tool_call>` and `<think>` may stand there on purpose.
        """
        patterns = [self._control if m["role"] in _TRUSTED_ROLES else self._any_added for m in messages]
        if not any(map(_occurs, patterns, messages)):
            return Escaped(list(messages), None)
        hidden = Hidden(messages)
        escaped = [
            _map_strings(message, partial(pattern.sub, hidden.hide))
            for pattern, message in zip(patterns, messages, strict=True)
        ]
        return Escaped(escaped, hidden)

    def encode(self, text: str, hidden: Hidden | None = None) -> list[int]:
        """Ids of a rendered text; what was hidden comes back as plain characters."""
        text = _without_surrogates(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        if hidden is None:
            return encoding.ids
        ids: list[int] = []
        start = 0
        run: list[int] = []
        for token, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token not in self._added_ids:
                run.append(token)
                continue
            ids += [*self._encode_run(text[start:begin], run, hidden), token]
            start, run = end, []
        return ids + self._encode_run(text[start:], run, hidden)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, control tokens included."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=False)

    def added_tokens(self, text: str) -> Iterator[re.Match[str]]:
        """Where the text of added tokens occurs, in order."""
        return self._any_added.finditer(text)

    def is_control(self, text: str) -> bool:
        """Whether `text` is a control token."""
        return self._control.fullmatch(text) is not None

    def id_of(self, token: str) -> int:
        """Id of an added token.

        Raises:
            KeyError: there is no such token.
        """
        token_id = self._tokenizer.token_to_id(token)
        if token_id is None:
            raise KeyError(token)
        return token_id

    def _encode_run(self, text: str, ids: list[int], hidden: Hidden) -> list[int]:
        if not hidden.occurs_in(text):
            return ids
        text = _without_surrogates(hidden.reveal(text))
        plain = self._plain_tokenizer().encode(text, add_special_tokens=False).ids
        if self._added_ids.isdisjoint(plain):
            return plain
        # The vocabulary itself holds the control text as one piece (Unigram): no piece may see it whole.
        return [token for char in text for token in self._plain_tokenizer().encode(char).ids]

    def _plain_tokenizer(self) -> Tokenizer:
        if self._plain is None:
            state = self._state | {"added_tokens": [], "post_processor": None}
            self._plain = Tokenizer.from_str(json.dumps(state))
        return self._plain


def _without_surrogates(text: str) -> str:
    """`text` with halves of surrogate pairs, which JSON can smuggle in and UTF-8 cannot say, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _alternation(texts: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted((text for text in texts if text.strip()), key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _occurs(pattern: re.Pattern[str], value: Any) -> bool:  # Any: a message or a part of one
    if isinstance(value, str):
        return pattern.search(value) is not None
    if isinstance(value, dict):
        return any(_occurs(pattern, v) for k, v in value.items() if k not in _STRUCTURAL_KEYS)
    return isinstance(value, list | tuple) and any(_occurs(pattern, item) for item in value)


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:  # Any: a message or a part of one
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {k: v if k in _STRUCTURAL_KEYS else _map_strings(v, change) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_map_strings(item, change) for item in value]
    return value
