"""Where the jail cannot be had, the local provider refuses and says what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from grpo_agent.sandboxes.local.probe import explain
from grpo_agent.sandboxes.local.server import StartFailed

ATTEMPT = """
import asyncio
from grpo_agent.sandboxes import SandboxUnavailable
from grpo_agent.sandboxes.local import LocalProvider
async def main():
    try:
        print('ran', await LocalProvider(slots=2).run('print(1)'))
    except SandboxUnavailable as error:
        print(error)
asyncio.run(main())
"""
FILTERED = """
import os
from grpo_agent.sandboxes.local.jail import kernel, seccomp
kernel.libc.prctl(38, 1, 0, 0, 0)
seccomp.install(seccomp.build_filter(os.uname().machine, with_memfd=True))
"""
MASKED = """
import asyncio
from grpo_agent.sandboxes import SandboxLimits
from grpo_agent.sandboxes.local import LocalProvider
HOARD = '''
import os, time
for _ in range(16):
    if os.fork() == 0:
        held = bytearray(50 * 2**20)
        for i in range(0, len(held), 4096): held[i] = 1
        time.sleep(5)
time.sleep(5)
'''
async def main():
    async with LocalProvider(slots=2) as provider:
        print(provider.isolation)
        print((await provider.run("import os; print(os.listdir('/proc'))")).stdout, end='')
        print((await provider.run(HOARD, limits=SandboxLimits(memory_bytes=200 * 2**20))).status)
asyncio.run(main())
"""
REMAINS = "sandbox=unsafe runs programs as plain processes"


def attempt(*command: str, setup: str = "", program: str = ATTEMPT) -> str:
    result = subprocess.run(
        [*command, sys.executable, "-c", setup + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare(1)")
def test_user_namespaces_switched_off() -> None:
    off = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    said = attempt("unshare", "-Ur", "sh", "-c", off, "sh")
    assert "User namespaces are switched off: sysctl user.max_user_namespaces" in said
    assert REMAINS in said


def test_a_container_that_filters_system_calls() -> None:
    said = attempt(setup=FILTERED)
    assert "unshare" in said
    assert "--security-opt seccomp=unconfined" in said
    assert REMAINS in said


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare(1)")
def test_a_container_that_masks_proc_still_has_the_jail_and_its_memory_limit() -> None:
    """As in Docker without a system call filter: parts of /proc are covered, so no new one is allowed."""
    mask = 'mount -t tmpfs none /proc/bus && mount -t tmpfs none /sys/fs/cgroup; exec unshare -Ur "$@"'
    said = attempt("unshare", "-Urm", "sh", "-c", mask, "sh", program=MASKED)
    assert said.splitlines() == ["namespaces", "[]", "oom"]


def test_an_interpreter_that_does_not_start() -> None:
    said = explain(StartFailed("the interpreter /usr/bin/python3 does not start: no module named os", None))
    assert said.startswith("the local sandbox cannot be had here: the interpreter /usr/bin/python3")
    assert REMAINS in said
