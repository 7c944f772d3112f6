import asyncio
import runpy
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent import Action, Step, ToolEnv, tool
from grpo_agent.envs.core import ToolCall
from grpo_agent.envs.errors import ToolUnavailable
from grpo_agent.envs.testing import CounterEnv, play, tool_action
from grpo_agent.envs.text import truncate
from grpo_agent.envs.tool import ToolResult
from grpo_agent.sandboxes.errors import FileAccessError, SandboxLost

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


FAULTS: dict[str, BaseException] = {
    "value": ValueError("no such town"),
    "exit": SystemExit(1),
    "file": FileAccessError("no x.txt"),
    "lost": SandboxLost("gone"),
    "server": ToolUnavailable("search server is down"),
}


class DeskEnv(ToolEnv):
    """Many tools of many kinds."""

    max_output_chars = 200

    def __init__(self) -> None:  # on purpose without super().__init__()
        self.notes: list[str] = []

    @tool
    def note(self, text: str) -> int:
        """Keep a note.

        Args:
            text: What to keep.
        """
        self.notes.append(text)
        return len(self.notes)

    @tool
    async def wait(self, seconds: float) -> float:
        """Wait.

        Args:
            seconds: How long.
        """
        await asyncio.sleep(seconds)
        return seconds

    @tool(timeout_s=0.1)
    @staticmethod
    def block(seconds: float) -> float:
        """Block a thread.

        Args:
            seconds: How long.
        """
        time.sleep(seconds)
        return seconds

    @tool
    def say(self, value: Any) -> Any:
        """Give a value back.

        Args:
            value: Which.
        """
        return value

    @tool
    def fail(self, kind: str) -> NoReturn:
        """Raise.

        Args:
            kind: What to raise.
        """
        raise FAULTS[kind]

    @tool(ends_episode=True)
    def submit(self, score: float) -> ToolResult:
        """End the episode.

        Args:
            score: The reward.
        """
        return ToolResult("Submitted.", reward=score, info={"success": score > 0})


def step(env: ToolEnv, *calls: tuple[str, dict[str, Any]], text: str = "") -> Step:
    return asyncio.run(env.step(tool_action(*calls, text=text)))


def contents(result: Step) -> list[str]:
    assert isinstance(result.observation, list)
    return [message["content"] for message in result.observation]


def test_results_come_in_call_order_with_ids_and_names() -> None:
    result = step(DeskEnv(), ("wait", {"seconds": 0.05}), ("note", {"text": "a"}), ("wait", {"seconds": 0}))
    assert result.observation == [
        {"role": "tool", "tool_call_id": "call-0", "name": "wait", "content": "0.05"},
        {"role": "tool", "tool_call_id": "call-1", "name": "note", "content": "1"},
        {"role": "tool", "tool_call_id": "call-2", "name": "wait", "content": "0.0"},
    ]


@pytest.mark.parametrize("name", ["wait", "block"])
def test_calls_of_one_turn_run_side_by_side(name: str) -> None:
    began = time.monotonic()
    step(DeskEnv(), *[(name, {"seconds": 0.05})] * 20)
    assert time.monotonic() - began < 0.5


def test_many_episodes_with_sync_tools_overlap() -> None:
    async def main() -> float:
        began = time.monotonic()
        await asyncio.gather(*(DeskEnv().step(tool_action(("block", {"seconds": 0.05}))) for _ in range(64)))
        return time.monotonic() - began

    assert asyncio.run(main()) < 1.0  # one after another would be 3.2 s


def test_state_lasts_over_turns() -> None:
    _, steps = asyncio.run(play(CounterEnv(goal=3), [tool_action(("increment", {}))] * 5))
    assert [contents(s) for s in steps] == [["1"], ["2"], ["3"]]
    assert steps[-1].terminated
    assert steps[-1].reward == 1.0
    assert steps[-1].info["success"] is True


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("nite", {"text": "a"}), "Error: there is no tool 'nite' (did you mean 'note'?). Tools: note, wait"),
        (("note", {}), "argument 'text' is missing. Usage: note(text: string)"),
        (("note", {"txt": "a"}), "'txt' is unknown (did you mean 'text'?)"),
        (("wait", {"seconds": "long"}), "argument 'seconds': Input should be a valid number"),
        (("fail", {"kind": "value"}), "Error: ValueError: no such town"),
        (("fail", {"kind": "exit"}), "Error: RuntimeError: raised SystemExit(1)"),
        (("fail", {"kind": "file"}), "Error: FileAccessError: no x.txt"),
        (("block", {"seconds": 0.5}), "Error: block did not finish within 0.1 s; its result is discarded."),
    ],
)
def test_what_the_agent_did_wrong_is_an_observation(call: tuple[str, dict[str, Any]], said: str) -> None:
    result = step(DeskEnv(), call)
    assert said in contents(result)[0]
    assert (result.reward, result.terminated) == (0.0, False)


def test_malformed_calls_are_told_what_is_wrong() -> None:
    calls = (ToolCall("1", "note", None, "{", "unclosed brace"), ToolCall("2", "", None, "{", "no name"))
    result = asyncio.run(DeskEnv().step(Action("", calls)))
    assert "could not be read: unclosed brace. Give the arguments as one JSON object." in contents(result)[0]
    assert "could not be read: no name. Tools: note" in contents(result)[1]


@pytest.mark.parametrize("kind", ["lost", "server"])
def test_faults_of_infrastructure_are_raised(kind: str) -> None:
    began = time.monotonic()
    with pytest.raises(type(FAULTS[kind]), match=str(FAULTS[kind])):
        step(DeskEnv(), ("wait", {"seconds": 5}), ("fail", {"kind": kind}))
    assert time.monotonic() - began < 2  # the other call was cancelled


def test_a_late_result_of_an_abandoned_call_is_discarded() -> None:
    env = DeskEnv()

    async def main() -> Step:
        await env.step(tool_action(("block", {"seconds": 0.2})))
        await asyncio.sleep(0.2)
        return await env.step(tool_action(("note", {"text": "a"})))

    assert contents(asyncio.run(main())) == ["1"]


def test_timeout_of_the_task_applies_to_tools_without_their_own() -> None:
    env = DeskEnv()
    env.reset(options={"tool_timeout_s": 0.05})
    result = step(env, ("wait", {"seconds": 5}), ("block", {"seconds": 0.07}))
    assert contents(result) == ["Error: wait did not finish within 0.05 s; its result is discarded.", "0.07"]


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        (None, "(no output)"),
        ({"a": [1, None, "ä"]}, '{"a": [1, null, "ä"]}'),
        (float("inf"), "Infinity"),
        ([{"type": "text", "text": "x" * 500}], None),
    ],
)
def test_results_are_text_json_or_content_blocks(value: Any, content: str | None) -> None:
    got = contents(asyncio.run(ToolEnv([give(value)]).step(tool_action(("give", {})))))[0]
    assert got == content if content is not None else got[0]["text"].count("x") < 4000


def give(value: Any) -> Any:
    def give() -> Any:
        """Give."""
        return value

    return give


def test_long_output_keeps_head_and_tail_with_a_notice() -> None:
    got = contents(step(DeskEnv(), ("say", {"value": "a" * 500 + "z" * 500})))[0]
    assert len(got) <= 200
    assert got.startswith("aaa")
    assert got.endswith("zzz")
    assert "characters left out" in got


@given(st.text(max_size=400), st.integers(100, 300))
def test_truncation_keeps_within_bounds_and_counts_right(text: str, limit: int) -> None:
    cut = truncate(text, limit)
    assert len(cut) <= limit
    if cut != text:
        head, rest = cut.split("\n[... ", 1)
        left_out, tail = rest.split(" characters left out ...]\n", 1)
        assert len(head) + int(left_out) + len(tail) == len(text)


def test_a_tool_gives_reward_and_ends_the_episode() -> None:
    result = step(DeskEnv(), ("note", {"text": "a"}), ("submit", {"score": 0.5}))
    assert (result.reward, result.terminated, result.info["success"]) == (0.5, True, True)
    assert contents(result) == ["1", "Submitted."]


def test_a_reward_of_none_leaves_the_step_unscored() -> None:
    def judge() -> ToolResult:
        """Judge."""
        return ToolResult("The judge is out.", reward=None)

    assert step(ToolEnv([judge]), ("judge", {})).reward is None


def test_calls_are_counted_by_outcome_over_the_episode() -> None:
    env = DeskEnv()
    step(env, ("note", {"text": "a"}), ("nope", {}))
    result = step(env, ("fail", {"kind": "value"}), ("block", {"seconds": 0.3}))
    assert result.info["metrics"] == {
        "tool_calls": 4.0,
        "tool_malformed": 1.0,
        "tool_error": 1.0,
        "tool_timeout": 1.0,
    }


def test_text_without_calls_is_asked_to_call() -> None:
    result = step(CounterEnv(), text="hello")
    assert result == Step(
        "Your reply called no tool. Call one of the tools: increment.", 0.0, False, False, {}
    )


def test_text_may_end_the_episode() -> None:
    class Ends(CounterEnv):
        text_ends_episode = True

    assert step(Ends(), text="bye").terminated


def test_on_text_may_be_overridden_sync_or_async() -> None:
    class Sync(CounterEnv):
        def on_text(self, action: Action) -> Step:
            return Step(
                action.text, float(threading.current_thread() is not threading.main_thread()), True, False, {}
            )

    class Async(CounterEnv):
        async def on_text(self, action: Action) -> Step:
            return Step(action.text, 1.0, True, False, {})

    for cls in (Sync, Async):
        assert step(cls(), text="x") == Step("x", 1.0, True, False, {})


def test_offered_tools_are_the_only_ones_seen_and_callable() -> None:
    env = DeskEnv()
    env.offer_tools(["note"])
    assert [schema["function"]["name"] for schema in env.tools] == ["note"]
    assert "there is no tool 'wait'" in contents(step(env, ("wait", {"seconds": 0})))[0]
    env.offer_tools(None)
    assert len(env.tools) == 6


def test_offering_an_unknown_tool_is_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown tool 'nite' \(did you mean 'note'\?\)"):
        DeskEnv().offer_tools(["nite"])


def test_overriding_a_tool_without_the_mark_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Quiet\.increment overrides a tool without being one; add @tool"):

        class Quiet(CounterEnv):
            async def increment(self, by: int = 1) -> ToolResult:
                return ToolResult(by)


def test_a_tool_is_taken_away_by_none() -> None:
    class Without(CounterEnv):
        increment = None  # type: ignore[assignment]

    assert Without().tools == []


def test_tools_are_given_by_path_too() -> None:
    env = ToolEnv([f"{EXAMPLES}/custom_tool.py:price"])
    assert contents(step(env, ("price", {"item": "bread"}))) == ["2.25"]


def test_a_schema_is_the_callers_own_copy() -> None:
    env = CounterEnv()
    env.tools[0]["function"]["parameters"].clear()
    assert CounterEnv().tools[0]["function"]["parameters"]["type"] == "object"


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are called 'give'"):
        ToolEnv([give(1), give(2)])


def test_prompt_of_the_task_is_the_first_observation() -> None:
    first, _ = asyncio.run(play(ToolEnv([give(1)]), [], task={"prompt": "Give."}))
    assert first == "Give."


@given(
    st.lists(
        st.builds(
            ToolCall,
            id=st.text(),
            name=st.sampled_from(["increment", "incremet", ""]) | st.text(),
            arguments=st.none()
            | st.dictionaries(
                st.sampled_from(["by", "x"]), st.none() | st.text() | st.integers() | st.floats()
            ),
            error=st.none() | st.text(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_n_calls_of_any_kind_give_n_answers_in_order(calls: list[ToolCall]) -> None:
    result = asyncio.run(CounterEnv().step(Action("", tuple(calls))))
    assert isinstance(result.observation, list)
    assert [m["tool_call_id"] for m in result.observation] == [call.id for call in calls]
    assert all(isinstance(m["content"], str) for m in result.observation)


def test_the_example_shows_schema_result_and_complaint(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "custom_tool.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert "call-0 price: 1.5" in shown
    assert "did you mean 'item'?" in shown
