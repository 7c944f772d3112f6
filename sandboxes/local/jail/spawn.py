"""Forking a server for a connection that came with a message."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable


def spawn(descriptors: list[int], serve: Callable[[socket.socket], None]) -> None:
    """Fork a process that serves the connection `descriptors[0]`, and close it here.

    A fork that the kernel refuses, or a connection that did not arrive, ends nothing but that connection:
    the provider sees it closed.
    """
    try:
        if len(descriptors) == 1 and _fork() == 0:
            try:
                serve(socket.socket(fileno=descriptors[0]))
            finally:
                os._exit(0)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _fork() -> int:
    with contextlib.suppress(OSError):  # no process or no memory left, for now
        return os.fork()
    return -1
