"""`grpo-agent eval`: evaluate a model in an environment."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..errors import UserError
from ..recipe import Recipe
from .argument import Arguments, parse
from .place import cache_dir, env_stem, faults_noted, quiet_libraries, refuse_launcher, screen_mode
from .table import evaluation_table

FLAGS = ("--cfg", "--quiet", "--help")

ABOUT = """\
Evaluate a model in an environment: pass@1 to pass@k with intervals, reward, stop reasons.

The figures, the episodes and a report are written to runs/NAME-eval-1 and so on."""

EXAMPLES = """\
  grpo-agent eval env=code
  grpo-agent eval env=code model=runs/code-1 eval.samples=8
  grpo-agent eval env=code env.source=humaneval eval.tasks=null eval.samples=5"""


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parse(argv, FLAGS)
    console = Console(highlight=False)
    if "--help" in arguments.flags:
        from .help import command_help

        console.print(Text(command_help("eval", ABOUT, EXAMPLES, FLAGS)), soft_wrap=True)
        return 0
    from ..compose import load_recipe, to_yaml

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    if recipe.resume is not None:
        raise UserError(
            f"resume={recipe.resume} goes on with training; evaluate what it has learned by "
            f"grpo-agent eval env={recipe.env_name} model={recipe.resume}"
        )
    if "--cfg" in arguments.flags:
        sys.stdout.write(to_yaml(recipe))
        return 0
    refuse_launcher("eval")
    quiet_libraries()
    return _evaluate(recipe, arguments, console)


def _evaluate(recipe: Recipe, arguments: Arguments, console: Console) -> int:
    from ..compose import to_yaml
    from ..log import diverted_to
    from ..progress import Progress
    from ..report import write_report
    from ..store import RunFolder
    from ..training import opened, plan

    planned = plan(recipe, cache_dir(), training=False)
    folder = RunFolder.create(Path(recipe.run.folder), recipe.run.name, f"{env_stem(recipe.env_name)}-eval")
    folder.write_recipe(to_yaml(recipe))
    heading = f"{folder.path}: {recipe.env_name}, {recipe.model.name}"
    progress = Progress(heading, mode=screen_mode(arguments, console), console=console)
    with (
        faults_noted(folder),
        diverted_to(folder.log_path),
        progress,
        opened(planned, folder, progress) as session,
    ):
        figures = session.evaluate("eval")
    console.print(evaluation_table({"": figures.to_dict()}))
    console.print(Text(f"report: {write_report(folder)}"), soft_wrap=True)
    return 0
