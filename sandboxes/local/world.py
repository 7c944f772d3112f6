"""The provider's side of one world of the interpreter server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable

from ..core import SandboxLimits
from ..errors import SandboxLost
from ..readiness import readable
from . import job as jobs
from .cgroup import ControlGroup
from .channel import Channel
from .executor import GRACE_S, Executor
from .jail import protocol, root
from .job import Home, Job

_CLOSED = "this sandbox was closed"

Opener = Callable[[], Awaitable[Channel]]


class World(Executor):
    """One process namespace; opened when first used and again after a loss.

    Args:
        opener: has the server fork it.
        limits: what the first program is expected to have.
        group: counts what runs here.
        adopts: whether the world has to be moved into the group, or is forked inside it.
    """

    home = Home(root.WORKSPACE, f"{root.SCRATCH}/main.py")

    def __init__(
        self, opener: Opener, limits: SandboxLimits, group: ControlGroup | None, *, adopts: bool
    ) -> None:
        self._opener = opener
        self._limits = limits
        self._group = group
        self._adopts = adopts
        self._channel: Channel | None = None
        self._process = -1
        self._is_closed = False

    async def open(self) -> None:
        """Have the server fork the world; see `Executor.open`."""
        self._check_open()
        if self._channel is not None:
            return
        channel = await self._opener()
        try:
            hello, _ = await channel.receive(GRACE_S)
            self._check_open()
            self._process = os.pidfd_open(hello["pid"])
            if self._group is not None and self._adopts:
                self._group.adopt(hello["pid"])
            channel.send({"limits": jobs.jail_limits(self._limits)})
        except BaseException as error:
            channel.close()
            self._drop_process()
            if isinstance(error, OSError):
                raise SandboxLost(f"a sandbox could not be set up: {error}") from error
            raise
        self._channel = channel

    def prepare(self, job: Job) -> None:
        """Set the bounds of the control group, and forget what it counted before.

        Raises:
            SandboxLost: the kernel refuses.
        """
        if self._group is not None:
            try:
                self._group.limit(job.limits)
                self._group.ran_out()  # what an earlier program did is no concern of this one
            except OSError as error:
                self.kill()
                raise SandboxLost(f"the limits of a sandbox could not be set: {error}") from error

    def send(self, order: protocol.Message, descriptors: tuple[int, ...]) -> None:
        """Send the order to run a program; see `Executor.send`."""
        if self._channel is None:
            raise SandboxLost(_CLOSED)
        try:
            self._channel.send(order, descriptors)
        except SandboxLost:
            self.kill()
            raise

    async def outcome(self, timeout_s: float | None) -> protocol.Message:
        """Await the kernel's account of the program; see `Executor.outcome`."""
        if self._channel is None:
            raise SandboxLost(_CLOSED)
        try:
            async with asyncio.timeout(None if timeout_s is None else timeout_s + GRACE_S):
                reply, _ = await self._channel.receive()
        except TimeoutError:
            self.kill()
            raise SandboxLost(f"a program was not cleared away {GRACE_S} s after its deadline") from None
        except SandboxLost:
            self.kill()
            raise
        if reply["fault"] is not None:
            raise SandboxLost(f"a program could not be started: {reply['fault']}")
        if self._is_closed and reply["why"] == "cancel":
            raise SandboxLost(_CLOSED)  # ended by us, not by anything that it did
        return reply

    def cancel(self) -> None:
        """Ask for the running program to be killed."""
        if self._channel is not None:
            with contextlib.suppress(SandboxLost):  # gone, and the program with it
                self._channel.send({"do": "cancel"})

    def ran_out(self, reply: protocol.Message) -> bool:
        """Whether the kernel killed this program for lack of memory."""
        return reply["signal"] == signal.SIGKILL and self._group is not None and self._group.ran_out()

    def kill(self) -> None:
        """End the world at once, from outside; the kernel takes all that is in it."""
        if self._process != -1:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        self._drop_process()

    async def close(self) -> None:
        """End the world for good, and await that nothing of it is left."""
        self._is_closed = True
        if self._channel is None:
            return
        with contextlib.suppress(SandboxLost, TimeoutError):
            async with asyncio.timeout(GRACE_S):
                self._channel.send({"do": "close"})
                await readable(self._process)
        self.kill()

    def _check_open(self) -> None:
        if self._is_closed:
            raise SandboxLost(_CLOSED)

    def _drop_process(self) -> None:
        if self._process != -1:
            os.close(self._process)
            self._process = -1
