"""The mother of all jailed programs: enters the jail once, then forks slots and sessions on demand.

Real root mounts first and then takes a user namespace, so that it may bind what only root can reach;
anyone else takes the user namespace first. Root without the power to mount becomes a user that nobody
is, because the kernel exempts root from the process limit.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable

from . import child, kernel, program, protocol, root, seat, seccomp, spawn, world

_CAP_SYS_ADMIN, _CAP_SETUID, _CAP_SETGID = 21, 7, 6


def main() -> None:
    """Serve the provider at the other end of descriptor `argv[1]` until it or its process is gone."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    trainer = os.pidfd_open(os.getppid())
    first = protocol.receive(channel)
    if first is None:
        return
    config = first[0]
    try:
        mode = _enter(config)
        runtime = _prepare(config)
    except (OSError, KeyError, ImportError) as error:
        number = error.errno if isinstance(error, OSError) else None
        protocol.send(channel, {"error": f"{type(error).__name__}: {error}", "errno": number})
        return
    protocol.send(channel, {"ready": True, "mode": mode})
    _serve(channel, trainer, runtime)


def _serve(channel: socket.socket, trainer: int, runtime: child.Runtime) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # slots are reaped by the kernel
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    poller.register(trainer, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poller.poll()}
        message = None if trainer in ready else protocol.receive(channel)
        if message is None:
            return
        body, descriptors = message

        def turn_into(connection: socket.socket, kind: str = body["kind"]) -> None:
            channel.close()
            os.close(trainer)
            _turn_into(kind, connection, runtime)

        spawn.spawn(descriptors, turn_into)


def _turn_into(kind: str, channel: socket.socket, runtime: child.Runtime) -> None:
    """Turn this fork into a slot or a seat for sessions."""
    kernel.die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if kind == "slot":
            kernel.unshare(kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC)
            kernel.raise_loopback()
            world.serve(channel, runtime, lasting=False)
        else:
            seat.serve(channel, runtime)
    except BaseException:  # noqa: BLE001 - the provider reads this; the process ends
        traceback.print_exc()


def _prepare(config: protocol.Message) -> child.Runtime:
    """Import what programs are likely to import, and freeze the heap, so that forks share it."""
    os.environ.clear()
    os.environ.update(config["env"])
    sys.argv = ["main.py"]
    sys.path[:] = [path for path in sys.path if path and os.path.isdir(path)]
    importlib.import_module("site").setquit()
    for name in config["preimport"]:
        importlib.import_module(name)
    compile("pass", "<warm>", "exec", dont_inherit=True)
    filter_program = seccomp.build_filter(os.uname().machine, with_memfd=config["counts_memory"])
    program.forget_jail()
    gc.collect()
    gc.freeze()
    return child.Runtime(filter_program, watches_memory=not config["counts_memory"])


def _enter(config: protocol.Message) -> str:
    """Enter the jail; returns whether by `root` or by `user`."""
    powers = _capabilities()
    names = kernel.CLONE_NEWUTS | kernel.CLONE_NEWCGROUP
    may_map = config["uid"] is not None
    if may_map and all(powers >> bit & 1 for bit in (_CAP_SYS_ADMIN, _CAP_SETUID, _CAP_SETGID)):
        take_identity = _identity_helper(config["uid"])
        kernel.unshare(kernel.CLONE_NEWNS)
        root.build(config["binds"], config["masks"], config["links"])
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | names)
        take_identity()
        mode = "root"
    else:
        if os.geteuid() == 0 and may_map:
            _become(config["uid"])
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | names)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {uid} 1")
        _write("/proc/self/gid_map", f"0 {gid} 1")
        root.build(config["binds"], config["masks"], config["links"])
        mode = "user"
    socket.sethostname("sandbox")
    return mode


def _identity_helper(uid: int) -> Callable[[], None]:
    """Fork a process that stays outside; the result, called in the new user namespace, has it map `uid`."""
    here, there = socket.socketpair()
    pid = os.getpid()
    if os.fork() == 0:
        here.close()
        if there.recv(1):
            _write(f"/proc/{pid}/uid_map", f"0 {uid} 1")
            _write(f"/proc/{pid}/gid_map", f"0 {uid} 1")
            there.send(b"k")
        os._exit(0)
    there.close()

    def take() -> None:
        here.send(b"m")
        if here.recv(1) != b"k":
            raise OSError(1, f"cannot map host user {uid} into a user namespace")
        here.close()
        os.wait()
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        kernel.set_dumpable(dumpable=True)

    return take


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.set_dumpable(dumpable=True)


def _capabilities() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith("CapEff"))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
