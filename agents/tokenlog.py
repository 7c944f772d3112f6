"""The append-only record of an episode's tokens: what is trained on is what was sampled.

Shapes: `P` prompt tokens, `T` completion tokens. `prompt_ids: [P]`; `completion_ids`, `logprobs`,
`env_mask: [T]`. `env_mask` keeps TRL's name: 1 = sampled by the policy, 0 = written by the environment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


class TokenLog:
    """Ids, logprobs and mask of one episode.

    Invariants, checked on every append: the three completion lists are equally long; the mask is 1 if
    and only if the sampler emitted the token, and then its logprob is finite and at most 0; what was
    appended never changes. Environment tokens carry logprob 0.0.
    """

    __slots__ = ("_completion_ids", "_env_mask", "_logprobs", "_prompt_ids")

    def __init__(self, prompt_ids: Sequence[int]) -> None:
        """Begin with the prompt.

        Raises:
            ValueError: the prompt is empty or holds something else than non-negative integers.
        """
        if not prompt_ids:
            raise ValueError("prompt_ids is empty; TRL cannot train on a row without a prompt")
        self._prompt_ids = _checked_ids(prompt_ids)
        self._completion_ids: list[int] = []
        self._logprobs: list[float] = []
        self._env_mask: list[int] = []

    @property
    def prompt_ids(self) -> tuple[int, ...]:
        """Ids of the prompt, `[P]`."""
        return self._prompt_ids

    @property
    def completion_ids(self) -> tuple[int, ...]:
        """Ids after the prompt, `[T]`."""
        return tuple(self._completion_ids)

    @property
    def logprobs(self) -> tuple[float, ...]:
        """Sampling logprobs, `[T]`; 0.0 on environment tokens."""
        return tuple(self._logprobs)

    @property
    def env_mask(self) -> tuple[int, ...]:
        """1 = sampled by the policy, `[T]`."""
        return tuple(self._env_mask)

    @property
    def ids(self) -> list[int]:
        """Prompt and completion, `[P + T]`: what the next turn is sampled after."""
        return [*self._prompt_ids, *self._completion_ids]

    @property
    def sampled_tokens(self) -> int:
        """Number of tokens that the policy emitted."""
        return sum(self._env_mask)

    def __len__(self) -> int:
        return len(self._completion_ids)

    def append_sampled(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """Append what the sampler emitted.

        Raises:
            ValueError: lengths differ, or a logprob is not finite or is above 0 (by more than 1e-3,
                which rounding of bfloat16 can give).
        """
        if len(ids) != len(logprobs):
            raise ValueError(f"the sampler returned {len(ids)} ids but {len(logprobs)} logprobs")
        for position, logprob in enumerate(logprobs):
            if not -math.inf < logprob <= 1e-3:
                raise ValueError(
                    f"logprob of sampled token {position} is {logprob!r}; it must be finite and <= 0"
                )
        self._completion_ids.extend(_checked_ids(ids))
        self._logprobs.extend(map(float, logprobs))
        self._env_mask.extend([1] * len(ids))

    def append_env(self, ids: Sequence[int]) -> None:
        """Append tokens that the environment or the chat template wrote.

        Raises:
            ValueError: an id is not a non-negative integer.
        """
        self._completion_ids.extend(_checked_ids(ids))
        self._logprobs.extend([0.0] * len(ids))
        self._env_mask.extend([0] * len(ids))


def _checked_ids(ids: Sequence[int]) -> tuple[int, ...]:
    checked = tuple(ids)
    if checked and (set(map(type, checked)) != {int} or min(checked) < 0):
        position = next(i for i, token in enumerate(checked) if type(token) is not int or token < 0)
        raise ValueError(f"token id {checked[position]!r} at position {position} is not a non-negative int")
    return checked
