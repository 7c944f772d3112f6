"""`grpo-agent envs [NAME]`: list the environments, or show one with its settings."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...envs.registry import Description, describe, names
from ..errors import UserError, as_user_error

_HELP = """\
usage: grpo-agent envs [NAME]

Without NAME: the environments, one a line. With NAME (or path/to/file.py:Class): its settings, which are
given as env.KEY=VALUE."""


def run(argv: list[str]) -> int:
    """Run the command."""
    console = Console(highlight=False)
    if set(argv) & {"-h", "--help"}:
        console.print(Text(_HELP))
    elif len(argv) > 1 or any(word.startswith("-") for word in argv):
        raise UserError("usage: grpo-agent envs [NAME]")
    elif argv:
        with as_user_error():
            console.print(_settings(describe(argv[0].removeprefix("env="))))
    else:
        console.print(_listing())
    return 0


def _listing() -> Table:
    table = Table.grid(padding=(0, 2))
    for name in names():
        try:
            summary = describe(name).summary
        except (ValueError, TypeError) as error:
            # One that cannot be loaded, e.g. of another package, must not hide the others.
            summary = f"cannot be loaded: {error}"
        table.add_row(Text(name, style="bold"), Text(summary))
    return table


def _settings(description: Description) -> Table:
    table = Table.grid(padding=(0, 2))
    table.title = Text(f"{description.name}: {description.summary}")
    table.title_justify = "left"
    for name, default in description.settings.items():
        table.add_row(Text(f"env.{name}", style="bold"), Text(f"{default!r}"))
    return table
