"""Evaluations as a table for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

Figures = Mapping[str, Any]  # Any: JSON of an `Evaluation`


def evaluation_table(evaluations: Mapping[str, Figures]) -> Table:
    """One column an evaluation: pass@k and reward with intervals, levels, how episodes ended."""
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    table.add_column("")
    for phase in evaluations:
        table.add_column(phase, justify="right")
    for label, cells in _rows(list(evaluations.values())):
        table.add_row(Text(label), *map(Text, cells))
    return table


def _rows(held: list[Figures]) -> list[tuple[str, list[str]]]:
    ks = sorted({int(k) for figures in held for k in figures["pass_at"]})
    rows = [(f"pass@{k}", [_share(figures["pass_at"].get(str(k))) for figures in held]) for k in ks]
    rows.append(("reward", [_number(figures["reward"]) for figures in held]))
    rows += [
        (f"success, level {level}", [_level(figures["by_level"].get(level)) for figures in held])
        for level in sorted({level for figures in held for level in figures["by_level"]})
    ]
    rows += [
        (f"ended: {reason}", [str(figures["stop_reasons"].get(reason, 0)) for figures in held])
        for reason in sorted({reason for figures in held for reason in figures["stop_reasons"]})
    ]
    rows.append(("turns", [f"{figures['turns']:.2f}" for figures in held]))
    rows.append(("tokens", [f"{figures['sampled_tokens']:.1f}" for figures in held]))
    rows.append(("episodes", [f"{figures['episodes']} of {figures['tasks']} tasks" for figures in held]))
    rows.append(("unscored", [_unscored(figures) for figures in held]))
    rows.append(("seconds", [f"{figures['wall_s']:.0f}" for figures in held]))
    return rows


def _share(estimate: Mapping[str, float] | None) -> str:
    if estimate is None:
        return "-"
    return f"{estimate['mean']:.1%} [{estimate['low']:.1%}, {estimate['high']:.1%}]"


def _number(estimate: Mapping[str, float] | None) -> str:
    if estimate is None:
        return "-"
    return f"{estimate['mean']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def _level(group: Mapping[str, float] | None) -> str:
    return "-" if group is None else f"{group['success']:.1%} of {group['tasks']} tasks"


def _unscored(figures: Figures) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in figures["failures"].items())
    return f"{figures['unscored']}{f' ({kinds})' if kinds else ''}"
