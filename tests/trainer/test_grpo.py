import logging
import math
import os
import signal

import pytest
import torch
from fake_engine import TASKS, FakeEngine, alternating, failing, make_trainer

from grpo_agent.trainer.callback import TimeBudget, latest_checkpoint
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.rollout_func import RolloutFunc


def weights(trainer):
    return [weight.detach().clone() for weight in trainer.model.parameters()]


def length(completion_ids, **columns):
    return [float(len(ids)) for ids in completion_ids]


def test_training_changes_the_weights_and_logs_the_episodes(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    trainer = make_trainer(tmp_path, rollout, max_steps=2)
    before = weights(trainer)
    train(trainer)
    rollout.close()
    assert not all(map(torch.equal, before, weights(trainer)))
    first, second = trainer.state.log_history[:2]
    assert first["episode/success"] == 0.5
    assert first["stop/terminated"] == 1
    assert second["step"] == 2


def test_further_rewards_are_none_where_the_episode_is_unscored(tmp_path):
    rollout = RolloutFunc(FakeEngine(make=failing(1)))
    trainer = make_trainer(tmp_path, rollout, options={"reward_funcs": [length]}, reward_weights=[1.0, 0.5])
    train(trainer)
    rollout.close()
    of_length = list(trainer._logs["rewards"]["length"])
    assert list(map(math.isnan, of_length)) == [False, True, False, False] * 2


def test_nothing_is_said_about_unscored_rows_or_the_experimental_api(tmp_path, caplog):
    rollout = RolloutFunc(FakeEngine(make=failing(1)))
    with caplog.at_level(logging.WARNING, logger="trl"):
        train(make_trainer(tmp_path, rollout))
    rollout.close()
    assert not caplog.records


def test_evaluation_faces_the_same_seeds_each_time_and_leaves_training_alone(tmp_path):
    engine = FakeEngine()
    rollout = RolloutFunc(engine)
    options = {"eval_tasks": [{"task_id": f"e{index}"} for index in range(3)]}
    fields = {
        "eval_strategy": "steps",
        "eval_steps": 1,
        "num_generations_eval": 2,
        "per_device_eval_batch_size": 4,
    }
    trainer = make_trainer(tmp_path, rollout, options=options, max_steps=2, **fields)
    train(trainer)
    rollout.close()
    of_eval = [asked for asked in engine.asked if asked[0].startswith("e")]
    assert sorted(of_eval[:6]) == sorted(of_eval[6:])
    assert len(set(of_eval)) == 6
    assert trainer.state.log_history[1]["eval_episode/success"] == 0.5


def test_sigint_finishes_the_step_saves_and_ends(tmp_path):
    def interrupting(task, sample, step):
        if step == 1 and sample == 0 and task["task_id"] == tasks_seen.setdefault("first", task["task_id"]):
            os.kill(os.getpid(), signal.SIGINT)
        return alternating(task, sample, step)

    tasks_seen: dict[str, str] = {}
    rollout = RolloutFunc(FakeEngine(make=interrupting))
    trainer = make_trainer(tmp_path, rollout, max_steps=5, save_strategy="steps")
    handler = signal.getsignal(signal.SIGINT)
    stop = train(trainer)
    rollout.close()
    assert stop.is_requested
    assert trainer.state.global_step == 2
    assert latest_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_time_budget_ends_training_and_saves(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    options = {"callbacks": [TimeBudget(0.001)]}
    trainer = make_trainer(tmp_path, rollout, options=options, max_steps=50, save_strategy="steps")
    train(trainer)
    rollout.close()
    assert trainer.state.global_step == 1
    assert latest_checkpoint(tmp_path) == tmp_path / "checkpoint-1"


def test_a_stop_asked_for_in_the_first_of_two_iterations_is_made_after_the_second(tmp_path):
    engine, said = FakeEngine(), []
    rollout = RolloutFunc(engine, on_episodes=lambda batch: os.kill(os.getpid(), signal.SIGINT))
    trainer = make_trainer(tmp_path, rollout, max_steps=6, num_iterations=2, save_strategy="steps")
    train(trainer, on_stop_request=lambda: said.append("stop"))
    rollout.close()
    assert trainer.state.global_step == 2
    assert latest_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    assert {step for _, _, step in engine.asked} == {0}
    assert said == ["stop"]


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(tmp_path):
    engines, finals = [], []
    for folder, resume_at in (("whole", None), ("parts", 1)):
        engine = FakeEngine()
        fields = {"max_steps": 2, "save_strategy": "steps", "save_steps": 1}
        rollout = RolloutFunc(engine)
        trainer = make_trainer(tmp_path / folder, rollout, **fields)
        if resume_at is None:
            train(trainer)
        else:
            train(trainer, resume_from=tmp_path / "whole" / f"checkpoint-{resume_at}")
        rollout.close()
        engines.append(engine)
        finals.append(weights(trainer))
    assert engines[1].asked == engines[0].asked[8:]
    assert all(map(torch.equal, *finals))


def test_a_reward_model_by_name_is_refused(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    with pytest.raises(TypeError, match="a reward function is a callable, got 'org/reward-model'"):
        make_trainer(tmp_path, rollout, options={"reward_funcs": ["org/reward-model"]})


def test_tasks_too_few_for_one_batch_are_refused(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    with pytest.raises(ValueError, match=f"there are {len(TASKS)} tasks but one batch takes 8"):
        make_trainer(tmp_path, rollout, gradient_accumulation_steps=4)
