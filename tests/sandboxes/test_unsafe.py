"""The `unsafe` provider says what it is, and cleans up what it can."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from grpo_agent.sandboxes import Status, unsafe
from grpo_agent.sandboxes.unsafe import UnsafeProvider


def test_it_warns_and_its_docstring_tells_what_is_not_protected(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with UnsafeProvider() as provider:
            assert provider.isolation == "none"

    asyncio.run(main())
    assert "programs run as plain processes of this user" in caplog.text
    assert "does NOT protect" in str(unsafe.__doc__)


def test_the_environment_of_the_caller_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "x")

    async def main() -> None:
        async with UnsafeProvider() as provider:
            result = await provider.run("import os; print('SECRET_TOKEN' in os.environ)")
            assert result.stdout == "False\n"

    asyncio.run(main())


def test_a_timeout_takes_the_process_group() -> None:
    code = "import os, time\nif os.fork() == 0: os.write(1, b'%d ' % os.getpid())\ntime.sleep(60)"

    async def main() -> None:
        async with UnsafeProvider() as provider:
            result = await provider.run(code, timeout_s=1)
            assert result.status is Status.TIMEOUT
            children.append(int(result.stdout))

    children: list[int] = []
    asyncio.run(main())
    memory = Path(f"/proc/{children[0]}/statm")
    assert not memory.exists() or memory.read_text().startswith("0 ")


def test_folders_and_descriptors_go_away() -> None:
    async def main() -> None:
        async with UnsafeProvider() as provider:
            before = set(os.listdir("/proc/self/fd"))
            folder = (await provider.run("import os; print(os.getcwd())")).stdout.strip()
            assert not os.access(folder, os.F_OK)
            async with provider.session() as box:
                folder = (await box.exec("pwd")).stdout.strip()
                assert os.access(folder, os.F_OK)
            assert not os.access(folder, os.F_OK)
            assert set(os.listdir("/proc/self/fd")) == before
        assert not os.access(os.path.dirname(os.path.dirname(folder)), os.F_OK)

    asyncio.run(main())
