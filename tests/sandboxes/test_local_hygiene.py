"""The local provider leaves nothing behind: after runs, after sessions, after its own death."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from local_on_loop import Local

from grpo_agent.sandboxes import SandboxBusy, SandboxLost, SandboxSpec, Status
from grpo_agent.sandboxes.local import LocalProvider

BUSY = '''
import asyncio, sys
from grpo_agent.sandboxes.local import LocalProvider
from grpo_agent.sandboxes import SandboxSpec
CODE = """
import os, time
for _ in range(3): os.fork()
if os.getpid() % 2: os.setsid()
time.sleep(100)
"""
async def episode(provider):
    async with provider.session() as box:
        await box.run_python("x = 1", keep_state=True)
        await box.run_python(CODE, timeout_s=100)
async def main():
    async with LocalProvider(slots=4) as provider:
        print('ready', flush=True)
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(provider.run(CODE, timeout_s=100))
                group.create_task(episode(provider))
            await asyncio.sleep(1.5)
            print('busy', flush=True)
asyncio.run(main())
'''


def descendants(pid: int) -> set[int]:
    """All processes below `pid`."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {pid}
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found - {pid}


def groups() -> set[str]:
    """Control groups of this process's providers."""
    return {str(path) for path in Path("/sys/fs/cgroup").glob(f"**/grpo-agent.{os.getpid()}.*")}


def footprint() -> tuple[int, int, int, int]:
    """Processes below this one, control groups, mounts and descriptors."""
    mounts = Path("/proc/self/mounts").read_text().count("\n")
    return len(descendants(os.getpid())), len(groups()), mounts, len(os.listdir("/proc/self/fd"))


async def settles_at(wanted: tuple[int, int, int, int]) -> bool:
    """Whether the footprint comes to this; what was killed takes a moment to be gone."""
    for _ in range(100):
        if footprint() == wanted:
            return True
        await asyncio.sleep(0.03)
    return footprint() == wanted


def test_many_runs_and_sessions_leave_nothing() -> None:
    async def main() -> None:
        await asyncio.sleep(0.3)  # until every slot of other tests has parked its next program
        before = footprint()
        async with LocalProvider(slots=2) as provider:

            async def episode(number: int) -> None:
                async with provider.session(SandboxSpec(files={"n": str(number)})) as box:
                    await box.run_python("open('x', 'w')", keep_state=number % 2 == 0)

            async with asyncio.TaskGroup() as group:
                for number in range(4):
                    group.create_task(episode(number))
            await provider.run("pass")
            await asyncio.sleep(0.5)
            settled = footprint()
            for number in range(20):
                async with asyncio.TaskGroup() as group:
                    for _ in range(9):
                        group.create_task(provider.run("import os\nos.fork()"))
                    group.create_task(episode(number))
            assert await settles_at(settled), (settled, footprint())
        assert await settles_at(before), (before, footprint())

    asyncio.run(main())


@pytest.mark.parametrize("victim", ["trainer", "server"])
def test_nothing_survives_a_kill(victim: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == b"ready\n"
        assert trainer.stdout.readline() == b"busy\n"
        family = descendants(trainer.pid)
        assert len(family) > 30
        server = min(family)
        os.kill(trainer.pid if victim == "trainer" else server, signal.SIGKILL)
        deadline = time.monotonic() + 1.0
        while left := [pid for pid in family if is_alive(pid)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.01)
        trainer.kill()


def is_alive(pid: int) -> bool:
    """Whether a process still has memory; a dead one may wait long for a lazy process 1 to reap it."""
    try:
        return not Path(f"/proc/{pid}/statm").read_text().startswith("0 ")
    except OSError:
        return False


def test_a_dead_server_is_started_again() -> None:
    async def main() -> None:
        async with LocalProvider(slots=2) as provider:
            server = min(descendants(os.getpid()) - others)
            running = asyncio.ensure_future(provider.run("import time\ntime.sleep(60)", timeout_s=60))
            await asyncio.sleep(0.2)
            os.kill(server, signal.SIGKILL)
            with pytest.raises(SandboxLost, match="ended"):
                await running
            outcomes = [await attempt(provider) for _ in range(6)]
            assert outcomes[-3:] == ["1\n"] * 3
            async with provider.session() as box:
                assert (await box.exec("echo 2")).stdout == "2\n"

    async def attempt(provider: LocalProvider) -> str:
        try:
            return (await provider.run("print(1)")).stdout
        except SandboxLost:
            return "lost"

    others = descendants(os.getpid())
    asyncio.run(main())


def test_cancelling_kills_the_program_and_keeps_the_slot(local: Local) -> None:
    async def main() -> None:
        await asyncio.sleep(0.2)  # until every slot has parked its next program
        before = descendants(os.getpid())
        tasks = [
            asyncio.ensure_future(
                local.provider.run("import os, time\nos.fork()\ntime.sleep(60)", timeout_s=60)
            )
            for _ in range(4)
        ]
        await asyncio.sleep(0.3)
        assert len(descendants(os.getpid())) > len(before)
        for task in tasks:
            task.cancel()
        assert [type(result) for result in await asyncio.gather(*tasks, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 4
        assert (await local.provider.run("print(1)")).stdout == "1\n"
        await asyncio.sleep(0.2)
        assert len(descendants(os.getpid())) == len(before)

    local.wait(main)


def test_cancelling_at_any_moment_leaves_the_provider_whole(local: Local) -> None:
    async def main() -> None:
        for step in range(40):
            task = asyncio.ensure_future(local.provider.run("print(1)"))
            for _ in range(step % 10):
                await asyncio.sleep(0)
            await asyncio.sleep(step * 0.0002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        results = await asyncio.gather(*(local.provider.run("print(1)") for _ in range(4)))
        assert {result.stdout for result in results} == {"1\n"}

    local.wait(main)


def test_sessions_are_bounded_and_the_wait_for_one_too() -> None:
    async def main() -> None:
        async with LocalProvider(slots=2, max_sessions=1) as provider, provider.session():
            with pytest.raises(SandboxBusy, match=r"stayed in use for 0\.1 s"):
                async with provider.session(wait_s=0.1):
                    pass
            assert (await provider.run("print(1)")).ok

    asyncio.run(main())


def test_a_program_in_a_session_leaves_no_process_behind(local: Local) -> None:
    async def main() -> None:
        async with local.provider.session() as box:
            await box.exec("sleep 100 & setsid sleep 100 & echo started")
            result = await box.run_python("import os; print(sum(n.isdigit() for n in os.listdir('/proc')))")
            assert result.stdout == "1\n"
            await box.run_python("import subprocess; p = subprocess.Popen(['sleep', '100'])", keep_state=True)
            result = await box.run_python("print(p.poll())", keep_state=True)
            assert result.stdout == "None\n"  # what the console started lives as long as the console

    local.wait(main)


def test_the_console_leaves_out_of_memory_by_name(local: Local) -> None:
    code = (
        "import mmap\nheld = [mmap.mmap(-1, 2**20) for _ in range(900)]\nfor m in held: m[:] = bytes(2**20)"
    )

    async def main() -> None:
        async with local.provider.session() as box:
            result = await box.run_python(code, keep_state=True, timeout_s=20)
            assert result.status is Status.OOM
            assert "restarted" in result.stderr
            assert (await box.run_python("print(1)", keep_state=True)).stdout == "1\n"

    local.wait(main)
