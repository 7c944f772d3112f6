"""An engine that makes up episodes, and a trainer around it."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trl import GRPOTrainer

from grpo_agent.agents.core import Episode, Sampling, StopReason, Turn
from grpo_agent.agents.failure import Failure, FailureKind, Stage
from grpo_agent.agents.testing import tiny_model, tiny_tokenizer
from grpo_agent.agents.tokenlog import TokenLog
from grpo_agent.envs.core import Task
from grpo_agent.trainer.grpo import build_trainer
from grpo_agent.trainer.guard import make_args
from grpo_agent.trainer.rollout_func import RolloutFunc

GONE = Failure(FailureKind.SANDBOX, Stage.STEP, "SandboxLost: the daemon is gone")
TASKS = [{"task_id": f"t{index}", "answer": index} for index in range(4)]


def random_log(rng: random.Random, n_turns: int) -> TokenLog:
    def ids(most: int) -> list[int]:
        return [rng.randrange(3, 300) for _ in range(rng.randint(1, most))]

    log = TokenLog(ids(6))
    for turn in range(n_turns):
        if turn or rng.random() < 0.2:
            log.append_env(ids(4))
        sampled = ids(5)
        log.append_sampled(sampled, [-rng.random() - 0.1 for _ in sampled])
    if rng.random() < 0.3:
        log.append_env(ids(3))
    return log


def make_episode(
    task: Task, sample: int, tokens: TokenLog | None, reward: float | None, failure: Failure | None = None
) -> Episode:
    has_turn = tokens is not None and tokens.sampled_tokens > 0
    return Episode(
        task=task,
        task_id=str(task["task_id"]),
        sample=sample,
        seed=0,
        messages=(),
        tools=(),
        tokens=tokens,
        turns=(Turn(0, len(tokens), "stop", reward),) if tokens is not None and has_turn else (),
        reward=reward,
        stop_reason=StopReason.FAILED if failure else StopReason.TERMINATED,
        failure=failure,
    )


def rng_of(task: Task, sample: int, step: int) -> random.Random:
    return random.Random(f"{task['task_id']}/{sample}/{step}")


def alternating(task: Task, sample: int, step: int) -> Episode:
    """Every second member of a group has the reward 1, the others 0."""
    rng = rng_of(task, sample, step)
    return make_episode(task, sample, random_log(rng, rng.randint(1, 3)), float(sample % 2))


def failing(*samples: int) -> Callable[[Task, int, int], Episode]:
    """As `alternating`, but the members named fail, half of them midway."""

    def make(task: Task, sample: int, step: int) -> Episode:
        if sample not in samples:
            return alternating(task, sample, step)
        tokens = random_log(rng_of(task, sample, step), 1) if sample % 2 else None
        return make_episode(task, sample, tokens, None, GONE)

    return make


@dataclass
class FakeEngine:
    """Makes episodes by a function of task, sample and step, and remembers what it was asked."""

    make: Callable[[Task, int, int], Episode] = alternating
    asked: list[tuple[str, int, int]] = field(default_factory=list)
    made: list[Episode] = field(default_factory=list)
    samplings: list[Sampling] = field(default_factory=list)
    is_closed: bool = False

    async def run_rows(
        self, tasks: Sequence[Task], samples: Sequence[int], *, step: int, sampling: Sampling
    ) -> list[Episode]:
        rows = list(zip(tasks, samples, strict=True))
        self.asked += [(str(task["task_id"]), sample, step) for task, sample in rows]
        self.samplings.append(sampling)
        made = [self.make(task, sample, step) for task, sample in rows]
        self.made += made
        return made

    async def close(self) -> None:
        self.is_closed = True


def make_trainer(
    folder: Path, rollout: RolloutFunc, *, options: dict[str, Any] | None = None, **fields: Any
) -> GRPOTrainer:
    """A trainer of a tiny random model: 2 tasks x 4 samples a step, unless `fields` say otherwise."""
    defaults: dict[str, Any] = {
        "activation_checkpointing": False,
        "bf16": False,
        "disable_tqdm": True,
        "learning_rate": 1e-2,
        "logging_steps": 1,
        "loss_type": "dr_grpo",
        "max_completion_length": 32,
        "max_steps": 1,
        "num_generations": 4,
        "per_device_eval_batch_size": 8,
        "per_device_train_batch_size": 8,
        "save_strategy": "no",
    }
    tokenizer = tiny_tokenizer()
    return build_trainer(
        model=tiny_model(tokenizer),
        tokenizer=tokenizer,
        rollout_func=rollout,
        args=make_args(folder, **(defaults | fields)),
        **({"tasks": TASKS} | (options or {})),
    )
