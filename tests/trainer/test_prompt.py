import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.trainer.grpo import task_dataset
from grpo_agent.trainer.prompt import to_prompt, to_task

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ROWS = st.dictionaries(st.text(min_size=1), VALUES, max_size=4)


@given(ROWS)
def test_a_row_survives_its_prompt(row):
    assert to_task(to_prompt(row)) == row


def test_rows_of_different_fields_survive_a_dataset():
    rows = [{"task_id": "a", "tests": [[1, "x"]]}, {"task_id": "b", "answer": {"n": 1}}]
    dataset = task_dataset(rows)
    assert [to_task(row["prompt"]) for row in dataset] == rows


def test_a_row_without_a_name_gets_one():
    tasks = [to_task(row["prompt"]) for row in task_dataset([{"answer": 1}, {"task_id": None}])]
    assert [task["task_id"] for task in tasks] == ["task-0", "task-1"]


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="there are no tasks"):
        task_dataset([])


def test_text_that_is_not_unicode_survives_a_dataset():
    row = {"task_id": "a", "prompt": "half a pair: \ud800"}
    assert to_task(task_dataset([row])[0]["prompt"]) == row


def test_one_name_for_rows_that_differ_is_refused_and_equal_rows_are_met_more_often():
    assert len(task_dataset([{"task_id": "a"}, {"task_id": "a"}])) == 2
    with pytest.raises(ValueError, match="task_id 'a' stands for two rows that differ"):
        task_dataset([{"task_id": "a"}, {"task_id": "a", "n": 1}])


def test_a_row_that_json_cannot_hold_is_named():
    with pytest.raises(TypeError, match=r"task 'a' is not JSON .*date.*; use text"):
        to_prompt({"task_id": "a", "day": datetime.date(2026, 1, 1)})


@pytest.mark.parametrize("prompt", ["What is 2 + 2?", [{"role": "user", "content": "What is 2 + 2?"}]])
def test_a_prompt_of_a_users_own_dataset_becomes_a_task(prompt):
    task = to_task(prompt)
    assert task["prompt"] == prompt
    assert task == to_task(prompt)
    assert task["task_id"] != to_task("another")["task_id"]


@pytest.mark.parametrize("prompt", [3, [], ["text"], None])
def test_what_is_no_prompt_is_refused(prompt):
    with pytest.raises(ValueError, match="a prompt is text or a list of chat messages"):
        to_task(prompt)


def test_a_task_that_is_no_mapping_is_refused():
    with pytest.raises(ValueError, match="must be a JSON mapping, got '3'"):
        to_task([{"role": "user", "content": "", "task": "3"}])
