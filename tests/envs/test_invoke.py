import asyncio
import threading
import time
from typing import Any, NoReturn

import pytest

from grpo_agent.envs.errors import ToolUnavailable
from grpo_agent.envs.invoke import CallExpired, invoke, invoke_within


def exits() -> NoReturn:
    raise SystemExit(3)


async def exits_async() -> NoReturn:
    raise SystemExit(3)


def stops() -> NoReturn:
    raise StopIteration


async def cancels_itself() -> NoReturn:
    raise asyncio.CancelledError


async def ignores_cancellation() -> None:
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.3)
        except asyncio.CancelledError:
            continue


def give(function: Any) -> Any:
    return function()


async def gives_awaitable() -> int:
    return 5


@pytest.mark.parametrize("function", [exits, exits_async, stops, cancels_itself])
def test_what_would_end_the_loop_becomes_an_error(function: object) -> None:
    with pytest.raises(RuntimeError, match=r"SystemExit\(3\)|StopIteration|cancelled itself"):
        asyncio.run(invoke_within(5, function))  # type: ignore[arg-type]


def test_sync_functions_run_off_the_loop_thread_and_async_on_it() -> None:
    async def main() -> tuple[int, int]:
        return await invoke(threading.get_ident), await invoke(loop_thread)

    async def loop_thread() -> int:
        return threading.get_ident()

    worker, loop = asyncio.run(main())
    assert worker != threading.get_ident() == loop


def test_an_awaitable_given_by_a_sync_function_is_awaited() -> None:
    assert asyncio.run(invoke(give, gives_awaitable)) == 5


def test_a_machine_without_threads_is_a_fault_of_infrastructure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ToolUnavailable, match="no thread for get_ident: can't start new thread"):
        asyncio.run(invoke_within(5, threading.get_ident))


def test_waiting_for_a_thread_is_given_up_in_time_and_its_result_discarded() -> None:
    release = threading.Event()

    async def main() -> float:
        began = time.monotonic()
        with pytest.raises(CallExpired, match=r"wait took more than 0\.05 s"):
            await invoke_within(0.05, release.wait)
        took = time.monotonic() - began
        release.set()
        await asyncio.sleep(0.05)
        return took

    assert asyncio.run(main()) < 1


def test_a_thread_that_outlives_its_loop_is_harmless() -> None:
    release = threading.Event()

    async def main() -> None:
        with pytest.raises(CallExpired, match="wait took"):
            await invoke_within(0.01, release.wait)

    asyncio.run(main())
    release.set()
    time.sleep(0.05)


def test_an_async_call_that_ignores_its_cancellation_does_not_hold_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grpo_agent.envs.invoke._CLEAN_UP_S", 0.05)

    async def main() -> float:
        began = time.monotonic()
        with pytest.raises(CallExpired, match="ignores_cancellation"):
            await invoke_within(0.05, ignores_cancellation)
        took = time.monotonic() - began
        await asyncio.sleep(0.4)
        return took

    assert asyncio.run(main()) < 0.25


def test_cancelling_the_caller_cancels_the_call_and_waits_for_its_clean_up() -> None:
    events: list[str] = []

    async def opens() -> None:
        events.append("open")
        try:
            await asyncio.sleep(10)
        finally:
            events.append("closed")

    async def main() -> None:
        task = asyncio.ensure_future(invoke_within(10, opens))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        events.append("after")

    asyncio.run(main())
    assert events == ["open", "closed", "after"]
