"""Two processes with gloo: groups that straddle ranks, uneven episodes, failures on one rank."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("two_ranks.py")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(SCRIPT), str(folder)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.slow
def test_a_group_that_straddles_ranks_is_numbered_through_and_trains_both_alike(ranks):
    first, second = (rank["uneven"] for rank in ranks)
    assert [row[1:] for row in first["asked"]] == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert [row[1:] for row in second["asked"]] == [[2, 0], [3, 0], [2, 1], [3, 1]]
    assert [row[0] for row in first["asked"]] == [row[0] for row in second["asked"]]
    assert first["weights"] == second["weights"]
    assert first["success"] == second["success"] == pytest.approx(1 / 3)


@pytest.mark.slow
def test_what_fails_on_one_rank_ends_both_with_its_message(ranks):
    assert ranks[1]["broken"] == "LookupError: no such model"
    assert (
        ranks[0]["broken"]
        == "RankError: stopped because another process failed: rank 1: " + ranks[1]["broken"]
    )


@pytest.mark.slow
def test_the_alarm_counts_over_all_ranks_and_sounds_on_all(ranks):
    assert ranks[0]["alarm"] == ranks[1]["alarm"]
    assert ranks[0]["alarm"].startswith("UnscoredAlarm: 3 of 4 episodes were unscored")
