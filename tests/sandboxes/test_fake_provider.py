"""The fake answers as scripted."""

from __future__ import annotations

import asyncio

import pytest

from grpo_agent.sandboxes import (
    FileAccessError,
    Sandbox,
    SandboxLost,
    SandboxProvider,
    SandboxSpec,
    Status,
)
from grpo_agent.sandboxes.testing import CHECKS, FakeProvider, check_provider, exec_result


def test_the_fake_gives_its_outcomes_in_order_and_then_succeeds() -> None:
    async def main() -> None:
        outcomes = [exec_result("a"), SandboxLost("gone"), exec_result(status=Status.TIMEOUT, exit_code=None)]
        async with FakeProvider(outcomes) as provider:
            assert isinstance(provider, SandboxProvider)
            assert (await provider.run("1", stdin="in")).stdout == "a"
            with pytest.raises(SandboxLost, match="gone"):
                await provider.run("2")
            assert (await provider.run(cmd=["x"])).status is Status.TIMEOUT
            assert (await provider.run("3")).ok
            assert [call.code for call in provider.calls] == ["1", "2", None, "3"]
            assert provider.calls[0].stdin == b"in"

    asyncio.run(main())


def test_the_fake_may_decide_by_the_call_and_keeps_files() -> None:
    async def main() -> None:
        provider = FakeProvider(lambda call: exec_result(str(call.code)))
        async with provider.session(SandboxSpec(files={"a": "1"})) as box:
            assert isinstance(box, Sandbox)
            assert provider.open_sessions == 1
            assert (await box.run_python("x")).stdout == "x"
            await box.write({"b": "2"})
            assert await box.read("b") == b"2"
            with pytest.raises(FileAccessError, match="No such file"):
                await box.read("c")
        assert provider.open_sessions == 0
        with pytest.raises(SandboxLost, match="closed"):
            await box.exec("true")

    asyncio.run(main())


def test_the_suite_finds_a_provider_that_does_nothing() -> None:
    with pytest.raises(AssertionError, match="both streams are returned"):
        asyncio.run(check_provider(FakeProvider()))


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "misuse"])
def test_each_part_of_the_suite_can_fail(name: str) -> None:
    with pytest.raises((AssertionError, FileAccessError), match=r"seen|raises|cannot read"):
        asyncio.run(CHECKS[name](FakeProvider()))
