"""The real engine with a troubled environment, a real model that samples, and stock TRL, together."""

import asyncio
import zlib
from collections import defaultdict

import pytest
import torch
from fake_engine import TASKS

from grpo_agent.agents.chat import ChatFormat
from grpo_agent.agents.generator.scripted import ScriptedGenerator
from grpo_agent.agents.generator.transformers import TransformersGenerator
from grpo_agent.agents.limits import RolloutLimits
from grpo_agent.agents.rollout import RolloutEngine
from grpo_agent.agents.testing import tiny_model, tiny_tokenizer
from grpo_agent.envs.core import Env, Step
from grpo_agent.trainer.grpo import build_trainer, train
from grpo_agent.trainer.guard import make_args
from grpo_agent.trainer.rollout_func import RolloutFunc

TEMPERATURE = 0.8


class Troubled(Env):
    """Goes on, ends, truncates or breaks at random, with observations of any length."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return f"Guess a number from 1 to {options['task']['answer']}.", {}

    async def step(self, action):
        await asyncio.sleep(0)
        draw = zlib.crc32(f"{action.text}{self.np_random.random()}".encode()) % 100 / 100
        if draw < 0.05:
            raise ConnectionError("the game server is gone")
        observation = "higher, " * int(draw * 12)
        return Step(observation, draw, draw > 0.7, 0.6 < draw < 0.7, {})


class Recorded:
    """A generator that remembers what it emitted after which ids."""

    def __init__(self, inner):
        self.inner = inner
        self.emitted = defaultdict(list)

    @property
    def max_context(self):
        return self.inner.max_context

    async def generate(self, ids, **options):
        generation = await self.inner.generate(ids, **options)
        self.emitted[tuple(ids)].append((generation.ids, generation.logprobs))
        return generation

    async def close(self):
        await self.inner.close()

    async def __aenter__(self):
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *exc_info):
        await self.inner.__aexit__(*exc_info)


class Rows:
    """A `rollout_func` that passes on to another and keeps what TRL was given."""

    def __init__(self, inner):
        self.inner = inner
        self.kept = []

    def __call__(self, prompts, trainer):
        output = self.inner(prompts, trainer)
        names = ("prompt_ids", "completion_ids", "logprobs", "env_mask", "episode_reward")
        self.kept += list(zip(*(output[name] for name in names), strict=True))
        return output

    @property
    def n_calls(self):
        return self.inner.n_calls


def scripted(model, chat):
    return ScriptedGenerator(chat, lambda text, turn: "The answer is 42. " * (1 + (len(text) + turn) % 4))


def sampled_from_the_model(model, chat):
    return TransformersGenerator(model, stop_ids=chat.stop_ids)


def trained_rows(folder, make_generator, peft_config=None, learning_rate=1e-2, **limits):
    tokenizer = tiny_tokenizer()
    model, chat = tiny_model(tokenizer), ChatFormat.for_tokenizer(tokenizer)
    generator = Recorded(make_generator(model, chat))
    engine = RolloutEngine(Troubled, generator, chat, RolloutLimits(**limits), seed=3)
    rollout = RolloutFunc(engine)
    rows = Rows(rollout)
    args = make_args(
        folder,
        activation_checkpointing=False,
        bf16=False,
        disable_tqdm=True,
        learning_rate=learning_rate,
        logging_steps=1,
        max_steps=2,
        num_generations=4,
        per_device_train_batch_size=16,
        save_strategy="no",
        temperature=TEMPERATURE,
    )
    trainer = build_trainer(
        model=model,
        tokenizer=tokenizer,
        rollout_func=rows,
        tasks=TASKS,
        args=args,
        peft_config=peft_config,
    )
    train(trainer)
    rollout.close()
    return trainer, generator, rows.kept


def runs_of_ones(mask):
    """The `(start, end)` of each unbroken run of 1."""
    edges = [
        index
        for index in range(len(mask) + 1)
        if (mask[index - 1 : index] or [0]) != (mask[index : index + 1] or [0])
    ]
    return list(zip(edges[::2], edges[1::2], strict=True))


def largest_gap(model, rows):
    """How far the sampler's logprobs are from the model's, at most."""
    gaps = [0.0]
    for prompt, completion, logprobs, mask, reward in rows:
        if reward is None:
            continue
        with torch.no_grad():
            logits = model(torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1]
        expected = torch.log_softmax(logits / TEMPERATURE, -1)[range(len(completion)), completion]
        gaps.append(float(((expected - torch.tensor(logprobs)) * torch.tensor(mask)).abs().max()))
    return max(gaps)


@pytest.mark.parametrize("make_generator", [scripted, sampled_from_the_model])
@pytest.mark.parametrize(
    "limits", [{"max_turns": 3, "max_turn_tokens": 12}, {"max_turn_tokens": 7, "max_completion_tokens": 60}]
)
def test_trl_is_given_the_ids_and_logprobs_that_the_sampler_emitted(tmp_path, make_generator, limits):
    _, generator, rows = trained_rows(tmp_path, make_generator, **limits)
    assert len(rows) == 32
    n_turns = 0
    for prompt, completion, logprobs, mask, reward in rows:
        if reward is None:
            continue
        for start, end in runs_of_ones(mask):
            before = (*prompt, *completion[:start])
            assert (tuple(completion[start:end]), tuple(logprobs[start:end])) in generator.emitted[before]
            n_turns += 1
    assert n_turns > 32


def test_the_samplers_logprobs_are_those_of_the_model_at_the_temperature(tmp_path):
    tokenizer = tiny_tokenizer()
    fresh = tiny_model(tokenizer)
    trainer, _, rows = trained_rows(tmp_path, sampled_from_the_model, max_turns=3, max_turn_tokens=12)
    assert trainer.state.log_history[0]["grad_norm"] > 0
    assert largest_gap(fresh, rows[:16]) < 1e-4


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing:FutureWarning")
def test_the_sampler_sees_the_adapter_that_the_trainer_injects_after_it_was_made(tmp_path):
    peft = pytest.importorskip("peft")
    adapter = peft.LoraConfig(
        r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, task_type="CAUSAL_LM"
    )
    trainer, _, rows = trained_rows(
        tmp_path, sampled_from_the_model, adapter, learning_rate=0.0, max_turns=2, max_turn_tokens=12
    )
    model = trainer.model.eval()
    assert largest_gap(model, rows) < 1e-4
    with model.disable_adapter():
        assert largest_gap(model, rows) > 1e-2
