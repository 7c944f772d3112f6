"""One event loop on a daemon thread, for synchronous callers of asynchronous environments.

All holders in a process share the loop, and so the sandboxes of that loop; when the last one leaves,
the sandboxes are closed and the thread ends. A process that ends with holders left leaves the sandboxes
to notice that it is gone.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from ..sandboxes.registry import close_shared_providers

_END_S = 30.0


@dataclass(slots=True)
class _Running:
    """A loop and its thread."""

    process: int
    ready: threading.Event = field(default_factory=threading.Event)
    loop: asyncio.AbstractEventLoop | None = None
    stop: asyncio.Event | None = None
    thread: threading.Thread | None = None

    async def serve(self) -> None:
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        self.ready.set()
        await self.stop.wait()
        await close_shared_providers()


class SharedLoop:
    """The loop; `acquire` before use, `release` after."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._running: _Running | None = None

    def acquire(self) -> None:
        """Count one more holder; start the thread if it is the first."""
        with self._lock:
            if self._running is None or self._running.process != os.getpid():
                # After a fork the parent's thread is not here.
                self._holders, self._running = 0, _start()
            self._holders += 1

    def release(self) -> None:
        """Count one holder less; end the thread if it was the last."""
        with self._lock:  # whoever comes after this starts a thread of its own
            self._holders = max(0, self._holders - 1)
            ended = self._running if self._holders == 0 else None
            if ended is not None:
                self._running = None
        if ended is not None:
            _end(ended)

    def run(self, awaitable: Awaitable[Any]) -> Any:  # Any: whatever it gives
        """Run an awaitable on the loop and wait for its result.

        Raises:
            RuntimeError: there is no holder, or this is the loop's own thread.
        """
        running = self._running
        if running is None or running.loop is None or threading.current_thread() is running.thread:
            raise RuntimeError("the shared loop does not run, or would wait for itself")
        future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), running.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # KeyboardInterrupt while waiting; no effect on what has ended
            raise


def _end(running: _Running) -> None:
    if running.process != os.getpid() or running.loop is None:
        return
    if running.stop is not None and running.thread is not None:
        running.loop.call_soon_threadsafe(running.stop.set)
        running.thread.join(_END_S)


def _start() -> _Running:
    running = _Running(os.getpid())
    running.thread = threading.Thread(
        target=lambda: asyncio.run(running.serve()), name="grpo-agent-shared-loop", daemon=True
    )
    running.thread.start()
    if not running.ready.wait(_END_S):
        raise RuntimeError(f"the shared loop did not start within {_END_S:g} s")
    return running


async def _awaited(awaitable: Awaitable[Any]) -> Any:  # Any: whatever it gives
    return await awaitable
