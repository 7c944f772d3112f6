"""Classic small algorithms."""

from __future__ import annotations

from random import Random

from ..core import NUMBERS, Arguments, Family, Parameters
from ..sampler import choice, integer, integers


def _sorted_and_value(rng: Random, _: Parameters) -> Arguments:
    xs = sorted(integers(-20, 20, 1, 9)(rng))
    return [xs, rng.choice((rng.choice(xs), rng.randint(-25, 25)))]


def _postfix(rng: Random, _: Parameters) -> Arguments:
    """A postfix expression, grown by joining two expressions with an operator."""
    stack = [[str(rng.randint(0, 9))] for _ in range(rng.randint(2, 4))]
    while len(stack) > 1:
        right = stack.pop(rng.randrange(len(stack)))
        left = stack.pop(rng.randrange(len(stack)))
        stack.append([*left, *right, rng.choice("+-*")])
    return [stack[0]]


def _grid(rng: Random, _: Parameters) -> Arguments:
    columns = rng.randint(2, 5)
    return [["".join(rng.choice("##.") for _ in range(columns)) for _ in range(rng.randint(2, 5))]]


def _items_and_room(rng: Random, _: Parameters) -> Arguments:
    items = [[rng.randint(1, 9), rng.randint(1, 20)] for _ in range(rng.randint(1, 5))]
    return [items, rng.randint(3, 20)]


FAMILIES = (
    Family(
        name="insertion_point",
        level=3,
        topic="algorithms",
        entry_points=("insertion_point", "lower_bound", "search"),
        signatures=("xs, target", "numbers, x", "values, k"),
        wordings=(
            (
                "$xs is sorted in ascending order. Return the first index whose element is at least $target, "
                "or the length of $xs if there is none."
            ),
            (
                "Return the lowest position at which $target can be inserted into the ascending list $xs so "
                "that it stays sorted."
            ),
            (
                "Return how far from the left the ascending list $xs must be walked to find a number not "
                "below $target: its index, or len($xs) if all are smaller."
            ),
        ),
        solution="""
            low, high = 0, len($xs)
            while low < high:
                middle = (low + high) // 2
                if $xs[middle] < $target:
                    low = middle + 1
                else:
                    high = middle
            return low
        """,
        inputs=_sorted_and_value,
        edges=[[[], 3], [[5], 5], [[5], 6], [[2, 2, 2], 2], [[1, 3, 5], 4], [[1, 3], -9]],
    ),
    Family(
        name="fewest_coins",
        level=3,
        topic="algorithms",
        entry_points=("fewest_coins", "min_coins", "pay"),
        signatures=("amount", "n", "total"),
        wordings=(
            (
                "Return the least number of coins worth $p, $q or $r that make exactly $amount, or -1 if "
                "impossible; 0 for amount 0. Every coin can be used any number of times."
            ),
            (
                "With unlimited coins of $p, $q and $r, how few coins pay exactly $amount? Return that "
                "number, or -1 if it cannot be paid."
            ),
            (
                "Return the minimal count of numbers, each $p, $q or $r, that sum to the non-negative "
                "integer $amount (none for 0), and -1 if no such sum exists."
            ),
        ),
        solution="""
            best = [0]
            for i in range(1, $amount + 1):
                options = [best[i - c] for c in ($p, $q, $r) if c <= i and best[i - c] >= 0]
                best.append(min(options) + 1 if options else -1)
            return best[$amount]
        """,
        parameters={"p": choice(2, 3), "q": choice(5, 7), "r": choice(8, 11, 12)},
        inputs=[integer(4, 60)],
        edges=lambda p: [[0], [1], [p["p"]], [p["r"]], [2 * p["q"]], [p["p"] + p["r"]]],
    ),
    Family(
        name="knapsack",
        level=3,
        topic="algorithms",
        entry_points=("best_value", "knapsack", "pack"),
        signatures=("items, capacity", "things, limit", "goods, room"),
        wordings=(
            (
                "$items is a list of [weight, value] lists. Return the largest total value of items, each "
                "used at most once, whose total weight is at most $capacity."
            ),
            (
                "Choose some of $items, each a list [weight, value], so that their weights sum to $capacity "
                "or less and their values to as much as possible. Return that value (0 for no items)."
            ),
            (
                "Solve the 0/1 knapsack problem: each entry of $items is [weight, value], the weight limit "
                "is $capacity. Return the best total value."
            ),
        ),
        solution="""
            best = [0] * ($capacity + 1)
            for weight, worth in $items:
                for space in range($capacity, weight - 1, -1):
                    best[space] = max(best[space], best[space - weight] + worth)
            return best[$capacity]
        """,
        inputs=_items_and_room,
        edges=[[[], 5], [[[3, 4]], 3], [[[3, 4]], 2], [[[2, 3], [2, 3], [3, 5]], 4], [[[1, 1]], 0]],
    ),
    Family(
        name="evaluate_postfix",
        level=3,
        topic="algorithms",
        entry_points=("evaluate", "postfix", "rpn"),
        signatures=("tokens", "parts", "items"),
        wordings=(
            (
                "$tokens is a valid postfix expression: strings that are integers or one of +, -, *. Return "
                "its integer value; ['5', '3', '-'] gives 2."
            ),
            (
                "Evaluate the reverse Polish notation in $tokens, a list of strings (integers and the "
                "operators +, -, *), and return the integer result. ['8', '2', '-'] means 8 - 2."
            ),
            (
                "Go through the list of strings $tokens: push integers; for +, - or * replace the top two "
                "numbers a, b (b on top) by a + b, a - b or a * b. Return the one number left."
            ),
        ),
        solution="""
            stack = []
            for token in $tokens:
                if token in ('+', '-', '*'):
                    right = stack.pop()
                    left = stack.pop()
                    results = {'+': left + right, '-': left - right, '*': left * right}
                    stack.append(results[token])
                else:
                    stack.append(int(token))
            return stack[0]
        """,
        inputs=_postfix,
        edges=[
            [["7"]],
            [["5", "3", "-"]],
            [["2", "3", "4", "*", "+"]],
            [["-4", "2", "*"]],
            [["1", "2", "3", "-", "-"]],
        ],
    ),
    Family(
        name="count_islands",
        level=3,
        topic="algorithms",
        entry_points=("count_islands", "regions", "count_groups"),
        signatures=("grid", "rows", "lines"),
        wordings=(
            (
                "$grid is a list of equally long strings of '#' and '.'. Return the number of groups of '#' "
                "cells connected horizontally or vertically; 0 for []."
            ),
            (
                "Count the islands in $grid, a list of strings in which '#' is land and '.' water: cells "
                "belong together if they touch at a side, not at a corner. Return the count."
            ),
            (
                "Return how many separate regions of '#' the map $grid (a list of equally long strings of "
                "'#' and '.') has, where only up, down, left and right neighbours connect."
            ),
        ),
        solution="""
            land = [[i, j] for i, line in enumerate($grid) for j, c in enumerate(line) if c == '#']
            count = 0
            while land:
                count += 1
                stack = [land.pop()]
                while stack:
                    i, j = stack.pop()
                    for cell in ([i + 1, j], [i - 1, j], [i, j + 1], [i, j - 1]):
                        if cell in land:
                            land.remove(cell)
                            stack.append(cell)
            return count
        """,
        inputs=_grid,
        edges=[[[]], [["."]], [["#"]], [["#.", ".#"]], [["#.#", "#.#", "###"]], [["#.#", "#.#"]]],
    ),
    Family(
        name="josephus",
        level=3,
        topic="algorithms",
        entry_points=("survivor", "last_one", "winner"),
        signatures=("n", "people", "count"),
        wordings=(
            (
                "$n people numbered 1 to $n stand in a circle. Counting starts at 1 and every ${k}th person "
                "still in the circle leaves, until one is left. Return the number of that person; $n >= 1."
            ),
            (
                "In a circle of people 1, ..., $n, repeatedly count off $k people, beginning with person 1 "
                "and going on after the last one removed; the ${k}th leaves. Return who remains last."
            ),
            (
                "Return the survivor of the Josephus game with $n >= 1 players, numbered from 1, where every "
                "${k}th player counted is removed, the count starting at player 1."
            ),
        ),
        solution="""
            circle = list(range(1, $n + 1))
            i = 0
            while len(circle) > 1:
                i = (i + $k - 1) % len(circle)
                circle.pop(i)
            return circle[0]
        """,
        parameters={"k": choice(4, 5, 6, 7)},
        inputs=[integer(3, 40)],
        edges=lambda p: [[1], [2], [3], [p["k"]], [p["k"] + 1]],
    ),
    Family(
        name="count_inversions",
        level=3,
        topic="algorithms",
        entry_points=("inversions", "disorder", "count_swaps"),
        signatures=NUMBERS,
        wordings=(
            (
                "Return the number of swaps of neighbouring elements that bubble sort makes to sort $xs in "
                "ascending order (equal elements are never swapped)."
            ),
            "Count the pairs of positions i < j with $xs[i] greater than $xs[j] and return the count.",
            (
                "Return how many pairs of elements of $xs are in the wrong order, that is an earlier one is "
                "strictly greater than a later one."
            ),
        ),
        solution="""
            count = 0
            for j in range(len($xs)):
                for i in range(j):
                    if $xs[i] > $xs[j]:
                        count += 1
            return count
        """,
        inputs=[integers(-9, 15, 2, 9)],
        edges=[[[]], [[5]], [[2, 2]], [[2, 1]], [[3, 2, 1]], [[1, 2, 3]]],
    ),
    Family(
        name="smallest_window",
        level=3,
        topic="algorithms",
        entry_points=("shortest_run", "smallest_window", "min_length"),
        signatures=NUMBERS,
        wordings=(
            (
                "All numbers in $xs are positive. Return the length of the shortest contiguous part with a "
                "sum of at least $k, or 0 if there is none."
            ),
            (
                "Return the least number of neighbouring elements of $xs, a list of positive integers, that "
                "add up to $k or more; 0 if even the whole list does not."
            ),
            (
                "Find the smallest window of consecutive positive integers in the list $xs whose total "
                "reaches $k and return its length, or 0 if no window does."
            ),
        ),
        solution="""
            best = 0
            for i in range(len($xs)):
                total = 0
                for j in range(i, len($xs)):
                    total += $xs[j]
                    if total >= $k and (best == 0 or j - i + 1 < best):
                        best = j - i + 1
            return best
        """,
        parameters={"k": integer(12, 30)},
        inputs=[integers(1, 12, 2, 9)],
        edges=lambda p: [[[]], [[p["k"]]], [[p["k"] - 1]], [[1] * p["k"]], [[p["k"] - 1, 1, 2]]],
    ),
)
