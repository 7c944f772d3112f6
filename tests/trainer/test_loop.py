import asyncio
import os
import signal
import threading

import pytest

from grpo_agent.trainer.loop import LoopThread


async def here() -> tuple[str, int]:
    return threading.current_thread().name, id(asyncio.get_running_loop())


def test_all_work_runs_on_one_loop_of_another_thread():
    loop = LoopThread("inner")
    first, second = loop.run(here()), loop.run(here())
    loop.close()
    assert first == second
    assert first[0] == "inner"


def test_an_exception_reaches_the_caller():
    async def fail():
        raise LookupError("gone")

    loop = LoopThread()
    with pytest.raises(LookupError, match="gone"):
        loop.run(fail())
    loop.close()


def test_closing_cancels_what_still_runs_and_is_idempotent():
    ended = threading.Event()

    async def forever():
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def start():
        background.append(asyncio.ensure_future(forever()))
        await asyncio.sleep(0)

    background: list[asyncio.Future] = []
    loop = LoopThread()
    loop.run(start())
    loop.close()
    loop.close()
    assert ended.is_set()


def test_a_closed_loop_says_so():
    loop = LoopThread("inner")
    loop.close()
    with pytest.raises(RuntimeError, match="'inner' is closed"):
        loop.run(here())


def test_waiting_for_itself_is_refused():
    loop = LoopThread("inner")

    async def nested():
        return loop.run(here())

    with pytest.raises(RuntimeError, match="'inner' cannot wait for itself"):
        loop.run(nested())
    loop.close()


def test_an_interrupt_of_the_waiting_thread_ends_the_work_first():
    events = []

    async def work():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(20)
        finally:
            await asyncio.sleep(0.05)
            events.append("cleaned up")

    loop = LoopThread()
    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    loop.close()
    assert events == ["cleaned up"]
