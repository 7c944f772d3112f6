import io
import logging
import sys
import warnings

import pytest
from rich.console import Console

from grpo_agent.agents.core import Episode, StopReason
from grpo_agent.trainer.log import diverted_to
from grpo_agent.trainer.progress import Progress, Stage, clock, screen, sparkline


def episode(reward):
    return Episode(
        task={}, task_id="a", sample=0, seed=0, messages=(), tools=(), tokens=None, turns=(), reward=reward,
        stop_reason=StopReason.TERMINATED,
    )  # fmt: skip


def shown(mode, *, terminal=False):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with Progress("runs/x: code", mode=mode, console=console, every_s=0.0) as progress:
        progress.begin("before", 2, "episodes")
        progress.episode(episode(1.0))
        progress.episode(episode(None))
        progress.end()
        progress.begin("train", 4, "steps", done=2)
        progress.step(3, {"episode/reward": 0.5, "episode/success": 0.25, "episode/unscored": 0.0})
        progress.note("a line")
    return console.file.getvalue()


def test_lines_tell_of_episodes_and_steps():
    text = shown("lines")
    assert "before 2/2 episodes  success 100.0%  unscored 1" in text
    assert "train 3/4  reward 0.500  success 25.0%" in text
    assert "\x1b" not in text


def test_quiet_says_nothing():
    assert shown("quiet") == ""


def test_live_screen_is_gone_in_the_end_but_notes_stay():
    text = shown("live", terminal=True)
    assert "a line" in text


def test_screen_shows_pace_and_share_of_time():
    stage = Stage("train", 10, "steps", started=0.0, done=2, tokens=500, curve=[0.1, 0.9])
    stage.last = {
        "episode/success": 0.5,
        "time/generate_share": 0.75,
        "time/env_share": 0.25,
        "time/rollout_s": 3.0,
    }
    console = Console(file=io.StringIO(), width=120)
    console.print(screen(stage, now=10.0))
    text = console.file.getvalue()
    for part in ("2/10 steps", "eta 0:40", "50 tokens/s", "50.0%", "75% model", "▁█"):
        assert part in text


def test_eta_counts_only_what_this_process_did():
    stage = Stage("train", 10, "steps", started=0.0, done=8, resumed_at=6)
    assert stage.eta_s(now=10.0) == pytest.approx(10.0)
    assert Stage("train", 10, "steps", started=0.0).eta_s(now=10.0) is None


@pytest.mark.parametrize(("values", "bars"), [([], ""), ([1.0], "▁"), ([0.0, 1.0], "▁█"), ([2.0, 2.0], "▁▁")])
def test_sparkline(values, bars):
    assert sparkline(values) == bars


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (61, "1:01"), (3661, "1:01:01")])
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_what_libraries_say_goes_to_the_log_and_not_to_the_screen(tmp_path, capsys):
    logger = logging.getLogger("noisy_library")
    handler = logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with diverted_to(tmp_path / "run.log"):
            logger.warning("from the library")
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.warn("a warning", UserWarning, stacklevel=1)
        assert logger.handlers == [handler]
        assert not logger.propagate
    finally:
        logger.removeHandler(handler)
    text = (tmp_path / "run.log").read_text()
    assert "from the library" in text
    assert "a warning" in text
    assert capsys.readouterr().err == ""
