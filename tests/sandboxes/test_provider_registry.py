"""Providers by name, shared within a loop."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from grpo_agent import sandboxes
from grpo_agent.sandboxes import close_shared_providers, make_provider, shared_provider


def test_the_public_names_are_sorted_and_there() -> None:
    assert sandboxes.__all__ == sorted(sandboxes.__all__)
    assert all(hasattr(sandboxes, name) for name in sandboxes.__all__)


def test_an_unknown_provider_names_the_nearest_and_all() -> None:
    with pytest.raises(ValueError, match=r"'lokal'; did you mean 'local'\? there are: local, unsafe"):
        make_provider("lokal")


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'local' refuses its options \{'slotz': 1\}"):
        make_provider("local", slotz=1)


@pytest.mark.parametrize("name", ["local", "unsafe"])
@pytest.mark.parametrize("option", ["slots", "max_sessions"])
def test_counts_are_positive(name: str, option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is 0; it must be at least 1"):
        make_provider(name, **{option: 0})


def test_equal_arguments_share_a_provider_within_a_loop_only() -> None:
    async def main() -> object:
        first = shared_provider("unsafe", slots=1)
        assert shared_provider("unsafe", slots=1) is first
        assert shared_provider("unsafe", slots=2) is not first
        assert (await first.run("print(1)")).ok
        await close_shared_providers()
        assert shared_provider("unsafe", slots=1) is not first
        await close_shared_providers()
        return first

    assert asyncio.run(main()) is not asyncio.run(main())


def test_importing_the_names_loads_no_provider() -> None:
    code = "import sys, grpo_agent.sandboxes; print([m for m in sys.modules if 'local' in m and 'grpo' in m])"
    result = asyncio.run(_run(code))
    assert result == "[]\n"


async def _run(code: str) -> str:
    async with make_provider("unsafe") as provider:
        result = await provider.run(code)
        assert result.ok, result.stderr
        return result.stdout


def test_providers_of_a_loop_that_was_closed_are_let_go() -> None:
    async def ask() -> weakref.ref[object]:
        return weakref.ref(shared_provider("unsafe"))

    left = asyncio.run(ask())
    asyncio.run(ask())
    gc.collect()
    assert left() is None
