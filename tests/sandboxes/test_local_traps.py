"""Mistakes that are easily made in such a jail, each kept out by a test."""

from __future__ import annotations

import asyncio
import platform
import time

import pytest
from local_on_loop import Local

from grpo_agent.sandboxes import Status


def test_killing_its_process_group_does_not_reach_the_server(local: Local) -> None:
    for _ in range(4):
        assert local.run("import os; os.kill(0, 9)").signal == 9
    assert local.run("print(1)").ok


@pytest.mark.parametrize(
    ("code", "signal"),
    [
        ("import os; os.kill(os.getpid(), 9)", 9),
        ("import os; os.kill(os.getpid(), 15)", 15),
        ("import os; os.abort()", 6),
        ("import ctypes; ctypes.string_at(0)", 11),
    ],
)
def test_a_program_is_not_process_one_and_dies_of_its_signals(local: Local, code: str, signal: int) -> None:
    result = local.run(code)
    assert (result.status, result.exit_code, result.signal) == (Status.ERROR, None, signal)


def test_a_program_sees_itself_in_proc_and_nothing_of_the_machine(local: Local) -> None:
    code = """
import os
print([n for n in os.listdir('/proc') if n.isdigit()] == [str(os.getpid())])
print([n for n in os.listdir('/proc') if not n.isdigit()])
"""
    assert local.run(code).stdout == "True\n['self', 'thread-self']\n"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an entry point of x86-64")
def test_the_32_bit_entry_point_is_closed(local: Local) -> None:
    code = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))  # getpid by int 0x80
print('ESCAPED', ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""
    result = local.run(code)
    assert result.signal == 31
    assert "ESCAPED" not in result.stdout


def test_new_calls_fail_in_the_way_libraries_expect(local: Local) -> None:
    code = """
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(435, 0, 0)  # clone3
print(ctypes.get_errno())
"""
    assert local.run(code).stdout == "38\n"


def test_many_callers_wait_about_equally_long(local: Local) -> None:
    async def main() -> list[float]:
        waits: list[float] = []

        async def caller() -> None:
            for _ in range(10):
                start = time.monotonic()
                await local.provider.run("pass")
                waits.append(time.monotonic() - start)

        await asyncio.gather(*(caller() for _ in range(8)))
        return sorted(waits)

    waits = local.wait(main)
    assert waits[-1] < 10 * waits[len(waits) // 2] + 0.2


def test_a_program_that_says_it_could_not_start_is_a_result_not_a_fault(local: Local) -> None:
    for code in ("import os; os._exit(125)", "raise SystemExit(124)"):
        assert local.run(code).status is Status.ERROR


def test_a_full_disk_does_not_break_the_next_command(local: Local) -> None:
    fill = """
import os
try:
    while True: open(str(len(os.listdir('.'))), 'wb').write(bytes(2**20))
except OSError: pass
"""

    async def main() -> None:
        async with local.provider.session() as box:
            assert (await box.run_python(fill)).ok
            result = await box.exec("rm 0 1 2; echo freed")
            assert result.stdout == "freed\n"
            assert (await box.run_python("print(1)")).stdout == "1\n"

    local.wait(main)
