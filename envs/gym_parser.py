"""From an agent's reply to an action of a gymnasium space."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .gym_text import plain

_INTEGER = re.compile(r"(?<![\w.])-?\d+(?![\w]|\.\d)", re.ASCII)
_NUMBER = re.compile(r"(?<!\w)[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_TOO_LARGE = 1e9


class ActionParser:
    """From an agent's text to an action of a space."""

    def __init__(
        self, space: spaces.Space[Any], names: Sequence[str], parse: Callable[[str], Any] | None
    ) -> None:
        """Choose how to read.

        Raises:
            ValueError: the space needs `parse`, or the names do not match it.
        """
        self._space, self._names, self._parse = space, [name.lower() for name in names], parse
        if names and not (isinstance(space, spaces.Discrete) and len(names) == space.n):
            raise ValueError(f"action_names {list(names)} do not name the actions of {space}, one each")
        if parse is None and not isinstance(
            space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary | spaces.Box | spaces.Text
        ):
            raise ValueError(f"the action space {space} cannot be read from text; give parse=function(text)")
        self.allowed = self._allowed(names)

    def read(self, text: str) -> Any:
        """The action that a reply means.

        Raises:
            ValueError: it means none; the message is for the agent.
        """
        if self._parse is not None:
            action = self._parse(text)
        elif isinstance(self._space, spaces.Discrete):
            action = self._first_choice(text)
        elif isinstance(self._space, spaces.Text):
            action = text
        else:
            action = self._numbers(text)
        if not self._space.contains(action):
            raise ValueError(f"{str(action)[:100]} is not an allowed action.")
        return action

    def _first_choice(self, text: str) -> int:
        start = int(getattr(self._space, "start", 0))
        found = [(m.start(), int(m.group()[:18])) for m in _INTEGER.finditer(text)][:1]
        for index, name in enumerate(self._names):
            if match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text.lower()):
                found.append((match.start(), start + index))
        if not found:
            raise ValueError("Your reply names no action.")
        return min(found)[1]

    def _numbers(self, text: str) -> Any:  # Any: numpy array of the space's type
        shape: tuple[int, ...] = self._space.shape or ()
        count = int(np.prod(shape))
        found = _NUMBER.findall(text)
        if len(found) < count:
            raise ValueError(f"Your reply has {len(found)} numbers.")
        values = np.array([float(number) for number in found[:count]])
        if not np.all(np.abs(values) < _TOO_LARGE):
            raise ValueError("A number is too large.")
        is_whole = not isinstance(self._space, spaces.Box)
        if is_whole and not np.all(values == np.floor(values)):
            raise ValueError("The numbers must be whole.")
        return values.astype(self._space.dtype).reshape(shape)

    def _allowed(self, names: Sequence[str]) -> str:
        space = self._space
        if self._parse is not None:
            return "Reply with one action."
        if isinstance(space, spaces.Discrete):
            start, last = int(space.start), int(space.start) + int(space.n) - 1
            named = ", ".join(f"{start + index} = {name}" for index, name in enumerate(names))
            return f"Reply with one number from {start} to {last}" + (f" ({named})." if named else ".")
        if isinstance(space, spaces.Text):
            return f"Reply with text of {space.min_length} to {space.max_length} characters."
        count = int(np.prod(space.shape or ()))
        amount = "one number" if count == 1 else f"{count} numbers, separated by commas,"
        return f"Reply with {amount}{self._bounds()}."

    def _bounds(self) -> str:
        if isinstance(self._space, spaces.Box):
            return f" from {plain(self._space.low.flatten())} to {plain(self._space.high.flatten())}"
        if isinstance(self._space, spaces.MultiDiscrete):
            low = self._space.start.flatten()
            return f" from {plain(low)} to {plain(low + self._space.nvec.flatten() - 1)}"
        return " of 0 or 1"
