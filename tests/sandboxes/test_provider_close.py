"""Closing a provider loses what it runs: that is never a result of the program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from grpo_agent.sandboxes import SandboxLost, SandboxProvider, make_provider

BUSY = "while True: pass"
Work = Callable[[SandboxProvider], Awaitable[object]]


async def run(provider: SandboxProvider) -> object:
    return await provider.run(BUSY, timeout_s=60)


async def run_in_a_session(provider: SandboxProvider) -> object:
    async with provider.session() as box:
        return await box.run_python(BUSY, timeout_s=60)


async def run_in_a_console(provider: SandboxProvider) -> object:
    async with provider.session() as box:
        await box.run_python("x = 1", keep_state=True)
        return await box.run_python(BUSY, timeout_s=60, keep_state=True)


async def run_after_it_was_closed(provider: SandboxProvider) -> object:
    async with provider.session() as box:
        await asyncio.sleep(0.5)
        return await box.run_python("print(1)")


@pytest.mark.parametrize("name", ["local", "unsafe"])
@pytest.mark.parametrize("work", [run, run_in_a_session, run_in_a_console, run_after_it_was_closed])
def test_what_runs_when_a_provider_is_closed_is_lost(name: str, work: Work) -> None:
    async def main() -> None:
        before = set(os.listdir("/proc/self/fd"))
        provider = make_provider(name, slots=2)
        await provider.start()
        tasks = [asyncio.ensure_future(work(provider)) for _ in range(4)]  # some wait for a slot
        await asyncio.sleep(0.25)
        async with asyncio.timeout(10):
            await provider.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [SandboxLost] * 4
        await provider.close()
        assert (await provider.run("print(1)")).stdout == "1\n"  # it may be used again
        await provider.close()
        await asyncio.sleep(0.05)
        assert set(os.listdir("/proc/self/fd")) == before

    asyncio.run(main())
