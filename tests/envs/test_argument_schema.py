from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent import tool
from grpo_agent.envs.tool import as_tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: float = 0.0


@dataclass
class Tree:
    value: int
    children: list[Tree]


class Query(pydantic.BaseModel):
    words: list[str]


def properties(function: Any) -> dict[str, Any]:
    return as_tool(function).schema["function"]["parameters"]["properties"]


def validate(function: Any, **arguments: Any) -> dict[str, Any]:
    return as_tool(function).spec.arguments.validate(arguments)


def draw(
    points: list[Point],
    color: Color,
    style: Literal["line", "dots"] = "line",
    width: int | None = None,
    label: str | int = "",
    note: Annotated[str, "A remark."] = "",
) -> None:
    """Draw a shape.

    Args:
        points: Corners.
        color: Of the line.
        style: How.
        width: In pixels.
        label: Text or number.
    """


def test_types_become_a_flat_schema() -> None:
    assert properties(draw) == {
        "points": {
            "type": "array",
            "description": "Corners.",
            "items": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "number", "default": 0.0}},
                "required": ["x"],
            },
        },
        "color": {"type": "string", "description": "Of the line.", "enum": ["red", "blue"]},
        "style": {"type": "string", "description": "How.", "enum": ["line", "dots"], "default": "line"},
        "width": {"type": "integer", "description": "In pixels.", "nullable": True},
        "label": {"type": ["string", "integer"], "description": "Text or number.", "default": ""},
        "note": {"type": "string", "description": "A remark.", "default": ""},
    }
    assert as_tool(draw).schema["function"]["parameters"]["required"] == ["points", "color"]


def test_a_type_that_contains_itself_has_a_finite_schema() -> None:
    def grow(tree: Tree) -> None:
        """Grow.

        Args:
            tree: A tree.
        """

    assert properties(grow)["tree"]["properties"]["children"]["items"] == {"type": "object"}
    arguments = validate(grow, tree={"value": 1, "children": [{"value": "2", "children": []}]})
    assert arguments["tree"] == Tree(1, [Tree(2, [])])


def test_arguments_are_coerced_to_the_annotated_types() -> None:
    arguments = validate(draw, points=[{"x": "1"}], color="blue", width="3", note=5)
    assert arguments == {"points": [Point(1)], "color": Color.BLUE, "width": 3, "note": "5"}


def test_json_written_as_text_is_read_where_a_list_or_object_is_wanted() -> None:
    assert validate(draw, points='[{"x": 1}]', color="red")["points"] == [Point(1)]


def test_pydantic_models_are_arguments() -> None:
    def find(query: Query) -> None:
        """Find.

        Args:
            query: What.
        """

    assert validate(find, query={"words": ["a"]})["query"] == Query(words=["a"])


def test_local_types_resolve_under_postponed_annotations() -> None:
    class Local(Enum):
        A = "a"

    @tool
    def pick(choice: Local) -> None:
        """Pick.

        Args:
            choice: Which.
        """

    assert validate(pick, choice="a")["choice"] is Local.A


def test_arguments_bound_by_partial_are_not_offered() -> None:
    assert list(properties(functools.partial(draw, color=Color.RED))) == [
        "points",
        "style",
        "width",
        "label",
        "note",
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"color": "red"}, "argument 'points' is missing"),
        ({"points": [], "color": "red", "colour": 1}, r"'colour' is unknown \(did you mean 'color'\?\)"),
        ({"points": [], "color": "red", "zzz": 1}, "'zzz' is unknown; the arguments are: points, color"),
        ({"points": [], "color": "green"}, r"'color': Input should be 'red' or 'blue' \(got 'green'\)"),
        ({"points": [{"x": "a"}], "color": "red"}, r"'points.0.x': .*integer.* \(got 'a'\)"),
        ({"points": [], "color": 10**5000}, "int too large to show"),
        ({"points": [{"x": 1, "y": float("nan")}], "color": "red"}, "finite number"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        validate(draw, **arguments)


@given(st.dictionaries(st.sampled_from(["points", "color", "style", "width", "label", "other"]), JSON))
def test_any_json_is_accepted_or_refused_in_words(arguments: dict[str, Any]) -> None:
    try:
        validate(draw, **arguments)
    except ValueError as error:
        complaint = str(error)
    else:
        complaint = "none"
    assert 0 < len(complaint) < 3000


def test_usage_shows_names_types_and_defaults() -> None:
    assert as_tool(draw).usage == (
        'draw(points: array of object, color: "red" | "blue", style: "line" | "dots" = "line", '
        'width: integer | null (optional), label: string | integer = "", note: string = "")'
    )


def no_annotation(query) -> None:  # type: ignore[no-untyped-def]
    """Find.

    Args:
        query: What.
    """


def no_argument_doc(query: str) -> None:
    """Find."""


def wrong_argument_doc(query: str) -> None:
    """Find.

    Args:
        query: What.
        querry: What.
    """


def no_doc(query: str) -> None: ...


def starred(*query: str) -> None:
    """Find.

    Args:
        query: What.
    """


def unresolvable(query: Nowhere) -> None:  # type: ignore[name-defined] # noqa: F821
    """Find.

    Args:
        query: What.
    """


def unserializable(query: pytest.Config) -> None:
    """Find.

    Args:
        query: What.
    """


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            no_annotation,
            TypeError,
            "'no_annotation'.*argument 'query' has no type annotation.*`query: str`",
        ),
        (no_argument_doc, ValueError, "tool 'no_argument_doc'.*argument 'query' is not described.*Args:"),
        (wrong_argument_doc, ValueError, r"describes 'querry'.*did you mean 'query'\?"),
        (no_doc, ValueError, "tool 'no_doc'.*has no description"),
        (starred, TypeError, r"argument '\*query' cannot be given by name"),
        (unresolvable, TypeError, "'Nowhere' of argument 'query' cannot be resolved"),
        (unserializable, TypeError, "cannot be written as a JSON schema"),
    ],
)
def test_wrong_definition_names_function_argument_and_fix(
    function: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=rf"(?s){message}"):
        tool(function)
