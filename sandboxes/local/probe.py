"""Trying the jail out before it is trusted, and saying what to do where it cannot be had."""

from __future__ import annotations

import errno
import json
import socket
import tempfile
from pathlib import Path

from ..core import SandboxLimits
from ..errors import SandboxUnavailable
from . import layout
from .executor import Executor
from .job import Job
from .server import StartFailed

_ESCAPE = Path(__file__).parent / "jail" / "escape.py"
_REMAINS = (
    "Where that is not possible, sandbox=unsafe runs programs as plain processes, without isolation: "
    "for code that you would run yourself."
)


async def probe(slot: Executor) -> None:
    """Run a program that tries to get out.

    Raises:
        SandboxUnavailable: something worked that must not.
    """
    with tempfile.NamedTemporaryFile() as bait, socket.create_server(("127.0.0.1", 0)) as listener:
        given = [listener.getsockname()[1], bait.name, list(layout.ENVIRONMENT)]
        files = {"probe.json": json.dumps(given).encode()}
        job = Job(limits=SandboxLimits(), timeout_s=10.0, code=_ESCAPE.read_text(), files=files)
        result = await slot.run(job)
    if not result.ok:
        raise SandboxUnavailable(
            f"the local sandbox does not work here: its self-test ended with {result.status}: "
            f"{result.stderr.strip()[-500:]}. {_REMAINS}"
        )
    if found := json.loads(result.stdout):
        raise SandboxUnavailable(
            f"the local sandbox does not hold here: a program in it {', '.join(found)}. {_REMAINS}"
        )


def explain(failure: StartFailed) -> str:
    """What is missing, the remedy, and what remains."""
    return f"the local sandbox cannot be had here: {failure}. {_remedy(failure)} {_REMAINS}"


def _remedy(failure: StartFailed) -> str:
    if failure.number not in (errno.EPERM, errno.EACCES, errno.ENOSPC, errno.ENOSYS, errno.EINVAL):
        return "This step is needed to build the jail."
    if _setting("user/max_user_namespaces") == "0":
        return "User namespaces are switched off: sysctl user.max_user_namespaces=10000 allows them."
    if _setting("kernel/unprivileged_userns_clone") == "0":
        return "Only root may make user namespaces: sysctl kernel.unprivileged_userns_clone=1 allows them."
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor forbids user namespaces to ordinary programs: "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0 allows them, or run as root."
        )
    if _is_filtered():
        return (
            "This process is in a container whose system call filter forbids namespaces: start Docker "
            "with --security-opt seccomp=unconfined --security-opt systempaths=unconfined."
        )
    return "The kernel forbids the namespaces that the jail is made of."


def _setting(name: str) -> str | None:
    try:
        return Path(f"/proc/sys/{name}").read_text().strip()
    except OSError:
        return None


def _is_filtered() -> bool:
    return "Seccomp:\t2" in Path("/proc/self/status").read_text()
