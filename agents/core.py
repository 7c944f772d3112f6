"""The vocabulary of rollouts: sampling, generation, episode.

Data goes one way: task row, messages, ids, `Generation`, `Action`, `Step`, and so on until an
`Episode` is complete. An episode knows nothing of the trainer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, Self, runtime_checkable

from ..envs.core import Message, Task
from .failure import Failure
from .tokenlog import TokenLog

FinishReason = Literal["stop", "length"]
"""`stop`: the last id is a stop token. `length`: `max_new_tokens` or the context ended it."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn: from the full vocabulary, so that logprobs match the trainer's."""

    temperature: float = 1.0
    """0 is greedy (evaluation only)."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature <= 10.0:
            raise ValueError(f"sampling.temperature is {self.temperature!r}; it must be between 0 and 10")


@dataclass(frozen=True, slots=True)
class Generation:
    """One turn as sampled."""

    ids: tuple[int, ...]
    """Never empty; holds the stop token if one ended it."""
    logprobs: tuple[float, ...]
    """Of the sampled ids under the full vocabulary at the stated temperature; as long as `ids`."""
    finish_reason: FinishReason


@runtime_checkable
class Generator(Protocol):
    """Turns token ids into sampled token ids. Many calls run at once; cancelling one frees its slot.

    Used as `async with generator:` around a batch of calls (entering may nest): entering readies the
    backend (a model shared with a trainer goes to eval mode, caches are made), leaving puts it back as
    it was found, so that training can go on. `close` frees it for good.
    """

    @property
    def max_context(self) -> int:
        """Tokens of prompt and generation together."""
        ...

    async def generate(
        self, ids: Sequence[int], *, max_new_tokens: int, sampling: Sampling, seed: int | None = None
    ) -> Generation:
        """Sample after `ids` until a stop token or `max_new_tokens`.

        Args:
            ids: the whole conversation so far, `[P + T]`.
            max_new_tokens: at least 1; the caller keeps `len(ids) + max_new_tokens <= max_context`.
            sampling: how to draw.
            seed: makes the draw reproducible where the backend can; otherwise ignored.

        Raises:
            ValueError: `ids` is empty or does not fit the context.
            GeneratorError: the backend failed.
        """
        ...

    async def close(self) -> None:
        """Free the backend. Idempotent."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *exc_info: object) -> None: ...


class StopReason(StrEnum):
    """Why an episode ended. Exactly one per episode."""

    TERMINATED = "terminated"
    """The environment said `terminated`."""
    ENV_TRUNCATED = "env_truncated"
    """The environment said `truncated`."""
    MAX_TURNS = "max_turns"
    """`limits.max_turns` turns were taken, or `limits.max_tool_calls` calls."""
    MAX_TOKENS = "max_tokens"
    """`limits.max_completion_tokens` was reached, in a turn or by an observation."""
    CONTEXT_FULL = "context_full"
    """The model's context was full."""
    TIMEOUT = "timeout"
    """`limits.episode_timeout_s` passed."""
    PARSE_ERROR = "parse_error"
    """A malformed action, under the policy that ends the episode."""
    FAILED = "failed"
    """Infrastructure or user code broke; `Episode.failure` says how. Unscored."""
    CANCELLED = "cancelled"
    """The batch deadline or the caller ended it. Unscored."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the agent within an episode."""

    start: int
    """Index into `completion_ids` of the first sampled token."""
    end: int
    """Index after the last sampled token."""
    finish_reason: FinishReason
    reward: float | None = None
    """What the environment's step returned; `None` if the step was not taken or not scored."""
    parse_error: str | None = None
    tool_calls: int = 0
    generate_s: float = 0.0
    env_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Timings:
    """Where an episode's wall time went, in seconds."""

    wait_s: float = 0.0
    """For a slot of the engine."""
    reset_s: float = 0.0
    generate_s: float = 0.0
    env_s: float = 0.0
    total_s: float = 0.0
    """All but `wait_s`."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished episode."""

    task: Task
    task_id: str
    sample: int
    """Index within the group that faces the same task and seed."""
    seed: int
    messages: tuple[Message, ...]
    """The transcript, from the first observation to the last."""
    tools: tuple[Mapping[str, Any], ...]  # Any: JSON schema
    tokens: TokenLog | None
    """`None` only if the episode broke before its prompt was encoded."""
    turns: tuple[Turn, ...]
    reward: float | None
    """Sum of the step rewards; `None` is unscored, which is not zero."""
    stop_reason: StopReason
    failure: Failure | None = None
    """Why it is unscored."""
    close_failure: Failure | None = None
    """The environment failed to close; the reward stands."""
    attempts: int = 1
    info: Mapping[str, Any] = field(default_factory=dict)  # Any: the environment's last info
    timings: Timings = field(default_factory=Timings)

    @property
    def is_scored(self) -> bool:
        """Whether the episode has a reward."""
        return self.reward is not None

    @property
    def is_success(self) -> bool:
        """The environment's `info["success"]`, else whether the reward is above 0."""
        if self.reward is None:
            return False
        return bool(self.info.get("success", self.reward > 0))
