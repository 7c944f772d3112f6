"""Running one program at a time somewhere, whatever the walls are made of."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from ..core import ExecResult
from ..errors import SandboxLost
from . import job as jobs
from .jail import protocol
from .job import Home, Job
from .streams import Streams

GRACE_S = 10.0
"""How long past its deadline a program may take to be killed and reaped."""


class Executor(ABC):
    """One place where programs run one after another; usable again after every fault."""

    home: Home

    @abstractmethod
    async def open(self) -> None:
        """Make the place, if there is none.

        Raises:
            SandboxLost: it could not be made.
        """

    @abstractmethod
    def send(self, order: protocol.Message, descriptors: tuple[int, ...]) -> None:
        """Start a program.

        Raises:
            SandboxLost: the place is gone.
        """

    @abstractmethod
    async def outcome(self, timeout_s: float | None) -> protocol.Message:
        """Await the kernel's account of the program.

        Args:
            timeout_s: when the program should have ended by itself or by its limit.

        Raises:
            SandboxLost: the place broke.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Have the running program killed."""

    @abstractmethod
    def kill(self) -> None:
        """End the place at once with all that is in it."""

    @abstractmethod
    async def close(self) -> None:
        """End the place, and await that nothing is left of it."""

    def ran_out(self, reply: protocol.Message) -> bool:
        """Whether the kernel killed this program for lack of memory."""
        return False

    def prepare(self, job: Job) -> None:
        """Set what holds for the place rather than for one process."""
        return

    async def run(self, job: Job) -> ExecResult:
        """Run one program. Cancelling kills it and leaves the place usable.

        Raises:
            SandboxLost: the place broke; the next call makes a fresh one.
        """
        await self.open()
        self.prepare(job)
        streams = Streams(job, self.cancel)
        try:
            self.send(job.order(), streams.open(job.payload(self.home)))
            streams.hand_over()
            reply = await self.outcome(job.timeout_s)
            return jobs.result(job, reply, *streams.captures, ran_out=self.ran_out(reply))
        except asyncio.CancelledError:
            streams.close()
            await self.abort()
            raise
        finally:
            streams.close()

    async def abort(self) -> None:
        """Have the running program killed and await that; if cancelled again, give up the place."""
        self.cancel()
        try:
            await self.outcome(0.0)
        except SandboxLost:
            return
        except asyncio.CancelledError:
            self.kill()
            raise
