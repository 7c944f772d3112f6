"""Generation with a live `transformers` model that a trainer may own.

Weights are shared, not owned: entering `async with generator` takes them as they are, leaving puts the
model back as it was found. Requests join and leave the batch at every decoding step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Literal, Self

import torch
from torch import nn

from ..core import Generation, Sampling
from ..errors import GeneratorError
from .continuous import ContinuousEngine
from .decoder import Decoder, why_not
from .engine import BatchedEngine, Engine
from .request import Request

EngineName = Literal["auto", "batched", "continuous"]


class TransformersGenerator:
    """A `Generator` over a causal language model of `transformers`."""

    def __init__(
        self,
        model: nn.Module,
        *,
        stop_ids: Iterable[int],
        max_context: int | None = None,
        engine: EngineName = "auto",
        dtype: torch.dtype | str | None = None,
        max_batch: int = 64,
    ) -> None:
        """Choose an engine; nothing runs until the generator is entered.

        Args:
            model: the live model, without wrappers that split it over devices.
            stop_ids: ids that end a turn.
            max_context: tokens of prompt and generation together; the model's own limit if `None`.
            engine: `batched` is the fastest for the families it knows, `continuous` is the
                library's own and runs any; `auto` takes `batched` on a CPU if it can.
            dtype: of matrix products and of the key-value store, such as "bfloat16"; the
                parameters' own if `None`. Any other costs a copy of the weights. "auto" is bfloat16 on
                a CPU that computes in it, else the parameters' own.
            max_batch: sequences that are decoded together; more wait.

        Raises:
            ValueError: an argument is out of range, or the engine cannot run the model.
        """
        if max_batch < 1:
            raise ValueError(f"max_batch is {max_batch!r}; it must be at least 1")
        self._model = model
        self._stop_ids = tuple(stop_ids)
        self._max_context = _checked_context(max_context, model)
        self._engine = _make_engine(
            model,
            engine,
            _as_dtype(dtype, model),
            self._stop_ids,
            max_batch=max_batch,
            max_context=self._max_context,
        )
        self._depth = 0
        self._is_closed = False

    @property
    def max_context(self) -> int:
        """Tokens of prompt and generation together."""
        return self._max_context

    async def __aenter__(self) -> Self:
        if self._is_closed:
            raise GeneratorError("the generator is closed; make another one", retryable=False)
        self._depth += 1
        if self._depth == 1:
            self._engine.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._depth == 0:  # closed inside
            return
        self._depth -= 1
        if self._depth == 0:
            await self._engine.stop()

    async def generate(
        self, ids: Sequence[int], *, max_new_tokens: int, sampling: Sampling, seed: int | None = None
    ) -> Generation:
        """Sample after `ids` until a stop token or `max_new_tokens`.

        Raises:
            ValueError: `ids` is empty or does not fit the context, or `max_new_tokens` is below 1.
            GeneratorError: the engine failed, or the generator is not entered.
        """
        if self._depth == 0:
            raise GeneratorError(
                "the generator is not running; call generate inside `async with generator:`", retryable=False
            )
        self._check(ids, max_new_tokens)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Generation] = loop.create_future()
        random = Random(seed)  # noqa: S311 - draws tokens, guards nothing
        request = Request(tuple(ids), max_new_tokens, sampling.temperature, random, loop, future)
        self._engine.submit(request)
        try:
            return await future
        except asyncio.CancelledError:
            self._engine.cancel(request)
            raise

    async def close(self) -> None:
        """Free the engine. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._depth:
            self._depth = 0
            await self._engine.stop()
        self._engine.close()

    def _check(self, ids: Sequence[int], max_new_tokens: int) -> None:
        if not ids:
            raise ValueError("ids is empty; a prompt has at least one id")
        if max_new_tokens < 1:
            raise ValueError(f"max_new_tokens is {max_new_tokens!r}; it must be at least 1")
        if len(ids) + max_new_tokens > self._max_context:
            raise ValueError(
                f"{len(ids)} ids and max_new_tokens={max_new_tokens} exceed the context of "
                f"{self._max_context} tokens"
            )


def _make_engine(
    model: nn.Module,
    name: EngineName,
    dtype: torch.dtype,
    stop_ids: tuple[int, ...],
    *,
    max_batch: int,
    max_context: int,
) -> Engine:
    if name not in ("auto", "batched", "continuous"):
        raise ValueError(f"engine is {name!r}; it must be 'auto', 'batched' or 'continuous'")
    is_cuda = next(model.parameters()).device.type == "cuda"
    if name == "batched" or (name == "auto" and not is_cuda and why_not(model) is None):
        return BatchedEngine(Decoder(model, dtype), stop_ids, max_batch)
    return ContinuousEngine(model, dtype, stop_ids, max_batch=max_batch, max_context=max_context)


def _as_dtype(dtype: torch.dtype | str | None, model: nn.Module) -> torch.dtype:
    parameter = next(model.parameters())
    if dtype == "auto" and parameter.device.type == "cpu" and torch.cpu._is_avx512_bf16_supported():
        return torch.bfloat16
    if dtype is None or dtype == "auto":
        return parameter.dtype
    resolved = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if resolved not in (torch.float32, torch.bfloat16, torch.float16):
        raise ValueError(f"dtype is {dtype!r}; it must be auto, float32, bfloat16 or float16")
    return resolved


def _checked_context(max_context: int | None, model: nn.Module) -> int:
    config: Any = model.config  # Any: fields depend on the family
    limit = int(config.get_text_config().max_position_embeddings)
    if max_context is not None and not 2 <= max_context <= limit:
        raise ValueError(f"max_context is {max_context!r}; the model takes at most {limit} and needs 2")
    return max_context or limit
