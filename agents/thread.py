"""Worker threads for environments written without `async`.

One episode keeps one thread, so its calls never overlap, and objects that are bound to a thread work.
A call that is given up (timeout, cancellation) runs on; its late result is dropped, and what was
queued after it (`close`) still runs in its turn. Threads are daemons: a call that never returns does
not keep the process alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class _Job(NamedTuple):
    call: Callable[[], object]
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[object]


class WorkerThread:
    """One thread that runs calls in the order they were given."""

    def __init__(self) -> None:
        """Start the thread."""
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._pending = 0
        Thread(target=self._work, name="grpo-agent-env", daemon=True).start()

    @property
    def is_idle(self) -> bool:
        """Whether every call has returned."""
        return self._pending == 0

    async def call(self, function: Callable[[], T]) -> T:
        """Run `function` in the thread. What it raises is raised here; cancelling drops its result."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[object] = loop.create_future()
        self._pending += 1
        self._jobs.put(_Job(function, loop, result))
        return await result  # type: ignore[return-value]  # what `function` returned

    def stop(self) -> None:
        """End the thread once its calls have returned."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            value: object = None
            error: BaseException | None = None
            try:
                value = job.call()
            except BaseException as raised:  # noqa: BLE001  # SystemExit too must not pass for success
                error = as_exception(raised)
            try:
                job.loop.call_soon_threadsafe(self._settle, job.result, value, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._pending -= 1
            del job, value, error

    def _settle(self, result: asyncio.Future[object], value: object, error: BaseException | None) -> None:
        self._pending -= 1
        if result.done():
            if asyncio.iscoroutine(value):
                value.close()
        elif error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)


class WorkerPool:
    """Threads kept for reuse; as many as were ever in use at once."""

    def __init__(self) -> None:
        """Start with none."""
        self._idle: list[WorkerThread] = []

    def lease(self) -> WorkerThread:
        """A thread for one episode; give it back with `release`."""
        return self._idle.pop() if self._idle else WorkerThread()

    def release(self, worker: WorkerThread) -> None:
        """Take a thread back; one that still runs a call that was given up is left to end."""
        if worker.is_idle:
            self._idle.append(worker)
        else:
            worker.stop()

    def close(self) -> None:
        """End the idle threads."""
        while self._idle:
            self._idle.pop().stop()


def as_exception(error: BaseException) -> Exception:
    """An exception that may travel through a future and be caught at an episode's boundary."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"raised {type(error).__name__}({error})")
    wrapped.__cause__ = error
    return wrapped
