"""Refuses what a `rollout_func` returns if TRL would train on it wrongly.

TRL validates almost nothing: misaligned logprobs, a mask under another name or a short extra column
change the gradient without a word. `check_rollout` fits any `rollout_func`, not only ours.

Shapes: `B` rows, `P` prompt tokens, `T` completion tokens, both differing by row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from .errors import RolloutOutputError

_TOKEN_COLUMNS = ("prompt_ids", "completion_ids", "logprobs", "env_mask")
_MASK_MISNOMERS = ("tool_mask", "completion_mask", "loss_mask", "action_mask", "response_mask", "mask")
_RESERVED = ("prompt", "prompts", "completion", "completions", "trainer_state", "log_extra", "log_metric")
_MAX_LOGPROB = 1e-3  # rounding of bfloat16 may exceed 0 by this


def check_rollout(
    output: object,
    n_rows: int,
    *,
    vocab_size: int | None = None,
    reward_key: str | None = "episode_reward",
    require_logprobs: bool = True,
    untrained: Collection[int] = (),
) -> None:
    """Check the output of a `rollout_func` for `n_rows` prompts.

    Args:
        output: what the function returned.
        n_rows: `len(prompts)`; TRL repeats the prompts itself.
        vocab_size: if given, ids must be below it.
        reward_key: the extra column that holds each row's reward, `None` for an unscored row. With
            `None` no row may be masked whole.
        require_logprobs: whether `logprobs=None` is refused; TRL allows it without vLLM.
        untrained: rows that may be masked whole although they are scored; right where every member of
            the group has the same reward.

    Raises:
        RolloutOutputError: naming the row and the cause.
    """
    columns = _checked_columns(output, n_rows, require_logprobs)
    rewards = _checked_rewards(columns, reward_key)
    logprobs = columns["logprobs"] if columns["logprobs"] is not None else [None] * n_rows
    for row in range(n_rows):
        _check_ids(row, "prompt_ids", columns["prompt_ids"][row], vocab_size)
        ids = _check_ids(row, "completion_ids", columns["completion_ids"][row], vocab_size)
        mask = _checked_mask(row, columns["env_mask"][row], len(ids))
        if logprobs[row] is not None or require_logprobs:
            _check_logprobs(row, logprobs[row], mask)
        if row not in untrained:
            _check_scoring(row, mask, rewards)


def _checked_columns(output: object, n_rows: int, require_logprobs: bool) -> dict[str, list[object]]:
    if not isinstance(output, Mapping):
        raise RolloutOutputError(f"rollout_func must return a dict, got {type(output).__name__}")
    columns = dict(output)
    missing = [name for name in _TOKEN_COLUMNS if name not in columns]
    misnamed = [name for name in _MASK_MISNOMERS if name in columns]
    if misnamed:
        raise RolloutOutputError(
            f"rollout_func returned {misnamed[0]!r}, which TRL does not apply; the mask's name is 'env_mask'"
        )
    if missing:
        raise RolloutOutputError(f"rollout_func returned no {', '.join(map(repr, missing))}; {_why(missing)}")
    reserved = [name for name in _RESERVED if name in columns]
    if reserved:
        raise RolloutOutputError(f"{reserved[0]!r} is a name of TRL's own; give the column another one")
    if columns["logprobs"] is None and require_logprobs:
        raise RolloutOutputError("logprobs is None; without them no off-policy correction is possible")
    for name, column in columns.items():
        if name != "logprobs" or column is not None:
            _check_column(name, column, n_rows)
    return columns


def _why(missing: Sequence[str]) -> str:
    if missing == ["env_mask"]:
        return "TRL would train on the environment's tokens; 1 marks the policy's (all 1 if no others)"
    return f"needed are {', '.join(map(repr, _TOKEN_COLUMNS))}"


def _check_column(name: str, column: object, n_rows: int) -> None:
    if not isinstance(column, list):
        raise RolloutOutputError(
            f"{name!r} is a {type(column).__name__}; it must be a list with one item for each of the "
            f"{n_rows} rows (TRL hands anything else whole to every row)"
        )
    if len(column) != n_rows:
        hint = "; prompts come already repeated" if n_rows and len(column) % n_rows == 0 else ""
        raise RolloutOutputError(f"{name!r} has {len(column)} items for {n_rows} rows{hint}")


def _checked_rewards(columns: Mapping[str, list[object]], reward_key: str | None) -> list[object] | None:
    if reward_key is None or reward_key not in columns:
        return None
    for row, reward in enumerate(columns[reward_key]):
        if reward is None:
            continue
        if isinstance(reward, bool) or not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise RolloutOutputError(
                f"row {row}: {reward_key} is {reward!r}; it must be a finite number, or None if unscored"
            )
    return columns[reward_key]


def _items(row: int, name: str, values: object) -> Sequence[object]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise RolloutOutputError(
            f"row {row}: {name} is a {type(values).__name__}; it must be a list of numbers"
        )
    return values


def _check_ids(row: int, name: str, values: object, vocab_size: int | None) -> Sequence[object]:
    ids = _items(row, name, values)
    if not ids:
        raise RolloutOutputError(
            f"row {row}: {name} is empty, on which TRL breaks; "
            "a failed episode is one masked EOS with reward None"
        )
    for position, token in enumerate(ids):
        if type(token) is not int or token < 0 or (vocab_size is not None and token >= vocab_size):
            bound = "" if vocab_size is None else f" below {vocab_size}"
            raise RolloutOutputError(
                f"row {row}: {name}[{position}] is {token!r}; it must be an int of at least 0{bound}"
            )
    return ids


def _checked_mask(row: int, values: object, length: int) -> list[bool]:
    mask = _items(row, "env_mask", values)
    if len(mask) != length:
        raise RolloutOutputError(
            f"row {row}: env_mask has {len(mask)} items for {length} completion tokens"
            + ("; TRL would fill it up with 1 and train on them" if len(mask) < length else "")
        )
    for position, flag in enumerate(mask):
        if not isinstance(flag, int) or flag not in (0, 1):
            raise RolloutOutputError(f"row {row}: env_mask[{position}] is {flag!r}; it must be 0 or 1")
    return [bool(flag) for flag in mask]


def _check_logprobs(row: int, values: object, mask: Sequence[bool]) -> None:
    logprobs = _items(row, "logprobs", values)
    if logprobs and isinstance(logprobs[0], Sequence):
        raise RolloutOutputError(
            f"row {row}: logprobs is nested; it must be flat, one number a token (take the sampled token's)"
        )
    if len(logprobs) != len(mask):
        n_env = len(mask) - sum(mask)
        packed = n_env and len(logprobs) == len(mask) - n_env
        hint = "; put 0.0 where the environment's tokens are" if packed else ""
        raise RolloutOutputError(
            f"row {row}: logprobs has {len(logprobs)} items for {len(mask)} completion tokens{hint}"
        )
    for position, (logprob, is_sampled) in enumerate(zip(logprobs, mask, strict=True)):
        _check_logprob(f"row {row}: logprobs[{position}]", logprob, is_sampled)


def _check_logprob(where: str, logprob: object, is_sampled: bool) -> None:
    if not is_sampled:
        if logprob is not None and logprob != 0.0:
            raise RolloutOutputError(
                f"{where} is {logprob!r} on a token of the environment; it must be 0.0. Were the logprobs "
                "packed to the left, without gaps for the environment's tokens?"
            )
    elif isinstance(logprob, bool) or not isinstance(logprob, (int, float)) or not math.isfinite(logprob):
        raise RolloutOutputError(f"{where} is {logprob!r} on a sampled token; it must be a finite number")
    elif logprob > _MAX_LOGPROB:
        raise RolloutOutputError(f"{where} is {logprob!r}; a log-probability is at most 0")


def _check_scoring(row: int, mask: Sequence[bool], rewards: Sequence[object] | None) -> None:
    is_scored = rewards is None or rewards[row] is not None
    if is_scored and not any(mask):
        raise RolloutOutputError(
            f"row {row}: env_mask is all 0 yet the row is scored: nothing of it is trained but its reward "
            "shifts the group's baseline; give it the reward None"
        )
    if not is_scored and any(mask):
        raise RolloutOutputError(
            f"row {row}: the row is unscored yet env_mask has 1: its tokens would weigh in the loss's "
            "normalizer; make it one masked EOS"
        )


def check_groups(task_ids: Sequence[str], group_size: int) -> None:
    """Check that each run of `group_size` rows faces one task, as TRL's baseline assumes.

    Raises:
        RolloutOutputError: a group mixes tasks.
    """
    for start in range(0, len(task_ids), group_size):
        group = task_ids[start : start + group_size]
        for first, second in pairwise(group):
            if first != second:
                raise RolloutOutputError(
                    f"rows {start} to {start + len(group) - 1} form one group of num_generations="
                    f"{group_size} but hold the tasks {first!r} and {second!r}; "
                    "do not change the trainer's sampler"
                )
