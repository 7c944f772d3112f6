"""What callers hand over is checked, with a message that helps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.sandboxes import SandboxLimits
from grpo_agent.sandboxes.input import (
    check_command,
    check_environment,
    check_files,
    check_path,
    check_timeout,
    to_bytes,
)


@pytest.mark.parametrize("path", ["", ".", "/x", "..", "../x", "a/../b", "a\0b"])
def test_a_path_must_stay_below_the_workspace(path: str) -> None:
    with pytest.raises(ValueError, match="is not a relative path below the workspace"):
        check_path(path)


@given(st.text())
def test_an_accepted_path_never_leaves_the_workspace(path: str) -> None:
    try:
        accepted = check_path(path)
    except ValueError:
        return
    assert not accepted.startswith("/")
    assert ".." not in accepted.split("/")


def test_files_must_fit() -> None:
    with pytest.raises(ValueError, match=r"2 files of 80000 bytes do not fit a workspace .* 65536 bytes"):
        check_files({"a": "x" * 40_000, "b": b"x" * 40_000}, SandboxLimits(disk_bytes=65536))
    with pytest.raises(ValueError, match=r"'a' has 5 bytes; limits.max_file_bytes is 4"):
        check_files({"a": "x" * 5}, SandboxLimits(max_file_bytes=4))


def test_a_command_is_a_list_of_strings() -> None:
    with pytest.raises(TypeError, match="cmd is a list of strings, got 'ls -l'"):
        check_command("ls -l")
    with pytest.raises(ValueError, match="non-empty list"):
        check_command([])
    with pytest.raises(ValueError, match="without NUL"):
        check_command(["a\0"])


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf"), 1e20])
def test_a_timeout_is_positive_and_at_most_a_week(timeout_s: float) -> None:
    with pytest.raises(ValueError, match="must be a positive number of seconds, at most 604800"):
        check_timeout(timeout_s)


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({"memory_bytes": 256}, "memory_bytes is 256; it must be a whole number from 16777216 to"),
        ({"memory_bytes": -1}, "memory_bytes is -1;"),
        ({"memory_bytes": 5e8}, r"memory_bytes is 500000000\.0; it must be a whole number"),
        ({"memory_bytes": 2**63}, "memory_bytes is 9223372036854775808;"),
        ({"disk_bytes": 0}, "disk_bytes is 0; it must be a whole number from 65536"),
        ({"max_files": 0}, "max_files is 0;"),
        ({"max_processes": 0}, "max_processes is 0;"),
        ({"max_open_files": 2}, "max_open_files is 2;"),
        ({"max_output_bytes": True}, "max_output_bytes is True;"),
        ({"cpu_s": 0}, "cpu_s is 0; it must be None, or above 0"),
        ({"cpu_s": float("nan")}, "cpu_s is nan;"),
    ],
)
def test_a_limit_out_of_range_is_refused(limits: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        SandboxLimits(**limits)


@pytest.mark.parametrize("env", [{"": "x"}, {"a=b": "x"}, {"a": "x\0"}])
def test_environment_names_are_plain(env: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="names are non-empty without '='"):
        check_environment(env)


def test_lone_surrogates_survive_as_bytes() -> None:
    assert to_bytes("\ud800") == b"\xed\xa0\x80"
