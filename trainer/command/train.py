"""`grpo-agent train`: evaluate, train, evaluate again, report."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from ..recipe import Recipe
from .argument import Arguments, parse
from .place import cache_dir, env_stem, faults_noted, quiet_libraries, refuse_launcher, screen_mode
from .table import evaluation_table

if TYPE_CHECKING:
    from ..store import RunFolder

FLAGS = ("--cfg", "--dry-run", "--quiet", "--help")

ABOUT = """\
Train a model in an environment, with a held-out evaluation before and after, and a report.

Everything is written to one folder, runs/NAME: recipe, metrics, episodes, checkpoints, report.html.
Ctrl-C saves and ends after the current step; resume=runs/NAME goes on."""

EXAMPLES = """\
  grpo-agent train env=code
  grpo-agent train env=code env.levels=[1,2] limits.max_turns=3 trainer.learning_rate=1e-6
  grpo-agent train env=path/to/file.py:GuessNumber trainer.max_steps=50
  grpo-agent train my_recipe.yaml run.name=second-try
  grpo-agent train resume=runs/code-1
  grpo-agent train code_1.5b_gpu --dry-run"""


def run(argv: list[str]) -> int:
    """Run the command."""
    arguments = parse(argv, FLAGS)
    console = Console(highlight=False)
    if "--help" in arguments.flags:
        from .help import command_help

        console.print(Text(command_help("train", ABOUT, EXAMPLES, FLAGS)), soft_wrap=True)
        return 0
    from ..compose import load_recipe, to_yaml

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    if "--cfg" in arguments.flags:
        sys.stdout.write(to_yaml(recipe))
        return 0
    refuse_launcher("train")
    quiet_libraries()
    if "--dry-run" in arguments.flags:
        from ..dry_run import dry_run

        dry_run(recipe, cache_dir(), lambda line: console.print(Text(f"ok  {line}"), soft_wrap=True))
        return 0
    return _train(recipe, arguments, console)


def _train(recipe: Recipe, arguments: Arguments, console: Console) -> int:
    from ..log import diverted_to
    from ..progress import Progress
    from ..report import write_report
    from ..training import plan, train

    planned = plan(recipe, cache_dir(), training=True)
    folder = _folder(recipe)
    heading = f"{folder.path}: {recipe.env_name}, {recipe.model.name}"
    progress = Progress(heading, mode=screen_mode(arguments, console), console=console)
    go_on = f"grpo-agent train resume={folder.path}"
    try:
        with faults_noted(folder, go_on), diverted_to(folder.log_path), progress:
            result = train(planned, folder, progress)
    except KeyboardInterrupt:
        console.print(Text(f"interrupted; go on by: {go_on}"), soft_wrap=True)
        raise
    report = write_report(folder)
    if not result.is_complete:
        console.print(Text(f"stopped and saved; go on by: {go_on}"), soft_wrap=True)
        return 130
    if result.evaluations:
        console.print(evaluation_table(result.evaluations))
    console.print(Text(f"report: {report}"), soft_wrap=True)
    return 0


def _folder(recipe: Recipe) -> RunFolder:
    from ..compose import to_yaml
    from ..store import RunFolder

    if recipe.resume is not None:
        folder = RunFolder.open(recipe.resume)
    else:
        folder = RunFolder.create(Path(recipe.run.folder), recipe.run.name, env_stem(recipe.env_name))
    folder.write_recipe(to_yaml(replace(recipe, resume=None)))
    return folder
