"""Small algorithms on lists."""

from __future__ import annotations

from random import Random

from ..core import NUMBERS, Arguments, Family, Parameters
from ..sampler import integer, integers, mixture


def _matrix(rng: Random, _: Parameters) -> Arguments:
    columns = rng.randint(1, 4)
    return [[integers(-9, 20, columns, columns)(rng) for _ in range(rng.randint(1, 4))]]


def _intervals(rng: Random, _: Parameters) -> Arguments:
    starts = integers(0, 30, 1, 5)(rng)
    return [[[start, start + rng.randint(0, 9)] for start in starts]]


_MATRICES: list[Arguments] = [[[]], [[[7]]], [[[1, 2, 3]]], [[[1], [2]]], [[[1, 2], [3, 4]]]]

FAMILIES = (
    Family(
        name="merge_intervals",
        level=3,
        topic="lists",
        entry_points=("merge_intervals", "union", "busy_times"),
        signatures=("intervals", "ranges", "spans"),
        wordings=(
            (
                "$intervals is a list of [start, end] lists with start <= end. Merge those that overlap or "
                "touch (an end equal to a start) and return the merged intervals, sorted by start."
            ),
            (
                "Return the union of the closed intervals [start, end] in $intervals as a sorted list of "
                "disjoint [start, end] lists; intervals that share a point, an end point too, become one."
            ),
            (
                "Combine overlapping intervals of the list $intervals, whose items are [start, end]; [1, 3] "
                "and [3, 5] give [1, 5], but [1, 2] and [3, 4] stay apart. Return them sorted by start."
            ),
        ),
        solution="""
            merged = []
            for start, end in sorted($intervals):
                if merged and start <= merged[-1][1]:
                    merged[-1][1] = max(merged[-1][1], end)
                else:
                    merged.append([start, end])
            return merged
        """,
        inputs=_intervals,
        edges=[
            [[]],
            [[[1, 4]]],
            [[[1, 3], [3, 5]]],
            [[[6, 8], [1, 9]]],
            [[[5, 6], [1, 2]]],
            [[[1, 2], [4, 6], [5, 8], [7, 7]]],
            [[[1, 2], [3, 4]]],
        ],
    ),
    Family(
        name="rotate_matrix",
        level=3,
        topic="lists",
        entry_points=("rotate_matrix", "turn_right", "rotate_grid"),
        signatures=("matrix", "grid", "rows"),
        wordings=(
            (
                "Return the matrix $matrix, a list of equally long rows, rotated by 90 degrees clockwise; [] "
                "gives []."
            ),
            (
                "Turn $matrix (a list of rows) a quarter turn to the right, so that its first column, read "
                "from the bottom up, becomes the first row. Return the new list of rows; [] stays []."
            ),
            (
                "Rotate the rectangular grid $matrix clockwise by a quarter turn and return it as a list of "
                "rows: [[1, 2], [3, 4]] gives [[3, 1], [4, 2]] and [] gives []."
            ),
        ),
        solution="""
            if not $matrix:
                return []
            rotated = []
            for column in range(len($matrix[0])):
                rotated.append([$matrix[i][column] for i in range(len($matrix) - 1, -1, -1)])
            return rotated
        """,
        inputs=_matrix,
        edges=_MATRICES,
    ),
    Family(
        name="transpose",
        level=3,
        topic="lists",
        entry_points=("transpose", "columns", "flip_table"),
        signatures=("matrix", "grid", "rows"),
        wordings=(
            "Return the transpose of $matrix, a list of equally long rows, as a list of lists; [] gives [].",
            (
                "Swap rows and columns of the table $matrix (a list of rows of equal length) and return the "
                "list of new rows, [] for []."
            ),
            (
                "Return a list whose item j is the list of the j-th elements of all rows of $matrix, from "
                "top to bottom. All rows are equally long; [] gives []."
            ),
        ),
        solution="""
            if not $matrix:
                return []
            result = []
            for column in range(len($matrix[0])):
                result.append([line[column] for line in $matrix])
            return result
        """,
        inputs=_matrix,
        edges=_MATRICES,
    ),
    Family(
        name="spiral_order",
        level=3,
        topic="lists",
        entry_points=("spiral", "spiral_order", "unwind"),
        signatures=("matrix", "grid", "rows"),
        wordings=(
            (
                "Return the elements of $matrix, a list of equally long rows, in clockwise spiral order from "
                "the top left corner inwards; [] gives []."
            ),
            (
                "Walk the rectangular grid $matrix in a spiral: first row to the right, down the last "
                "column, back along the bottom, up, and so on inwards. Return the list of elements met, [] "
                "for []."
            ),
            (
                "Read $matrix (a list of rows) along its border, clockwise from the top left, then the next "
                "ring, and so on. Return the elements as one list; [] gives []."
            ),
        ),
        solution="""
            rest = [list(line) for line in $matrix]
            order = []
            while rest:
                order.extend(rest.pop(0))
                rest = [list(line) for line in zip(*rest)][::-1]
            return order
        """,
        inputs=_matrix,
        edges=[*_MATRICES, [[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]],
    ),
    Family(
        name="pascal_row",
        level=3,
        topic="lists",
        entry_points=("pascal_row", "triangle_row", "row"),
        signatures=("n", "index", "i"),
        wordings=(
            "Return row $n of Pascal's triangle as a list, each number multiplied by $k; row 0 is [$k].",
            (
                "Start with the row [$k]. In each next row the ends are $k and every inner number is the sum "
                "of the two neighbours above it. Return the row after $n steps, $n >= 0."
            ),
            "Return the list of $k times the binomial coefficients C($n, 0), ..., C($n, $n) for $n >= 0.",
        ),
        solution="""
            line = [$k]
            for _ in range($n):
                line = [$k] + [line[j] + line[j + 1] for j in range(len(line) - 1)] + [$k]
            return line
        """,
        parameters={"k": integer(1, 9)},
        inputs=[integer(2, 12)],
        edges=[[0], [1], [2], [5]],
    ),
    Family(
        name="maximum_subarray",
        level=3,
        topic="lists",
        entry_points=("best_sum", "max_segment", "best_stretch"),
        signatures=NUMBERS,
        wordings=(
            "Return the largest sum of a contiguous part of $xs; the empty part, with sum 0, is allowed.",
            "Return the greatest sum of consecutive elements of the list $xs, or 0 if no sum is positive.",
            (
                "Choose neighbouring elements of $xs (perhaps none) whose total is as large as possible and "
                "return that total; choosing none gives 0."
            ),
        ),
        solution="""
            best = current = 0
            for i in $xs:
                current = max(0, current + i)
                best = max(best, current)
            return best
        """,
        inputs=[integers(-10, 10, 3, 9)],
        edges=[[[]], [[5]], [[-3]], [[-1, -2]], [[4, -1, 5]], [[4, -9, 5]]],
    ),
    Family(
        name="longest_increasing_subsequence",
        level=3,
        topic="lists",
        entry_points=("longest_increasing", "rising_length", "lis"),
        signatures=NUMBERS,
        wordings=(
            (
                "Return the length of the longest strictly increasing subsequence of $xs, whose elements "
                "need not be neighbours; 0 for []."
            ),
            (
                "Delete elements of $xs so that the rest, in order, strictly increases. Return the largest "
                "possible number of elements left (0 for an empty list)."
            ),
            (
                "Return how many elements can be picked from $xs, from left to right and not necessarily "
                "adjacent, so that each is greater than the one before; [] gives 0."
            ),
        ),
        solution="""
            lengths = []
            for i in range(len($xs)):
                shorter = [lengths[j] for j in range(i) if $xs[j] < $xs[i]]
                lengths.append(1 + max(shorter, default=0))
            return max(lengths, default=0)
        """,
        inputs=[integers(-9, 15, 3, 10)],
        edges=[[[]], [[5]], [[2, 2, 2]], [[3, 2, 1]], [[1, 9, 2, 3, 8]], [[1, 2, 3]]],
    ),
    Family(
        name="deep_flatten",
        level=3,
        topic="lists",
        entry_points=("deep_flatten", "flatten_all", "unnest"),
        signatures=("items", "nested", "xs"),
        wordings=(
            (
                "$items is a list of integers and lists that may be nested to any depth. Return the list of "
                "all its integers from left to right."
            ),
            (
                "Flatten the arbitrarily nested list $items completely: return one list with all integers in "
                "order."
            ),
            (
                "Return a flat list of the integers found anywhere in $items, which contains integers and, "
                "recursively, lists like itself; keep their order."
            ),
        ),
        solution="""
            flat = []
            stack = [$items]
            while stack:
                current = stack.pop()
                if isinstance(current, list):
                    stack.extend(reversed(current))
                else:
                    flat.append(current)
            return flat
        """,
        inputs=lambda rng, _: [
            [
                mixture(integer(-9, 20), integers(), lambda r: [r.randint(0, 9), [integers()(r)]])(rng)
                for _ in "abc"
            ]
        ],
        edges=[[[]], [[[]]], [[1, [2]]], [[[[3]], 4]], [[[], [5, [6, [7]]], 5]]],
    ),
)
