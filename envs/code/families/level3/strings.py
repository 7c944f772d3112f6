"""Small algorithms on strings."""

from __future__ import annotations

from random import Random

from ..core import TEXT, Arguments, Family, Parameters
from ..sampler import characters, choice, integer, mixture, sentence, word

_PAIR = ("s, t", "a, b", "first, second")


def _brackets(rng: Random, _: Parameters) -> Arguments:
    """A balanced string; two times out of three one character is dropped or changed."""
    text = ""
    for _step in range(rng.randint(1, 4)):
        opening, closing = rng.choice(("()", "[]", "{}"))
        at = rng.randint(0, len(text))
        text = text[:at] + opening + closing + text[at:] if rng.random() < 0.5 else opening + text + closing
    if rng.random() < 0.6:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(("", "(", "]", "}")) + text[at + 1 :]
    return [text]


def _subsequence(rng: Random, _: Parameters) -> Arguments:
    text = characters("abcd", 3, 9)(rng)
    part = "".join(c for c in text if rng.random() < 0.5)
    return [part if rng.random() < 0.5 else part[::-1] + "a", text]


def _with_shared_start(rng: Random, _: Parameters) -> Arguments:
    start = rng.choice(("", "in", "pre", "un", "str", "a"))
    return [[start + characters("aeint", 1, 4)(rng) for _ in range(rng.randint(2, 4))]]


FAMILIES = (
    Family(
        name="run_length_encode",
        level=3,
        topic="strings",
        entry_points=("run_length", "compress", "encode"),
        signatures=TEXT,
        wordings=(
            (
                "Replace each maximal run of equal characters in $s by the character followed by the run's "
                "length ('aaab' gives 'a3b1') and return the string."
            ),
            (
                "Return the run-length encoding of $s: every group of equal neighbouring characters becomes "
                "the character and its count, a count of 1 included; '' gives ''."
            ),
            (
                "Compress $s: write each stretch of one repeated character as that character and then how "
                "often it is repeated in a row, also when only once. Return the result."
            ),
        ),
        solution="""
            result = ''
            i = 0
            while i < len($s):
                j = i
                while j < len($s) and $s[j] == $s[i]:
                    j += 1
                result += $s[i] + str(j - i)
                i = j
            return result
        """,
        inputs=[characters("aaabbc", 1, 12)],
        edges=[[""], ["a"], ["aaaa"], ["abab"], ["z" * 12], ["aA  b"]],
    ),
    Family(
        name="run_length_decode",
        level=3,
        topic="strings",
        entry_points=("expand", "decode", "unpack"),
        signatures=TEXT,
        wordings=(
            (
                "$s consists of letters, each followed by a count of one or more digits. Return each letter "
                "repeated as often as its count says, in order: 'a3b12' gives 'aaa' and then 12 times 'b'."
            ),
            (
                "Decode the run-length encoded string $s, made of pairs of a letter and a decimal count such "
                "as 'x2y10', and return the expanded string ('' for '')."
            ),
            (
                "Expand $s: every letter is followed by a decimal number, possibly of several digits, "
                "telling how often to write that letter. Return the text."
            ),
        ),
        solution="""
            result = ''
            i = 0
            while i < len($s):
                j = i + 1
                while j < len($s) and $s[j].isdigit():
                    j += 1
                result += $s[i] * int($s[i + 1:j])
                i = j
            return result
        """,
        inputs=lambda rng, _: [
            "".join(
                rng.choice("abcxyz") + str(rng.choice((1, 2, 3, 5, 10, 12))) for _ in range(rng.randint(1, 4))
            )
        ],
        edges=[[""], ["a1"], ["b10"], ["a0b2"], ["x2x3"]],
    ),
    Family(
        name="is_balanced",
        level=3,
        topic="strings",
        entry_points=("is_balanced", "brackets_match", "well_formed"),
        signatures=TEXT,
        wordings=(
            (
                "Return True if the brackets (), [] and {} in $s are balanced and properly nested, otherwise "
                "False; ignore all other characters."
            ),
            (
                "Return whether every bracket of $s, round, square or curly, is closed by one of its own "
                "kind in the right order. Other characters do not matter; '' is fine."
            ),
            (
                "Check the brackets '()[]{}' in $s: return True if each closing one matches the latest "
                "opening one still unclosed and none stays open, else False. Skip other characters."
            ),
        ),
        solution="""
            partner = {')': '(', ']': '[', '}': '{'}
            stack = []
            for c in $s:
                if c in '([{':
                    stack.append(c)
                elif c in partner:
                    if not stack or stack.pop() != partner[c]:
                        return False
            return not stack
        """,
        inputs=_brackets,
        edges=[[""], ["("], [")("], ["([)]"], ["a(b[c]{d})"], ["]"]],
    ),
    Family(
        name="edit_distance",
        level=3,
        topic="strings",
        entry_points=("edit_distance", "distance", "min_edits"),
        signatures=_PAIR,
        wordings=(
            (
                "Return the Levenshtein distance of $s and $t: the least number of single-character "
                "insertions, deletions and substitutions that turn $s into $t."
            ),
            (
                "Return how many edits are needed at least to change $s into $t, where one edit inserts, "
                "deletes or replaces one character."
            ),
            (
                "Compute the edit distance between the strings $s and $t (insert, delete and replace each "
                "cost 1) and return it."
            ),
        ),
        solution="""
            row = list(range(len($t) + 1))
            for i in range(1, len($s) + 1):
                previous, row = row, [i]
                for j in range(1, len($t) + 1):
                    cost = 0 if $s[i - 1] == $t[j - 1] else 1
                    row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + cost))
            return row[-1]
        """,
        inputs=[mixture(word(), characters("abc", 1, 6)), mixture(word(), characters("abc", 1, 6))],
        edges=[["", ""], ["abc", ""], ["", "ab"], ["kitten", "sitting"], ["ab", "ba"], ["xaby", "ab"]],
    ),
    Family(
        name="common_prefix",
        level=3,
        topic="strings",
        entry_points=("common_prefix", "shared_start", "prefix"),
        signatures=("words", "strings", "texts"),
        wordings=(
            (
                "Return the longest string with which all strings in $words start; '' if there is none or "
                "the list is empty."
            ),
            "Return the longest common prefix of the strings in the list $words ('' for an empty list).",
            "Find the longest beginning shared by every string in $words and return it; [] gives ''.",
        ),
        solution="""
            if not $words:
                return ''
            prefix_found = $words[0]
            for w in $words:
                while not w.startswith(prefix_found):
                    prefix_found = prefix_found[:-1]
            return prefix_found
        """,
        inputs=_with_shared_start,
        edges=[[[]], [["abc"]], [["", "a"]], [["ab", "abc", "abd"]], [["x", "y"]], [["no", "no"]]],
    ),
    Family(
        name="longest_palindrome_length",
        level=3,
        topic="strings",
        entry_points=("longest_mirror", "palindrome_length", "best_mirror"),
        signatures=TEXT,
        wordings=(
            (
                "Return the length of the longest substring of $s that reads the same backwards; 0 if $s is "
                "empty."
            ),
            "Find the longest palindrome among the contiguous parts of $s and return its length (0 for '').",
            "Return how long the longest palindromic run of neighbouring characters in $s is; '' gives 0.",
        ),
        solution="""
            best = 0
            for i in range(len($s)):
                for j in range(i + 1, len($s) + 1):
                    part = $s[i:j]
                    if part == part[::-1]:
                        best = max(best, j - i)
            return best
        """,
        inputs=[mixture(characters("abc", 3, 9), choice("banana", "balloon", "rotator", "letter", "radars"))],
        edges=[[""], ["a"], ["ab"], ["abba"], ["xabay"], ["aaaaa"]],
    ),
    Family(
        name="longest_without_repeat",
        level=3,
        topic="strings",
        entry_points=("longest_unique", "no_repeat_length", "distinct_run"),
        signatures=TEXT,
        wordings=(
            "Return the length of the longest substring of $s in which no character occurs twice; 0 for ''.",
            (
                "Find the longest contiguous part of $s whose characters are all different and return its "
                "length (0 if $s is empty)."
            ),
            (
                "Return how many characters the longest stretch of $s without any repeated character has; '' "
                "gives 0."
            ),
        ),
        solution="""
            best = 0
            for i in range(len($s)):
                j = i
                while j < len($s) and $s[j] not in $s[i:j]:
                    j += 1
                best = max(best, j - i)
            return best
        """,
        inputs=[characters("abcdef", 3, 12)],
        edges=[[""], ["a"], ["aaaa"], ["abca"], ["abcdefg"], ["abbcca"]],
    ),
    Family(
        name="is_subsequence",
        level=3,
        topic="strings",
        entry_points=("is_subsequence", "hidden_in", "can_extract"),
        signatures=("s, t", "part, text", "small, large"),
        wordings=(
            (
                "Return True if $s can be made from $t by deleting characters without changing the order of "
                "the rest, otherwise False; '' always can."
            ),
            (
                "Return whether the characters of $s occur in $t in the same order, not necessarily next to "
                "each other; True if $s is empty."
            ),
            "Return True when $s is a subsequence of the string $t (the empty string always is), else False.",
        ),
        solution="""
            i = 0
            for c in $t:
                if i < len($s) and c == $s[i]:
                    i += 1
            return i == len($s)
        """,
        inputs=_subsequence,
        edges=[["", ""], ["", "ab"], ["a", ""], ["ac", "abc"], ["ca", "abc"], ["aa", "a"]],
    ),
    Family(
        name="wrap_lines",
        level=3,
        topic="strings",
        entry_points=("wrap_lines", "to_lines", "break_text"),
        signatures=TEXT,
        wordings=(
            (
                "Break $s, words separated by single spaces, into lines of at most $k characters: put as "
                "many words on each line as fit, joined by a space. Return the list of lines. No word is "
                "longer than $k; '' gives []."
            ),
            (
                "Return the words of $s (single spaces between them, none longer than $k) as a list of "
                "lines: each line takes as many further words as fit into $k characters with single spaces. "
                "'' gives []."
            ),
            (
                "Wrap the text $s greedily to a width of $k: fill each line with whole words and single "
                "spaces, then start the next. All words fit the width. Return the list of lines, [] for ''."
            ),
        ),
        solution="""
            lines = []
            for w in $s.split():
                if lines and len(lines[-1]) + 1 + len(w) <= $k:
                    lines[-1] += ' ' + w
                else:
                    lines.append(w)
            return lines
        """,
        parameters={"k": integer(8, 16)},
        inputs=[sentence(3, 8)],
        edges=lambda p: [
            [""],
            ["one"],
            ["x" * p["k"] + " y"],
            ["a b c d e f g h i j k l"],
            ["ab " + "c" * (p["k"] - 3)],
        ],
    ),
)
