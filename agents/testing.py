"""A tokenizer and a model that fit in a test, made in code.

`ScriptedGenerator` (in `generator.scripted`) is the fake to drive episodes with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CHATML = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
"""A chat template that knows no tools."""

CHATML_TOOLS = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- 'Tools:\\n' }}{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}{{- '<|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role != 'system' or not loop.first %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"""
"""A chat template that renders tools, calls and results, in the manner of Hermes."""

_LINES = [
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHello there!",
    "<|im_start|>assistant\nThe answer is 42. Guess a number from 1 to 100: higher, lower, correct.",
    '<tool_call>\n{"name": "run_python", "arguments": {"code": "print(1 + 2)"}}\n</tool_call>',
    "```python\ndef add(a, b):\n    return a + b\n```",
    "0 1 2 3 4 5 6 7 8 9 10 11 12 20 30 40 50 60 70 80 90 100",
] * 4


def tiny_tokenizer(*, tools: bool = False, vocab_size: int = 384) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with a ChatML template; it can encode any text.

    Args:
        tools: use `CHATML_TOOLS` instead of `CHATML`; `<tool_call>` and its like are added tokens then.
        vocab_size: upper bound of its vocabulary.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(_LINES, trainer)
    if tools:
        markers = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
        backend.add_tokens([AddedToken(marker, normalized=False) for marker in markers])
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # untyped there
        tokenizer_object=backend,
        eos_token="<|im_end|>",  # noqa: S106  # not a password
        pad_token="<|endoftext|>",  # noqa: S106  # not a password
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHATML_TOOLS if tools else CHATML
    return tokenizer


def tiny_model(
    tokenizer: PreTrainedTokenizerFast, *, seed: int = 0, max_context: int = 512
) -> PreTrainedModel:
    """A Qwen2 model with random weights (2 layers, hidden size 64) for `tokenizer`, in float32."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=max_context,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: PreTrainedModel = Qwen2ForCausalLM(config)
    model.train(False)
    return model
