"""Starting the interpreter server and asking it for worlds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
from dataclasses import asdict
from pathlib import Path

from ..errors import SandboxError, SandboxLost
from . import layout
from .cgroup import ControlGroups
from .channel import Channel

_JAIL = Path(__file__).parent / "jail"
_BOOT = (
    "import os,sys,types;m=types.ModuleType('jail');m.__path__=[os.getcwd()];sys.modules['jail']=m;"
    "from jail.launcher import main;main()"
)
_START_S = 30.0
_HIGH_UID = 1_879_048_192


class StartFailed(SandboxError):
    """The server could not enter the jail; `number` is the kernel's error, if it was one."""

    def __init__(self, message: str, number: int | None) -> None:
        super().__init__(message)
        self.number = number


class Server:
    """A bare interpreter in a jail, which forks worlds on demand. It dies with this process."""

    def __init__(self, preimport: tuple[str, ...]) -> None:
        self._preimport = preimport
        self.groups = ControlGroups()
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints = -1

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    async def start(self) -> str:
        """Start it; returns how it entered the jail, as `root` or as `user`.

        Raises:
            StartFailed: the kernel refused a step, or the interpreter does not start.
        """
        try:
            return await self._start()
        except BaseException:
            await self.groups.remove()
            raise

    async def _start(self) -> str:
        try:
            channel, there = Channel.pair()
        except SandboxLost as error:
            raise StartFailed(str(error), None) from error
        try:
            with there:
                self._process, self._complaints = _launch(there)
            self.groups.start(self._process.pid)
            channel.send(self._config())
            answer, _ = await channel.receive(_START_S)
        except BaseException as error:
            reason = self.said() or str(error)
            await self._reap(channel)
            if isinstance(error, (SandboxLost, OSError)):
                number = error.errno if isinstance(error, OSError) else None
                message = f"the interpreter {layout.interpreter()} does not start: {reason}"
                raise StartFailed(message, number) from error
            raise
        if "error" in answer:
            await self._reap(channel)
            raise StartFailed(answer["error"], answer["errno"])
        self._channel = channel
        return str(answer["mode"])

    async def fork(self, kind: str) -> Channel:
        """Have a `slot` or a `seat` forked; returns the connection to it.

        Raises:
            SandboxLost: the server is gone.
        """
        if self._channel is None:
            raise SandboxLost("the interpreter server was closed")
        return self._channel.open_another({"kind": kind})

    async def close(self) -> None:
        """End it with all that it forked."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await self._reap(channel)
        await self.groups.remove()

    async def restart(self) -> None:
        """Start a server again that died, in the same control groups, also after a failed attempt.

        Raises:
            StartFailed: as `start`.
        """
        channel, self._channel = self._channel, None
        if channel is not None:
            await self._reap(channel)
        await self._start()

    async def _reap(self, channel: Channel) -> None:
        channel.close()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await asyncio.to_thread(process.wait)
            os.close(self._complaints)
            self._complaints = -1

    def said(self) -> str:
        """The last line of the server's own errors."""
        if self._complaints == -1:
            return ""
        try:
            lines = os.read(self._complaints, 65536).decode(errors="replace").strip().splitlines()
        except BlockingIOError:
            return ""
        return lines[-1] if lines else ""

    def _config(self) -> dict[str, object]:
        return {
            **asdict(layout.make_layout()),
            "env": layout.ENVIRONMENT,
            "uid": _unused_uid(),
            "preimport": self._preimport,
            "counts_memory": self.groups.counts_memory,
        }


def _launch(there: socket.socket) -> tuple[subprocess.Popen[bytes], int]:
    """Start the interpreter; returns it with the pipe on which it complains.

    Raises:
        OSError: it cannot be started.
    """
    environment = {
        key: layout.ENVIRONMENT[key] for key in ("PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8")
    }
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as undo:
        empty, unused = os.pipe2(os.O_CLOEXEC)
        ours.callback(os.close, empty)
        os.close(unused)
        complaints, errors = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        ours.callback(os.close, errors)
        undo.callback(os.close, complaints)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own program
            [layout.interpreter(), "-s", "-S", "-P", "-c", _BOOT, str(there.fileno())],
            env=environment,
            cwd=_JAIL,
            stdin=empty,
            stdout=errors,
            stderr=errors,
            pass_fds=(there.fileno(),),
            start_new_session=True,
        )
        undo.pop_all()
    return process, complaints


def _unused_uid() -> int | None:
    """A user id that nobody has, so that jails share no account with anything; `None` if there is but one."""
    wanted = _HIGH_UID + os.getpid() % 65536
    spans = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    if any(start <= wanted < start + count for start, _, count in spans):
        return wanted
    last = max(start + count - 1 for start, _, count in spans)
    return last if last != os.geteuid() else None
