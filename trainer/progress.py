"""What one sees while a run works: a calm live screen, plain lines where there is no terminal, or nothing.

Fed with episodes from the rollout's thread and with batches from the trainer's; draws by itself.
Not here: what is kept of a run (`store`), and the report (`report`).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..agents.core import Episode

Mode = Literal["live", "lines", "quiet"]
Unit = Literal["steps", "episodes"]

_BARS = "▁▂▃▄▅▆▇█"
_SPARK_WIDTH = 40
_BAR_WIDTH = 32


@dataclass(slots=True)
class Stage:
    """How far one part of a run has come."""

    title: str
    total: int
    unit: Unit
    started: float
    done: int = 0
    """Of `unit`."""
    resumed_at: int = 0
    """Steps that an earlier process had done."""
    episodes: int = 0
    scored: int = 0
    successes: int = 0
    reward: float = 0.0
    """Sum over scored episodes."""
    tokens: int = 0
    """Sampled ones."""
    curve: list[float] = field(default_factory=list)
    """Mean reward of each batch."""
    last: Mapping[str, float] = field(default_factory=dict)
    """Metrics of the last batch."""

    def eta_s(self, now: float) -> float | None:
        """Seconds to the end at the pace so far; `None` before there is one."""
        gone = self.done - self.resumed_at
        return (now - self.started) / gone * (self.total - self.done) if gone else None

    def tokens_per_s(self, now: float) -> float:
        """Sampled tokens a second of wall time, updates of the weights included."""
        return self.tokens / max(now - self.started, 1e-9)


class Progress:
    """Shows the stages of a run, one after another. Use as a context; safe to feed from any thread."""

    def __init__(
        self, heading: str, *, mode: Mode, console: Console | None = None, every_s: float = 15.0
    ) -> None:
        """Prepare; nothing is shown before the context is entered.

        Args:
            heading: names the run.
            mode: live, lines or quiet.
            console: where to; the terminal, if `None`.
            every_s: seconds between two lines in mode `lines`.
        """
        self.console = console or Console()
        self._heading, self._mode, self._every_s = heading, mode, every_s
        self._lock = threading.Lock()
        self._stage: Stage | None = None
        self._live: Live | None = None
        self._last_line = 0.0

    def __enter__(self) -> Self:
        if self._mode == "live":
            self._live = Live(
                get_renderable=self._render, console=self.console, refresh_per_second=2, transient=True
            )
            self._live.start()
        else:
            self.note(self._heading)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def note(self, text: str) -> None:
        """Show a line that stays."""
        if self._mode != "quiet":
            self.console.print(Text(text), soft_wrap=True)

    def begin(self, title: str, total: int, unit: Unit, *, done: int = 0) -> None:
        """Begin a stage of `total` steps or episodes, of which `done` were done before."""
        with self._lock:
            self._stage = Stage(title, total, unit, time.monotonic(), done=done, resumed_at=done)
            self._last_line = time.monotonic()

    def end(self) -> None:
        """End the stage; its last state is shown no more."""
        with self._lock:
            self._stage = None

    def episode(self, episode: Episode) -> None:
        """Count an episode that has just ended."""
        with self._lock:
            if self._stage is None:
                return
            _count(self._stage, episode)
            line = self._due_line(self._stage)
        if line:
            self.note(line)

    def step(self, done: int, metrics: Mapping[str, float]) -> None:
        """Count an optimizer step; `metrics` are those of its batch (see `outcome.measure`)."""
        with self._lock:
            if self._stage is None:
                return
            self._stage.done, self._stage.last = done, metrics
            reward = metrics.get("episode/reward", math.nan)
            if math.isfinite(reward):
                self._stage.curve.append(reward)
            line = step_line(self._stage, time.monotonic()) if self._mode == "lines" else None
        if line:
            self.note(line)

    def _due_line(self, stage: Stage) -> str | None:
        now = time.monotonic()
        is_due = self._mode == "lines" and stage.unit == "episodes"
        if not is_due or (now - self._last_line < self._every_s and stage.done < stage.total):
            return None
        self._last_line = now
        return episodes_line(stage, now)

    def _render(self) -> RenderableType:
        with self._lock:
            head = Text(self._heading, style="bold")
            return head if self._stage is None else Group(head, screen(self._stage, time.monotonic()))


def screen(stage: Stage, now: float) -> Table:
    """The live screen of a stage."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", min_width=8)
    table.add_column()
    bar = Table.grid(padding=(0, 2))
    count = f"{stage.done}/{stage.total} {stage.unit}"
    bar.add_row(
        ProgressBar(total=max(stage.total, 1), completed=stage.done, width=_BAR_WIDTH),
        Text(f"{count}   {clock(now - stage.started)} gone, {_left(stage, now)}"),
    )
    table.add_row(stage.title, bar)
    unscored = stage.episodes - stage.scored
    table.add_row(
        "episodes", f"{stage.episodes} ended, {unscored} unscored, {stage.tokens_per_s(now):.0f} tokens/s"
    )
    success, reward = _success(stage), _reward(stage)
    table.add_row("success", "-" if success is None else f"{success:.1%}")
    table.add_row("reward", f"{'-' if reward is None else f'{reward:.3f}'}  {sparkline(stage.curve)}")
    if "time/generate_share" in stage.last:
        table.add_row("time", time_shares(stage.last))
    return table


def step_line(stage: Stage, now: float) -> str:
    """One plain line about the last optimizer step."""
    last = stage.last
    return (
        f"{stage.title} {stage.done}/{stage.total}"
        f"  reward {last.get('episode/reward', math.nan):.3f}"
        f"  success {last.get('episode/success', math.nan):.1%}"
        f"  unscored {last.get('episode/unscored', 0.0):.0%}"
        f"  {stage.tokens_per_s(now):.0f} tokens/s  {_left(stage, now)}"
    )


def episodes_line(stage: Stage, now: float) -> str:
    """One plain line about the episodes of an evaluation."""
    success = _success(stage)
    return (
        f"{stage.title} {stage.done}/{stage.total} episodes"
        f"  success {'-' if success is None else f'{success:.1%}'}"
        f"  unscored {stage.episodes - stage.scored}"
        f"  {stage.tokens_per_s(now):.0f} tokens/s  {_left(stage, now)}"
    )


def sparkline(values: list[float]) -> str:
    """The last values as bars, from the lowest to the highest of them."""
    shown = values[-_SPARK_WIDTH:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    spread = (high - low) or 1.0
    return "".join(_BARS[round((value - low) / spread * (len(_BARS) - 1))] for value in shown)


def time_shares(metrics: Mapping[str, float]) -> str:
    """Where the episodes' time went, in words."""
    generate, env = metrics.get("time/generate_share", 0.0), metrics.get("time/env_share", 0.0)
    rollout_s, step_s = metrics.get("time/rollout_s", 0.0), metrics.get("time/step_s", 0.0)
    whole = f" of a step's {step_s:.1f} s" if step_s else ""
    return f"episodes {rollout_s:.1f} s{whole} ({generate:.0%} model, {env:.0%} environment)"


def clock(seconds: float) -> str:
    """Seconds as `m:ss` or `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _count(stage: Stage, episode: Episode) -> None:
    stage.episodes += 1
    stage.tokens += episode.tokens.sampled_tokens if episode.tokens else 0
    if stage.unit == "episodes":
        stage.done += 1
    if episode.reward is not None:
        stage.scored += 1
        stage.successes += episode.is_success
        stage.reward += episode.reward


def _success(stage: Stage) -> float | None:
    if stage.unit == "steps" and "episode/success" in stage.last:
        return stage.last["episode/success"]
    return stage.successes / stage.scored if stage.scored else None


def _reward(stage: Stage) -> float | None:
    if stage.unit == "steps" and "episode/reward" in stage.last:
        return stage.last["episode/reward"]
    return stage.reward / stage.scored if stage.scored else None


def _left(stage: Stage, now: float) -> str:
    eta = stage.eta_s(now)
    return "eta -" if eta is None else f"eta {clock(eta)}"
