"""The root folder of the jail: read-only binds of the interpreter and its libraries, and little else."""

from __future__ import annotations

import os

from . import kernel

WORKSPACE = "/workspace"
SCRATCH = "/box"
"""The memory filesystem that holds the work and temporary folders of one world."""

_DEVICES = ("null", "zero", "full", "random", "urandom")
_FILES = {
    "/etc/passwd": "sandbox:x:65534:65534:sandbox:/workspace:/bin/sh\n",
    "/etc/group": "sandbox:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_LINKS = {
    WORKSPACE: f"{SCRATCH}/workspace",
    "/tmp": f"{SCRATCH}/tmp",  # noqa: S108 - the jail's own
    "/dev/shm": f"{SCRATCH}/shm",  # noqa: S108 - the jail's own
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "fd/0",
    "/dev/stdout": "fd/1",
    "/dev/stderr": "fd/2",
}
_TOP = "/tmp"  # noqa: S108 - any folder that exists everywhere; hidden in a private namespace


def build(binds: list[str], masks: list[str], links: dict[str, str]) -> None:
    """Make the new root and enter it. Needs a private mount namespace.

    Args:
        binds: host folders shown at the same path, read-only.
        masks: folders below them shown empty.
        links: symbolic links, by path.
    """
    sources = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in binds}
    devices = {name: os.open(f"/dev/{name}", os.O_PATH | os.O_CLOEXEC) for name in _DEVICES}
    cache = _read("/etc/ld.so.cache")
    proc = os.open("/proc/self/fd", os.O_PATH | os.O_CLOEXEC)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("sandbox", _TOP, "tmpfs", flags, "size=32m,nr_inodes=4096,mode=755")
    for path, descriptor in sources.items():
        _bind(proc, descriptor, _TOP + path)
        kernel.make_read_only(_TOP + path)
    for path in masks:
        if os.path.isdir(_TOP + path):
            kernel.mount("sandbox", _TOP + path, "tmpfs", flags | kernel.MS_RDONLY, "size=4k,mode=755")
    _fill(links, cache)
    kernel.mount("/proc", f"{_TOP}/proc", "", kernel.MS_BIND | kernel.MS_REC)
    for name, descriptor in devices.items():
        _write(f"{_TOP}/dev/{name}", b"")
        kernel.mount(f"/proc/self/fd/{descriptor}", f"{_TOP}/dev/{name}", "", kernel.MS_BIND)
    for descriptor in (proc, *sources.values(), *devices.values()):
        os.close(descriptor)
    kernel.mount("none", _TOP, "", kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | flags)
    kernel.pivot_to(_TOP)


def mount_scratch(disk_bytes: int, max_files: int) -> None:
    """Mount empty work, temporary and shared memory folders, bounded together."""
    data = f"size={disk_bytes},nr_inodes={max_files + 5},mode=755"
    kernel.mount("sandbox", SCRATCH, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, data)
    for name in ("workspace", "tmp", "shm"):
        os.mkdir(f"{SCRATCH}/{name}", 0o700)


def unmount_scratch() -> None:
    """Drop the folders with all that is in them."""
    kernel.detach(SCRATCH)


def mount_proc() -> bool:
    """Show the processes of the caller's own process namespace, and nothing of the machine.

    The host's own is covered, and must be there until then: the kernel allows a new one beside it only.

    Returns:
        Whether there is one now; otherwise the folder is empty.
    """
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    try:
        kernel.mount("proc", "/proc", "proc", flags, "hidepid=2,subset=pid")
    except OSError:  # before Linux 5.8, or where parts of the host's own are masked
        kernel.mount("sandbox", "/proc", "tmpfs", flags | kernel.MS_RDONLY, "size=4k,mode=555")
        return False
    return True


def _bind(proc: int, descriptor: int, target: str) -> None:
    if os.stat(f"{descriptor}", dir_fd=proc).st_mode & 0o170000 == 0o040000:
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write(target, b"")
    kernel.mount(f"/proc/self/fd/{descriptor}", target, "", kernel.MS_BIND | kernel.MS_REC)


def _fill(links: dict[str, str], cache: bytes) -> None:
    for folder in ("/dev", "/etc", "/proc", SCRATCH):
        os.makedirs(_TOP + folder, exist_ok=True)
    for path, text in _FILES.items():
        _write(_TOP + path, text.encode())
    _write(f"{_TOP}/etc/ld.so.cache", cache)
    for path, target in {**_LINKS, **links}.items():
        os.makedirs(os.path.dirname(_TOP + path), exist_ok=True)
        os.symlink(target, _TOP + path)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
