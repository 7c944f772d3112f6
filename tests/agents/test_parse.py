import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.agents.parse import CALL_PARSERS, parse_turn, split_reasoning

HERMES = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
LLAMA = '{"name": "add", "parameters": {"a": 1}}'
PYTHONIC = "[add(a=1), now()]"
FRAGMENTS = [
    *HERMES.split(" "), *LLAMA.split(" "), *PYTHONIC.split(" "), "<tool_call>", "</tool_call>",
    "<think>", "</think>", "'", '"', "{", "}", "[", "]", "NaN", "9" * 5000, "\x00", "\\", "é", "\ud83d",
    "<|im_end|>", "<|python_tag|>", "[[" * 3000, "null", '"name":', "<|tool_call_start|>", "<tool_response>",
]  # fmt: skip


@pytest.mark.parametrize("name", CALL_PARSERS)
@given(
    parts=st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=12),
    thinking=st.booleans(),
)
def test_no_text_makes_a_parser_raise(name, parts, thinking):
    action = parse_turn("".join(parts), CALL_PARSERS[name], is_thinking=thinking)
    assert all((call.arguments is None) == (call.error is not None) for call in action.tool_calls)
    json.dumps(action.to_message(), default=str)


@given(
    names=st.lists(st.text("abcdef_", min_size=1), min_size=1, max_size=4),
    arguments=st.dictionaries(st.text("a\"'{}\\é\n"), st.integers() | st.text("a\"'{}<>\\é\n") | st.none()),
)
def test_every_well_formed_hermes_call_is_read_back(names, arguments):
    blocks = [json.dumps({"name": name, "arguments": arguments}) for name in names]
    calls = CALL_PARSERS["hermes"]("".join(f"<tool_call>{block}</tool_call>" for block in blocks)).calls
    assert [(call.name, call.arguments) for call in calls] == [(name, arguments) for name in names]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", HERMES),
        ("hermes", HERMES.removesuffix("</tool_call>")),
        ("hermes", '<tool_call>{"function": {"name": "add", "arguments": "{\\"a\\": 1}"}}</tool_call>'),
        ("bare_json", LLAMA),
        ("bare_json", "<|python_tag|>" + LLAMA),
        ("bare_json", '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}]'),
        ("pythonic", "[add(a=1)]"),
        ("pythonic", "<|tool_call_start|>[add(a=1)]<|tool_call_end|>"),
    ],
)
def test_each_format_is_read(name, text):
    (call,) = parse_turn(text, CALL_PARSERS[name]).tool_calls
    assert (call.name, call.arguments, call.error) == ("add", {"a": 1}, None)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("hermes", "<tool_call>{'name': 'add'}</tool_call>", "double quotes"),
        ("hermes", '<tool_call>{"name": "add", "argu', "not closed"),
        ("hermes", '<tool_call>{"name": "add", "arguments": [1]}</tool_call>', "not list"),
        ("hermes", '<tool_call>{"name": "add", "arguments": {"a": NaN}}</tool_call>', "NaN"),
        ("hermes", '<tool_call>{"arguments": {}}</tool_call>', "JSON object"),
        ("hermes", "<tool_call></tool_call>", "Expecting value"),
        ("hermes", "<tool_call>" + "[" * 100_000 + "</tool_call>", "too deeply"),
        ("hermes", '<tool_call>{"name": "add", "arguments": {"a": ' + "9" * 5000 + "}}</tool_call>", "digit"),
        ("bare_json", '{"name": "add", "parameters": {', "Expecting"),
        ("pythonic", "[add(1)]", "by name"),
        ("pythonic", "[add(a=open)]", "literal"),
        ("pythonic", "[add(a=1]", "match"),
    ],
)
def test_a_malformed_call_says_why_and_keeps_its_text(name, text, error):
    (call,) = parse_turn(text, CALL_PARSERS[name]).tool_calls
    assert call.arguments is None
    assert error in call.error
    assert call.raw in text


@pytest.mark.parametrize("text", ["The set {1, 2}.", '{"a": 1}', "[1, 2]", "def f(): pass", ""])
@pytest.mark.parametrize("name", CALL_PARSERS)
def test_plain_text_is_no_call(name, text):
    action = parse_turn(text, CALL_PARSERS[name])
    assert (action.text, action.tool_calls) == (text, ())


def test_two_calls_keep_their_order_and_get_ids_of_their_turn():
    calls = parse_turn(f"first {HERMES} then {HERMES}", CALL_PARSERS["hermes"], turn=3).tool_calls
    assert [call.id for call in calls] == ["call03000", "call03001"]


@pytest.mark.parametrize(
    ("text", "is_thinking", "reasoning", "rest"),
    [
        ("<think>a</think>b", False, "a", "b"),
        ("<think>a", False, "a", ""),
        ("a</think>b", True, "a", "b"),
        ("a</think>b", False, "a", "b"),
        ("a", True, "a", ""),
        ("a", False, None, "a"),
        ("<think></think>b", False, "", "b"),
    ],
)
def test_reasoning_is_taken_out(text, is_thinking, reasoning, rest):
    assert split_reasoning(text, is_thinking=is_thinking) == (reasoning, rest)


def test_a_call_inside_a_thinking_block_is_not_made():
    action = parse_turn(f"<think>{HERMES}</think>No call.", CALL_PARSERS["hermes"])
    assert (action.text, action.tool_calls) == ("No call.", ())
