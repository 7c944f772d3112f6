"""What the command line does when rows, episodes or surroundings are not as they should be."""

import json
import signal

import pytest
from guess_env import ENV, GUESS, SMALL

from grpo_agent.trainer.command.main import run

NO_EVALUATION = ("eval.before=false", "eval.after=false")


def guess_with(place, *changes):
    """Another `guess.py`: each change is a line and what it becomes."""
    text = GUESS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (place / "guess.py").write_text(text)


TASKS = """
    def tasks(self, split):
        import datetime

        rows = [{"task_id": f"{split}-{n}", "n": n} for n in range(8)]
        return rows if split == "%s" else [*rows, %s]

    def reset(self"""


@pytest.mark.parametrize("good", ["train", "test"])
@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"task_id": "late", "due": datetime.date(2020, 1, 1)}', "task 'late' is not JSON"),
        ('{"task_id": f"{split}-3"}', "stands in row 3 and in row 8"),
        ('"no mapping"', "row 8 is str 'no mapping'; a task is a mapping"),
    ],
)
def test_a_task_row_that_cannot_be_used_is_found_before_anything_runs(
    place, capsys, good, flags, row, message
):
    guess_with(place, ("\n    def reset(self", TASKS % (good, row)))
    assert run([*ENV, *SMALL, *flags]) == 2
    error = capsys.readouterr().err
    assert f"tasks of split {'test' if good == 'train' else 'train'!r}" in error
    assert message in error
    assert not (place / "runs").exists()


def test_an_evaluation_of_unscored_episodes_is_no_evaluation_and_the_fault_says_where_to_look(place, capsys):
    guess_with(place, ("super().reset(seed=seed)", "assert options['task']['task_id'].startswith('train')"))
    assert run([*ENV, "run.name=a", *SMALL, "trainer.max_steps=1", "eval.before=false", "--quiet"]) == 1
    first, *notes = capsys.readouterr().err.splitlines()
    assert first.startswith(
        "error: 6 of 6 episodes were unscored, above the alarm of 25%; most frequent: 6 x"
    )
    assert notes == [
        "the log of the run is runs/a/run.log",
        "report: runs/a/report.html",
        "go on by: grpo-agent train resume=runs/a",
    ]
    folder = place / "runs" / "a"
    assert (folder / "report.html").is_file()
    assert not (folder / "evaluation-after.json").exists()
    assert not (folder / "episodes" / "after.jsonl").exists()


ASKING = """
        global asked
        asked or os.kill(os.getpid(), signal.SIGINT)
        asked = True
        found = re"""


def test_the_first_interrupt_is_answered_and_finishes_the_step(place, capsys):
    guess_with(
        place,
        ("import re", "import os\nimport re\nimport signal\n\nasked = False"),
        ("\n        found = re", ASKING),
    )
    handler = signal.getsignal(signal.SIGINT)
    assert run([*ENV, "run.name=a", *SMALL, "trainer.max_steps=3", *NO_EVALUATION]) == 130
    assert signal.getsignal(signal.SIGINT) is handler
    output = capsys.readouterr().out
    assert "stopping after this step; Ctrl-C again stops at once" in output
    assert "stopped and saved; go on by: grpo-agent train resume=runs/a" in output
    assert (place / "runs" / "a" / "checkpoint-1").is_dir()
    metrics = map(json.loads, (place / "runs" / "a" / "metrics.jsonl").read_text().splitlines())
    assert [row["step"] for row in metrics if "loss" in row] == [1]


COUNTED = """
    def __init__(self):
        with open("count.txt", "a") as file:
            file.write("(")

    %s(self):
        with open("count.txt", "a") as file:
            file.write(")")

    def gold_action(self, task):
        return Action("5")

    def __unused__(self, high=9):"""


@pytest.mark.parametrize("close", ["def close", "async def close"])
def test_every_environment_that_is_made_is_closed(place, close):
    guess_with(
        place,
        ("\n    def __init__(self, high=9):", COUNTED % close),
        ("self.high + 1", "10"),
        ("import Env", "import Action, Env"),
        ('float(right), True, False, {"success": right}', '1.0, True, False, {"success": True}'),
    )
    assert run([*ENV, *SMALL, "--dry-run"]) == 0
    text = (place / "count.txt").read_text()
    assert text.count("(") == text.count(")") >= 4


@pytest.mark.parametrize("argv", [[*ENV, *SMALL], ["eval", *ENV[1:], *SMALL]])
def test_one_of_several_processes_of_a_launcher_is_refused(place, capsys, monkeypatch, argv):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert run(argv) == 2
    assert "a launcher started 2 (WORLD_SIZE)" in capsys.readouterr().err
    assert not (place / "runs").exists()
