"""System calls that the standard library lacks, by ctypes: mounts, namespaces, capabilities, openat2."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SYS_CAPSET = {"x86_64": 126, "aarch64": 91}
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYS_OPENAT2, _SYS_MOUNT_SETATTR = 437, 442  # equal on both
_AT_RECURSIVE = 0x8000
_MACHINE = os.uname().machine

RESOLVE_CONFINED = 0x01 | 0x02 | 0x04 | 0x08
"""openat2: no other mount, no magic link, no link, nothing above the folder."""

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> int:
    """Raise the error of a C call that returned -1.

    Raises:
        OSError: with `what` in its text.
    """
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _syscall(what: str, number: int, *arguments: object) -> int:
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return check(libc.syscall(ctypes.c_long(number), *converted), what)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags` for fresh ones."""
    check(libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a filesystem or bind a folder."""
    arguments = [os.fsencode(text) for text in (source, target, kind)]
    check(
        libc.mount(*arguments, ctypes.c_ulong(flags), data.encode()), f"mount({kind or source} on {target})"
    )


def detach(target: str) -> None:
    """Unmount, even if in use."""
    check(libc.umount2(os.fsencode(target), MNT_DETACH), f"umount({target})")


def make_read_only(target: str) -> None:
    """Make a bind with all mounts below it read-only, without devices and setuid."""
    attributes = struct.pack("QQQQ", MS_RDONLY | MS_NOSUID | MS_NODEV, 0, 0, 0)
    try:
        _syscall(
            "mount_setattr", _SYS_MOUNT_SETATTR, -100, os.fsencode(target), _AT_RECURSIVE, attributes, 32
        )
    except OSError:  # before Linux 5.12: the top mount alone, with the flags it is locked to
        locked = os.statvfs(target).f_flag & (MS_NOEXEC | 0x400 | 0x800)
        flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | locked
        mount("none", target, "", flags)


def pivot_to(folder: str) -> None:
    """Make `folder`, a mount, the root; the old root is gone."""
    os.chdir(folder)
    _syscall("pivot_root", _SYS_PIVOT_ROOT[_MACHINE], b".", b".")
    detach(".")
    os.chdir("/")


def die_with_parent() -> None:
    """SIGKILL this process when the thread that forked it ends. Credential changes clear this."""
    check(libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0), "prctl(PR_SET_PDEATHSIG)")


def set_dumpable(*, dumpable: bool) -> None:
    """Whether this process owns its own /proc files."""
    check(libc.prctl(_PR_SET_DUMPABLE, int(dumpable), 0, 0, 0), "prctl(PR_SET_DUMPABLE)")


def drop_privileges() -> None:
    """Give up every capability, and ever gaining one by executing a file."""
    header = struct.pack("Ii", 0x20080522, 0)
    _syscall("capset", _SYS_CAPSET[_MACHINE], header, bytes(24))
    check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)")


def open_confined(folder: int, path: str, flags: int) -> int:
    """Open `path` below the folder descriptor, following no link of any kind.

    Raises:
        OSError: missing, or the path leaves the folder or crosses a link.
    """
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, RESOLVE_CONFINED)
    return _syscall("openat2", _SYS_OPENAT2, folder, os.fsencode(path), how, len(how))


def raise_loopback() -> None:
    """Bring up the loopback device of a fresh network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(
            control, 0x8914, struct.pack("16sh14x", b"lo", 0x49)
        )  # SIOCSIFFLAGS: up, running, loopback
