"""Each limit of the local provider holds, and for the whole tree of processes."""

from __future__ import annotations

import pytest
from local_on_loop import Local

from grpo_agent.sandboxes import SandboxLimits, Status

MIB = 2**20

SPAWN = """
import os, sys, time
children = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        children += 1
except OSError:
    pass
print(children)
"""

HOARD = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        held = bytearray(100 * 2**20)
        for i in range(0, len(held), 4096): held[i] = 1
        print('held', flush=True)
        time.sleep(5)
        os._exit(0)
time.sleep(3)
"""


@pytest.mark.parametrize("timeout_s", [0.1, 0.5])
def test_a_timeout_is_precise(local: Local, timeout_s: float) -> None:
    result = local.run("while True: pass", timeout_s=timeout_s)
    assert result.status is Status.TIMEOUT
    assert timeout_s <= result.wall_s < timeout_s + 0.25  # 20 ms on an idle machine


def test_a_timeout_takes_processes_that_ignore_signals_and_leave_the_session(local: Local) -> None:
    code = """
import os, signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
time.sleep(60)
"""
    assert local.run(code, timeout_s=0.3).status is Status.TIMEOUT
    assert local.run("import os; print(sum(n.isdigit() for n in os.listdir('/proc')))").stdout == "1\n"


def test_processor_time_is_bounded_below_the_wall_time(local: Local) -> None:
    result = local.run("while True: pass", timeout_s=30, limits=SandboxLimits(cpu_s=1))
    assert result.status is Status.TIMEOUT
    assert result.wall_s < 20


def test_processes_are_counted_to_the_limit(local: Local) -> None:
    result = local.run(SPAWN, limits=SandboxLimits(max_processes=10))
    assert result.stdout == "9\n"  # and the program itself


def test_threads_count_as_processes(local: Local) -> None:
    code = """
import threading, time
try:
    for n in range(100): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
except RuntimeError: print(n)
"""
    result = local.run(code, limits=SandboxLimits(max_processes=8))
    assert result.stdout == "7\n"


def test_one_process_gets_a_memory_error_at_the_limit(local: Local) -> None:
    result = local.run("x = bytearray(300 * 2**20)", limits=SandboxLimits(memory_bytes=256 * MIB))
    assert result.status is Status.ERROR
    assert "MemoryError" in result.stderr


def test_memory_is_counted_over_the_whole_tree(local: Local) -> None:
    limits = SandboxLimits(memory_bytes=300 * MIB, disk_bytes=16 * MIB)
    result = local.run(HOARD, timeout_s=8, limits=limits)
    assert result.stdout.count("held") <= 3  # of 10 that want 100 MiB each


def test_a_tree_that_grows_together_is_out_of_memory(local: Local) -> None:
    code = (
        "import mmap\nheld = [mmap.mmap(-1, 2**20) for _ in range(900)]\nfor m in held: m[:] = bytes(2**20)"
    )
    result = local.run(code, timeout_s=20, limits=SandboxLimits(memory_bytes=200 * MIB))
    assert result.status is Status.OOM  # shared mappings escape the limit of one process
    assert local.run("print(1)").ok


@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/dev/shm"])
def test_space_is_bounded_in_all_folders_together(local: Local, folder: str) -> None:
    code = f"""
written = 0
try:
    for n in range(100):
        with open('{folder}/' + str(n), 'wb', buffering=0) as file: written += file.write(bytes(2**20))
except OSError as error: print(written, error.strerror)
"""
    result = local.run(code, limits=SandboxLimits(disk_bytes=8 * MIB))
    written, _, reason = result.stdout.partition(" ")
    assert 6 * MIB < int(written) <= 8 * MIB
    assert reason == "No space left on device\n"


def test_inodes_are_bounded(local: Local) -> None:
    code = """
try:
    for n in range(1000): open('/tmp/' + str(n), 'w').close()
except OSError as error: print(n, error.strerror)
"""
    result = local.run(code, limits=SandboxLimits(max_files=100))
    count, _, reason = result.stdout.partition(" ")
    assert 95 <= int(count) <= 100
    assert reason == "No space left on device\n"


def test_the_size_of_one_file_is_bounded(local: Local) -> None:
    code = "open('f', 'wb', buffering=0).truncate(2**21)"
    result = local.run(code, limits=SandboxLimits(max_file_bytes=MIB))
    assert "File too large" in result.stderr


def test_open_files_are_bounded(local: Local) -> None:
    code = """
held = []
try:
    while True: held.append(open('/dev/null'))
except OSError as error: print(len(held), error.strerror)
"""
    result = local.run(code, limits=SandboxLimits(max_open_files=20))
    assert result.stdout == "17 Too many open files\n"


def test_a_flood_of_output_is_cut_while_it_runs(local: Local) -> None:
    result = local.run("while True: print('x' * 10000)", limits=SandboxLimits(max_output_bytes=50_000))
    assert result.status is Status.OUTPUT_LIMIT
    assert len(result.stdout) == 50_000
    assert result.wall_s < 5


def test_limits_may_differ_from_run_to_run(local: Local) -> None:
    for megabytes in (4, 12, 4):
        result = local.run(
            "import os; s = os.statvfs('/workspace'); print(s.f_blocks * s.f_frsize)",
            limits=SandboxLimits(disk_bytes=megabytes * MIB),
        )
        assert result.stdout == f"{megabytes * MIB}\n"
