"""Faults of the environment side, as one tree. None of them ever becomes a reward.

EnvError
└── ToolUnavailable   what a tool stands on failed (a server, a file, a thread), not the agent's call
"""

from __future__ import annotations


class EnvError(Exception):
    """Base of all environment-side faults."""


class ToolUnavailable(EnvError):
    """A tool's own infrastructure failed. Raise it inside a tool to leave the episode unscored."""
