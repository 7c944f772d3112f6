"""A private event loop on a thread, for asynchronous work asked for by synchronous code.

TRL calls `rollout_func` synchronously from the main thread; environments, sandboxes and generators
live on one event loop that must outlast the call. Not here: what runs on it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..agents.generator.openmp import release_idle_threads

T = TypeVar("T")

_CANCEL_WAIT_S = 30.0
_START_WAIT_S = 30.0


class LoopThread:
    """An event loop on a daemon thread; starts at the first `run`, ends with `close`."""

    def __init__(self, name: str = "grpo-agent-loop") -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine yields and is sent
        """Run `work` on the loop and wait for its result.

        An exception in the waiting thread, such as `KeyboardInterrupt`, cancels `work` and waits, for a
        bounded time, until it has ended.

        Raises:
            RuntimeError: the loop is closed, or `run` is called on its own thread.
        """
        if self._is_closed or threading.current_thread() is self._thread:
            work.close()
            reason = "is closed" if self._is_closed else "cannot wait for itself; await the coroutine instead"
            raise RuntimeError(f"the event loop {self._name!r} {reason}")
        ended = threading.Event()
        future = asyncio.run_coroutine_threadsafe(_watched(work, ended), self._started())
        release_idle_threads()
        try:
            return future.result()
        finally:
            if not future.done():
                future.cancel()
                ended.wait(_CANCEL_WAIT_S)

    def close(self) -> None:
        """Cancel what still runs and end the thread. Idempotent."""
        self._is_closed = True
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(_CANCEL_WAIT_S)
            self._loop = self._stop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
            self._ready.wait(_START_WAIT_S)
        if self._loop is None:
            raise RuntimeError(f"the event loop {self._name!r} did not start within {_START_WAIT_S:.0f} s")
        return self._loop

    def _serve(self) -> None:
        asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stop.wait()


async def _watched(work: Coroutine[Any, Any, T], ended: threading.Event) -> T:  # Any: as in `run`
    try:
        return await work
    finally:
        ended.set()
