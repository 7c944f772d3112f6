"""A place for sessions, one after another: it stays in its control groups, so that opening is quick.

A session is a fork with its own network and a workspace that lasts. Each world in it (one for commands,
one for the console) is a process namespace of its own, so that sweeping one spares the other.
"""

from __future__ import annotations

import os
import signal
import socket

from . import child, kernel, protocol, root, spawn, world


def serve(channel: socket.socket, runtime: child.Runtime) -> None:
    """Open a session at every request, on the descriptor that comes with it, until `channel` closes."""
    protocol.send(channel, {"pid": os.getpid()})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while message := protocol.receive(channel):
        body, descriptors = message

        def open_session(connection: socket.socket, limits: protocol.Message = body["limits"]) -> None:
            channel.close()
            _session(connection, limits, runtime)

        spawn.spawn(descriptors, open_session)


def _session(channel: socket.socket, limits: protocol.Message, runtime: child.Runtime) -> None:
    kernel.die_with_parent()

    def make_world(connection: socket.socket) -> None:
        channel.close()
        kernel.die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        world.serve(connection, runtime, lasting=True)

    try:
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC)
        kernel.raise_loopback()
        root.mount_scratch(limits["disk_bytes"], limits["max_files"])
        workspace = os.open(root.WORKSPACE, os.O_RDONLY | os.O_DIRECTORY)
        protocol.send(channel, {"opened": True}, (workspace,))
        os.close(workspace)
        while message := protocol.receive(channel):
            spawn.spawn(message[1], make_world)
    except OSError as error:
        protocol.send(channel, {"error": str(error)})
