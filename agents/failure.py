"""What broke that was not the agent's doing. A failure never becomes a reward."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..sandboxes.errors import SandboxError
from .errors import ChatFormatError, EnvContractError, GeneratorError

_MAX_MESSAGE_CHARS = 500


class Stage(StrEnum):
    """Where in an episode it broke."""

    CREATE = "create"
    RESET = "reset"
    GENERATE = "generate"
    STEP = "step"
    REWARD = "reward"
    CLOSE = "close"


class FailureKind(StrEnum):
    """Few and named; whether to retry is policy, not part of the name."""

    ENV_ERROR = "env_error"
    """User code of the environment raised."""
    ENV_TIMEOUT = "env_timeout"
    """The environment did not answer within its time."""
    ENV_CONTRACT = "env_contract"
    """The environment returned something else than its contract says."""
    SANDBOX = "sandbox"
    """A `SandboxError`."""
    GENERATOR = "generator"
    """The generator raised or broke its contract."""
    DEADLINE = "deadline"
    """The batch deadline passed before the episode ended."""
    SMALL_GROUP = "small_group"
    """Too few scored members were left in the group."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One fault of infrastructure or user code."""

    kind: FailureKind
    stage: Stage
    message: str
    """One line, with the exception's type; at most 500 characters."""

    def __str__(self) -> str:
        return f"{self.kind} in {self.stage}: {self.message}"


def classify(error: BaseException, stage: Stage) -> Failure:
    """Name what an exception at `stage` stands for.

    A `SandboxError` or `GeneratorError` is found along the chain of causes too, since environments
    tend to wrap what their sandbox raised.
    """
    return Failure(_kind_of(error, stage), stage, one_line(error, is_typed=True)[:_MAX_MESSAGE_CHARS])


def is_retryable(error: BaseException, failure: Failure) -> bool:
    """Whether a fresh environment may succeed where this one failed."""
    if failure.kind in (FailureKind.ENV_CONTRACT, FailureKind.ENV_TIMEOUT, FailureKind.DEADLINE):
        return False
    return all(getattr(cause, "retryable", True) for cause in _chain(error))


def one_line(error: BaseException, *, is_typed: bool = False, max_lines: int | None = None) -> str:
    """The text of an exception on one line; its type, if it has no text.

    Args:
        error: the exception.
        is_typed: whether its type is put before the text.
        max_lines: lines of the text to take; all, if `None`.
    """
    text = " ".join(" ".join(str(error).strip().splitlines()[:max_lines]).split())
    name = type(error).__name__
    return f"{name}: {text}" if text and is_typed else text or name


def _kind_of(error: BaseException, stage: Stage) -> FailureKind:
    for cause in _chain(error):
        if isinstance(cause, SandboxError):
            return FailureKind.SANDBOX
        if isinstance(cause, GeneratorError):
            return FailureKind.GENERATOR
        if isinstance(cause, EnvContractError | ChatFormatError):
            return FailureKind.ENV_CONTRACT
    return FailureKind.GENERATOR if stage is Stage.GENERATE else FailureKind.ENV_ERROR


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(chain) < 10:
        chain.append(cause)
        cause = cause.__cause__
    return chain
