"""Faults of the agent side, as one tree.

AgentError
├── GeneratorError    the model backend failed; `retryable` says whether another try may succeed
├── ChatFormatError   a chat template cannot be used append-only; says why
├── EnvContractError  an environment returned something else than its contract says
└── UnscoredAlarm     too many episodes of a batch were unscored; the run should stop
"""

from __future__ import annotations


class AgentError(Exception):
    """Base of all agent-side faults."""


class GeneratorError(AgentError):
    """The model backend failed."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class ChatFormatError(AgentError):
    """A chat template cannot be extended append-only, or does not render what is needed."""


class EnvContractError(AgentError):
    """An environment returned something else than its contract says."""


class UnscoredAlarm(AgentError):
    """The share of unscored episodes passed the alarm."""
