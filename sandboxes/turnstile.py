"""A bounded set of things to take turns with, handed straight to whoever has waited longest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from .errors import SandboxBusy

T = TypeVar("T")


class Turnstile(Generic[T]):
    """First come, first served, also under load: a freed item never passes a waiter by.

    A plain queue wakes a waiter and lets a newcomer snatch the item first; with many callers some then
    wait for seconds.

    Args:
        items: what is taken turns with.
        reuses_warm: whether the item used last is used next, or the one that rested longest.
    """

    def __init__(self, items: Iterable[T], *, reuses_warm: bool = False) -> None:
        self._free = deque(items)
        self._reuses_warm = reuses_warm
        self._size = len(self._free)
        self._waiting: deque[asyncio.Future[T]] = deque()

    @asynccontextmanager
    async def turn(self, wait_s: float | None = None) -> AsyncIterator[T]:
        """Hold one item.

        Args:
            wait_s: seconds to wait for it; `None` waits without bound.

        Raises:
            SandboxBusy: none became free within `wait_s`.
        """
        item = await self._take(wait_s)
        try:
            yield item
        finally:
            self._give(item)

    async def _take(self, wait_s: float | None) -> T:
        if self._free:
            return self._free.popleft()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            async with asyncio.timeout(wait_s):
                return await future
        except BaseException as error:
            if future.done() and not future.cancelled():
                self._give(future.result())
            elif future in self._waiting:
                self._waiting.remove(future)
            if isinstance(error, TimeoutError):
                message = f"all {self._size} sandboxes of this kind stayed in use for {wait_s} s"
                raise SandboxBusy(message) from None
            raise

    def _give(self, item: T) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(item)
                return
        if self._reuses_warm:
            self._free.appendleft(item)
        else:
            self._free.append(item)
