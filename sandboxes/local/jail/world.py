"""A process namespace in which programs run one after another, swept clean after each.

Two processes make it. The server here stays outside and is the parent of every program, out of reach of
their signals; it is itself shut in, without privileges and behind the system call filter, so that each
program inherits all that by a mere fork. The reaper is process 1 inside: it keeps the power to kill, to
reap, to watch memory and to replace the work folders. Neither reads what a program is given. If the
server dies, the kernel kills the reaper, and with it everything inside.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Mapping

from . import child, kernel, protocol, reaper, seccomp

_FIXED_LIMITS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_MEMLOCK: 65536,
    resource.RLIMIT_MSGQUEUE: 0,
    resource.RLIMIT_NICE: 0,
    resource.RLIMIT_RTPRIO: 0,
    resource.RLIMIT_SIGPENDING: 1024,
}


def serve(channel: socket.socket, runtime: child.Runtime, *, lasting: bool) -> None:
    """Serve run requests from `channel` until it closes.

    Args:
        channel: to the provider. The first message to it names this process, the first from it the limits.
        runtime: what was prepared once.
        lasting: whether the work folders are already mounted and stay.
    """
    protocol.send(channel, {"pid": os.getpid()})
    message = protocol.receive(channel)
    if message is None:
        return
    world = _World(channel, runtime, message[0]["limits"], lasting=lasting)
    try:
        world.loop()
    finally:
        world.collapse()


class _World:
    def __init__(
        self, channel: socket.socket, runtime: child.Runtime, limits: Mapping[str, int], *, lasting: bool
    ) -> None:
        self._channel = channel
        self._watches_memory = runtime.watches_memory
        self._folders = None if lasting else (limits["disk_bytes"], limits["max_files"])
        preference = _open_oom_preference()
        kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWNS)
        self._reaper, self._reaper_pid = reaper.start(channel, self._folders)
        _shut_in(runtime.filter)
        self._is_mounting = False
        self._preference = preference
        self._park()

    def loop(self) -> None:
        """Run what the provider asks for; a cancel that comes too late is ignored."""
        while message := protocol.receive(self._channel):
            body, descriptors = message
            if body["do"] == "close":
                return
            if body["do"] == "run":
                protocol.send(self._channel, self._run(body, descriptors))
                self._park()

    def collapse(self) -> None:
        """End the reaper, and with it everything inside; returns when all is reaped."""
        os.kill(self._reaper_pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:  # the parked program too: the kernel keeps the reaper until nobody is left inside
                os.waitpid(-1, 0)

    def _park(self) -> None:
        self._offer_to_oom_killer(b"1000")
        self._pid, self._orders = child.fork()
        self._offer_to_oom_killer(b"0")
        self._ended = os.pidfd_open(self._pid)

    def _offer_to_oom_killer(self, preference: bytes) -> None:
        """Set what the next fork inherits: should memory run out, programs die rather than this server."""
        if self._preference is not None:
            os.pwrite(self._preference, preference, 0)

    def _run(self, body: protocol.Message, descriptors: list[int]) -> protocol.Message:
        self._await_folders(body["limits"])
        start = time.monotonic()
        with contextlib.suppress(OSError):  # the parked fork has ended; its reason waits in the socket
            socket.send_fds(self._orders, [b"go"], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if self._watches_memory:
            self._reaper.send(b"watch %d" % body["limits"]["memory_bytes"])
        why = self._watch(body["timeout_s"], start)
        if why is not None:
            os.kill(self._pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._pid, 0)
        wall_s = time.monotonic() - start
        fault = self._fault()
        self._sweep()
        return {
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "why": why,
            "fault": fault,
            "wall_s": wall_s,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": usage.ru_maxrss * 1024,
        }

    def _watch(self, timeout_s: float | None, start: float) -> str | None:
        """Wait for the end of the program; returns why it has to be killed, if it has."""
        poller = select.poll()
        for descriptor in (self._channel.fileno(), self._reaper.fileno(), self._ended):
            poller.register(descriptor, select.POLLIN)
        left_ms = None if timeout_s is None else max(0.0, (start + timeout_s - time.monotonic()) * 1000)
        ready = {descriptor for descriptor, _ in poller.poll(left_ms)}
        if self._ended in ready:
            return None
        if self._reaper.fileno() in ready:
            return "memory"
        return "cancel" if ready else "timeout"

    def _fault(self) -> str | None:
        """Why the program could not even be started, if so; lets go of it."""
        self._orders.setblocking(False)
        try:
            return self._orders.recv(4096).decode() or None
        except (BlockingIOError, ConnectionError):
            return None
        finally:
            self._orders.close()
            os.close(self._ended)

    def _sweep(self) -> None:
        """Have whatever the program left behind killed and reaped; fresh folders follow meanwhile."""
        self._reaper.send(b"sweep")
        self._expect(b"swept")
        self._is_mounting = self._folders is not None

    def _await_folders(self, limits: Mapping[str, int]) -> None:
        if self._folders is None:
            return
        if self._is_mounting:
            self._expect(b"mounted")
            self._is_mounting = False
        wanted = (limits["disk_bytes"], limits["max_files"])
        if wanted != self._folders:
            self._reaper.send(b"mount %d %d" % wanted)
            self._expect(b"mounted")
            self._folders = wanted

    def _expect(self, word: bytes) -> None:
        while (answer := self._reaper.recv(64)) != word:
            if not answer:
                raise ConnectionError("the reaper is gone")


def _open_oom_preference() -> int | None:
    try:
        return os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None  # the memory limit still holds


def _shut_in(program: bytes) -> None:
    """Give up everything that no program may have."""
    kernel.unshare(kernel.CLONE_NEWUSER)  # without a mount namespace of its own: no power over any mount
    kernel.die_with_parent()  # new credentials forgot this
    for kind, value in _FIXED_LIMITS.items():
        child.limit(kind, value)
    kernel.drop_privileges()
    seccomp.install(program)
