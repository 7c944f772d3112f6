import re

import pytest

from grpo_agent.agents.core import Episode, StopReason, Turn
from grpo_agent.trainer.evaluate import summarize
from grpo_agent.trainer.plot import Curve, curve_plot, smoothed
from grpo_agent.trainer.report import clean, plots, render, samples, step_rows, write_report
from grpo_agent.trainer.store import RunFolder

HOSTILE = "<script>alert(1)</script> \x1b[31m \u202e &amp; ]]> </pre>"


def episode(task_id, *, success, text="fine"):
    return Episode(
        task={"task_id": task_id, "level": 1},
        task_id=task_id,
        sample=0,
        seed=0,
        messages=({"role": "user", "content": "Write f."}, {"role": "assistant", "content": text}),
        tools=(),
        tokens=None,
        turns=(Turn(0, 1, "stop", 1.0),),
        reward=float(success),
        stop_reason=StopReason.TERMINATED,
        info={"success": success},
    )


@pytest.fixture
def run(tmp_path):
    made = RunFolder.create(tmp_path, "mine", "code")
    made.write_recipe("env: {name: code}\nmodel: {name: tiny}\nsandbox: {name: local}\nseed: 3\n")
    return made


def evaluated(run, phase, outcomes, text="fine"):
    episodes = [episode(f"task-{n}", success=outcome, text=text) for n, outcome in enumerate(outcomes)]
    run.append_episodes(phase, episodes, 0)
    run.write_evaluation(phase, summarize(episodes, 1, 2.0).to_dict())


def test_report_of_a_whole_run_shows_gain_curves_and_episodes(run):
    evaluated(run, "before", [False, False, True, False])
    for step in (1, 2, 3):
        run.append_metrics({"step": step, "loss": 0.1, "episode/success": step / 4, "time/step_s": 2.0})
    evaluated(run, "after", [True, True, True, False])
    page = write_report(run).read_text()
    assert "+50.0" in page
    assert page.count("<svg") == 3
    assert "task-0" in page
    assert "before: not solved" in re.sub(r"\s+", " ", page)


def test_page_needs_nothing_from_elsewhere_and_allows_no_script(run):
    evaluated(run, "eval", [True, False], text=HOSTILE)
    page = render(run)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)", page)
    assert not re.findall(r"url\((?!#)", page)


def test_hostile_text_is_escaped_and_loses_its_control_characters(run):
    evaluated(run, "eval", [True, False], text=HOSTILE)
    page = render(run)
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_an_empty_run_still_has_a_report(run):
    assert "No evaluation was held." in render(run)


def test_long_text_is_cut_in_the_middle():
    text = clean("a" * 5_000_000 + "end")
    assert len(text) < 5_000
    assert text.endswith("end")
    assert "characters left out" in text


def test_samples_are_the_same_tasks_in_both_evaluations_gains_first(run):
    evaluated(run, "before", [True, False, False])
    evaluated(run, "after", [True, True, False])
    chosen = samples(run, ["before", "after"])
    assert chosen[0].task_id == "task-1"
    assert sorted(sample.task_id for sample in chosen) == ["task-0", "task-1", "task-2"]
    assert all([phase for phase, _ in sample.episodes] == ["before", "after"] for sample in chosen)


def test_of_a_step_logged_twice_the_last_line_counts():
    rows = [
        {"step": 1, "loss": 1.0},
        {"step": 2, "loss": 2.0},
        {"step": 2, "loss": 3.0},
        {"step": 2, "eval": 0},
    ]
    assert [row["loss"] for row in step_rows(rows)] == [1.0, 3.0]


def test_plot_follows_the_colours_of_the_page():
    svg = curve_plot("Success & more", [Curve("a", [1, 2], [0.1, 0.2]), Curve("b", [1, 2], [0.3, 0.1])])
    assert "var(--ink)" in svg
    assert "var(--series-2)" in svg
    assert "#0" not in re.sub(r"url\(#\w+\)|href=\"#\w+\"", "", svg)


def test_the_tokens_shown_are_those_of_the_episodes_not_of_the_rows_trained_on():
    rows = [{"step": n, "completions/mean_length": 1.0, "episode/sampled_tokens": 40.0 + n} for n in (1, 2)]
    assert len(plots({}, rows)) == 1
    assert plots({}, [{"step": n, "completions/mean_length": 1.0} for n in (1, 2)]) == []


def test_smoothing_looks_back_only():
    assert smoothed([0.0, 1.0, 2.0], window=2) == [0.0, 0.5, 1.5]
