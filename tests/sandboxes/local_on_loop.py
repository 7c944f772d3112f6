"""A local provider on a loop of its own, for synchronous tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from grpo_agent.sandboxes import ExecResult
from grpo_agent.sandboxes.local import LocalProvider

T = TypeVar("T")


class Local:
    """One provider on one loop; the loop runs only while something is awaited."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self.provider = LocalProvider(slots=2)
        self.wait(self.provider.start)

    def wait(self, function: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function to its end."""

        async def call() -> T:
            return await function()

        return self._runner.run(call())

    def run(self, code: str, **options: object) -> ExecResult:
        """Run one program."""
        return self.wait(lambda: self.provider.run(code, **options))

    def close(self) -> None:
        """End the provider and the loop."""
        self.wait(self.provider.close)
        self._runner.close()
