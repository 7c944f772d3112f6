"""The public names, and that importing them stays light."""

import subprocess
import sys

import pytest

import grpo_agent

PUBLIC = [
    "Action",
    "Env",
    "RolloutEngine",
    "RolloutFunc",
    "Step",
    "ToolEnv",
    "make",
    "make_provider",
    "register",
    "tool",
]
HEAVY = ("torch", "transformers", "trl", "datasets", "hydra", "gymnasium", "rich", "numpy")


def test_all_is_the_documented_sorted_list() -> None:
    assert grpo_agent.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_loads(name: str) -> None:
    assert getattr(grpo_agent, name).__name__


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Envv'"):
        _ = grpo_agent.Envv


@pytest.mark.parametrize("statement", ["import grpo_agent", HELP := "main(['--help'])"])
def test_import_and_help_load_nothing_heavy(statement: str) -> None:
    setup = "from grpo_agent.trainer.command.main import run as main; " if statement == HELP else ""
    code = f"import sys; {setup}{statement}; print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.strip() == "[]"
