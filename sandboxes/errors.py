"""What a sandbox failed to do, as one tree of exceptions.

What the *program* did (a crash, a timeout, too much memory) is a value, `ExecResult`.
What the *sandbox* failed to do is one of these, and never becomes a reward:

    SandboxError
    ├── SandboxUnavailable   cannot be had on this machine; says what is missing and what remains
    ├── SandboxLost          was there and broke (process died, daemon gone, protocol error)
    ├── SandboxBusy          no slot became free within the time allowed
    └── FileAccessError      a file asked for is missing, too large or not a regular file
"""

from __future__ import annotations


class SandboxError(Exception):
    """Base of all sandbox faults. `retryable` says whether a fresh sandbox may succeed."""

    retryable: bool = False


class SandboxUnavailable(SandboxError):
    """This provider cannot run here. The message says what is missing, the remedy, and what remains."""


class SandboxLost(SandboxError):
    """The sandbox broke while in use; a fresh one may work."""

    retryable = True


class SandboxBusy(SandboxError):
    """No slot became free within the time allowed."""

    retryable = True


class FileAccessError(SandboxError):
    """A file in the sandbox is missing, larger than `max_bytes`, or not a regular file."""
