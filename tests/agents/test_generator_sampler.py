"""Drawing ids: the right distribution, the right logprob, never an impossible id."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.agents.generator.sampler import draw


@pytest.mark.parametrize("vocabulary", [5, 128, 300, 384])
@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_frequencies_follow_the_distribution(vocabulary: int, temperature: float) -> None:
    torch.manual_seed(0)
    logits = torch.randn(vocabulary) * 2
    rows = 5_000
    uniforms = ((torch.arange(rows) + 0.5) / rows).tolist()
    drawn = draw(logits.expand(rows, -1), [temperature] * rows, uniforms)
    counts = torch.bincount(torch.tensor(drawn.ids), minlength=vocabulary) / rows
    expected = (logits / temperature).softmax(-1)
    torch.testing.assert_close(counts, expected, atol=2 / rows, rtol=0)
    torch.testing.assert_close(
        torch.tensor(drawn.logprobs), expected.log()[torch.tensor(drawn.ids)], atol=1e-4, rtol=0
    )


@given(
    st.lists(st.floats(-40, 40) | st.just(-math.inf), min_size=1, max_size=300).filter(
        lambda values: any(math.isfinite(value) for value in values)
    ),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([0.0, 0.3, 1.0, 2.0]),
)
def test_an_impossible_id_is_never_drawn(values: list[float], uniform: float, temperature: float) -> None:
    (token,), (logprob,) = draw(torch.tensor([values]), [temperature], [uniform])
    assert values[token] > -math.inf
    assert math.isfinite(logprob)
    assert logprob <= 0


def test_each_row_has_its_own_temperature() -> None:
    logits = torch.tensor([[0.0, 1.0, 0.5]]).repeat(3, 1)
    drawn = draw(logits, [0.0, 1.0, 10.0], [0.0, 0.0, 0.0])
    assert drawn.ids == [1, 0, 0]
    expected = [
        logits[0].log_softmax(-1)[1],
        logits[0].log_softmax(-1)[0],
        (logits[0] / 10).log_softmax(-1)[0],
    ]
    assert drawn.logprobs == pytest.approx([value.item() for value in expected], abs=1e-6)
