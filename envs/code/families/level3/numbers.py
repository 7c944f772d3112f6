"""Small algorithms on numbers."""

from __future__ import annotations

from ..core import Family
from ..sampler import characters, choice, integer, mixture

_COUNT = ("n", "x", "number")

FAMILIES = (
    Family(
        name="to_roman",
        level=3,
        topic="numbers",
        entry_points=("to_roman", "roman", "numeral"),
        signatures=_COUNT,
        wordings=(
            (
                "Return the Roman numeral of the integer $n, 1 <= $n <= 3999, with subtractive forms such as "
                "IV and CM."
            ),
            (
                "Write the integer $n (from 1 to 3999) as a Roman numeral in capital letters, 4 being IV, "
                "and return it."
            ),
            (
                "Convert $n, an integer from 1 to 3999, to a standard Roman numeral string: 1994 gives "
                "'MCMXCIV'."
            ),
        ),
        solution="""
            table = [(1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'),
                     (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')]
            result = ''
            rest = $n
            for amount, letters in table:
                while rest >= amount:
                    result += letters
                    rest -= amount
            return result
        """,
        inputs=[mixture(integer(1, 99), integer(1, 3999))],
        edges=[[1], [4], [9], [49], [555], [1994], [3888]],
    ),
    Family(
        name="from_roman",
        level=3,
        topic="numbers",
        entry_points=("from_roman", "roman_value", "parse_numeral"),
        signatures=("s", "numeral", "text"),
        wordings=(
            "Return the integer that the valid Roman numeral $s stands for (letters I, V, X, L, C, D, M).",
            (
                "Convert $s, a valid Roman numeral in capital letters such as 'MCMXC', to an integer and "
                "return it."
            ),
            "Return the value of the Roman numeral $s, which is well-formed and not empty; 'IV' is 4.",
        ),
        solution="""
            worth = {'I': 1, 'V': 5, 'X': 10, 'L': 50, 'C': 100, 'D': 500, 'M': 1000}
            total = 0
            for i, c in enumerate($s):
                if i + 1 < len($s) and worth[c] < worth[$s[i + 1]]:
                    total -= worth[c]
                else:
                    total += worth[c]
            return total
        """,
        inputs=lambda rng, _: [
            rng.choice(("", "M", "MM", "MMM"))
            + rng.choice(("", "C", "CD", "D", "DCC", "CM"))
            + rng.choice(("", "X", "XXX", "XL", "L", "LXX", "XC"))
            + rng.choice(("I", "III", "IV", "V", "VII", "IX"))
        ],
        edges=[["I"], ["IV"], ["XLIX"], ["DLV"], ["CDXL"], ["MCMXC"], ["MMM"]],
    ),
    Family(
        name="to_base",
        level=3,
        topic="numbers",
        entry_points=("to_base", "to_base_$k", "digits_of"),
        signatures=_COUNT,
        wordings=(
            "Return the non-negative integer $n written in base $k, as a string; 0 gives '0'.",
            (
                "Convert $n, an integer of at least 0, to its base-$k representation (a string without "
                "leading zeros, '0' for 0)."
            ),
            (
                "Return the string of base $k digits of the non-negative integer $n, most significant first, "
                "'0' for 0."
            ),
        ),
        solution="""
            digits = ''
            rest = $n
            while rest > 0:
                digits = str(rest % $k) + digits
                rest //= $k
            return digits or '0'
        """,
        parameters={"k": integer(2, 9)},
        inputs=[mixture(integer(0, 60), integer(0, 2000))],
        edges=lambda p: [[0], [1], [p["k"]], [p["k"] - 1], [p["k"] ** 3], [p["k"] ** 2 - 1]],
    ),
    Family(
        name="prime_factors",
        level=3,
        topic="numbers",
        entry_points=("prime_factors", "factorize", "decompose"),
        signatures=_COUNT,
        wordings=(
            (
                "Return the ascending list of prime factors of the positive integer $n, repeated as often as "
                "they divide it; [] for 1."
            ),
            (
                "Factorise $n, an integer of at least 1, into primes: return them in ascending order with "
                "repeats (12 gives [2, 2, 3], 1 gives [])."
            ),
            (
                "Return the list of primes, smallest first and with repetition, whose product is $n; $n >= "
                "1, and 1 gives []."
            ),
        ),
        solution="""
            factors = []
            rest = $n
            divisor = 2
            while rest > 1:
                while rest % divisor == 0:
                    factors.append(divisor)
                    rest //= divisor
                divisor += 1
            return factors
        """,
        inputs=[integer(2, 400)],
        edges=[[1], [2], [12], [64], [97], [49]],
    ),
    Family(
        name="primes_up_to",
        level=3,
        topic="numbers",
        entry_points=("primes_up_to", "primes", "sieve"),
        signatures=("n", "limit", "x"),
        wordings=(
            (
                "Return the ascending list of all prime numbers from $k to $n, both included; [] if there "
                "are none."
            ),
            "Return every prime p with $k <= p <= $n as a list, smallest first, possibly empty.",
            (
                "List the primes that are at least $k and at most $n in ascending order and return the list "
                "([] if none)."
            ),
        ),
        solution="""
            primes = []
            for i in range(2, $n + 1):
                if all(i % p for p in primes):
                    primes.append(i)
            return [p for p in primes if p >= $k]
        """,
        parameters={"k": integer(2, 12)},
        inputs=[integer(5, 70)],
        edges=[[0], [1], [2], [3], [13], [30]],
    ),
    Family(
        name="digit_power_cycle",
        level=3,
        topic="numbers",
        entry_points=("steps_to_repeat", "digit_cycle", "until_repeat"),
        signatures=("n", "x", "start"),
        wordings=(
            (
                "Replace the non-negative integer $n by the sum of its digits each raised to the power $k, "
                "again and again. Return how many such steps it takes until a number comes up that was "
                "already seen ($n counts as seen)."
            ),
            (
                "Starting at $n >= 0, each step sums the ${k}th powers of the decimal digits. Return the "
                "number of steps after which the value first equals an earlier one, the start included."
            ),
            (
                "Repeatedly turn $n (a non-negative integer) into the sum of the ${k}th powers of its "
                "digits. Return the count of steps made when a value, start included, appears for the second "
                "time."
            ),
        ),
        solution="""
            seen = []
            current = $n
            while current not in seen:
                seen.append(current)
                current = sum(int(digit) ** $k for digit in str(current))
            return len(seen)
        """,
        parameters={"k": choice(4, 5)},
        inputs=[integer(2, 300)],
        edges=[[0], [1], [10], [7], [2]],
    ),
    Family(
        name="evaluate_sum",
        level=3,
        topic="numbers",
        entry_points=("evaluate", "calculate", "result_of"),
        signatures=("s", "text", "expression"),
        wordings=(
            (
                "Return the integer value of $s, a string of unsigned integers joined by + and - (no "
                "spaces), such as '12-3+40'."
            ),
            (
                "Evaluate the expression $s, which holds only unsigned integers with '+' or '-' between "
                "them, from left to right; return the integer."
            ),
            (
                "$s is a sum like '7+10-25': unsigned integers separated by single '+' or '-' signs. Return "
                "its value."
            ),
        ),
        solution="""
            total = 0
            for part in $s.replace('-', '+-').split('+'):
                total += int(part)
            return total
        """,
        inputs=lambda rng, _: [
            "".join(rng.choice("+-") + characters("123456789", 1, 2)(rng) for _ in range(rng.randint(2, 5)))[
                1:
            ]
        ],
        edges=[["0"], ["12"], ["1-2"], ["10+20-30"], ["5-5-5"]],
    ),
)
