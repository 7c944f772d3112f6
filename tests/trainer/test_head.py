"""Token scores agree with PyTorch's own softmax and its gradient."""

import pytest
import torch

from grpo_agent.trainer.head import token_scores


def inputs(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(7, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 5, generator=draw, dtype=torch.float64, requires_grad=True)
    return hidden, weight, torch.randint(0, 11, (7,), generator=draw)


def log_softmax(hidden: torch.Tensor, weight: torch.Tensor, temperature: float) -> torch.Tensor:
    return torch.log_softmax((hidden @ weight.t()).float() / temperature, dim=-1)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_scores_and_gradients_equal_those_of_log_softmax(temperature: float) -> None:
    hidden, weight, targets = inputs()
    factors = torch.linspace(-1, 2, 7)
    ours, entropy = token_scores(hidden, weight, targets, temperature)
    grads = torch.autograd.grad((ours * factors).sum(), (hidden, weight))
    logp = log_softmax(hidden, weight, temperature)
    expected = logp.gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=5e-6)
    torch.testing.assert_close(entropy, -(logp.exp() * logp).sum(-1), rtol=1e-5, atol=5e-6)
    for got, wanted in zip(
        grads, torch.autograd.grad((expected * factors).sum(), (hidden, weight)), strict=True
    ):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-6)


def test_product_runs_in_the_precision_of_autocast_and_gradients_in_that_of_the_weights() -> None:
    hidden, weight, targets = (
        each.float().detach() if each.is_floating_point() else each for each in inputs()
    )
    hidden.requires_grad_(), weight.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        ours, _ = token_scores(hidden, weight, targets, 1.0)
    ours.sum().backward()
    exact = log_softmax(hidden, weight, 1.0).gather(1, targets[:, None])[:, 0]
    assert ours.dtype == hidden.grad.dtype == weight.grad.dtype == torch.float32
    torch.testing.assert_close(ours, exact, rtol=0.05, atol=0.05)
    assert not torch.equal(ours, exact)


def test_entropy_has_no_gradient() -> None:
    _, entropy = token_scores(*inputs(), 1.0)
    assert not entropy.requires_grad
