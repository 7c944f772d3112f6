"""Functions of a few lines on dicts."""

from __future__ import annotations

from ..core import MAPPING, TEXT, WORDS, Family
from ..sampler import characters, choice, integer, list_of, mapping, mixture, word, words

FAMILIES = (
    Family(
        name="count_characters",
        level=2,
        topic="dicts",
        entry_points=("count_characters", "frequencies", "histogram"),
        signatures=TEXT,
        wordings=(
            "Return a dict that maps each character of $s to the number of times it occurs.",
            "Count the characters of the string $s, spaces too: return a dict from character to count.",
            "Return the character frequencies of $s as a dict; '' gives {}.",
        ),
        solution="""
            counts = {}
            for c in $s:
                counts[c] = counts.get(c, 0) + 1
            return counts
        """,
        inputs=[mixture(word(), characters("aabc "))],
        edges=[[""], ["a"], ["aaa"], ["aA"], ["a b a"]],
    ),
    Family(
        name="count_words_by_word",
        level=2,
        topic="dicts",
        entry_points=("word_counts", "tally", "count_words"),
        signatures=TEXT,
        wordings=(
            "Return a dict that maps each space-separated word of $s, lowercased, to how often it occurs.",
            "Lowercase $s, split it at spaces and return a dict from word to number of occurrences.",
            (
                "Count the words of $s without regard to case: return a dict from the lower-case word to its "
                "count. Spaces separate words."
            ),
        ),
        solution="""
            counts = {}
            for w in $s.lower().split():
                counts[w] = counts.get(w, 0) + 1
            return counts
        """,
        inputs=[
            lambda rng: " ".join(rng.choice(("a", "A", "sea", "Sea", "ox")) for _ in range(rng.randint(2, 7)))
        ],
        edges=[[""], ["one"], ["B b B"], ["x y x"]],
    ),
    Family(
        name="group_by_length",
        level=2,
        topic="dicts",
        entry_points=("group_by_length", "by_length", "sort_out"),
        signatures=WORDS,
        wordings=(
            (
                "Group the strings in $words by length: return a dict from str(length) to the list of "
                "strings of that length, in order."
            ),
            (
                "Return a dict whose keys are the lengths of the strings in $words, as strings like '3', and "
                "whose values are the lists of strings of that length, order kept."
            ),
            (
                "Return a dict that maps str(len(w)) to the list of all w in $words with that length, "
                "in their original order."
            ),
        ),
        solution="""
            groups = {}
            for w in $words:
                groups.setdefault(str(len(w)), []).append(w)
            return groups
        """,
        inputs=[words(2, 7)],
        edges=[[[]], [[""]], [["a", "bb", "c"]], [["x", "x"]]],
    ),
    Family(
        name="group_by_first_letter",
        level=2,
        topic="dicts",
        entry_points=("group_by_letter", "index_words", "by_initial"),
        signatures=WORDS,
        wordings=(
            (
                "Return a dict that maps each first letter to the list of strings in $words that start with "
                "it, in order. No string is empty."
            ),
            (
                "Group the non-empty strings of $words by their first character: return a dict from "
                "character to list of strings, order kept."
            ),
            (
                "Sort the non-empty strings in $words into lists by first character and return the dict from "
                "that character to its list, original order kept."
            ),
        ),
        solution="""
            groups = {}
            for w in $words:
                groups.setdefault(w[0], []).append(w)
            return groups
        """,
        inputs=[words(2, 7)],
        edges=[[[]], [["a"]], [["ab", "b", "ac"]], [["x", "x", "X"]]],
    ),
    Family(
        name="invert_dict",
        level=2,
        topic="dicts",
        entry_points=("invert", "swap", "reverse_lookup"),
        signatures=MAPPING,
        wordings=(
            "Return a dict with keys and values of $d swapped; all values are different strings.",
            "Return a dict that maps each value of $d, a string occurring only once, to its key.",
            (
                "Exchange keys and values of the dict $d, whose values are distinct strings, and return the "
                "new dict."
            ),
        ),
        solution="""
            result = {}
            for key, item in $d.items():
                result[item] = key
            return result
        """,
        inputs=lambda rng, _: [dict(zip(words(1, 5)(rng), rng.sample("pqrstuv", 5), strict=False))],
        edges=[[{}], [{"a": "b"}], [{"a": "b", "b": "a"}], [{"x": "x", "y": ""}]],
    ),
    Family(
        name="key_of_largest",
        level=2,
        topic="dicts",
        entry_points=("winner", "best_key", "champion"),
        signatures=MAPPING,
        wordings=(
            (
                "Return the key of $d with the largest value, the alphabetically first one on a tie, "
                "or None for an empty dict."
            ),
            (
                "Find the key with the highest value in the dict $d; among equals take the smallest key; "
                "return None if $d is empty."
            ),
            "Return the alphabetically first of the keys of $d whose value is the maximum, None for {}.",
        ),
        solution="""
            best = None
            for key in sorted($d):
                if best is None or $d[key] > $d[best]:
                    best = key
            return best
        """,
        inputs=[mapping(integer(-5, 6), 2, 6)],
        edges=[[{}], [{"a": 5}], [{"b": 3, "a": 3}], [{"x": -2, "y": -1}], [{"c": 0, "b": 7, "a": 1}]],
    ),
    Family(
        name="add_dicts",
        level=2,
        topic="dicts",
        entry_points=("add_dicts", "sum_up", "merge_counts"),
        signatures=("d, e", "first, second", "left, right"),
        wordings=(
            (
                "Return a dict with all keys of $d and $e; the value is the sum of both values if the key is "
                "in both, else the single value."
            ),
            (
                "Add the dicts of numbers $d and $e key by key, a missing key counting as 0, and return the "
                "new dict."
            ),
            "Merge $d and $e into one dict, adding up the values of keys that occur in both.",
        ),
        solution="""
            result = dict($d)
            for key, number in $e.items():
                result[key] = result.get(key, 0) + number
            return result
        """,
        inputs=lambda rng, _: [
            {key: rng.randint(-9, 9) for key in rng.sample("abcde", rng.randint(1, 4))} for _ in range(2)
        ],
        edges=[[{}, {}], [{"a": 1}, {}], [{}, {"a": 1}], [{"a": 1, "b": 2}, {"b": -2, "c": 4}]],
    ),
    Family(
        name="keys_by_value",
        level=2,
        topic="dicts",
        entry_points=("ranking", "order_keys", "leaderboard"),
        signatures=MAPPING,
        wordings=(
            (
                "Return the list of keys of $d from largest to smallest value; keys with equal values in "
                "alphabetical order."
            ),
            (
                "Sort the keys of the dict $d by value, highest first, and by key where values are equal; "
                "return the list."
            ),
            "Return the keys of $d as a list, ordered by descending value and then alphabetically.",
        ),
        solution="""
            def rank(key):
                return (-$d[key], key)
            return sorted($d, key=rank)
        """,
        inputs=[mapping(integer(0, 4), 2, 6)],
        edges=[[{}], [{"a": 5}], [{"b": 1, "a": 1}], [{"x": 1, "y": 2}], [{"c": 2, "b": -1, "a": 2}]],
    ),
    Family(
        name="sum_by_name",
        level=2,
        topic="dicts",
        entry_points=("totals", "sum_by_name", "balances"),
        signatures=("pairs", "entries", "records"),
        wordings=(
            (
                "Given $pairs, a list of [name, amount] lists, return a dict from name to the sum of its "
                "amounts."
            ),
            (
                "Each item of $pairs is a list [name, amount]. Add up the amounts of each name and return "
                "the dict of totals."
            ),
            (
                "Return a dict that maps every name in $pairs (a list of [name, amount] lists) to its total "
                "amount; [] gives {}."
            ),
        ),
        solution="""
            totals_by_name = {}
            for name, amount in $pairs:
                totals_by_name[name] = totals_by_name.get(name, 0) + amount
            return totals_by_name
        """,
        inputs=[list_of(lambda rng: [choice("ann", "bob", "cy")(rng), rng.randint(-9, 30)], 1, 6)],
        edges=[[[]], [[["a", 5]]], [[["a", 5], ["a", -5]]], [[["b", 1], ["a", 2], ["b", 3]]]],
    ),
)
