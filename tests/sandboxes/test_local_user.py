"""The local provider works for an ordinary user too; other tests run as whoever runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import grpo_agent

NOBODY = 65534
PROGRAM = """
import asyncio, socket
from grpo_agent.sandboxes import SandboxLimits
from grpo_agent.sandboxes.local import LocalProvider
from grpo_agent.sandboxes.hostile import hostile_programs
from grpo_agent.sandboxes.testing import CHECKS
HOARD = '''
import os, time
for _ in range(16):
    if os.fork() == 0:
        held = bytearray(100 * 2**20)
        for i in range(0, len(held), 4096): held[i] = 1
        time.sleep(5)
time.sleep(5)
'''
async def main():
    async with LocalProvider(slots=2) as provider:
        print(provider.isolation)
        for name in ('outcomes', 'input', 'session', 'reading', 'console', 'cancellation', 'many sessions'):
            await CHECKS[name](provider)
        result = await provider.run(HOARD, timeout_s=4, limits=SandboxLimits(memory_bytes=300 * 2**20))
        assert result.status in ('oom', 'killed'), result
        with socket.create_server(('127.0.0.1', 0)) as listener:
            port = listener.getsockname()[1]
            for program in hostile_programs(port=port, secret_path='/etc/shadow', secret='no such secret'):
                if program.name in ('recurse', 'match for ever', 'compute for ever', 'stop itself'): continue
                result = await provider.run(program.code, timeout_s=program.timeout_s)
                assert 'ESCAPED' not in result.stdout, (program.name, result)
                assert (await provider.run('print(1)')).ok
    print('done')
asyncio.run(main())
"""


def interpreter_of_everyone() -> str | None:
    """An interpreter that another user can run with this package."""
    for candidate in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        try:
            if candidate and run(candidate, "import grpo_agent.sandboxes.testing").returncode == 0:
                return candidate
        except PermissionError:
            continue
    return None


def run(interpreter: str, program: str) -> subprocess.CompletedProcess[str]:
    folder = str(Path(grpo_agent.__file__).parents[1])
    return subprocess.run(
        [interpreter, "-c", program],
        env={"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.defpath},
        cwd="/",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_gets_the_same_isolation() -> None:
    interpreter = interpreter_of_everyone()
    if interpreter is None:
        pytest.skip("no interpreter of this machine is readable by other users together with this package")
    result = run(interpreter, PROGRAM)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] in ("namespaces", "namespaces+cgroup")
    assert result.stdout.endswith("done\n")
