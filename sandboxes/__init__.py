"""Where untrusted code runs: one interface, several providers.

Not here: anything of reinforcement learning.
"""

from __future__ import annotations

from .core import ExecResult, Sandbox, SandboxLimits, SandboxProvider, SandboxSpec, Status
from .errors import FileAccessError, SandboxBusy, SandboxError, SandboxLost, SandboxUnavailable
from .registry import close_shared_providers, make_provider, provider_names, shared_provider

__all__ = [
    "ExecResult",
    "FileAccessError",
    "Sandbox",
    "SandboxBusy",
    "SandboxError",
    "SandboxLimits",
    "SandboxLost",
    "SandboxProvider",
    "SandboxSpec",
    "SandboxUnavailable",
    "Status",
    "close_shared_providers",
    "make_provider",
    "provider_names",
    "shared_provider",
]
