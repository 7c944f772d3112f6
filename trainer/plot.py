"""Plots as SVG text to put into a page.

They bring no fonts or colours of their own, so that the page's light or dark style applies. The page's
series colours can be told apart by colour-blind people; lines and markers differ by style as well.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

# Stand-ins that become CSS variables; the figures set the meaning.
_INK, _FAINT = "#010101", "#020202"
_SERIES = ("#030303", "#040404", "#050505", "#060606")
_VARIABLES = {
    _INK: "var(--ink)",
    _FAINT: "var(--faint)",
    **{stand_in: f"var(--series-{number})" for number, stand_in in enumerate(_SERIES, start=1)},
}
_STYLES = ("-", "--", ":", "-.")
_MARKERS = ("o", "s", "^", "D")

_RC: Any = {  # Any: keys are a literal type of several hundred names
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _FAINT,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": _FAINT,
    "grid.alpha": 0.45,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot over steps."""

    label: str
    steps: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval."""

    mean: float
    low: float
    high: float


def curve_plot(title: str, curves: Sequence[Curve], *, is_share: bool = False) -> str:
    """Curves over the optimizer steps: each value faint, their moving mean strong."""

    def draw(axes: Axes) -> None:
        for number, curve in enumerate(curves):
            color, style = _SERIES[number % 4], _STYLES[number % 4]
            axes.plot(
                curve.steps, curve.values, color=color, alpha=0.3, linewidth=1, marker=".", markersize=4
            )
            axes.plot(curve.steps, smoothed(curve.values), style, color=color, linewidth=2, label=curve.label)
        axes.set_xlabel("optimizer step")
        if is_share:
            axes.set_ylim(0, 1)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        else:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if len(curves) > 1:
            axes.legend(loc="best")

    return _svg(title, draw)


def pass_plot(title: str, phases: Mapping[str, Mapping[int, Interval]]) -> str:
    """pass@k by k with intervals, one colour and marker a phase."""

    def draw(axes: Axes) -> None:
        for number, (phase, estimates) in enumerate(phases.items()):
            ks = np.array(sorted(estimates), dtype=float)
            means = np.array([estimates[int(k)].mean for k in ks])
            below = means - [estimates[int(k)].low for k in ks]
            above = np.array([estimates[int(k)].high for k in ks]) - means
            axes.errorbar(
                ks + 0.06 * (number - (len(phases) - 1) / 2),
                means,
                yerr=np.maximum(np.stack([below, above]), 0),
                color=_SERIES[number % 4],
                marker=_MARKERS[number % 4],
                linestyle=_STYLES[number % 4],
                capsize=3,
                label=phase,
            )
        axes.set_xlabel("k")
        axes.set_xticks(sorted({k for estimates in phases.values() for k in estimates}))
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.legend(loc="best")

    return _svg(title, draw)


def smoothed(values: Sequence[float], window: int = 5) -> list[float]:
    """The mean of each value and up to `window - 1` before it."""
    data = np.asarray(values, dtype=float)
    return [float(np.nanmean(data[max(0, end - window) : end])) for end in range(1, len(data) + 1)]


def _svg(title: str, draw: Callable[[Axes], None]) -> str:
    with mpl.rc_context(_RC | {"svg.hashsalt": title}):
        figure = Figure(figsize=(5.2, 3.1), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
        draw(axes)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _for_page(file.getvalue(), title)


def _for_page(svg: str, title: str) -> str:
    """Without prolog, fixed size and ids that another figure has too; with the page's colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    label = re.sub(r"[^\w @:()%-]", "", title)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
