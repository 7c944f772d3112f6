"""Run solutions in sandboxes and read their answers, which may be hostile.

Every call and run has a fresh process, so nothing is carried from one to the next. What a solution did
wrong (crash, timeout, too much memory or output, no answer, no plain data) is an `Answer` with an error.
What the sandbox did wrong is a `SandboxError`.
"""

from __future__ import annotations

import json
import marshal
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any  # plain data

from ...sandboxes.core import ExecResult, SandboxLimits, SandboxProvider, Status
from .value import parse, untag

MAX_MEMBERS = 5000
"""Set members and dict keys in one answer; see `value.untag`."""

_WHY = {
    Status.TIMEOUT: "timed out",
    Status.OOM: "ran out of memory",
    Status.OUTPUT_LIMIT: "printed too much",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solution made of one call or run."""

    value: Any = None
    """The returned value, or the printed text."""
    error: str | None = None
    """One line; `None` if there is a value."""
    kind: str = ""
    """The type of what was raised, `NotLoaded`, `NotPlainData`, or `""` if there was no answer at all."""
    message: str = ""
    """Of what was raised."""
    is_suspicious: bool = False
    """Whether it ended well without an answer, or wrote into the answer's channel."""

    @property
    def is_raised(self) -> bool:
        """Whether the function was called and raised."""
        return self.kind not in ("", "NotLoaded", "NotPlainData")


@dataclass(frozen=True, slots=True)
class Program:
    """A program of ours for the sandbox. It comes on stdin, before the request.

    It carries its bytecode too, for a sandbox with this very interpreter: to compile it would double the
    time of a short run.
    """

    loader: str
    content: bytes


class Runner:
    """Runs solutions.

    Args:
        provider: where code runs.
        timeout_s: of one call or run.
        limits: of one process.
    """

    def __init__(
        self, provider: SandboxProvider, *, timeout_s: float = 3.0, limits: SandboxLimits | None = None
    ) -> None:
        self.provider = provider
        self.timeout_s = timeout_s
        self.limits = limits or SandboxLimits()

    async def call(self, sources: Sequence[str], name: str | None, arguments: str | None) -> Answer:
        """Let a solution answer one call.

        Args:
            sources: the solution, in parts that are run in order.
            name: the function; `None` if there is none to look for.
            arguments: encoded; `None`: only load.
        """
        request = {"sources": sources, "name": name, "arguments": arguments}
        result, body = await self.ask(program("value", "harness"), request)
        try:
            reply = None if body is None else parse(body)
            if isinstance(reply, dict) and reply.keys() == {"value"}:
                return Answer(untag(reply["value"], bare_objects=False, max_members=MAX_MEMBERS))
            if isinstance(reply, dict) and reply.keys() == {"error", "kind", "message"}:
                error, kind, message = (_text(reply[key]) for key in ("error", "kind", "message"))
                return Answer(error=error[:300], kind=kind, message=message)
        except (TypeError, ValueError):
            pass  # told below
        error = failure(result) or "exited without an answer"
        return Answer(error=error, is_suspicious=result.status is Status.OK)

    async def ask(self, program: Program, request: dict[str, Any]) -> tuple[ExecResult, str | None]:
        """Run a program of ours with a request; its answer is `None` unless framed exactly."""
        nonce = secrets.token_hex(8)
        stdin = program.content + json.dumps({**request, "nonce": nonce}).encode()
        result = await self.run(program.loader, stdin)
        text, start, end = result.stdout, f"{nonce} ", f" {nonce}\n"
        is_framed = len(text) > len(start) + len(end) and text.startswith(start) and text.endswith(end)
        if not (is_framed and result.ok and not result.truncated):
            return result, None
        return result, text[len(start) : -len(end)]

    async def run(self, program: str, stdin: bytes | str = "") -> ExecResult:
        """Run a program in a fresh sandbox."""
        return await self.provider.run(program, stdin=stdin, timeout_s=self.timeout_s, limits=self.limits)


def _text(value: Any) -> str:
    """Text that can be shown; the sender may have put anything into the frame.

    Raises:
        TypeError: it is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where text was expected")
    return value.encode("utf-8", "replace").decode()


def failure(result: ExecResult) -> str | None:
    """What the program did wrong, in a few words; `None` if it ended well."""
    if result.ok:
        return "printed too much" if result.truncated else None
    if result.status in _WHY:
        return _WHY[result.status]
    last = result.stderr.strip().rsplit("\n", 1)[-1][:200]
    return last or f"crashed ({result.status}, exit code {result.exit_code})"


@cache
def program(*modules: str) -> Program:
    """Join modules of this folder into one program, which calls the last one's `main`."""
    lines = ["from __future__ import annotations"]
    for module in modules:
        text = (files(__package__) / f"{module}.py").read_text()
        lines += [line for line in text.splitlines() if not line.startswith(("from .", "from __future__"))]
    source = "\n".join(lines)
    bytecode = marshal.dumps(compile(source, f"{modules[-1]}.py", "exec", dont_inherit=True, optimize=2))
    start, end = len(bytecode), len(bytecode) + len(source.encode())
    loader = f"""import marshal, os, sys
data = b"".join(iter(lambda: os.read(0, 1 << 20), b""))
exec(marshal.loads(data[:{start}]) if sys.version == {sys.version!r} else data[{start}:{end}])
main(data[{end}:])
"""
    return Program(loader, bytecode + source.encode())
