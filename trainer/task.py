"""Task rows as a run takes them: each with a name of its own, and such that JSON can carry it to TRL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from ..envs.core import Task
from ..envs.task import task_id, with_task_ids
from .prompt import to_prompt, to_task

CHECKED_ROWS = 1000
"""Rows of a lazy sequence that are looked at before the run."""


class NamedTasks(Sequence[Task]):
    """A lazy sequence of rows that are made, and named by their content if need be, when asked for."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        row = self._tasks[index]
        return row if row.get("task_id") is not None else {**row, "task_id": task_id(row, index)}


def checked_tasks(tasks: Sequence[Task]) -> Sequence[Task]:
    """Rows that all have a `task_id`.

    Lists and tuples are checked whole; of another sequence, whose rows may be made only when asked for,
    the first `CHECKED_ROWS`.

    Raises:
        TypeError: not a sequence, a row is no mapping, or holds something that JSON cannot.
        ValueError: two rows have the same `task_id`.
    """
    if isinstance(tasks, Mapping):
        raise TypeError(f"the tasks are a {type(tasks).__name__}; they must be the rows of one split")
    is_held = isinstance(tasks, list | tuple)
    rows = [tasks[index] for index in range(len(tasks) if is_held else min(len(tasks), CHECKED_ROWS))]
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {index} is {type(row).__name__} {row!r:.80}; a task is a mapping")
    named = with_task_ids(rows)
    for row in named:
        to_prompt(row)
    return named if is_held else NamedTasks(tasks)


def carried(task: Task) -> Task:
    """`task` as it comes out of TRL's prompt, where lists stand for tuples.

    Raises:
        TypeError: it holds something that JSON cannot.
    """
    return to_task(to_prompt(task))
