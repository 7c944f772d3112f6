"""Environments by name: `make("code")`, `make("path/to/file.py:MyEnv")`, `register("mine", MyEnv)`.

Built-in ones and those of other packages (entry-point group `grpo_agent.envs`) are imported when used.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, cast

from .core import Env
from .locate import absolute, is_path, load_object
from .nearest import did_you_mean, listed

ENTRY_POINT_GROUP = "grpo_agent.envs"

BUILT_IN: Mapping[str, str] = {
    "code": "grpo_agent.envs.code.env:CodeEnv",
    "gymnasium": "grpo_agent.envs.gym:FromGymnasium",
}
"""Name to class path."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name stands for."""

    target: str | type[Env]
    """A class, or the path of one."""
    defaults: Mapping[str, Any] = field(default_factory=dict)  # Any: constructor arguments


@dataclass(frozen=True, slots=True)
class Description:
    """What can be said of an environment without making one."""

    name: str
    summary: str
    """First line of the class's docstring."""
    target: str
    """Path of the class."""
    settings: Mapping[str, Any]  # Any: constructor arguments
    """Constructor arguments with their defaults; a required one has `REQUIRED`."""


REQUIRED = "<required>"

_registered: dict[str, Entry] = {}


def register(name: str, env_class: type[Env] | str, **defaults: Any) -> None:
    """Give an environment a name.

    Args:
        name: letters, digits, `.`, `_` and `-`.
        env_class: the class, or its path (imported when used).
        **defaults: constructor arguments, which those of `make` override.

    Raises:
        ValueError: the name is malformed or stands for another class.
        TypeError: the class is not an environment, or has no such constructor argument.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"environment name {name!r} is not usable; use letters, digits, '.', '_' and '-'")
    before = BUILT_IN.get(name) or (_registered[name].target if name in _registered else None)
    if before is not None and _identity(before) != _identity(env_class):
        raise ValueError(f"environment name {name!r} is taken by {_path_of(before)}; choose another")
    if not isinstance(env_class, str):
        _check_class(env_class, name)
        _check_settings(env_class, name, defaults, partly=True)
        env_class.name = name
    _registered[name] = Entry(env_class, dict(defaults))


def names() -> list[str]:
    """All names that `make` knows, sorted."""
    return sorted({*BUILT_IN, *_registered, *_entry_points()})


def make(env: str | type[Env], **settings: Any) -> Env:
    """Make an environment.

    Args:
        env: a name, `package.module:Class`, `path/to/file.py:Class`, or a class.
        **settings: constructor arguments.

    Raises:
        ValueError: unknown name, or the path cannot be loaded.
        TypeError: not an environment, no `step` of its own, or an unknown or missing argument.
    """
    env_class, defaults = _resolve(env)
    merged = {**defaults, **settings}
    _check_settings(env_class, _label(env), merged)
    return env_class(**merged)


def env_factory(env: str | type[Env], **settings: Any) -> Callable[[], Env]:
    """A function that makes the environment anew each time; checked now, and picklable.

    Raises:
        ValueError: as `make`.
        TypeError: as `make`.
    """
    env_class, defaults = _resolve(env)
    _check_settings(env_class, _label(env), {**defaults, **settings})
    stable = absolute(env) if isinstance(env, str) and is_path(env) else env
    return functools.partial(make, stable, **settings)


def describe(env: str | type[Env]) -> Description:
    """Describe an environment by name, path or class.

    Raises:
        ValueError: unknown name, or the path cannot be loaded.
        TypeError: not an environment.
    """
    env_class, defaults = _resolve(env)
    doc = inspect.getdoc(env_class) if env_class.__doc__ else ""
    settings = {
        name: defaults.get(name, REQUIRED if p.default is inspect.Parameter.empty else p.default)
        for name, p in _parameters(env_class).items()
        if p.kind is not inspect.Parameter.VAR_KEYWORD
    }
    summary = (doc or "").strip().split("\n")[0]
    target = env if isinstance(env, str) and is_path(env) else _path_of(env_class)
    return Description(_label(env), summary, target, settings)


def _resolve(env: str | type[Env]) -> tuple[type[Env], Mapping[str, Any]]:
    label = _label(env)
    if not isinstance(env, str):
        _check_class(env, label)
        return env, {}
    if is_path(env):
        found = load_object(env)
        _check_class(found, label)
        return cast("type[Env]", found), {}
    entry = _entry(env)
    found = load_object(entry.target) if isinstance(entry.target, str) else entry.target
    _check_class(found, label)
    if "name" not in vars(found):
        found.name = env
    return cast("type[Env]", found), entry.defaults


def _entry(name: str) -> Entry:
    if name in _registered:
        return _registered[name]
    target = BUILT_IN.get(name) or _entry_points().get(name)
    if target is None:
        known = names()
        raise ValueError(
            f"unknown environment {name!r}{did_you_mean(name, known)}; "
            f"known are {listed(known)}, or give path/to/file.py:Class or package.module:Class"
        )
    return Entry(target)


@functools.cache
def _entry_points() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}


def _check_class(found: object, label: str) -> None:
    if not inspect.isclass(found):
        raise TypeError(f"{label} is a {type(found).__name__}, not a class; give a subclass of Env")
    if not issubclass(found, Env):
        foreign = any(base.__module__.startswith("gymnasium") for base in found.__mro__)
        remedy = "wrap it with FromGymnasium" if foreign else f"write class {found.__name__}(grpo_agent.Env)"
        raise TypeError(f"{label} is a class but not an Env; {remedy}")
    if found.step is Env.step:
        raise TypeError(
            f"{label} has no step of its own; add: def step(self, action): "
            "return observation, reward, terminated, truncated, info"
        )


def _check_settings(
    env_class: type[Env], label: str, settings: Mapping[str, Any], *, partly: bool = False
) -> None:
    parameters = _parameters(env_class)
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    for name, value in settings.items():
        if name not in parameters and not takes_any:
            raise TypeError(
                f"environment {label} has no setting {name!r}{did_you_mean(name, parameters)}, "
                f"given {value!r:.60}; its settings are: {listed(parameters)}"
            )
    missing = [
        name
        for name, p in parameters.items()
        if p.default is inspect.Parameter.empty
        and p.kind is not inspect.Parameter.VAR_KEYWORD
        and name not in settings
    ]
    if missing and not partly:
        raise TypeError(f"environment {label} needs a value for: {listed(missing)}")


def _parameters(env_class: type[Env]) -> dict[str, inspect.Parameter]:
    if env_class.__init__ is object.__init__:
        return {}
    found = inspect.signature(env_class).parameters
    return {
        name: p
        for name, p in found.items()
        if p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY)
    }


def _label(env: object) -> str:
    return env if isinstance(env, str) else getattr(env, "__name__", repr(env))


def _path_of(target: str | type[Env]) -> str:
    return target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"


def _identity(target: str | type[Env]) -> tuple[str, str]:
    """Equal for one class that was loaded under two module names."""
    if isinstance(target, str):
        return ("path", absolute(target))
    if _path_of(target) in BUILT_IN.values():
        return ("path", _path_of(target))
    try:
        return (inspect.getsourcefile(target) or target.__module__, target.__qualname__)
    except TypeError:  # defined where there is no file, e.g. in a shell
        return (target.__module__, target.__qualname__)
