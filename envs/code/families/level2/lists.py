"""Functions of a few lines on lists."""

from __future__ import annotations

from ..core import NUMBERS, Family
from ..sampler import choice, integer, integers, list_of, mixture

FAMILIES = (
    Family(
        name="running_sum",
        level=2,
        topic="lists",
        entry_points=("running_sum", "cumulative", "prefix_sums"),
        signatures=NUMBERS,
        wordings=(
            "Return a list whose element i is the sum of $xs[0] to $xs[i].",
            "Return the list of running totals of $xs: [1, 2, 3] gives [1, 3, 6], [] gives [].",
            (
                "For each position of the list $xs add up all numbers up to and including it; "
                "return the list of these sums."
            ),
        ),
        solution="""
            result = []
            total = 0
            for i in $xs:
                total += i
                result.append(total)
            return result
        """,
        inputs=[integers()],
        edges=[[[]], [[5]], [[1, -1]], [[0, 0, 2]]],
    ),
    Family(
        name="differences",
        level=2,
        topic="lists",
        entry_points=("differences", "changes", "deltas"),
        signatures=NUMBERS,
        wordings=(
            (
                "Return the list of differences between neighbours of $xs, each number minus the one before "
                "it; [] if $xs has fewer than two."
            ),
            "Return [$xs[1] - $xs[0], $xs[2] - $xs[1], ...]; a list of 0 or 1 numbers gives [].",
            (
                "For every number in $xs but the first, subtract its predecessor; return the list of "
                "results, which may be empty."
            ),
        ),
        solution="""
            result = []
            for i in range(1, len($xs)):
                result.append($xs[i] - $xs[i - 1])
            return result
        """,
        inputs=[integers(-20, 20, 2, 8)],
        edges=[[[]], [[5]], [[1, 4]], [[4, 1]], [[2, 2, 2]]],
    ),
    Family(
        name="unique_in_order",
        level=2,
        topic="lists",
        entry_points=("unique", "remove_duplicates", "without_repeats"),
        signatures=("xs", "items", "values"),
        wordings=(
            "Return a list of the elements of $xs without duplicates, in order of first appearance.",
            "Remove repeated elements from the list $xs, keeping the first of each, and return the list.",
            "Return each different element of $xs once, ordered by where it first occurs.",
        ),
        solution="""
            result = []
            for item in $xs:
                if item not in result:
                    result.append(item)
            return result
        """,
        inputs=[mixture(integers(0, 4, 3, 8), list_of(choice("a", "b", "cc", "d"), 3, 8))],
        edges=[[[]], [[5]], [[3, 1, 3]], [["b", "a", "b", "a"]], [[2, 2, 2]]],
    ),
    Family(
        name="rotate_left",
        level=2,
        topic="lists",
        entry_points=("rotate", "turn", "cycle"),
        signatures=("xs", "items", "values"),
        wordings=(
            (
                "Return the list $xs rotated left by $k places: the first element moves to the end, "
                "$k times over. [] stays []."
            ),
            (
                "Move the first element of $xs to its end $k times and return the resulting list; "
                "an empty list stays empty."
            ),
            (
                "Return a list like $xs but starting $k places later, wrapping around to the start "
                "(as often as needed; [] for [])."
            ),
        ),
        solution="""
            if not $xs:
                return []
            shift = $k % len($xs)
            return $xs[shift:] + $xs[:shift]
        """,
        parameters={"k": integer(3, 7)},
        inputs=[integers(-9, 20, 2, 9)],
        edges=lambda p: [[[]], [[5]], [[1, 2]], [[1, 2, 3]], [[9, 8, 7, 6]], [list(range(p["k"]))]],
    ),
    Family(
        name="index_of_largest",
        level=2,
        topic="lists",
        entry_points=("index_of_max", "peak_position", "where_is_top"),
        signatures=NUMBERS,
        wordings=(
            "Return the index of the largest number in $xs, the first one on a tie, or -1 if $xs is empty.",
            (
                "Find the maximum of the list $xs and return the position (from 0) where it first occurs; "
                "return -1 for []."
            ),
            "Return the lowest index at which $xs has its largest value; an empty list gives -1.",
        ),
        solution="""
            best = -1
            for i in range(len($xs)):
                if best == -1 or $xs[i] > $xs[best]:
                    best = i
            return best
        """,
        inputs=[integers(-9, 9, 2, 8)],
        edges=[[[]], [[5]], [[3, 3]], [[-5, -2, -9]], [[1, 7, 2, 7]]],
    ),
    Family(
        name="chunks",
        level=2,
        topic="lists",
        entry_points=("chunks", "split_up", "batches"),
        signatures=("xs", "items", "values"),
        wordings=(
            (
                "Split the list $xs into lists of $k consecutive elements, the last one possibly shorter, "
                "and return the list of them."
            ),
            (
                "Return a list of consecutive pieces of $xs, each of length $k except that the last may be "
                "shorter; [] gives []."
            ),
            (
                "Cut $xs into batches of $k elements in order (the last batch holds what is left) and return "
                "the list of batches."
            ),
        ),
        solution="""
            result = []
            for i in range(0, len($xs), $k):
                result.append($xs[i:i + $k])
            return result
        """,
        parameters={"k": integer(2, 4)},
        inputs=[integers(-9, 20, 1, 10)],
        edges=lambda p: [[[]], [[5]], [[1] * p["k"]], [list(range(2 * p["k"] + 1))]],
    ),
    Family(
        name="interleave",
        level=2,
        topic="lists",
        entry_points=("interleave", "shuffle", "alternate"),
        signatures=("xs, ys", "first, second", "left, right"),
        wordings=(
            (
                "Return a list that takes elements of $xs and $ys in turn, starting with $xs; "
                "both have the same length."
            ),
            (
                "Merge the equally long lists $xs and $ys into [$xs[0], $ys[0], $xs[1], $ys[1], ...] "
                "and return it."
            ),
            "Given $xs and $ys of equal length, return one list alternating between them, $xs first.",
        ),
        solution="""
            result = []
            for i in range(len($xs)):
                result.append($xs[i])
                result.append($ys[i])
            return result
        """,
        inputs=lambda rng, _: [integers(-20, 20, n, n)(rng) for n in [rng.randint(1, 5)] * 2],
        edges=[[[], []], [[1], [2]], [[1, 1], [2, 2]], [[0, -1, 3], [0, 9, 3]]],
    ),
    Family(
        name="flatten_once",
        level=2,
        topic="lists",
        entry_points=("flatten", "join_lists", "gather"),
        signatures=("lists", "rows", "groups"),
        wordings=(
            "Return one list with all elements of the lists in $lists, in order.",
            "Flatten $lists, a list of lists of numbers, into a single list of numbers.",
            "Concatenate the lists inside $lists and return the result; [] gives [].",
        ),
        solution="""
            result = []
            for inner in $lists:
                result.extend(inner)
            return result
        """,
        inputs=[list_of(integers(-9, 20, 0, 4), 1, 5)],
        edges=[[[]], [[[]]], [[[1], [], [2, 3]]], [[[4, 4], [4]]]],
    ),
    Family(
        name="second_largest",
        level=2,
        topic="lists",
        entry_points=("second_largest", "runner_up", "second_best"),
        signatures=NUMBERS,
        wordings=(
            "Return the second largest of the different values in $xs, or None if there are fewer than two.",
            (
                "Ignoring duplicates, return the second highest number in $xs; return None if $xs has fewer "
                "than two different numbers."
            ),
            "Return the largest number in $xs that is smaller than its maximum, or None if there is none.",
        ),
        solution="""
            values_left = sorted(set($xs))
            if len(values_left) < 2:
                return None
            return values_left[-2]
        """,
        inputs=[integers(-9, 15, 2, 8)],
        edges=[[[]], [[5]], [[3, 3]], [[4, 9, 9]], [[-1, -2]]],
    ),
    Family(
        name="even_before_odd",
        level=2,
        topic="lists",
        entry_points=("partition", "evens_first", "regroup"),
        signatures=NUMBERS,
        wordings=(
            (
                "Return a list with the even numbers of $xs first and then the odd ones, each group in its "
                "original order."
            ),
            (
                "Move all even numbers of the list $xs before all odd ones without otherwise changing the "
                "order; return the list."
            ),
            "Return the even elements of $xs, in order, followed by the odd elements, in order, as one list.",
        ),
        solution="""
            evens = [i for i in $xs if i % 2 == 0]
            odds = [i for i in $xs if i % 2 != 0]
            return evens + odds
        """,
        inputs=[integers(-9, 20, 2, 8)],
        edges=[[[]], [[5]], [[1, 2]], [[3, -4, 3, 0]], [[2, 1, -1]]],
    ),
    Family(
        name="longest_rising_run",
        level=2,
        topic="lists",
        entry_points=("longest_run", "rising_streak", "best_streak"),
        signatures=NUMBERS,
        wordings=(
            (
                "Return the length of the longest run of consecutive elements of $xs in which each is "
                "greater than the one before; 0 for []."
            ),
            (
                "Return how long the longest strictly increasing stretch of neighbouring numbers in $xs is "
                "(1 for a single number, 0 if empty)."
            ),
            (
                "Find the longest part of $xs, without gaps, that strictly increases, and return its number "
                "of elements; an empty list gives 0."
            ),
        ),
        solution="""
            best = run = 0
            for i in range(len($xs)):
                run = run + 1 if i > 0 and $xs[i] > $xs[i - 1] else 1
                best = max(best, run)
            return best
        """,
        inputs=[integers(-9, 20, 2, 10)],
        edges=[[[]], [[5]], [[2, 2]], [[1, 2, 3, 4]], [[3, 2, 1]], [[1, 5, 2, 3, 9, 4]]],
    ),
)
