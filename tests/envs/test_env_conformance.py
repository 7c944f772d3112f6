from collections.abc import Callable, Sequence
from typing import Any

import pytest

from grpo_agent import Action, Env
from grpo_agent.envs.core import Observation, Task
from grpo_agent.envs.testing import CounterEnv, EchoEnv, GuessEnv, check_env, tool_action


@pytest.mark.parametrize("factory", [EchoEnv, GuessEnv, CounterEnv, lambda: CounterEnv(goal=1)])
def test_shipped_environments_keep_the_contract(factory: Callable[[], Env]) -> None:
    check_env(factory, [Action("3"), tool_action(("increment", {}), ("nope", {})), Action("stop")])


class Bad(EchoEnv):
    """Each test breaks one rule of it."""

    reply: Any = ("hi", 0.0, False, False, {})
    first: Any = ("hello", {})
    rows: Any = None
    schemas: Any = ()

    def tasks(self, split: str) -> Sequence[Task] | None:
        return self.rows  # type: ignore[no-any-return]

    @property
    def tools(self) -> Any:
        return self.schemas

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.first

    def step(self, action: Action) -> Any:
        return self.reply


def schema(**function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "a", "description": "b", **function}}


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"first": "hello"}, r"reset must return \(observation, info\)"),
        ({"first": ("hello", None)}, "the info of reset must be a dict"),
        ({"first": (["hello"], {})}, "reset: an observation is text or a list of chat messages"),
        ({"reply": ("hi", 0.0, False, {})}, r"step must return \(observation, reward"),
        ({"reply": ("hi", float("nan"), False, False, {})}, "reward must be a finite number or None"),
        ({"reply": ("hi", True, False, False, {})}, "reward must be a finite number or None, got True"),
        ({"reply": ("hi", 0.0, 1, False, {})}, "terminated must be a bool"),
        ({"reply": ("hi", 0.0, False, False, None)}, "info must be a dict"),
        ({"reply": ("hi", 0.0, True, False, {"success": 1})}, r"info\['success'\] must be a bool"),
        (
            {"reply": ([{"role": "tool", "content": ""}], 0.0, True, False, {})},
            "every tool call must be",
        ),
        ({"rows": []}, "tasks must not be empty"),
        ({"rows": [{"x": {1}}]}, "task row 0 must be JSON-able"),
        ({"rows": [{"task_id": "a"}, {"task_id": "a"}]}, "task_id must be unique"),
        ({"rows": [{"task_id": 1}]}, "task_id of row 0 must be text"),
        ({"schemas": [{"name": "a"}]}, "a tool schema must hold function.name"),
        ({"schemas": [schema(description="")]}, "tool 'a' must have a description"),
        ({"schemas": [schema()]}, "parameters of tool 'a' must be an object schema"),
        ({"schemas": [schema(parameters={"type": "object"})] * 2}, "tool names must differ"),
    ],
)
def test_each_broken_rule_is_named(broken: dict[str, Any], rule: str) -> None:
    cls = type("Broken", (Bad,), broken)
    with pytest.raises(AssertionError, match=rule):
        check_env(cls)


def test_an_environment_that_does_not_repeat_is_found() -> None:
    count = iter(range(100))

    class Drifting(EchoEnv):
        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Observation, Any]:
            return f"episode {next(count)}", {}

    with pytest.raises(AssertionError, match="observation of reset must repeat with equal seed and task"):
        check_env(Drifting)


def test_a_close_that_needs_a_reset_is_found() -> None:
    class Fragile(EchoEnv):
        def close(self) -> None:
            del self.handle

    with pytest.raises(AttributeError, match="handle"):
        check_env(Fragile)
