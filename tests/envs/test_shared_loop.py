import asyncio
import threading

import pytest

from grpo_agent.envs.shared_loop import SharedLoop


async def thread_name() -> str:
    return threading.current_thread().name


def shared_threads() -> int:
    return sum(thread.name == "grpo-agent-shared-loop" for thread in threading.enumerate())


def test_all_holders_share_one_thread_that_ends_with_the_last() -> None:
    loop, before = SharedLoop(), shared_threads()
    loop.acquire()
    loop.acquire()
    assert loop.run(thread_name()) == "grpo-agent-shared-loop"
    loop.release()
    assert loop.run(thread_name()) == "grpo-agent-shared-loop"
    assert shared_threads() == before + 1
    loop.release()
    assert shared_threads() == before


def test_it_starts_again_after_it_ended() -> None:
    loop = SharedLoop()
    for _ in range(2):
        loop.acquire()
        assert loop.run(asyncio.sleep(0, "done")) == "done"
        loop.release()


def test_holders_that_come_and_go_side_by_side_always_find_it_running() -> None:
    loop, before = SharedLoop(), shared_threads()

    def come_and_go() -> None:
        for number in range(60):
            loop.acquire()
            try:
                done.append(loop.run(asyncio.sleep(0, number)) == number)
            finally:
                loop.release()

    done: list[bool] = []
    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 240
    assert shared_threads() == before


def test_what_the_awaitable_raises_is_raised() -> None:
    async def fails() -> None:
        raise ValueError("no")

    loop = SharedLoop()
    loop.acquire()
    with pytest.raises(ValueError, match="no"):
        loop.run(fails())
    loop.release()


def test_use_without_a_holder_is_refused() -> None:
    future: asyncio.Future[None] = asyncio.Future(loop=asyncio.new_event_loop())
    with pytest.raises(RuntimeError, match="does not run"):
        SharedLoop().run(future)
    future.get_loop().close()
