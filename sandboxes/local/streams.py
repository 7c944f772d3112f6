"""The descriptors of one program: what it reads, and what collects its output."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..capture import Capture
from ..errors import SandboxLost
from .job import Job, input_stream, memory_file


class Streams:
    """Made for one program; `close` in the end, whatever happened.

    Args:
        job: the program.
        on_overflow: kills it, for it has written too much.
    """

    def __init__(self, job: Job, on_overflow: Callable[[], None]) -> None:
        self._job = job
        self._on_overflow = on_overflow
        self._given: list[int] = []
        self._captures: list[Capture] = []

    def open(self, source: bytes) -> tuple[int, ...]:
        """Make what the program is given: a file of `source`, standard input, output and errors.

        Raises:
            SandboxLost: this process has no descriptors or memory left.
        """
        try:
            self._given.append(memory_file(source))
            self._given.append(input_stream(self._job.stdin))
            for name in ("stdout", "stderr"):
                reader, writer = os.pipe2(os.O_CLOEXEC)
                self._given.append(writer)
                self._captures.append(self._capture(reader, name))
        except OSError as error:
            raise SandboxLost(f"a program could not be given its input: {error}") from error
        return tuple(self._given)

    def hand_over(self) -> None:
        """Close our copies of what was given."""
        while self._given:
            os.close(self._given.pop())

    @property
    def captures(self) -> tuple[Capture, Capture]:
        """Of output and errors."""
        stdout, stderr = self._captures
        return stdout, stderr

    def close(self) -> None:
        """Close everything that is still open."""
        self.hand_over()
        for capture in self._captures:
            capture.abandon()

    def _capture(self, reader: int, name: str) -> Capture:
        on_output = self._job.on_output
        on_chunk = None if on_output is None else lambda chunk: on_output(name, chunk)
        return Capture(
            reader, self._job.limits.max_output_bytes, on_overflow=self._on_overflow, on_chunk=on_chunk
        )
