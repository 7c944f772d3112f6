"""`--dry-run`: everything that can be checked before weights are loaded, and one scripted batch.

The batch is played for real (environment, sandbox, chat format, limits, rows for TRL); only the model is
replaced by a script, which gives the gold answer where the environment knows one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..agents.chat import ChatFormat
from ..agents.core import Episode
from ..agents.generator.scripted import ScriptedGenerator
from ..envs.core import Action, Task
from .argument import grpo_args
from .assembly import Scene, chat_format, made_env, make_engine, set_scene
from .batch import columns, with_tokens
from .check import check_rollout
from .errors import ModelError, UserError, as_user_error
from .model import find_model, load_tokenizer, lora_config
from .recipe import DEFAULT_MODEL, Recipe
from .task import carried

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MAX_TASKS = 8
_NO_GOLD = "I do not know."
_NO_CONFIG_CONTEXT = 1 << 20

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """A tokenizer, and what is known of the model it belongs to."""

    tokenizer: PreTrainedTokenizerBase
    max_context: int
    remark: str
    """Says so if it is a stand-in."""


def dry_run(recipe: Recipe, cache_dir: Path, say: Say) -> None:
    """Check a recipe for training and play one scripted batch.

    Args:
        recipe: the run's.
        cache_dir: where converted models are kept.
        say: takes a line for each thing that was found right.

    Raises:
        UserError: something cannot be used; says what.
        SandboxUnavailable: the sandbox cannot be had on this machine.
    """
    scene = set_scene(recipe, training=True)
    say(
        f"environment {recipe.env_name}: {len(scene.train_tasks)} training tasks, "
        f"{len(scene.eval_tasks)} held out"
    )
    args = grpo_args(recipe, cache_dir, n_tasks=len(scene.train_tasks), model_path=recipe.model.name)
    lora_config(recipe.model)
    prompts = (args.generation_batch_size or 0) // (args.num_generations or 1)
    say(f"trainer: {prompts} prompts x {args.num_generations} episodes a batch, loss {args.loss_type}")
    found = _tokenizer(recipe, cache_dir)
    chat = chat_format(recipe.chat, found.tokenizer)
    say(f"tokenizer: {found.remark}, {len(found.tokenizer)} tokens; tool calls as {chat.name}")
    with as_user_error("tasks of split 'train'"):
        tasks = [carried(scene.train_tasks[index]) for index in range(min(prompts, MAX_TASKS))]
    golds = gold_texts(scene, chat, tasks)
    scripted = list(zip(tasks, golds or [_NO_GOLD] * len(tasks), strict=True))
    episodes = asyncio.run(_play(recipe, scene, chat, scripted, found.max_context))
    _check_episodes(recipe, episodes, found.max_context)
    _check_rows(episodes, found.tokenizer)
    say(_summary(episodes, has_gold=golds is not None))


async def _play(
    recipe: Recipe, scene: Scene, chat: ChatFormat, scripted: Sequence[tuple[Task, str]], max_context: int
) -> list[Episode]:
    """One episode of each task, with the reply that stands beside it."""
    await scene.open()
    try:
        episodes = []
        for task, reply in scripted:
            generator = ScriptedGenerator(chat, [reply], max_context=max_context)
            engine = make_engine(recipe, scene, generator, chat, seed=recipe.seed)
            try:
                episodes += await engine.run([task], 1)
            finally:
                engine.release()
        return episodes
    finally:
        await scene.close()


def gold_texts(scene: Scene, chat: ChatFormat, tasks: Sequence[Task]) -> list[str] | None:
    """What the script replies to each task: the gold answers; `None` if the environment knows none."""
    with made_env(scene.make_env) as env, as_user_error("gold_action"):
        gold = getattr(env, "gold_action", None)  # optional, not part of the contract
        return None if gold is None else [action_text(gold(task), chat.name) for task in tasks]


def action_text(action: Action, format_name: str) -> str:
    """An action as a model would write it in a tool-call format."""
    parts = [action.text] if action.text else []
    for call in action.tool_calls:
        arguments = dict(call.arguments or {})
        if format_name == "pythonic":
            inner = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            parts.append(f"[{call.name}({inner})]")
        elif format_name == "bare_json":
            parts.append(json.dumps({"name": call.name, "parameters": arguments}))
        else:
            parts.append(
                f"<tool_call>\n{json.dumps({'name': call.name, 'arguments': arguments})}\n</tool_call>"
            )
    return "\n".join(parts)


def _tokenizer(recipe: Recipe, cache_dir: Path) -> _Tokenizer:
    name = recipe.model.name
    try:
        folder, remark = find_model(name, cache_dir, tokenizer_only=True), f"that of {name}"
    except ModelError as error:
        if Path(name).expanduser().exists() or name.startswith((".", "/", "~")) or name == DEFAULT_MODEL:
            raise
        try:
            folder = find_model(DEFAULT_MODEL, cache_dir, tokenizer_only=True)
        except ModelError:
            raise error from None
        remark = f"that of {name} cannot be had offline; checked with a STAND-IN, that of {DEFAULT_MODEL}"
        return _Tokenizer(load_tokenizer(folder), _NO_CONFIG_CONTEXT, remark)
    return _Tokenizer(load_tokenizer(folder), _context(folder), remark)


def _context(folder: Path) -> int:
    config = folder / "config.json"
    if not config.is_file():
        return _NO_CONFIG_CONTEXT
    fields = json.loads(config.read_text(encoding="utf-8"))
    return int(fields.get("max_position_embeddings") or _NO_CONFIG_CONTEXT)


def _check_episodes(recipe: Recipe, episodes: Sequence[Episode], max_context: int) -> None:
    for episode in episodes:
        if episode.failure is not None:
            raise UserError(f"the episode of task {episode.task_id!r} broke: {episode.failure}")
        prompt = len(episode.tokens.prompt_ids) if episode.tokens else 0
        room = recipe.limits.max_turn_tokens or 1
        if prompt + room > max_context:
            raise UserError(
                f"the prompt of task {episode.task_id!r} has {prompt} tokens, which with a turn of {room} "
                f"exceed the model's context of {max_context}; shorten it or lower limits.max_turn_tokens"
            )


def _check_rows(episodes: Sequence[Episode], tokenizer: PreTrainedTokenizerBase) -> None:
    kept = [with_tokens(episode) for episode in episodes]
    rows = columns(kept, [episode.task_id for episode in kept], tokenizer.eos_token_id)
    check_rollout(rows, len(kept), vocab_size=len(tokenizer))


def _summary(episodes: Sequence[Episode], *, has_gold: bool) -> str:
    solved = sum(episode.is_success for episode in episodes)
    longest = max(len(episode.tokens.prompt_ids) for episode in episodes if episode.tokens)
    if not has_gold:
        return f"episodes: {len(episodes)} played without a fault, prompts of up to {longest} tokens"
    missed = next((episode for episode in episodes if not episode.is_success), None)
    if missed is not None:
        raise UserError(
            f"the gold answer of task {missed.task_id!r} is not rewarded: the episode ended as "
            f"{missed.stop_reason} with reward {missed.reward}; are limits.max_turn_tokens and "
            "limits.max_completion_tokens wide enough for it?"
        )
    return f"episodes: {solved} of {len(episodes)} gold answers rewarded, prompts of up to {longest} tokens"
