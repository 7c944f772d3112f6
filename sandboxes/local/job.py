"""One program to run: what goes in by descriptors, what comes out as a result."""

from __future__ import annotations

import marshal
import math
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from ..capture import Capture
from ..core import ExecResult, OutputCallback, SandboxLimits, Status
from ..input import check_environment, check_files, check_program, check_timeout, to_bytes
from .jail import protocol

_PIPE_BYTES = 4096
"""What every pipe holds, also when this user has used up the pages for larger ones."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a program finds itself, in its own view."""

    workspace: str
    script: str
    """Where the source of a one-shot program is written."""


@dataclass(frozen=True, slots=True)
class Job:
    """A program, its input and its bounds."""

    limits: SandboxLimits
    timeout_s: float | None
    code: str | None = None
    cmd: Sequence[str] = ()
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    on_output: OutputCallback | None = None

    def order(self) -> protocol.Message:
        """The message that starts it."""
        return {"do": "run", "limits": jail_limits(self.limits), "timeout_s": self.timeout_s}

    def cpu_limit_s(self) -> int | None:
        """Whole seconds of processor time, as the kernel counts them."""
        cpu_s = self.timeout_s if self.limits.cpu_s is None else self.limits.cpu_s
        return None if cpu_s is None else max(1, math.ceil(cpu_s))

    def payload(self, home: Home, *, is_console: bool = False) -> bytes:
        """What the program itself is given; only the fork that runs it reads this."""
        task = {
            "code": None if self.code is None else self.code.encode("utf-8", "surrogatepass"),
            "cmd": list(self.cmd),
            "files": dict(self.files),
            "env": dict(self.env),
            "console": is_console,
            "workspace": home.workspace,
            "script": home.script,
            "limits": jail_limits(self.limits),
            "cpu_s": None if is_console and self.limits.cpu_s is None else self.cpu_limit_s(),
        }
        return marshal.dumps(task)


def one_shot(
    code: str | None,
    cmd: Sequence[str] | None,
    *,
    stdin: bytes | str,
    files: Mapping[str, bytes | str] | None,
    env: Mapping[str, str] | None,
    timeout_s: float,
    limits: SandboxLimits,
) -> Job:
    """What `SandboxProvider.run` is asked for, checked.

    Raises:
        ValueError: neither or both of `code` and `cmd`, or something is out of its range.
        TypeError: something is of the wrong kind.
    """
    check_program(code, cmd)
    return Job(
        limits=limits,
        timeout_s=check_timeout(timeout_s),
        code=code,
        cmd=cmd or (),
        stdin=to_bytes(stdin),
        files=check_files(files, limits),
        env=check_environment(env),
    )


def jail_limits(limits: SandboxLimits) -> dict[str, int]:
    """The limits that are set up before a program is known."""
    return {
        name: value for name, value in asdict(limits).items() if name not in ("cpu_s", "max_output_bytes")
    }


def memory_file(data: bytes) -> int:
    """A descriptor of an anonymous file with this content.

    Raises:
        OSError: no descriptor or no memory is left.
    """
    descriptor = os.memfd_create("data", os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def input_stream(data: bytes) -> int:
    """A descriptor to read `data` from: a pipe while that holds it, else a file in memory."""
    if len(data) > _PIPE_BYTES:
        return memory_file(data)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    if data:
        os.write(writer, data)
    os.close(writer)
    return reader


def result(
    job: Job, reply: protocol.Message, stdout: Capture, stderr: Capture, *, ran_out: bool
) -> ExecResult:
    """Put the kernel's account of a program and its output together.

    Args:
        job: what was run.
        reply: the server's account.
        stdout: captured output.
        stderr: captured errors.
        ran_out: whether the kernel killed for lack of memory meanwhile.
    """
    out, err = stdout.finish(), stderr.finish()
    truncated = stdout.is_truncated or stderr.is_truncated
    return ExecResult(
        status=_status(job, reply, truncated=truncated, ran_out=ran_out),
        exit_code=reply["code"],
        signal=reply["signal"],
        stdout=out,
        stderr=err,
        truncated=truncated,
        wall_s=reply["wall_s"],
        cpu_s=reply["cpu_s"],
        max_rss_bytes=reply["max_rss_bytes"],
    )


def _status(job: Job, reply: protocol.Message, *, truncated: bool, ran_out: bool) -> Status:
    limit_s = job.cpu_limit_s()
    spent_cpu = limit_s is not None and (reply["cpu_s"] or 0.0) >= limit_s * 0.98
    if truncated:
        return Status.OUTPUT_LIMIT
    if reply["why"] == "timeout" or reply["signal"] == signal.SIGXCPU:
        return Status.TIMEOUT
    if reply["why"] == "memory" or (reply["signal"] == signal.SIGKILL and ran_out):
        return Status.OOM
    if reply["signal"] == signal.SIGKILL and spent_cpu:
        return Status.TIMEOUT
    if reply["why"] is not None:
        return Status.KILLED
    return Status.OK if reply["code"] == 0 else Status.ERROR
