"""The threads that OpenMP keeps for each thread of the process that has run a parallel region.

GNU's library counts them all. As soon as they outnumber the cores, threads that wait for the next region
no longer spin but sleep, and waking them takes longer than a decoding step's regions themselves: on two
cores such a step took 100 ms instead of 55 ms. That is so when a thread decodes after another has trained.

Spinning has a price where other processes want the cores: with the library's own bound on it, a step can
take 1000 ms; with `GOMP_SPINCOUNT=30000`, 220 ms. So threads are released only where that variable is set,
which must happen before torch is imported.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

import torch

_SOFT = 1
"""`omp_pause_soft` of OpenMP 5.0: threads are freed, settings stay."""


def release_idle_threads() -> None:
    """Free the OpenMP threads that belong to the calling thread; its next region makes new ones.

    To be called where a thread begins to wait for another that computes. Does nothing where spinning is
    not bounded by `GOMP_SPINCOUNT`, or OpenMP is missing or older than 5.0.
    """
    pause = _pause_function()
    if pause is not None and "GOMP_SPINCOUNT" in os.environ:
        pause(_SOFT)


@cache
def _pause_function() -> Any | None:  # Any: a function of a C library
    try:
        return ctypes.CDLL(torch._C.__file__).omp_pause_resource_all
    except (AttributeError, OSError):
        return None
