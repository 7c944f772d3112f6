import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.observation import fit_observation
from grpo_agent.agents.testing import tiny_tokenizer
from grpo_agent.envs.text import truncate

FORMAT = ChatFormat.for_tokenizer(tiny_tokenizer())


@given(
    texts=st.lists(st.text(max_size=400) | st.just("word " * 400), min_size=1, max_size=3),
    max_ids=st.integers(1, 400),
)
def test_what_is_fitted_fits_and_what_fits_is_left_alone(texts, max_ids):
    messages = [{"role": "user", "content": text} for text in texts]
    whole = FORMAT.encode_observation(messages)
    fitted = fit_observation(FORMAT, messages, max_ids)
    if fitted is None:
        assert len(whole) > max_ids
        return
    assert len(fitted.ids) <= max_ids
    assert fitted.ids == FORMAT.encode_observation(fitted.messages)
    assert (fitted.messages == messages) == (len(whole) <= max_ids)


@pytest.mark.parametrize("max_ids", [60, 100, 500])
def test_most_of_the_room_is_used(max_ids):
    fitted = fit_observation(FORMAT, [{"role": "user", "content": "some words " * 500}], max_ids)
    assert fitted is not None
    assert len(fitted.ids) > 0.6 * max_ids - 20


@given(text=st.text(max_size=300), max_chars=st.integers(-10, 300))
def test_head_and_tail_are_kept(text, max_chars):
    short = truncate(text, max_chars)
    head, _, rest = short.partition("[... ")
    tail = rest.partition("left out ...]")[2]
    assert text.startswith(head.removesuffix("\n"))
    assert text.endswith(tail.removeprefix("\n"))
