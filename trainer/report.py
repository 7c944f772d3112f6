"""`report.html`: a run as one file that opens anywhere, without a server or a network.

Made from the run's folder alone, so it can be made again at any time. Episode text is untrusted: it is
escaped, its control characters are shown as marks, and the page forbids scripts altogether.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from .plot import Curve, Interval, curve_plot, pass_plot
from .store import Row, RunFolder

SAMPLES = 6
MAX_MESSAGE_CHARS = 4000

_PHASES = ("before", "after", "eval")
# Control characters but tab and newline, and marks that reorder text.
_HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Sample:
    """One task with an episode of each phase."""

    task_id: str
    episodes: Sequence[tuple[str, Row]]
    """Phase and stored episode."""


def write_report(run: RunFolder) -> Path:
    """Write the report of a run, whole or not at all; returns its path."""
    partial = run.report_path.with_suffix(".part")
    partial.write_text(render(run), encoding="utf-8", errors="replace")
    partial.replace(run.report_path)
    return run.report_path


def render(run: RunFolder) -> str:
    """The report of a run as HTML."""
    evaluations = {phase: run.read_evaluation(phase) for phase in _PHASES}
    held = {phase: figures for phase, figures in evaluations.items() if figures is not None}
    steps = step_rows(run.read_metrics())
    environment = Environment(
        loader=PackageLoader(__package__ or "", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(clean=clean, percent=percent, number=number, duration=duration)
    recipe = run.read_recipe()
    return environment.get_template("report.html").render(
        run=run.name,
        recipe=recipe,
        about=_about(recipe),
        evaluations=held,
        gain=_gain(held),
        plots=[Markup(svg) for svg in plots(held, steps)],  # noqa: S704  # made by `plot` alone
        steps=len(steps),
        stops=_stops(run, held),
        times=time_table(held, steps),
        samples=samples(run, [phase for phase in _PHASES if phase in held]),
        last=steps[-1] if steps else {},
    )


def step_rows(rows: Iterable[Row]) -> list[Row]:
    """The lines of `metrics.jsonl` that are about a step of training, one a step, in order."""
    by_step = {row["step"]: row for row in rows if "loss" in row and "step" in row}
    return [by_step[step] for step in sorted(by_step)]


def plots(evaluations: Mapping[str, Row], steps: Sequence[Row]) -> list[str]:
    """The plots for which there are data, as SVG."""
    drawn = []
    passes = {
        phase: {int(k): Interval(**estimate) for k, estimate in figures["pass_at"].items()}
        for phase, figures in evaluations.items()
        if figures["pass_at"]
    }
    if passes:
        drawn.append(pass_plot("Held-out pass@k, with 95 % intervals", passes))
    wanted = (
        ("Success in training", "episode/success", "success", True),
        ("Reward in training", "episode/reward", "reward", False),
        ("Tokens that the model writes in an episode", "episode/sampled_tokens", "tokens", False),
        ("Turns in an episode", "episode/turns", "turns", False),
    )
    for title, key, label, is_share in wanted:
        curve = _curve(steps, key, label)
        if len(curve.steps) > 1:
            drawn.append(curve_plot(title, [curve], is_share=is_share))
    times = [_curve(steps, "time/step_s", "whole step"), _curve(steps, "time/rollout_s", "of it, episodes")]
    if len(times[0].steps) > 1:
        drawn.append(curve_plot("Seconds a step", times))
    return drawn


def time_table(evaluations: Mapping[str, Row], steps: Sequence[Row]) -> list[tuple[str, float]]:
    """Where the wall time went: part and seconds."""
    table = [
        (f"evaluation {phase} training" if phase != "eval" else "evaluation", figures["wall_s"])
        for phase, figures in evaluations.items()
    ]
    if steps:
        rollout = _sum(steps, "time/rollout_s")
        busy = [
            (_finite(row.get("time/generate_share")), _finite(row.get("time/env_share"))) for row in steps
        ]
        generate, env = sum(pair[0] for pair in busy), sum(pair[1] for pair in busy)
        share = generate / (generate + env) if generate + env else 1.0
        table += [
            ("training: the model writes", rollout * share),
            ("training: the environment answers", rollout * (1 - share)),
            ("training: the weights are updated", max(_sum(steps, "time/step_s") - rollout, 0.0)),
        ]
    return table


def samples(run: RunFolder, phases: Sequence[str]) -> list[Sample]:
    """Tasks to show, those first whose outcome changed, each with its first episode of every phase."""
    firsts: dict[str, dict[str, Row]] = {}
    for phase in phases:
        for row in run.read_episodes(phase):
            firsts.setdefault(row["task_id"], {}).setdefault(phase, row)
    whole = [(task_id, rows) for task_id, rows in firsts.items() if len(rows) == len(phases)]

    def interest(item: tuple[str, dict[str, Row]]) -> int:
        outcomes = [row["success"] for row in item[1].values()]
        return 0 if outcomes[-1] and not outcomes[0] else 1 if outcomes[-1] else 2

    ordered = sorted(whole, key=interest)
    # The last place is for a task that is still not solved, if there is one.
    chosen = ordered if len(ordered) <= SAMPLES else [*ordered[: SAMPLES - 1], ordered[-1]]
    return [Sample(task_id, list(rows.items())) for task_id, rows in chosen]


def clean(value: object, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Text that cannot disturb a page: cut in the middle, control and reordering characters as marks."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) > limit:
        text = (
            f"{text[: limit // 2]}\n[... {len(text) - limit} characters left out ...]\n{text[-limit // 2 :]}"
        )
    return _HOSTILE.sub("\N{REPLACEMENT CHARACTER}", text)


def percent(value: float | None) -> str:
    """A share in percent."""
    return "-" if value is None else f"{value:.1%}"


def number(value: float | None) -> str:
    """A number with three digits."""
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """Seconds in words."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{seconds:.1f} s"


def _about(recipe: str) -> dict[str, Any]:  # Any: YAML
    from omegaconf import OmegaConf

    config = OmegaConf.create(recipe)
    keys = {"environment": "env.name", "model": "model.name", "sandbox": "sandbox.name", "seed": "seed"}
    return {label: OmegaConf.select(config, key) for label, key in keys.items()}


def _gain(evaluations: Mapping[str, Row]) -> float | None:
    if not all(
        phase in evaluations and "1" in evaluations[phase]["pass_at"] for phase in ("before", "after")
    ):
        return None
    first, last = (evaluations[phase]["pass_at"]["1"]["mean"] for phase in ("before", "after"))
    return float(100 * (last - first))


def _stops(run: RunFolder, evaluations: Mapping[str, Row]) -> dict[str, dict[str, float]]:
    """Shares of stop reasons by phase."""
    counts: dict[str, Counter[str]] = {
        phase: Counter(figures["stop_reasons"]) for phase, figures in evaluations.items()
    }
    training = Counter(row["stop_reason"] for row in run.read_episodes("train"))
    if training:
        counts["training"] = training
    order = [phase for phase in ("before", "training", "after", "eval") if phase in counts]
    reasons = sorted({reason for each in counts.values() for reason in each})
    return {
        reason: {phase: counts[phase][reason] / max(counts[phase].total(), 1) for phase in order}
        for reason in reasons
    }


def _curve(steps: Sequence[Row], key: str, label: str) -> Curve:
    points = [(row["step"], row[key]) for row in steps if isinstance(row.get(key), (int, float))]
    finite = [(step, value) for step, value in points if math.isfinite(value)]
    return Curve(label, [step for step, _ in finite], [value for _, value in finite])


def _sum(steps: Sequence[Row], key: str) -> float:
    return sum(_finite(row.get(key)) for row in steps)


def _finite(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0.0
