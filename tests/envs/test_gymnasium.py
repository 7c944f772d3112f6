import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent import Action, Env, Step
from grpo_agent.envs.gym import FromGymnasium, ToGymnasium, gym_id
from grpo_agent.envs.gym_parser import ActionParser
from grpo_agent.envs.gym_text import plain_info, rendered
from grpo_agent.envs.testing import CounterEnv, check_env

ANY = "grpo_agent/Env-v0"
HOME = "grpo_agent.envs.testing"
INCREMENT = '{"name": "increment", "arguments": {"by": 1}}'


@pytest.mark.parametrize("name", ["EchoEnv", "GuessEnv", "CounterEnv"])
def test_ours_passes_the_checker_of_gymnasium_without_warnings(name: str) -> None:
    env = gymnasium.make(ANY, env=f"{HOME}:{name}")
    gymnasium_check_env(env.unwrapped)
    env.close()
    env.close()


def test_named_environments_are_registered() -> None:
    assert gym_id("code") == "grpo_agent/Code-v0"
    assert gym_id("text_game") == "grpo_agent/TextGame-v0"
    assert gymnasium.spec("grpo_agent/Code-v0").kwargs == {"env": "code"}


def test_the_coding_environment_passes_the_checker_of_gymnasium() -> None:
    env = gymnasium.make("grpo_agent/Code-v0", size=5)
    gymnasium_check_env(env.unwrapped)
    env.close()


def test_wrappers_of_gymnasium_apply() -> None:
    env: Any = gymnasium.make(ANY, env=f"{HOME}:CounterEnv")
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(env, 2))
    env.reset(seed=1)
    assert env.step(INCREMENT)[:4] == ("1", 0.0, False, False)
    text, _, terminated, truncated, info = env.step(f"[{INCREMENT}]")
    assert (text, terminated, truncated, info["episode"]["l"]) == ("2", False, True, 2)
    env.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_vector_environments_run(mode: str) -> None:
    settings = {} if mode == "sync" else {"shared_memory": False, "context": "spawn"}
    vector = gymnasium.make_vec(
        ANY, num_envs=2, vectorization_mode=mode, vector_kwargs=settings, env=f"{HOME}:EchoEnv"
    )
    assert vector.reset(seed=1)[0] == ("Say something; say stop to end.",) * 2
    texts, rewards, *_ = vector.step(("grüß dich", "stop"))  # type: ignore[arg-type]
    assert texts == ("You said: grüß dich", "You said: stop")
    assert rewards.tolist() == [0.0, 1.0]
    vector.close()


def test_shared_memory_that_would_blank_the_text_is_refused() -> None:
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.make_vec(ANY, num_envs=2, vectorization_mode="async", env=f"{HOME}:EchoEnv")


def test_unscored_steps_have_reward_nan() -> None:
    class Unscored(Env):
        def step(self, action: Action) -> Step:
            return Step("", None, True, False, {})

    env = ToGymnasium(Unscored)
    env.reset()
    assert math.isnan(env.step("x")[1])


def test_tasks_are_drawn_by_the_seed() -> None:
    class Asks(Env):
        def tasks(self, split: str) -> list[dict[str, Any]]:
            return [{"prompt": f"{split} {i}"} for i in range(50)]

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return options["task"]["prompt"], {}

        def step(self, action: Action) -> Step:
            return Step("", 0.0, True, False, {})

    env = ToGymnasium(Asks, split="test")
    drawn = [env.reset(seed=seed)[0] for seed in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3
    assert all(text.startswith("test ") for text in drawn)
    assert env.reset(options={"task": {"prompt": "mine"}})[0] == "mine"


def test_an_episode_is_closed_once_before_the_next_and_at_the_end() -> None:
    closed: list[int] = []

    class Closing(CounterEnv):
        async def close(self) -> None:  # type: ignore[override]
            closed.append(1)

    env = ToGymnasium(Closing)
    env.close()
    assert closed == []
    env.reset()
    env.reset()
    env.close()
    env.close()
    assert closed == [1, 1]


def test_long_observations_are_cut_to_the_space() -> None:
    env = ToGymnasium(f"{HOME}:EchoEnv", max_chars=150)
    env.reset()
    text = env.step("x" * 150)[0]
    assert text in env.observation_space
    assert "characters left out" in text


def test_ansi_rendering_is_the_transcript() -> None:
    env = ToGymnasium(f"{HOME}:EchoEnv", render_mode="ansi")
    env.reset()
    env.step("hi")
    assert env.render() == "user: Say something; say stop to end.\nassistant: hi\nuser: You said: hi"


def test_frozen_lake_is_played_by_text() -> None:
    env = FromGymnasium(
        "FrozenLake-v1",
        action_names=["left", "down", "right", "up"],
        env_settings={"is_slippery": False},
    )
    first, _ = env.reset(seed=1)
    assert first == (
        "You play FrozenLake-v1. Reply with one number from 0 to 3 (0 = left, 1 = down, 2 = right, 3 = up)."
        "\n\n[S]FFF\nFHFH\nFFFH\nHFFG"
    )
    assert env.step(Action("I go right.")).observation == "  (Right)\nS[F]FF\nFHFH\nFFFH\nHFFG"
    bad = env.step(Action("action 7"))
    assert bad[1:4] == (0.0, False, False)
    assert str(bad.observation).startswith("7 is not an allowed action. Reply with one number from 0 to 3")
    for move in "2", "1", "1", "1":
        last = env.step(Action(move))
    assert (last.reward, last.terminated) == (0.0, False)
    last = env.step(Action("right"))
    assert (last.reward, last.terminated) == (1.0, True)
    env.close()
    env.close()


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CartPole-v1", "Blackjack-v1", "Pendulum-v1"])
def test_theirs_keeps_our_contract(env_id: str) -> None:
    check_env(lambda: FromGymnasium(env_id), [Action("1"), Action("x"), Action("0"), Action("1")])


def test_a_parser_of_ones_own_may_complain() -> None:
    def parse(text: str) -> int:
        if text not in "LR":
            raise ValueError("Say L or R.")
        return "LR".index(text)

    env = FromGymnasium("CartPole-v1", parse=parse, render=lambda seen: f"at {seen[0]:.1f}")
    assert env.reset(seed=1)[0].endswith("at 0.0")  # type: ignore[union-attr]
    assert env.step(Action("X")).observation == "Say L or R. Reply with one action."
    assert env.step(Action("L")).reward == 1.0
    env.close()


def test_unknown_ids_name_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"cannot make 'FrozenLak-v1'.*Did you mean: `FrozenLake`"):
        FromGymnasium("FrozenLak-v1")


@pytest.mark.parametrize(
    ("space", "text", "action"),
    [
        (spaces.Discrete(3, start=1), "Let me take 3, not 2.", 3),
        (spaces.Discrete(3, start=-1), "-1", -1),
        (spaces.MultiDiscrete([3, 4]), "2 and 3", [2, 3]),
        (spaces.MultiBinary(2), "1, 0", [1, 0]),
        (spaces.Box(-2, 2, (2,), np.float32), "-1.5 0.25", [-1.5, 0.25]),
        (spaces.Text(5), "abc", "abc"),
    ],
)
def test_replies_are_read_by_the_space(space: Any, text: str, action: Any) -> None:
    got = ActionParser(space, (), None).read(text)
    assert np.array_equal(got, action)
    assert space.contains(got)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiBinary(2),
        spaces.Box(-2, 2, (2,), np.float32),
    ],
)
@given(text=st.text() | st.text(alphabet="0123456789.-eE ,"))
def test_any_reply_is_an_allowed_action_or_refused_in_words(space: Any, text: str) -> None:
    complaint = "none"
    try:
        assert space.contains(ActionParser(space, (), None).read(text))
    except ValueError as error:
        complaint = str(error)
    assert 0 < len(complaint) < 500


def test_spaces_that_text_cannot_name_ask_for_a_parser() -> None:
    with pytest.raises(ValueError, match=r"cannot be read from text; give parse=function\(text\)"):
        ActionParser(spaces.Dict({"a": spaces.Discrete(2)}), (), None)
    with pytest.raises(ValueError, match="do not name the actions of"):
        ActionParser(spaces.Discrete(3), ("left", "right"), None)


def test_colours_of_a_terminal_become_brackets() -> None:
    assert rendered("\x1b[41mS\x1b[0mFF\x1b[2K\n") == "[S]FF"
    assert rendered(np.array([0.123456, 1.0], dtype=np.float32)) == "[0.1235, 1.0]"


def test_an_info_may_be_ragged_and_loses_only_what_is_large():
    info = {"ragged": [[1], [1, 2]], "large": [[0] * 50, [0] * 50], "array": np.zeros(100), "is_success": 1}
    assert plain_info(info) == {"ragged": [[1], [1, 2]], "is_success": 1, "success": True}
