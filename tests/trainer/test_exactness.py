"""Random episodes through TokenLog, RolloutFunc and a real step of stock TRL."""

import random
from collections.abc import Sequence

import pytest
import torch
from fake_engine import GONE, FakeEngine, failing, make_episode, make_trainer, random_log
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.agents.core import Episode
from grpo_agent.trainer.batch import columns
from grpo_agent.trainer.check import check_rollout
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.rollout_func import RolloutFunc

LOSS_TYPES = ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "luspo", "vespo")
EOS = 2
TASK = {"task_id": "t"}


class HiddenGradients:
    """Gradients of the last hidden states: nonzero exactly where a token's logprob is trained."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.rows: dict[tuple[int, ...], list[bool]] = {}
        self._batches: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        model.model.register_forward_hook(self._keep, with_kwargs=True)

    def _keep(self, module: torch.nn.Module, args: object, kwargs: dict, output: object) -> None:
        hidden = output.last_hidden_state
        if hidden.requires_grad:
            hidden.retain_grad()
            self._batches.append((kwargs["input_ids"], kwargs["attention_mask"], hidden))

    def read(self) -> dict[tuple[int, ...], list[bool]]:
        """For each row, by its ids: which of its tokens, but the first, had a gradient."""
        for ids, attention, hidden in self._batches:
            for row in range(len(ids)):
                kept = attention[row].bool()
                touched = hidden.grad[row][kept].abs().sum(-1) != 0
                self.rows[tuple(ids[row][kept].tolist())] = touched[:-1].tolist()
        return self.rows


def trained_part(episode: Episode) -> tuple[tuple[int, ...], list[bool]]:
    """The ids of a scored episode up to its last sampled token, and which of them the policy emitted."""
    tokens = episode.tokens
    end = max(index for index, flag in enumerate(tokens.env_mask) if flag) + 1
    ids = (*tokens.prompt_ids, *tokens.completion_ids[:end])
    return ids, [False] * (len(tokens.prompt_ids) - 1) + [bool(flag) for flag in tokens.env_mask[:end]]


def assert_gradients_follow_the_masks(episodes: Sequence[Episode], rows: dict) -> None:
    scored = [trained_part(episode) for episode in episodes if episode.is_scored]
    for ids, is_sampled in scored:
        assert rows[ids] == is_sampled
    masked = {ids for ids in rows if ids not in dict(scored)}
    assert masked <= {(EOS, EOS)}
    assert not any(any(rows[ids]) for ids in masked)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_gradient_is_zero_on_environment_tokens_and_nonzero_on_the_policys(tmp_path, loss_type):
    engine = FakeEngine(make=failing(1))
    rollout = RolloutFunc(engine)
    trainer = make_trainer(tmp_path, rollout, loss_type=loss_type, max_steps=3)
    gradients = HiddenGradients(trainer.model)
    train(trainer)
    rollout.close()
    assert len(engine.made) == 24
    assert_gradients_follow_the_masks(engine.made, gradients.read())


def test_a_group_with_failed_episodes_has_the_advantages_of_those_that_remain(tmp_path):
    rollout = RolloutFunc(FakeEngine(make=failing(1)))
    trainer = make_trainer(tmp_path, rollout, scale_rewards="none")
    train(trainer)
    rollout.close()
    third = 1 / 3
    assert trainer._logs["advantages"] == pytest.approx([-third, 0, -third, 2 * third] * 2)


def test_a_group_left_with_one_scored_member_is_unscored_whole(tmp_path):
    batches = []
    rollout = RolloutFunc(FakeEngine(make=failing(0, 1, 2)), on_episodes=batches.append, max_unscored_share=1)
    trainer = make_trainer(tmp_path, rollout)
    train(trainer)
    rollout.close()
    assert not any(episode.is_scored for episode in batches[0].episodes)
    kinds = [str(episode.failure.kind) for episode in batches[0].episodes[:4]]
    assert kinds == ["sandbox"] * 3 + ["small_group"]
    assert trainer.state.log_history[0]["failure/small_group"] == 0.25
    assert trainer.state.log_history[0]["episode/unscored"] == 0.75


@pytest.mark.parametrize("loss_type", ["dapo", "dr_grpo", "vespo"])
def test_a_batch_without_a_scored_episode_changes_nothing(tmp_path, loss_type):
    rollout = RolloutFunc(FakeEngine(make=failing(0, 1, 2, 3)), max_unscored_share=1)
    trainer = make_trainer(tmp_path, rollout, loss_type=loss_type)
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    train(trainer)
    rollout.close()
    assert trainer.state.log_history[0]["loss"] == 0
    assert trainer.state.log_history[0]["grad_norm"] == 0
    assert all(map(torch.equal, before, trainer.model.parameters()))


def test_micro_batches_of_uneven_episodes_have_the_gradients_of_one_batch(tmp_path):
    weights = []
    for micro_batch in (8, 2):
        rollout = RolloutFunc(FakeEngine())
        trainer = make_trainer(
            tmp_path,
            rollout,
            per_device_train_batch_size=micro_batch,
            gradient_accumulation_steps=8 // micro_batch,
            optim="sgd",
        )
        train(trainer)
        rollout.close()
        weights.append([weight.detach() for weight in trainer.model.parameters()])
    for whole, in_parts in zip(*weights, strict=True):
        torch.testing.assert_close(whole, in_parts)


@given(st.integers(0, 2**32), st.lists(st.sampled_from(["scored", "failed", "broken", "mute"]), min_size=1))
def test_rows_hold_the_ids_that_were_sampled(seed, kinds):
    rng = random.Random(seed)
    episodes = [random_kind(rng, kind) for kind in kinds]
    output = columns(episodes, [str(index) for index in range(len(kinds))], EOS)
    check_rollout(output, len(kinds))
    for row, episode in enumerate(episodes):
        if episode.reward is None:
            assert (output["completion_ids"][row], output["env_mask"][row]) == ([EOS], [0])
        else:
            mask = output["env_mask"][row]
            assert mask[-1] == 1
            assert output["prompt_ids"][row] == list(episode.tokens.prompt_ids)
            assert sampled(output["completion_ids"][row], mask) == sampled(
                episode.tokens.completion_ids, episode.tokens.env_mask
            )
            assert sampled(output["logprobs"][row], mask) == sampled(
                episode.tokens.logprobs, episode.tokens.env_mask
            )


def random_kind(rng: random.Random, kind: str) -> Episode:
    if kind == "scored":
        return make_episode(TASK, 0, random_log(rng, rng.randint(1, 4)), rng.random())
    tokens = {"failed": random_log(rng, 2), "broken": None, "mute": random_log(rng, 0)}[kind]
    return make_episode(TASK, 0, tokens, None, GONE)


def sampled(values: Sequence[float], mask: Sequence[int]) -> list[float]:
    return [value for value, flag in zip(values, mask, strict=True) if flag]
