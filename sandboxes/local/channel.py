"""The provider's end of a connection to the interpreter server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import TypeVar

from ..errors import SandboxLost
from ..readiness import readable
from .jail import protocol

T = TypeVar("T")


class Channel:
    """Sends and awaits messages with descriptors on a packet socket; one reader at a time."""

    def __init__(self, endpoint: socket.socket) -> None:
        endpoint.setblocking(False)
        self._socket = endpoint
        self._readers = 0
        self._is_closed = False

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """A channel, and the end to hand to the other side.

        Raises:
            SandboxLost: this process has no descriptors left.
        """
        try:
            here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise SandboxLost(f"a sandbox could not be reached: {error}") from error
        return cls(here), there

    def open_another(self, message: protocol.Message) -> Channel:
        """Send a message with the end of a new channel, for the other side to serve.

        Raises:
            SandboxLost: the other side is gone, or no descriptors are left.
        """
        here, there = Channel.pair()
        try:
            with there:
                self.send(message, (there.fileno(),))
        except BaseException:
            here.close()
            raise
        return here

    def send(self, message: protocol.Message, descriptors: tuple[int, ...] = ()) -> None:
        """Send one message.

        Raises:
            SandboxLost: the other side is gone, or takes nothing.
        """
        try:
            protocol.send(self._socket, message, descriptors)
        except OSError as error:
            raise SandboxLost(f"the interpreter server does not answer: {error}") from error

    async def receive(self, timeout_s: float | None = None) -> tuple[protocol.Message, list[int]]:
        """Await the next message.

        Raises:
            SandboxLost: the other side is gone, or says nothing in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                message = await self._await(lambda: protocol.receive(self._socket))
        except TimeoutError:
            raise SandboxLost(f"the interpreter server did not answer within {timeout_s:g} s") from None
        if message is None:
            raise SandboxLost("the interpreter server ended unexpectedly")
        return message

    async def receive_bytes(self, max_bytes: int) -> bytes:
        """Await a packet from an untrusted sender; longer ones are cut, descriptors refused.

        Returns at once while packets wait: who reads on has to let the event loop run.

        Raises:
            SandboxLost: the other side is gone.
        """
        packet = await self._await(lambda: self._socket.recv(max_bytes))
        if not packet:
            raise SandboxLost("the interpreter ended")
        return packet

    async def _await(self, receive: Callable[[], T]) -> T:
        while not self._is_closed:
            try:
                return receive()
            except BlockingIOError:
                await self._readable()
            except OSError as error:
                raise SandboxLost(f"the interpreter server does not answer: {error}") from error
        raise SandboxLost("this sandbox was closed")

    async def _readable(self) -> None:
        self._readers += 1
        try:
            await readable(self._socket.fileno())
        finally:
            self._readers -= 1
            if self._is_closed:
                self.close()

    async def drain(self) -> None:
        """Await the end of the other side, ignoring what it still says."""
        try:
            while True:
                await self.receive()
        except SandboxLost:
            return

    def hang_up(self) -> None:
        """Send nothing more; what the other side still says can be received."""
        with contextlib.suppress(OSError):  # already gone
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up; whoever still waits for a message is woken first."""
        self._is_closed = True
        if self._readers == 0:
            self._socket.close()
            return
        with contextlib.suppress(OSError):  # already gone
            self._socket.shutdown(socket.SHUT_RDWR)
