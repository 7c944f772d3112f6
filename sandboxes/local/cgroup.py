"""Counting the memory and processes of whole trees by control groups, version 1 or 2, where writable."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ..core import SandboxLimits

_PREFIX = "grpo-agent."
_SERVER = "server"
_LINGER_S = 2.0
_SERVER_BYTES = 24 * 2**20
"""What the interpreter server itself may use in a group, on top of a program's limit."""
_SERVER_TASKS = 16


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """A folder of the control group filesystem in which we may make groups."""

    folder: Path
    version: int
    controllers: frozenset[str]


class ControlGroup:
    """One group in every hierarchy: what is adopted, and what that forks, is counted together."""

    def __init__(self, folders: list[tuple[Path, _Hierarchy]]) -> None:
        self._folders = folders
        self._limits: tuple[int, int] | None = None
        self._killed = 0

    def adopt(self, pid: int) -> None:
        """Move a process, before it forks, into the group.

        Raises:
            OSError: not allowed.
        """
        for folder, _ in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def limit(self, limits: SandboxLimits) -> None:
        """Set the bounds, if they differ from the last ones.

        The work folders, bounded by themselves, come on top: full, they must not starve the server.

        Raises:
            OSError: the kernel refuses.
        """
        memory_bytes = limits.memory_bytes + limits.disk_bytes + _SERVER_BYTES
        wanted = (memory_bytes, limits.max_processes + _SERVER_TASKS)
        if wanted == self._limits:
            return
        for folder, hierarchy in self._folders:
            if "memory" in hierarchy.controllers:
                _limit_memory(folder, hierarchy.version, wanted[0])
            if "pids" in hierarchy.controllers:
                (folder / "pids.max").write_text(str(wanted[1]))
        self._limits = wanted

    def ran_out(self) -> bool:
        """Whether the kernel killed for memory since the last time this was asked."""
        killed = sum(_kills(folder, hierarchy.version) for folder, hierarchy in self._folders)
        before, self._killed = self._killed, killed
        return killed > before


class ControlGroups:
    """The groups of one provider. `counts_memory` is false where the machine lets us make none."""

    def __init__(self) -> None:
        self._hierarchies: list[_Hierarchy] = []
        self._name = f"{_PREFIX}{os.getpid()}.{_start_time(os.getpid())}.{time.monotonic_ns()}"
        self._count = 0

    @property
    def counts_memory(self) -> bool:
        """Whether memory of a process tree is bounded by the kernel."""
        return any("memory" in hierarchy.controllers for hierarchy in self._hierarchies)

    def start(self, pid: int) -> None:
        """Find hierarchies by making groups and moving `pid`, the server, into one."""
        if self._hierarchies:
            for hierarchy in self._hierarchies:
                (hierarchy.folder / _SERVER / "cgroup.procs").write_text(str(pid))
            return
        for candidate in _candidates():
            wanted = {"memory", "pids"} - {c for h in self._hierarchies for c in h.controllers}
            if wanted & candidate.controllers and self._try(candidate, pid):
                self._hierarchies.append(_Hierarchy(candidate.folder / self._name, *_rest(candidate)))

    def group(self) -> ControlGroup | None:
        """Make a group; `None` where there are no hierarchies."""
        if not self._hierarchies:
            return None
        self._count += 1
        folders = [(hierarchy.folder / f"g{self._count}", hierarchy) for hierarchy in self._hierarchies]
        for folder, _ in folders:
            folder.mkdir()
        return ControlGroup(folders)

    async def remove(self) -> None:
        """Remove all groups of this provider, as soon as the last dying process has left them."""
        deadline = time.monotonic() + _LINGER_S
        for hierarchy in self._hierarchies:
            while hierarchy.folder.is_dir():
                _remove_tree(hierarchy.folder)
                if not hierarchy.folder.is_dir() or time.monotonic() > deadline:
                    break
                await asyncio.sleep(0.01)
        self._hierarchies = []

    def _try(self, hierarchy: _Hierarchy, pid: int) -> bool:
        folder = hierarchy.folder / self._name
        _sweep_dead(hierarchy.folder)
        try:
            folder.mkdir()
            if hierarchy.version == 2:
                enabled = " ".join(f"+{name}" for name in sorted(hierarchy.controllers))
                (folder / "cgroup.subtree_control").write_text(enabled)
            (folder / _SERVER).mkdir()
            (folder / _SERVER / "cgroup.procs").write_text(str(pid))
        except OSError:
            _remove_tree(folder)
            return False
        return True


def _rest(hierarchy: _Hierarchy) -> tuple[int, frozenset[str]]:
    return hierarchy.version, hierarchy.controllers


def _candidates() -> list[_Hierarchy]:
    """Places to try: beside us, above us, at the top; for each hierarchy with a controller we want."""
    own = _own_groups()
    found: list[_Hierarchy] = []
    for mount, version, controllers in _mounts():
        top = Path(mount)
        here = top / own.get("" if version == 2 else min(controllers), "/").lstrip("/")
        for folder in dict.fromkeys((here, here.parent, top)):
            if folder.is_dir() and folder.is_relative_to(top):
                available = controllers if version == 1 else _offered(folder)
                found.append(_Hierarchy(folder, version, available & {"memory", "pids"}))
    return [hierarchy for hierarchy in found if hierarchy.controllers]


def _mounts() -> list[tuple[str, int, frozenset[str]]]:
    mounts: list[tuple[str, int, frozenset[str]]] = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount, kind, options, *_ = line.split()
        if kind == "cgroup2":
            mounts.append((mount, 2, frozenset()))
        elif kind == "cgroup" and {"memory", "pids"} & set(options.split(",")):
            mounts.append((mount, 1, frozenset(options.split(",")) & {"memory", "pids"}))
    return mounts


def _own_groups() -> dict[str, str]:
    groups: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        groups.update(dict.fromkeys(names.split(","), path))
    return groups


def _offered(folder: Path) -> frozenset[str]:
    """Controllers that a version 2 group hands to its children."""
    try:
        return frozenset((folder / "cgroup.subtree_control").read_text().split())
    except OSError:
        return frozenset()


def _limit_memory(folder: Path, version: int, limit: int) -> None:
    if version == 2:
        (folder / "memory.max").write_text(str(limit))
        with contextlib.suppress(OSError):  # no swap
            (folder / "memory.swap.max").write_text("0")
        return
    both = folder / "memory.memsw.limit_in_bytes"
    if both.exists():
        both.write_text("-1")
    (folder / "memory.limit_in_bytes").write_text(str(limit))
    if both.exists():
        both.write_text(str(limit))


def _kills(folder: Path, version: int) -> int:
    path = folder / ("memory.events" if version == 2 else "memory.oom_control")
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _sweep_dead(folder: Path) -> None:
    """Remove groups whose owner is gone; the kernel refuses for those in use."""
    for group in folder.glob(f"{_PREFIX}*"):
        pid, _, rest = group.name.removeprefix(_PREFIX).partition(".")
        if rest.partition(".")[0] != str(_start_time(int(pid)) if pid.isdigit() else ""):
            _remove_tree(group)


def _start_time(pid: int) -> int:
    """Clock ticks since boot at which a process began; 0 if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[19])


def _remove_tree(folder: Path) -> None:
    if folder.is_dir():
        for child in folder.iterdir():
            if child.is_dir():
                _remove(child)
        _remove(folder)


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):  # gone, or still in use by what is about to die
        folder.rmdir()
