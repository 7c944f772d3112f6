import asyncio

import pytest

from grpo_agent.envs.code.env import CodeEnv
from grpo_agent.envs.code.source import human_eval_rows
from grpo_agent.envs.core import Action, ToolCall
from grpo_agent.envs.errors import EnvError
from grpo_agent.envs.testing import check_env, tool_action
from grpo_agent.sandboxes.errors import SandboxBusy
from grpo_agent.sandboxes.registry import make_provider
from grpo_agent.sandboxes.testing import FakeProvider

TASK = {
    "task_id": "last",
    "prompt": "Write a Python function `last(xs)` that returns the last item.",
    "entry_point": "last",
    "example": {"args": [[1, 2]], "result": 2},
    "tests": [{"args": [[3]], "result": 3}, {"args": [[4, 5, "x"]], "result": "x"}],
    "solution": "def last(xs):\n    return xs[-1]\n",
}


@pytest.fixture(scope="module")
def play(sandbox_name):
    """Play an episode: replies in, steps out."""

    async def episode(provider, replies, task=TASK, **settings):
        env = CodeEnv(sandbox=provider, **settings)
        env.reset(seed=0, options={"task": task})
        steps = []
        for reply in replies:
            action = env.gold_action(task) if reply == "gold" else reply
            steps.append(await env.step(Action(action) if isinstance(action, str) else action))
        await env.close()
        return steps

    with asyncio.Runner() as runner:
        provider = make_provider(sandbox_name)
        yield lambda *replies, **settings: runner.run(episode(provider, replies, **settings))
        runner.run(provider.close())


def block(code):
    return f"Sure:\n```python\n{code}\n```"


def test_the_first_message_is_short_and_shows_the_example():
    env = CodeEnv(system_prompt="Be brief.")
    observation, info = env.reset(options={"task": TASK})
    assert observation == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": "Write a Python function `last(xs)` that returns the last item. "
            "Example: last([1, 2]) == 2. Reply with one Python code block.",
        },
    ]
    assert info == {}
    assert env.tools == []


def test_gold_earns_the_reward_in_both_forms(play):
    for action_format in ("code_block", "tool"):
        (step,) = play("gold", action_format=action_format)
        assert step.reward == 1.0
        assert step.terminated
        assert step.info["success"] is True
        metrics = step.info["metrics"]
        assert (metrics["tests_passed"], metrics["tests_total"], metrics["attempts"]) == (2.0, 2.0, 1.0)
        assert metrics["suspicious"] == 0.0


@pytest.mark.parametrize(
    ("code", "observation"),
    [
        ("def last(xs): return xs[0]", "last([1, 2]) returned 1, expected 2. Try again."),
        (
            "def last(xs): return xs[2]",
            "last([1, 2]) raised IndexError: list index out of range (line 1). Try again.",
        ),
        ("def last(xs) return 1", "Your code failed: SyntaxError: expected ':' (line 1). Try again."),
        ("def first(xs): return 1", "Your code failed: no function `last` is defined. Try again."),
        ("def last(xs): yield 2", "last([1, 2]): TypeError: a generator is not plain data. Try again."),
        ("def last(xs):\n    while 1: pass", "last([1, 2]) timed out. Try again."),
        ("import os\ndef last(xs): os._exit(0)", "last([1, 2]) exited without an answer. Try again."),
    ],
)
def test_a_wrong_example_comes_back_as_the_observation_and_gives_another_turn(play, code, observation):
    wrong, right = play(block(code), "gold", test_timeout_s=1.0)
    assert wrong.observation == observation
    assert (wrong.reward, wrong.terminated, wrong.truncated) == (0.0, False, False)
    assert right.reward == 1.0
    assert right.info["metrics"]["attempts"] == 2.0


def test_long_values_are_cut_in_observations(play):
    (step, _) = play(block("def last(xs): return 'x' * 10000"), "gold")
    assert len(step.observation) < 200


def test_hidden_tests_decide_once_the_example_is_right(play):
    (step,) = play(block("def last(xs): return xs[1]"))
    assert (step.reward, step.terminated, step.info["success"]) == (0.0, True, False)


def test_the_last_attempt_is_judged_by_the_hidden_tests(play):
    first, last = play(block("def last(xs): return 1"), block("def last(xs): return 1"), max_attempts=2)
    assert not first.terminated
    assert (last.reward, last.terminated, last.info["success"]) == (0.0, True, False)


def test_a_reply_without_code_is_told_so_and_counts_as_an_attempt(play):
    first, last = play("xs[-1]", "No.", max_attempts=2)
    assert first.observation == "No Python code block found. Reply with one Python code block."
    assert (last.reward, last.terminated, last.info["success"]) == (0.0, True, False)


def test_partial_credit_is_the_share_of_hidden_tests(play):
    (step,) = play(block("def last(xs): return xs[-1] if len(xs) < 3 else 0"), partial_credit=True)
    assert step.reward == 0.5
    assert step.info["success"] is False


def test_without_an_example_the_code_must_load(play):
    task = {key: value for key, value in TASK.items() if key != "example"}
    first, second = play(block("def last(xs): return ys\nlast = 1 / 0"), "gold", task=task)
    assert first.observation == "Your code failed: ZeroDivisionError: division by zero (line 2). Try again."
    assert second.reward == 1.0


def test_programs_are_tried_on_the_example_input(play):
    task = {
        "prompt": "Print the sum of two numbers.",
        "tests": [{"stdin": "1 2", "stdout": "3"}],
        "example": {"stdin": "2 2", "stdout": "4"},
    }
    wrong, right = play(
        block("print(5)"), block("print(sum(map(int, input().split())))"), task=task, max_attempts=3
    )
    assert wrong.observation == "On the example input it printed '5\\n', expected '4'. Try again."
    assert right.reward == 1.0


def test_tools_run_code_and_submit_ends_the_episode(play):
    def call(name, code):
        return Action("", (ToolCall("1", name, {"code": code}),))

    text, run, both, failed, wrong = play(
        "I would call submit.",
        call("run_python", "print(1 + 1); open('kept', 'w').write('x')"),
        Action("", (ToolCall("1", "run_python", {"code": "print(open('kept').read())"}),) * 2),
        call("run_python", "1 / 0"),
        call("submit", "def last(xs): return None"),
        action_format="tool",
    )
    assert "run_python, submit" in text.observation
    assert run.observation[0]["content"] == "2"
    assert [message["content"] for message in both.observation] == ["x", "x"]
    assert "ZeroDivisionError: division by zero" in failed.observation[0]["content"]
    assert (wrong.reward, wrong.terminated, wrong.info["success"]) == (0.0, True, False)


def test_only_the_first_submission_of_a_turn_counts(play):
    calls = tuple(ToolCall(str(i), "submit", {"code": TASK["solution"]}) for i in range(3))
    (step,) = play(Action("", calls), action_format="tool")
    assert step.reward == 1.0
    assert step.info["success"] is True


@pytest.mark.parametrize("action_format", ["code_block", "tool"])
def test_it_keeps_the_contract_of_environments(sandbox_name, action_format):
    def factory():
        return CodeEnv(sandbox=sandbox_name, action_format=action_format, size=3, test_timeout_s=10.0)

    gold = factory().gold_action(factory().tasks("train")[0])
    wrong = tool_action(("run_python", {"code": "print(1)"}), ("submit", {}))
    check_env(factory, [Action("hello"), wrong, gold])


def test_equal_seeds_draw_equal_tasks():
    first = CodeEnv(levels=(1,)).reset(seed=3)[0]
    assert first == CodeEnv(levels=(1,)).reset(seed=3)[0]
    assert first != CodeEnv(levels=(1,)).reset(seed=4)[0]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_family_s_reference_passes(play, level):
    for split in ("train", "test"):
        rows = CodeEnv(levels=(level,), size=5).tasks(split)
        for row in rows:
            assert play("gold", task=row)[0].reward == 1.0, row["task_id"]


@pytest.mark.parametrize("index", [0, 8, 10, 32, 38, 51, 64, 77, 96, 99, 115, 127, 133, 148, 163])
def test_humaneval_s_canonical_solution_passes_and_an_empty_one_fails(play, index):
    row = human_eval_rows()[index]
    assert play("gold", task=row, max_attempts=1)[0].reward == 1.0
    empty = block(f"def {row['entry_point']}(*args): pass")
    assert play(empty, task=row, max_attempts=1)[0].reward == 0.0


@pytest.mark.slow
def test_all_of_humaneval_s_canonical_solutions_pass(play):
    assert [
        row["task_id"]
        for row in human_eval_rows()
        if play("gold", task=row, test_timeout_s=20.0)[0].reward != 1.0
    ] == []


def test_a_sandbox_fault_is_raised_not_rewarded():
    class Busy:
        async def run(self, *_, **__):
            raise SandboxBusy("no slot")

    for action_format in ("code_block", "tool"):
        env = CodeEnv(sandbox=Busy(), action_format=action_format)
        env.reset(options={"task": TASK})
        with pytest.raises(SandboxBusy, match="no slot"):
            asyncio.run(env.step(env.gold_action(TASK)))


ASSERTED = {"task_id": "t7", "prompt": "p", "tests": ["assert f(1)"], "solution": "def f(x): return True"}


@pytest.mark.parametrize("action_format", ["code_block", "tool"])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"tests": ["assert f(object())"]}, "grading task 't7' failed: ValueError: .*what cannot be sent"),
        ({"setup": "import no_such_module"}, "grading task 't7' failed: ValueError: .*No module named"),
    ],
)
def test_broken_tests_of_a_row_are_raised_not_rewarded(play, action_format, change, match):
    task = {**ASSERTED, **change}
    with pytest.raises(EnvError, match=match):
        play("gold", task=task, action_format=action_format, max_attempts=1)


@pytest.mark.parametrize("action_format", ["code_block", "tool"])
def test_grading_that_does_not_end_is_raised_not_rewarded(action_format):
    env = CodeEnv(sandbox=Stuck(), action_format=action_format, max_attempts=1)
    env.work_timeout_s = 0.05
    env.reset(options={"task": TASK, "tool_timeout_s": 0.01})
    with pytest.raises(EnvError, match=r"grading task 'last' did not end within 0\.05 s"):
        asyncio.run(env.step(env.gold_action(TASK)))


class Stuck:
    """A provider that never has a slot."""

    async def run(self, *_, **__):
        await asyncio.sleep(60)


def test_the_timeout_of_tools_bounds_the_agent_s_code():
    provider = FakeProvider()
    env = CodeEnv(sandbox=provider, action_format="tool", test_timeout_s=3.0)
    env.reset(options={"task": TASK, "tool_timeout_s": 0.5})
    asyncio.run(env.step(tool_action(("run_python", {"code": "1"}))))
    assert [call.timeout_s for call in provider.calls] == [0.5]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"action_format": "json"}, "action_format is 'json'; it must be one of code_block, tool"),
        ({"sandbox": "locla"}, "no sandbox provider is called 'locla'; did you mean 'local'"),
        ({"levels": [4]}, r"levels must be some of \[1, 2, 3\], got \[4\]"),
        ({"max_attempts": 0}, "max_attempts is 0; it must be at least 1"),
        ({"test_timeout_s": -1.0}, "test_timeout_s is -1.0; it must be above 0 and at most 604800"),
        ({"test_timeout_s": 1e20}, "test_timeout_s is 1e[+]20; it must be above 0 and at most 604800"),
        ({"test_timeout_s": float("nan")}, "test_timeout_s is nan; it must be above 0"),
        ({"float_tolerance": -1.0}, "float_tolerance is -1.0; it must be at least 0 and below 1"),
        ({"float_tolerance": float("nan")}, "float_tolerance is nan; it must be at least 0"),
        ({"memory_bytes": 256}, "memory_bytes is 256; it must be a whole number from 16777216"),
        ({"split": "half"}, "split is 'half'; it must be one of hash, none"),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        CodeEnv(**settings)


def test_a_row_without_solution_has_no_gold_action():
    with pytest.raises(ValueError, match="task 'last' has no field 'solution'"):
        CodeEnv().gold_action({**TASK, "solution": None})
