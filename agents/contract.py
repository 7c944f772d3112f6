"""What an environment returned, checked against its contract, with failure texts that read as rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..envs.core import Info, Message, Step, as_messages
from ..envs.text import shown
from .errors import EnvContractError


class Reset(NamedTuple):
    """A checked `(observation, info)`."""

    messages: list[Message]
    info: Info


def checked_reset(result: object) -> Reset:
    """`reset` returns `(observation, info)`.

    Raises:
        EnvContractError: it returned something else.
    """
    if not isinstance(result, tuple) or len(result) != 2:
        raise EnvContractError(f"reset must return (observation, info), got {shown(result)}")
    observation, info = result
    messages = checked_messages(observation, "reset")
    if not messages:
        raise EnvContractError("reset must return at least one message")
    return Reset(messages, _checked_info(info, "reset"))


def checked_step(result: object) -> Step:
    """`step` returns `(observation, reward, terminated, truncated, info)`, with a finite reward or `None`.

    Raises:
        EnvContractError: it returned something else.
    """
    if not isinstance(result, tuple) or len(result) != 5:
        raise EnvContractError(
            f"step must return (observation, reward, terminated, truncated, info), got {shown(result)}"
        )
    observation, reward, terminated, truncated, info = result
    checked_messages(observation, "step")
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool | np.bool_):
            raise EnvContractError(f"{name} must be a bool, got {shown(value)}")
    if reward is not None and (not isinstance(reward, Real) or not math.isfinite(reward)):
        raise EnvContractError(f"reward must be a finite number, or None if unscored, got {shown(reward)}")
    reward = None if reward is None else float(reward)
    return Step(observation, reward, bool(terminated), bool(truncated), _checked_info(info, "step"))


def checked_messages(observation: object, method: str) -> list[Message]:
    """An observation is text or a list of chat messages.

    Raises:
        EnvContractError: it is something else.
    """
    try:
        return as_messages(observation)  # type: ignore[arg-type]  # that is what it checks
    except TypeError as error:
        raise EnvContractError(f"{method}: {error}") from error


def checked_tools(tools: object) -> tuple[Mapping[str, Any], ...]:  # Any: JSON schema
    """`tools` is a sequence of JSON schemas.

    Raises:
        EnvContractError: it is something else.
    """
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, Mapping) for tool in tools):
        raise EnvContractError(f"tools must be a sequence of JSON schemas (dicts), got {shown(tools)}")
    return tuple(tools)


def _checked_info(info: object, method: str) -> Info:
    if not isinstance(info, dict):
        raise EnvContractError(f"the info of {method} must be a dict, got {shown(info)}")
    return info
