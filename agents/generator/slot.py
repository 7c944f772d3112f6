"""The key-value store: one row per sequence, which outlives the request that filled it.

A row remembers the ids whose keys and values it holds, so that the next turn of an episode computes
its new suffix only, and the members of a group share their prompt's computation by a copy.

Shapes: `N` layers, `R` rows, `K` key-value heads, `C` capacity in tokens, `D` head dimension.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import torch

from .request import Request

_MIN_COPY = 8
"""Shared tokens below which recomputing is cheaper than copying."""
_CAPACITY_STEP = 64
_STRIDE = 64


@dataclass(slots=True, eq=False)
class Row:
    """One row of the store."""

    index: int
    ids: list[int] = field(default_factory=list)
    """Ids whose keys and values are held."""
    request: Request | None = None
    used: int = 0
    """When it was last let go; the smallest is evicted first."""


class SlotStore:
    """Keys and values of up to `max_rows` sequences; grows with what is needed.

    Rows `0 .. active - 1` are those that decode one token each, side by side, so that attention reads
    one contiguous block.
    """

    def __init__(
        self,
        layers: int,
        heads: int,
        head_dim: int,
        *,
        dtype: torch.dtype,
        device: torch.device,
        max_rows: int,
    ) -> None:
        self.max_rows = max_rows
        self.rows: list[Row] = []
        self.active = 0
        self._clock = itertools.count(1)
        self.data = torch.empty((layers, 2, 0, heads, 0, head_dim), dtype=dtype, device=device)
        """`[N, 2, R, K, C, D]`: keys and values."""

    @property
    def has_room(self) -> bool:
        """Whether another request can be admitted."""
        return len(self.rows) < self.max_rows or any(row.request is None for row in self.rows)

    def best_prefix(self, ids: list[int]) -> tuple[Row | None, int]:
        """Return the row that shares the most leading ids with `ids`, and how many they share.

        At least the last id is left to compute, as its logits are what is asked for. Counts what a
        row *will* hold once its prompt is computed, see `Row.request`.
        """
        best, shared = None, 0
        for row in self.rows:
            known = row.request.ids if row.request is not None else row.ids
            length = common_prefix(known, ids)
            if length > shared:
                best, shared = row, length
        return best, min(shared, len(ids) - 1)

    def admit(self, request: Request, source: Row | None, shared: int) -> Row:
        """Give `request` a row that holds its first `shared` ids, or none if a copy is not worth it."""
        if source is not None and source.request is None and shared >= len(source.ids) - 1:
            row = source
        else:
            row = self._free_row()
            if source is None or (shared < _MIN_COPY and row is not source):
                shared = 0
            if shared and source is not None and row is not source:
                self.data[:, :, row.index, :, :shared] = self.data[:, :, source.index, :, :shared]
                row.ids = source.ids[:shared]
        del row.ids[shared:]
        row.request = request
        return row

    def reserve(self, tokens: int) -> None:
        """Make every row at least `tokens` long."""
        capacity = self.data.shape[4]
        if tokens > capacity:
            wanted = max(tokens, capacity + capacity // 2)
            self._resize(self.data.shape[2], -(-wanted // _CAPACITY_STEP) * _CAPACITY_STEP)

    def activate(self, row: Row) -> None:
        """Move a row into the block that decodes."""
        self._swap(row, self.rows[self.active])
        self.active += 1

    def release(self, row: Row) -> None:
        """Let a row go; what it holds stays for reuse until the row is needed."""
        row.request = None
        row.used = next(self._clock)
        if row.index < self.active:
            self.active -= 1
            self._swap(row, self.rows[self.active])

    def _free_row(self) -> Row:
        idle = [row for row in self.rows if row.request is None]
        if len(self.rows) < self.max_rows:
            row = Row(len(self.rows))
            self.rows.append(row)
            if row.index >= self.data.shape[2]:
                self._resize(min(self.max_rows, max(8, 2 * row.index)), self.data.shape[4])
            return row
        return min(idle, key=lambda row: row.used)

    def _resize(self, rows: int, capacity: int) -> None:
        old = self.data
        self.data = old.new_zeros((*old.shape[:2], rows, old.shape[3], capacity, old.shape[5]))
        self.data[:, :, : old.shape[2], :, : old.shape[4]] = old

    def _swap(self, one: Row, other: Row) -> None:
        if one is other:
            return
        held, others = len(one.ids), len(other.ids)
        kept = self.data[:, :, one.index, :, :held].clone()
        self.data[:, :, one.index, :, :others] = self.data[:, :, other.index, :, :others]
        self.data[:, :, other.index, :, :held] = kept
        one.index, other.index = other.index, one.index
        self.rows[one.index], self.rows[other.index] = one, other


def common_prefix(one: list[int], other: list[int]) -> int:
    """Return how many leading ids two sequences share."""
    length, end = 0, min(len(one), len(other))
    while length + _STRIDE <= end and one[length : length + _STRIDE] == other[length : length + _STRIDE]:
        length += _STRIDE
    while length < end and one[length] == other[length]:
        length += 1
    return length
