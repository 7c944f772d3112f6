"""The self-test: run as a jailed program, it tries to get out and prints what worked, as JSON.

`argv`-like input comes in `probe.json`: a port that the host listens on, a file of
the host, and the environment variables that are expected.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable


def main() -> None:
    """Try everything."""
    with open("probe.json") as file:
        port, bait, variables = json.load(file)
    attempts: dict[str, Callable[[], object]] = {
        "reads files of the host": lambda: os.stat(bait),
        "writes to system folders": lambda: os.close(os.open("/usr/lib/.probe", os.O_CREAT | os.O_WRONLY)),
        "writes to the root folder": lambda: os.mkdir("/probe"),
        "reaches the network of the host": lambda: socket.create_connection(("127.0.0.1", port), 1),
        "opens netlink sockets": lambda: socket.socket(16, socket.SOCK_RAW, 0),
        "changes its root": lambda: os.chroot("/workspace"),
        "makes user namespaces": lambda: _expect_zero(ctypes.CDLL(None).unshare(0x10000000)),
        "makes mount namespaces": lambda: _expect_zero(ctypes.CDLL(None).unshare(0x00020000)),
        "traces processes": lambda: _expect_zero(ctypes.CDLL(None).ptrace(0, 0, 0, 0)),
    }
    found = [name for name, attempt in attempts.items() if _works(attempt)] + _look_around(variables)
    json.dump(found, sys.stdout)


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _expect_zero(result: int) -> None:
    if result != 0:
        raise OSError("refused")


def _look_around(expected: list[str]) -> list[str]:
    found = ["sees the environment of the host"] if set(os.environ) - set(expected) else []
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    if not processes:
        return found  # no /proc here, so nothing to see in it
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    if int(status["CapEff"], 16) | int(status["CapPrm"], 16):
        found.append("has capabilities")
    if (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) != ("1", "2"):
        found.append("has no system call filter")
    if len(processes) > 2:
        found.append("sees processes of the host")
    if set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3"}:
        found.append("has descriptors of the host")
    return found


if __name__ == "__main__":
    main()
