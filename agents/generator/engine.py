"""What `TransformersGenerator` asks of an engine, and the one that batches by itself."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable
from queue import Empty, SimpleQueue
from typing import Protocol

import torch

from ..errors import GeneratorError
from .decoder import Decoder
from .openmp import release_idle_threads
from .request import Request, engine_fault, left_fault
from .session import Session
from .thread_count import ThreadCount

STOP_TIMEOUT_S = 60.0
"""What an engine may take to end the step that runs when it is told to stop."""


class Engine(Protocol):
    """Samples requests on a thread of its own, between `start` and `stop`."""

    def start(self) -> None:
        """Begin, with the weights as they are now."""
        ...

    def submit(self, request: Request) -> None:
        """Take a request; it is always settled: finished, failed, or dropped if cancelled."""
        ...

    def cancel(self, request: Request) -> None:
        """Free what a request holds, soon."""
        ...

    async def stop(self) -> None:
        """End; requests that still wait fail. What was changed on the model is put back.

        Raises:
            GeneratorError: the thread does not end within a bounded time.
        """
        ...

    def close(self) -> None:
        """Free memory. Idempotent."""
        ...


class BatchedEngine:
    """Decodes all admitted requests together, one token each a step; they join and leave at every step."""

    def __init__(
        self,
        decoder: Decoder,
        stop_ids: Iterable[int],
        max_batch: int,
        *,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self._decoder = decoder
        self._stop_ids = frozenset(stop_ids)
        self._max_batch = max_batch
        self._stop_timeout_s = stop_timeout_s
        self._threads = ThreadCount(decoder.device)
        self._run: _Run | None = None

    def start(self) -> None:
        """Begin, with the weights as they are now."""
        # A thread keeps the count that it first asks for: let this one ask before the engine changes it.
        torch.get_num_threads()
        release_idle_threads()
        self._run = _Run(self._decoder, self._threads, self._stop_ids, self._max_batch)

    def submit(self, request: Request) -> None:
        """Take a request."""
        if self._run is None:
            request.fail(left_fault())
        else:
            self._run.submit(request)

    def cancel(self, request: Request) -> None:
        """Free the request's row at the next step."""
        request.is_cancelled = True

    async def stop(self) -> None:
        """End; requests that still wait fail.

        Raises:
            GeneratorError: the step that runs does not end. It changes nothing that a later start uses.
        """
        run, self._run = self._run, None
        if run is not None and not await asyncio.to_thread(run.end, self._stop_timeout_s):
            raise GeneratorError(f"a decoding step did not end within {self._stop_timeout_s} s")

    def close(self) -> None:
        """Drop the copies of weights."""
        self._decoder.free()


class _Run:
    """What happens between a start and a stop: a thread, its inbox, and how it ended."""

    def __init__(
        self, decoder: Decoder, threads: ThreadCount, stop_ids: frozenset[int], max_batch: int
    ) -> None:
        self._decoder, self._threads = decoder, threads
        self._stop_ids, self._max_batch = stop_ids, max_batch
        self._inbox: SimpleQueue[Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_stopping = False
        self._fault: GeneratorError | None = None
        self._thread = threading.Thread(target=self._work, name="grpo-agent-generate", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> None:
        """Take a request."""
        with self._lock:
            if self._fault is not None or self._is_stopping:
                request.fail(self._fault or left_fault())
            else:
                self._inbox.put(request)

    def end(self, timeout_s: float) -> bool:
        """Let the thread end after its step. Returns whether it did in time."""
        with self._lock:
            self._is_stopping = True
        self._inbox.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        session: Session | None = None
        fault: GeneratorError = left_fault()
        self._threads.begin()
        try:
            with torch.inference_mode():
                self._decoder.refresh()
                session = Session(self._decoder, self._stop_ids, self._max_batch)
                while not self._is_stopping:
                    session.waiting.extend(self._arrivals(block=session.is_idle))
                    started = time.perf_counter()
                    if session.step():
                        self._threads.observe(time.perf_counter() - started)
        except Exception as error:  # noqa: BLE001 - whatever broke, the callers must not wait for ever
            fault = engine_fault(error)
        self._threads.reset()
        with self._lock:
            self._fault = fault
        for request in [*(session.requests if session else ()), *self._arrivals(block=False)]:
            request.fail(fault)

    def _arrivals(self, *, block: bool) -> list[Request]:
        arrived: list[Request | None] = [self._inbox.get()] if block else []
        while True:
            try:
                arrived.append(self._inbox.get_nowait())
            except Empty:
                return [request for request in arrived if request is not None]
