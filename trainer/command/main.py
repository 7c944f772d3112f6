"""`grpo-agent COMMAND ...`: finds the command, runs it, and words what goes wrong.

Commands are imported when they are run, so that `--help` is instant.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Sequence

from ...agents.errors import AgentError
from ...agents.failure import one_line
from ...envs.nearest import did_you_mean
from ...sandboxes.errors import SandboxError
from ..errors import TrainerError, UserError

USAGE_CODE = 2
FAULT_CODE = 1
INTERRUPT_CODE = 130

COMMANDS = {
    "train": "train a model in an environment, with an evaluation before and after, and a report",
    "eval": "evaluate a model in an environment: pass@k with intervals",
    "envs": "list the environments, or show one with its settings",
}
"""Command to what it does."""

_HELP = """\
Agentic reinforcement learning of language models, on TRL's GRPOTrainer.

usage: grpo-agent COMMAND [RECIPE.yaml] [key=value ...] [--flag ...]

commands:
{commands}

examples:
  grpo-agent train env=code                          the main job, on a CPU
  grpo-agent train env=path/to/file.py:GuessNumber   an environment of your own
  grpo-agent eval env=code model=runs/code-1         a trained model
  grpo-agent train --help                            all settings

`grpo-agent COMMAND --help` tells more about a command."""


def run(argv: Sequence[str]) -> int:
    """Run a command line.

    Args:
        argv: what follows `grpo-agent`.

    Returns:
        The exit code: 0 done, 1 a fault on the way, 2 the user's mistake, 130 interrupted.
    """
    try:
        return _dispatch(list(argv))
    except (UserError, SandboxError) as error:
        return _fail(error, USAGE_CODE)
    except (TrainerError, AgentError) as error:
        return _fail(error, FAULT_CODE)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201  # the command line's own output
        return INTERRUPT_CODE
    except Exception as error:  # noqa: BLE001  # the edge: a bug is shown whole, with where to look further
        traceback.print_exception(error)
        print(f"error: this is a bug of grpo-agent or of a library{_notes(error)}", file=sys.stderr)  # noqa: T201
        return FAULT_CODE


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        lines = "\n".join(f"  {name:8} {summary}" for name, summary in COMMANDS.items())
        print(_HELP.format(commands=lines))  # noqa: T201
        return 0
    if argv[0] == "--version":
        from ... import __version__

        print(f"grpo-agent {__version__}")  # noqa: T201
        return 0
    name, *rest = argv
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise UserError(f"unknown command {name!r}{did_you_mean(name, COMMANDS)}; known are {known}")
    command: Callable[[list[str]], int] = importlib.import_module(f".{name}", __package__).run
    return command(rest)


def _fail(error: Exception, code: int) -> int:
    print(f"error: {one_line(error)}{_notes(error)}", file=sys.stderr)  # noqa: T201
    return code


def _notes(error: Exception) -> str:
    return "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
