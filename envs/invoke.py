"""Calling user code, sync or async, without letting it stall the event loop or outstay its time."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any

from .errors import ToolUnavailable

logger = logging.getLogger(__name__)

_CLEAN_UP_S = 5.0
_abandoned: set[asyncio.Future[Any]] = set()


class CallExpired(Exception):
    """A call did not finish within its time and is no longer waited for."""


async def run_in_thread(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run a blocking function in a thread of its own, and wait for it.

    One daemon thread a call, not an executor: a call that never ends then takes no worker from others
    and does not keep the process alive. If the wait is cancelled, the late result is discarded.

    Raises:
        RuntimeError: the function raised something that would end the event loop (`SystemExit`, ...).
        ToolUnavailable: the machine allows no more threads.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    call = functools.partial(contextvars.copy_context().run, function, *args, **kwargs)

    def deliver(value: Any, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((value, error))

    def work() -> None:
        value: Any = None
        fault: BaseException | None = None
        try:
            value = call()
        except BaseException as raised:  # noqa: BLE001  # handed to the waiter, whatever it is
            fault = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, value, fault)

    try:
        threading.Thread(target=work, daemon=True, name=f"call-{_name(function)}").start()
    except RuntimeError as error:
        raise ToolUnavailable(f"no thread for {_name(function)}: {error}; lower the concurrency") from error
    value, fault = await outcome
    if fault is not None:
        raise _tamed(fault)
    return value


async def invoke(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Await an async function, run any other in a thread; an awaitable result is awaited.

    Raises:
        RuntimeError: the function raised something that would end the event loop (`SystemExit`, ...).
    """
    if not _is_async(function):
        value = await run_in_thread(function, *args, **kwargs)
    else:
        value = function(*args, **kwargs)
    try:
        return await value if inspect.isawaitable(value) else value
    except (SystemExit, KeyboardInterrupt) as error:
        raise _tamed(error) from error


async def invoke_within(timeout_s: float, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`invoke`, waiting at most `timeout_s` seconds.

    An async function is cancelled and has 5 s to clean up; a thread cannot be stopped and is abandoned.

    Raises:
        CallExpired: the time passed first.
        RuntimeError: the function cancelled itself.
    """
    # Not asyncio.timeout: that would wait for ever for a call that ignores its cancellation.
    task = asyncio.ensure_future(invoke(function, *args, **kwargs))
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        await _stop(task, function)
        raise
    if not done:
        await _stop(task, function)
        raise CallExpired(f"{_name(function)} took more than {timeout_s:g} s")
    if task.cancelled():
        raise RuntimeError(f"{_name(function)} cancelled itself")
    return task.result()


async def _stop(task: asyncio.Future[Any], function: Callable[..., Any]) -> None:
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=_CLEAN_UP_S)
    if not done:
        logger.warning("%s ignores its cancellation and is abandoned", _name(function))
        _abandoned.add(task)  # a task without a reference may be collected while it runs
        task.add_done_callback(_abandoned.discard)
    task.add_done_callback(_discard_result)


def _discard_result(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()  # marks it as seen, or asyncio would log it


def _tamed(error: BaseException) -> Exception:
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"raised {type(error).__name__}({error})")


def _is_async(function: Callable[..., Any]) -> bool:
    plain = function.func if isinstance(function, functools.partial) else function
    return inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(type(plain).__call__)


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
