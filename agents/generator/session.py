"""One run of the batched engine: requests come in, share steps, and leave when they are done."""

from __future__ import annotations

from collections import deque

import torch

from .decoder import Batch, Decoder, Segment
from .request import Request
from .sampler import draw
from .slot import Row, SlotStore

_STEP_TOKENS = 1024
"""Prompt tokens computed in one step, so that a long prompt does not stall those that decode."""


class Session:
    """What is being sampled, from the first request to the last."""

    def __init__(self, decoder: Decoder, stop_ids: frozenset[int], max_batch: int) -> None:
        self._decoder, self._stop_ids = decoder, stop_ids
        self._store: SlotStore = decoder.new_store(max_batch)
        self.waiting: deque[Request] = deque()
        self._filling: list[Row] = []
        """Rows whose prompt is being computed, oldest first."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to compute."""
        return not (self.waiting or self._filling or self._store.active)

    @property
    def requests(self) -> list[Request]:
        """All that are not settled."""
        return [*self.waiting, *(row.request for row in self._store.rows if row.request is not None)]

    def step(self) -> bool:
        """Admit what fits, compute one batch, sample, and let go what is done.

        Returns whether it computed decoding rows only, one token each.
        """
        self._drop_cancelled()
        self._admit()
        decoding = self._store.rows[: self._store.active]
        segments = self._next_segments()
        if not decoding and not segments:
            return False
        self._store.reserve(max(len(row.ids) for row in [*decoding, *self._filling]) + _longest(segments))
        rows = [*decoding, *(self._store.rows[segment.row] for segment in segments)]
        batch = self._batch(decoding, segments)
        hidden = self._decoder.forward(batch, self._store)
        ready, at = [], []
        end = 0
        for row, length in zip(rows, [1] * len(decoding) + [s.length for s in segments], strict=True):
            end += length
            request = _request(row)
            row.ids += request.ids[len(row.ids) : len(row.ids) + length]
            if len(row.ids) == len(request.ids):
                ready.append(row)
                at.append(end - 1)
        self._sample(ready, hidden[at] if len(at) < len(hidden) else hidden)
        return not segments

    def _drop_cancelled(self) -> None:
        for row in list(self._store.rows):
            if row.request is not None and row.request.is_cancelled:
                self._let_go(row)

    def _admit(self) -> None:
        later: deque[Request] = deque()
        while self.waiting and self._store.has_room:
            request = self.waiting.popleft()
            if request.is_cancelled:
                continue
            source, shared = self._store.best_prefix(request.ids)
            if source is not None and shared > len(source.ids) + 8 and source in self._filling:
                later.append(request)  # its prompt is just being computed for another: share that
                continue
            if source is not None:
                shared = min(shared, len(source.ids))
            row = self._store.admit(request, source, shared)
            if len(row.ids) == len(request.ids) - 1:
                self._store.reserve(len(request.ids))
                self._store.activate(row)
            else:
                self._filling.append(row)
        self.waiting.extendleft(reversed(later))

    def _next_segments(self) -> tuple[Segment, ...]:
        segments, budget = [], _STEP_TOKENS
        for row in self._filling:
            length = min(len(_request(row).ids) - len(row.ids), budget)
            if length:
                segments.append(Segment(row.index, len(row.ids), length))
            budget -= length
        return tuple(segments)

    def _batch(self, decoding: list[Row], segments: tuple[Segment, ...]) -> Batch:
        tokens = [_request(row).ids[len(row.ids)] for row in decoding]
        positions = [len(row.ids) for row in decoding]
        rows = [row.index for row in decoding]
        for row, start, length in segments:
            tokens += _request(self._store.rows[row]).ids[start : start + length]
            positions += range(start, start + length)
            rows += [row] * length
        longest = max(positions[: len(decoding)], default=0) + 1
        device = self._decoder.device
        indices = torch.tensor([tokens, positions, rows], device=device)
        return Batch(indices[0], indices[1], indices[2], len(decoding), longest, segments)

    def _sample(self, rows: list[Row], hidden: torch.Tensor) -> None:
        if not rows:
            return
        requests = [_request(row) for row in rows]
        drawn = draw(
            self._decoder.logits(hidden),
            [request.temperature for request in requests],
            [request.random.random() for request in requests],
        )
        for row, request, token, logprob in zip(rows, requests, *drawn, strict=True):
            request.ids.append(token)
            request.logprobs.append(logprob)
            if token in self._stop_ids:
                self._let_go(row)
                request.finish("stop")
            elif request.sampled == request.max_new_tokens:
                self._let_go(row)
                request.finish("length")
            elif row in self._filling:
                self._filling.remove(row)
                self._store.activate(row)

    def _let_go(self, row: Row) -> None:
        if row in self._filling:
            self._filling.remove(row)
        self._store.release(row)


def _request(row: Row) -> Request:
    if row.request is None:
        raise RuntimeError(f"row {row.index} is idle but was to be computed")
    return row.request


def _longest(segments: tuple[Segment, ...]) -> int:
    return max((segment.length for segment in segments), default=1)
