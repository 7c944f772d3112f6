"""Train without the command line: a `RolloutFunc` in TRL's `GRPOTrainer`, on a tiny random model.

Run it and see four optimizer steps with reward, turns and sampled tokens of each:

    python examples/train_by_hand.py
"""

from __future__ import annotations

import tempfile

from grpo_agent import RolloutEngine, RolloutFunc
from grpo_agent.agents import ChatFormat, RolloutLimits
from grpo_agent.agents.generator import TransformersGenerator
from grpo_agent.agents.testing import tiny_model, tiny_tokenizer
from grpo_agent.envs.core import Action, Env
from grpo_agent.trainer import RolloutBatch, build_trainer, make_args, train


class SayA(Env):
    """Rewards the share of the letter "a" in a reply; two turns."""

    def reset(self, *, seed=None, options=None):
        """Begin."""
        super().reset(seed=seed)
        self.turn = 0
        return "Say a.", {}

    def step(self, action: Action):
        """Count."""
        self.turn += 1
        reward = action.text.count("a") / max(len(action.text), 1)
        return "Again.", reward, self.turn == 2, False, {}


def show(batch: RolloutBatch) -> None:
    """Print the figures of one batch of episodes."""
    figures = ("episode/reward", "episode/turns", "tokens/sampled")
    print(f"step {batch.step}: " + "  ".join(f"{name} {batch.metrics[name]:.3f}" for name in figures))


def main() -> None:
    """Put the parts together and train."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(tokenizer)
    chat = ChatFormat.for_tokenizer(tokenizer)
    generator = TransformersGenerator(model, stop_ids=chat.stop_ids)
    engine = RolloutEngine(SayA, generator, chat, RolloutLimits(max_turns=2, max_turn_tokens=12))
    rollout = RolloutFunc(engine, on_episodes=show)
    with tempfile.TemporaryDirectory() as folder:
        args = make_args(
            folder,
            max_steps=4,
            num_generations=4,
            per_device_train_batch_size=8,
            learning_rate=1e-2,
            save_strategy="no",
            report_to="none",
            logging_strategy="no",
            disable_tqdm=True,
        )
        tasks = [{"task_id": f"task-{index}"} for index in range(8)]
        trainer = build_trainer(
            model=model, tokenizer=tokenizer, rollout_func=rollout, tasks=tasks, args=args
        )
        train(trainer)
    rollout.close()


if __name__ == "__main__":
    main()
