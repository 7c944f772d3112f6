import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["grpo_agent.agents", "grpo_agent.agents.generator"])
def test_public_names_are_sorted_and_exist(module):
    found = importlib.import_module(module)
    assert found.__all__ == sorted(found.__all__) == dir(found)
    assert all(hasattr(found, name) for name in found.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = found.nothing


def test_the_engine_loads_neither_torch_nor_transformers():
    code = "import sys, grpo_agent.agents.rollout; print({'torch', 'transformers'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
