"""Many episodes at once."""

import asyncio
import threading
import time

import pytest

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.core import StopReason
from grpo_agent.agents.failure import FailureKind, Stage
from grpo_agent.agents.generator.scripted import ScriptedGenerator
from grpo_agent.agents.limits import RolloutLimits
from grpo_agent.agents.rollout import RolloutEngine, stable_seed
from grpo_agent.agents.testing import tiny_tokenizer
from grpo_agent.envs.core import Env, Step

FORMAT = ChatFormat.for_tokenizer(tiny_tokenizer())
DONE = Step("", 1.0, True, False, {})


def tasks(count):
    return [{"task_id": f"t{index}"} for index in range(count)]


def engine(env, reply=("hello",), *, latency_s=0.0, limits=None, **kwargs):
    generator = ScriptedGenerator(FORMAT, reply, latency_s=latency_s)
    return RolloutEngine(env, generator, FORMAT, limits or RolloutLimits(), **kwargs)


def run(engine, rows, group_size=1, **kwargs):
    return asyncio.run(engine.run(rows, group_size, **kwargs))


class Echo(Env):
    """Shows its task and seed; ends after one turn."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return f"{options['task']['task_id']} {self.np_random.integers(1000)}", {}

    def step(self, action):
        return DONE


class Slow(Echo):
    def step(self, action):
        time.sleep(0.05)
        return DONE


class AsyncSlow(Echo):
    async def step(self, action):
        await asyncio.sleep(0.05)
        return DONE


@pytest.mark.parametrize("env", [Slow, AsyncSlow])
def test_steps_of_64_episodes_overlap(env):
    run(engine(env), tasks(2))
    rollouts = engine(env)
    began = time.perf_counter()
    episodes = run(rollouts, tasks(64))
    assert all(episode.reward == 1.0 for episode in episodes)
    assert time.perf_counter() - began < 1.0  # 3.2 s one after another


def test_no_episode_waits_for_another_ones_turn():
    class Uneven(Env):
        def reset(self, *, seed=None, options=None):
            self.pause = options["task"]["pause"]
            self.turns = 0
            return "q", {}

        async def step(self, action):
            self.turns += 1
            await asyncio.sleep(self.pause)
            return Step("o", 1.0, self.turns == 3, False, {})

    ended = []
    rows = [{"task_id": "slow", "pause": 0.1}, *({"task_id": f"t{i}", "pause": 0.0} for i in range(5))]
    run(engine(Uneven, on_episode=lambda episode: ended.append(episode.task_id)), rows)
    assert ended[-1] == "slow"


def test_no_more_than_max_concurrent_are_alive():
    alive, most = 0, 0

    class Counted(Echo):
        async def step(self, action):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            await asyncio.sleep(0.001)
            alive -= 1
            return DONE

    run(engine(Counted, max_concurrent=3), tasks(20))
    assert most == 3


def test_results_come_in_the_order_of_tasks_and_samples():
    class Random(Echo):
        async def step(self, action):
            await asyncio.sleep(self.np_random.random() * 0.01)
            return DONE

    episodes = run(engine(Random), tasks(5), 3)
    assert [(e.task_id, e.sample) for e in episodes] == [(f"t{i}", j) for i in range(5) for j in range(3)]


def test_a_group_shares_its_task_and_seed_wherever_it_stands():
    first = run(engine(Echo, seed=7), tasks(3), 2, step=5)
    assert first[0].messages == first[1].messages
    assert len({episode.seed for episode in first}) == 3
    moved = asyncio.run(engine(Echo, seed=7).run_rows(tasks(3)[::-1], [1, 1, 4], step=5))
    assert moved[2].messages == first[1].messages
    assert [episode.sample for episode in moved] == [1, 1, 4]
    assert run(engine(Echo, seed=7), tasks(3), 2, step=6)[0].seed != first[0].seed


def test_seeds_are_the_same_in_every_process():
    assert stable_seed(0, "t0", 0) == 350_024_978


def test_members_of_a_group_sample_with_different_seeds():
    seeds = []

    class Recorder(ScriptedGenerator):
        async def generate(self, ids, *, seed=None, **kwargs):
            seeds.append(seed)
            return await super().generate(ids, seed=seed, **kwargs)

    run(RolloutEngine(Echo, Recorder(FORMAT, ["x"]), FORMAT), [*tasks(1), *tasks(1)], 2)
    assert len(set(seeds)) == 4


def test_a_scripted_run_repeats_byte_for_byte():
    def reply(text, turn):
        return f"reply {turn} to {len(text)}"

    def once():
        episodes = run(engine(Echo, reply), tasks(4), 4)
        return [(e.seed, e.messages, e.tokens.ids, e.tokens.logprobs, e.reward) for e in episodes]

    assert repr(once()) == repr(once())


@pytest.mark.parametrize("stage", [Stage.CREATE, Stage.RESET, Stage.STEP, Stage.CLOSE])
def test_one_that_breaks_among_16_leaves_the_other_15_scored(stage):
    class Broken(Echo):
        made = 0

        def __init__(self):
            Broken.made += 1
            self.fail(Stage.CREATE, Broken.made == 5)

        def fail(self, here, is_bad):
            if here is stage and is_bad:
                raise RuntimeError("boom")

        def reset(self, *, seed=None, options=None):
            self.is_bad = options["task"]["task_id"] == "t5"
            self.fail(Stage.RESET, self.is_bad)
            return super().reset(seed=seed, options=options)

        def step(self, action):
            self.fail(Stage.STEP, self.is_bad)
            return DONE

        def close(self):
            self.fail(Stage.CLOSE, self.is_bad)

    episodes = run(engine(Broken, retries=0), tasks(16))
    broken = [episode for episode in episodes if not episode.is_scored]
    if stage is Stage.CLOSE:
        assert not broken
        assert episodes[5].close_failure.stage is Stage.CLOSE
    else:
        assert [episode.failure.stage for episode in broken] == [stage]
        assert len(broken) == 1


def test_releasing_an_engine_ends_its_threads_and_leaves_the_generator():
    class Counted(ScriptedGenerator):
        n_closed = 0

        async def close(self):
            Counted.n_closed += 1

    threads_before = set(threading.enumerate())
    rollouts = RolloutEngine(Slow, Counted(FORMAT, ["hello"]), FORMAT, RolloutLimits())
    run(rollouts, tasks(4))
    mine = [thread for thread in threading.enumerate() if thread not in threads_before]
    assert mine
    rollouts.release()
    for thread in mine:
        thread.join(5)
    assert not any(thread.is_alive() for thread in mine)
    assert Counted.n_closed == 0


def test_a_fresh_environment_gets_another_try():
    class Flaky(Echo):
        made = 0

        def __init__(self):
            Flaky.made += 1
            self.number = Flaky.made

        def step(self, action):
            if self.number == 1:
                raise RuntimeError("boom")
            return DONE

    (episode,) = run(engine(Flaky), tasks(1))
    assert (episode.reward, episode.attempts) == (1.0, 2)


def test_a_group_with_too_few_scored_members_is_unscored_whole():
    class Bad(Echo):
        made = 0

        def step(self, action):
            Bad.made += 1
            return DONE._replace(reward=1.0 if Bad.made == 1 else None)

    episodes = run(engine(Bad, max_concurrent=1, min_group=2), tasks(1), 3)
    assert [episode.failure.kind for episode in episodes] == [
        FailureKind.SMALL_GROUP,
        *[FailureKind.ENV_ERROR] * 2,
    ]
    assert not any(episode.is_scored for episode in episodes)


def test_a_group_of_one_needs_no_company():
    assert run(engine(Echo, min_group=4), tasks(1))[0].is_scored


def test_the_deadline_cancels_what_has_not_ended_and_closes_it():
    closed = []

    class Stuck(Echo):
        async def step(self, action):
            if "t0" not in self.task:
                await asyncio.sleep(60)
            return DONE

        def reset(self, *, seed=None, options=None):
            self.task = options["task"]["task_id"]
            return super().reset(seed=seed, options=options)

        async def close(self):
            closed.append(self.task)

    began = time.perf_counter()
    limits = RolloutLimits(batch_deadline_s=0.2)
    episodes = run(engine(Stuck, max_concurrent=3, limits=limits), tasks(5))
    assert time.perf_counter() - began < 5
    assert [episode.stop_reason for episode in episodes] == [
        StopReason.TERMINATED,
        *[StopReason.CANCELLED] * 4,
    ]
    assert {episode.failure.kind for episode in episodes[1:]} == {FailureKind.DEADLINE}
    assert [episode.failure.stage for episode in episodes[1:]] == [Stage.STEP] * 3 + [Stage.CREATE]
    assert episodes[1].tokens.sampled_tokens > 0
    assert sorted(closed) == ["t0", "t1", "t2", "t3"]


def test_cancelling_a_run_closes_its_environments():
    closed = []

    class Stuck(Echo):
        async def step(self, action):
            await asyncio.sleep(60)

        def close(self):
            closed.append(1)

    async def cancelled():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(engine(Stuck).run(tasks(4)), 0.2)

    asyncio.run(cancelled())
    assert len(closed) == 4


def test_progress_is_told_and_a_broken_display_costs_nothing(caplog):
    turns = []

    def broken(episode):
        raise ValueError("no terminal")

    episodes = run(engine(Echo, on_turn=turns.append, on_episode=broken), tasks(3))
    assert len(turns) == 3
    assert all(episode.is_scored for episode in episodes)
    assert "progress callback raised" in caplog.text


def test_an_engine_runs_again_in_another_event_loop():
    rollouts = engine(Slow)
    assert run(rollouts, tasks(2))[0].is_scored
    assert run(rollouts, tasks(2))[1].is_scored
    assert run(rollouts, []) == []


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"max_concurrent": 0}, "max_concurrent is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"min_group": 0}, "min_group is 0"),
        ({"parse_error": "retry"}, "parse_error is 'retry'"),
    ],
)
def test_a_setting_out_of_range_is_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        engine(Echo, **kwargs)


def test_an_instance_cannot_serve_many_episodes():
    with pytest.raises(TypeError, match="every episode needs an environment of its own"):
        engine(Echo())


def test_a_group_needs_a_member():
    with pytest.raises(ValueError, match="group_size is 0"):
        run(engine(Echo), tasks(1), 0)


def test_rows_without_an_id_are_told_apart_by_their_content():
    episodes = run(engine(Env), [{"a": 1}, {"a": 2}, {"a": 1}])
    assert episodes[0].task_id == episodes[2].task_id != episodes[1].task_id
