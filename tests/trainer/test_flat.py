import pytest
import torch
from fake_engine import FakeEngine, failing, make_episode, make_trainer, random_log, rng_of

from grpo_agent.trainer.flat import in_flat_groups, is_free
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.rollout_func import RolloutFunc

EOS = 2


def one_task_flat(task, sample, step):
    """Members of every second task all have the reward 0.3, of the others 1 or 0; sample 1 fails."""
    if sample == 1:
        return failing(1)(task, sample, step)
    rng = rng_of(task, sample, step)
    reward = 0.3 if task["answer"] % 2 else float(sample % 4 == 0)
    return make_episode(task, sample, random_log(rng, rng.randint(1, 3)), reward)


def trained(folder, *, skip, make=one_task_flat, options=None, **fields):
    """The trainer after two steps, the metrics of our own, and how many tokens were trained on."""
    batches = []
    rollout = RolloutFunc(FakeEngine(make=make), skip_flat_groups=skip, on_episodes=batches.append)
    defaults = {"max_steps": 2, "optim": "sgd", "max_grad_norm": 0.0, "num_generations": 4}
    trainer = make_trainer(folder, rollout, options=options, **(defaults | fields))
    seen = []
    stock = trainer._compute_loss

    def counted(model, inputs):
        seen.append(int((inputs["completion_mask"] * inputs["tool_mask"]).sum()))
        return stock(model, inputs)

    trainer._compute_loss = counted
    train(trainer)
    rollout.close()
    return trainer, batches, sum(seen)


def weights(trainer):
    return [weight.detach() for weight in trainer.model.parameters()]


@pytest.mark.parametrize(
    "fields",
    [
        {"loss_type": "sapo"},
        {"loss_type": "luspo", "importance_sampling_level": "sequence", "scale_rewards": "none"},
        {
            "loss_type": "grpo",
            "scale_rewards": "batch",
            "per_device_train_batch_size": 2,
            "gradient_accumulation_steps": 4,
        },
        {"loss_type": "dr_grpo", "num_iterations": 2},
    ],
    ids=str,
)
def test_skipping_flat_groups_trains_the_same_weights(tmp_path, fields):
    whole, _, n_whole = trained(tmp_path / "whole", skip=False, **fields)
    skipped, _, n_skipped = trained(tmp_path / "skipped", skip=True, **fields)
    assert n_skipped < n_whole
    start = weights(make_trainer(tmp_path, RolloutFunc(FakeEngine())))
    assert not all(map(torch.equal, start, weights(whole)))
    for one, other in zip(weights(whole), weights(skipped), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_flat_groups_stay_whole_where_the_loss_divides_by_tokens(tmp_path):
    whole, _, n_whole = trained(tmp_path / "whole", skip=False, loss_type="dapo")
    skipped, _, n_skipped = trained(tmp_path / "skipped", skip=True, loss_type="dapo")
    assert n_skipped == n_whole
    assert all(map(torch.equal, weights(whole), weights(skipped)))


def length(completion_ids, **columns):
    return [float(len(ids)) for ids in completion_ids]


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"entropy_coef": 0.01}, {}),
        ({"top_entropy_quantile": 0.5}, {}),
        ({"multi_objective_aggregation": "normalize_then_sum"}, {}),
        ({}, {"reward_funcs": [length]}),
    ],
    ids=str,
)
def test_flat_groups_are_not_free_beside_other_terms_and_rewards(tmp_path, fields, options):
    assert not is_free(make_trainer(tmp_path, RolloutFunc(FakeEngine()), options=options, **fields))


def test_flat_groups_are_free_for_losses_that_count_rows_and_without_a_reference_model(tmp_path):
    trainer = make_trainer(tmp_path, RolloutFunc(FakeEngine()))
    found = {}
    for loss_type in ("grpo", "dr_grpo", "sapo", "luspo", "dapo", "bnpo", "cispo", "vespo"):
        trainer.loss_type = loss_type
        found[loss_type] = is_free(trainer)
    assert [name for name, free in found.items() if free] == ["grpo", "dr_grpo", "sapo", "luspo"]
    trainer.loss_type, trainer.beta = "dr_grpo", 0.1
    assert not is_free(trainer)


def test_skipped_episodes_are_counted_and_handed_on_whole(tmp_path):
    whole, batches_whole, _ = trained(tmp_path / "whole", skip=False)
    skipped, batches, _ = trained(tmp_path / "skipped", skip=True)
    for batch, of_whole in zip(batches, batches_whole, strict=True):
        assert [(each.task_id, each.reward) for each in batch.episodes] == [
            (each.task_id, each.reward) for each in of_whole.episodes
        ]
        assert all(each.tokens.sampled_tokens for each in batch.episodes if each.is_scored)
    logs = zip(whole.state.log_history[:2], skipped.state.log_history[:2], strict=True)
    for one, other in logs:
        names = [name for name in one if name.startswith(("episode/", "tokens/s", "tokens/e", "failure/"))]
        names = [name for name in names if name != "tokens/sampled_per_s"]
        names += ["reward", "reward_std", "frac_reward_zero_std"]
        assert {name: one[name] for name in names} == {name: other[name] for name in names}


def test_a_batch_of_flat_groups_alone_changes_nothing(tmp_path):
    def all_flat(task, sample, step):
        return make_episode(task, sample, random_log(rng_of(task, sample, step), 1), 1.0)

    trainer, _, n_tokens = trained(tmp_path, skip=True, make=all_flat)
    assert n_tokens == 0
    start = weights(make_trainer(tmp_path, RolloutFunc(FakeEngine())))
    assert all(map(torch.equal, start, weights(trainer)))


@pytest.mark.parametrize(
    ("rewards", "flat"),
    [
        ([1.0, 1.0, 1.0, 0.0], {0, 1}),
        ([None, 0.5, 0.0, 1.0], {1}),
        ([None, None, 0.0, 0.0], {2, 3}),
        ([0.0, 1.0, 1.0, 0.0], set()),
    ],
)
def test_a_group_is_flat_if_its_scored_members_have_one_reward(rewards, flat):
    assert in_flat_groups(rewards, 2) == flat
