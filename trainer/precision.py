"""Whether bfloat16 pays on this machine.

Passes in bfloat16 halve the time of a step where the processor multiplies in it, and lengthen it where
the library must emulate that.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

_CPU_FLAGS = frozenset({"amx_bf16", "avx512_bf16", "bf16"})
"""As the Linux kernel names them, on x86-64 and aarch64."""


@cache
def has_fast_bfloat16() -> bool:
    """Whether the accelerator, or else the processor, multiplies matrices in bfloat16."""
    if torch.cuda.is_available():
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if torch.accelerator.is_available():
        return True
    return is_fast_cpu(Path("/proc/cpuinfo"))


def is_fast_cpu(cpuinfo: Path) -> bool:
    """Whether the processor that Linux describes in `cpuinfo` multiplies in bfloat16; false without it."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = {flag for line in lines if line.startswith(("flags", "Features")) for flag in line.split()}
    return not _CPU_FLAGS.isdisjoint(flags)
