"""The engine of the `transformers` library: paged key-value cache, any family that it supports.

The library's generation thread works on a twin of the model, so nothing has to be put back afterwards.
Seeds of single requests are not supported by the library and are ignored.
"""

from __future__ import annotations

import asyncio
import itertools
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn
from transformers import ContinuousBatchingConfig, GenerationConfig

from ..errors import GeneratorError
from .request import Request, engine_fault, left_fault
from .twin import Twin

_PAGE_TOKENS = 256
_MEMORY_SHARE = 0.5
"""Of the device's free memory, for the cache: the trainer needs the rest when the generator is left."""
_PAGES_SHARE = 0.1
"""Of the free main memory, for the cache on a CPU; the library adds what a step needs."""
_WATCH_S = 1.0
_STOP_TIMEOUT_S = 60.0


class ContinuousEngine:
    """Runs requests through the library's continuous-batching manager."""

    def __init__(
        self,
        model: nn.Module,
        dtype: torch.dtype,
        stop_ids: tuple[int, ...],
        *,
        max_batch: int,
        max_context: int,
    ) -> None:
        """Name the model; the manager is made when a batch of calls begins.

        Raises:
            ValueError: the model has no continuous batching.
        """
        if not hasattr(model, "continuous_batching_context_manager"):
            raise ValueError(
                f"engine 'continuous' needs a generation model of transformers, not a {type(model).__name__}"
            )
        self._twin = Twin(model, dtype)
        self._stop_ids, self._max_batch, self._max_context = stop_ids, max_batch, max_context
        self._managers: dict[float, Any] = {}  # Any: the library's manager, by temperature
        self._open = ExitStack()
        self._names = itertools.count()
        self._running: dict[str, Request] = {}
        self._module: Any = None  # Any: a `PreTrainedModel`

    def start(self) -> None:
        """Begin, with the weights as they are now."""
        with torch.no_grad():
            self._module = self._twin.refresh()

    def submit(self, request: Request) -> None:
        """Take a request. Called on the event loop's thread."""
        try:
            manager = self._manager(request.temperature)
        except Exception as error:  # noqa: BLE001 - the caller must learn whatever it was
            request.fail(engine_fault(error))
            return
        name = f"turn-{next(self._names)}"
        self._running[name] = request
        manager.register_result_handler(name, self._settle)
        added = manager.add_request(
            list(request.prompt),
            request_id=name,
            max_new_tokens=request.max_new_tokens,
            eos_token_id=list(self._stop_ids),
        )
        if added is None:
            self._fail(name, GeneratorError("the continuous-batching engine takes no more requests"))
        else:
            self._watch(name, manager)

    def cancel(self, request: Request) -> None:
        """Free the request's pages at the next step."""
        for name, running in list(self._running.items()):
            if running is request:
                del self._running[name]
                self._managers[request.temperature].cancel_request(name)

    async def stop(self) -> None:
        """End; requests that still wait fail.

        Raises:
            GeneratorError: the library's threads do not end.
        """
        for request in list(self._running.values()):
            self.cancel(request)
            request.fail(left_fault())
        self._managers.clear()
        opened, self._open = self._open, ExitStack()
        try:
            await asyncio.wait_for(asyncio.to_thread(opened.close), _STOP_TIMEOUT_S)
        except TimeoutError as error:
            raise GeneratorError(f"the library's threads did not end within {_STOP_TIMEOUT_S} s") from error

    def close(self) -> None:
        """Drop the twin."""
        self._module = None
        self._twin.free()

    def _manager(self, temperature: float) -> Any:  # Any: the library's manager
        """Temperature belongs to the manager in the library; one batch of calls uses one, seldom two."""
        if temperature not in self._managers:
            with torch.inference_mode():
                self._managers[temperature] = self._open.enter_context(
                    self._module.continuous_batching_context_manager(
                        generation_config=self._generation_config(temperature),
                        continuous_batching_config=self._batching_config(),
                        warmup=self._module.device.type == "cuda",
                    )
                )
        return self._managers[temperature]

    def _generation_config(self, temperature: float) -> GenerationConfig:
        drawing: dict[str, Any] = {"do_sample": False}
        if temperature:
            drawing = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        return GenerationConfig(  # type: ignore[no-untyped-call]  # the library has no annotations here
            eos_token_id=list(self._stop_ids), pad_token_id=self._stop_ids[0], max_new_tokens=1, **drawing
        )

    def _batching_config(self) -> ContinuousBatchingConfig:
        if self._module.device.type == "cuda":
            return ContinuousBatchingConfig(
                return_logprobs=True, max_memory_percent=_MEMORY_SHARE, max_requests_per_batch=self._max_batch
            )
        pages = -(-self._max_context // _PAGE_TOKENS) * self._max_batch
        return ContinuousBatchingConfig(
            return_logprobs=True,
            num_blocks=max(1, min(pages, self._affordable_pages())),
            max_batch_tokens=max(self._max_batch, 512),
            max_requests_per_batch=self._max_batch,
        )

    def _affordable_pages(self) -> int:
        config = self._module.config.get_text_config()
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        token_bytes: int = 2 * config.num_hidden_layers * heads * head_dim * self._module.dtype.itemsize
        return int(_free_bytes() * _PAGES_SHARE) // (token_bytes * _PAGE_TOKENS)

    def _settle(self, output: Any) -> None:  # Any: the library's output
        request = self._running.get(output.request_id)
        if request is None or not output.is_finished():
            return
        if output.error is not None:
            self._fail(output.request_id, GeneratorError(f"continuous batching failed: {output.error}"))
            return
        del self._running[output.request_id]
        request.ids += output.generated_tokens
        request.logprobs += output.logprobs
        request.finish("stop" if request.ids[-1] in self._stop_ids else "length")

    def _watch(self, name: str, manager: Any) -> None:  # Any: the library's manager
        """A request that reached the manager just as its thread died would never be answered."""
        request = self._running.get(name)
        if request is None:
            return
        if not manager.is_running():
            self._fail(name, GeneratorError("the continuous-batching thread died"))
            return
        asyncio.get_running_loop().call_later(_WATCH_S, self._watch, name, manager)

    def _fail(self, name: str, error: GeneratorError) -> None:
        request = self._running.pop(name, None)
        if request is not None:
            request.fail(error)


def _free_bytes() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return 4 * 2**30
