"""Functions of a few lines on strings."""

from __future__ import annotations

from random import Random

from ..core import TEXT, Arguments, Family, Parameters
from ..sampler import characters, choice, integer, mixed_case, mixture, sentence, word


def _maybe_anagrams(rng: Random, _: Parameters) -> Arguments:
    first = characters("abc", 2, 5)(rng)
    second = list(first)
    rng.shuffle(second)
    if rng.random() < 0.5:
        second[0] = rng.choice("abc")
    return [first, "".join(second)]


FAMILIES = (
    Family(
        name="count_vowels",
        level=2,
        topic="strings",
        entry_points=("count_vowels", "num_vowels", "vowels"),
        signatures=TEXT,
        wordings=(
            "Return the number of vowels (a, e, i, o, u) in the string $s, counting both cases.",
            "Count how many characters of $s are one of a, e, i, o, u, in lower or upper case.",
            "Return how many letters of $s are among 'aeiouAEIOU'.",
        ),
        solution="""
            count = 0
            for c in $s:
                if c in 'aeiouAEIOU':
                    count += 1
            return count
        """,
        inputs=[mixed_case(mixture(word(), sentence()))],
        edges=[[""], ["bcdfghjklmnpqrstvwxyz"], ["AEIOU"], ["aaa"], ["12 Y!"]],
    ),
    Family(
        name="remove_vowels",
        level=2,
        topic="strings",
        entry_points=("remove_vowels", "consonants", "squeeze"),
        signatures=TEXT,
        wordings=(
            "Return the string $s without its vowels (a, e, i, o, u in either case), all else kept.",
            "Delete every a, e, i, o and u, lower or upper case, from $s and return what is left.",
            "Return the characters of $s that are not in 'aeiouAEIOU', as a string in the same order.",
        ),
        solution="""
            kept = ''
            for c in $s:
                if c not in 'aeiouAEIOU':
                    kept += c
            return kept
        """,
        inputs=[mixed_case(mixture(word(), sentence()))],
        edges=[[""], ["bcdfghjklmnpqrstvwxyz"], ["AEIOU"], ["aaa"], ["1 a!"]],
    ),
    Family(
        name="caesar_shift",
        level=2,
        topic="strings",
        entry_points=("encode", "shift_letters", "caesar"),
        signatures=TEXT,
        wordings=(
            (
                "Return $s with each letter a-z moved $k places on in the alphabet, z going on to a; "
                "other characters stay."
            ),
            (
                "Shift every lower-case letter (a-z) of $s forward by $k, wrapping from z to a, and leave "
                "all other characters unchanged. Return the string."
            ),
            (
                "Return the Caesar cipher of $s with shift $k for the letters a-z, wrapping around; "
                "keep everything else."
            ),
        ),
        solution="""
            result = ''
            for c in $s:
                if 'a' <= c <= 'z':
                    c = chr((ord(c) - ord('a') + $k) % 26 + ord('a'))
                result += c
            return result
        """,
        parameters={"k": integer(1, 13)},
        inputs=[mixture(word(), sentence(), characters("awxyz "))],
        edges=[[""], ["z"], ["xyz"], ["Hi, you!"], ["ABC"]],
    ),
    Family(
        name="squeeze_repeats",
        level=2,
        topic="strings",
        entry_points=("collapse", "remove_repeats", "squeeze"),
        signatures=TEXT,
        wordings=(
            "Return $s with every run of equal neighbouring characters reduced to one character.",
            "Drop each character of $s that equals the one just before it and return the rest as a string.",
            "Collapse consecutive repeats in the string $s: 'aabbbca' gives 'abca'.",
        ),
        solution="""
            result = ''
            for c in $s:
                if not result or result[-1] != c:
                    result += c
            return result
        """,
        inputs=[mixture(characters("aabbc", 2, 10), choice("balloon", "street", "pepper"))],
        edges=[[""], ["a"], ["aaaa"], ["abab"], ["aA  b"]],
    ),
    Family(
        name="longest_word",
        level=2,
        topic="strings",
        entry_points=("longest_word", "longest", "pick_word"),
        signatures=TEXT,
        wordings=(
            (
                "Return the longest word of $s (words are separated by spaces), the first one if several are "
                "equally long, and '' if there is no word."
            ),
            "Split $s at spaces and return its longest word; on a tie return the earliest, for no words ''.",
            "Return the first of the longest space-separated words in $s, or '' if $s has no words.",
        ),
        solution="""
            best = ''
            for w in $s.split():
                if len(w) > len(best):
                    best = w
            return best
        """,
        inputs=[sentence(2, 6)],
        edges=[[""], ["one"], ["ab cd"], ["a bb cc"], ["  x  "]],
    ),
    Family(
        name="initials",
        level=2,
        topic="strings",
        entry_points=("initials", "acronym", "abbreviate"),
        signatures=TEXT,
        wordings=(
            (
                "Return the first letters of the words of $s, in upper case and joined by '$sep'; "
                "words are separated by spaces."
            ),
            (
                "Take the first character of each space-separated word in $s, make it upper case, "
                "and return them joined with '$sep' ('' for no words)."
            ),
            (
                "Return the acronym of $s: the capitalised first letters of its space-separated words, "
                "with '$sep' between them."
            ),
        ),
        solution="""
            letters = []
            for w in $s.split():
                letters.append(w[0].upper())
            return '$sep'.join(letters)
        """,
        parameters={"sep": choice(".", "-", " ", "/", "_")},
        inputs=[mixed_case(sentence(1, 5))],
        edges=[[""], ["one"], ["a b"], ["Ab cD  ef"]],
    ),
    Family(
        name="reverse_words",
        level=2,
        topic="strings",
        entry_points=("reverse_words", "backwards", "flip_sentence"),
        signatures=TEXT,
        wordings=(
            "Return the space-separated words of $s in reverse order, joined by single '$sep' characters.",
            (
                "Split $s into words at spaces, reverse their order (not the words themselves) and return "
                "them joined by '$sep'."
            ),
            (
                "Return a string with the words of $s, which are separated by spaces, from last to first, "
                "with '$sep' between them."
            ),
        ),
        solution="""
            words = $s.split()
            words.reverse()
            return '$sep'.join(words)
        """,
        parameters={"sep": choice(" ", "-", "_", "/")},
        inputs=[sentence(2, 6)],
        edges=[[""], ["one"], ["a b"], ["ab cd ab"]],
    ),
    Family(
        name="alternate_case",
        level=2,
        topic="strings",
        entry_points=("alternate", "zigzag", "wave"),
        signatures=TEXT,
        wordings=(
            "Return $s with characters at even indices in upper case and at odd indices in lower case.",
            "Make the characters of $s alternate: upper case at index 0, 2, ..., lower case at 1, 3, ...",
            (
                "Return a string in which each character of $s at an even index is uppercased and every "
                "other one lowercased."
            ),
        ),
        solution="""
            result = ''
            for i, c in enumerate($s):
                result += c.upper() if i % 2 == 0 else c.lower()
            return result
        """,
        inputs=[mixed_case(mixture(word(), sentence(2, 3)))],
        edges=[[""], ["a"], ["AB"], ["a b c"], ["1x2Y"]],
    ),
    Family(
        name="sum_of_digits_in_text",
        level=2,
        topic="strings",
        entry_points=("sum_digits", "add_digits", "digit_total"),
        signatures=TEXT,
        wordings=(
            "Return the sum of all digits 0-9 that occur in the string $s, 0 if there are none.",
            "Add up the digit characters of $s, each on its own ('a12b3' gives 6), and return the total.",
            "Return the total of the single digits found in $s; a string without digits gives 0.",
        ),
        solution="""
            total = 0
            for c in $s:
                if c.isdigit():
                    total += int(c)
            return total
        """,
        inputs=[characters("0123456789abc -", 2, 10)],
        edges=[[""], ["abc"], ["12"], ["a-3.5"], ["00"]],
    ),
    Family(
        name="is_anagram",
        level=2,
        topic="strings",
        entry_points=("is_anagram", "same_letters", "is_shuffled"),
        signatures=("s, t", "a, b", "first, second"),
        wordings=(
            (
                "Return True if $s and $t consist of the same characters, each equally often, else False; "
                "case matters."
            ),
            "Return whether the string $t is a rearrangement of the characters of $s (case-sensitive).",
            "Return True exactly when sorting the characters of $s and of $t gives equal results.",
        ),
        solution="""
            if len($s) != len($t):
                return False
            return sorted($s) == sorted($t)
        """,
        inputs=_maybe_anagrams,
        edges=[["", ""], ["a", ""], ["ab", "ba"], ["Ab", "ab"], ["aab", "abb"]],
    ),
)
