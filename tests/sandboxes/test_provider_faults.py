"""Faults of this machine are `SandboxError`s: they leak nothing, and the next try works."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from local_on_loop import Local

from grpo_agent.sandboxes import (
    SandboxError,
    SandboxLost,
    SandboxProvider,
    SandboxUnavailable,
    Status,
    make_provider,
)
from grpo_agent.sandboxes.local import LocalProvider
from grpo_agent.sandboxes.local.channel import Channel


@contextlib.contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """Let this process open only so many descriptors more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = {int(name) for name in os.listdir("/proc/self/fd")}
    free = [number for number in range(1024) if number not in taken]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[count], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def children() -> set[str]:
    """Processes that this one started."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def control_groups(pid: str) -> str:
    """Of another process."""
    return Path(f"/proc/{pid}/cgroup").read_text()


async def run(provider: SandboxProvider) -> None:
    await provider.run("print(1)")


async def open_a_session(provider: SandboxProvider) -> None:
    async with provider.session() as box:
        await box.exec("true")
        await box.run_python("x = 1", keep_state=True)


@pytest.mark.parametrize("name", ["local", "unsafe"])
@pytest.mark.parametrize("work", [run, open_a_session])
def test_without_descriptors_a_sandbox_is_lost_and_nothing_leaks(
    name: str, work: Callable[[SandboxProvider], Awaitable[None]]
) -> None:
    async def attempt(provider: SandboxProvider, left: int) -> bool:
        with descriptors_left(left):
            try:
                await work(provider)
            except SandboxError:
                return False
        return True

    async def main() -> None:
        async with make_provider(name, slots=2) as provider:
            await work(provider)
            before = open_descriptors()
            outcomes = [await attempt(provider, left) for left in range(0, 24, 2)]
            assert outcomes[0] is False
            assert outcomes[-1] is True
            await work(provider)
            assert len(open_descriptors()) <= len(before)

    asyncio.run(main())


def test_a_start_that_fails_says_so_and_leaves_no_process() -> None:
    async def main() -> None:
        before, running = open_descriptors(), children()
        for left in range(0, 12, 2):
            with descriptors_left(left), pytest.raises(SandboxUnavailable, match="cannot be had here"):
                await LocalProvider(slots=2).start()
        assert children() == running
        assert open_descriptors() == before

    asyncio.run(main())


def test_a_server_that_does_not_start_again_at_once_does_so_later_in_its_control_group() -> None:
    async def attempt(provider: SandboxProvider) -> str:
        try:
            return (await provider.run("print(1)")).stdout
        except SandboxLost:
            return "lost"

    async def main() -> None:
        others = children()
        async with LocalProvider(slots=1) as provider:
            (server,) = children() - others
            group = control_groups(server)
            os.kill(int(server), signal.SIGKILL)
            await asyncio.sleep(0.1)
            with descriptors_left(1):
                assert [await attempt(provider) for _ in range(3)] == ["lost"] * 3
            outcomes = [await attempt(provider) for _ in range(3)]
            assert outcomes[1:] == ["1\n"] * 2  # the first may still find the slot of the dead server
            (server,) = children() - others
            assert control_groups(server) == group
            async with provider.session() as box:
                assert (await box.exec("echo 2")).stdout == "2\n"

    asyncio.run(main())


def test_a_fork_that_the_kernel_refuses_ends_nothing_else() -> None:
    async def main() -> None:
        others = children()
        async with LocalProvider(slots=1) as provider, provider.session() as box:
            (server,) = map(int, children() - others)
            resource.prlimit(server, resource.RLIMIT_NPROC, (1, 1))
            with pytest.raises(SandboxLost):
                async with provider.session():
                    pass
            assert (await box.exec("echo 1")).stdout == "1\n"
            assert (await provider.run("print(2)")).stdout == "2\n"

    asyncio.run(main())


def test_a_server_that_says_nothing_is_not_awaited_for_ever() -> None:
    async def main() -> None:
        channel, there = Channel.pair()
        with there, pytest.raises(SandboxLost, match=r"did not answer within 0\.05 s"):
            await channel.receive(0.05)
        channel.close()

    asyncio.run(main())


@pytest.mark.slow
def test_a_stopped_server_is_not_awaited_for_ever() -> None:
    async def main() -> None:
        others = children()
        async with LocalProvider(slots=1) as provider:
            (server,) = map(int, children() - others)
            os.kill(server, signal.SIGSTOP)
            begun = time.monotonic()
            with pytest.raises(SandboxLost, match="did not answer within 10 s"):
                async with provider.session():
                    pass
            assert time.monotonic() - begun < 15
            os.kill(server, signal.SIGCONT)
            async with provider.session() as box:
                assert (await box.exec("echo 1")).stdout == "1\n"

    asyncio.run(main())


def test_a_program_that_cannot_be_begun_is_never_ok(local: Local) -> None:
    async def main() -> None:
        async with local.provider.session() as box:
            await box.exec("mkdir /box/main.py")
            result = await box.run_python("print(1)")
            assert (result.status, result.exit_code, result.stdout) == (Status.ERROR, 125, "")
            assert "IsADirectoryError" in result.stderr
            assert (await box.exec("echo 2")).stdout == "2\n"
        for options in ({"cmd": ["echo", "\ud800"]}, {"cmd": ["true"], "env": {"KEY": "\ud800"}}):
            result = await local.provider.run(**options)
            assert (result.status, result.exit_code) == (Status.ERROR, 125)
            assert "UnicodeEncodeError" in result.stderr

    local.wait(main)


HOARD_IN_A_CHILD = """
import mmap, os
if os.fork() == 0:
    held = [mmap.mmap(-1, 2**20) for _ in range(500)]
    for m in held: m[:] = bytes(2**20)
os.wait()
"""


def test_what_ran_out_of_memory_earlier_is_not_held_against_the_next_program(local: Local) -> None:
    if local.provider.isolation != "namespaces+cgroup":
        pytest.skip("this machine lets us make no control group")

    async def main() -> None:
        async with local.provider.session() as box:
            assert (await box.run_python(HOARD_IN_A_CHILD, timeout_s=20)).status is Status.OK
            killed = await box.run_python("import os\nos.kill(os.getpid(), 9)")
            assert (killed.status, killed.signal) == (Status.ERROR, 9)

    local.wait(main)
