"""One program: a fork of a server that is already shut in, which waits for its orders."""

from __future__ import annotations

import marshal
import os
import resource
import socket
from dataclasses import dataclass
from typing import NoReturn

from . import console, program, protocol

_SETUP_FAILED = 125
_MAX_DESCRIPTOR = 65536


@dataclass(frozen=True, slots=True)
class Runtime:
    """What every fork inherits."""

    filter: bytes
    watches_memory: bool


def fork() -> tuple[int, socket.socket]:
    """Fork a parked program; returns its process id, and the socket that takes its orders."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            here.close()
            os.setpgid(0, 0)  # kill(0) reaches a whole process group, across process namespaces
            obey(there, is_jailed=True)
        finally:
            os._exit(_SETUP_FAILED)
    there.close()
    return pid, here


def obey(orders: socket.socket, *, is_jailed: bool) -> NoReturn:
    """Await the order, take over what comes with it, and run it. Never returns, whatever is raised."""
    try:
        word, descriptors, _, _ = socket.recv_fds(orders, 8, protocol.MAX_DESCRIPTORS)
        if not word:
            os._exit(0)
        payload, *streams = descriptors
        task: program.Task = marshal.loads(os.pread(payload, os.fstat(payload).st_size, 0))  # noqa: S302 - of the provider
        _limit_process(task, is_jailed=is_jailed)
    except BaseException as error:  # noqa: BLE001 - the fault is reported, whatever it is; the process ends
        _give_up(orders, error)
    try:
        _take_over(streams, task)
        if task["console"]:
            console.serve(task)
        program.run(task)
    except BaseException as error:  # noqa: BLE001 - what the program made impossible is its own result
        _complain(error)
    finally:
        os._exit(_SETUP_FAILED)


def _give_up(orders: socket.socket, error: BaseException) -> NoReturn:
    """Report to the provider that the program could not be started."""
    try:
        orders.send(f"{type(error).__name__}: {error}".encode(errors="replace")[:4096])
    finally:
        os._exit(_SETUP_FAILED)


def _complain(error: BaseException) -> None:
    os.write(2, f"{type(error).__name__}: {error}\n".encode(errors="backslashreplace")[:4096])


def _take_over(streams: list[int], task: program.Task) -> None:
    """Take the standard streams; afterwards no other descriptor is open but a console's."""
    for target, descriptor in enumerate(streams[:3]):
        os.dup2(descriptor, target)
    first = 3
    if task["console"]:
        os.dup2(streams[3], console.DESCRIPTOR, inheritable=False)
        first = 4
    os.closerange(first, _MAX_DESCRIPTOR)


def _limit_process(task: program.Task, *, is_jailed: bool) -> None:
    limits, cpu_s = task["limits"], task["cpu_s"]
    if is_jailed:  # counted for this user namespace, the server included; elsewhere for the whole account
        limit(resource.RLIMIT_NPROC, limits["max_processes"] + 1)
    limit(resource.RLIMIT_DATA, limits["memory_bytes"])
    limit(resource.RLIMIT_FSIZE, limits["max_file_bytes"])
    limit(resource.RLIMIT_NOFILE, limits["max_open_files"])
    limit(resource.RLIMIT_CORE, 0)
    if cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))


def limit(kind: int, value: int) -> None:
    """Set a limit for good, or leave a stricter one."""
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
