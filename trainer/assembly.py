"""Puts the parts of a run together from its recipe: environment, tasks, chat format, engine, generator.

What is wrong with a part is said here as a `UserError`, before weights are loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agents.chat import ChatFormat
from ..agents.core import Episode, Generator
from ..agents.errors import ChatFormatError
from ..agents.failure import one_line
from ..agents.rollout import RolloutEngine
from ..envs.core import Env, Task
from ..envs.registry import describe, env_factory
from ..sandboxes.core import SandboxProvider
from ..sandboxes.registry import close_shared_providers, make_provider, shared_provider
from .errors import UserError, as_user_error
from .evaluate import draw_tasks
from .recipe import ChatRecipe, EvalRecipe, Recipe
from .task import carried, checked_tasks

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SEED_TASKS = 100_000
"""Training rows of an environment without tasks: each is only a name, from which a seed follows."""

SEED_EVAL_TASKS = 100
"""As `SEED_TASKS`, of those that are held out."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Where the episodes of a run take place."""

    make_env: Callable[[], Env]
    train_tasks: Sequence[Task]
    eval_tasks: Sequence[Task]
    provider: SandboxProvider | None
    """The sandbox with options of its own, which the environments share; `None`: by name, or none used."""
    sandbox_name: str | None
    """`None` if the environment takes no sandbox."""

    async def open(self) -> None:
        """Start the sandbox provider, shared by the environments of the running loop.

        Raises:
            SandboxUnavailable: it cannot be had on this machine.
        """
        if self.provider is not None:
            await self.provider.start()
        elif self.sandbox_name is not None:
            await shared_provider(self.sandbox_name).start()

    async def close(self) -> None:
        """Close the providers of the running loop."""
        if self.provider is not None:
            await self.provider.close()
        await close_shared_providers()


def set_scene(recipe: Recipe, *, training: bool) -> Scene:
    """Make the environment's factory and draw the tasks.

    Args:
        recipe: the run's.
        training: whether training tasks are needed.

    Raises:
        UserError: the environment, a setting of it, the sandbox or a task row is wrong.
    """
    name, settings = recipe.env_name, recipe.env_settings
    sandbox_name, options = str(recipe.sandbox["name"]), dict(recipe.sandbox)
    del options["name"]
    provider = None
    with as_user_error():
        takes_sandbox = "sandbox" in describe(name).settings
        if takes_sandbox:
            # Made even where the name alone would do: an unknown name or option is found now.
            provider = make_provider(sandbox_name, **options)
            settings = {"sandbox": provider if options else sandbox_name, **settings}
        make_env = env_factory(name, **settings)
        with made_env(make_env) as env:
            train = env.tasks("train") if training else ()
            held_out = env.tasks(recipe.eval.split)
    return Scene(
        make_env=make_env,
        train_tasks=_rows(train, "train", SEED_TASKS),
        eval_tasks=_eval_rows(recipe.eval, held_out),
        provider=provider if options else None,
        sandbox_name=sandbox_name if takes_sandbox else None,
    )


def chat_format(recipe: ChatRecipe, tokenizer: PreTrainedTokenizerBase) -> ChatFormat:
    """The chat format of a tokenizer, with the template that the recipe names.

    Raises:
        UserError: the template cannot be read, or not be used for training.
    """
    if recipe.template is not None:
        try:
            tokenizer.chat_template = Path(recipe.template).expanduser().read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(f"chat.template={recipe.template}: {error.strerror}") from error
    try:
        with as_user_error("chat"):
            return ChatFormat.for_tokenizer(
                tokenizer, name=recipe.format, template_kwargs=recipe.template_kwargs
            )
    except ChatFormatError as error:
        raise UserError(f"chat: {one_line(error)}") from error


def make_generator(recipe: Recipe, model: PreTrainedModel, chat: ChatFormat) -> Generator:
    """The generator that samples from `model`, in the precision of the trainer's passes if none is said.

    Raises:
        UserError: an option is wrong.
    """
    from ..agents.generator.transformers import TransformersGenerator
    from .precision import has_fast_bfloat16

    dtype, is_bf16 = recipe.generator.dtype, recipe.trainer.get("bf16")
    if is_bf16 is None:
        is_bf16 = has_fast_bfloat16() and not recipe.trainer.get("fp16")
    if dtype is None and is_bf16:
        dtype = "bfloat16"
    options: dict[str, Any] = {"engine": recipe.generator.engine}  # Any: a literal type, checked there
    with as_user_error("generator"):
        return TransformersGenerator(
            model, stop_ids=chat.stop_ids, dtype=dtype, max_batch=recipe.generator.max_batch, **options
        )


def make_engine(
    recipe: Recipe,
    scene: Scene,
    generator: Generator,
    chat: ChatFormat,
    *,
    seed: int,
    on_episode: Callable[[Episode], None] | None = None,
) -> RolloutEngine:
    """The engine that plays episodes of the run's environment.

    Raises:
        UserError: an option is wrong.
    """
    options: dict[str, Any] = {
        "parse_error": recipe.rollout.parse_error
    }  # Any: a literal type, checked there
    with as_user_error("rollout"):
        return RolloutEngine(
            scene.make_env,
            generator,
            chat,
            recipe.limits,
            max_concurrent=recipe.rollout.max_concurrent,
            retries=recipe.rollout.retries,
            min_group=1,
            seed=seed,
            on_episode=on_episode,
            **options,
        )


@contextmanager
def made_env(make_env: Callable[[], Env]) -> Iterator[Env]:
    """An environment to ask something of outside of an episode; closed at the end.

    Not for use where an event loop runs.
    """
    env = make_env()
    try:
        yield env
    finally:
        closing = env.close()
        if closing is not None:
            asyncio.run(_ended(closing))


async def _ended(closing: Awaitable[None]) -> None:
    await closing


def _rows(tasks: Sequence[Task] | None, split: str, count: int) -> Sequence[Task]:
    """Rows with a name; for an environment without tasks, names from which seeds follow."""
    if tasks is None:
        return [{"task_id": f"{split}-{index + 1:06}"} for index in range(count)]
    with as_user_error(f"tasks of split {split!r}"):
        return checked_tasks(tasks)


def _eval_rows(recipe: EvalRecipe, tasks: Sequence[Task] | None) -> Sequence[Task]:
    """The rows drawn for evaluation, as training would meet them."""
    drawn = draw_tasks(_rows(tasks, recipe.split, SEED_EVAL_TASKS), recipe.tasks, recipe.seed)
    with as_user_error(f"tasks of split {recipe.split!r}"):
        return [carried(task) for task in drawn]
