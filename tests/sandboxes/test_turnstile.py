"""Turns are fair, bounded and never lost."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_agent.sandboxes import SandboxBusy
from grpo_agent.sandboxes.turnstile import Turnstile


def test_the_oldest_waiter_is_served_first_and_newcomers_do_not_pass() -> None:
    async def main() -> None:
        turns = Turnstile(["slot"])
        served: list[int] = []

        async def caller(number: int) -> None:
            async with turns.turn():
                served.append(number)
                await asyncio.sleep(0)
            async with turns.turn():  # again at once: has to queue up behind the others
                served.append(number)

        await asyncio.gather(*(caller(number) for number in range(5)))
        assert served == [0, 1, 2, 3, 4] * 2

    asyncio.run(main())


def test_a_bounded_wait_ends_with_busy() -> None:
    async def main() -> None:
        turns = Turnstile([1])
        async with turns.turn():
            with pytest.raises(SandboxBusy, match="all 1 sandboxes"):
                async with turns.turn(wait_s=0.01):
                    pass
        async with turns.turn(wait_s=0.01) as item:
            assert item == 1

    asyncio.run(main())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=20), st.booleans())
def test_cancelling_callers_loses_no_item(callers: list[tuple[int, bool]], reuses_warm: bool) -> None:
    async def main() -> None:
        turns = Turnstile(range(3), reuses_warm=reuses_warm)

        async def caller(steps: int) -> None:
            async with turns.turn():
                for _ in range(steps):
                    await asyncio.sleep(0)

        tasks = [asyncio.ensure_future(caller(steps)) for steps, _ in callers]
        await asyncio.sleep(0)
        for task, (_, cancels) in zip(tasks, callers, strict=True):
            if cancels:
                task.cancel()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        async with turns.turn(0.1) as a, turns.turn(0.1) as b, turns.turn(0.1) as c:
            assert sorted((a, b, c)) == [0, 1, 2]

    asyncio.run(main())


def test_warm_items_come_first_if_wanted() -> None:
    async def main() -> None:
        for reuses_warm, second in ((True, 0), (False, 1)):
            turns = Turnstile(range(3), reuses_warm=reuses_warm)
            async with turns.turn() as first:
                assert first == 0
            async with turns.turn() as item:
                assert item == second

    asyncio.run(main())
