"""Faults of the trainer side, as one tree.

TrainerError
├── UserError       what the user asked for cannot be done; one line that says what and how to fix it
│   ├── RecipeError     an unknown key, a bad value, a file that is not a recipe
│   ├── ModelError      a model that cannot be found or read
│   └── RunError        a run folder that exists already, is missing or cannot be resumed
├── RolloutOutputError  a `rollout_func` returned what TRL would train on wrongly
├── PatchedTrainerError the trainer in use is not stock TRL: it ignores `rollout_func` or `env_mask`
└── RankError           another process of a distributed run failed, and with it this one
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..agents.failure import one_line


class TrainerError(Exception):
    """Base of all trainer-side faults."""


class UserError(TrainerError):
    """What the user asked for cannot be done; the message is one line for them."""


class RecipeError(UserError):
    """A recipe or override that cannot be used."""


class ModelError(UserError):
    """A model that cannot be found or read."""


class RunError(UserError):
    """A run folder that exists already, is missing or cannot be resumed."""


class RolloutOutputError(TrainerError):
    """A `rollout_func` returned what TRL would train on wrongly."""


class PatchedTrainerError(TrainerError):
    """The trainer in use is not stock TRL: it ignores `rollout_func` or `env_mask`."""


class RankError(TrainerError):
    """Another process of a distributed run failed, and with it this one."""


@contextlib.contextmanager
def as_user_error(about: str = "") -> Iterator[None]:
    """Within set-up, take `ValueError` and `TypeError` for the user's mistakes.

    Args:
        about: names what was being set up; put before the message.

    Raises:
        UserError: in place of a `ValueError` or `TypeError`, with its message on one line.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        message = one_line(error)
        raise UserError(f"{about}: {message}" if about else message) from error
