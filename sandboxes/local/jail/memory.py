"""Measuring the memory of all programs in a world, where no control group counts it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Protocol


class Usage(Protocol):
    """A way to measure."""

    def resident_bytes(self) -> int:
        """Anonymous and shared memory of all programs together, without the reaper."""
        ...


class Inside:
    """Looks at the world's own /proc, where all but process 1 are programs."""

    def resident_bytes(self) -> int:
        """See `Usage`."""
        pids = [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        return sum(_resident_bytes(f"/proc/{pid}/status") for pid in pids)


class Outside:
    """Follows the family tree in the host's /proc, for hosts that allow no other.

    Args:
        proc: a descriptor of the folder, opened before it was covered.
    """

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._reaper = os.readlink("self", dir_fd=proc)
        with open(f"{self._reaper}/status", opener=self._open) as status:
            self._server = next(line.split()[1] for line in status if line.startswith("PPid:"))

    def resident_bytes(self) -> int:
        """See `Usage`."""
        total, waiting = 0, [*self._children(self._server), *self._children(self._reaper)]
        while waiting:
            pid = waiting.pop()
            if pid != self._reaper:
                total += _resident_bytes(f"{pid}/status", self._open)
                waiting += self._children(pid)
        return total

    def _children(self, pid: str) -> list[str]:
        found: list[str] = []
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
            try:
                for thread in os.listdir(folder):
                    with open(f"{pid}/task/{thread}/children", opener=self._open) as children:
                        found += children.read().split()
            finally:
                os.close(folder)
        return found

    def _open(self, path: str, flags: int) -> int:
        return os.open(path, flags, dir_fd=self._proc)


def _resident_bytes(path: str, opener: Callable[[str, int], int] | None = None) -> int:
    with contextlib.suppress(OSError), open(path, opener=opener) as status:  # it may have ended meanwhile
        lines = [line.split() for line in status if line.startswith(("RssAnon:", "RssShmem:"))]
        return sum(int(line[1]) * 1024 for line in lines)
    return 0
