"""What the agent is told, in few words: a small model pays for each token."""

from __future__ import annotations

from ...sandboxes.core import ExecResult
from .problem import Call, Problem, Run
from .runner import Answer, failure

_MAX_SHOWN = 100


def example_text(problem: Problem) -> str:
    """The visible example, or an empty text."""
    example = problem.example
    if example is None:
        return ""
    if isinstance(example, Run):
        return f"Example input:\n{example.stdin}\nExample output:\n{example.expected}\n"
    return f"Example: {_shown(problem, example)} == {example.expected!r}."


def _shown(problem: Problem, call: Call) -> str:
    parts = [*map(repr, call.args), *(f"{name}={value!r}" for name, value in call.kwargs.items())]
    return f"{problem.entry_point}({', '.join(parts)})"


def complaint(problem: Problem, example: Call | Run, answer: Answer) -> str:
    """One sentence on what was wrong with the answer to the visible example."""
    if isinstance(example, Run):
        did = (
            f"your program failed: {answer.error}"
            if answer.error
            else f"it printed {_cut(repr(answer.value))}"
        )
        return f"On the example input {did}, expected {_cut(repr(example.expected))}."
    if answer.kind == "NotLoaded":
        return f"Your code failed: {answer.error}."
    shown = _cut(_shown(problem, example))
    if answer.error is None:
        return f"{shown} returned {_cut(repr(answer.value))}, expected {_cut(repr(example.expected))}."
    if answer.kind == "NotPlainData":
        return f"{shown}: {answer.error}."
    return f"{shown} {'raised ' if answer.is_raised else ''}{answer.error}."


def output_text(result: ExecResult) -> str:
    """What a run printed, and how it ended if not well."""
    parts = [result.stdout.strip(), failure(result) or ""]
    return "\n".join(filter(None, parts)) or "(no output)"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN // 2]} ... {text[-_MAX_SHOWN // 2 :]}"
