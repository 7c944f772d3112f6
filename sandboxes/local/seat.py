"""Room for one session at a time; the process behind it stays in its control groups between sessions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ..core import SandboxLimits, SandboxSpec
from ..errors import SandboxLost
from ..input import check_environment, check_files
from ..turnstile import Turnstile
from .cgroup import ControlGroup
from .channel import Channel
from .executor import GRACE_S, Executor
from .job import jail_limits
from .workspace import Workspace
from .world import World


class Seat:
    """Opens sessions, one after another.

    Args:
        fork: has the server fork the process behind a seat.
        make_group: makes the control group of this seat, where there are any.
    """

    def __init__(
        self, fork: Callable[[str], Awaitable[Channel]], make_group: Callable[[], ControlGroup | None]
    ) -> None:
        self._fork = fork
        self._make_group = make_group
        self._group: ControlGroup | None = None
        self._channel: Channel | None = None
        self._is_closed = False
        self._box: Workspace | None = None

    @asynccontextmanager
    async def session(self, spec: SandboxSpec, slots: Turnstile[Executor]) -> AsyncIterator[Workspace]:
        """Open a session, and end it with all that is in it.

        Raises:
            ValueError: the files do not fit, or a name is invalid.
            SandboxLost: it could not be opened.
        """
        files = check_files(spec.files, spec.limits)
        env = check_environment(spec.env)
        channel, folder = await self._open(spec.limits)

        async def fork_world() -> Channel:
            return channel.open_another({})

        worlds = [World(fork_world, spec.limits, self._group, adopts=False) for _ in range(2)]
        box = Workspace(folder, (worlds[0], worlds[1]), spec.limits, env, slots, lambda: _end(channel))
        self._box = box
        try:
            if files:
                await box.write(files)
            yield box
        finally:
            self._box = None
            await box.close()

    async def close(self) -> None:
        """End the session, if one is open, and the process behind this seat, for good."""
        self._is_closed = True
        if self._box is not None:
            await self._box.close()
        channel, self._channel = self._channel, None
        if channel is not None:
            await _end(channel)

    async def _open(self, limits: SandboxLimits) -> tuple[Channel, int]:
        """Have a session forked; returns the connection to it and its work folder."""
        seat = await self._sit()
        channel: Channel | None = None
        try:
            if self._group is not None:
                self._group.limit(limits)
            channel = seat.open_another({"limits": jail_limits(limits)})
            answer, descriptors = await channel.receive(GRACE_S)
            if "error" in answer:
                raise SandboxLost(f"a session could not be opened: {answer['error']}")
            if not descriptors:  # this process has none left to receive it with
                raise SandboxLost("a session could not be opened: its folder did not arrive")
        except BaseException as error:
            if channel is not None:
                channel.close()
            if isinstance(error, (SandboxLost, OSError)):
                self.stand_up()
            if isinstance(error, OSError):
                raise SandboxLost(f"a session could not be opened: {error}") from error
            raise
        return channel, descriptors[0]

    async def _sit(self) -> Channel:
        """Have the process behind this seat forked and counted, if it is not there."""
        self._check_open()
        if self._channel is not None:
            return self._channel
        channel = await self._fork("seat")
        try:
            hello, _ = await channel.receive(GRACE_S)
            self._check_open()
            self._group = self._group or self._make_group()
            if self._group is not None:
                self._group.adopt(hello["pid"])
        except BaseException as error:
            channel.close()
            if isinstance(error, OSError):
                raise SandboxLost(f"a session could not be opened: {error}") from error
            raise
        self._channel = channel
        return channel

    def _check_open(self) -> None:
        if self._is_closed:
            raise SandboxLost("the sandbox provider was closed")

    def stand_up(self) -> None:
        """Let go of the process, so that the next session gets a fresh one."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


async def _end(channel: Channel) -> None:
    """Hang up, and await that the other side is gone."""
    channel.hang_up()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            await channel.drain()
    channel.close()
