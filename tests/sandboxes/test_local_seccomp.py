"""The system call filter does what its table says; run here by a small interpreter of its own."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.sandboxes.local.jail.seccomp import build_filter
from grpo_agent.sandboxes.local.jail.syscall_table import allowed_numbers

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def decide(program: bytes, architecture: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """What the kernel would answer."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *padded)
    code = list(struct.iter_unpack("HBBI", program))
    at, value = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        match operation:
            case 0x20:
                (value,) = struct.unpack_from("I", data, operand)
            case 0x06:
                return operand
            case 0x05:
                at += operand
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case _:
                raise AssertionError(hex(operation))


@MACHINES
def test_every_listed_call_is_allowed_and_no_other(machine: str) -> None:
    program = build_filter(machine, with_memfd=True)
    names = {number: name for name, number in allowed_numbers(machine).items()}
    of_others = {"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"}
    for number in range(600):
        expected = ALLOW if number in names else ERRNO | errno.ENOSYS
        if names.get(number) in of_others | {"setpriority"}:
            expected = ERRNO | errno.EPERM  # process 1 is another one
        answer = decide(program, ARCHITECTURE[machine], number, (1, 0, 0))
        assert answer == expected, (number, names.get(number))


@MACHINES
@given(number=st.integers(470, 2**32 - 1))
def test_unknown_calls_and_x32_are_not_there(machine: str, number: int) -> None:
    program = build_filter(machine, with_memfd=True)
    assert decide(program, ARCHITECTURE[machine], number) == ERRNO | errno.ENOSYS


@MACHINES
def test_foreign_entry_points_end_the_process(machine: str) -> None:
    assert decide(build_filter(machine, with_memfd=True), 0x40000003, 20) == KILL


@MACHINES
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("clone", (17,), ALLOW),
        ("clone", (0x3D0F00,), ALLOW),  # a thread
        ("clone", (0x10000000 | 17,), ERRNO | errno.EPERM),  # a user namespace
        ("clone", (0x8000 | 17,), ERRNO | errno.EPERM),  # a sibling
        ("socket", (1, 1), ALLOW),
        ("socket", (2, 1), ALLOW),
        ("socket", (10, 2), ALLOW),
        ("socket", (16, 3), ERRNO | errno.EAFNOSUPPORT),
        ("socket", (40, 1), ERRNO | errno.EAFNOSUPPORT),
        ("ioctl", (0, 0x5413), ALLOW),
        ("ioctl", (0, 0x5412), ERRNO | errno.EPERM),
        ("ioctl", (0, 0x541C), ERRNO | errno.EPERM),
        ("ioctl", (0, 2**32 | 0x5412), ERRNO | errno.EPERM),
        ("prlimit64", (0,), ALLOW),
        ("prlimit64", (1,), ERRNO | errno.EPERM),
        ("sched_setaffinity", (1,), ERRNO | errno.EPERM),
        ("setpriority", (0, 0), ALLOW),
        ("setpriority", (0, 1), ERRNO | errno.EPERM),
        ("setpriority", (2, 0), ERRNO | errno.EPERM),
    ],
)
def test_arguments_are_looked_into(machine: str, name: str, arguments: tuple[int, ...], answer: int) -> None:
    program = build_filter(machine, with_memfd=True)
    number = allowed_numbers(machine)[name]
    assert decide(program, ARCHITECTURE[machine], number, arguments) == answer


@MACHINES
def test_anonymous_files_need_a_memory_group(machine: str) -> None:
    number = allowed_numbers(machine)["memfd_create"]
    assert decide(build_filter(machine, with_memfd=True), ARCHITECTURE[machine], number) == ALLOW
    assert (
        decide(build_filter(machine, with_memfd=False), ARCHITECTURE[machine], number) == ERRNO | errno.ENOSYS
    )


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(KeyError, match="riscv64"):
        build_filter("riscv64", with_memfd=True)
