"""Drawing tokens from the full vocabulary, with the logprob of what was drawn.

Shapes: `B` rows, `V` vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional

_BLOCK = 128
"""Probabilities are summed by blocks, so that the sums need no pass in double precision over `V`."""
_CHUNK = 4
"""Rows worked on at once: 4 x 49k floats stay in a core's cache."""


class Draw(NamedTuple):
    """One token per row."""

    ids: list[int]
    logprobs: list[float]


def draw(logits: torch.Tensor, temperatures: list[float], uniforms: list[float]) -> Draw:
    """Draw one token per row by inverting the distribution function.

    Args:
        logits: `[B, V]`, any float type.
        temperatures: `[B]`; 0 takes the likeliest id, whose logprob is that of temperature 1.
        uniforms: `[B]` numbers in [0, 1), one per row, so that a row's draw depends on its own seed only.
    """
    ids: list[int] = []
    logprobs: list[float] = []
    for start in range(0, len(logits), _CHUNK):
        part = slice(start, start + _CHUNK)
        chosen, chosen_logprobs = _draw(logits[part], temperatures[part], uniforms[part])
        ids += chosen.tolist()
        logprobs += chosen_logprobs.tolist()
    return Draw(ids, logprobs)


def _draw(
    logits: torch.Tensor, temperatures: list[float], uniforms: list[float]
) -> tuple[torch.Tensor, torch.Tensor]:
    scores = logits.float()
    if any(t not in (0.0, 1.0) for t in temperatures):
        scores = scores / torch.tensor([t or 1.0 for t in temperatures], device=logits.device)[:, None]
    probabilities = scores.softmax(dim=-1)
    chosen = _invert(probabilities, torch.tensor(uniforms, dtype=torch.float64, device=logits.device))
    if 0.0 in temperatures:
        is_greedy = torch.tensor([t == 0.0 for t in temperatures], device=logits.device)
        chosen = torch.where(is_greedy, scores.argmax(dim=-1), chosen)
    return chosen, probabilities.gather(1, chosen[:, None])[:, 0].log()


def _invert(probabilities: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Return, per row, the id at which the running sum of `[B, V]` passes its uniform number."""
    surplus = -probabilities.shape[1] % _BLOCK
    if surplus:
        probabilities = functional.pad(probabilities, (0, surplus))
    parts = probabilities.view(len(probabilities), -1, _BLOCK)
    blocks = parts.sum(-1).double().cumsum(-1)
    target = uniforms[:, None] * blocks[:, -1:]
    block = torch.searchsorted(blocks, target, right=True).clamp_(max=blocks.shape[1] - 1)
    before = torch.where(block > 0, blocks.gather(1, (block - 1).clamp_(min=0)), 0.0)
    inside = parts.gather(1, block[:, :, None].expand(-1, -1, _BLOCK))[:, 0].double().cumsum(-1)
    # The two sums are rounded apart: a target at a block's very end must not fall onto an impossible id.
    last = torch.searchsorted(inside, inside[:, -1:].contiguous())
    offset = torch.minimum(torch.searchsorted(inside, target - before, right=True), last)
    return (block * _BLOCK + offset)[:, 0]
