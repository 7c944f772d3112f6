"""A second module tree over a live model's parameters.

The twin can be put into eval mode and given another attention implementation while the live model, its
mode, its autocast wrapper, its hooks and its configuration stay as they are.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

import torch
from torch import nn


class Twin:
    """The twin of a model: shares its parameters, or keeps a copy of them in another type."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self._live, self._dtype = model, dtype
        self._module: Any = None  # Any: a `PreTrainedModel`, whose methods depend on its mixins
        self._source: list[int] = []

    def refresh(self) -> Any:  # Any: as above
        """Return the twin with the weights as they are now."""
        tensors = list(_tensors(self._live))
        source = [id(tensor) for tensor in tensors]
        if self._module is None or self._source != source:
            self._module, self._source = self._build(tensors), source
        for mine, live in zip(_tensors(self._module), tensors, strict=True):
            if mine is not live:
                mine.copy_(live)
        return self._module

    def free(self) -> None:
        """Drop the twin and what it copied."""
        self._module = None

    def _build(self, tensors: list[torch.Tensor]) -> nn.Module:
        memo: dict[int, Any] = {id(tensor): self._counterpart(tensor) for tensor in tensors}
        twin = copy.deepcopy(self._live, memo)
        for module in twin.modules():
            # Wrappers of the trainer (autocast), and hooks that only training needs.
            module.__dict__.pop("forward", None)
            module.__dict__.pop("_original_forward", None)
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
        return twin.eval()

    def _counterpart(self, tensor: torch.Tensor) -> torch.Tensor:
        is_weight = isinstance(tensor, nn.Parameter) and tensor.is_floating_point()
        if not is_weight or tensor.dtype == self._dtype:
            return tensor
        return nn.Parameter(torch.empty_like(tensor, dtype=self._dtype), requires_grad=False)


def _tensors(module: nn.Module) -> itertools.chain[torch.Tensor]:
    return itertools.chain(module.parameters(), module.buffers())
