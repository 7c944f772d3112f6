"""One episode at a time, through the engine."""

import asyncio
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.core import Generation, StopReason
from grpo_agent.agents.errors import GeneratorError
from grpo_agent.agents.failure import FailureKind, Stage
from grpo_agent.agents.generator.scripted import ScriptedGenerator
from grpo_agent.agents.limits import RolloutLimits
from grpo_agent.agents.rollout import RolloutEngine
from grpo_agent.agents.testing import tiny_tokenizer
from grpo_agent.envs.core import Env, Step
from grpo_agent.sandboxes.errors import SandboxLost, SandboxUnavailable

FORMAT = ChatFormat.for_tokenizer(tiny_tokenizer())
CALL = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


class Talk(Env):
    """Answers every turn; `end_after` turns it ends with `last`."""

    def __init__(self, observation="go on", end_after=99, last=None, reward=0.5):
        self.observation, self.end_after, self.reward = observation, end_after, reward
        self.last = last or Step("bye", reward, True, False, {"success": True})
        self.actions, self.closed = [], 0

    def reset(self, *, seed=None, options=None):
        return "question", {}

    def step(self, action):
        self.actions.append(action)
        return (
            self.last
            if len(self.actions) >= self.end_after
            else (self.observation, self.reward, False, False, {})
        )

    def close(self):
        self.closed += 1


class AsyncTalk(Talk):
    async def reset(self, *, seed=None, options=None):
        return "question", {}

    async def step(self, action):
        return Talk.step(self, action)

    async def close(self):
        Talk.close(self)


def play(
    env,
    reply=("hello",),
    *,
    context=8192,
    retries=0,
    stops=True,
    generator=None,
    parse_error="feedback",
    **limits,
):
    """Play one episode in `env`, an instance or a class."""
    make = env if callable(env) else lambda: env
    generator = generator or ScriptedGenerator(FORMAT, reply, max_context=context, stops=stops)
    engine = RolloutEngine(
        make, generator, FORMAT, RolloutLimits(**limits), retries=retries, parse_error=parse_error
    )
    (episode,) = asyncio.run(engine.run([{"task_id": "t"}]))
    check(episode)
    return episode


def check(episode):
    """What holds for every episode."""
    assert episode.is_scored == (episode.failure is None)
    if episode.tokens is None:
        return
    mask = list(episode.tokens.env_mask)
    covered = [0] * len(mask)
    for turn in episode.turns:
        covered[turn.start : turn.end] = [1] * (turn.end - turn.start)
    assert mask == covered
    assert not mask or mask[-1] == 1, "the completion ends on a policy token"
    assert all(
        logprob < 0 if bit else logprob == 0
        for logprob, bit in zip(episode.tokens.logprobs, mask, strict=True)
    )


@pytest.mark.parametrize("kind", [Talk, AsyncTalk])
def test_the_environment_ends_it(kind):
    env = kind(end_after=2)
    episode = play(env)
    assert (episode.stop_reason, episode.reward, episode.is_success) == (StopReason.TERMINATED, 1.0, True)
    assert [m["role"] for m in episode.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert "bye" not in FORMAT.decode(episode.tokens.ids)
    assert env.closed == 1


def test_the_log_reads_as_the_conversation():
    episode = play(Talk(end_after=2))
    assert FORMAT.decode(episode.tokens.ids) == (
        "<|im_start|>user\nquestion<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>\n"
        "<|im_start|>user\ngo on<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>"
    )


def test_the_environment_cuts_it():
    last = Step("late", 0.0, False, True, {})
    assert play(Talk(end_after=1, last=last)).stop_reason is StopReason.ENV_TRUNCATED


def test_turns_run_out():
    episode = play(Talk(), max_turns=3)
    assert (episode.stop_reason, len(episode.turns), episode.reward) == (StopReason.MAX_TURNS, 3, 1.5)


def test_calls_run_out_before_the_environment_sees_more_of_them():
    env = Talk()
    episode = play(env, [CALL], max_tool_calls=2)
    assert (episode.stop_reason, len(env.actions), len(episode.turns)) == (StopReason.MAX_TURNS, 2, 3)


def test_tokens_run_out_within_a_turn_and_what_was_said_is_still_judged():
    env = Talk()
    episode = play(env, ["hello " * 100], max_completion_tokens=20)
    assert (episode.stop_reason, len(episode.tokens), len(env.actions)) == (StopReason.MAX_TOKENS, 20, 1)


def test_a_turn_cut_by_its_own_cap_is_closed_by_an_environment_token():
    episode = play(Talk(end_after=2), ["hello " * 100], max_turn_tokens=4)
    first = episode.turns[0]
    assert (first.finish_reason, first.end - first.start) == ("length", 4)
    assert episode.tokens.completion_ids[first.end] == FORMAT.turn_end_ids[0]
    assert episode.tokens.env_mask[first.end] == 0


def test_the_context_runs_out():
    episode = play(Talk("word " * 20), ["hello " * 10], context=160, max_completion_tokens=4000)
    assert episode.stop_reason is StopReason.CONTEXT_FULL
    assert len(episode.tokens.ids) <= 160


def test_a_prompt_that_does_not_fit_is_a_fault_of_the_task():
    episode = play(Talk(), context=8)
    assert (episode.failure.kind, episode.failure.stage) == (FailureKind.ENV_CONTRACT, Stage.RESET)
    assert "context holds 8" in episode.failure.message


def test_a_long_observation_is_shortened_in_the_middle_with_a_notice():
    env = Talk("start " + "x1y2 " * 2000 + " finish", end_after=2)
    episode = play(env, max_completion_tokens=300)
    seen = episode.messages[2]["content"]
    assert seen.startswith("start")
    assert seen.endswith("finish")
    assert "characters left out" in seen
    assert episode.stop_reason is StopReason.TERMINATED
    assert seen in FORMAT.decode(episode.tokens.ids)


def test_a_malformed_call_reaches_the_environment_by_default():
    env = Talk(end_after=1)
    episode = play(env, ["<tool_call>{</tool_call>"])
    assert env.actions[0].tool_calls[0].error
    assert episode.turns[0].parse_error


def test_a_malformed_call_ends_the_episode_where_asked():
    env = Talk()
    episode = play(env, ["<tool_call>{</tool_call>"], parse_error="end")
    assert (episode.stop_reason, env.actions, episode.reward) == (StopReason.PARSE_ERROR, [], 0.0)


def test_a_step_that_cannot_be_scored_leaves_the_episode_unscored():
    episode = play(Talk(end_after=2, reward=None))
    assert (episode.stop_reason, episode.reward, episode.failure.stage) == (
        StopReason.TERMINATED,
        None,
        Stage.REWARD,
    )


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        (("o", 0.0, True, False), "step must return"),
        (None, "step must return"),
        (("o", float("nan"), True, False, {}), "finite"),
        (("o", "1", True, False, {}), "finite"),
        (("o", 0.0, 1, False, {}), "terminated must be a bool"),
        (("o", 0.0, True, None, {}), "truncated must be a bool"),
        ((3, 0.0, True, False, {}), "chat messages"),
        (("o", 0.0, True, False, None), "info of step must be a dict"),
    ],
)
def test_a_broken_contract_is_named_and_not_retried(step, rule):
    env = Talk(end_after=1)
    env.last = step
    episode = play(env, retries=3)
    assert (episode.failure.kind, episode.stop_reason) == (FailureKind.ENV_CONTRACT, StopReason.FAILED)
    assert rule in episode.failure.message
    assert episode.attempts == 1


@pytest.mark.parametrize("result", [None, "text", ("o",), ([], {}), ("o", None)])
def test_a_reset_that_breaks_its_contract_is_unscored(result):
    class Broken(Talk):
        def reset(self, *, seed=None, options=None):
            return result

    assert play(Broken).failure.kind is FailureKind.ENV_CONTRACT


def test_a_factory_must_make_an_environment():
    assert "must return an Env, got dict" in play(dict).failure.message


@pytest.mark.parametrize(
    ("error", "kind", "attempts"),
    [
        (RuntimeError("boom"), FailureKind.ENV_ERROR, 3),
        (SandboxLost("gone"), FailureKind.SANDBOX, 3),
        (SandboxUnavailable("no namespaces"), FailureKind.SANDBOX, 1),
        (SystemExit(3), FailureKind.ENV_ERROR, 3),
        (StopIteration(), FailureKind.ENV_ERROR, 3),
        (TimeoutError("own"), FailureKind.ENV_ERROR, 3),
    ],
)
@pytest.mark.parametrize("kind_of_env", [Talk, AsyncTalk])
def test_what_breaks_is_named_and_retried_if_it_may_pass(kind_of_env, error, kind, attempts):
    made = []

    class Broken(kind_of_env):
        def __init__(self):
            super().__init__(end_after=1)
            made.append(self)

        @property
        def last(self):
            raise error

        @last.setter
        def last(self, value):
            pass

    episode = play(Broken, retries=2)
    assert (episode.failure.kind, episode.failure.stage, episode.attempts) == (kind, Stage.STEP, attempts)
    assert [env.closed for env in made] == [1] * attempts


def test_a_sandbox_fault_wrapped_by_the_environment_is_still_one():
    class Broken(Talk):
        def step(self, action):
            try:
                raise SandboxLost("gone")
            except SandboxLost as error:
                raise ValueError("tool failed") from error

    assert play(Broken).failure.kind is FailureKind.SANDBOX


class BrokenGenerator(ScriptedGenerator):
    def __init__(self, outcome):
        super().__init__(FORMAT, ["x"])
        self.outcome = outcome

    async def generate(self, ids, **kwargs):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (GeneratorError("server gone"), "server gone"),
        (RuntimeError("bug"), "bug"),
        (Generation((), (), "stop"), "returned 0 ids"),
        (Generation((5,) * 999, (-1.0,) * 999, "stop"), "returned 999 ids"),
        (Generation((5, 6), (-1.0,), "stop"), "2 ids but 1 logprobs"),
        (Generation((5,), (float("nan"),), "stop"), "finite"),
    ],
)
def test_what_the_generator_breaks_is_its_fault(outcome, message):
    episode = play(Talk(), generator=BrokenGenerator(outcome), max_completion_tokens=100)
    assert (episode.failure.kind, episode.failure.stage) == (FailureKind.GENERATOR, Stage.GENERATE)
    assert message in episode.failure.message


@pytest.mark.parametrize("kind", [Talk, AsyncTalk])
def test_a_failing_close_is_recorded_and_the_reward_stands(kind, caplog):
    class Broken(kind):
        closed = property(lambda self: 1 / 0, lambda self, value: None)

    episode = play(Broken(end_after=1))
    assert (episode.reward, episode.failure) == (0.5, None)
    assert (episode.close_failure.stage, episode.close_failure.kind) == (Stage.CLOSE, FailureKind.ENV_ERROR)
    assert "failed to close" in caplog.text


def test_a_step_that_hangs_is_unscored_and_its_late_result_goes_nowhere():
    release, seen = threading.Event(), []

    class Hanging(Talk):
        def step(self, action):
            release.wait(5)
            return super().step(action)

        def close(self):
            seen.append("closed")

    threading.Timer(0.3, release.set).start()
    began = time.perf_counter()
    episode = play(Hanging, retries=2, episode_timeout_s=0.1)
    assert time.perf_counter() - began < 3
    assert (episode.stop_reason, episode.failure.kind) == (StopReason.TIMEOUT, FailureKind.ENV_TIMEOUT)
    assert (episode.attempts, episode.reward, seen) == (1, None, ["closed"])


def test_an_environment_that_is_made_too_late_is_still_closed():
    closed = []

    class Late(Talk):
        def __init__(self):
            time.sleep(0.3)
            super().__init__()

        def close(self):
            closed.append(1)

    episode = play(Late, episode_timeout_s=0.1)
    assert (episode.failure.kind, episode.failure.stage) == (FailureKind.ENV_TIMEOUT, Stage.CREATE)
    assert closed == [1]


@pytest.mark.parametrize("turns", [0, 2])
def test_slow_generation_is_never_scored_however_many_turns_there_were(turns):
    class Slow(ScriptedGenerator):
        def __init__(self):
            super().__init__(FORMAT, ["hello"])
            self.calls = 0

        async def generate(self, *args, **kwargs):
            self.calls += 1
            await asyncio.sleep(10 if self.calls > turns else 0)
            return await super().generate(*args, **kwargs)

    episode = play(Talk(), generator=Slow(), retries=1, episode_timeout_s=0.3)
    assert (episode.stop_reason, episode.reward) == (StopReason.TIMEOUT, None)
    assert (episode.failure.kind, episode.failure.stage) == (FailureKind.GENERATOR, Stage.GENERATE)
    assert (len(episode.turns), episode.attempts) == (turns, 1)


def test_methods_of_a_plain_environment_share_one_thread():
    threads = set()

    class Threaded(Talk):
        def reset(self, **kwargs):
            threads.add(threading.get_ident())
            return super().reset(**kwargs)

        def step(self, action):
            threads.add(threading.get_ident())
            return super().step(action)

        def close(self):
            threads.add(threading.get_ident())

    play(Threaded, max_turns=3)
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_reset_learns_the_task_and_the_limits():
    class Curious(Talk):
        def reset(self, *, seed=None, options=None):
            return f"{options['task']} {options['tool_timeout_s']} {options['max_turns']}", {}

    episode = play(Curious, tool_timeout_s=3.0, max_turns=1)
    assert episode.messages[0]["content"] == "{'task_id': 't'} 3.0 1"


@settings(max_examples=60)
@given(
    replies=st.lists(
        st.sampled_from(["hi", "hello " * 30, CALL, "<tool_call>{", "<think>", "é" * 9]), min_size=1
    ),
    observation=st.sampled_from(["ok", "word " * 300, "<|im_end|>", "\n\n", ""]),
    ending=st.tuples(st.integers(1, 5), st.none() | st.floats(-5, 5)),
    broken_at=st.none() | st.integers(1, 4),
    model=st.fixed_dictionaries({"stops": st.booleans(), "context": st.integers(20, 400)}),
    limits=st.fixed_dictionaries(
        {"max_turns": st.integers(1, 4), "max_completion_tokens": st.integers(1, 300)},
        optional={"max_turn_tokens": st.integers(1, 40), "max_tool_calls": st.integers(1, 3)},
    ),
)
def test_every_episode_keeps_its_books(replies, observation, ending, broken_at, model, limits):
    class Random(AsyncTalk):
        async def step(self, action):
            if len(self.actions) + 1 == broken_at:
                raise RuntimeError("boom")
            return await super().step(action)

    env = Random(observation, ending[0], Step("end", ending[1], True, False, {}))
    episode = play(env, replies, **model, **limits)
    assert env.closed == 1
    if episode.tokens is not None:
        assert len(episode.tokens) <= limits["max_completion_tokens"]
        assert len(episode.tokens.ids) <= model["context"]
