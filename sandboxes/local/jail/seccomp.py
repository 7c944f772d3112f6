"""The system call filter of a jailed program, as classic BPF, for x86-64 and aarch64.

An allow list: numbers outside it get ENOSYS, foreign entry points (32-bit, x32) end the process. A few
calls are looked into: `clone` may make no namespace and no sibling, `socket` only unix and IP sockets, and
calls that take a process id may name only the caller.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from .kernel import check, libc
from .syscall_table import allowed_numbers

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL_PROCESS = 0x80000000
_LOAD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARGS = 0, 4, 16
_CLONE_REFUSED = 0x7E028000  # new namespaces, and CLONE_PARENT: making children of the server
_DOMAINS = (1, 2, 10)  # unix, inet, inet6
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_SELF_ONLY = ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")

_Code = list[tuple[int, int, int, int]]
"""Instructions: operation, jump if true, jump if false, operand."""


def build_filter(machine: str, *, with_memfd: bool) -> bytes:
    """The filter program for `machine`.

    Args:
        machine: as `os.uname().machine`.
        with_memfd: whether `memfd_create` is allowed; without a memory cgroup its pages escape counting.

    Raises:
        KeyError: the machine is neither x86-64 nor aarch64.
    """
    numbers = allowed_numbers(machine)
    if not with_memfd:
        del numbers["memfd_create"]
    checks = _argument_checks()
    special = {numbers[name]: code for name, code in checks.items() if name in numbers}
    tree = _search(_segments(set(numbers.values()), special))
    head: _Code = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, _AUDIT_ARCH[machine]),
        (_RET, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NR),
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in head + tree)


def install(program: bytes) -> None:
    """Apply the filter to this thread for good; needs `no_new_privs`."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    check(libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0), "prctl(PR_SET_SECCOMP)")


def _argument_checks() -> dict[str, _Code]:
    allow: _Code = [(_RET, 0, 0, _ALLOW)]
    deny: _Code = [(_RET, 0, 0, _ERRNO | errno.EPERM)]
    no_family: _Code = [(_RET, 0, 0, _ERRNO | errno.EAFNOSUPPORT)]
    only_self: _Code = [_argument(0), (_JEQ, 0, 1, 0), *allow, *deny]
    checks = dict.fromkeys(_SELF_ONLY, only_self)
    checks["clone"] = [_argument(0), (_JSET, 0, 1, _CLONE_REFUSED), *deny, *allow]
    checks["socket"] = [_argument(0), *_one_of(_DOMAINS), *no_family, *allow]
    checks["ioctl"] = [_argument(1), *_one_of(_TERMINAL_INJECTION), *allow, *deny]
    checks["setpriority"] = [_argument(0), (_JEQ, 0, 3, 0), _argument(1), (_JEQ, 0, 1, 0), *allow, *deny]
    return checks


def _argument(index: int) -> tuple[int, int, int, int]:
    """Load the low half of an argument; the kernel reads no more of those that are checked."""
    return (_LOAD, 0, 0, _ARGS + 8 * index)


def _one_of(values: tuple[int, ...]) -> _Code:
    """Jump over the next instruction if the loaded word is one of `values`."""
    return [(_JEQ, len(values) - index, 0, value) for index, value in enumerate(values)]


def _segments(allowed: set[int], special: dict[int, _Code]) -> list[tuple[int, _Code]]:
    """Cut the numbers into runs of equal treatment: first number of each, and what to do."""
    allow: _Code = [(_RET, 0, 0, _ALLOW)]
    missing: _Code = [(_RET, 0, 0, _ERRNO | errno.ENOSYS)]
    segments: list[tuple[int, _Code]] = []
    for number in range(max(allowed) + 2):
        code = special.get(number, allow if number in allowed else missing)
        if not segments or segments[-1][1] is not code:
            segments.append((number, code))
    return segments


def _search(segments: list[tuple[int, _Code]]) -> _Code:
    """A binary search tree over the segments; eight comparisons reach any leaf."""
    if len(segments) == 1:
        return segments[0][1]
    middle = len(segments) // 2
    low, high = _search(segments[:middle]), _search(segments[middle:])
    return [*_jump_if_at_least(segments[middle][0], len(low)), *low, *high]


def _jump_if_at_least(number: int, distance: int) -> _Code:
    if distance < 256:
        return [(_JGE, distance, 0, number)]
    return [(_JGE, 0, 1, number), (0x05, 0, 0, distance)]
