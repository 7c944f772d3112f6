"""The forward pass of the Llama family, over ragged batches and the engine's own key-value store.

It reads the weights of a live model, and never calls, changes or registers anything on that model: its
mode, its hooks, its autocast wrapper and its gradient checkpointing do not matter here.

Precision follows the trainer's: the residual stream has the parameters' type, matrix products and the
key-value store have `dtype`, just as under autocast.

Shapes: `T` tokens of this step, `B` decoding rows, `H` heads, `K` key-value heads, `D` head dimension,
`E` hidden size, `V` vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from .norm import Norm
from .projection import Projection, unfit
from .slot import SlotStore

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


class Segment(NamedTuple):
    """New tokens of one row that are computed together."""

    row: int
    start: int
    """Position of the first."""
    length: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step computes: the decoding rows, one token each, then the segments."""

    tokens: torch.Tensor
    """`[T]`"""
    positions: torch.Tensor
    """`[T]`"""
    rows: torch.Tensor
    """`[T]`: index of each token's row."""
    decoding: int
    """`B`: the first tokens, of rows `0 .. B - 1`."""
    longest: int
    """Tokens held by the longest decoding row, its new one included."""
    segments: tuple[Segment, ...]


@dataclass(slots=True)
class _Layer:
    input_norm: Norm
    qkv: Projection
    head_norms: tuple[Norm, Norm] | None
    out: Projection
    mlp_norm: Norm
    gate: Projection
    up: Projection
    down: Projection

    @property
    def parts(self) -> tuple[Norm | Projection, ...]:
        """All that hold weights."""
        own = (self.input_norm, self.qkv, self.out, self.mlp_norm, self.gate, self.up, self.down)
        return (*own, *(self.head_norms or ()))


class Decoder:
    """Computes hidden states and logits with the weights of `model`."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        """Name the model; call `refresh` before the first `forward`.

        Raises:
            ValueError: the model is not of a family that is understood, see `why_not`.
        """
        self._model, self.dtype = model, dtype
        config = _base_model(model).config
        self._look_up()
        self.heads: int = config.num_attention_heads
        self.kv_heads: int = config.num_key_value_heads
        self.head_dim: int = getattr(config, "head_dim", None) or config.hidden_size // self.heads

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._embedding.device

    def refresh(self) -> None:
        """Take the weights as they are now. Cheap where they are shared, a copy where `dtype` differs.

        Raises:
            ValueError: the model was changed into one that is not understood.
        """
        self._look_up()
        for part in self._parts():
            part.refresh()

    def free(self) -> None:
        """Drop the copies of weights."""
        for part in self._parts():
            part.free()

    def new_store(self, max_rows: int) -> SlotStore:
        """Return an empty key-value store."""
        return SlotStore(
            len(self._layers),
            self.kv_heads,
            self.head_dim,
            dtype=self.dtype,
            device=self.device,
            max_rows=max_rows,
        )

    def forward(self, batch: Batch, store: SlotStore) -> torch.Tensor:
        """Compute the batch and write its keys and values. Returns the last hidden states, `[T, E]`."""
        hidden = functional.embedding(batch.tokens, self._embedding)
        attention = Attention(self, batch, store)
        cos, sin = self._rotary(hidden[None], batch.positions[None])
        cos, sin = cos[0, :, None], _signed(sin[0, :, None])
        for index, layer in enumerate(self._layers):
            qkv = layer.qkv(layer.input_norm(hidden)).view(len(hidden), -1, self.head_dim)
            qk, value = qkv[:, : -self.kv_heads], qkv[:, -self.kv_heads :]
            if layer.head_norms is not None:
                query_norm, key_norm = layer.head_norms
                qk = torch.cat([query_norm(qk[:, : self.heads]), key_norm(qk[:, self.heads :])], dim=1)
            qk = torch.addcmul(qk * cos, qk.roll(self.head_dim // 2, -1), sin).to(self.dtype)
            mixed = attention(index, qk[:, : self.heads], qk[:, self.heads :], value)
            hidden = hidden + layer.out(mixed)
            opened = layer.up.gated(layer.gate, layer.mlp_norm(hidden))
            hidden = hidden + layer.down(opened)
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return `[B, V]` for hidden states `[B, E]`."""
        return self._head(self._norm(hidden))

    def _look_up(self) -> None:
        """Find the model's layers anew: injecting adapters, say, puts others in their place."""
        reason = why_not(self._model)
        if reason is not None:
            raise ValueError(f"engine 'batched' cannot run this model: {reason}; use engine 'continuous'")
        base = _base_model(self._model)
        trunk, eps = base.model, base.config.rms_norm_eps
        self._embedding: nn.Parameter = trunk.embed_tokens.weight
        self._norm = Norm(trunk.norm.weight, eps, self.dtype)
        self._rotary: Callable[[torch.Tensor, torch.Tensor], Any] = trunk.rotary_emb
        self._layers = [_read_layer(layer, eps, self.dtype) for layer in trunk.layers]
        self._head = Projection([base.lm_head], self.dtype)

    def _parts(self) -> Iterator[Norm | Projection]:
        for layer in self._layers:
            yield from layer.parts
        yield from (self._norm, self._head)


class Attention:
    """Attention of one step: what is the same for all layers is computed once."""

    def __init__(self, decoder: Decoder, batch: Batch, store: SlotStore) -> None:
        self._batch, self._data = batch, store.data
        self._heads, self._kv_heads, self._dim = decoder.heads, decoder.kv_heads, decoder.head_dim
        capacity = store.data.shape[4]
        heads = torch.arange(self._kv_heads, device=batch.rows.device)
        self._cells = (
            (batch.rows[:, None] * self._kv_heads + heads) * capacity + batch.positions[:, None]
        ).flatten()
        self._mask = self._decoding_mask()

    def __call__(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> torch.Tensor:
        """Write keys and values `[T, K, D]`; return what queries `[T, H, D]` read, `[T, H * D]`."""
        keys, values = self._data[layer]
        keys.view(-1, self._dim).index_copy_(0, self._cells, key.reshape(-1, self._dim))
        values.view(-1, self._dim).index_copy_(0, self._cells, value.reshape(-1, self._dim))
        parts = []
        if self._batch.decoding:
            parts.append(self._decode(query[: self._batch.decoding], keys, values))
        at = self._batch.decoding
        for segment in self._batch.segments:
            parts.append(self._prefill(segment, query[at : at + segment.length], keys, values))
            at += segment.length
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _decode(self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        count, longest = self._batch.decoding, self._batch.longest
        # The heads that share keys act as one longer query, so that nothing is repeated. The CPU's kernel
        # for half precision is faster (measured) when it is told of the sharing instead.
        is_told = query.device.type == "cpu" and query.dtype != torch.float32
        heads = self._heads if is_told else self._kv_heads
        mixed = functional.scaled_dot_product_attention(
            query.reshape(count, heads, -1, self._dim),
            keys[:count, :, :longest],
            values[:count, :, :longest],
            attn_mask=self._mask,
            enable_gqa=is_told,
        )
        return mixed.reshape(count, -1)

    def _prefill(
        self, segment: Segment, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        end = segment.start + segment.length
        mask = None
        if segment.start:
            mask = torch.ones(segment.length, end, dtype=torch.bool, device=query.device).tril(segment.start)
        mixed = functional.scaled_dot_product_attention(
            query.transpose(0, 1)[None],
            keys[None, segment.row, :, :end],
            values[None, segment.row, :, :end],
            attn_mask=mask,
            is_causal=mask is None,
            enable_gqa=True,
        )
        return mixed[0].transpose(0, 1).reshape(segment.length, -1)

    def _decoding_mask(self) -> torch.Tensor:
        positions = self._batch.positions[: self._batch.decoding]
        columns = torch.arange(self._batch.longest, device=positions.device)
        mask = torch.zeros(len(positions), len(columns), dtype=self._data.dtype, device=positions.device)
        return mask.masked_fill_(columns > positions[:, None], -torch.inf)[:, None, None]


def why_not(model: nn.Module) -> str | None:
    """Return why the family's forward pass is not understood here, or `None` if it is."""
    base = _base_model(model)
    config: Any = getattr(base, "config", None)  # Any: any model may be asked about
    family = getattr(config, "model_type", type(base).__name__)
    if family not in FAMILIES:
        return f"its family {family!r} is not one of {', '.join(FAMILIES)}"
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()) or (
        family == "mistral" and config.sliding_window is not None
    ):
        return "it has sliding-window attention layers"
    if config.hidden_act != "silu":
        return f"its activation {config.hidden_act!r} is not 'silu'"
    if not hasattr(base, "lm_head"):
        return "it has no language-model head"
    return _unfit_layer(base)


def _unfit_layer(base: Any) -> str | None:  # Any: attributes set by the family
    trunk = base.model
    if not isinstance(trunk.embed_tokens, nn.Embedding):
        return f"it has a {type(trunk.embed_tokens).__name__} in place of an embedding"
    if any(hasattr(module, "modules_to_save") for module in trunk.modules()):
        return "it has whole modules beside its own (`modules_to_save`)"
    layers = [base.lm_head, *(part for layer in trunk.layers for part in _linear_layers(layer))]
    return next(filter(None, map(unfit, layers)), None)


def _read_layer(layer: Any, eps: float, dtype: torch.dtype) -> _Layer:  # Any: attributes set by the family
    query, key, value, out, gate, up, down = _linear_layers(layer)
    attention = layer.self_attn
    has_norms = hasattr(attention, "q_norm")
    return _Layer(
        input_norm=Norm(layer.input_layernorm.weight, eps, dtype),
        qkv=Projection([query, key, value], dtype),
        head_norms=(
            (Norm(attention.q_norm.weight, eps, dtype), Norm(attention.k_norm.weight, eps, dtype))
            if has_norms
            else None
        ),
        out=Projection([out], dtype),
        mlp_norm=Norm(layer.post_attention_layernorm.weight, eps, dtype),
        gate=Projection([gate], dtype),
        up=Projection([up], dtype),
        down=Projection([down], dtype),
    )


def _linear_layers(layer: Any) -> list[nn.Module]:  # Any: attributes set by the family
    attention, mlp = layer.self_attn, layer.mlp
    return [
        attention.q_proj,
        attention.k_proj,
        attention.v_proj,
        attention.o_proj,
        mlp.gate_proj,
        mlp.up_proj,
        mlp.down_proj,
    ]


def _base_model(model: nn.Module) -> Any:  # Any: attributes set by the family
    wrapped: Any = model  # Any: PEFT may be missing
    return wrapped.get_base_model() if hasattr(model, "get_base_model") else model


def _signed(sin: torch.Tensor) -> torch.Tensor:
    """Return `sin` with its first half negated: rotating a half becomes a plain roll."""
    sin = sin.clone()
    sin[..., : sin.shape[-1] // 2].neg_()
    return sin
