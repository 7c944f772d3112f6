"""How many CPU threads a decoding step should use, found out while decoding.

On free cores, a step is fastest on all of them. Where other processes want the same cores (sandboxes that
run the agent's code, say), each of a step's hundreds of small parallel regions waits for its slowest
thread to be scheduled, and one thread can be ten times as fast as two. So the other choice is tried now
and then, ever more seldom while it does not pay, and at once when a step takes much longer than usual.
"""

from __future__ import annotations

from collections import deque
from statistics import median

import torch

_FIRST_WAIT, _LONGEST_WAIT = 8, 64
"""Steps between two trials."""
_TRIAL_STEPS = 2
_GAIN = 0.85
"""A trial wins if its steps take less than this share of the usual time."""
_RECENT = 3
"""Steps whose median is the usual time."""
_JUMP = 1.7
"""Steps that take this many times as long as usual call for a trial at once."""


class ThreadCount:
    """Chooses between one thread and all of them, for the parallel regions of the thread that calls it."""

    def __init__(self, device: torch.device) -> None:
        """Begin with all threads that torch has been given."""
        self._most = torch.get_num_threads()
        self._is_fixed = device.type != "cpu" or self._most == 1
        self.current = self._most
        self._recent_s: deque[float] = deque(maxlen=_RECENT)
        self._wait = self._left = _FIRST_WAIT
        self._trial_s: list[float] = []
        self._is_trial = False

    def observe(self, step_s: float) -> None:
        """Take the time of a decoding step into account, and set the count for the next one."""
        if self._is_fixed:
            return
        if self._is_trial:
            self._judge(step_s)
            return
        if self._recent_s and step_s > _JUMP * median(self._recent_s):
            # What was usual no longer is. Were it only a hiccup, the next trial would soon tell.
            self._recent_s.clear()
            self._left = 1
        self._recent_s.append(step_s)
        self._left -= 1
        if self._left <= 0:
            self._is_trial = True
            self._use(self._other)

    def begin(self) -> None:
        """Set the count that was last found best, for the calling thread, and soon try again for more.

        A batch of requests begins when nothing but generation runs yet.
        """
        self._use(self.current)
        self._recent_s.clear()
        self._trial_s, self._is_trial = [], False
        if self.current != self._most:
            self._wait, self._left = _FIRST_WAIT, _RECENT

    def reset(self) -> None:
        """Give torch back what it was given; what was found is remembered."""
        if not self._is_fixed:
            torch.set_num_threads(self._most)

    @property
    def _other(self) -> int:
        return 1 if self.current == self._most else self._most

    def _judge(self, step_s: float) -> None:
        usual_s = median(self._recent_s)
        self._trial_s.append(step_s)
        if step_s < _JUMP * usual_s and len(self._trial_s) < _TRIAL_STEPS:
            return
        if min(self._trial_s) < _GAIN * usual_s:
            self._wait = _FIRST_WAIT
            self._recent_s.clear()
        else:
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
            self._use(self._other)
        self._left, self._trial_s, self._is_trial = self._wait, [], False

    def _use(self, count: int) -> None:
        if not self._is_fixed:
            torch.set_num_threads(count)
            self.current = count
