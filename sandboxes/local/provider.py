"""The `local` provider: warm slots for one-shot programs, seats for sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Self

from ..core import ExecResult, Sandbox, SandboxLimits, SandboxSpec
from ..errors import SandboxLost, SandboxUnavailable
from ..input import check_at_least_one, slots_or_default
from ..turnstile import Turnstile
from .channel import Channel
from .executor import Executor
from .job import one_shot
from .probe import explain, probe
from .seat import Seat
from .server import Server, StartFailed
from .world import World

_MODULES = (
    *(
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "fractions",
        "functools",
        "heapq",
    ),
    *("itertools", "json", "math", "operator", "random", "re", "statistics", "string", "typing"),
)
"""What programs import most: 3 MB once, instead of up to 100 ms each time."""


class LocalProvider:
    """Runs programs in Linux namespaces on this machine; see the package for what that covers.

    Args:
        slots: programs that run at once; `None` is the number of usable cores, at least 2.
        max_sessions: sessions open at once. A session mostly waits; what it runs takes a slot.
        preimport: modules of the standard library imported once, before any program starts.
        limits: limits of programs for which the caller names none.
    """

    name = "local"

    def __init__(
        self,
        *,
        slots: int | None = None,
        max_sessions: int = 64,
        preimport: Sequence[str] = _MODULES,
        limits: SandboxLimits | None = None,
    ) -> None:
        check_at_least_one("max_sessions", max_sessions)
        self.isolation = ""
        self._slot_count = slots_or_default(slots)
        self._max_sessions = max_sessions
        self._limits = limits or SandboxLimits()
        self._server = Server(tuple(preimport))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._reviving = asyncio.Lock()
        self._slots: Turnstile[Executor] | None = None
        self._worlds: list[World] = []
        self._seats: list[Seat] = []
        self._seat_turns: Turnstile[Seat] = Turnstile(())

    async def start(self) -> None:
        """Enter the jail, warm up the slots, and try to break out of one.

        Raises:
            SandboxUnavailable: the kernel refuses, or a way out was found.
        """
        async with self._starting:
            if self._slots is None:
                self._loop = asyncio.get_running_loop()
                await self._start()

    async def run(
        self,
        code: str | None = None,
        *,
        cmd: Sequence[str] | None = None,
        stdin: bytes | str = b"",
        files: Mapping[str, bytes | str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
        limits: SandboxLimits | None = None,
    ) -> ExecResult:
        """Run one program in a fresh world; see `SandboxProvider.run`."""
        job = one_shot(
            code, cmd, stdin=stdin, files=files, env=env, timeout_s=timeout_s, limits=limits or self._limits
        )
        async with (await self._ready()).turn() as slot:
            return await slot.run(job)

    @asynccontextmanager
    async def session(
        self, spec: SandboxSpec | None = None, *, wait_s: float | None = None
    ) -> AsyncIterator[Sandbox]:
        """Open one workspace; see `SandboxProvider.session`."""
        spec = spec or SandboxSpec(limits=self._limits)
        if spec.image is not None:
            raise ValueError(f"image is {spec.image!r}; the local provider has none, leave it out")
        slots = await self._ready()
        async with self._seat_turns.turn(wait_s) as seat, seat.session(spec, slots) as box:
            yield box

    async def close(self) -> None:
        """Kill everything and remove what the kernel kept for it. Never raises."""
        async with self._starting:
            self._slots = None
            worlds, seats, self._worlds, self._seats = self._worlds, self._seats, [], []
            closing = [world.close() for world in worlds] + [seat.close() for seat in seats]
            await asyncio.gather(*closing)
            await self._server.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _ready(self) -> Turnstile[Executor]:
        if self._slots is None:
            await self.start()
        if self._loop is not asyncio.get_running_loop():
            raise RuntimeError(
                "this sandbox provider was started in another event loop; make one for each loop, "
                "or ask shared_provider for it"
            )
        if self._slots is None:
            raise SandboxLost("the sandbox provider was closed while starting")
        return self._slots

    async def _start(self) -> None:
        try:
            await self._server.start()
        except StartFailed as error:
            raise SandboxUnavailable(explain(error)) from error
        try:
            self._worlds = [self._slot() for _ in range(self._slot_count)]
            self._seats = [Seat(self._fork, self._server.groups.group) for _ in range(self._max_sessions)]
            self._seat_turns = Turnstile(self._seats, reuses_warm=True)
            await asyncio.gather(*(world.open() for world in self._worlds))
            await probe(self._worlds[0])
        except BaseException as error:
            said = self._server.said()
            for world in self._worlds:
                world.kill()
            await self._server.close()
            if isinstance(error, (SandboxLost, OSError)):
                number = error.errno if isinstance(error, OSError) else None
                raise SandboxUnavailable(explain(StartFailed(said or str(error), number))) from error
            raise
        counted = self._server.groups.counts_memory
        self.isolation = "namespaces+cgroup" if counted else "namespaces"
        self._slots = Turnstile(self._worlds)

    def _slot(self) -> World:
        return World(lambda: self._fork("slot"), self._limits, self._server.groups.group(), adopts=True)

    async def _fork(self, kind: str) -> Channel:
        """Have the server fork; one that died is started again.

        Raises:
            SandboxLost: it is gone, and does not start again, for now.
        """
        async with self._reviving:
            if self._slots is not None and not self._server.is_alive:
                try:
                    await self._server.restart()
                except StartFailed as error:
                    raise SandboxLost(f"the interpreter server does not start again: {error}") from error
        return await self._server.fork(kind)
