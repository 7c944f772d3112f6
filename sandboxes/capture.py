"""Collecting a program's output while it runs, bounded."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

_CHUNK_BYTES = 65536
_PATIENCE_S = 0.003
"""Most programs end sooner than this, with less output than a pipe holds: those need no watching."""

ChunkCallback = Callable[[bytes], None]


class Capture:
    """Keeps the first `max_bytes` that arrive on a pipe, and says when more came.

    The reader never waits for the writer: once the program is dead, `finish` takes what is left and
    closes, even if some other process still holds the other end.
    """

    def __init__(
        self,
        descriptor: int,
        max_bytes: int,
        *,
        on_overflow: Callable[[], None],
        on_chunk: ChunkCallback | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._left = max_bytes
        self._chunks: list[bytes] = []
        self._on_overflow = on_overflow
        self._on_chunk = on_chunk
        self._loop = asyncio.get_running_loop()
        self._is_reading = True
        self._is_closed = False
        self.is_truncated = False
        os.set_blocking(descriptor, False)
        self._listening = self._loop.call_later(_PATIENCE_S, self._listen)

    def finish(self) -> str:
        """Take what is left, close the pipe, and return everything as text."""
        while self._is_reading:
            self._read(finishing=True)
        self.abandon()
        return b"".join(self._chunks).decode("utf-8", "replace")

    def abandon(self) -> None:
        """Close the pipe without looking at it; closed already is fine."""
        if not self._is_closed:
            self._is_closed = True
            self._stop()
            os.close(self._descriptor)

    def _listen(self) -> None:
        self._loop.add_reader(self._descriptor, self._read)

    def _read(self, *, finishing: bool = False) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            if finishing:
                self._stop()
            return
        if not chunk:
            self._stop()
            return
        kept = chunk[: self._left]
        self._left -= len(kept)
        if kept:
            self._chunks.append(kept)
            if self._on_chunk is not None:
                self._on_chunk(kept)
        if len(kept) < len(chunk):
            self.is_truncated = True
            self._stop()
            self._on_overflow()

    def _stop(self) -> None:
        self._is_reading = False
        self._listening.cancel()
        self._loop.remove_reader(self._descriptor)
