"""One-line functions that say something about a string."""

from __future__ import annotations

from random import Random

from ..core import TEXT, Arguments, Family, Parameters
from ..sampler import characters, choice, integer, letter, mixed_case, mixture, sentence, word


def _case_variants(rng: Random, _: Parameters) -> Arguments:
    base = word()(rng)
    return [mixed_case(lambda _: base)(rng), rng.choice((base, base.upper(), base + "s"))]


FAMILIES = (
    Family(
        name="string_length",
        level=1,
        topic="strings",
        entry_points=("length", "size", "count_characters"),
        signatures=TEXT,
        wordings=(
            "Return the length of the string $s.",
            "Return the number of characters in $s.",
            "Count the characters of $s, spaces included, and return the count.",
        ),
        solution="return len($s)",
        inputs=[mixture(word(), sentence())],
        edges=[[""], ["a"], [" "], ["naïve café"], ["a\nb"]],
    ),
    Family(
        name="count_letter",
        level=1,
        topic="strings",
        entry_points=("count_$c", "count_letter", "occurrences"),
        signatures=TEXT,
        wordings=(
            "Return how many times '$c' occurs in $s.",
            "Count the letter '$c' in the string $s, lower case only.",
            "Return the number of characters of $s that equal '$c'.",
        ),
        solution="return $s.count('$c')",
        parameters={"c": letter()},
        inputs=lambda rng, p: [characters(p["c"] * 3 + "abexyz ")(rng)],
        edges=lambda p: [[""], [p["c"]], [p["c"] * 4], [p["c"].upper()], ["?!"]],
    ),
    Family(
        name="starts_with",
        level=1,
        topic="strings",
        entry_points=("starts_with", "has_prefix", "check"),
        signatures=TEXT,
        wordings=(
            "Return True if $s starts with '$part', otherwise False.",
            "Return whether the string $s begins with '$part'.",
            "Return True when '$part' is a prefix of $s, and False when not.",
        ),
        solution="return $s.startswith('$part')",
        parameters={"part": choice("a", "b", "re", "un", "pre", "x", "th", "in", "s")},
        inputs=lambda rng, p: [rng.choice((p["part"], p["part"][::-1], "", p["part"][0])) + word()(rng)],
        edges=lambda p: [[""], [p["part"]], [" " + p["part"]], [p["part"].upper() + "t"], ["z" + p["part"]]],
    ),
    Family(
        name="ends_with",
        level=1,
        topic="strings",
        entry_points=("ends_with", "has_suffix", "check_end"),
        signatures=TEXT,
        wordings=(
            "Return True if $s ends with '$part', otherwise False.",
            "Return whether the string $s ends in '$part'.",
            "Return True when '$part' is a suffix of $s, and False when not.",
        ),
        solution="return $s.endswith('$part')",
        parameters={"part": choice("ing", "ed", "s", "ly", ".py", ".txt", "er", "!", "?")},
        inputs=lambda rng, p: [word()(rng) + rng.choice((p["part"], "", p["part"] + "x", p["part"][0]))],
        edges=lambda p: [[""], [p["part"]], [p["part"] + " "], [p["part"] * 2], ["x" + p["part"] + "z"]],
    ),
    Family(
        name="contains_text",
        level=1,
        topic="strings",
        entry_points=("contains", "has_$part", "mentions"),
        signatures=TEXT,
        wordings=(
            "Return True if '$part' occurs in the string $s, otherwise False.",
            "Return whether $s contains the text '$part'.",
            "Return True when '$part' is a substring of $s, and False when not.",
        ),
        solution="return '$part' in $s",
        parameters={"part": choice("a", "e", "cat", "ab", "an", "to", "o")},
        inputs=lambda rng, p: [characters("catbno", 0, 4)(rng) + rng.choice((p["part"], "", "z")) + "xy"],
        edges=lambda p: [[""], [p["part"]], [p["part"].upper()], ["zz" + p["part"]], ["x y"]],
    ),
    Family(
        name="count_words",
        level=1,
        topic="strings",
        entry_points=("count_words", "word_count", "num_words"),
        signatures=TEXT,
        wordings=(
            "Return the number of words in $s; one or more spaces separate words.",
            "Count the words of the string $s, where runs of spaces separate words.",
            "Return how many space-separated words $s has, or 0 if it has none.",
        ),
        solution="return len($s.split())",
        inputs=[sentence(1, 7)],
        edges=[[""], ["one"], ["two  words"], [" padded text "], ["   "]],
    ),
    Family(
        name="is_palindrome",
        level=1,
        topic="strings",
        entry_points=("is_palindrome", "is_mirrored", "reads_same"),
        signatures=TEXT,
        wordings=(
            "Return True if $s reads the same backwards (case matters), otherwise False.",
            "Return whether the string $s equals its own reverse.",
            "Return True exactly when $s is unchanged by reversing it, else False.",
        ),
        solution="return $s == $s[::-1]",
        inputs=[mixture(choice("level", "noon", "radar", "otto"), word(), characters("ab", 2, 4))],
        edges=[[""], ["a"], ["ab"], ["Aa"], ["abca"]],
    ),
    Family(
        name="split_by",
        level=1,
        topic="strings",
        entry_points=("split", "fields", "parts"),
        signatures=TEXT,
        wordings=(
            "Split $s at every '$sep' and return the list of parts.",
            "Return the list of strings between the '$sep' characters of $s, empty ones included.",
            "Return $s split on '$sep', as Python's split('$sep') does.",
        ),
        solution="return $s.split('$sep')",
        parameters={"sep": choice(",", ";", "-", "/", ":", "|", "+")},
        inputs=lambda rng, p: [p["sep"].join(word()(rng) for _ in range(rng.randint(1, 4)))],
        edges=lambda p: [["one"], ["a" + p["sep"] + "b"], ["a b" + p["sep"] + "c"]],
    ),
    Family(
        name="index_of_letter",
        level=1,
        topic="strings",
        entry_points=("find_$c", "position", "index_of"),
        signatures=TEXT,
        wordings=(
            "Return the index of the first '$c' in $s, or -1 if there is none.",
            "Return the position, from 0, where '$c' first occurs in $s, else -1.",
            "Find '$c' in the string $s: return its first index, or -1 if missing.",
        ),
        solution="return $s.find('$c')",
        parameters={"c": letter()},
        inputs=lambda rng, p: [characters(p["c"] + "abemnxyz ", 3)(rng)],
        edges=lambda p: [[""], [p["c"]], ["?" + p["c"]], ["?!"], ["??" + p["c"] * 2]],
    ),
    Family(
        name="same_ends",
        level=1,
        topic="strings",
        entry_points=("same_ends", "ends_match", "starts_as_it_ends"),
        signatures=TEXT,
        wordings=(
            "Return True if the first and last characters of the non-empty string $s are equal, else False.",
            "Return whether $s, which is not empty, starts and ends with the same character.",
            "For a non-empty string $s, return True if its first and last characters are equal.",
        ),
        solution="return $s[0] == $s[-1]",
        inputs=[mixture(characters("ab", 2, 6), choice("level", "noon", "area", "street", "xyz"))],
        edges=[["a"], ["ab"], ["aba"], ["Aa"], ["x yx"]],
    ),
    Family(
        name="is_longer_than",
        level=1,
        topic="strings",
        entry_points=("is_long", "longer_than_$k", "too_long"),
        signatures=TEXT,
        wordings=(
            "Return True if $s has more than $k characters, otherwise False.",
            "Return whether the string $s is longer than $k characters.",
            "Return True when the length of $s is above $k, and False when not.",
        ),
        solution="return len($s) > $k",
        parameters={"k": integer(2, 9)},
        inputs=[characters("abcd ", 1, 14)],
        edges=lambda p: [[""], ["x" * p["k"]], ["y" * (p["k"] + 1)], ["a b" * 9]],
    ),
    Family(
        name="equal_ignoring_case",
        level=1,
        topic="strings",
        entry_points=("same_text", "equal_ignoring_case", "matches"),
        signatures=("s, t", "a, b", "first, second"),
        wordings=(
            "Return True if $s and $t are equal ignoring case, otherwise False.",
            "Return whether the strings $s and $t are the same when both are lowercased.",
            "Compare $s and $t without regard to upper or lower case; return True or False.",
        ),
        solution="return $s.lower() == $t.lower()",
        inputs=_case_variants,
        edges=[["", ""], ["a", "A"], ["ab", "ba"], ["Hi", "hI"], ["Hi", "Hi "]],
    ),
)
