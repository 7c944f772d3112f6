"""Every generator keeps the contract."""

import asyncio
from collections.abc import Callable

import pytest
import torch

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.core import Generation, Generator
from grpo_agent.agents.generator.conformance import check_generator
from grpo_agent.agents.generator.scripted import ScriptedGenerator
from grpo_agent.agents.generator.transformers import TransformersGenerator
from grpo_agent.agents.testing import tiny_model, tiny_tokenizer

TOKENIZER = tiny_tokenizer()
FORMAT = ChatFormat.for_tokenizer(TOKENIZER)
PROMPTS = [
    FORMAT.encode([{"role": "user", "content": text}])
    for text in ("Hello there!", "Guess a number.", "1 2 3")
]


@pytest.mark.parametrize("engine", ["batched", pytest.param("continuous", marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_transformers_generator_keeps_the_contract(engine: str, dtype: str | None) -> None:
    model = tiny_model(TOKENIZER)
    check_generator(
        lambda: TransformersGenerator(
            model, stop_ids=FORMAT.stop_ids, engine=engine, dtype=dtype, max_batch=16
        ),
        prompts=PROMPTS,
        stop_ids=FORMAT.stop_ids,
        change_weights=lambda: shake(model),
    )


def test_scripted_generator_keeps_the_contract() -> None:
    check_generator(
        lambda: ScriptedGenerator(FORMAT, ["The answer is 42.", "x"]),
        prompts=PROMPTS,
        stop_ids=FORMAT.stop_ids,
        max_new_tokens=4,
    )


class Faulty:
    """A scripted generator whose answers are bent."""

    def __init__(self, bend: Callable[[Generation], Generation]) -> None:
        self._inner, self._bend = ScriptedGenerator(FORMAT, ["The answer is 42."]), bend
        self.max_context = self._inner.max_context

    async def generate(self, ids, *, max_new_tokens, sampling, seed=None) -> Generation:
        return self._bend(
            await self._inner.generate(ids, max_new_tokens=max_new_tokens, sampling=sampling, seed=seed)
        )

    async def close(self) -> None:
        await self._inner.close()

    async def __aenter__(self) -> Generator:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        return None


@pytest.mark.parametrize(
    ("bend", "match"),
    [
        (lambda g: Generation(g.ids, g.logprobs[:-1], g.finish_reason), "logprobs"),
        (lambda g: Generation(g.ids, (float("nan"),) * len(g.ids), g.finish_reason), "nan"),
        (lambda g: Generation((*g.ids, 5), (*g.logprobs, -1.0), g.finish_reason), "ids_have_logprobs"),
        (lambda g: Generation(g.ids, g.logprobs, "stop"), "It said 'stop'"),
        (lambda g: Generation(g.ids[:1], g.logprobs[:1], "length"), "stopped early"),
    ],
)
def test_a_bent_generation_breaks_a_rule(bend: Callable[[Generation], Generation], match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        check_generator(lambda: Faulty(bend), prompts=PROMPTS, stop_ids=FORMAT.stop_ids, max_new_tokens=4)


def test_one_prompt_is_not_enough() -> None:
    with pytest.raises(ValueError, match="at least two"):
        check_generator(lambda: Faulty(lambda g: g), prompts=PROMPTS[:1], stop_ids=FORMAT.stop_ids)


def test_a_generator_that_never_answers_breaks_a_rule() -> None:
    class Silent(Faulty):
        async def generate(self, ids, *, max_new_tokens, sampling, seed=None) -> Generation:
            await asyncio.Event().wait()
            raise AssertionError

    with pytest.raises(AssertionError, match=r"did not answer within 0\.1 s"):
        check_generator(lambda: Silent(lambda g: g), prompts=PROMPTS, stop_ids=FORMAT.stop_ids, timeout_s=0.1)


def shake(model: torch.nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
