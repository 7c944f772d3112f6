"""A run's folder: everything about a run in files that need no server to read.

    runs/<name>/
        recipe.yaml             the resolved recipe
        metrics.jsonl           one line a log entry or batch
        episodes/<phase>.jsonl  one line an episode; phases: before, train, while-training, after, eval
        evaluation-<phase>.json figures of an evaluation
        checkpoint-<step>/      written by the trainer
        report.html
        run.log                 log records and warnings of the libraries

Lines are written whole and flushed; a last line torn by a crash is passed over when reading.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..agents.core import Episode
from .errors import RunError

Row = dict[str, Any]  # Any: JSON


class RunFolder:
    """One run's folder. Make it with `create`, or `open` if it exists."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, folder: Path, name: str | None, stem: str) -> RunFolder:
        """Make a new run's folder.

        Args:
            folder: holds the runs.
            name: of the run; `None` takes the first free of `stem-1`, `stem-2`, ...
            stem: begin of a name that is made up.

        Raises:
            RunError: the run exists already, or the folder cannot be made.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if name is None:
                return cls(_first_free(folder, stem))
            (folder / name).mkdir()
        except FileExistsError as error:
            raise RunError(
                f"the run {folder / (name or '')} exists already; go on with it by "
                f"resume={folder / (name or '')}, or take another name, "
                f"e.g. run.name={_free_name(folder, name or stem)}"
            ) from error
        except OSError as error:
            raise RunError(f"cannot make a run's folder in {folder}: {error.strerror or error}") from error
        return cls(folder / name)

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """The folder of a run that exists.

        Raises:
            RunError: it does not.
        """
        if not (Path(path) / "recipe.yaml").is_file():
            raise RunError(f"{path} is not the folder of a run: it holds no recipe.yaml")
        return cls(Path(path))

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.path.name

    @property
    def log_path(self) -> Path:
        """Where log records and warnings go."""
        return self.path / "run.log"

    @property
    def report_path(self) -> Path:
        """The report."""
        return self.path / "report.html"

    def write_recipe(self, text: str) -> None:
        """Write the resolved recipe."""
        (self.path / "recipe.yaml").write_text(text, encoding="utf-8")

    def read_recipe(self) -> str:
        """The resolved recipe as YAML."""
        return (self.path / "recipe.yaml").read_text(encoding="utf-8")

    def append_metrics(self, row: Mapping[str, Any]) -> None:  # Any: JSON
        """Add a line to `metrics.jsonl`."""
        _append(self.path / "metrics.jsonl", [row])

    def read_metrics(self) -> Iterator[Row]:
        """The lines of `metrics.jsonl`."""
        return read_lines(self.path / "metrics.jsonl")

    def append_episodes(self, phase: str, episodes: Iterable[Episode], step: int) -> None:
        """Add episodes to those of `phase`.

        Args:
            phase: before, train, after or eval.
            episodes: finished ones.
            step: optimizer steps taken before them.
        """
        _append(self._episodes_path(phase), (episode_row(episode, step) for episode in episodes))

    def write_episodes(self, phase: str, episodes: Iterable[Episode], step: int) -> None:
        """Write the episodes of `phase` in place of any it had; see `append_episodes`."""
        path = self._episodes_path(phase)
        _replace(path, (episode_row(episode, step) for episode in episodes))

    def read_episodes(self, phase: str) -> Iterator[Row]:
        """The episodes of `phase`, in the order written; none if there are none."""
        return read_lines(self._episodes_path(phase))

    def _episodes_path(self, phase: str) -> Path:
        return self.path / "episodes" / f"{phase}.jsonl"

    def rewind(self, step: int) -> None:
        """Forget what was recorded of training after `step`, before a run goes on from there."""
        for path, kept in (
            (self.path / "metrics.jsonl", step),
            (self._episodes_path("train"), step - 1),
            (self._episodes_path("while-training"), step),
        ):
            if path.is_file():
                _replace(path, [row for row in read_lines(path) if row.get("step", 0) <= kept])

    def write_evaluation(self, phase: str, figures: Mapping[str, Any]) -> None:  # Any: JSON
        """Write the figures of an evaluation, whole or not at all."""
        path = self.path / f"evaluation-{phase}.json"
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(_plain(figures), indent=2) + "\n", encoding="utf-8")
        partial.replace(path)

    def read_evaluation(self, phase: str) -> Row | None:
        """The figures of an evaluation, or `None` if it was not held."""
        path = self.path / f"evaluation-{phase}.json"
        if not path.is_file():
            return None
        figures: Row = json.loads(path.read_text(encoding="utf-8"))
        return figures


def episode_row(episode: Episode, step: int) -> Row:
    """An episode as one JSON object."""
    tokens, failure, timings = episode.tokens, episode.failure, episode.timings
    row: Row = {
        "step": step,
        "task_id": episode.task_id,
        "sample": episode.sample,
        "seed": episode.seed,
        "reward": episode.reward,
        "success": episode.is_success,
        "stop_reason": str(episode.stop_reason),
        "failure": None
        if failure is None
        else {"kind": str(failure.kind), "stage": str(failure.stage), "message": failure.message},
        "attempts": episode.attempts,
        "task": dict(episode.task),
        "messages": list(episode.messages),
        "tools": list(episode.tools),
        "info": dict(episode.info),
        "turns": [{name: getattr(turn, name) for name in turn.__slots__} for turn in episode.turns],
        "timings": {name: getattr(timings, name) for name in timings.__slots__},
    }
    if tokens is not None:
        row |= {
            "prompt_ids": list(tokens.prompt_ids),
            "completion_ids": list(tokens.completion_ids),
            "env_mask": list(tokens.env_mask),
            "logprobs": [round(logprob, 6) for logprob in tokens.logprobs],
        }
    return row


def read_lines(path: Path) -> Iterator[Row]:
    """The JSON objects of a file, one a line; none if there is no file.

    Raises:
        RunError: a line other than the last is not JSON.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except ValueError as error:
                if line.endswith("\n"):
                    raise RunError(f"line {number} of {path} is not JSON: {error}") from error
                return


def _append(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:  # Any: JSON
    text = "".join(json.dumps(_plain(row), ensure_ascii=False) + "\n" for row in rows)
    path.parent.mkdir(exist_ok=True)
    _end_torn_line(path)
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _replace(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:  # Any: JSON
    partial = path.with_suffix(".part")
    partial.unlink(missing_ok=True)
    _append(partial, rows)
    partial.replace(path)


def _end_torn_line(path: Path) -> None:
    """Cut off a last line that a crash left incomplete, so that the next one stands alone."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    with path.open("r+b") as file:
        file.seek(-1, 2)
        if file.read(1) == b"\n":
            return
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def _plain(value: Any) -> Any:  # Any: whatever environments put into rows and infos
    """A value as JSON takes it; what JSON cannot hold becomes its text, a number not finite null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _plain(value.item()) if hasattr(value, "item") and callable(value.item) else repr(value)


def _first_free(folder: Path, stem: str) -> Path:
    while True:
        path = folder / _free_name(folder, stem)
        try:
            path.mkdir()
        except FileExistsError:
            continue  # another process took it meanwhile
        return path


def _free_name(folder: Path, stem: str) -> str:
    number = 1
    while (folder / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"
