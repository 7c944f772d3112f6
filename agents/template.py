"""What a chat template does, found by rendering: where turns end, and what follows them.

A template is a function of a whole conversation, but an episode only ever appends. The suffix that
messages add is therefore what stands after the last turn's end in a rendering of a stand-in
conversation. That this does not depend on the conversation is checked when the template is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jinja2

from ..envs.core import Message
from .encoding import SafeEncoder
from .errors import ChatFormatError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Schemas = Sequence[Mapping[str, Any]]  # Any: JSON schema

_RENDER_ERRORS = (
    jinja2.TemplateError, TypeError, ValueError, KeyError, IndexError, AttributeError,
)  # fmt: skip
_THINK = re.compile(r"<think>.*?</think>\s*", re.DOTALL)
_MAX_BASES = 1024
_MARK = "Xq7mark"
_TOOL = "xq7tool"
PROBE_CALL = (_TOOL, {"x": _MARK})
"""Name and arguments of the call in `ChatTemplate.tool_call_text`."""
_ASK: Message = {"role": "user", "content": "Xq7ask"}
_PROBE_SCHEMA: Mapping[str, Any] = {  # Any: JSON schema
    "type": "function",
    "function": {
        "name": _TOOL,
        "description": "Probe.",
        "parameters": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
    },
}


class ChatTemplate:
    """Renders conversations of one tokenizer and knows how its turns end."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        encoder: SafeEncoder,
        kwargs: Mapping[str, Any],  # Any: variables of the template
    ) -> None:
        """Read the tokenizer's template; `ends` are the tokens that end a turn, the usual one first.

        Raises:
            ChatFormatError: there is none, it fails on a plain conversation, or it marks no turn's end.
        """
        if not tokenizer.chat_template:
            raise ChatFormatError(
                f"{tokenizer.name_or_path or 'the tokenizer'} has no chat template; "
                "use an instruction-tuned model or set tokenizer.chat_template"
            )
        self._tokenizer, self._encoder, self._kwargs = tokenizer, encoder, dict(kwargs)
        self._wants_text_arguments = False
        self.has_system_role = self._keeps([{"role": "system", "content": _MARK}, _ASK])
        self._bases: dict[tuple[tuple[str, str], ...], str] = {}
        self.renders_tools = self._probe_tools()
        self.ends = self._find_ends()

    def render(self, messages: Sequence[Message], tools: Schemas = (), *, is_prompt: bool = False) -> str:
        """Text of a conversation; with `is_prompt`, up to where the agent begins to write.

        Raises:
            ChatFormatError: the template refuses these messages.
        """
        try:
            text = self._tokenizer.apply_chat_template(
                list(messages),  # type: ignore[arg-type]  # typed as dict[str, str] there
                tools=list(tools) or None,  # type: ignore[arg-type]  # a Mapping does
                tokenize=False,
                add_generation_prompt=is_prompt,
                **self._kwargs,
            )
        except _RENDER_ERRORS as error:
            roles = ", ".join(message["role"] for message in messages)
            raise ChatFormatError(
                f"the chat template refuses messages of roles [{roles}]: {type(error).__name__}: {error}"
            ) from error
        return str(text)

    def suffix(self, messages: Sequence[Message]) -> str:
        """Text that `messages` and the next generation prompt add after an agent's turn.

        Begins with that turn's end-of-turn token, which is not part of the suffix but decides how the
        text after it is tokenized.

        Raises:
            ChatFormatError: the template refuses the messages or rewrites what was before them.
        """
        turn = self._stand_in(messages)
        key = tuple((call["id"], call["function"]["name"]) for call in turn.get("tool_calls", ()))
        base = self._bases.get(key)
        if base is None:
            base = self.render([_ASK, turn])
            if len(self._bases) < _MAX_BASES:
                self._bases[key] = base
        return self._after_turn(base, self.render([_ASK, turn, *messages], is_prompt=True))

    def generation_prompt(self) -> str:
        """What the template writes before the agent's own text."""
        prompt, closed = self.render([_ASK], is_prompt=True), self.render([_ASK])
        return prompt[self._common(prompt, closed) :]

    def tool_call_text(self) -> str:
        """How an agent's turn with `PROBE_CALL` reads, without its end-of-turn token."""
        text = self.render([_ASK, self._calling_turn([("call00000", _TOOL)])], [_PROBE_SCHEMA])
        called = text.rindex(_MARK)
        found = [at for at in (text.find(end, called) for end in self.ends) if at > 0]
        end = min(found, default=len(text))
        return text[text.rindex(_ASK["content"]) : end].rpartition(self.generation_prompt())[2]

    def check_append_only(self) -> None:
        """Compare suffixes and prefixes over several conversations.

        Raises:
            ChatFormatError: with what the template changes.
        """
        turn: Message = {"role": "assistant", "content": _MARK}
        system: list[Message] = [{"role": "system", "content": "Xq7 system."}] if self.has_system_role else []
        talk: list[Message] = [
            _ASK,
            {"role": "assistant", "content": "Xq7 first."},
            {"role": "user", "content": "Go on."},
        ]
        answer: list[Message] = [{"role": "user", "content": "Xq7 observation."}]
        cases = [([*system, _ASK], turn, answer), (talk, turn, answer), ([*system, *talk], turn, answer)]
        if self.renders_tools:
            result: list[Message] = [
                {"role": "tool", "name": _TOOL, "tool_call_id": "call00000", "content": "Xq7 result."}
            ]
            calling = self._stand_in(result)
            cases += [([_ASK], calling, result), ([*system, *talk], calling, result)]
        for before, last, after in cases:
            self._check_case([*before, last], after)

    def _check_case(self, before: list[Message], after: list[Message]) -> None:
        alone, extended = self.render(before), self.render([*before, *after], is_prompt=True)
        suffix, expected = self._after_turn(alone, extended), self.suffix(after)
        was, now = (_THINK.sub("", text[: text.rindex(_MARK)]) for text in (alone, extended))
        if was != now:
            at = _shared_length(was, now)
            change = (
                f"when a message follows, earlier turns change from {was[at:][:60]!r} to {now[at:][:60]!r}"
            )
        elif suffix != expected:
            change = f"what a message adds depends on what was before: {suffix[:60]!r} or {expected[:60]!r}"
        else:
            return
        raise ChatFormatError(f"the chat template cannot be extended append-only: {change}")

    def _after_turn(self, base: str, extended: str) -> str:
        if not 0 < base.count(_MARK) <= extended.count(_MARK):
            raise ChatFormatError("the chat template drops what the agent said")
        base_start = base.rindex(_MARK)
        # Counted, not searched from the end: what follows the turn may itself hold the mark.
        start = [match.start() for match in re.finditer(_MARK, extended)][base.count(_MARK) - 1]
        # From the mark on, both read the same up to the end of the turn.
        common = start + _shared_length(base[base_start:], extended[start:])
        ends = [match for match in self._encoder.added_tokens(extended) if match.start() >= start]
        shared = [match for match in ends if match.end() <= common]
        if not ends:
            raise ChatFormatError("the chat template writes no token at the end of an agent's turn")
        return extended[(shared[-1] if shared else ends[0]).start() :]

    def _stand_in(self, messages: Sequence[Message]) -> Message:
        """An agent's turn that `messages` may follow."""
        calls = [
            (message.get("tool_call_id") or f"call{index:05d}", message.get("name") or _TOOL)
            for index, message in enumerate(messages)
            if message["role"] == "tool"
        ]
        return self._calling_turn(calls) if calls else {"role": "assistant", "content": _MARK}

    def _calling_turn(self, calls: Sequence[tuple[str, str]]) -> Message:
        arguments = f'{{"x": "{_MARK}"}}' if self._wants_text_arguments else {"x": _MARK}
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
                for id_, name in calls
            ],
        }

    def _find_ends(self) -> tuple[str, ...]:
        """Tokens that end a turn: before a user's message, as the last of all, before a tool's result."""
        base = self.render([_ASK, {"role": "assistant", "content": _MARK}])
        result: Message = {"role": "tool", "name": _TOOL, "tool_call_id": "call00000", "content": "Xq7res"}
        texts = [self.suffix([_ASK]), base[base.rindex(_MARK) :]]
        if self.renders_tools:
            texts.append(self.suffix([result]))
        firsts = (next(self._encoder.added_tokens(text), None) for text in texts)
        return tuple(dict.fromkeys(first[0] for first in firsts if first))

    def _common(self, text: str, other: str) -> int:
        """Length of the common beginning, never within an added token of `text`."""
        length = _shared_length(text, other)
        for match in self._encoder.added_tokens(text):
            if match.start() < length < match.end():
                return match.start()
        return length

    def _probe_tools(self) -> bool:
        result: Message = {"role": "tool", "name": _TOOL, "tool_call_id": "call00000", "content": "Xq7res"}
        for self._wants_text_arguments in (False, True):
            try:
                call = self._calling_turn([("call00000", _TOOL)])
                text = self.render([_ASK, call, result], [_PROBE_SCHEMA])
            except ChatFormatError:
                continue
            return "Probe." in text and all(word in text for word in (_TOOL, _MARK, "Xq7res"))
        return False

    def _keeps(self, messages: Sequence[Message]) -> bool:
        try:
            return _MARK in self.render(messages)
        except ChatFormatError:
            return False


def _shared_length(text: str, other: str) -> int:
    """Length of the common beginning."""
    if other.startswith(text):
        return len(text)
    return next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), len(other))
