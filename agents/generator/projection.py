"""Matrix products with the weights of live linear layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Projection:
    """One or more linear layers over the same input, their outputs side by side.

    Where the layers' weights have the wanted type they are used as they are: no memory, always current.
    Otherwise `refresh` keeps a joined copy, packed for the CPU's matrix units where there are such.
    """

    def __init__(self, layers: list[nn.Module], dtype: torch.dtype) -> None:
        """Name the layers, each of which is fit (see `unfit`)."""
        self._layers: list[Any] = list(layers)  # Any: `nn.Linear` or a LoRA layer
        self._dtype = dtype
        self._is_shared = all(layer is _base(layer) and layer.weight.dtype == dtype for layer in self._layers)
        self._weight: torch.Tensor | None = None
        self._bias: torch.Tensor | None = None
        self._is_packed = False

    def refresh(self) -> None:
        """Copy the weights as they are now, if they are copied at all."""
        if self._is_shared:
            return
        weights = [_effective_weight(layer).to(self._dtype) for layer in self._layers]
        self._weight = weights[0] if len(weights) == 1 else torch.cat(weights)
        biases = [_base(layer).bias for layer in self._layers]
        if biases[0] is not None:
            self._bias = torch.cat([bias.detach().to(self._dtype) for bias in biases])
        self._is_packed = can_pack(self._weight)
        if self._is_packed:
            self._weight = torch.ops.mkldnn._reorder_linear_weight(self._weight)

    def free(self) -> None:
        """Drop the copy."""
        self._weight = self._bias = None

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return `[T, out]` for `[T, in]`, in the wanted type."""
        if self._is_packed:
            return self._packed(inputs, "none")
        if self._weight is not None:
            return functional.linear(inputs, self._weight, self._bias)
        parts = [functional.linear(inputs, layer.weight, layer.bias) for layer in self._layers]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)

    def gated(self, gate: Projection, inputs: torch.Tensor) -> torch.Tensor:
        """Return `silu(gate(inputs)) * self(inputs)`."""
        if not (self._is_packed and gate._is_packed):
            return functional.silu(gate(inputs)) * self(inputs)
        opened = gate._packed(inputs, "swish")
        output: torch.Tensor = torch.ops.mkldnn._linear_pointwise.binary(
            inputs, opened, self._weight, self._bias, "mul"
        )
        return output

    def _packed(self, inputs: torch.Tensor, activation: str) -> torch.Tensor:
        output: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs, self._weight, self._bias, activation, [], ""
        )
        return output


def unfit(layer: nn.Module) -> str | None:
    """Return why a layer is neither a whole linear layer nor a LoRA adapter on one, or `None` if it is."""
    base = _base(layer)
    if not isinstance(base, nn.Linear):
        return f"it has a {type(layer).__name__} in place of a linear layer"
    weight = base.weight
    if hasattr(weight, "ds_id") or type(weight).__name__ == "DTensor" or weight.dim() != 2:
        return "its parameters are split over devices"
    if layer is not base and not hasattr(layer, "get_delta_weight"):
        return f"it has adapters of type {type(layer).__name__}"
    if any(getattr(layer, "use_dora", {}).values()) or any(getattr(layer, "lora_bias", {}).values()):
        return "its adapters add more than a low-rank product (`use_dora`, `lora_bias`)"
    return None


def can_pack(weight: torch.Tensor) -> bool:
    """Return whether oneDNN can keep this weight in its own layout."""
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.bfloat16
        and torch._C._has_mkldnn
        and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    )


def _base(layer: Any) -> Any:  # Any: `nn.Linear` or a LoRA layer
    return getattr(layer, "base_layer", layer)


def _effective_weight(layer: Any) -> torch.Tensor:  # Any: `nn.Linear` or a LoRA layer
    weight: torch.Tensor = _base(layer).weight.detach()
    if layer is _base(layer) or layer.disable_adapters or layer.merged:
        return weight
    for adapter in layer.active_adapters:
        if adapter in layer.lora_A:
            weight = weight + layer.get_delta_weight(adapter).detach().to(weight.dtype)
    return weight
