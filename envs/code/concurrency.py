"""Do independent things side by side, and no more of them than needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class _Stop(Exception):
    """What is left need not be done."""


async def first_then_rest(
    work: Callable[[Item], Awaitable[Outcome]],
    items: Sequence[Item],
    *,
    stop: Callable[[Outcome], bool],
) -> list[Outcome]:
    """Do the first item alone, since most failures show there, then the others side by side.

    Returns:
        Outcomes, in the order in which they came. Once `stop` holds for one, what is left is cancelled.

    Raises:
        Exception: what `work` raised first; the others are cancelled.
    """
    outcomes: list[Outcome] = []

    async def one(item: Item) -> None:
        outcomes.append(await work(item))
        if stop(outcomes[-1]):
            raise _Stop

    try:
        for item in items[:1]:
            await one(item)
        async with asyncio.TaskGroup() as group:
            for item in items[1:]:
                group.create_task(one(item))
    except _Stop:
        pass
    except ExceptionGroup as faults:
        _, others = faults.split(_Stop)
        if others is not None:
            raise others.exceptions[0] from None
    return outcomes
