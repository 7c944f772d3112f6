"""The vocabulary of sandboxes: specification, limits, result, and the two protocols.

A `SandboxProvider` hands out places where untrusted code runs. Its hot path is `run`, one program in
a fresh world. `session` opens a `Sandbox`, one workspace that lives for an episode.

Not here: how isolation is made (`local`, ...), nor anything of reinforcement learning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, Self, runtime_checkable

OutputCallback = Callable[[str, bytes], None]
"""Called with `"stdout"` or `"stderr"` and a chunk, as output arrives."""


class Status(StrEnum):
    """How a program ended."""

    OK = "ok"
    """Exit code 0."""
    ERROR = "error"
    """Another exit code, or ended by a signal of its own making."""
    TIMEOUT = "timeout"
    """Killed at its wall or CPU time limit, with all that it started."""
    OOM = "oom"
    """Killed at its memory limit."""
    OUTPUT_LIMIT = "output_limit"
    """Killed because it wrote more than `max_output_bytes`."""
    KILLED = "killed"
    """Killed by the sandbox for another reason."""


_MAX_CPU_S = 604_800.0
_RANGES = {
    "memory_bytes": (16 * 2**20, 2**50),
    "max_processes": (1, 2**20),
    "disk_bytes": (2**16, 2**50),
    "max_files": (16, 2**31),
    "max_file_bytes": (1, 2**50),
    "max_open_files": (8, 2**20),
    "max_output_bytes": (1, 2**40),
}
"""Lowest and highest value of each limit."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one program, with all its descendants, may use."""

    cpu_s: float | None = None
    """CPU seconds of one process; `None` follows the wall time limit."""
    memory_bytes: int = 512 * 2**20
    """Memory of the whole process tree."""
    max_processes: int = 32
    """Processes and threads at once."""
    disk_bytes: int = 64 * 2**20
    """Space in the work and temporary folders together."""
    max_files: int = 4096
    """Inodes in the work and temporary folders together."""
    max_file_bytes: int = 16 * 2**20
    """Size of one file."""
    max_open_files: int = 256
    """Open descriptors of one process."""
    max_output_bytes: int = 2**20
    """Bytes kept of each of stdout and stderr."""

    def __post_init__(self) -> None:
        """Refuse what no program can start with, and what the kernel would take for "no limit".

        Raises:
            ValueError: a limit is out of its range.
        """
        if self.cpu_s is not None and not 0 < self.cpu_s <= _MAX_CPU_S:
            raise ValueError(
                f"cpu_s is {self.cpu_s!r}; it must be None, or above 0 and at most {_MAX_CPU_S:g}"
            )
        for name, (lowest, highest) in _RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
                raise ValueError(f"{name} is {value!r}; it must be a whole number from {lowest} to {highest}")


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a session should look like."""

    limits: SandboxLimits = field(default_factory=SandboxLimits)
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables; the host's are never passed on."""
    files: Mapping[str, bytes | str] = field(default_factory=dict)
    """Files laid into the workspace before the first command; relative paths."""
    image: str | None = None
    """Image or template, where the provider has them."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a program did. Non-zero exit, timeout and the like are values, not exceptions."""

    status: Status
    exit_code: int | None
    """`None` if a signal ended it."""
    signal: int | None
    stdout: str
    """UTF-8 with undecodable bytes replaced; at most `max_output_bytes` long."""
    stderr: str
    truncated: bool
    """Whether any output was cut."""
    wall_s: float
    cpu_s: float | None = None
    max_rss_bytes: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the program ended with exit code 0."""
        return self.status is Status.OK


@runtime_checkable
class Sandbox(Protocol):
    """One workspace for one episode. Calls on one sandbox run one after another."""

    async def exec(
        self,
        cmd: Sequence[str] | str,
        *,
        stdin: bytes | str = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
        on_output: OutputCallback | None = None,
    ) -> ExecResult:
        """Run a program (`list`) or a shell command (`str`) in the workspace.

        Raises:
            SandboxError: the sandbox, not the program, failed.
        """
        ...

    async def run_python(
        self,
        code: str,
        *,
        stdin: bytes | str = b"",
        timeout_s: float = 10.0,
        keep_state: bool = False,
    ) -> ExecResult:
        """Run Python source in the workspace.

        With `keep_state` the code runs in one persistent interpreter, whose globals last until a
        timeout or crash restarts it (`stderr` then says so).

        Raises:
            SandboxError: the sandbox, not the program, failed.
        """
        ...

    async def write(self, files: Mapping[str, bytes | str]) -> None:
        """Write files below the workspace, by relative path; folders are made.

        Raises:
            ValueError: a path is absolute or leaves the workspace.
            SandboxError: the sandbox failed.
        """
        ...

    async def read(self, path: str, *, max_bytes: int = 2**20) -> bytes:
        """Read a regular file below the workspace; links are never followed.

        Raises:
            FileAccessError: missing, larger than `max_bytes`, or not a regular file.
        """
        ...

    async def close(self) -> None:
        """Kill everything and free the slot. Idempotent, never raises."""
        ...


@runtime_checkable
class SandboxProvider(Protocol):
    """Hands out isolated places to run code. `start` and `close` are idempotent.

    Concurrency is bounded by the provider's slots, handed to the oldest waiter. Time limits exclude
    waiting for a slot. Cancelling a call kills what it runs.
    """

    name: str
    isolation: str
    """A named level, e.g. `"namespaces+cgroup"`, `"landlock"`, `"none"`; known after `start`."""

    async def start(self) -> None:
        """Check the machine and warm up. Called by the first use if not before.

        Raises:
            SandboxUnavailable: with what is missing and the remedy.
        """
        ...

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
        """Run Python `code` (or `cmd`) once in a fresh world that is gone afterwards.

        Raises:
            ValueError: neither or both of `code` and `cmd`.
            SandboxError: the sandbox, not the program, failed.
        """
        ...

    def session(
        self, spec: SandboxSpec | None = None, *, wait_s: float | None = None
    ) -> AbstractAsyncContextManager[Sandbox]:
        """Open one workspace; it is destroyed on leaving the context.

        Args:
            spec: what the workspace should look like.
            wait_s: seconds to wait for a slot; `None` waits without bound.

        Raises:
            SandboxBusy: no slot within `wait_s`.
        """
        ...

    async def close(self) -> None:
        """Kill everything this provider started. Never raises."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...
