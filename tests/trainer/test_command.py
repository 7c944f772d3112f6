import json
import subprocess
import sys
import time

import pytest
import yaml
from guess_env import ENV, GUESS, SMALL

from grpo_agent.trainer.command.argument import parse
from grpo_agent.trainer.command.main import COMMANDS, run
from grpo_agent.trainer.command.table import evaluation_table
from grpo_agent.trainer.errors import UserError


def steps(place, name):
    rows = map(json.loads, (place / "runs" / name / "metrics.jsonl").read_text().splitlines())
    return [row["step"] for row in rows if "loss" in row]


def test_train_goes_from_evaluation_to_report_and_resumes(place, capsys):
    command = [*ENV, "run.name=first", *SMALL]
    assert run([*command, "trainer.max_steps=2"]) == 0
    folder = place / "runs" / "first"
    assert steps(place, "first") == [1, 2]
    assert (folder / "checkpoint-2").is_dir()
    assert (folder / "report.html").is_file()
    assert len((folder / "episodes" / "train.jsonl").read_text().splitlines()) == 8
    assert yaml.safe_load((folder / "recipe.yaml").read_text())["model"]["name"] == "tiny"
    assert "report: runs/first/report.html" in capsys.readouterr().out

    assert run([*command, "trainer.max_steps=2"]) == 2
    assert "exists already" in capsys.readouterr().err

    assert run(["train", "resume=runs/first", "trainer.max_steps=3", "--quiet"]) == 0
    assert steps(place, "first") == [1, 2, 3]


def test_a_run_that_is_done_is_not_trained_further_by_resuming(place):
    assert run([*ENV, "run.name=a", *SMALL, "trainer.max_steps=1", "eval.after=false"]) == 0
    assert run(["train", "resume=runs/a", "eval.after=true"]) == 0
    assert steps(place, "a") == [1]
    assert (place / "runs" / "a" / "evaluation-after.json").is_file()
    episodes = place / "runs" / "a" / "episodes" / "after.jsonl"
    assert len(episodes.read_text().splitlines()) == 6
    episodes.unlink()
    assert run(["train", "resume=runs/a"]) == 0
    assert not episodes.exists(), "it was held at this step already"


def test_eval_takes_a_run_as_model_and_writes_figures(place, capsys):
    untested = ("eval.before=false", "eval.after=false")
    assert run([*ENV, "run.name=a", *SMALL, "trainer.max_steps=1", *untested]) == 0
    assert not list((place / "runs" / "a").glob("evaluation-*"))
    assert run(["eval", "env=guess.py:GuessNumber", "model=runs/a", *SMALL]) == 0
    figures = json.loads((place / "runs" / "guessnumber-eval-1" / "evaluation-eval.json").read_text())
    assert (figures["episodes"], sorted(figures["pass_at"])) == (6, ["1", "2"])
    assert "pass@1" in capsys.readouterr().out


def test_dry_run_plays_a_batch_and_leaves_no_run(place, capsys):
    assert run([*ENV, *SMALL, "--dry-run"]) == 0
    assert "2 played without a fault" in capsys.readouterr().out
    assert not (place / "runs").exists()


def test_dry_run_finds_an_environment_that_breaks(place, capsys):
    (place / "bad.py").write_text(GUESS.replace('found = re.search("[0-9]", action.text)', "1 / 0"))
    assert run(["train", "env=bad.py:GuessNumber", "model=tiny", *SMALL, "--dry-run"]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_cfg_prints_the_resolved_recipe_and_nothing_else(capsys):
    assert run(["train", "env=code", "env.levels=[2]", "--cfg"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["env"]["levels"] == [2]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["trian"], "did you mean 'train'"),
        (["train"], "no environment is named"),
        (["train", "env=cod"], "did you mean 'code'"),
        (["train", "env=code", "env.levls=[1]"], "did you mean 'levels'"),
        (["train", "env=code", "trainer.learning_rat=1"], "did you mean 'learning_rate'"),
        (["train", "env=code", "sandbox=locl"], "did you mean 'local'"),
        (["train", "env=code", "model=./nowhere"], "there is no model at ./nowhere"),
        (["train", "env=nowhere.py:X"], "there is no file"),
        (["train", "env=code", "--dryrun"], "did you mean '--dry-run'"),
        (["train", "a.yaml", "b.yaml"], "two recipes are given"),
        (["train", "env=guess.py:Gues", "model=tiny"], "GuessNumber"),
        ([*ENV, "env.low=1"], "no setting 'low'"),
        (
            ["train", "env=guess.py:GuessNumber", "model=tiny", "chat.template=none.jinja"],
            "chat.template=none.jinja",
        ),
        (["train", "env=guess.py:GuessNumber", "model=tiny", "chat.format=hermse"], "did you mean 'hermes'"),
        (["envs", "cod"], "did you mean 'code'"),
        ([*ENV, "model.lora={rank: 4}"], "model.lora: "),
        ([*ENV, "model.lora={rank: 4}", "--dry-run"], "model.lora: "),
        ([*ENV, "trainer.num_generations=0"], "trainer.num_generations is 0; it must be at least 1"),
        (["eval", "resume=old"], "grpo-agent eval env=guess.py:GuessNumber model=old"),
    ],
)
def test_what_the_user_got_wrong_is_one_line_and_code_2(place, capsys, argv, message):
    (place / "old").mkdir()
    (place / "old" / "recipe.yaml").write_text("env: guess.py:GuessNumber\n")
    assert run(argv) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ")
    assert message in error
    assert "\n" not in error
    assert not (place / "runs").exists()


def test_a_bug_shows_its_traceback_and_the_log(place, capsys):
    (place / "buggy.py").write_text(GUESS.replace("self.high = high", "1 / 0"))
    assert run(["train", "env=buggy.py:GuessNumber", "model=tiny", *SMALL]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_interrupted_is_130(monkeypatch, capsys):
    def interrupt(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr("grpo_agent.trainer.command.envs.run", interrupt)
    assert run(["envs"]) == 130


@pytest.mark.parametrize(
    "argv", [["--help"], [], ["train", "--help"], ["eval", "-h"], ["envs", "--help"], ["--version"]]
)
def test_help_is_given(argv, capsys):
    assert run(argv) == 0
    assert capsys.readouterr().out.strip()


def test_help_of_train_tells_every_key(capsys):
    run(["train", "--help"])
    text = capsys.readouterr().out
    for key in ("limits.max_turns", "trainer", "eval.samples", "resume", "env=code"):
        assert key in text


def test_every_command_is_there():
    for name in COMMANDS:
        assert run([name, "--help"]) == 0


def test_envs_lists_code(capsys):
    assert run(["envs"]) == 0
    assert "code" in capsys.readouterr().out
    assert run(["envs", "code"]) == 0
    assert "env.levels" in capsys.readouterr().out


def test_arguments_are_taken_apart():
    made = parse(["mine.yaml", "a=1", "~b", "--cfg"], ("--cfg",))
    assert (made.recipe, made.overrides, made.flags) == ("mine.yaml", ("a=1", "~b"), {"--cfg"})
    with pytest.raises(UserError, match="unknown flag --x"):
        parse(["--x"], ("--cfg",))


def test_table_has_a_column_for_each_evaluation():
    figures = {
        "pass_at": {}, "reward": None, "by_level": {},
        "stop_reasons": {"failed": 1}, "failures": {"sandbox": 1},
        "turns": 0.0, "sampled_tokens": 0.0, "episodes": 1, "tasks": 0, "unscored": 1, "wall_s": 1.0,
    }  # fmt: skip
    assert [column.header for column in evaluation_table({"before": figures, "after": figures}).columns] == [
        "", "before", "after",
    ]  # fmt: skip


def test_help_costs_little_more_than_a_bare_interpreter():
    def best(*argv):
        times = []
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run([sys.executable, *argv], check=True, capture_output=True, timeout=60)
            times.append(time.perf_counter() - started)
        return min(times)

    # A machine at work elsewhere doubles both, so the bound is twice the one that a quiet machine keeps.
    assert best("-m", "grpo_agent", "--help") - best("-c", "pass") < 0.5
