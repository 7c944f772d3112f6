import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.envs.task import load_rows, map_fields, map_rows, task_id, with_task_ids

ROWS = [{"question": "1+1?", "answers": [{"text": "2"}]}, {"question": "2+2?", "answers": [{"text": "4"}]}]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def write_parquet(path: Path) -> Path:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    return path


def test_rows_are_read_from_jsonl_json_and_parquet(tmp_path: Path) -> None:
    lines = "\n\n".join(json.dumps(row) for row in ROWS) + "\n"
    assert load_rows(write(tmp_path / "a.jsonl", "\ufeff" + lines)) == ROWS
    assert load_rows(str(write(tmp_path / "a.json", json.dumps(ROWS)))) == ROWS
    assert load_rows(write_parquet(tmp_path / "a.parquet")) == ROWS


def test_csv_values_are_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'question,answer\n"1, or\n2?",007\n')
    assert load_rows(path) == [{"question": "1, or\n2?", "answer": "007"}]


def test_splits_are_files_of_a_folder_or_keys_of_an_object(tmp_path: Path) -> None:
    write(tmp_path / "test.jsonl", json.dumps(ROWS[1]))
    write(tmp_path / "both.json", json.dumps({"train": ROWS[:1], "test": ROWS[1:]}))
    assert load_rows(tmp_path, "test") == ROWS[1:]
    assert load_rows(tmp_path / "both.json", "test") == ROWS[1:]


def test_rows_are_returned_as_they_are() -> None:
    assert load_rows(ROWS) is ROWS


def test_a_line_separator_inside_a_string_does_not_split_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", json.dumps({"q": "a\u2028b\x85c"}, ensure_ascii=False))
    assert load_rows(path) == [{"q": "a\u2028b\x85c"}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"q": 1}\n{"q": \n', r"a.jsonl line 2 is not JSON .*'\{\"q\": '"),
        ("a.jsonl", "[1]\n", r"a.jsonl line 1 is list \[1\]; a task is a JSON object"),
        ("a.jsonl", "\n", "a.jsonl holds no task rows"),
        ("a.json", "3", "a.json holds int; it must be a list"),
        ("a.json", '{"test": []}', r"a.json has no key 'train', the split \(keys: test\)"),
        ("a.csv", "a,b\n1\n", "a.csv row 0 has not as many values"),
        ("a.parquet", "no", "a.parquet is not readable as Parquet"),
        ("a.yaml", "", "a.yaml is not a task file; it must end in .jsonl, .parquet, .csv, .json"),
    ],
)
def test_unreadable_files_say_where_and_why(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(ValueError, match=message):
        load_rows(path)


def test_missing_files_and_splits_name_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", "{}")
    with pytest.raises(ValueError, match=r"no task file .*trian.jsonl \(did you mean 'train.jsonl'\?\)"):
        load_rows(tmp_path / "trian.jsonl")
    with pytest.raises(ValueError, match=r"no file for split 'test' \(task files: train.jsonl\)"):
        load_rows(tmp_path, "test")


def test_bytes_that_are_not_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe{")
    with pytest.raises(ValueError, match="not readable as UTF-8"):
        load_rows(tmp_path / "a.jsonl")


def test_fields_are_mapped_by_jmespath_and_the_others_stay() -> None:
    mapped = map_rows(ROWS, {"prompt": "question", "answer": "answers[0].text", "kind": "'sum'"})
    assert mapped[0] == {**ROWS[0], "prompt": "1+1?", "answer": "2", "kind": "sum"}
    assert "prompt" not in ROWS[0]


def test_an_optional_field_that_is_null_is_left_out() -> None:
    assert map_fields({"a": 1}, {"level": "difficulty"}, optional=["level"]) == {"a": 1}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "qestion",
            r"fields.prompt='qestion' gives null in row 0 \(did you mean 'question'\?\); the row has: ",
        ),
        (
            "answers[0",
            "fields.prompt='answers\\[0' is not usable in row 0: .*; the row has: question, answers",
        ),
        ("length(`1`)", "is not usable in row 0: .*length"),
        (3, "fields.prompt is 3; it must be a jmespath expression"),
    ],
)
def test_wrong_expressions_name_row_field_and_keys(expression: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        map_rows(ROWS, {"prompt": expression})


def test_a_rows_own_name_wins() -> None:
    assert task_id({"task_id": "HumanEval/0"}, 5) == "HumanEval/0"
    assert task_id({"task_id": 7}, 5) == "7"


@given(
    st.dictionaries(st.text(), st.integers() | st.text() | st.lists(st.floats())),
    st.integers(0),
    st.integers(0),
)
def test_a_name_is_made_of_content_alone(row: dict[str, Any], one: int, other: int) -> None:
    row.pop("task_id", None)
    shuffled = dict(reversed(row.items()))
    assert task_id(row, one) == task_id(shuffled, other)


def test_a_row_that_json_cannot_hold_is_named_by_position() -> None:
    assert task_id({"image": object()}, 4) == "row-4"


@pytest.mark.parametrize("own", ["", " ", True, 1.5, []])
def test_a_name_must_be_text_or_a_whole_number(own: object) -> None:
    with pytest.raises(ValueError, match=r"task_id in row 3 is .*must be text or a whole number"):
        task_id({"task_id": own}, 3)


def test_equal_rows_get_different_names_and_equal_names_are_refused() -> None:
    named = with_task_ids([{"q": 1}, {"q": 1}, {"q": 2}])
    assert len({row["task_id"] for row in named}) == 3
    with pytest.raises(ValueError, match="task_id 'a' stands in row 0 and in row 1"):
        with_task_ids([{"task_id": "a"}, {"task_id": "a"}])


def test_a_name_that_is_neither_file_nor_dataset_is_refused() -> None:
    with pytest.raises(ValueError, match="'no-such/data' is neither a task file nor a dataset"):
        load_rows("no-such/data")
