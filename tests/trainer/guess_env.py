"""A small environment in a file, and what makes a run of it short."""

GUESS = '''
import re

from grpo_agent import Env


class GuessNumber(Env):
    """Guess a number from 1 to 9."""

    def __init__(self, high=9):
        self.high = high

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.secret = int(self.np_random.integers(1, self.high + 1))
        return "Guess a number.", {}

    def step(self, action):
        found = re.search("[0-9]", action.text)
        if not found:
            return "A number, please.", 0.0, False, False, {}
        right = int(found[0]) == self.secret
        return "right" if right else "wrong", float(right), True, False, {"success": right}
'''

ENV = ("train", "env=guess.py:GuessNumber", "model=tiny")
SMALL = (
    "trainer.num_generations=2", "trainer.per_device_train_batch_size=4", "trainer.bf16=false",
    "trainer.gradient_accumulation_steps=1",
    "limits.max_turns=2", "limits.max_turn_tokens=8", "limits.max_completion_tokens=64",
    "eval.tasks=3", "eval.samples=2",
)  # fmt: skip
