"""One-line functions from a list to a single value."""

from __future__ import annotations

from random import Random

from ..core import NUMBERS, WORDS, Arguments, Family, Parameters
from ..sampler import choice, integer, integers, list_of, mixture, words

_EXTREMES = [[5], [-3], [0, 0], [-1, -2, -3], [4, 9, 2]]


def _around(rng: Random, p: Parameters) -> Arguments:
    """Numbers about the threshold `k`, which itself is among them now and then."""
    return [[p["k"] + rng.randint(-3, 3) for _ in range(rng.randint(1, 8))]]


def _maybe_sorted(rng: Random, _: Parameters) -> Arguments:
    drawn = integers(-9, 9, 2, 6)(rng)
    return [sorted(drawn) if rng.random() < 0.5 else drawn]


FAMILIES = (
    Family(
        name="sum_list",
        level=1,
        topic="lists",
        entry_points=("total", "add_all", "sum_up"),
        signatures=NUMBERS,
        wordings=(
            "Return the sum of the numbers in $xs, or 0 if it is empty.",
            "Add up all numbers of the list $xs and return the total (0 for an empty list).",
            "Return the total of the list $xs; an empty list gives 0.",
        ),
        solution="return sum($xs)",
        inputs=[integers()],
        edges=[[[]], [[5]], [[-5, 5]], [[-1, -2]], [[2, 2, 2]]],
    ),
    Family(
        name="largest",
        level=1,
        topic="lists",
        entry_points=("largest", "highest", "top"),
        signatures=NUMBERS,
        wordings=(
            "Return the largest number in the non-empty list $xs.",
            "Return the maximum of the list $xs, which has at least one number.",
            "Return the highest value in $xs, a list that is not empty.",
        ),
        solution="return max($xs)",
        inputs=[integers()],
        edges=[[xs] for xs in _EXTREMES],
    ),
    Family(
        name="smallest",
        level=1,
        topic="lists",
        entry_points=("smallest", "lowest", "bottom"),
        signatures=NUMBERS,
        wordings=(
            "Return the smallest number in the non-empty list $xs.",
            "Return the minimum of the list $xs, which has at least one number.",
            "Return the lowest value in $xs, a list that is not empty.",
        ),
        solution="return min($xs)",
        inputs=[integers()],
        edges=[[xs] for xs in _EXTREMES],
    ),
    Family(
        name="spread",
        level=1,
        topic="lists",
        entry_points=("spread", "span", "value_range"),
        signatures=NUMBERS,
        wordings=(
            "Return the largest minus the smallest number of the non-empty list $xs.",
            "Return the difference between the maximum and the minimum of the non-empty list $xs.",
            "Return how far the highest value of the non-empty list $xs is above the lowest.",
        ),
        solution="return max($xs) - min($xs)",
        inputs=[integers()],
        edges=[[xs] for xs in _EXTREMES],
    ),
    Family(
        name="average",
        level=1,
        topic="lists",
        entry_points=("average", "mean", "typical"),
        signatures=NUMBERS,
        wordings=(
            "Return the average of the non-empty list $xs as a float.",
            "Return the sum of the non-empty list $xs divided by its length, as a float.",
            "Return the arithmetic mean of $xs, a list that is not empty, as a float.",
        ),
        solution="return sum($xs) / len($xs)",
        inputs=[integers()],
        edges=[[[5]], [[1, 2]], [[-3, 3]], [[0, 0, 1, 1]], [[7, 7]]],
    ),
    Family(
        name="sum_of_squares",
        level=1,
        topic="lists",
        entry_points=("sum_of_squares", "energy", "total_squares"),
        signatures=NUMBERS,
        wordings=(
            "Return the sum of the squares of the numbers in $xs (0 for an empty list).",
            "Square each number of the list $xs and return the total, 0 if empty.",
            "Return the total of i * i for all i in the list $xs.",
        ),
        solution="return sum(i * i for i in $xs)",
        inputs=[integers()],
        edges=[[[]], [[0]], [[-1, 1]], [[3, 3]]],
    ),
    Family(
        name="sum_above",
        level=1,
        topic="lists",
        entry_points=("sum_large", "total_above", "sum_above_$k"),
        signatures=NUMBERS,
        wordings=(
            "Return the sum of the numbers in $xs that are greater than $k, or 0 if none.",
            "Add up only the elements of $xs above $k; return 0 when there are none.",
            "Return the total of all numbers in $xs larger than $k (0 if none).",
        ),
        solution="return sum(i for i in $xs if i > $k)",
        parameters={"k": integer(0, 15)},
        inputs=_around,
        edges=lambda p: [[[]], [[p["k"]]], [[p["k"] + 1, p["k"] + 1]], [[-p["k"] - 1, p["k"] + 5]]],
    ),
    Family(
        name="count_value",
        level=1,
        topic="lists",
        entry_points=("count_$k", "how_many", "occurrences"),
        signatures=NUMBERS,
        wordings=(
            "Return how many times $k occurs in the list $xs.",
            "Count the elements of $xs equal to $k and return the count.",
            "Return the number of occurrences of $k in $xs.",
        ),
        solution="return $xs.count($k)",
        parameters={"k": integer(0, 30)},
        inputs=lambda rng, p: [
            [rng.choice((p["k"], p["k"], p["k"] + 1, p["k"] + 2)) for _ in range(rng.randint(1, 8))]
        ],
        edges=lambda p: [[[]], [[p["k"]]], [[p["k"]] * 5], [[-p["k"] - 1, p["k"]]]],
    ),
    Family(
        name="count_even",
        level=1,
        topic="lists",
        entry_points=("count_even", "even_count", "num_even"),
        signatures=NUMBERS,
        wordings=(
            "Return how many numbers in $xs are even.",
            "Count the even elements of the list $xs and return the count.",
            "Return the number of elements of $xs that are divisible by 2.",
        ),
        solution="return sum(i % 2 == 0 for i in $xs)",
        inputs=[integers()],
        edges=[[[]], [[0]], [[1, 3]], [[2, 2, 2]], [[-4, -3]]],
    ),
    Family(
        name="contains_value",
        level=1,
        topic="lists",
        entry_points=("contains", "has_$k", "is_member"),
        signatures=NUMBERS,
        wordings=(
            "Return True if $k is in the list $xs, otherwise False.",
            "Return whether the list $xs contains the number $k.",
            "Return True when some element of $xs equals $k, and False when none does.",
        ),
        solution="return $k in $xs",
        parameters={"k": integer(0, 30)},
        inputs=_around,
        edges=lambda p: [[[]], [[p["k"]]], [[p["k"] + 1]], [[1000, p["k"]]], [[-p["k"] - 1]]],
    ),
    Family(
        name="all_above",
        level=1,
        topic="lists",
        entry_points=("all_above", "check_all", "every_one"),
        signatures=NUMBERS,
        wordings=(
            "Return True if all numbers in $xs are greater than $k (also if empty), else False.",
            "Return whether every element of $xs is above $k; an empty list gives True.",
            "Return False if some number in $xs is at most $k, otherwise True.",
        ),
        solution="return all(i > $k for i in $xs)",
        parameters={"k": integer(0, 20)},
        inputs=lambda rng, p: [[p["k"] + rng.randint(-1, 9) for _ in range(rng.randint(1, 6))]],
        edges=lambda p: [[[]], [[p["k"]]], [[p["k"] + 1]], [[p["k"] + 3, p["k"] + 2]], [[p["k"] + 9, -1]]],
    ),
    Family(
        name="any_negative",
        level=1,
        topic="lists",
        entry_points=("any_negative", "has_negative", "has_debt"),
        signatures=NUMBERS,
        wordings=(
            "Return True if any number in $xs is negative, otherwise False.",
            "Return whether the list $xs contains a number below 0.",
            "Return True when some element of $xs is less than 0, else False.",
        ),
        solution="return any(i < 0 for i in $xs)",
        inputs=[mixture(integers(-9, 20, 2, 6), integers(0, 20))],
        edges=[[[]], [[0]], [[-1]], [[3, 2, -5]], [[1, 2]]],
    ),
    Family(
        name="last_item",
        level=1,
        topic="lists",
        entry_points=("last", "final", "newest"),
        signatures=("xs", "items", "values"),
        wordings=(
            "Return the last element of the non-empty list $xs.",
            "Return the final item of $xs, a list that is not empty.",
            "Return the element at the end of the non-empty list $xs.",
        ),
        solution="return $xs[-1]",
        inputs=[mixture(integers(), words())],
        edges=[[[5]], [[1, 2]], [["b", "a"]], [[0, -7]]],
    ),
    Family(
        name="join_words",
        level=1,
        topic="lists",
        entry_points=("join", "to_text", "combine"),
        signatures=WORDS,
        wordings=(
            "Return the strings in $words joined by '$sep' ('' for an empty list).",
            "Join the list $words into one string with '$sep' in between; [] gives ''.",
            "Return one string: the elements of $words separated by '$sep', '' if none.",
        ),
        solution="return '$sep'.join($words)",
        parameters={"sep": choice(" ", "-", ", ", "/", "_", "+", ";", " and ")},
        inputs=[words()],
        edges=[[[]], [["one"]], [["a", "b"]], [["", "x", "x"]]],
    ),
    Family(
        name="count_distinct",
        level=1,
        topic="lists",
        entry_points=("count_distinct", "num_unique", "variety"),
        signatures=("xs", "items", "values"),
        wordings=(
            "Return the number of different values in the list $xs.",
            "Count the distinct elements of $xs, repeats counted once, and return the count.",
            "Return how many unique values $xs has when duplicates are counted only once.",
        ),
        solution="return len(set($xs))",
        inputs=[mixture(integers(0, 5), list_of(choice("a", "b", "c", "dd")))],
        edges=[[[]], [[5]], [[2, 1, 2]], [[3, 3, 3, 3]], [["b", "a", "b"]], [[1, 2, 2, 1, 1, 3]]],
    ),
    Family(
        name="is_sorted",
        level=1,
        topic="lists",
        entry_points=("is_sorted", "in_order", "is_ascending"),
        signatures=NUMBERS,
        wordings=(
            "Return True if $xs is sorted in ascending order (equal neighbours allowed), else False.",
            "Return whether no element of the list $xs is smaller than the one before it.",
            "Return True exactly when sorting the list $xs would not change it, else False.",
        ),
        solution="return $xs == sorted($xs)",
        inputs=_maybe_sorted,
        edges=[[[]], [[5]], [[1, 1, 2]], [[2, 1]], [[-1, -2, 3]]],
    ),
)
