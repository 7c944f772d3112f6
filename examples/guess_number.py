"""Write an environment: one class, two methods.

Run it and see one game played by halving:

    python examples/guess_number.py

Train on it: `grpo-agent train env=examples/guess_number.py:GuessNumber`.
"""

from __future__ import annotations

import re

from grpo_agent import Action, Env


class GuessNumber(Env):
    """Guess a number from 1 to 100; each answer says higher or lower."""

    def reset(self, *, seed=None, options=None):
        """Draw the number; `options["task"]` would be the dataset row, if there were one."""
        super().reset(seed=seed)
        self.secret = int(self.np_random.integers(1, 101))
        return "Guess a number from 1 to 100. Reply with the number only.", {}

    def step(self, action):
        """Compare; returns observation, reward, terminated, truncated, info."""
        number = re.search(r"\d+", action.text)
        if number is None:
            return "Reply with a number from 1 to 100.", 0.0, False, False, {}
        guess = int(number.group()[:9])
        if guess == self.secret:
            return f"Yes, {guess}.", 1.0, True, False, {"success": True}
        return "higher" if guess < self.secret else "lower", 0.0, False, False, {"success": False}


def main() -> None:
    """Play one game by halving."""
    env = GuessNumber()
    observation, _ = env.reset(seed=7)
    print(observation)
    low, high, ended = 1, 100, False
    while not ended:
        guess = (low + high) // 2
        observation, reward, ended, _, _ = env.step(Action(str(guess)))
        print(f"{guess}: {observation}")
        low, high = (guess + 1, high) if observation == "higher" else (low, guess - 1)
    print(f"reward {reward}")


if __name__ == "__main__":
    main()
