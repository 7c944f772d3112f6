"""Log-probabilities of tokens under a language model's head, for a pass on a CPU.

TRL's head recomputes each tile of logits in the backward, because on a GPU memory is dear. For the few
thousand tokens of a pass on a CPU it is faster to keep the probabilities.

Shapes: `N` tokens, `H` hidden, `V` vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def token_scores(
    hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """Log-probability of each target and entropy, under softmax(hidden weight^T / temperature).

    The product runs in the precision of autocast, the softmax in float32.

    Args:
        hidden: `N x H`.
        weight: of the head, `V x H`.
        targets: `N`, each below `V`.
        temperature: above 0.

    Returns:
        Log-probabilities and entropies, `N` each, in float32; only the former have a gradient.
    """
    scores: tuple[Tensor, Tensor] = _TokenScores.apply(hidden, weight, targets, temperature)  # type: ignore[no-untyped-call] # of torch
    return scores


class _TokenScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:  # Any: torch's context
        kind = hidden.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
        ctx.dtypes, ctx.temperature = (hidden.dtype, weight.dtype), temperature
        hidden, weight = hidden.to(dtype), weight.to(dtype)
        logits = (hidden @ weight.t()).float().div_(temperature)
        log_z = logits.logsumexp(dim=-1)
        log_probs = logits.gather(1, targets[:, None])[:, 0] - log_z
        probs = (logits - log_z[:, None]).exp_()
        entropy = log_z - torch.linalg.vecdot(probs, logits)
        ctx.save_for_backward(hidden, weight, targets, probs.to(dtype))
        ctx.mark_non_differentiable(entropy)
        return log_probs, entropy

    @staticmethod
    def backward(
        ctx: Any, grad: Tensor, _: Tensor
    ) -> tuple[Tensor, Tensor, None, None]:  # Any: torch's context
        hidden, weight, targets, probs = ctx.saved_tensors
        slope = (grad / ctx.temperature).to(probs.dtype)[:, None]
        grad_logits = (probs * -slope).scatter_add(1, targets[:, None], slope)
        grad_hidden, grad_weight = grad_logits @ weight, grad_logits.t() @ hidden
        return grad_hidden.to(ctx.dtypes[0]), grad_weight.to(ctx.dtypes[1]), None, None
