"""One-line functions on dicts."""

from __future__ import annotations

from random import Random

from ..core import MAPPING, NUMBERS, WORDS, Arguments, Family, Parameters
from ..sampler import choice, integer, integers, mapping, word, words

_COUNTS = mapping(integer(-20, 20))
_EDGES: list[Arguments] = [[{}], [{"a": 5}], [{"b": -1, "a": -2}], [{"x": 0, "y": 0}]]


def _with_key(rng: Random, p: Parameters) -> Arguments:
    table = _COUNTS(rng)
    return [table | {p["key"]: rng.randint(1, 20)} if rng.random() < 0.6 else table]


def _keys_and_values(rng: Random, _: Parameters) -> Arguments:
    table = _COUNTS(rng)
    return [list(table), list(table.values())]


FAMILIES = (
    Family(
        name="get_or_default",
        level=1,
        topic="dicts",
        entry_points=("lookup", "get_$key", "read"),
        signatures=MAPPING,
        wordings=(
            "Return the value of key '$key' in the dict $d, or $k if it is missing.",
            "Look up '$key' in the dict $d; return $k when there is no such key.",
            "Return $d['$key'] if that key exists, otherwise $k.",
        ),
        solution="return $d.get('$key', $k)",
        parameters={"key": choice("age", "size", "count", "price", "id", "year"), "k": integer(0, 30)},
        inputs=_with_key,
        edges=lambda p: [[{}], [{p["key"]: 0}], [{p["key"].upper(): 7}], [{"a": 1, p["key"]: -4}]],
    ),
    Family(
        name="has_key",
        level=1,
        topic="dicts",
        entry_points=("has_$key", "knows", "is_present"),
        signatures=MAPPING,
        wordings=(
            "Return True if the dict $d has the key '$key', otherwise False.",
            "Return whether '$key' is a key of the dict $d.",
            "Return True when '$key' is among the keys of $d, and False when not.",
        ),
        solution="return '$key' in $d",
        parameters={"key": choice("age", "size", "count", "price", "id", "year")},
        inputs=_with_key,
        edges=lambda p: [[{}], [{p["key"]: 0}], [{p["key"].upper(): 7}], [{"a": 1, p["key"]: -4}]],
    ),
    Family(
        name="without_key",
        level=1,
        topic="dicts",
        entry_points=("without_$key", "drop_key", "remove_entry"),
        signatures=MAPPING,
        wordings=(
            "Return a dict of all entries of $d except the one with key '$key', if any.",
            "Return a copy of the dict $d without the key '$key', which may be missing.",
            "Remove the key '$key', if present, from the dict $d and return the dict.",
        ),
        solution="return {i: v for i, v in $d.items() if i != '$key'}",
        parameters={"key": choice("age", "size", "count", "price", "id", "year")},
        inputs=_with_key,
        edges=lambda p: [[{}], [{p["key"]: 0}], [{p["key"].upper(): 7}], [{"a": 1, p["key"]: -4}]],
    ),
    Family(
        name="sum_values",
        level=1,
        topic="dicts",
        entry_points=("total", "sum_values", "add_up"),
        signatures=MAPPING,
        wordings=(
            "Return the sum of the values of the dict $d, 0 if it is empty.",
            "Add up all values of the dict $d and return the total (0 if empty).",
            "Return the total of the numbers stored in the dict $d; {} gives 0.",
        ),
        solution="return sum($d.values())",
        inputs=[_COUNTS],
        edges=_EDGES,
    ),
    Family(
        name="largest_value",
        level=1,
        topic="dicts",
        entry_points=("highest", "best_score", "top_value"),
        signatures=MAPPING,
        wordings=(
            "Return the largest value in the non-empty dict $d.",
            "Return the maximum of the values of $d, a dict that is not empty.",
            "Return the highest number stored as a value in the non-empty dict $d.",
        ),
        solution="return max($d.values())",
        inputs=[_COUNTS],
        edges=_EDGES[1:],
    ),
    Family(
        name="keys_with_value",
        level=1,
        topic="dicts",
        entry_points=("keys_with_$k", "find_keys", "holders"),
        signatures=MAPPING,
        wordings=(
            "Return the alphabetically sorted list of keys of $d whose value equals $k.",
            "Return a sorted list of those keys of the dict $d that map to $k.",
            "List the keys of the dict $d with value $k, sort the list and return it.",
        ),
        solution="return sorted(i for i in $d if $d[i] == $k)",
        parameters={"k": integer(0, 9)},
        inputs=lambda rng, p: [mapping(choice(p["k"], p["k"] + 1), 1, 6)(rng)],
        edges=lambda p: [[{}], [{"a": p["k"]}], [{"b": p["k"], "a": p["k"]}], [{"z": p["k"] + 1, "m": -1}]],
    ),
    Family(
        name="sorted_values",
        level=1,
        topic="dicts",
        entry_points=("sorted_values", "value_list", "amounts"),
        signatures=MAPPING,
        wordings=(
            "Return the list of values of the dict $d, smallest first.",
            "Return the values of the dict $d as a list sorted in ascending order.",
            "Sort the values of the dict $d from low to high and return the list.",
        ),
        solution="return sorted($d.values())",
        inputs=[_COUNTS],
        edges=[[{}], [{"a": 5}], [{"b": 2, "a": 1}], [{"z": 3, "m": 3, "b": -1}]],
    ),
    Family(
        name="multiply_values",
        level=1,
        topic="dicts",
        entry_points=("scale_values", "multiply_values", "times_$k"),
        signatures=MAPPING,
        wordings=(
            "Return a dict with the keys of $d and each value multiplied by $k.",
            "Multiply every value of the dict $d by $k and return the new dict.",
            "Return the dict $d with $k times each value; keys stay the same.",
        ),
        solution="return {i: v * $k for i, v in $d.items()}",
        parameters={"k": integer(2, 12)},
        inputs=[_COUNTS],
        edges=_EDGES,
    ),
    Family(
        name="keep_entries_above",
        level=1,
        topic="dicts",
        entry_points=("keep_large", "filter_dict", "above_$k"),
        signatures=MAPPING,
        wordings=(
            "Return a dict of the entries of $d whose value is greater than $k.",
            "Keep only the entries of the dict $d with a value above $k; return the dict.",
            "Return the dict $d without the entries whose value is $k or less.",
        ),
        solution="return {i: v for i, v in $d.items() if v > $k}",
        parameters={"k": integer(0, 12)},
        inputs=[mapping(integer(-5, 20))],
        edges=lambda p: [[{}], [{"a": p["k"]}], [{"b": p["k"] + 1, "c": p["k"] - 1}], [{"d": -30}]],
    ),
    Family(
        name="lengths_by_word",
        level=1,
        topic="dicts",
        entry_points=("length_table", "lengths", "measure"),
        signatures=WORDS,
        wordings=(
            "Return a dict that maps each string in $words to its length.",
            "Return a dict from every string of the list $words to its number of characters.",
            "Build a dict: keys are the strings in $words, values are their lengths. Return it.",
        ),
        solution="return {w: len(w) for w in $words}",
        inputs=[words()],
        edges=[[[]], [[""]], [["a", "bc", "a"]], [["é"]]],
    ),
    Family(
        name="zip_to_dict",
        level=1,
        topic="dicts",
        entry_points=("build_dict", "pair_up", "to_table"),
        signatures=("keys, values", "names, numbers", "first, second"),
        wordings=(
            "Return a dict that maps each item of $keys to the item of $values at the same position.",
            "Pair the equally long lists $keys and $values into a dict and return it.",
            "Return the dict with keys from $keys and values from $values, in matching order.",
        ),
        solution="return dict(zip($keys, $values))",
        inputs=_keys_and_values,
        edges=[[[], []], [["a"], [1]], [["b", "a"], [0, 0]]],
    ),
    Family(
        name="merge_dicts",
        level=1,
        topic="dicts",
        entry_points=("merge", "combine", "update_table"),
        signatures=("d, e", "first, second", "old, new"),
        wordings=(
            "Return a dict with all entries of $d and $e; for shared keys use the value of $e.",
            "Merge the dicts $d and $e into one and return it; $e wins on equal keys.",
            "Return the dict $d updated with the entries of the dict $e.",
        ),
        solution="return {**$d, **$e}",
        inputs=[_COUNTS, _COUNTS],
        edges=[[{}, {}], [{"a": 1}, {}], [{}, {"b": 2}], [{"a": 1, "c": 3}, {"a": 9}]],
    ),
    Family(
        name="single_entry",
        level=1,
        topic="dicts",
        entry_points=("make_entry", "single", "wrap"),
        signatures=("key, value", "name, x", "k, v"),
        wordings=(
            "Return a dict with the single key $key and the value $value.",
            "Return a dict that maps $key to $value and has no other entry.",
            "Make a dict with one entry, from $key to $value, and return it.",
        ),
        solution="return {$key: $value}",
        inputs=[word(), integer(-50, 50)],
        edges=[["", 0], ["a", -1], ["a b", 7]],
    ),
    Family(
        name="count_values_equal",
        level=1,
        topic="dicts",
        entry_points=("count_value", "how_many", "entries_with_$k"),
        signatures=MAPPING,
        wordings=(
            "Return how many values of the dict $d equal $k.",
            "Count the keys of the dict $d whose value is $k and return the count.",
            "Return the number of entries of $d with the value $k.",
        ),
        solution="return list($d.values()).count($k)",
        parameters={"k": integer(0, 9)},
        inputs=lambda rng, p: [mapping(choice(p["k"], p["k"], 10, -1), 1, 8)(rng)],
        edges=lambda p: [[{}], [{"a": p["k"]}], [{"b": p["k"] + 1}], [{"c": p["k"], "d": p["k"], "e": 99}]],
    ),
    Family(
        name="multiples_table",
        level=1,
        topic="dicts",
        entry_points=("multiples", "table", "times_table"),
        signatures=NUMBERS,
        wordings=(
            "Return a dict that maps str(i) to i * $k for each number i in $xs.",
            "For each i in the list $xs store i * $k under the key str(i); return the dict.",
            "Return the dict with str(i) as key and $k times i as value, for i in $xs.",
        ),
        solution="return {str(i): i * $k for i in $xs}",
        parameters={"k": integer(2, 20)},
        inputs=[integers()],
        edges=[[[]], [[0]], [[-3]], [[4, 4, 5]]],
    ),
)
