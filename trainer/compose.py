"""From a YAML file and `key=value` overrides to a `Recipe`, by Hydra's compose API.

Hydra reads the file (with its `defaults` list, so that a recipe may build on a packaged one) and parses
the overrides; nothing else of Hydra is used: no output folders, no change of directory, no logging.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

from ..agents.failure import one_line
from ..envs.nearest import did_you_mean
from .errors import RecipeError, as_user_error
from .recipe import Recipe, packaged_recipes
from .setting import settings

SHORT = {"env": "name", "model": "name", "sandbox": "name", "generator": "backend"}
"""`env=code` is short for `env.name=code`, and so on."""


def load_recipe(recipe: str | None, overrides: Sequence[str]) -> Recipe:
    """Compose and check a recipe.

    Args:
        recipe: path of a YAML file or name of a packaged recipe; `None` takes the run's own when
            `resume` is given, else the default of the environment named in `overrides`.
        overrides: Hydra overrides, e.g. `limits.max_turns=4`.

    Raises:
        RecipeError: a file, key or value cannot be used; one line with the nearest match.
    """
    parsed = _parse(overrides)
    config = _read(_base(recipe, parsed))
    try:
        _expand(config)
        for override in parsed:
            _apply(config, override)
        return _typed(config)
    except ConfigKeyError as error:
        raise RecipeError(_unknown(str(error.full_key))) from error
    except OmegaConfBaseException as error:
        where = error.full_key or error.key or "the recipe"
        raise RecipeError(f"{where}: {one_line(error, max_lines=1)}") from error


def to_yaml(recipe: Recipe) -> str:
    """The resolved recipe as YAML, which `load_recipe` reads back to an equal one."""
    return OmegaConf.to_yaml(OmegaConf.create(dataclasses.asdict(recipe)))


def _parse(overrides: Sequence[str]) -> list[Override]:
    parser, parsed = OverridesParser.create(), []
    for text in overrides:
        try:
            override = parser.parse_override(text)
        except HydraException as error:
            raise RecipeError(f"cannot read the override {text!r}: {one_line(error, max_lines=1)}") from error
        if override.is_sweep_override():
            raise RecipeError(f"{text!r} gives several values; a list is written in brackets, e.g. key=[1,2]")
        parsed.append(override)
    return parsed


def _base(recipe: str | None, parsed: Sequence[Override]) -> Path:
    given = {override.key_or_group: override for override in parsed if not override.is_delete()}
    if recipe is not None:
        return _find(recipe)
    if "resume" in given and given["resume"].value() is not None:
        return _run_recipe(str(given["resume"].value()))
    chosen = given.get("env") or given.get("env.name")
    if chosen is None:
        raise RecipeError("no environment is named; say env=code, or give a recipe (see `grpo-agent envs`)")
    if chosen.value() != "code":
        return packaged_recipes()["default"]
    return packaged_recipes()["code_source" if "env.source" in given else "code_cpu"]


def _find(recipe: str) -> Path:
    path, packaged = Path(recipe), packaged_recipes()
    if path.is_file():
        return path
    if recipe in packaged:
        return packaged[recipe]
    known = ", ".join(packaged)
    raise RecipeError(
        f"no recipe {recipe!r}: neither a file nor one of {known}{did_you_mean(recipe, packaged)} "
        "(an override is written key=value)"
    )


def _run_recipe(folder: str) -> Path:
    path = Path(folder) / "recipe.yaml"
    if not path.is_file():
        raise RecipeError(f"resume={folder}: there is no {path}; give the folder of a run, e.g. runs/code-1")
    return path


def _read(path: Path) -> DictConfig:
    search = f"hydra.searchpath=['file://{Path(__file__).parent / 'recipes'}']"
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(config_dir=str(path.resolve().parent), version_base="1.3"):
            config = compose(path.name, overrides=[search])
    except (HydraException, OmegaConfBaseException, OSError) as error:
        raise RecipeError(f"cannot read the recipe {path}: {one_line(error)}") from error
    except Exception as error:
        # Hydra lets the YAML parser's errors through, which share no base with its own.
        if type(error).__module__.startswith("yaml"):
            raise RecipeError(f"cannot read the recipe {path}: {one_line(error)}") from error
        raise
    OmegaConf.set_struct(config, False)
    return config


def _expand(config: DictConfig) -> None:
    for key, inner in SHORT.items():
        if isinstance(config.get(key), str):
            config[key] = {inner: config[key]}


def _apply(config: DictConfig, override: Override) -> None:
    key = override.key_or_group
    value: object = override.value()
    if override.is_delete():
        _delete(config, key, value)
        return
    _check_key(key)
    if key in SHORT and isinstance(value, str):
        key, value = _short(config, key, value)
    OmegaConf.update(config, key, value, merge=True, force_add=True)


def _delete(config: DictConfig, key: str, value: object) -> None:
    """Take a key away, so that its default holds; with a value, only if it has that one."""
    head, _, leaf = key.rpartition(".")
    parent = OmegaConf.select(config, head) if head else config
    if not isinstance(parent, DictConfig) or leaf not in parent:
        names = list(parent) if isinstance(parent, DictConfig) else []
        given = [f"{head}.{name}" if head else str(name) for name in names]
        raise RecipeError(f"~{key}: the recipe gives no {key!r}{did_you_mean(key, given)}")
    if value is not None and parent[leaf] != value:
        raise RecipeError(f"~{key}={value}: {key} is {parent[leaf]!r}; ~{key} takes it away whatever it is")
    del parent[leaf]


def _short(config: DictConfig, key: str, value: str) -> tuple[str, object]:
    """Another environment or provider starts afresh: the settings of the old one mean nothing to it."""
    inner = SHORT[key]
    if key in ("env", "sandbox") and OmegaConf.select(config, f"{key}.{inner}") not in (None, value):
        config[key] = {}
    return f"{key}.{inner}", value


def _check_key(key: str) -> None:
    known = [setting.key for setting in settings()]
    groups = {name.split(".")[0] for name in known}
    head = key.split(".", maxsplit=1)[0]
    if head not in groups:
        leaves = [name.rpartition(".")[2] for name in known]
        close = did_you_mean(key, [*groups, *known]) or did_you_mean(key, leaves)
        raise RecipeError(f"unknown key {key!r}{close}")


def _check_groups(config: DictConfig) -> None:
    examples = {setting.key.split(".")[0]: setting.key for setting in settings() if "." in setting.key}
    for group in ("env", "sandbox", "trainer", *examples):
        value = config.get(group, {})
        if not isinstance(value, DictConfig | dict):
            example = examples.get(group, f"{group}.KEY")
            raise RecipeError(f"{group} is {value!r}; it holds keys of its own, e.g. {example}=VALUE")


def _typed(config: DictConfig) -> Recipe:
    schema = OmegaConf.structured(Recipe)
    _unfreeze(schema)
    OmegaConf.resolve(config)
    _check_groups(config)
    merged = OmegaConf.merge(schema, config)
    with as_user_error():
        return typing.cast(Recipe, OmegaConf.to_object(merged))


def _unfreeze(node: DictConfig) -> None:
    """OmegaConf takes frozen dataclasses for read-only; here they are only the schema."""
    OmegaConf.set_readonly(node, None)
    for key in node:
        child = node._get_node(key)
        if isinstance(child, DictConfig):
            _unfreeze(child)


def _unknown(key: str) -> str:
    known = [setting.key for setting in settings()]
    head = key.rpartition(".")[0]
    siblings = [name for name in known if name.rpartition(".")[0] == head]
    close = did_you_mean(key, siblings) or did_you_mean(key, known)
    return f"unknown key {key!r}{close}"
