import copy
import math

import pytest

from grpo_agent.trainer.check import check_groups, check_rollout
from grpo_agent.trainer.errors import RolloutOutputError

GOOD = {
    "prompt_ids": [[5, 6], [5, 6], [2]],
    "completion_ids": [[7, 8, 9, 7], [7], [2]],
    "logprobs": [[-0.5, 0.0, 0.0, -1.0], [-0.1], [0.0]],
    "env_mask": [[1, 0, 0, 1], [1], [0]],
    "episode_reward": [1.0, 0, None],
    "episode_id": ["a", "b", "c"],
}


def changed(**columns):
    return {name: column for name, column in (copy.deepcopy(GOOD) | columns).items() if column != "drop"}


def with_row(name, row, value):
    output = copy.deepcopy(GOOD)
    output[name][row] = value
    return output


def test_accepts_what_trl_trains_on_rightly():
    check_rollout(GOOD, 3, vocab_size=10)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ([], "must return a dict, got list"),
        (changed(env_mask="drop"), "no 'env_mask'; TRL would train on the environment's tokens"),
        (changed(logprobs="drop"), "no 'logprobs'; needed are"),
        (changed(env_mask="drop", tool_mask=GOOD["env_mask"]), "'tool_mask', which TRL does not apply"),
        (changed(completion_mask=GOOD["env_mask"]), "'completion_mask', which TRL does not apply"),
        (changed(completions=["", "", ""]), "'completions' is a name of TRL's own"),
        (changed(logprobs=None), "logprobs is None"),
        (changed(turns=(1, 2, 3)), "'turns' is a tuple; it must be a list"),
        (changed(turns=[1, 2]), "'turns' has 2 items for 3 rows"),
        ({name: column * 2 for name, column in GOOD.items()}, "6 items for 3 rows; prompts come already"),
        (with_row("prompt_ids", 1, []), "row 1: prompt_ids is empty"),
        (with_row("completion_ids", 2, []), "row 2: completion_ids is empty"),
        (with_row("completion_ids", 1, [7.0]), r"row 1: completion_ids\[0\] is 7.0; it must be an int"),
        (with_row("completion_ids", 1, [10]), r"row 1: completion_ids\[0\] is 10; .* below 10"),
        (with_row("completion_ids", 1, "7"), "row 1: completion_ids is a str"),
        (with_row("logprobs", 0, [[-0.5], [0.0], [0.0], [-1.0]]), "row 0: logprobs is nested"),
        (with_row("logprobs", 0, [-0.5, 0.0, 0.0]), "row 0: logprobs has 3 items for 4 completion tokens$"),
        (with_row("logprobs", 0, [-0.5, -1.0]), "row 0: logprobs has 2 items .* put 0.0 where the env"),
        (with_row("logprobs", 0, [-0.5, -1.0, 0.0, 0.0]), r"row 0: logprobs\[1\] is -1.0 on a token of"),
        (with_row("logprobs", 1, [math.nan]), r"row 1: logprobs\[0\] is nan on a sampled token"),
        (with_row("logprobs", 1, [None]), r"row 1: logprobs\[0\] is None on a sampled token"),
        (with_row("logprobs", 1, [0.3]), r"row 1: logprobs\[0\] is 0.3; a log-probability is at most 0"),
        (with_row("env_mask", 0, [1, 0, 0]), "row 0: env_mask has 3 items .* fill it up with 1"),
        (with_row("env_mask", 1, [1, 1]), "row 1: env_mask has 2 items for 1 completion tokens$"),
        (with_row("env_mask", 1, [2]), r"row 1: env_mask\[0\] is 2; it must be 0 or 1"),
        (
            changed(env_mask=[[1, 0, 0, 1], [0], [0]], logprobs=[[-0.5, 0, 0, -1], [0], [0]]),
            "row 1: .* all 0 yet",
        ),
        (with_row("env_mask", 2, [1]), "row 2: the row is unscored yet env_mask has 1"),
        (with_row("episode_reward", 0, math.inf), "row 0: episode_reward is inf"),
        (with_row("episode_reward", 0, True), "row 0: episode_reward is True"),
    ],
)
def test_refuses_what_trl_would_train_on_wrongly(output, message):
    with pytest.raises(RolloutOutputError, match=message):
        check_rollout(output, 3, vocab_size=10)


def test_logprobs_may_be_none_where_that_is_said():
    check_rollout(changed(logprobs=None), 3, require_logprobs=False)


def test_a_row_masked_whole_needs_a_reward_column():
    with pytest.raises(RolloutOutputError, match="row 2: env_mask is all 0 yet the row is scored"):
        check_rollout(changed(episode_reward="drop"), 3)


def test_a_group_faces_one_task():
    check_groups(["a", "a", "b", "b"], 2)
    with pytest.raises(RolloutOutputError, match=r"rows 2 to 3 .* but hold the tasks 'a' and 'b'"):
        check_groups(["a", "a", "a", "b"], 2)
