"""bfloat16 is chosen where the processor multiplies in it."""

from pathlib import Path

import pytest
import torch

from grpo_agent.trainer.guard import make_args
from grpo_agent.trainer.precision import has_fast_bfloat16, is_fast_cpu

X86 = "processor : 0\nmodel name : x\nflags\t\t: fpu sse2 avx512f {} avx2\nbugs : bf16\n"
ARM = "processor : 0\nFeatures\t: fp asimd {} sve\n"


@pytest.mark.parametrize(
    ("text", "is_fast"),
    [
        (X86.format("amx_bf16"), True),
        (X86.format("avx512_bf16"), True),
        (X86.format("avx512_vnni"), False),
        (ARM.format("bf16"), True),
        (ARM.format("i8mm"), False),
        ("", False),
    ],
)
def test_processor_is_judged_by_its_flags(tmp_path: Path, text: str, is_fast: bool) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(text)
    assert is_fast_cpu(cpuinfo) is is_fast


def test_system_without_cpuinfo_is_not_fast(tmp_path: Path) -> None:
    assert not is_fast_cpu(tmp_path / "absent")


@pytest.mark.skipif(torch.accelerator.is_available(), reason="about machines without an accelerator")
def test_trainer_runs_in_bfloat16_where_it_is_fast_unless_told_otherwise(tmp_path: Path) -> None:
    assert make_args(tmp_path).bf16 is has_fast_bfloat16()
    assert make_args(tmp_path, bf16=False).bf16 is False
