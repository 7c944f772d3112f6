"""The `grpo-agent` command; `python -m grpo_agent` is the same."""

from __future__ import annotations

import os
import sys

SPIN_COUNT = "30000"
"""How long an OpenMP thread spins for its next region. Without a bound, one more busy process on the
machine makes a step many times slower, see `agents.generator.openmp`; it must be set before torch loads."""


def main() -> None:
    """Run the command line and exit with its code."""
    os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
    from .trainer.command.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
