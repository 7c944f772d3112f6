"""The `unsafe` provider: plain processes of this machine, for code that one would run oneself.

What it does: a clean environment, a temporary folder, resource limits for each process, a time limit
that kills the process group, and bounded output.

What it does NOT protect: programs run as the current user. They can read and change every file of that
user (also those of other episodes), use the network, see and kill the user's processes, leave the process
group and outlive their time limit, and fill memory by many processes and the disk by many files. Hidden
tests and reference solutions on this machine are within their reach.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from .core import ExecResult, Sandbox, SandboxLimits, SandboxSpec
from .errors import SandboxLost
from .input import (
    check_at_least_one,
    check_environment,
    check_files,
    slots_or_default,
)
from .local.executor import Executor
from .local.jail import protocol
from .local.job import Home, one_shot
from .local.workspace import Workspace
from .readiness import readable
from .turnstile import Turnstile

_log = logging.getLogger(__name__)

_JAIL = Path(__file__).parent / "local" / "jail"
_BOOT = (
    "import os,sys,types;m=types.ModuleType('jail');m.__path__=[os.getcwd()];sys.modules['jail']=m;"
    "from jail.unjailed import main;main()"
)


class ProcessExecutor(Executor):
    """Runs each program in a process group of its own, in one folder."""

    def __init__(self, folder: str) -> None:
        self.home = Home(f"{folder}/work", f"{folder}/main.py")
        Path(self.home.workspace).mkdir(exist_ok=True)
        self._running: _Running | None = None
        self._reaping = asyncio.Lock()
        self._is_killed = False

    async def open(self) -> None:
        """Nothing to do: every program is a process of its own."""

    def send(self, order: protocol.Message, descriptors: tuple[int, ...]) -> None:
        """Start an interpreter and hand it the program; see `Executor.send`."""
        self._is_killed = False
        try:
            self._running = _start(self.home, descriptors)
        except OSError as error:
            raise SandboxLost(f"a program could not be started: {error}") from error

    async def outcome(self, timeout_s: float | None) -> protocol.Message:
        """Await the end of the program, or kill it at its time limit; see `Executor.outcome`."""
        async with self._reaping:
            running = self._running
            if running is None:
                raise SandboxLost("this program was never started, or was ended")
            why = None
            try:
                async with asyncio.timeout(None if timeout_s is None else max(0.0, timeout_s)):
                    await readable(running.ended)
            except TimeoutError:
                why = "timeout" if timeout_s else "cancel"
            self.cancel()
            await readable(running.ended)
            self._running = None
            reply = running.reap(why)
        if reply["fault"]:
            raise SandboxLost(f"a program could not be started: {reply['fault']}")
        if self._is_killed:
            raise SandboxLost("this sandbox was closed")
        return reply

    def cancel(self) -> None:
        """Kill the process group of the program; it has not been reaped yet, so the number is its own."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill the program; whoever awaits it learns that it was lost."""
        self._is_killed = True
        self.cancel()

    async def close(self) -> None:
        """Kill the program, and await its end."""
        self.kill()
        if self._running is not None:
            with contextlib.suppress(SandboxLost):
                await self.outcome(0.0)


@dataclass(slots=True)
class _Running:
    """A program that was started and not reaped yet."""

    process: subprocess.Popen[bytes]
    orders: socket.socket
    ended: int
    """Becomes readable when the process has ended."""
    start_s: float

    def reap(self, why: str | None) -> protocol.Message:
        """The kernel's account of the program, which has ended."""
        wall_s = time.monotonic() - self.start_s
        _, status, usage = os.wait4(self.process.pid, 0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        self.process.returncode = -1 if code is None else code
        os.close(self.ended)
        with self.orders:
            fault = _complaint(self.orders)
        return {
            "code": code,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "why": why,
            "fault": fault,
            "wall_s": wall_s,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": usage.ru_maxrss * 1024,
        }


def _start(home: Home, descriptors: tuple[int, ...]) -> _Running:
    """Start an interpreter and hand it the descriptors of a program.

    Raises:
        OSError: this process has no descriptors left, or may not start another.
    """
    with contextlib.ExitStack() as undo:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        undo.callback(here.close)
        with there:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own program
                [sys.executable, "-P", "-c", _BOOT, str(there.fileno())],
                env=environment(home),
                cwd=_JAIL,
                stdin=subprocess.PIPE,  # pipes, so that the interpreter does not take its streams for files
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(there.fileno(),),
                start_new_session=True,
            )
        undo.callback(process.wait)
        undo.callback(process.kill)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        ended = os.pidfd_open(process.pid)
        undo.callback(os.close, ended)
        socket.send_fds(here, [b"go"], descriptors)
        undo.pop_all()
    return _Running(process, here, ended, time.monotonic())


class UnsafeProvider:
    """Plain processes of the current user; see the module for all that this does not protect.

    Args:
        slots: programs that run at once; `None` is the number of usable cores, at least 2.
        max_sessions: sessions open at once.
        limits: limits of programs for which the caller names none.
    """

    name = "unsafe"
    isolation = "none"

    def __init__(
        self, *, slots: int | None = None, max_sessions: int = 64, limits: SandboxLimits | None = None
    ) -> None:
        count = slots_or_default(slots)
        check_at_least_one("max_sessions", max_sessions)
        self._limits = limits or SandboxLimits()
        self._slots = Turnstile(range(count))
        self._sessions = Turnstile(range(max_sessions))
        self._root: str | None = None
        self._running: set[ProcessExecutor] = set()
        self._boxes: set[Workspace] = set()
        self._closings = 0

    async def start(self) -> None:
        """Make the folder for everything, and warn."""
        if self._root is None:
            self._root = tempfile.mkdtemp(prefix="grpo-agent-unsafe-")
            _log.warning(
                "sandbox=unsafe: programs run as plain processes of this user, with access to its files, "
                "network and processes; use sandbox=local for code that you did not write"
            )

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
        """Run one program in a fresh folder; see `SandboxProvider.run`."""
        job = one_shot(
            code, cmd, stdin=stdin, files=files, env=env, timeout_s=timeout_s, limits=limits or self._limits
        )
        closings = self._closings
        async with self._slots.turn():
            self._check_open(closings)
            async with self._folder() as folder, self._executor(folder) as executor:
                return await executor.run(job)

    @asynccontextmanager
    async def session(
        self, spec: SandboxSpec | None = None, *, wait_s: float | None = None
    ) -> AsyncIterator[Sandbox]:
        """Open one folder for many programs; see `SandboxProvider.session`."""
        spec = spec or SandboxSpec(limits=self._limits)
        if spec.image is not None:
            raise ValueError(f"image is {spec.image!r}; the unsafe provider has none, leave it out")
        files, env = check_files(spec.files, spec.limits), check_environment(spec.env)
        closings = self._closings
        async with (
            self._sessions.turn(wait_s),
            self._folder() as folder,
            self._executor(folder) as commands,
            self._executor(folder) as console,
        ):
            self._check_open(closings)
            descriptor = _open_folder(commands.home.workspace)
            box = Workspace(descriptor, (commands, console), spec.limits, env, self._slots, _nothing)
            self._boxes.add(box)
            try:
                if files:
                    await box.write(files)
                yield box
            finally:
                self._boxes.discard(box)
                await box.close()

    async def close(self) -> None:
        """Kill what runs, end the sessions, and remove all folders. Never raises."""
        self._closings += 1
        for box in list(self._boxes):
            await box.close()
        for executor in list(self._running):
            executor.kill()
        root, self._root = self._root, None
        if root is not None:
            await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def _check_open(self, closings: int) -> None:
        """Refuse what waited for its turn while the provider was closed."""
        if closings != self._closings:
            raise SandboxLost("the sandbox provider was closed")

    @asynccontextmanager
    async def _folder(self) -> AsyncIterator[str]:
        await self.start()
        try:
            folder = tempfile.mkdtemp(dir=self._root)
        except OSError as error:
            raise SandboxLost(f"a folder for a program could not be made: {error}") from error
        try:
            yield folder
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    @asynccontextmanager
    async def _executor(self, folder: str) -> AsyncIterator[ProcessExecutor]:
        try:
            executor = ProcessExecutor(folder)
        except OSError as error:
            raise SandboxLost(f"a folder for a program could not be made: {error}") from error
        self._running.add(executor)
        try:
            yield executor
        finally:
            self._running.discard(executor)
            await executor.close()


def environment(home: Home) -> dict[str, str]:
    """What a program finds in its environment; nothing of the caller's is passed on."""
    folder = str(Path(sys.executable).parent)
    return {
        "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin",
        "HOME": home.workspace,
        "TMPDIR": home.workspace,
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "PYTHONUTF8": "1",
    }


def _complaint(orders: socket.socket) -> str:
    orders.setblocking(False)
    try:
        return orders.recv(4096).decode(errors="replace")
    except (BlockingIOError, ConnectionError):
        return ""


def _open_folder(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxLost(f"a workspace could not be opened: {error}") from error


async def _nothing() -> None:
    return
