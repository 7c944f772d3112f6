"""Run on each of two ranks by `test_ranks.py`; prints one JSON line of what happened here."""

import json
import sys
from pathlib import Path

from accelerate import PartialState
from fake_engine import FakeEngine, alternating, failing, make_trainer

from grpo_agent.agents.errors import UnscoredAlarm
from grpo_agent.trainer.errors import RankError
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.rollout_func import RolloutFunc


def broken_on_rank_1(task, sample, step):
    if PartialState().process_index == 1:
        raise LookupError("no such model")
    return alternating(task, sample, step)


def outcome(folder, make, n_steps=1):
    """What a training came to, as JSON: the weights' sum and what the engine was asked, or the error."""
    engine = FakeEngine(make=make)
    rollout = RolloutFunc(engine)
    trainer = make_trainer(
        folder, rollout, per_device_train_batch_size=2, max_steps=n_steps, num_generations=4
    )
    try:
        train(trainer)
    except (LookupError, RankError, UnscoredAlarm) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        rollout.close()
    total = sum(float(weight.detach().double().sum()) for weight in trainer.model.parameters())
    return {
        "asked": engine.asked,
        "weights": total,
        "success": trainer.state.log_history[0]["episode/success"],
    }


def main() -> None:
    folder, results = Path(sys.argv[1]), {}
    results["uneven"] = outcome(folder, failing(1), n_steps=2)
    results["broken"] = outcome(folder, broken_on_rank_1)
    results["alarm"] = outcome(folder, failing(1, 2, 3))
    (folder / f"rank{PartialState().process_index}.json").write_text(json.dumps(results))
    PartialState().destroy_process_group()


if __name__ == "__main__":
    main()
