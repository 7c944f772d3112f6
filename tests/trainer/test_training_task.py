import pytest
from lazy import Lazy

from grpo_agent.trainer.task import CHECKED_ROWS, carried, checked_tasks


def test_a_lazy_sequence_stays_lazy_and_its_rows_are_named_by_their_content():
    lazy = Lazy(lambda index: {"n": index})
    tasks = checked_tasks(lazy)
    assert lazy.n_made == CHECKED_ROWS
    assert len(tasks) == 100_000
    assert tasks[99_999] == {"n": 99_999, "task_id": tasks[99_999]["task_id"]}
    assert len({task["task_id"] for task in tasks[:50]}) == 50
    assert checked_tasks(Lazy(lambda index: {"n": index + 7}))[3]["task_id"] == tasks[10]["task_id"]


def test_rows_that_have_a_name_keep_it():
    assert checked_tasks([{"task_id": "a"}, {"n": 1}])[0] == {"task_id": "a"}
    assert checked_tasks(Lazy(lambda index: {"task_id": f"t{index}"}))[5] == {"task_id": "t5"}


@pytest.mark.parametrize("at", [0, 3, CHECKED_ROWS - 1])
def test_a_lazy_row_that_is_not_json_is_found(at):
    with pytest.raises(TypeError, match="is not JSON"):
        checked_tasks(Lazy(lambda index: {"value": {1} if index == at else 1}))


def test_every_row_of_a_list_is_checked():
    rows = [{"value": 1} for _ in range(3 * CHECKED_ROWS)]
    assert len({row["task_id"] for row in checked_tasks(rows)}) == len(rows)
    with pytest.raises(TypeError, match="is not JSON"):
        checked_tasks([*rows, {"value": {1}}])


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(ValueError, match="task_id 'a' stands in row 0 and in row 1"):
        checked_tasks([{"task_id": "a"}, {"task_id": "a", "n": 2}])
    with pytest.raises(ValueError, match="task_id 'same' stands in row 0 and in row 1"):
        checked_tasks(Lazy(lambda index: {"task_id": "same"}))


def test_several_splits_are_no_rows():
    with pytest.raises(TypeError, match="the tasks are a dict; they must be the rows of one split"):
        checked_tasks({"train": [{}]})


def test_a_carried_row_is_the_one_that_training_meets():
    assert carried({"task_id": "a", "pair": (1, 2), "by": {1: "x"}}) == {
        "task_id": "a", "pair": [1, 2], "by": {"1": "x"},
    }  # fmt: skip
