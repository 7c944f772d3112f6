import asyncio
import time

import pytest

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.core import Generator, Sampling
from grpo_agent.agents.generator.scripted import ScriptedGenerator
from grpo_agent.agents.testing import tiny_tokenizer

FORMAT = ChatFormat.for_tokenizer(tiny_tokenizer())


def say(generator, messages, max_new_tokens=100):
    ids = FORMAT.encode(messages)
    return asyncio.run(generator.generate(ids, max_new_tokens=max_new_tokens, sampling=Sampling()))


def conversation(turns):
    return [{"role": role, "content": "x"} for role in ["user", "assistant"] * turns] + [
        {"role": "user", "content": "last"}
    ]


def test_it_is_a_generator():
    assert isinstance(ScriptedGenerator(FORMAT, ["a"]), Generator)


@pytest.mark.parametrize(("turns", "text"), [(0, "one"), (1, "two"), (5, "two")])
def test_texts_are_said_by_turn_and_the_last_repeats(turns, text):
    generation = say(ScriptedGenerator(FORMAT, ["one", "two"]), conversation(turns))
    assert FORMAT.decode(generation.ids) == text + "<|im_end|>"
    assert generation.finish_reason == "stop"


def test_a_function_sees_the_conversation_and_the_turn():
    generator = ScriptedGenerator(FORMAT, lambda text, turn: f"{turn} {'last' in text}")
    assert FORMAT.parse(say(generator, conversation(2)).ids).text == "2 True"


def test_a_reply_is_cut_where_asked():
    generation = say(ScriptedGenerator(FORMAT, ["hello " * 50]), conversation(0), max_new_tokens=7)
    assert (len(generation.ids), len(generation.logprobs), generation.finish_reason) == (7, 7, "length")


def test_an_empty_reply_is_still_a_token():
    assert len(say(ScriptedGenerator(FORMAT, [""], stops=False), conversation(0)).ids) == 1


def test_a_prompt_must_fit_the_context():
    with pytest.raises(ValueError, match="fit a context of 20"):
        say(ScriptedGenerator(FORMAT, ["a"], max_context=20), conversation(3))


def test_a_script_needs_a_text():
    with pytest.raises(ValueError, match="at least one text"):
        ScriptedGenerator(FORMAT, [])


def test_latencies_of_many_calls_overlap():
    generator = ScriptedGenerator(FORMAT, ["a"], latency_s=0.05)
    ids = FORMAT.encode(conversation(0))

    async def many():
        calls = [generator.generate(ids, max_new_tokens=5, sampling=Sampling()) for _ in range(100)]
        return await asyncio.gather(*calls)

    began = time.perf_counter()
    assert len(asyncio.run(many())) == 100
    assert time.perf_counter() - began < 2
