"""What a run is: every setting, its type, its default and its meaning, in one place.

A `Recipe` is composed from YAML and overrides by `compose`; the rest of the program sees only this.
Not here: how it is composed, nor the fields of TRL's `GRPOConfig`, which `trainer.*` passes through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..agents.limits import RolloutLimits
from ..envs.nearest import did_you_mean
from .errors import RecipeError

DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
DTYPES = ("float32", "bfloat16", "float16")
PARSE_ERRORS = ("feedback", "end")
SPLITS = ("train", "test")


@dataclass(frozen=True, slots=True)
class ModelRecipe:
    """`model`: which weights, and how they are held. `model=NAME` is short for `model.name=NAME`."""

    name: str = DEFAULT_MODEL
    """A folder, a checkpoint, a run folder, or a name on the hub."""
    dtype: str = "float32"
    """Of the weights: float32 (needed to train all of them at small learning rates) or bfloat16 (half the
    memory: for adapters and evaluation)."""
    attn: str | None = None
    """Attention of the training pass (sdpa, eager, flash_attention_2); null lets transformers choose."""
    lora: dict[str, Any] | None = None  # Any: fields of peft's LoraConfig
    """Train an adapter: fields of peft's `LoraConfig`, e.g. {r: 16}; null trains all weights."""

    def __post_init__(self) -> None:
        _one_of("model.dtype", self.dtype, DTYPES)


@dataclass(frozen=True, slots=True)
class ChatRecipe:
    """`chat`: how messages become tokens."""

    template: str | None = None
    """A Jinja file to use in place of the tokenizer's chat template."""
    template_kwargs: dict[str, Any] = field(default_factory=dict)  # Any: variables of the template
    """Variables given to the template, e.g. {enable_thinking: false}."""
    format: str | None = None
    """How tool calls are written, e.g. hermes; null reads it off the template."""


@dataclass(frozen=True, slots=True)
class GeneratorRecipe:
    """`generator`: what samples the turns. `generator=NAME` is short for `generator.backend=NAME`."""

    backend: str = "transformers"
    """transformers: shares the trainer's weights."""
    engine: str = "auto"
    """batched (fast, for the model families it knows), continuous (transformers' own) or auto."""
    dtype: str | None = None
    """Precision of sampling, e.g. float32; null takes that of the trainer's passes (`trainer.bf16`)."""
    max_batch: int = 64
    """Sequences that are decoded together; more wait."""

    def __post_init__(self) -> None:
        _one_of("generator.backend", self.backend, ("transformers",))
        _one_of("generator.engine", self.engine, ("auto", "batched", "continuous"))
        _one_of("generator.dtype", self.dtype, (None, *DTYPES))
        _at_least("generator.max_batch", self.max_batch, 1)


@dataclass(frozen=True, slots=True)
class RolloutRecipe:
    """`rollout`: how many episodes run, and what happens when something breaks."""

    max_concurrent: int = 64
    """Episodes at once."""
    retries: int = 2
    """Fresh starts of an episode whose environment or sandbox broke, before it is left unscored."""
    max_unscored_share: float = 0.25
    """Share of unscored episodes in a batch above which the run stops."""
    skip_flat_groups: bool = True
    """Leave groups whose episodes all have the same reward out of the training pass, where that changes
    no gradient."""
    parse_error: str = "feedback"
    """What a malformed action does: feedback (the environment answers it) or end (the episode stops)."""

    def __post_init__(self) -> None:
        _at_least("rollout.max_concurrent", self.max_concurrent, 1)
        _at_least("rollout.retries", self.retries, 0)
        _between("rollout.max_unscored_share", self.max_unscored_share, 0.0, 1.0)
        _one_of("rollout.parse_error", self.parse_error, PARSE_ERRORS)


@dataclass(frozen=True, slots=True)
class EvalRecipe:
    """`eval`: the held-out evaluation, before and after training and by `grpo-agent eval`."""

    tasks: int | None = 60
    """Tasks drawn from the split; null takes all."""
    samples: int = 4
    """Episodes of each task; pass@k is given for k up to this."""
    split: str = "test"
    """test (held out) or train."""
    temperature: float = 1.0
    """Of sampling; 0 is greedy."""
    seed: int = 0
    """Draws the tasks and seeds the episodes; apart from `seed`, so that runs face the same tasks."""
    before: bool = True
    """Whether `train` evaluates before the first step."""
    after: bool = True
    """Whether `train` evaluates after the last step."""

    def __post_init__(self) -> None:
        _at_least("eval.tasks", self.tasks, 1)
        _at_least("eval.samples", self.samples, 1)
        _one_of("eval.split", self.split, SPLITS)
        _between("eval.temperature", self.temperature, 0.0, 10.0)


@dataclass(frozen=True, slots=True)
class RunRecipe:
    """`run`: where the results go."""

    name: str | None = None
    """Name of the run's folder; null takes the next free one, e.g. code-1."""
    folder: str = "runs"
    """Folder that holds the runs."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that defines a run."""

    env: dict[str, Any] = field(default_factory=dict)  # Any: what the environment takes
    """The environment: `env=NAME` (see `grpo-agent envs`), `env=path/to/file.py:Class` or
    `env=package.module:Class`; `env.KEY=VALUE` are the settings of that environment."""
    model: ModelRecipe = field(default_factory=ModelRecipe)
    sandbox: dict[str, Any] = field(default_factory=lambda: {"name": "local"})  # Any: the provider's options
    """Where untrusted code runs: `sandbox=local`, or `sandbox=unsafe` (no isolation);
    `sandbox.KEY=VALUE` are options of that provider."""
    chat: ChatRecipe = field(default_factory=ChatRecipe)
    generator: GeneratorRecipe = field(default_factory=GeneratorRecipe)
    limits: RolloutLimits = field(default_factory=RolloutLimits)
    rollout: RolloutRecipe = field(default_factory=RolloutRecipe)
    trainer: dict[str, Any] = field(default_factory=dict)  # Any: fields of GRPOConfig
    """Any field of TRL's `GRPOConfig`, e.g. `trainer.learning_rate=1e-6`."""
    eval: EvalRecipe = field(default_factory=EvalRecipe)
    run: RunRecipe = field(default_factory=RunRecipe)
    seed: int = 0
    """Seeds the order of tasks, the environments and the sampling of training."""
    resume: str | None = None
    """A run folder to go on with, from its last checkpoint; the recipe is read from there."""
    max_train_minutes: float | None = None
    """Wall time after which training ends with a checkpoint; null trains all steps."""

    def __post_init__(self) -> None:
        _between("seed", self.seed, 0, 2**32 - 1)
        if self.max_train_minutes is not None and self.max_train_minutes <= 0:
            raise RecipeError(f"max_train_minutes is {self.max_train_minutes}; it must be positive, or null")
        for key in ("env", "sandbox"):
            if not isinstance(getattr(self, key).get("name"), str):
                raise RecipeError(f"no {key} is named; say e.g. {key}={'code' if key == 'env' else 'local'}")

    @property
    def env_name(self) -> str:
        """Name or path of the environment."""
        return str(self.env["name"])

    @property
    def env_settings(self) -> dict[str, Any]:  # Any: what the environment takes
        """Keyword arguments of the environment."""
        return {key: value for key, value in self.env.items() if key != "name"}


def _one_of(key: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        names = ["null" if each is None else str(each) for each in allowed]
        close = did_you_mean(str(value), names)
        raise RecipeError(f"{key} is {value!r}; it must be one of {', '.join(names)}{close}")


def _at_least(key: str, value: int | None, low: int) -> None:
    if value is not None and value < low:
        raise RecipeError(f"{key} is {value}; it must be at least {low}")


def _between(key: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise RecipeError(f"{key} is {value}; it must be between {low} and {high}")


def packaged_recipes() -> dict[str, Path]:
    """The recipes that come with the package, by name."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "recipes").glob("*.yaml"))}
