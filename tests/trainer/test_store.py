import json
import math

import numpy as np
import pytest

from grpo_agent.agents.core import Episode, StopReason, Turn
from grpo_agent.agents.tokenlog import TokenLog
from grpo_agent.trainer.errors import RunError
from grpo_agent.trainer.store import RunFolder, read_lines


def episode(**changes):
    log = TokenLog([1, 2])
    log.append_sampled([3, 4], [-0.5, -0.25])
    log.append_env([5])
    fields = {
        "task": {"task_id": "a", "level": np.int64(2)},
        "task_id": "a",
        "sample": 1,
        "seed": 7,
        "messages": ({"role": "user", "content": "hi"},),
        "tools": (),
        "tokens": log,
        "turns": (Turn(0, 2, "stop", 1.0),),
        "reward": 1.0,
        "stop_reason": StopReason.TERMINATED,
        "info": {"object": object(), "nan": math.nan},
    }
    return Episode(**{**fields, **changes})


@pytest.fixture
def run(tmp_path):
    made = RunFolder.create(tmp_path, "mine", "code")
    made.write_recipe("env: {name: code}\n")
    return made


def test_names_that_are_made_up_count_on(tmp_path):
    assert [RunFolder.create(tmp_path / "runs", None, "code").name for _ in range(3)] == [
        "code-1",
        "code-2",
        "code-3",
    ]


def test_an_existing_run_is_never_overwritten(run, tmp_path):
    with pytest.raises(RunError, match=r"exists already; go on with it by resume=.*mine.*run.name=mine-1"):
        RunFolder.create(tmp_path, "mine", "code")


def test_a_folder_without_recipe_is_no_run(tmp_path):
    with pytest.raises(RunError, match=r"holds no recipe\.yaml"):
        RunFolder.open(tmp_path)


def test_an_episode_comes_back_whole(run):
    run.append_episodes("train", [episode()], 3)
    (row,) = RunFolder.open(run.path).read_episodes("train")
    assert (row["step"], row["task_id"], row["sample"], row["seed"]) == (3, "a", 1, 7)
    assert (row["prompt_ids"], row["completion_ids"], row["env_mask"]) == ([1, 2], [3, 4, 5], [1, 1, 0])
    assert row["logprobs"] == [-0.5, -0.25, 0.0]
    assert row["messages"] == [{"role": "user", "content": "hi"}]
    assert row["turns"][0]["finish_reason"] == "stop"
    assert row["task"]["level"] == 2
    assert row["info"]["nan"] is None


def test_what_breaks_utf8_is_stored(run):
    run.append_episodes("train", [episode(messages=({"role": "user", "content": "\ud800 \u202e"},))], 0)
    assert len(list(run.read_episodes("train"))) == 1


def test_a_torn_last_line_is_passed_over_and_the_next_stands_alone(run):
    run.append_metrics({"step": 1})
    path = run.path / "metrics.jsonl"
    with path.open("a") as file:
        file.write('{"step": 2, "lo')
    assert list(run.read_metrics()) == [{"step": 1}]
    run.append_metrics({"step": 3})
    assert list(run.read_metrics()) == [{"step": 1}, {"step": 3}]


def test_a_broken_line_in_the_middle_is_an_error(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\nnonsense\n{"a": 2}\n')
    with pytest.raises(RunError, match="line 2 of"):
        list(read_lines(tmp_path / "x.jsonl"))


def test_a_number_that_is_not_finite_is_still_json(run):
    run.append_metrics({"step": 1, "episode/reward": math.nan})
    text = (run.path / "metrics.jsonl").read_text()
    assert json.loads(text, parse_constant=pytest.fail) == {"step": 1, "episode/reward": None}


def test_rewinding_forgets_what_the_checkpoint_does_not_know(run):
    for step in (1, 2, 3):
        run.append_episodes("train", [episode()], step - 1)
        run.append_metrics({"step": step})
        run.append_episodes("while-training", [episode()], step)
    run.rewind(2)
    assert [row["step"] for row in run.read_episodes("while-training")] == [1, 2]
    assert [row["step"] for row in run.read_metrics()] == [1, 2]
    assert [row["step"] for row in run.read_episodes("train")] == [0, 1]


def test_an_evaluation_is_read_back_or_absent(run):
    assert run.read_evaluation("before") is None
    run.write_evaluation("before", {"tasks": 3})
    assert run.read_evaluation("before") == {"tasks": 3}
    assert not list(run.path.glob("*.part"))


def test_an_evaluation_held_again_replaces_its_episodes(run):
    run.write_episodes("after", [episode(), episode()], 5)
    run.write_episodes("after", [episode()], 6)
    assert [row["step"] for row in run.read_episodes("after")] == [6]
