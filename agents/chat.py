"""Messages to token ids and back, for one tokenizer's chat template.

`encode` makes the prompt. `encode_observation` makes only what an observation adds: what the agent
sampled is never rendered or tokenized again. `parse` reads a turn.

A template that renders tools is used as it is. For one that does not, tools are described in the
system prompt, calls are `<tool_call>` JSON, and results come back in a user message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..envs.core import Action, Message
from .encoding import SafeEncoder
from .errors import ChatFormatError
from .parse import CALL_PARSERS, CallParser, parse_turn
from .response import ResponseParser, has_response_template
from .template import PROBE_CALL, ChatTemplate, Schemas
from .tool_prompt import joined, with_tool_prompt, without_tool_roles

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MEMO_SIZE = 2048
_MEMO_KEY_CHARS = 4096
_DOCUMENT_ENDS = ("<|endoftext|>", "<|end_of_text|>")


class ChatFormat:
    """How one model's conversations are written. Make it with `for_tokenizer`.

    Attributes:
        name: which tool-call format is read: a key of `CALL_PARSERS`, or `response_template`.
        stop_ids: ids that end an agent's turn.
        turn_end_ids: what is appended, as environment tokens, to a turn that was cut by length.
        generation_prompt_ids: what stands before every turn of the agent.
    """

    def __init__(
        self, template: ChatTemplate, encoder: SafeEncoder, reader: _Reader, stop_ids: frozenset[int]
    ) -> None:
        """Use `ChatFormat.for_tokenizer` instead."""
        self.name = reader.name
        self._template, self._encoder = template, encoder
        self._parse, self._has_tool_prompt = reader.parse, not reader.is_native
        self._memo = _Memo()
        self._closed_by = frozenset(map(encoder.id_of, template.ends))
        self.turn_end_ids: tuple[int, ...] = (encoder.id_of(template.ends[0]),)
        self.stop_ids: tuple[int, ...] = tuple(sorted(stop_ids | self._closed_by))
        self.generation_prompt_ids: tuple[int, ...] = tuple(encoder.encode(template.generation_prompt()))

    @classmethod
    def for_tokenizer(
        cls,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str | None = None,
        template_kwargs: Mapping[str, Any] | None = None,  # Any: variables of the template
    ) -> ChatFormat:
        """Read a tokenizer's chat template and check that it can be extended append-only.

        Args:
            tokenizer: a fast tokenizer with a chat template.
            name: tool-call format, instead of the one that the template's own rendering shows.
            template_kwargs: given to the template, e.g. `{"enable_thinking": False}`.

        Raises:
            ValueError: `name` is unknown.
            ChatFormatError: no template, not a fast tokenizer, or not append-only; says why.
        """
        if name is not None and name not in CALL_PARSERS:
            close = get_close_matches(name, CALL_PARSERS, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"chat format {name!r} is unknown, known are {sorted(CALL_PARSERS)}{hint}")
        if not tokenizer.is_fast:
            raise ChatFormatError(
                f"{type(tokenizer).__name__} is not a fast tokenizer; load it with AutoTokenizer, "
                "which gives one backed by the tokenizers library"
            )
        encoder = SafeEncoder(tokenizer.backend_tokenizer)
        template = ChatTemplate(tokenizer, encoder, template_kwargs or {})
        template.check_append_only()
        ends = {encoder.id_of(end) for end in _DOCUMENT_ENDS if encoder.is_control(end)}
        if tokenizer.eos_token_id is not None:
            ends.add(tokenizer.eos_token_id)
        return cls(template, encoder, _reader_for(template, tokenizer, name), frozenset(ends))

    def encode(self, messages: Sequence[Message], tools: Schemas = ()) -> list[int]:
        """Ids of a prompt, up to where the agent begins to write: `[P]`.

        Raises:
            ChatFormatError: the template refuses the messages.
        """
        return self._memo.get(repr((messages, tools)), partial(self._encode_prompt, messages, tools))

    def encode_observation(self, messages: Sequence[Message]) -> list[int]:
        """Ids that `messages` and the next generation prompt add after a closed turn of the agent.

        Raises:
            ValueError: `messages` is empty.
            ChatFormatError: the template refuses the messages.
        """
        if not messages:
            raise ValueError("an observation needs at least one message; return '' for an empty one")
        return self._memo.get(repr(messages), partial(self._encode_suffix, messages))

    def is_closed(self, ids: Sequence[int]) -> bool:
        """Whether a sampled turn ends as the template ends turns; if not, `turn_end_ids` must follow."""
        return bool(ids) and ids[-1] in self._closed_by

    def parse(self, ids: Sequence[int], *, turn: int = 0) -> Action:
        """Read a sampled turn. Never raises; see `parse`."""
        text = self.decode(ids[:-1] if ids and ids[-1] in self.stop_ids else ids)
        return self._parse(text, turn)

    def encode_text(self, text: str) -> list[int]:
        """Ids of text as an agent would write it, added tokens included."""
        return self._encoder.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, control tokens included."""
        return self._encoder.decode(ids)

    def _encode_prompt(self, messages: Sequence[Message], tools: Schemas) -> list[int]:
        if self._has_tool_prompt:
            messages, tools = without_tool_roles(with_tool_prompt(messages, tools)), ()
        escaped, hidden = self._encoder.escape(self._with_known_roles(messages))
        return self._encoder.encode(self._template.render(escaped, tools, is_prompt=True), hidden)

    def _encode_suffix(self, messages: Sequence[Message]) -> list[int]:
        if self._has_tool_prompt:
            messages = without_tool_roles(messages)
        escaped, hidden = self._encoder.escape(messages)
        # The first id is the turn's end: sampled, or appended as `turn_end_ids`.
        return self._encoder.encode(self._template.suffix(escaped), hidden)[1:]

    def _with_known_roles(self, messages: Sequence[Message]) -> Sequence[Message]:
        if self._template.has_system_role or messages[0]["role"] != "system":
            return messages
        system, *rest = messages
        return joined([{**system, "role": "user"}, *rest])


class _Memo:
    """Ids of what was encoded lately: a group shares its prompt, and short observations repeat."""

    def __init__(self) -> None:
        self._ids: dict[str, tuple[int, ...]] = {}

    def get(self, key: str, encode: Callable[[], list[int]]) -> list[int]:
        known = self._ids.get(key)
        if known is not None:
            return list(known)
        ids = encode()
        if len(self._ids) >= _MEMO_SIZE:
            self._ids.pop(next(iter(self._ids)), None)
        if len(key) <= _MEMO_KEY_CHARS:
            self._ids[key] = tuple(ids)
        return ids


class _Reader(NamedTuple):
    """How turns are read."""

    name: str
    parse: Callable[[str, int], Action]
    is_native: bool
    """Whether the template itself renders tools and calls so that they are read back."""


def _reader_for(template: ChatTemplate, tokenizer: PreTrainedTokenizerBase, name: str | None) -> _Reader:
    """The reader that `name` says, else the first that reads the template's own rendering of a call."""
    prompt = template.generation_prompt()
    is_thinking = prompt.rstrip().endswith("<think>")
    readers: dict[str, Callable[[str, int], Action]] = {
        known: partial(_parse_with, parser, is_thinking) for known, parser in CALL_PARSERS.items()
    }
    if has_response_template(tokenizer):
        readers["response_template"] = ResponseParser(tokenizer, prompt)
    if template.renders_tools:
        text = template.tool_call_text()
        for candidate in [name] if name else readers:
            calls = readers[candidate](text, 0).tool_calls
            if len(calls) == 1 and (calls[0].name, calls[0].arguments) == PROBE_CALL:
                return _Reader(candidate, readers[candidate], is_native=True)
    fallback = name or "hermes"
    return _Reader(fallback, readers[fallback], is_native=False)


def _parse_with(parse_calls: CallParser, is_thinking: bool, text: str, turn: int) -> Action:
    return parse_turn(text, parse_calls, is_thinking=is_thinking, turn=turn)
