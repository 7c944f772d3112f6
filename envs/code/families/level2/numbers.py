"""Functions of a few lines on numbers."""

from __future__ import annotations

from ..core import NUMBER, Family
from ..sampler import choice, integer

FAMILIES = (
    Family(
        name="digit_sum",
        level=2,
        topic="numbers",
        entry_points=("digit_sum", "add_digits", "checksum"),
        signatures=NUMBER,
        wordings=(
            "Return the sum of the decimal digits of the integer $x, ignoring its sign.",
            "Add up the digits of the integer $x and return the total; a minus sign does not matter.",
            "Return the digit sum of the absolute value of the integer $x.",
        ),
        solution="""
            total = 0
            for digit in str(abs($x)):
                total += int(digit)
            return total
        """,
        inputs=[integer(-9999, 99999)],
        edges=[[0], [7], [-19], [1000], [99]],
    ),
    Family(
        name="reverse_digits",
        level=2,
        topic="numbers",
        entry_points=("reverse_digits", "mirror", "flip_number"),
        signatures=NUMBER,
        wordings=(
            "Return the integer $x with its decimal digits reversed; keep the sign, drop leading zeros.",
            "Reverse the digits of the integer $x and return an integer: 120 gives 21 and -35 gives -53.",
            "Return the integer whose digits are those of $x in reverse order, with the same sign as $x.",
        ),
        solution="""
            digits = int(str(abs($x))[::-1])
            if $x < 0:
                return -digits
            return digits
        """,
        inputs=[integer(-9999, 99999)],
        edges=[[0], [7], [-35], [1000], [120], [-10]],
    ),
    Family(
        name="factorial_over",
        level=2,
        topic="numbers",
        entry_points=("product_up_to", "factorial", "ways"),
        signatures=("n", "x", "count"),
        wordings=(
            "Return $k times the factorial of the non-negative integer $n, where the factorial of 0 is 1.",
            (
                "Start from $k, multiply by every integer from 1 to $n and return the product; for $n = 0 "
                "return $k."
            ),
            "Return $k * 1 * 2 * ... * $n for a non-negative integer $n; the result is $k if $n is 0.",
        ),
        solution="""
            product = $k
            for i in range(1, $n + 1):
                product *= i
            return product
        """,
        parameters={"k": integer(1, 9)},
        inputs=[integer(0, 14)],
        edges=[[0], [1], [2], [5]],
    ),
    Family(
        name="sum_of_multiples",
        level=2,
        topic="numbers",
        entry_points=("sum_of_multiples", "total", "add_multiples"),
        signatures=("n", "limit", "x"),
        wordings=(
            "Return the sum of all positive integers below $n that are divisible by $k or by $m.",
            (
                "Add up every integer from 1 to $n - 1 that is a multiple of $k or $m (counted once); "
                "return 0 if there is none."
            ),
            "Consider the integers i with 0 < i < $n. Return the sum of those divisible by $k or $m or both.",
        ),
        solution="""
            total = 0
            for i in range(1, $n):
                if i % $k == 0 or i % $m == 0:
                    total += i
            return total
        """,
        parameters={"k": choice(2, 3, 4), "m": choice(5, 7)},
        inputs=[integer(5, 60)],
        edges=lambda p: [[0], [1], [p["k"]], [p["k"] + 1], [p["k"] * p["m"] + 1]],
    ),
    Family(
        name="count_divisors",
        level=2,
        topic="numbers",
        entry_points=("count_divisors", "num_factors", "divisors"),
        signatures=("n", "x", "number"),
        wordings=(
            "Return how many positive integers divide the positive integer $n, 1 and $n included.",
            "Count the divisors of $n, an integer of at least 1, including 1 and $n themselves.",
            "Return the number of integers i from 1 to $n with $n % i equal to 0; $n is positive.",
        ),
        solution="""
            count = 0
            for i in range(1, $n + 1):
                if $n % i == 0:
                    count += 1
            return count
        """,
        inputs=[integer(2, 120)],
        edges=[[1], [2], [12], [13], [36]],
    ),
    Family(
        name="fizz_label",
        level=2,
        topic="numbers",
        entry_points=("label", "say", "call_out"),
        signatures=("n", "x", "number"),
        wordings=(
            (
                "Return '$a$b' if $n is divisible by $k and $m, '$a' if only by $k, '$b' if only by $m, "
                "else $n as a string."
            ),
            (
                "Build a string: '$a' if $n is a multiple of $k, followed by '$b' if it is a multiple of $m. "
                "Return it, or str($n) if it is empty."
            ),
            (
                "For multiples of $k return '$a', for multiples of $m '$b', for multiples of both '$a$b', "
                "and for other $n the number as a string."
            ),
        ),
        solution="""
            text = ''
            if $n % $k == 0:
                text += '$a'
            if $n % $m == 0:
                text += '$b'
            return text or str($n)
        """,
        parameters={
            "k": choice(2, 3),
            "m": choice(5, 7),
            "a": choice("Fizz", "Tick", "Ping", "Clap"),
            "b": choice("Buzz", "Tock", "Pong", "Stomp"),
        },
        inputs=[integer(1, 80)],
        edges=lambda p: [[1], [p["k"]], [p["m"]], [p["k"] * p["m"]], [0], [-1]],
    ),
    Family(
        name="three_way_label",
        level=2,
        topic="numbers",
        entry_points=("grade", "classify", "category"),
        signatures=("x", "score", "value"),
        wordings=(
            "Return '$low' if $x is below $k, '$high' if $x is $m or more, and '$mid' otherwise.",
            "Classify the number $x: '$low' for $x < $k, '$mid' for $k <= $x < $m, '$high' for $x >= $m.",
            (
                "Return '$high' when $x is at least $m, '$mid' when it is at least $k but below $m, "
                "and '$low' when it is below $k."
            ),
        ),
        solution="""
            if $x < $k:
                return '$low'
            if $x < $m:
                return '$mid'
            return '$high'
        """,
        parameters={
            "k": integer(5, 30),
            "m": integer(40, 90),
            "low": choice("low", "cold", "small"),
            "mid": choice("mid", "mild", "normal"),
            "high": choice("high", "hot", "large"),
        },
        inputs=[integer(-10, 110)],
        edges=lambda p: [[p["k"]], [p["m"]], [p["k"] - 1], [p["m"] - 1], [0], [1000]],
    ),
    Family(
        name="collatz_steps",
        level=2,
        topic="numbers",
        entry_points=("steps_to_one", "count_steps", "collatz"),
        signatures=("n", "x", "start"),
        wordings=(
            (
                "Halve $n if it is even, else replace it by 3 * $n + 1. Return the number of such steps "
                "until the positive integer $n is 1; 0 if it is 1 already."
            ),
            (
                "Return how many Collatz steps (n // 2 if even, 3 * n + 1 if odd) lead from the positive "
                "integer $n to 1; starting at 1 takes 0 steps."
            ),
            (
                "Starting at the positive integer $n, divide even numbers by 2 and turn odd ones into "
                "3 times the number plus 1. Return the count of steps needed to reach 1 (0 for $n = 1)."
            ),
        ),
        solution="""
            steps = 0
            while $n != 1:
                $n = $n // 2 if $n % 2 == 0 else 3 * $n + 1
                steps += 1
            return steps
        """,
        inputs=[integer(2, 60)],
        edges=[[1], [2], [3], [8], [27]],
    ),
    Family(
        name="clamp",
        level=2,
        topic="numbers",
        entry_points=("clamp", "restrict", "into_range"),
        signatures=NUMBER,
        wordings=(
            "Return $low if $x is below $low, $high if $x is above $high, otherwise $x.",
            "Limit $x to the range from $low to $high: return the nearer end if $x lies outside.",
            "Return $x, but never less than $low and never more than $high.",
        ),
        solution="""
            if $x < $low:
                return $low
            if $x > $high:
                return $high
            return $x
        """,
        parameters={"low": integer(-10, 5), "high": integer(15, 40)},
        inputs=[integer(-40, 70)],
        edges=lambda p: [[p["low"]], [p["high"]], [p["low"] - 1], [p["high"] + 1], [p["low"] + 3]],
    ),
)
