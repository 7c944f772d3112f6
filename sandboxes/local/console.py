"""A persistent interpreter inside a session."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from ..core import ExecResult, Status
from ..errors import SandboxLost
from . import job as jobs
from .channel import Channel
from .executor import Executor
from .job import Job
from .streams import Streams

RESTART_NOTICE = "[the interpreter was restarted: its variables and imports are gone]\n"


_MAX_STRAY = 100
"""Packets that answer nothing, in one call; an honest interpreter sends none."""


class _Flooded(Exception):
    """The program writes into the channel of the interpreter."""


class Console:
    """Runs source in one interpreter whose globals last, until a timeout or crash ends it.

    What the interpreter answers is the program's own word, worth no more than its output; how it ended
    is the kernel's.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._channel: Channel | None = None
        self._count = 0

    async def run(self, job: Job) -> ExecResult:
        """Run source. Cancelling ends the interpreter.

        Raises:
            SandboxLost: the world broke.
        """
        channel = self._channel or await self._start(job)
        start = time.monotonic()
        streams = Streams(job, self._executor.cancel)
        try:
            given = streams.open((job.code or "").encode("utf-8", "surrogatepass"))
            self._send(channel, given)
            streams.hand_over()
            reply = await self._answer(channel, job)
            reply = {**reply, "wall_s": time.monotonic() - start}
            result = jobs.result(job, reply, *streams.captures, ran_out=self._executor.ran_out(reply))
        finally:
            streams.close()
        if self._channel is not None:
            return result
        status = Status.KILLED if result.status is Status.OK else result.status
        return replace(result, status=status, stderr=result.stderr + RESTART_NOTICE)

    async def close(self) -> None:
        """End the interpreter and its world."""
        self._hang_up()
        await self._executor.close()

    async def _start(self, job: Job) -> Channel:
        await self._executor.open()
        self._executor.prepare(job)
        here, there = Channel.pair()
        order = {**job.order(), "timeout_s": None}
        try:
            with there, ExitStack() as given:
                nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                given.callback(os.close, nothing)
                payload = jobs.memory_file(job.payload(self._executor.home, is_console=True))
                given.callback(os.close, payload)
                self._executor.send(order, (payload, nothing, nothing, nothing, there.fileno()))
        except BaseException as error:
            here.close()
            if isinstance(error, OSError):
                raise SandboxLost(f"an interpreter could not be given its input: {error}") from error
            raise
        self._channel = here
        return here

    def _send(self, channel: Channel, given: tuple[int, ...]) -> None:
        self._count += 1
        with suppress(SandboxLost):  # it ended between two calls: what comes next finds that out
            channel.send({"count": self._count}, given)

    async def _answer(self, channel: Channel, job: Job) -> dict[str, Any]:  # Any: a message of the protocol
        """Await the end of this source, or of the interpreter."""
        why = None
        try:
            async with asyncio.timeout(job.timeout_s):
                return {**_QUIET, "code": await self._own_answer(channel)}
        except _Flooded:
            why = "flood"
            self._executor.cancel()
        except SandboxLost:
            self._executor.cancel()
        except TimeoutError:
            why = "timeout"
            self._executor.cancel()
        except asyncio.CancelledError:
            self._hang_up()
            await self._executor.abort()
            raise
        self._hang_up()
        reply = await self._executor.outcome(0.0)
        return {**reply, "why": why or (None if reply["why"] == "cancel" else reply["why"])}

    async def _own_answer(self, channel: Channel) -> int:
        """The exit code that the interpreter gives for this call; little else that it says is passed over.

        Raises:
            _Flooded: it goes on saying something else.
            SandboxLost: it ended.
        """
        for _ in range(_MAX_STRAY):
            count, _, code = (await channel.receive_bytes(64)).partition(b" ")
            if count == b"%d" % self._count and code.isdigit():
                return int(code[:3]) & 0xFF
            await asyncio.sleep(0)  # packets that wait already do not suspend
        raise _Flooded

    def _hang_up(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


_QUIET = {"signal": None, "why": None, "fault": None, "cpu_s": None, "max_rss_bytes": None}
"""What is not known of a program that goes on living."""
