"""A workspace that lasts for an episode, on top of two executors: one for commands, one for the console."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ..core import ExecResult, OutputCallback, SandboxLimits
from ..errors import FileAccessError, SandboxLost
from ..input import check_command, check_environment, check_files, check_path, check_timeout, to_bytes
from ..turnstile import Turnstile
from .console import Console
from .executor import Executor
from .jail import kernel
from .jail.program import WRITE_FAILED
from .job import Job

_SHELL = ("/bin/sh", "-c")
_WRITE_S = 60.0


class Workspace:
    """One workspace for one episode; implements `Sandbox`.

    Args:
        folder: a descriptor of the work folder; the workspace closes it.
        executors: where commands run, and where the persistent interpreter runs.
        limits: what each program may use.
        env: environment of every program.
        slots: what runs here takes a turn.
        on_close: ends what the executors ran in.
    """

    def __init__(
        self,
        folder: int,
        executors: tuple[Executor, Executor],
        limits: SandboxLimits,
        env: Mapping[str, str],
        slots: Turnstile[Any],  # Any: only the turn matters here
        on_close: Callable[[], Awaitable[None]],
    ) -> None:
        self._folder = folder
        self._commands = executors[0]
        self._console = Console(executors[1])
        self._limits = limits
        self._env = env
        self._slots = slots
        self._on_close = on_close
        self._turn = asyncio.Lock()
        self._is_open = True

    async def exec(
        self,
        cmd: Sequence[str] | str,
        *,
        stdin: bytes | str = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
        on_output: OutputCallback | None = None,
    ) -> ExecResult:
        """Run a program (`list`) or a shell command (`str`) in the workspace; see `Sandbox.exec`."""
        argv = (*_SHELL, cmd) if isinstance(cmd, str) else tuple(cmd)
        check_command(argv)
        job = Job(
            limits=self._limits,
            timeout_s=check_timeout(timeout_s),
            cmd=argv,
            stdin=to_bytes(stdin),
            env={**self._env, **check_environment(env)},
            on_output=on_output,
        )
        return await self._run(job, self._commands.run)

    async def run_python(
        self, code: str, *, stdin: bytes | str = b"", timeout_s: float = 10.0, keep_state: bool = False
    ) -> ExecResult:
        """Run Python source in the workspace; see `Sandbox.run_python`."""
        job = Job(
            limits=self._limits,
            timeout_s=check_timeout(timeout_s),
            code=code,
            stdin=to_bytes(stdin),
            env=self._env,
        )
        return await self._run(job, self._console.run if keep_state else self._commands.run)

    async def write(self, files: Mapping[str, bytes | str]) -> None:
        """Write files below the workspace; see `Sandbox.write`.

        Raises:
            FileAccessError: the workspace is full, or what a program left there is in the way.
        """
        job = Job(limits=self._limits, timeout_s=_WRITE_S, files=check_files(files, self._limits))
        result = await self._run(job, self._commands.run)
        if result.exit_code == WRITE_FAILED:
            raise FileAccessError(f"cannot write into the workspace: {result.stderr.strip()}")
        if not result.ok:
            raise SandboxLost(f"writing into the workspace ended with status {result.status}")

    async def read(self, path: str, *, max_bytes: int = 2**20) -> bytes:
        """Read a regular file below the workspace; see `Sandbox.read`."""
        name = check_path(path)
        async with self._turn:
            self._check_open()
            return read_confined(self._folder, name, max_bytes)

    async def close(self) -> None:
        """Kill everything in the workspace; see `Sandbox.close`."""
        if not self._is_open:
            return
        self._is_open = False
        await self._console.close()
        await self._commands.close()
        await self._on_close()
        os.close(self._folder)

    async def _run(self, job: Job, runner: Callable[[Job], Awaitable[ExecResult]]) -> ExecResult:
        async with self._turn, self._slots.turn():
            self._check_open()
            return await runner(job)

    def _check_open(self) -> None:
        if not self._is_open:
            raise SandboxLost("this sandbox was closed")


def read_confined(folder: int, path: str, max_bytes: int) -> bytes:
    """Read a regular file below a folder that hostile code has filled.

    Raises:
        FileAccessError: missing, behind a link, not a regular file, or larger than `max_bytes`.
    """
    try:
        descriptor = kernel.open_confined(folder, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise FileAccessError(f"cannot read {path!r}: {os.strerror(error.errno or 0)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileAccessError(f"cannot read {path!r}: it is not a regular file")
        if status.st_size > max_bytes:
            raise FileAccessError(
                f"cannot read {path!r}: it has {status.st_size} bytes, more than {max_bytes}"
            )
        return _read_at_most(descriptor, max_bytes)
    finally:
        os.close(descriptor)


def _read_at_most(descriptor: int, max_bytes: int) -> bytes:
    chunks: list[bytes] = []
    while max_bytes > 0 and (chunk := os.read(descriptor, max_bytes)):
        chunks.append(chunk)
        max_bytes -= len(chunk)
    return b"".join(chunks)
