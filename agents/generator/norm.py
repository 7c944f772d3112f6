"""Root-mean-square norms with the weights of live layers, in few operations.

`x / sqrt(mean(x^2) + eps) * w` is computed as `x / hypot(|x|, sqrt(n eps)) * (sqrt(n) w)`: at a decoding
step's sizes each operation costs more than its arithmetic.
"""

from __future__ import annotations

import math

import torch
from torch import nn


class Norm:
    """Norm over the last dimension, of size `n`."""

    def __init__(self, weight: nn.Parameter, eps: float, dtype: torch.dtype) -> None:
        self._live, self._dtype = weight, dtype
        self._floor = torch.tensor(math.sqrt(len(weight) * eps), device=weight.device)
        self._weight: torch.Tensor | None = None

    def refresh(self) -> None:
        """Take the weight as it is now."""
        self._weight = self._live.detach().float() * math.sqrt(len(self._live))

    def free(self) -> None:
        """Drop the copy of the weight."""
        self._weight = None

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return `inputs`, normed and weighted, in the wanted type."""
        if self._weight is None:
            raise RuntimeError("the norm was not refreshed")
        size = torch.linalg.vector_norm(inputs, dim=-1, keepdim=True, dtype=torch.float32)
        output = torch.empty(inputs.shape, dtype=self._dtype, device=inputs.device)
        return torch.mul(inputs / torch.hypot(size, self._floor), self._weight, out=output)
