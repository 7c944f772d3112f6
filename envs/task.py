"""Task rows: reading them from files or the hub, renaming their fields, naming them.

A row is a JSON-able mapping. `task_id` (text) names it; `level` and `family` group it; the rest is
what its environment needs.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from .core import Task
from .nearest import did_you_mean, listed

Row = dict[str, Any]  # Any: JSON


def load_rows(source: str | Path | Sequence[Task], split: str = "train") -> Sequence[Task]:
    """Read task rows.

    Args:
        source: a `.jsonl`, `.json`, `.parquet` or `.csv` file (values of CSV are text); a folder with
            one such file per split; the name of a dataset on the hub, with `:config` if it has several;
            or rows, which are returned as they are.
        split: picks the file of a folder, the key of a JSON object, or the split of a hub dataset. Files
            of rows have no splits.

    Raises:
        ValueError: the source is missing, unreadable, empty, or has no such split.
    """
    if not isinstance(source, str | Path):
        return source
    path = Path(source).expanduser()
    if path.is_dir():
        path = _file_of_split(path, split)
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        if path.exists() or isinstance(source, Path):
            raise ValueError(f"{path} is not a task file; it must end in {listed(_SUFFIXES)}")
        return _load_hub(source, split)
    if not path.is_file():
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*") if p.suffix in _SUFFIXES])
        raise ValueError(f"there is no task file {path}{near}")
    rows = _read_json(path, split) if suffix == ".json" else _READERS[suffix](path)
    if not rows:
        raise ValueError(f"{path} holds no task rows")
    return rows


def map_fields(
    row: Task, fields: Mapping[str, str], *, index: int | None = None, optional: Collection[str] = ()
) -> Row:
    """Add fields to a row, each computed from the row by a jmespath expression.

    Args:
        row: stays as it is; the result holds its fields too.
        fields: field name to expression, e.g. `{"prompt": "question", "answer": "solutions[0].text"}`.
        index: position of the row, for messages.
        optional: fields that may come out as null; they are then left out.

    Raises:
        ValueError: an expression is malformed, fails, or gives null for a field that is not optional.
    """
    mapped: Row = dict(row)
    for name, expression in fields.items():
        value = _search(name, expression, row, index)
        if value is not None:
            mapped[name] = value
        elif name in optional:
            mapped.pop(name, None)
        else:
            raise ValueError(
                f"fields.{name}={expression!r} gives null{_at(index)}"
                f"{did_you_mean(expression, row)}; the row has: {listed(row)}"
            )
    return mapped


def map_rows(rows: Sequence[Task], fields: Mapping[str, str], *, optional: Collection[str] = ()) -> list[Row]:
    """`map_fields` over all rows.

    Raises:
        ValueError: as `map_fields`, with the number of the row.
    """
    return [map_fields(row, fields, index=index, optional=optional) for index, row in enumerate(rows)]


def task_id(row: Task, index: int) -> str:
    """The row's own `task_id`, else a name made of its content.

    Equal content gives an equal name in every run, whatever the order of the rows. A row that JSON
    cannot hold is named by its position.

    Raises:
        ValueError: the row's own `task_id` is empty or not text or a whole number.
    """
    own = row.get("task_id")
    if own is not None:
        if isinstance(own, bool) or not isinstance(own, str | int) or not str(own).strip():
            raise ValueError(f"task_id{_at(index)} is {own!r}; it must be text or a whole number")
        return str(own)
    try:
        content = json.dumps(dict(row), sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError):
        return f"row-{index}"
    return f"task-{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def with_task_ids(rows: Sequence[Task]) -> list[Row]:
    """Rows that all have a `task_id` of their own; rows of equal content are numbered.

    Raises:
        ValueError: two rows give the same `task_id`.
    """
    seen: dict[str, int] = {}
    named: list[Row] = []
    for index, row in enumerate(rows):
        name = task_id(row, index)
        if name in seen and row.get("task_id") is not None:
            raise ValueError(f"task_id {name!r} stands in row {seen[name]} and in row {index}")
        unique = name if name not in seen else f"{name}-{index}"
        seen[unique] = index
        named.append({**row, "task_id": unique})
    return named


def has_splits(source: str | Path | Sequence[Task]) -> bool:
    """Whether a source tells its splits apart: a folder, a JSON object, or a dataset on the hub.

    Raises:
        ValueError: a JSON file is unreadable.
    """
    if not isinstance(source, str | Path):
        return False
    path = Path(source).expanduser()
    if path.is_dir() or path.suffix.lower() not in _SUFFIXES:
        return True
    return path.suffix.lower() == ".json" and isinstance(_decode(_text(path), str(path)), dict)


def is_held_out(row: Task, index: int) -> bool:
    """Whether a row is one of the fifth that is set apart for testing.

    Decided by its `task_id` alone (see `task_id`), so that rows added later move no other from one side to
    the other, and rows of equal content stay together.

    Raises:
        ValueError: as `task_id`.
    """
    digest = hashlib.sha256(task_id(row, index).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) < 2**64 // 5


def _search(name: str, expression: str, row: Task, index: int | None) -> Any:  # Any: JSON
    if not isinstance(expression, str):
        raise ValueError(
            f"fields.{name} is {expression!r}; it must be a jmespath expression, e.g. fields.{name}=question"
        )
    try:
        return jmespath.search(expression, row)
    except JMESPathError as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise ValueError(
            f"fields.{name}={expression!r} is not usable{_at(index)}: {reason}; the row has: {listed(row)} "
            "(write keys that hold other characters than letters, digits and _ in double quotes)"
        ) from error


def _at(index: int | None) -> str:
    return "" if index is None else f" in row {index}"


def _file_of_split(folder: Path, split: str) -> Path:
    for suffix in _SUFFIXES:
        if (folder / f"{split}{suffix}").is_file():
            return folder / f"{split}{suffix}"
    found = sorted(path.name for path in folder.iterdir() if path.suffix in _SUFFIXES)
    raise ValueError(f"folder {folder} has no file for split {split!r} (task files: {listed(found)})")


def _read_jsonl(path: Path) -> list[Task]:
    rows = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            rows.append(_checked_row(_decode(line, f"{path} line {number}"), f"{path} line {number}"))
    return rows


def _read_json(path: Path, split: str) -> list[Task]:
    data = _decode(_text(path), str(path))
    if isinstance(data, dict):
        if split not in data:
            raise ValueError(f"{path} has no key {split!r}, the split (keys: {listed(data)})")
        data = data[split]
    if not isinstance(data, list):
        raise ValueError(f"{path} holds {type(data).__name__}; it must be a list of objects, one a task")
    return [_checked_row(row, f"{path} row {index}") for index, row in enumerate(data)]


def _read_csv(path: Path) -> list[Task]:
    rows: list[Task] = []
    for row in csv.DictReader(_text(path).splitlines(keepends=True)):
        if None in row or None in row.values():
            raise ValueError(f"{path} row {len(rows)} has not as many values as the header: {row!r:.200}")
        rows.append(row)
    return rows


def _read_parquet(path: Path) -> list[Task]:
    from pyarrow import ArrowException, parquet

    try:
        rows: list[Task] = parquet.read_table(path).to_pylist()
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not readable as Parquet: {error}") from error
    return rows


_READERS: Mapping[str, Callable[[Path], list[Task]]] = {
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".csv": _read_csv,
}
_SUFFIXES = (*_READERS, ".json")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not readable as UTF-8 text: {error}") from error


def _decode(text: str, place: str) -> Any:  # Any: JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not JSON ({error}): {text[:80]!r}") from error


def _checked_row(row: object, place: str) -> Task:
    if not isinstance(row, dict):
        raise ValueError(f"{place} is {type(row).__name__} {row!r:.80}; a task is a JSON object")
    return row


def _load_hub(name: str, split: str) -> Sequence[Task]:
    import datasets

    dataset, _, config = name.partition(":")
    try:
        rows: Sequence[Task] = datasets.load_dataset(dataset, config or None, split=split)
    except (ValueError, OSError) as error:  # datasets' own errors are subclasses of these
        reason = str(error).strip().split("\n")[0]
        raise ValueError(
            f"{name!r} is neither a task file nor a dataset that can be loaded (split {split!r}): {reason}"
        ) from error
    return rows
