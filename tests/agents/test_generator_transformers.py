"""The transformers generator: exact logprobs, reuse of rows, and a model left as it was found."""

import asyncio
import copy
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from grpo_agent.agents.core import Generation, Sampling
from grpo_agent.agents.errors import GeneratorError
from grpo_agent.agents.generator.decoder import Decoder
from grpo_agent.agents.generator.engine import BatchedEngine
from grpo_agent.agents.generator.transformers import TransformersGenerator

VOCAB = 320
STOP = 7
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": STOP,
}


def llama(**changes: Any) -> LlamaForCausalLM:
    return made(LlamaForCausalLM, LlamaConfig(**{**SIZES, "attention_bias": True, **changes}))


def made(kind: type, config: Any) -> Any:
    torch.manual_seed(0)
    model = kind(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    return model.eval()


FAMILIES = {
    "llama": llama,
    "llama-tied": partial(llama, tie_word_embeddings=True),
    "llama-rope-scaled": partial(
        llama, rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
    ),
    "qwen2": lambda: made(Qwen2ForCausalLM, Qwen2Config(**SIZES)),
    "qwen3": lambda: made(Qwen3ForCausalLM, Qwen3Config(**SIZES)),
    "mistral": lambda: made(MistralForCausalLM, MistralConfig(**SIZES, sliding_window=None)),
}


def generate(
    generator: TransformersGenerator,
    prompts: Sequence[Sequence[int]],
    *,
    n: int = 12,
    temperature: float = 1.0,
) -> list[Generation]:
    async def run() -> list[Generation]:
        async with generator:
            return await sample(generator, prompts, n=n, temperature=temperature)

    return asyncio.run(run())


async def sample(
    generator: TransformersGenerator,
    prompts: Sequence[Sequence[int]],
    *,
    n: int = 12,
    temperature: float = 1.0,
) -> list[Generation]:
    return await asyncio.gather(
        *(
            generator.generate(prompt, max_new_tokens=n, sampling=Sampling(temperature), seed=index)
            for index, prompt in enumerate(prompts)
        )
    )


def teacher_forced(
    model: nn.Module, prompt: Sequence[int], ids: Sequence[int], temperature: float
) -> torch.Tensor:
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1].float()
    return (logits / temperature).log_softmax(-1).gather(1, torch.tensor(ids)[:, None])[:, 0]


def assert_exact(
    model: nn.Module, prompt: Sequence[int], answer: Generation, temperature: float = 1.0
) -> None:
    expected = teacher_forced(model, prompt, answer.ids, temperature)
    torch.testing.assert_close(torch.tensor(answer.logprobs), expected, atol=1e-4, rtol=0)


def prompts(count: int, *, length: int = 20, seed: int = 0) -> list[list[int]]:
    torch.manual_seed(seed)
    return [torch.randint(8, VOCAB, (length + index,)).tolist() for index in range(count)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_equal_the_models_own(family: str, temperature: float) -> None:
    model = FAMILIES[family]()
    generator = TransformersGenerator(model, stop_ids=[STOP], engine="batched")
    questions = [question for question in prompts(3) for _ in range(4)]
    for question, answer in zip(
        questions, generate(generator, questions, temperature=temperature), strict=True
    ):
        assert_exact(model, question, answer, temperature)


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_ids_equal_those_of_generate(family: str) -> None:
    model = FAMILIES[family]()
    questions = prompts(4)
    answers = generate(
        TransformersGenerator(model, stop_ids=[STOP], engine="batched"), questions, n=20, temperature=0.0
    )
    for question, answer in zip(questions, answers, strict=True):
        expected = model.generate(torch.tensor([question]), max_new_tokens=20, do_sample=False)
        assert answer.ids == tuple(expected[0, len(question) :].tolist())


@pytest.mark.parametrize("max_batch", [3, 64])
def test_logprobs_are_exact_over_turns_with_reused_and_recycled_rows(max_batch: int) -> None:
    model = llama()
    generator = TransformersGenerator(model, stop_ids=[STOP], engine="batched", max_batch=max_batch)

    async def episode(index: int, question: list[int]) -> None:
        ids = list(question)
        for turn in range(3):
            answer = await generator.generate(
                ids, max_new_tokens=4 + 3 * (index % 4), sampling=Sampling(), seed=index
            )
            assert_exact(model, ids, answer)
            ids += [*answer.ids, *prompts(1, length=5, seed=10 * index + turn)[0]]
            await asyncio.sleep(0.001 * (index % 3))

    async def run() -> None:
        async with generator:
            questions = [question for question in prompts(3, length=30) for _ in range(4)]
            await asyncio.gather(*(episode(index, question) for index, question in enumerate(questions)))

    asyncio.run(run())


def test_a_later_turn_and_a_group_compute_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    forward = Decoder.forward

    def counting(self: Decoder, batch: Any, store: Any) -> torch.Tensor:
        computed.append(len(batch.tokens))
        return forward(self, batch, store)

    monkeypatch.setattr(Decoder, "forward", counting)
    generator = TransformersGenerator(llama(), stop_ids=[], engine="batched")

    async def run() -> None:
        async with generator:
            question = prompts(1, length=100)[0]
            answers = await sample(generator, [question] * 4, n=5)
            # The prompt once, then one token a step for the first, and five steps for the three others.
            assert sum(computed) == 100 + 4 + 3 * 5
            computed.clear()
            await sample(generator, [[*question, *answers[2].ids, 9, 9, 9]], n=5)
            # The last sampled id was never computed; the observation has three ids; then four steps.
            assert sum(computed) == 1 + 3 + 4

    asyncio.run(run())


def test_a_long_prompt_is_computed_in_parts_beside_others() -> None:
    model = llama(max_position_embeddings=4096)
    generator = TransformersGenerator(model, stop_ids=[STOP], engine="batched")
    questions = [prompts(1, length=2500)[0], prompts(1, length=10)[0]]
    for question, answer in zip(questions, generate(generator, questions), strict=True):
        assert_exact(model, question, answer)


def test_a_seed_repeats_whatever_runs_beside() -> None:
    model = llama()
    question, *others = prompts(6)
    alone = generate(TransformersGenerator(model, stop_ids=[STOP]), [question])[0]
    beside = generate(TransformersGenerator(model, stop_ids=[STOP]), [question, *others])[0]
    assert alone.ids == beside.ids


@pytest.mark.filterwarnings("ignore:`(gradient_|is_gradient_)checkpointing:FutureWarning")
@pytest.mark.parametrize("engine", ["batched", pytest.param("continuous", marks=pytest.mark.slow)])
def test_the_model_is_left_as_it_was_found(engine: str) -> None:
    model = llama(attn_implementation="eager")
    model.gradient_checkpointing_enable()
    model.train()
    model.model.layers[1].eval()  # a frozen part
    model.forward = torch.autocast("cpu", torch.bfloat16)(model.forward)  # as accelerate does it
    model.enable_input_require_grads()
    before = fingerprint(model)
    generator = TransformersGenerator(model, stop_ids=[STOP], engine=engine)
    question = prompts(1)[0]
    loss_before = train_loss(model, question)
    answer = generate(generator, [question])[0]
    assert fingerprint(model) == before
    assert train_loss(model, question) == loss_before
    del model.forward
    assert_exact(model.eval(), question, answer)


def fingerprint(model: Any) -> list[Any]:
    return [
        [(name, module.training) for name, module in model.named_modules()],
        [(name, id(p), p.requires_grad, p.dtype, p._version) for name, p in model.named_parameters()],
        model.config.to_dict(),
        model.config._attn_implementation,
        model.is_gradient_checkpointing,
        model.__dict__["forward"],
        copy.copy(model.generation_config.to_dict()),
        [len(module._forward_hooks) for module in model.modules()],
    ]


def train_loss(model: Any, ids: list[int]) -> tuple[float, float]:
    model.zero_grad()
    loss = model(input_ids=torch.tensor([ids]), labels=torch.tensor([ids])).loss
    loss.backward()
    return loss.item(), float(model.model.embed_tokens.weight.grad.norm())


def test_training_while_left_is_seen_on_entering_in_both_precisions() -> None:
    model = llama()
    exact = TransformersGenerator(model, stop_ids=[STOP])
    rounded = TransformersGenerator(model, stop_ids=[STOP], dtype="bfloat16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    question = prompts(1)[0]
    for _ in range(2):
        assert_exact(model, question, generate(exact, [question])[0])
        answer = generate(rounded, [question])[0]
        expected = teacher_forced(model, question, answer.ids, 1.0)
        torch.testing.assert_close(torch.tensor(answer.logprobs), expected, atol=0.3, rtol=0)
        train_loss(model, question)
        optimizer.step()


def test_bfloat16_is_what_the_trainer_sees_under_autocast() -> None:
    model = llama()
    question = prompts(1, length=40)[0]
    answer = generate(TransformersGenerator(model, stop_ids=[], dtype="bfloat16"), [question], n=64)[0]
    with torch.autocast("cpu", torch.bfloat16):
        autocast = teacher_forced(model, question, answer.ids, 1.0)
    exact = teacher_forced(model, question, answer.ids, 1.0)
    gap = (torch.tensor(answer.logprobs) - autocast).abs().mean()
    assert gap < 1.5 * (exact - autocast).abs().mean()


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing:FutureWarning")
def test_lora_adapters_count() -> None:
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False)
    model = peft.get_peft_model(llama(), config).eval()
    question = prompts(1)[0]
    answer = generate(TransformersGenerator(model, stop_ids=[STOP], engine="batched"), [question])[0]
    assert_exact(model, question, answer)
    with model.disable_adapter():
        plain = teacher_forced(model, question, answer.ids, 1.0)
    assert (torch.tensor(answer.logprobs) - plain).abs().max() > 1e-3


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize("engine", ["batched", pytest.param("continuous", marks=pytest.mark.slow)])
def test_adapters_injected_after_the_generator_was_made_count(engine: str) -> None:
    peft = pytest.importorskip("peft")
    model, question = llama(), prompts(1)[0]
    generator = TransformersGenerator(model, stop_ids=[STOP], engine=engine)
    plain = generate(generator, [question])[0]
    assert_exact(model, question, plain)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "down_proj"])
    adapted = peft.get_peft_model(model, config).eval()  # replaces layers of `model`
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    answer = generate(generator, [question])[0]
    assert_exact(adapted, question, answer)
    with adapted.disable_adapter():
        base = teacher_forced(adapted, question, answer.ids, 1.0)
    assert (torch.tensor(answer.logprobs) - base).abs().max() > 1e-2


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"use_dora": True}, "use_dora"),
        ({"modules_to_save": ["embed_tokens"]}, "ModulesToSaveWrapper in place of an embedding"),
        ({"target_modules": ["embed_tokens"]}, "Embedding in place of an embedding"),
        ({"modules_to_save": ["post_attention_layernorm"]}, "modules_to_save"),
    ],
)
def test_adapters_that_are_not_understood_fail_calls_rather_than_be_left_out(
    options: dict[str, Any], reason: str
) -> None:
    peft = pytest.importorskip("peft")
    model = llama()
    generator = TransformersGenerator(model, stop_ids=[STOP], engine="batched")
    peft.get_peft_model(model, peft.LoraConfig(**{"r": 4, "target_modules": ["q_proj"], **options}))
    with pytest.raises(GeneratorError, match=f"{reason}.*use engine 'continuous'"):
        generate(generator, prompts(1))


def test_leaving_during_a_step_that_hangs_is_bounded_and_the_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, release = threading.Event(), threading.Event()
    forward = Decoder.forward

    def hanging(*batch: Any) -> torch.Tensor:
        began.set()
        release.wait(20)
        return forward(*batch)

    model = llama()
    engine = BatchedEngine(Decoder(model, torch.float32), [STOP], 4, stop_timeout_s=0.2)
    generator = TransformersGenerator(model, stop_ids=[STOP])
    monkeypatch.setattr(generator, "_engine", engine)

    async def run() -> int:
        beats = 0
        async with generator:
            call = asyncio.ensure_future(sample(generator, prompts(1)))
            await asyncio.to_thread(began.wait, 10)
            leaving = asyncio.ensure_future(generator.close())
            while not leaving.done():
                await asyncio.sleep(0.01)
                beats += 1
            with pytest.raises(GeneratorError, match=r"did not end within 0\.2 s"):
                await leaving
        release.set()
        with pytest.raises(GeneratorError, match="was left"):
            await call
        return beats

    with monkeypatch.context() as patch:
        patch.setattr(Decoder, "forward", hanging)
        assert asyncio.run(run()) > 3


def test_continuous_engine_is_exact_and_takes_what_batched_refuses() -> None:
    model = made(Gemma2ForCausalLM, Gemma2Config(**SIZES, attn_implementation="eager"))
    with pytest.raises(ValueError, match="family 'gemma2' is not one of"):
        TransformersGenerator(model, stop_ids=[STOP], engine="batched")
    generator = TransformersGenerator(llama(), stop_ids=[STOP], engine="continuous", max_batch=4)
    question = prompts(1)[0]
    assert_exact(llama(), question, generate(generator, [question])[0])


def test_sliding_windows_are_refused_with_the_reason() -> None:
    config = Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=8, max_window_layers=0)
    with pytest.raises(ValueError, match="sliding-window attention layers; use engine 'continuous'"):
        TransformersGenerator(made(Qwen2ForCausalLM, config), stop_ids=[STOP], engine="batched")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"engine": "fast"}, "engine is 'fast'; it must be"),
        ({"dtype": "int8"}, "dtype is 'int8'; it must be"),
        ({"max_batch": 0}, "max_batch is 0; it must be at least 1"),
        ({"max_context": 100_000}, "max_context is 100000; the model takes at most 512"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        TransformersGenerator(llama(), stop_ids=[STOP], **options)


def test_a_broken_engine_fails_every_waiting_call_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> torch.Tensor:
        raise RuntimeError("out of memory")

    generator = TransformersGenerator(llama(), stop_ids=[STOP])

    async def run() -> list[Any]:
        async with generator:
            first = await asyncio.gather(
                *(
                    generator.generate(question, max_new_tokens=4, sampling=Sampling())
                    for question in prompts(5)
                ),
                return_exceptions=True,
            )
            later = await asyncio.gather(
                generator.generate([9], max_new_tokens=4, sampling=Sampling()), return_exceptions=True
            )
            return [*first, *later]

    with monkeypatch.context() as patch:
        patch.setattr(Decoder, "forward", broken)
        outcomes = asyncio.run(run())
    assert len(outcomes) == 6
    for outcome in outcomes:
        assert isinstance(outcome, GeneratorError)
        assert "RuntimeError: out of memory" in str(outcome)
    assert len(generate(generator, prompts(1))) == 1  # entering again starts afresh


@pytest.mark.parametrize("engine", ["batched", "continuous"])
def test_closing_inside_ends_calls_and_is_final(engine: str) -> None:
    generator = TransformersGenerator(llama(), stop_ids=[], engine=engine, max_batch=2)

    async def run() -> None:
        async with generator:
            calls = [asyncio.ensure_future(sample(generator, prompts(1), n=400)) for _ in range(4)]
            await asyncio.sleep(0.01)
            await generator.close()
            for outcome in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(outcome, GeneratorError)
            with pytest.raises(GeneratorError, match="inside `async with"):
                await sample(generator, prompts(1))
        with pytest.raises(GeneratorError, match="closed; make another"):
            async with generator:
                pass

    asyncio.run(run())


def test_auto_precision_is_one_the_cpu_computes_in() -> None:
    generator = TransformersGenerator(llama(), stop_ids=[STOP], dtype="auto")
    assert len(generate(generator, prompts(1))) == 1


def test_no_thread_and_no_thread_count_is_left_behind() -> None:
    threads, count = set(threading.enumerate()), torch.get_num_threads()
    generate(TransformersGenerator(llama(), stop_ids=[STOP]), prompts(4), n=40)
    assert set(threading.enumerate()) == threads
    assert torch.get_num_threads() == count
