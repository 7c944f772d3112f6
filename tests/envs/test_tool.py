import functools
from typing import Any

import pytest

from grpo_agent import tool
from grpo_agent.envs.tool import as_tool


@tool(name="plus", timeout_s=2, max_output_chars=200, ends_episode=True)
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


class Memory:
    """Remembers words."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, word: str) -> int:
        """Keep a word.

        Args:
            word: What to keep.
        """
        self.words.append(word)
        return len(self.words)

    def recall(self, index: int) -> str:
        """Tell a word.

        Args:
            index: Which one.
        """
        return self.words[index]


class NamedSearch:
    """Searches."""

    @tool(name="search", timeout_s=7)
    def __call__(self, query: str) -> str:
        """Search.

        Args:
            query: What for.
        """
        return query


def test_a_marked_function_stays_a_function() -> None:
    assert add(2, b=3) == 5


def test_options_are_kept() -> None:
    spec = as_tool(add).spec
    assert (spec.name, spec.timeout_s, spec.max_output_chars, spec.ends_episode) == ("plus", 2, 200, True)


def test_schema_is_what_chat_templates_take() -> None:
    assert as_tool(add).schema == {
        "type": "function",
        "function": {
            "name": "plus",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "The first."},
                    "b": {"type": "integer", "description": "The second.", "default": 1},
                },
                "required": ["a"],
            },
        },
    }


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (Memory(), "memory"),
        (Memory().recall, "recall"),
        (NamedSearch(), "search"),
        (functools.partial(add, b=2), "add"),
        (as_tool(add), "plus"),
    ],
)
def test_callables_of_all_kinds_are_tools(source: Any, name: str) -> None:
    made = as_tool(source)
    assert made.name == name
    assert "self" not in made.schema["function"]["parameters"]["properties"]


def test_callable_with_state_keeps_it() -> None:
    memory = Memory()
    made = as_tool(memory)
    assert [made.function(word="a"), made.function(word="b")] == [1, 2]


def generator(n: int) -> Any:
    """Count.

    Args:
        n: How far.
    """
    yield n


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Memory, "Memory is a class; give an instance"),
        (3, "3 is not a tool"),
        (generator, "is a generator; return the whole result"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(source: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        as_tool(source)


def test_only_functions_can_be_marked() -> None:
    with pytest.raises(TypeError, match="@tool marks functions and methods"):
        tool(Memory())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_s": 0}, "timeout_s is 0; it must be positive"),
        ({"max_output_chars": 5}, "max_output_chars is 5; it must be at least 100"),
        ({"name": "my tool"}, "tool name 'my tool' is not usable"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tool(**options)
