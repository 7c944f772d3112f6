"""For tests: a scripted provider, and the conformance suite that every provider passes.

async with MyProvider() as provider:
    await check_provider(provider)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from .conformance import CHECKS, check_provider
from .core import ExecResult, OutputCallback, Sandbox, SandboxLimits, SandboxSpec, Status
from .errors import FileAccessError, SandboxLost
from .input import check_path, check_program, to_bytes

__all__ = ["CHECKS", "FakeCall", "FakeProvider", "FakeSandbox", "check_provider", "exec_result"]


def exec_result(
    stdout: str = "",
    *,
    status: Status = Status.OK,
    exit_code: int | None = 0,
    stderr: str = "",
    wall_s: float = 0.0,
) -> ExecResult:
    """A result, as a program might have given it."""
    return ExecResult(
        status=status,
        exit_code=exit_code,
        signal=None,
        stdout=stdout,
        stderr=stderr,
        truncated=False,
        wall_s=wall_s,
    )


@dataclass(frozen=True, slots=True)
class FakeCall:
    """What was asked of a `FakeProvider`."""

    code: str | None
    cmd: Sequence[str] | str | None
    stdin: bytes
    files: Mapping[str, bytes | str]
    timeout_s: float
    in_session: bool


Outcome = ExecResult | Exception


class FakeProvider:
    """Answers from a script: each call takes the next outcome; a function decides for itself.

    Args:
        outcomes: results to return and exceptions to raise, in order, or a function of the call. When
            they run out, programs succeed silently.
    """

    name = "fake"
    isolation = "none"

    def __init__(self, outcomes: Iterable[Outcome] | Callable[[FakeCall], Outcome] = ()) -> None:
        self._decide = outcomes if callable(outcomes) else None
        self._outcomes = iter(()) if callable(outcomes) else iter(outcomes)
        self.calls: list[FakeCall] = []
        self.open_sessions = 0
        self.is_started = False

    async def start(self) -> None:
        """Note that it was started."""
        self.is_started = True

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
        """Return or raise the next outcome."""
        check_program(code, cmd)
        return await self.answer(
            FakeCall(code, cmd, to_bytes(stdin), files or {}, timeout_s, in_session=False)
        )

    @asynccontextmanager
    async def session(
        self, spec: SandboxSpec | None = None, *, wait_s: float | None = None
    ) -> AsyncIterator[Sandbox]:
        """Open a session that keeps files in a dictionary."""
        box = FakeSandbox(self, {} if spec is None else dict(spec.files))
        self.open_sessions += 1
        try:
            yield box
        finally:
            await box.close()
            self.open_sessions -= 1

    async def answer(self, call: FakeCall) -> ExecResult:
        """Record a call and give its outcome."""
        self.calls.append(call)
        await asyncio.sleep(0)
        outcome = self._decide(call) if self._decide else next(self._outcomes, exec_result())
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Note that it was closed."""
        self.is_started = False

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()


class FakeSandbox:
    """A session of a `FakeProvider`."""

    def __init__(self, provider: FakeProvider, files: dict[str, bytes | str]) -> None:
        self._provider = provider
        self.files = files
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
        """Return or raise the next outcome."""
        return await self._answer(None, cmd, stdin, timeout_s)

    async def run_python(
        self, code: str, *, stdin: bytes | str = b"", timeout_s: float = 10.0, keep_state: bool = False
    ) -> ExecResult:
        """Return or raise the next outcome."""
        return await self._answer(code, None, stdin, timeout_s)

    async def write(self, files: Mapping[str, bytes | str]) -> None:
        """Keep the files."""
        self._check_open()
        self.files.update({check_path(path): data for path, data in files.items()})

    async def read(self, path: str, *, max_bytes: int = 2**20) -> bytes:
        """Give back a file."""
        self._check_open()
        if check_path(path) not in self.files:
            raise FileAccessError(f"cannot read {path!r}: No such file or directory")
        data = to_bytes(self.files[check_path(path)])
        if len(data) > max_bytes:
            raise FileAccessError(f"cannot read {path!r}: it has {len(data)} bytes, more than {max_bytes}")
        return data

    async def close(self) -> None:
        """Refuse everything from now on."""
        self._is_open = False

    async def _answer(
        self, code: str | None, cmd: Sequence[str] | str | None, stdin: bytes | str, timeout_s: float
    ) -> ExecResult:
        self._check_open()
        call = FakeCall(code, cmd, to_bytes(stdin), dict(self.files), timeout_s, in_session=True)
        return await self._provider.answer(call)

    def _check_open(self) -> None:
        if not self._is_open:
            raise SandboxLost("this sandbox was closed")
