"""Classic algorithms of a few lines."""

from __future__ import annotations

from random import Random

from ..core import NUMBERS, PAIR, Arguments, Family, Parameters
from ..sampler import characters, integer, integers, mixture


def _numbers_and_target(rng: Random, _: Parameters) -> Arguments:
    xs = integers(-9, 12, 2, 7)(rng)
    target = sum(rng.sample(xs, 2)) if rng.random() < 0.5 else rng.randint(-15, 25)
    return [xs, target]


def _with_common_factor(rng: Random, _: Parameters) -> Arguments:
    factor = rng.choice((1, 2, 3, 4, 6, 10))
    return [factor * rng.randint(1, 12), factor * rng.randint(1, 12)]


FAMILIES = (
    Family(
        name="is_prime",
        level=2,
        topic="algorithms",
        entry_points=("is_prime", "check_prime", "no_factors"),
        signatures=("n", "x", "number"),
        wordings=(
            "Return True if the integer $n is a prime number, else False; numbers below 2 are not prime.",
            "Return whether $n is prime: at least 2 and divisible only by 1 and itself.",
            "Return False if $n is below 2 or has a divisor other than 1 and $n, otherwise True.",
        ),
        solution="""
            if $n < 2:
                return False
            for i in range(2, $n):
                if $n % i == 0:
                    return False
            return True
        """,
        inputs=[mixture(integer(2, 99), lambda rng: rng.choice((3, 5, 7, 11, 13, 17, 29, 31, 53, 97)))],
        edges=[[0], [1], [2], [4], [-7], [49]],
    ),
    Family(
        name="greatest_common_divisor",
        level=2,
        topic="algorithms",
        entry_points=("gcd", "common_divisor", "shared_factor"),
        signatures=PAIR,
        wordings=(
            "Return the greatest common divisor of the positive integers $x and $y.",
            "Return the largest integer that divides both $x and $y, two positive integers.",
            (
                "Compute and return the biggest number by which the positive integers $x and $y are both "
                "divisible."
            ),
        ),
        solution="""
            while $y:
                $x, $y = $y, $x % $y
            return $x
        """,
        inputs=_with_common_factor,
        edges=[[1, 1], [7, 13], [12, 18], [5, 15], [40, 8]],
    ),
    Family(
        name="fibonacci_like",
        level=2,
        topic="algorithms",
        entry_points=("sequence", "nth_term", "term"),
        signatures=("n", "index", "i"),
        wordings=(
            (
                "A sequence starts with $p, $q, and each later term is the sum of the two before it. "
                "Return the term at index $n, counted from 0."
            ),
            "Let t(0) = $p, t(1) = $q and t(n) = t(n - 1) + t(n - 2). Return t($n); $n is never negative.",
            (
                "Return item $n (the first is item 0) of the sequence $p, $q, ... in which every next number "
                "is the sum of the previous two."
            ),
        ),
        solution="""
            current, following = $p, $q
            for _ in range($n):
                current, following = following, current + following
            return current
        """,
        parameters={"p": integer(0, 5), "q": integer(1, 6)},
        inputs=[integer(2, 25)],
        edges=[[0], [1], [2], [3]],
    ),
    Family(
        name="has_pair_with_sum",
        level=2,
        topic="algorithms",
        entry_points=("has_pair", "pair_exists", "two_sum"),
        signatures=("xs, target", "numbers, total", "values, k"),
        wordings=(
            "Return True if two elements at different positions of $xs add up to $target, otherwise False.",
            "Return whether there are i < j with $xs[i] + $xs[j] equal to $target.",
            (
                "Return True when some two distinct items of the list $xs (equal values allowed) sum to "
                "$target, else False."
            ),
        ),
        solution="""
            for i in range(len($xs)):
                for j in range(i):
                    if $xs[i] + $xs[j] == $target:
                        return True
            return False
        """,
        inputs=_numbers_and_target,
        edges=[[[], 0], [[5], 10], [[5, 5], 10], [[1, 2, 3], 7], [[-4, 4], 0]],
    ),
    Family(
        name="maximum_depth",
        level=2,
        topic="algorithms",
        entry_points=("max_depth", "nesting", "depth"),
        signatures=("s", "text", "string"),
        wordings=(
            "Return how deeply the balanced round brackets in $s are nested; 0 if there are none.",
            "The round brackets in $s are balanced. Return the largest number that are open at once.",
            (
                "Return the maximum nesting depth of '(' and ')' in $s, where brackets always match; "
                "without brackets return 0."
            ),
        ),
        solution="""
            depth_now = deepest = 0
            for c in $s:
                if c == '(':
                    depth_now += 1
                    deepest = max(deepest, depth_now)
                elif c == ')':
                    depth_now -= 1
            return deepest
        """,
        inputs=lambda rng, _: [
            "".join("(" * k + characters("ab", 0, 2)(rng) + ")" * k for k in integers(0, 5, 1, 3)(rng))
        ],
        edges=[[""], ["abc"], ["()()"], ["(())"], ["(()((a)))b"]],
    ),
    Family(
        name="merge_sorted",
        level=2,
        topic="algorithms",
        entry_points=("merge_sorted", "merge", "combine"),
        signatures=("xs, ys", "left, right", "first, second"),
        wordings=(
            "Merge the ascending lists $xs and $ys into one ascending list, duplicates kept, and return it.",
            "$xs and $ys are sorted. Return the sorted list of all their elements, repeats included.",
            "Return one list with all numbers of the two sorted lists $xs and $ys, from smallest to largest.",
        ),
        solution="""
            merged = []
            i = j = 0
            while i < len($xs) or j < len($ys):
                if j == len($ys) or (i < len($xs) and $xs[i] <= $ys[j]):
                    merged.append($xs[i])
                    i += 1
                else:
                    merged.append($ys[j])
                    j += 1
            return merged
        """,
        inputs=lambda rng, _: [sorted(integers()(rng)), sorted(integers()(rng))],
        edges=[[[], []], [[1], []], [[], [2]], [[1, 3, 3], [2, 3]], [[-2, 5], [-9, 9]]],
    ),
    Family(
        name="maximum_profit",
        level=2,
        topic="algorithms",
        entry_points=("best_profit", "max_gain", "profit"),
        signatures=("prices", "xs", "values"),
        wordings=(
            "Return the largest $prices[j] - $prices[i] with i < j, or 0 if no such difference is positive.",
            (
                "Given the list $prices of daily prices, buy on one day and sell on a later one: return the "
                "best profit, or 0 if none can be made."
            ),
            (
                "Return the greatest gain from buying at one element of $prices and selling at a later one; "
                "never less than 0."
            ),
        ),
        solution="""
            best = 0
            for i in range(len($prices)):
                for j in range(i):
                    best = max(best, $prices[i] - $prices[j])
            return best
        """,
        inputs=[integers(1, 40, 2, 8)],
        edges=[[[]], [[5]], [[5, 4, 3]], [[1, 9]], [[7, 2, 5, 1, 3]], [[3, 3]]],
    ),
    Family(
        name="count_pairs",
        level=2,
        topic="algorithms",
        entry_points=("count_pairs", "pairs", "close_pairs"),
        signatures=NUMBERS,
        wordings=(
            "Return the number of pairs of positions i < j for which $xs[i] and $xs[j] differ by exactly $k.",
            "Count the pairs of elements at different positions of $xs whose absolute difference is $k.",
            "Return how many index pairs i < j satisfy abs($xs[i] - $xs[j]) == $k.",
        ),
        solution="""
            count = 0
            for i in range(len($xs)):
                for j in range(i):
                    if abs($xs[i] - $xs[j]) == $k:
                        count += 1
            return count
        """,
        parameters={"k": integer(1, 5)},
        inputs=[integers(-5, 9, 3, 9)],
        edges=lambda p: [[[]], [[p["k"]]], [[0, p["k"], 0]], [[-p["k"], 0, p["k"]]], [[4, 4]]],
    ),
)
