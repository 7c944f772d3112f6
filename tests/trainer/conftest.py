import shutil

import pytest
from guess_env import GUESS

from grpo_agent.agents.testing import tiny_model, tiny_tokenizer


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    folder, tokenizer = tmp_path_factory.mktemp("model"), tiny_tokenizer()
    tokenizer.save_pretrained(folder)
    tiny_model(tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture
def place(tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "guess.py").write_text(GUESS)
    shutil.copytree(tiny, tmp_path / "tiny")
    return tmp_path
