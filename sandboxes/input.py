"""Checking what callers hand to a provider, equally for all of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from .core import SandboxLimits

MAX_TIMEOUT_S = 604_800.0
"""A week; the kernel counts the milliseconds of a wait in 31 bits."""


def to_bytes(text: bytes | str) -> bytes:
    """Encode text as UTF-8; lone surrogates, which models do write, survive."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)


def check_at_least_one(name: str, value: int) -> None:
    """A count of things is at least 1.

    Raises:
        ValueError: it is not.
    """
    if value < 1:
        raise ValueError(f"{name} is {value!r}; it must be at least 1")


def slots_or_default(slots: int | None) -> int:
    """How many programs run at once: as asked, or one for each usable core, and at least 2.

    Raises:
        ValueError: less than 1 is asked for.
    """
    if slots is None:
        return max(2, len(os.sched_getaffinity(0)))
    check_at_least_one("slots", slots)
    return slots


def check_program(code: str | None, cmd: Sequence[str] | None) -> None:
    """Exactly one of source and command must be given.

    Raises:
        ValueError: neither, both, or an empty command.
        TypeError: the command is one string, or holds something else than text.
    """
    if (code is None) == (cmd is None):
        given = "neither" if code is None else "both"
        raise ValueError(f"run takes either code or cmd, got {given}; pass exactly one of them")
    if code is not None and not isinstance(code, str):
        raise TypeError(f"code is Python source text, got {type(code).__name__}")
    if cmd is not None:
        check_command(cmd)


def check_command(cmd: Sequence[str]) -> None:
    """A command is a non-empty list of strings without NUL.

    Raises:
        ValueError: empty, or holds a NUL character.
        TypeError: not a list of strings.
    """
    if isinstance(cmd, str) or not all(isinstance(part, str) for part in cmd):
        raise TypeError(f"cmd is a list of strings, got {cmd!r}; e.g. ['python', 'main.py']")
    if not cmd or any("\0" in part for part in cmd):
        raise ValueError(f"cmd is a non-empty list of strings without NUL characters, got {list(cmd)!r}")


def check_timeout(timeout_s: float) -> float:
    """A time limit is a positive number of seconds, a week at most.

    Raises:
        ValueError: it is not.
    """
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ValueError(
            f"timeout_s is {timeout_s!r}; it must be a positive number of seconds, at most {MAX_TIMEOUT_S:g}"
        )
    return timeout_s


def check_environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """Environment variables are text without NUL, with names without `=`.

    Raises:
        ValueError: one is not.
    """
    for name, value in (env or {}).items():
        if not name or "=" in name or "\0" in name + value:
            raise ValueError(f"env has {name!r}={value!r}; names are non-empty without '=', both without NUL")
    return dict(env or {})


def check_files(files: Mapping[str, bytes | str] | None, limits: SandboxLimits) -> dict[str, bytes]:
    """Files lie below the workspace and fit its limits; returns their content as bytes.

    Raises:
        ValueError: a path is absolute, leaves the workspace, or is no file name; or they do not fit.
    """
    checked = {check_path(path): to_bytes(data) for path, data in (files or {}).items()}
    total = sum(map(len, checked.values()))
    if total > limits.disk_bytes or len(checked) > limits.max_files:
        raise ValueError(
            f"{len(checked)} files of {total} bytes do not fit a workspace of {limits.max_files} files "
            f"and {limits.disk_bytes} bytes; raise limits.max_files or limits.disk_bytes"
        )
    for path, data in checked.items():
        if len(data) > limits.max_file_bytes:
            raise ValueError(
                f"{path!r} has {len(data)} bytes; limits.max_file_bytes is {limits.max_file_bytes}"
            )
    return checked


def check_path(path: str) -> str:
    """A path is relative, inside the workspace, and names a file.

    Raises:
        ValueError: it is not.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.name or "\0" in path:
        raise ValueError(f"{path!r} is not a relative path below the workspace, such as 'src/main.py'")
    return str(pure)
