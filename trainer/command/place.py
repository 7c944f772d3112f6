"""What a command takes from its surroundings: environment variables, and the manners of libraries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ..errors import TrainerError, UserError
from .argument import Arguments

if TYPE_CHECKING:
    from ..progress import Mode
    from ..store import RunFolder


def cache_dir() -> Path:
    """Where converted models are kept: `$XDG_CACHE_HOME/grpo-agent`, else `~/.cache/grpo-agent`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "grpo-agent"


def quiet_libraries() -> None:
    """Switch off the bars and advice that libraries print among a command's own output.

    To be called before they are imported.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def refuse_launcher(command: str) -> None:
    """Refuse to be one of several processes: each would make a run of its own.

    Raises:
        UserError: a launcher such as torchrun or accelerate started this process beside others.
    """
    count = os.environ.get("WORLD_SIZE", "1")
    if count.isdigit() and int(count) > 1:
        raise UserError(
            f"grpo-agent {command} runs as one process, but a launcher started {count} (WORLD_SIZE); "
            "several work by the Python API: a script of yours with build_trainer and train"
        )


@contextmanager
def faults_noted(run: RunFolder, command: str | None = None) -> Iterator[None]:
    """Add to what goes wrong within where to look further: log, report, and how to go on.

    Args:
        run: its folder.
        command: what goes on from a checkpoint, if there is one; `None` if nothing does.
    """
    from ..callback import latest_checkpoint
    from ..report import write_report

    try:
        yield
    except Exception as error:
        error.add_note(f"the log of the run is {run.log_path}")
        with suppress(OSError, ValueError, TypeError, LookupError, TrainerError):  # the fault comes first
            error.add_note(f"report: {write_report(run)}")
        if command is not None and latest_checkpoint(run.path) is not None:
            error.add_note(f"go on by: {command}")
        raise


def screen_mode(arguments: Arguments, console: Console) -> Mode:
    """How progress is shown: nothing if asked, a live screen on a terminal, else plain lines."""
    if "--quiet" in arguments.flags:
        return "quiet"
    return "live" if console.is_terminal else "lines"


def env_stem(env_name: str) -> str:
    """Begin of a run's name: that of the environment, or the class of its path, in small letters."""
    name = env_name.rpartition(":")[2] or env_name
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name.lower()) or "run"
