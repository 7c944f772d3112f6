"""How far an episode may go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """Bounds of one episode and of a batch. `None` means unbounded."""

    max_turns: int = 8
    """Turns of the agent; reaching it ends the episode with `StopReason.MAX_TURNS`."""
    max_completion_tokens: int = 2048
    """Tokens after the prompt, of agent and environment together."""
    max_turn_tokens: int | None = None
    """Tokens of one turn of the agent."""
    max_tool_calls: int | None = None
    """Tool calls over the episode."""
    tool_timeout_s: float = 30.0
    """One tool call."""
    episode_timeout_s: float | None = 600.0
    """From the start of `reset`, waiting for a slot excluded."""
    batch_deadline_s: float | None = None
    """A whole call of `RolloutEngine.run`; what has not finished is cancelled and unscored."""

    def __post_init__(self) -> None:
        for field in self.__slots__:
            value = getattr(self, field)
            if value is not None and value <= 0:
                raise ValueError(f"limits.{field} is {value!r}; it must be positive" + _or_null(field))


def _or_null(field: str) -> str:
    optional = ("max_turn_tokens", "max_tool_calls", "episode_timeout_s", "batch_deadline_s")
    return ", or null for no bound" if field in optional else ""
