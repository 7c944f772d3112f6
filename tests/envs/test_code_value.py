import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.envs.code.comparison import is_equal
from grpo_agent.envs.code.value import MAX_DEPTH, MAX_ITEMS, decode, encode, untag

HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)
PLAIN = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(HASHABLE, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
    ),
    max_leaves=15,
)


@given(PLAIN)
def test_plain_data_survives_the_round_trip_and_equals_itself(value):
    back = decode(json.dumps(encode(value)))
    assert is_equal(back, value)
    assert type(back) is type(value)


@given(st.text(max_size=60) | st.text(alphabet='{}[]"$:,tuplesdic01 ', max_size=60))
def test_hostile_text_is_a_value_error_at_worst(text):
    with contextlib.suppress(ValueError):
        decode(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2",
        '{"a": 1}',
        '{"$set": [[1]]}',
        '{"$set": [1, 1]}',
        '{"$set": [1, true]}',
        '{"$dict": [[1, 2], [1, 3]]}',
        '{"$dict": [[1, 2, 3]]}',
        '{"$dict": [1]}',
        '{"$tuple": [], "$tuple": []}',
        '{"$object": []}',
        '{"$tuple": {}}',
        "9" * 5000,
        "[" * 100_000,
        "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2),
        f"[{'0,' * MAX_ITEMS}0]",
    ],
    ids=lambda text: text[:20],
)
def test_what_encode_does_not_write_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        decode(text)


def test_whatever_can_be_read_can_be_sent_on():
    deepest = 0
    for _ in range(MAX_DEPTH):
        deepest = {0: deepest}
    for value in (deepest, [0] * (MAX_ITEMS - 1), dict.fromkeys(range((MAX_ITEMS - 1) // 2), 1)):
        assert encode(decode(json.dumps(encode(value)))) == encode(value)


def test_members_of_sets_and_dicts_together_are_bounded_for_a_hostile_sender():
    tagged = [{"$set": [1, 2]}, {"$dict": [[1, 2], [2, 3]]}]
    assert untag(tagged, max_members=4) == [{1, 2}, {1: 2, 2: 3}]
    with pytest.raises(ValueError, match="too many members"):
        untag(tagged, max_members=3)


class Number(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    "value", [Number(1), (i for i in [1]), range(3), b"x", object(), [Number(1)], {1: map}]
)
def test_subclasses_lazy_objects_and_other_types_are_not_plain(value):
    with pytest.raises(TypeError, match="is not plain data"):
        encode(value)


def test_endless_and_exploding_values_are_refused():
    endless: list = []
    endless.append(endless)
    exploding: list = []
    for _ in range(50):
        exploding = [exploding, exploding]
    for value in (endless, exploding):
        with pytest.raises(ValueError, match="too deeply or too large"):
            encode(value)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (True, 1),
        (1, True),
        (0, False),
        (1.0, 1),
        ((1, 2), [1, 2]),
        ([1, 2], (1, 2)),
        ([1], [1, 2]),
        ([1, 2], [1]),
        (math.nan, math.nan),
        ([math.nan], [math.nan]),
        ({True}, {1}),
        ({1.0}, {1}),
        ({True: 2}, {1: 2}),
        ({(True,)}, {(1,)}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": True}, {"a": 1}),
        (None, 0),
        ("", None),
        (True, 1.0),
        ("1.0", 1.0),
        (10**400, 1.0),
        (math.inf, 1e308),
        (-math.inf, math.inf),
    ],
)
def test_values_of_another_type_or_content_differ(got, expected):
    assert not is_equal(got, expected, tolerance=1e-6)


@pytest.mark.parametrize(
    ("got", "expected"),
    [(3, 3.0), (0.1 + 0.2, 0.3), ([1, 2.0], [1, 2.0]), (math.inf, math.inf), ({"a": {1}}, {"a": {1}})],
)
def test_floats_match_within_the_tolerance_and_an_int_of_the_same_value(got, expected):
    assert is_equal(got, expected, tolerance=1e-6)


def test_without_tolerance_floats_match_exactly():
    assert not is_equal(0.1 + 0.2, 0.3)


def test_rows_may_hold_bare_objects_and_tags():
    assert untag({"a": {"$tuple": [1, {"$set": [2]}]}, "$set": 3}) == {"a": (1, {2}), "$set": 3}
