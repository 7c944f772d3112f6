"""One call of `generate`, as it travels between the caller's event loop and the engine's thread."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from ..core import FinishReason, Generation
from ..errors import GeneratorError


@dataclass(slots=True, eq=False)
class Request:
    """A turn that is being sampled. The engine's thread owns it until it is finished or failed."""

    prompt: tuple[int, ...]
    max_new_tokens: int
    temperature: float
    random: Random
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Generation]
    ids: list[int] = field(init=False)
    """Prompt and sampled ids."""
    logprobs: list[float] = field(default_factory=list)
    is_cancelled: bool = False
    """Set by the caller, read by the engine."""

    def __post_init__(self) -> None:
        self.ids = list(self.prompt)

    @property
    def sampled(self) -> int:
        """Number of sampled ids."""
        return len(self.logprobs)

    def finish(self, reason: FinishReason) -> None:
        """Hand the generation to the caller."""
        ids = tuple(self.ids[len(self.prompt) :])
        self._settle(Generation(ids, tuple(self.logprobs), reason))

    def fail(self, error: Exception) -> None:
        """Let the caller see why nothing comes."""
        self._settle(error)

    def _settle(self, outcome: Generation | Exception) -> None:
        with suppress(RuntimeError):  # the caller's loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(_resolve, self.future, outcome)


def _resolve(future: asyncio.Future[Generation], outcome: Generation | Exception) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def engine_fault(error: BaseException) -> GeneratorError:
    """What every waiting caller is told when the engine's thread broke."""
    return GeneratorError(f"the generation engine broke: {type(error).__name__}: {error}")


def left_fault() -> GeneratorError:
    """What callers are told that still wait when the generator is left."""
    return GeneratorError("the generator was left (`async with` ended) while the request was running")
