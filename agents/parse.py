"""From a turn's text to its reasoning, its tool calls and what is left: the formats models write.

A parser never raises. A call that cannot be read is a `ToolCall` with `arguments=None`, the reason in
`error` and its text in `raw`, so that the environment can tell the agent what was wrong.

Not here: tokens (`chat`), what a tool makes of its arguments (`envs.tool`).
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from ..envs.core import Action, ToolCall


class ParsedCalls(NamedTuple):
    """What a tool-call parser finds in a turn."""

    text: str
    """What is left once the calls are taken out."""
    calls: tuple[ToolCall, ...]


CallParser = Callable[[str], ParsedCalls]

_THINK_BLOCK = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)
_HERMES_BLOCK = re.compile(r"<tool_call>(.*?)(</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_LFM_BLOCK = re.compile(r"<\|tool_call_start\|>(.*?)(?:<\|tool_call_end\|>|\Z)", re.DOTALL)
_DECODER_ERRORS = (ValueError, RecursionError)
_MAX_PYTHON_CHARS = 20_000


def parse_turn(text: str, parse_calls: CallParser, *, is_thinking: bool = False, turn: int = 0) -> Action:
    """Read one turn of the agent.

    Args:
        text: the turn's text, without its end-of-turn token.
        parse_calls: finds the tool calls in what is not reasoning.
        is_thinking: the prompt itself opened a `<think>` block.
        turn: index of the turn; makes the ids of calls unique over an episode.
    """
    reasoning, rest = split_reasoning(text, is_thinking=is_thinking)
    text, calls = parse_calls(rest)
    return Action(text=text.strip(), tool_calls=number_calls(calls, turn), reasoning=reasoning)


def number_calls(calls: Sequence[ToolCall], turn: int) -> tuple[ToolCall, ...]:
    """`calls` with ids that differ over an episode, of nine letters and digits, as Mistral insists."""
    return tuple(replace(call, id=f"call{turn % 100:02d}{i % 1000:03d}") for i, call in enumerate(calls))


def split_reasoning(text: str, *, is_thinking: bool = False) -> tuple[str | None, str]:
    """Take `<think>` blocks out of a text; an unclosed block runs to the end.

    Returns:
        The reasoning (`None` if there is no block), and the rest.
    """
    first_open, first_close = text.find("<think>"), text.find("</think>")
    if first_close >= 0 and (first_open < 0 or first_close < first_open):
        is_thinking = True  # the block was opened by the prompt, or its opening was left out
    if is_thinking:
        text = "<think>" + text.removeprefix("<think>")
    blocks = _THINK_BLOCK.findall(text)
    if not blocks:
        return None, text
    return "\n".join(block.strip() for block in blocks), _THINK_BLOCK.sub("", text)


def parse_no_calls(text: str) -> ParsedCalls:
    """Plain text: nothing is a call."""
    return ParsedCalls(text, ())


def parse_hermes(text: str) -> ParsedCalls:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, any number of them."""
    calls: list[ToolCall] = []
    for match in _HERMES_BLOCK.finditer(text):
        found = list(_calls_of_json(match[1].strip()))
        if not match[2] and found[0].error is not None:
            found = [replace(found[0], error=f"<tool_call> is not closed; {found[0].error}")]
        calls.extend(found)
    return ParsedCalls(_HERMES_BLOCK.sub("", text), tuple(calls))


def parse_bare_json(text: str) -> ParsedCalls:
    """The whole turn is `{"name": ..., "parameters": {...}}`; several follow `;` (Llama 3) or fill a list."""
    body = text.strip().removeprefix("<|python_tag|>").removeprefix("[TOOL_CALLS]").strip()
    if not body.startswith(("{", "[{", "[ {")):
        return ParsedCalls(text, ())
    decoder, calls, rest = json.JSONDecoder(parse_constant=_refuse_constant), list[ToolCall](), body
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except _DECODER_ERRORS as error:
            is_call = bool(calls) or '"name"' in rest
            return (
                ParsedCalls("", (*calls, malformed(rest, _why(error)))) if is_call else ParsedCalls(text, ())
            )
        calls.extend(_calls_of(value, rest[:end]))
        rest = rest[end:].lstrip(" \t\r\n;,")
    is_data = all(call.error is not None and '"name"' not in call.raw for call in calls)
    return ParsedCalls(text, ()) if is_data else ParsedCalls("", tuple(calls))


def parse_pythonic(text: str) -> ParsedCalls:
    """`[get_weather(city="Paris"), now()]` (Llama 4, LFM2), with or without LFM2's markers."""
    marked = _LFM_BLOCK.search(text)
    body = (marked[1] if marked else text).strip()
    rest = _LFM_BLOCK.sub("", text) if marked else ""
    if not marked and not re.match(r"\[\s*[A-Za-z_][\w.]*\s*\(", body):
        return ParsedCalls(text, ())
    if len(body) > _MAX_PYTHON_CHARS:
        return ParsedCalls(rest, (malformed(body, f"longer than {_MAX_PYTHON_CHARS} characters"),))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(body, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ParsedCalls(rest, (malformed(body, _why(error)),))
    nodes = tree.elts if isinstance(tree, ast.List) else [tree]
    return ParsedCalls(rest, tuple(_call_of_node(node, body) for node in nodes))


CALL_PARSERS: Mapping[str, CallParser] = {
    "bare_json": parse_bare_json,
    "hermes": parse_hermes,
    "none": parse_no_calls,
    "pythonic": parse_pythonic,
}
"""Parsers by the name that `ChatFormat.for_tokenizer(name=...)` takes."""


def malformed(raw: str, error: str, *, name: str = "") -> ToolCall:
    """A call that could not be read, with the reason for the agent."""
    return ToolCall(id="", name=name, arguments=None, raw=raw, error=error)


def _calls_of_json(block: str) -> Iterator[ToolCall]:
    try:
        value = json.loads(block, parse_constant=_refuse_constant)
    except _DECODER_ERRORS as error:
        yield malformed(block, _why(error))
        return
    yield from _calls_of(value, block)


def _calls_of(value: Any, raw: str) -> Iterator[ToolCall]:  # Any: decoded JSON
    values = value if isinstance(value, list) and value else [value]
    for one in values:
        yield read_call(one, raw)


def read_call(value: Any, raw: str) -> ToolCall:  # Any: decoded JSON
    """A call of `{"name": ..., "arguments": ...}` or `{"function": {...}}`, written as `raw`."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return malformed(raw, 'a tool call is a JSON object {"name": ..., "arguments": {...}}')
    name: str = value["name"]
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, parse_constant=_refuse_constant)
        except _DECODER_ERRORS as error:
            return malformed(raw, f"arguments are not a JSON object: {_why(error)}", name=name)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        return malformed(raw, f"arguments must be a JSON object, not {kind}", name=name)
    return ToolCall(id="", name=name, arguments=arguments, raw=raw)


def _call_of_node(node: ast.expr, raw: str) -> ToolCall:
    if not isinstance(node, ast.Call):
        return malformed(raw, "a tool call is written name(argument=value)")
    name = ast.unparse(node.func)
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        return malformed(raw, "arguments must be given by name", name=name)
    try:
        arguments = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        return malformed(raw, f"arguments must be literal values: {_why(error)}", name=name)
    return ToolCall(id="", name=name, arguments=arguments, raw=raw)


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _why(error: BaseException) -> str:
    if isinstance(error, RecursionError | MemoryError):
        return "nested too deeply"
    return str(error)[:200] or type(error).__name__
