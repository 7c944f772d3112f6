"""Keeps what TRL and transformers say to their own developers off the user's screen."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

_DEPRECATIONS = r".*gradient_checkpointing.* is deprecated"
_EXPERIMENTAL = "You are using 'rollout_func'"
_FLOOD = "All reward functions returned None"


@contextlib.contextmanager
def quiet_trl() -> Iterator[None]:
    """Within, hide TRL's remarks on `rollout_func`, on its own use of deprecated names and on `None` rewards.

    The last would print a whole row; `episode/unscored` and `failure/*` count them.
    """
    logger = logging.getLogger("trl.trainer.grpo_trainer")
    logger.addFilter(_is_no_flood)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_DEPRECATIONS, category=FutureWarning)
            warnings.filterwarnings("ignore", message=_EXPERIMENTAL, category=UserWarning)
            yield
    finally:
        logger.removeFilter(_is_no_flood)


def _is_no_flood(record: logging.LogRecord) -> bool:
    return _FLOOD not in record.getMessage()
