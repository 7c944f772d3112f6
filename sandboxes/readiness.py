"""Awaiting that a descriptor can be read."""

from __future__ import annotations

import asyncio


async def readable(descriptor: int) -> None:
    """Return once `descriptor` has something to read, or its other end is gone."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
