import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.agents.tokenlog import TokenLog

SAMPLED = st.lists(st.tuples(st.integers(0, 99), st.floats(-50, 0)), max_size=5)
WRITTEN = st.lists(st.integers(0, 99), max_size=5)


@given(blocks=st.lists(st.tuples(SAMPLED, WRITTEN), max_size=8))
def test_lists_stay_aligned_and_what_was_logged_stays(blocks):
    log, before = TokenLog([1, 2]), ((), (), ())
    for sampled, written in blocks:
        log.append_sampled([token for token, _ in sampled], [logprob for _, logprob in sampled])
        log.append_env(written)
        now = (log.completion_ids, log.logprobs, log.env_mask)
        assert len(log) == len(now[0]) == len(now[1]) == len(now[2])
        assert all(new[: len(old)] == old for new, old in zip(now, before, strict=True))
        before = now
    assert log.sampled_tokens == sum(len(sampled) for sampled, _ in blocks)
    assert log.ids == [1, 2, *log.completion_ids]


@pytest.mark.parametrize("logprob", [math.nan, -math.inf, math.inf, 0.01])
def test_a_logprob_that_no_sampler_gives_is_refused(logprob):
    with pytest.raises(ValueError, match="finite and <= 0"):
        TokenLog([1]).append_sampled([1], [logprob])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 ids but 1 logprobs"):
        TokenLog([1]).append_sampled([1, 2], [-1.0])


@pytest.mark.parametrize("bad", [-1, 1.0, True, "1", None])
def test_an_id_is_a_non_negative_int(bad):
    with pytest.raises(ValueError, match="at position 1 is not a non-negative int"):
        TokenLog([1, bad])
    with pytest.raises(ValueError, match="at position 1 is not a non-negative int"):
        TokenLog([1]).append_env([1, bad])


def test_a_prompt_is_not_empty():
    with pytest.raises(ValueError, match="prompt_ids is empty"):
        TokenLog([])
