"""Process 1 of a world: kills and reaps, watches memory, and replaces the work folders."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from typing import NoReturn

from . import kernel, memory, root

_WATCH_INTERVAL_MS = 20


def start(channel: socket.socket, folders: tuple[int, int] | None) -> tuple[socket.socket, int]:
    """Fork the reaper as the first process of a fresh process namespace.

    Args:
        channel: the server's, which the reaper must not hold open.
        folders: bytes and files of the work folders to mount, or `None` where they are mounted and stay.

    Returns:
        The connection to it, and its process id.

    Raises:
        ConnectionError: it could not set itself up.
    """
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        here.close()
        channel.close()
        _live(there, folders)
    there.close()
    answer = here.recv(4096)
    if answer != b"ready":
        raise ConnectionError(f"the reaper did not start: {answer.decode()}")
    return here, pid


def _live(server: socket.socket, folders: tuple[int, int] | None) -> NoReturn:
    try:
        kernel.die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # process 1 gets from inside only what it handles
        outside = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        usage = memory.Inside() if root.mount_proc() else memory.Outside(outside)
        if folders is not None:
            root.mount_scratch(*folders)
        kernel.set_dumpable(dumpable=False)
        server.send(b"ready")
        _serve(server, folders, usage)
    except OSError as error:
        with contextlib.suppress(OSError):
            server.send(str(error).encode()[:4096])
    finally:
        os._exit(0)


def _serve(server: socket.socket, folders: tuple[int, int] | None, usage: memory.Usage) -> None:
    poller = select.poll()
    poller.register(server, select.POLLIN)
    memory_bytes = None
    while True:
        if memory_bytes is not None and not poller.poll(_WATCH_INTERVAL_MS):
            if usage.resident_bytes() > memory_bytes:
                server.send(b"over")
                memory_bytes = None
            continue
        word, *numbers = server.recv(64).split() or [b""]
        if word == b"watch":
            memory_bytes = int(numbers[0])
        elif word == b"sweep":
            memory_bytes = None
            _kill_all()
            server.send(b"swept")
            if folders is not None:
                root.unmount_scratch()
                root.mount_scratch(*folders)
                server.send(b"mounted")
        elif word == b"mount":
            folders = (int(numbers[0]), int(numbers[1]))
            root.unmount_scratch()
            root.mount_scratch(*folders)
            server.send(b"mounted")
        else:
            return


def _kill_all() -> None:
    """Kill everything in this namespace, atomically with regard to forks, and reap it."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
