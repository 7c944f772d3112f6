import subprocess
import sys

import pytest

from grpo_agent import envs


def test_all_is_sorted_and_every_name_loads() -> None:
    assert list(envs.__all__) == sorted(envs.__all__)
    assert all(getattr(envs, name) is not None for name in envs.__all__)
    assert dir(envs) == envs.__all__


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Envv'"):
        _ = envs.Envv


def test_making_an_environment_loads_neither_torch_nor_gymnasium() -> None:
    code = (
        "import sys; from grpo_agent import make; make('grpo_agent.envs.testing:CounterEnv').tools; "
        "print([m for m in ('torch', 'transformers', 'datasets', 'gymnasium') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
