"""Which parts of the host a jail shows: the base interpreter, system libraries and tools, read-only.

Never home folders, temporary folders, installed packages or this project: a program must not find
reference solutions, data or credentials by looking around.
"""

from __future__ import annotations

import glob
import os
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = ("bin", "include", "lib", "lib32", "lib64", "libexec", "sbin", "share")
_JAIL_BIN = "/sandbox/bin"

ENVIRONMENT = {
    "PATH": f"{_JAIL_BIN}:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/workspace",
    "TMPDIR": "/tmp",  # noqa: S108 - the jail's own
    "USER": "sandbox",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # equal programs print equal things
    "PYTHONIOENCODING": "utf-8:backslashreplace",
    "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""All that a program finds in its environment; nothing of the host's is passed on."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What `jail.root.build` needs."""

    binds: list[str]
    masks: list[str]
    links: dict[str, str]


def interpreter() -> str:
    """The base interpreter behind any virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def make_layout() -> Layout:
    """Look at this machine and this interpreter."""
    binds = [f"/usr/{name}" for name in _SYSTEM] + _interpreter_folders() + ["/etc/alternatives"]
    links = {f"{_JAIL_BIN}/{name}": interpreter() for name in ("python", "python3")}
    for name in ("bin", "lib", "lib32", "lib64", "sbin"):
        path = f"/{name}"
        if os.path.islink(path):
            links[path] = os.readlink(path)
        else:
            binds.append(path)
    binds = _outermost(path for path in binds if os.path.isdir(path))
    return Layout(binds, _masks(binds), links)


def _interpreter_folders() -> list[str]:
    """The base prefix's own folders, and where its libraries were loaded from."""
    prefix = sys.base_prefix
    folders = [f"{prefix}/{name}" for name in ("bin", "lib", "lib64")]
    base = {"base": prefix, "platbase": sys.base_exec_prefix, "installed_base": prefix}
    folders += [sysconfig.get_path(name, vars=base) for name in ("stdlib", "platstdlib")]
    folders.append(os.path.dirname(interpreter()))
    return [folder for folder in folders if folder] + _loader_folders()


def _loader_folders() -> list[str]:
    """Folders of the C library and its like, where a distribution keeps them elsewhere."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if "/" in line}
    wanted = ("libc.", "libc-", "ld-", "ld.", "libm.", "libm-", "libpython")
    return [os.path.dirname(path) for path in paths if os.path.basename(path).startswith(wanted)]


def _outermost(paths: Iterable[str]) -> list[str]:
    """Drop folders that lie in others, and spell each one without links."""
    real = sorted({os.path.realpath(path) for path in paths}, key=lambda path: Path(path).parts)
    kept: list[str] = []
    for path in real:
        if not kept or not Path(path).is_relative_to(kept[-1]):
            kept.append(path)
    return kept


def _masks(binds: list[str]) -> list[str]:
    """Installed packages and this project, where they lie below a bind."""
    found: set[str] = set()
    for bind in binds:
        for pattern in ("*-packages", "python*/*-packages", "*/python*/*-packages"):
            found.update(glob.glob(f"{bind}/{pattern}"))
    own = {
        str(Path(__file__).resolve().parents[2]),
        *(path for path in sys.path if path.endswith("-packages")),
    }
    if sys.prefix != sys.base_prefix:
        own.add(sys.prefix)
    for path in map(os.path.realpath, own):
        if any(Path(path).is_relative_to(bind) for bind in binds):
            found.add(path)
    return sorted(path for path in found if os.path.isdir(path))
