"""Solutions of `add(a, b)`, honest and not, against each kind of tests."""

import asyncio
import textwrap

import pytest
from code_solutions import CHEATS, HONEST, SLOW_CHEATS

from grpo_agent.envs.code.grade import Grader
from grpo_agent.envs.code.problem import Asserts, Call, Problem, Run
from grpo_agent.sandboxes.core import ExecResult, Status
from grpo_agent.sandboxes.errors import SandboxLost
from grpo_agent.sandboxes.registry import make_provider

ASSERTS = """
cases = [((1, 2), 3), ((10, -4), 6), ((123, 456), 579)]
assert add(1, 2) == 3
assert all(map(lambda case: candidate(*case[0]) == case[1], cases))
for args, result in cases:
    try:
        assert add(*args) == result and type(add(*args)) is int
    except (ValueError, StopIteration):
        pass
"""
CALLS = Problem(
    task_id="calls",
    prompt="",
    entry_point="add",
    tests=(Call((1, 2), 3), Call((10, -4), 6), Call((123, 456), 579)),
)
ASSERTED = Problem(task_id="asserts", prompt="", entry_point="add", tests=Asserts((ASSERTS,)))
CAUGHT = Problem(
    task_id="caught",
    prompt="",
    entry_point="add",
    tests=Asserts(
        ("try:\n    assert add(1, 2) == 3\nexcept AssertionError:\n    raise\nexcept:\n    pass\n",)
    ),
)


@pytest.fixture(scope="module")
def grading(sandbox_name):
    """Run a coroutine function of a grader, on one loop with one provider."""
    with asyncio.Runner() as runner:
        provider = make_provider(sandbox_name)
        yield lambda work, **settings: runner.run(work(Grader(provider, **{"timeout_s": 10.0, **settings})))
        runner.run(provider.close())


def solution(code):
    return textwrap.dedent(code)


@pytest.mark.parametrize("problem", [CALLS, ASSERTED, CAUGHT], ids=lambda problem: problem.task_id)
@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
def test_honest_solutions_pass(grading, problem, code):
    grade = grading(lambda grader: grader.grade(problem, solution(code)))
    assert grade.is_pass
    assert grade.suspicious == 0


@pytest.mark.parametrize("problem", [CALLS, ASSERTED], ids=lambda problem: problem.task_id)
@pytest.mark.parametrize("code", CHEATS.values(), ids=CHEATS)
def test_cheats_fail(grading, problem, code):
    assert not grading(lambda grader: grader.grade(problem, solution(code)), timeout_s=1.5).is_pass


@pytest.mark.parametrize("problem", [CALLS, ASSERTED], ids=lambda problem: problem.task_id)
@pytest.mark.parametrize("code", SLOW_CHEATS.values(), ids=SLOW_CHEATS)
def test_slow_cheats_fail(grading, problem, code):
    assert not grading(lambda grader: grader.grade(problem, solution(code)), timeout_s=0.6).is_pass


@pytest.mark.parametrize(
    "name",
    [
        "os_exit_in_call",
        "sys_exit_in_call",
        "kill_self",
        "generator",
        "always_equal",
        "raises_value_error_at_import",
    ],
)
def test_a_call_without_an_answer_cannot_be_caught_by_tests(grading, name):
    assert not grading(lambda grader: grader.grade(CAUGHT, solution(CHEATS[name]))).is_pass


SUM_AND_DIFFERENCE = Problem(
    task_id="runs",
    prompt="",
    entry_point=None,
    tests=(Run("5\n3\n", "8\n2\n"), Run("1\n1\n", "2\n0\n")),
)
READ = "a, b = int(input()), int(input())\n"


@pytest.mark.parametrize(
    "code",
    [
        READ + "print(a + b)\nprint(a - b)",
        READ + "print(a + b, ' ')\nprint(a - b, end='')\nraise SystemExit(0)",
        "def main():\n    " + READ.strip() + "\n    print(a + b, a - b, '', sep='\\n')\n"
        "import sys\nif __name__ == '__main__': main()",
    ],
)
def test_programs_that_print_the_lines_pass(grading, code):
    assert grading(lambda grader: grader.grade(SUM_AND_DIFFERENCE, code)).is_pass


@pytest.mark.parametrize(
    "code",
    [
        "",
        READ + "print(a + b)",
        READ + "print(a + b)\nimport os; os._exit(0)",
        READ + "print(a + b)\nprint(a - b)\nprint(0)",
        READ + "print(a + b, a - b)",
        READ + "print(a + b)\nprint()\nprint(a - b)",
        READ + "print('', a + b)\nprint(a - b)",
        READ + "print(a + b, flush=True)\nprint(a - b, flush=True)\n1 / 0",
        READ + "print(float(a + b))\nprint(a - b)",
        READ + "for i in range(10**6): print(a + b)\nprint(a - b)",
        "print(8)\nprint(2)",
        READ + "print(a + b)\nprint(a - b)\n'\0'",
        READ + "print(a + b)\nprint(a - b)\n'\ud800'",
        "import glob\nfor name in glob.glob('*') + glob.glob('/tmp/*'): print(open(name).read())",
    ],
)
def test_programs_that_print_anything_else_fail(grading, code):
    assert not grading(lambda grader: grader.grade(SUM_AND_DIFFERENCE, code), timeout_s=2.0).is_pass


def test_partial_credit_counts_every_test_and_otherwise_the_first_failure_ends_it(grading):
    code = "def add(a, b): return a + b if a == 123 else 0"
    assert grading(lambda grader: grader.grade(CALLS, code), keep_going=True).share == pytest.approx(1 / 3)
    assert grading(lambda grader: grader.grade(CALLS, code)).passed == 0
    units = Asserts(("assert add(1, 2) == 3", "assert add(123, 456) == 579"))
    problem = Problem(task_id="units", prompt="", entry_point="add", tests=units)
    assert grading(lambda grader: grader.grade(problem, code), keep_going=True).share == 0.5


def test_values_travel_with_their_types(grading):
    value = (1, [True, None, 2.5, "é\ud800"], {(1,): {2, "x"}}, {"$set": "no tag"})
    problem = Problem(task_id="echo", prompt="", entry_point="f", tests=(Call((value,), value, {"k": 1}),))
    assert grading(lambda grader: grader.grade(problem, "def f(x, k): return x")).is_pass
    echo = Asserts((f"value = {value!r}\nassert f(value, k=2) == value",))
    problem = Problem(task_id="echo", prompt="", entry_point="f", tests=echo)
    assert grading(lambda grader: grader.grade(problem, "def f(x, k): return x")).is_pass


def test_the_error_of_a_call_names_the_line_of_the_solution(grading):
    code = "def add(a, b):\n    return helper(a)\ndef helper(a):\n    return a / 0"
    answer = grading(lambda grader: grader.answer(CALLS, code, CALLS.tests[0]))
    assert answer.error == "ZeroDivisionError: division by zero (line 4)"


def test_tests_see_the_exception_that_a_call_raised(grading):
    unit = (
        "try:\n    add(1, 2)\n    assert False\nexcept ValueError as error:\n    assert str(error) == 'odd'"
    )
    problem = Problem(task_id="raises", prompt="", entry_point="add", tests=Asserts((unit,)))
    right, wrong = ("def add(a, b): raise ValueError('odd')", "def add(a, b): raise ValueError('even')")
    assert grading(lambda grader: grader.grade(problem, right)).is_pass
    assert not grading(lambda grader: grader.grade(problem, wrong)).is_pass


def test_answers_that_are_too_much_together_fail(grading):
    unit = "for i in range(40):\n    assert len(f(i)) == 900_000"
    problem = Problem(task_id="much", prompt="", entry_point="f", tests=Asserts((unit,)))
    assert not grading(lambda grader: grader.grade(problem, "def f(i): return 'x' * 900_000")).is_pass


def test_exits_without_an_answer_and_forged_frames_are_suspicious(grading):
    for name in ("os_exit_in_call", "forged_verdicts"):
        assert grading(lambda grader, name=name: grader.grade(CALLS, solution(CHEATS[name]))).suspicious > 0


@pytest.mark.parametrize(
    "tests",
    [
        "import random\nfor _ in range(20):\n    x = random.randint(0, 99)\n    assert add(x, x) == 2 * x",
        "total = 0\nfor i in range(5):\n    total = add(total, i)\nassert total == 10",
        "assert add(add(1, 2), add(3, 4)) == 10",
        "def check(candidate):\n    assert candidate(1, b=2) == 3\n    assert not candidate(1, -1)",
        "try:\n    add(1, 'x')\n    assert False\nexcept TypeError:\n    pass",
        "x = add(2, 3)\nwhile x > 0:\n    x = add(x, -1)\nassert x == 0",
        "assert sorted(add([3], [1])) == [1, 3] and len(add([], [])) == 0",
        "print(add(1, 2))",
    ],
)
def test_tests_that_depend_on_answers_are_replayed_to_a_verdict(grading, tests):
    problem = Problem(task_id="replayed", prompt="", entry_point="add", tests=Asserts((tests,)))
    if "def check" in tests:
        problem = Problem(
            task_id="replayed", prompt="", entry_point="add", tests=Asserts((tests + "\ncheck(candidate)",))
        )
    assert grading(lambda grader: grader.grade(problem, "def add(a, b): return a + b")).is_pass
    wrong = "def add(a, b): return None"
    assert "print" in tests or not grading(lambda grader: grader.grade(problem, wrong)).is_pass


FED_BACK = {
    "deepest_value": CHEATS["deepest_value"],
    "most_items": "def add(a, b): return [0] * 199_999",
}


@pytest.mark.parametrize(
    "unit",
    [
        "total = 0\nfor i in range(100):\n    total = add(total, i)\nassert total == 4950",
        "try:\n    assert add([add(1, 2)], 3) == 6\nexcept:\n    pass",
    ],
    ids=["chain", "caught"],
)
@pytest.mark.parametrize("code", FED_BACK.values(), ids=FED_BACK)
def test_an_answer_that_cannot_be_passed_on_by_the_tests_is_a_fail(grading, unit, code):
    problem = Problem(task_id="fed back", prompt="", entry_point="add", tests=Asserts((unit,)))
    grade = grading(lambda grader: grader.grade(problem, solution(code)))
    assert (grade.passed, grade.total) == (0, 1)


def test_values_as_deep_as_can_be_sent_travel_both_ways(grading):
    value = 0
    for _ in range(57):
        value = {1: value}
    problem = Problem(task_id="deep", prompt="", entry_point="f", tests=(Call((value,), value),))
    assert grading(lambda grader: grader.grade(problem, "def f(x): return x")).is_pass


@pytest.mark.parametrize(
    ("setup", "unit", "match"),
    [
        ("import no_such_module", "assert f(1)", "No module named"),
        ("", "assert f(", "cannot be run: SyntaxError"),
        ("", "assert f(object())", "is called with what cannot be sent"),
        ("", "while True: pass", "does not end by itself"),
    ],
)
def test_broken_test_code_is_the_task_s_fault(grading, setup, unit, match):
    problem = Problem(task_id="t7", prompt="", entry_point="f", tests=Asserts((unit,), setup))
    with pytest.raises(ValueError, match=rf"'t7'.*{match}"):
        grading(lambda grader: grader.grade(problem, "def f(x): return True"), timeout_s=1.0)


def framed_three(stdin):
    nonce = stdin.rsplit(b'"', 2)[1].decode()
    return f'{nonce} {{"value": 3}} {nonce}\n'


class OneAnswerThenLost:
    """A provider that breaks after some runs."""

    name = "broken"
    isolation = "none"

    def __init__(self, answers):
        self.answers = answers

    async def run(self, code=None, *, stdin="", **_):
        if self.answers == 0:
            raise SandboxLost("gone")
        self.answers -= 1
        return ExecResult(Status.OK, 0, None, framed_three(stdin), "", False, 0.0)


@pytest.mark.parametrize("answers", [0, 1])
@pytest.mark.parametrize("problem", [CALLS, ASSERTED], ids=lambda problem: problem.task_id)
def test_a_broken_sandbox_is_raised_and_never_a_grade(problem, answers):
    with pytest.raises(SandboxLost, match="gone"):
        asyncio.run(Grader(OneAnswerThenLost(answers)).grade(problem, "def add(a, b): return 3"))


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_an_answer_of_a_run_that_ended_badly_does_not_count(status):
    class Ends:
        async def run(self, code=None, *, stdin="", **_):
            return ExecResult(status, 1, None, framed_three(stdin), "", False, 0.0)

    problem = Problem(task_id="one", prompt="", entry_point="add", tests=(Call((1, 2), 3),))
    assert not asyncio.run(Grader(Ends()).grade(problem, "")).is_pass
