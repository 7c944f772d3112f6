import pytest
from fake_engine import FakeEngine, alternating, failing, make_episode, make_trainer, random_log, rng_of

from grpo_agent.agents.core import Sampling
from grpo_agent.agents.errors import UnscoredAlarm
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.loop import LoopThread
from grpo_agent.trainer.rollout_func import RolloutFunc


def test_members_of_a_group_are_counted_and_asked_for_at_the_step(tmp_path):
    engine = FakeEngine()
    rollout = RolloutFunc(engine)
    train(make_trainer(tmp_path, rollout, max_steps=2, temperature=0.7))
    rollout.close()
    for step in (0, 1):
        rows = engine.asked[8 * step : 8 * step + 8]
        assert [row[1:] for row in rows] == [(sample, step) for sample in (0, 1, 2, 3)] * 2
        assert len({row[0] for row in rows}) == 2
    assert engine.samplings == [Sampling(temperature=0.7)] * 2
    assert engine.is_closed


def test_a_task_met_twice_in_one_optimizer_step_has_new_samples(tmp_path):
    engine = FakeEngine()
    rollout = RolloutFunc(engine)
    fields = {"gradient_accumulation_steps": 2, "steps_per_generation": 1, "max_steps": 2}
    train(make_trainer(tmp_path, rollout, options={"tasks": [{"task_id": "same"}] * 8}, **fields))
    rollout.close()
    assert engine.asked == [("same", sample, step) for step in (0, 1) for sample in range(16)]


def test_a_shared_loop_is_left_to_its_owner(tmp_path):
    engine, loop = FakeEngine(), LoopThread()
    rollout = RolloutFunc(engine, loop=loop)
    train(make_trainer(tmp_path, rollout))
    rollout.close()
    assert not engine.is_closed
    loop.run(engine.close())
    loop.close()


def test_the_modes_of_all_modules_are_kept(tmp_path):
    class Careless(FakeEngine):
        async def run_rows(self, tasks, samples, *, step, sampling):
            model.eval()
            return await super().run_rows(tasks, samples, step=step, sampling=sampling)

    rollout = RolloutFunc(Careless())
    trainer = make_trainer(tmp_path, rollout)
    model = trainer.model
    model.train()
    model.lm_head.eval()
    prompts = [row["prompt"] for row in trainer.train_dataset for _ in range(4)]
    rollout(prompts, trainer)
    rollout.close()
    assert model.training
    assert model.model.layers[0].training
    assert not model.lm_head.training


def test_too_many_unscored_episodes_stop_the_run_and_name_the_failures(tmp_path):
    rollout = RolloutFunc(FakeEngine(make=failing(0, 1, 2)))
    trainer = make_trainer(tmp_path, rollout)
    with pytest.raises(
        UnscoredAlarm, match=r"6 of 8 .* alarm of 50%; .*: 6 x sandbox in step: SandboxLost: the"
    ):
        train(trainer)
    rollout.close()


def test_an_episode_without_a_sampled_token_is_unscored(tmp_path):
    def mute(task, sample, step):
        tokens = random_log(rng_of(task, sample, step), 0)
        return make_episode(task, sample, tokens, 0.0) if sample == 1 else alternating(task, sample, step)

    batches = []
    rollout = RolloutFunc(FakeEngine(make=mute), on_episodes=batches.append)
    train(make_trainer(tmp_path, rollout))
    rollout.close()
    assert "before the agent emitted a token" in str(batches[0].episodes[1].failure)


def test_on_episodes_gets_what_trl_gets_in_its_order(tmp_path):
    engine, batches = FakeEngine(), []
    rollout = RolloutFunc(engine, on_episodes=batches.append)
    train(make_trainer(tmp_path, rollout))
    rollout.close()
    assert batches[0].episodes == tuple(engine.made)
    assert (batches[0].mode, batches[0].step) == ("train", 0)
    assert len(set(batches[0].episode_ids)) == 8
    assert batches[0].episode_ids[0] == f"train-0/{engine.made[0].task_id}/0"
    assert batches[0].metrics["episode/reward"] == 0.5


def test_what_the_engine_raises_ends_the_run(tmp_path):
    def broken(task, sample, step):
        raise LookupError("no such model")

    rollout = RolloutFunc(FakeEngine(make=broken))
    with pytest.raises(LookupError, match="no such model"):
        train(make_trainer(tmp_path, rollout))
    rollout.close()


def test_truncated_sampling_is_refused_in_a_trainer_built_by_hand(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    trainer = make_trainer(tmp_path, rollout)
    trainer.args.top_p = 0.5
    with pytest.raises(ValueError, match=r"trainer.top_p is 0.5; it must be 1.0"):
        train(trainer)
    rollout.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_unscored_share": 1.5}, "max_unscored_share is 1.5"), ({"min_group": 0}, "min_group is 0")],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        RolloutFunc(FakeEngine(), **options)
