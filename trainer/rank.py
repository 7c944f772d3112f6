"""Agreement between the processes of one training run.

TRL's collectives follow right after a rollout: an exception on one rank alone leaves the others
waiting for it. What may fail on one rank therefore runs in `agreed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from accelerate import PartialState
from accelerate.utils import gather_object

from ..agents.failure import one_line
from .errors import RankError

T = TypeVar("T")


class _Outcome(NamedTuple, Generic[T]):
    value: T | None
    error: str | None


def agreed(work: Callable[[], T]) -> list[T]:
    """Run `work` on every rank and exchange the results. A collective: every rank must call it.

    Returns:
        What `work` returned on each rank, in rank order; one item if there is one process. The values
        of other ranks come pickled, so keep them small.

    Raises:
        RankError: `work` raised on another rank; the message says where and what.
        Exception: what `work` raised on this rank, if it did.
    """
    mine: Exception | None = None
    outcome: _Outcome[T]
    try:
        outcome = _Outcome(work(), None)
    except Exception as error:  # noqa: BLE001 - told to the other ranks, then raised again below
        mine, outcome = error, _Outcome(None, one_line(error, is_typed=True))
    outcomes: list[_Outcome[T]] = gather_object([outcome])
    if mine is not None:
        raise mine
    failed = [f"rank {rank}: {each.error}" for rank, each in enumerate(outcomes) if each.error is not None]
    if failed:
        raise RankError("stopped because another process failed: " + "; ".join(failed))
    return [each.value for each in outcomes]  # type: ignore[misc] # None only beside an error


def any_rank(flag: bool) -> bool:
    """Whether `flag` is true on any rank. A collective: every rank must call it."""
    if PartialState().num_processes == 1:
        return flag
    return any(gather_object([flag]))
