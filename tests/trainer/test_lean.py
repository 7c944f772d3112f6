import logging

import pytest
import torch
from fake_engine import FakeEngine, failing, make_trainer

from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.lean import _cuts, _head, _head_of_trl, make_lean
from grpo_agent.trainer.rollout_func import RolloutFunc


def make(folder, *, lean, **fields):
    rollout = RolloutFunc(FakeEngine(make=failing(1)))
    fields = {"max_steps": 2, "optim": "sgd"} | fields
    return rollout, make_trainer(folder, rollout, options={"lean_forward": lean}, **fields)


def trained(folder, *, lean, **fields):
    """Weights and entropies after two steps, and how many positions the model computed."""
    rollout, trainer = make(folder, lean=lean, **fields)
    positions = []
    trainer.model.model.register_forward_hook(
        lambda module, args, kwargs, output: positions.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    train(trainer)
    rollout.close()
    entropies = [log["entropy"] for log in trainer.state.log_history[:2]]
    return [weight.detach() for weight in trainer.model.parameters()], entropies, sum(positions)


def batch(trainer):
    """A padded batch of four rows, two of them equal and one without padding."""
    attention = torch.tensor([[0, 1, 1, 1, 1, 0], [0, 0, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0]])
    ids = torch.arange(3, 9) * attention
    ids[2] += 7
    labels = ids.masked_fill(attention == 0, -100)
    labels[:, :3] = -100
    return {"input_ids": ids, "attention_mask": attention, "labels": labels, "fused_lm_head": True}


@pytest.mark.parametrize(
    "fields",
    [
        {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4},
        {"activation_checkpointing": True, "temperature": 0.7, "cast_lm_head_to_fp32": True},
        {"loss_type": "vespo", "num_iterations": 2, "top_entropy_quantile": 0.5},
        {"loss_type": "dapo", "entropy_coef": 0.1},
    ],
    ids=str,
)
def test_training_is_the_same_from_fewer_positions(tmp_path, fields):
    stock, entropies, n_stock = trained(tmp_path / "stock", lean=False, **fields)
    lean, lean_entropies, n_lean = trained(tmp_path / "lean", lean=True, **fields)
    assert n_lean < n_stock
    assert lean_entropies == pytest.approx(entropies, rel=1e-5)
    for one, other in zip(stock, lean, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("entropy_coef", [0.0, 0.1])
def test_log_probabilities_entropies_and_gradients_are_those_of_trl(tmp_path, entropy_coef):
    found = []
    for lean in (False, True):
        rollout, trainer = make(tmp_path, lean=lean, entropy_coef=entropy_coef)
        output = trainer.model(**batch(trainer))
        (output.log_probs.square().sum() + entropy_coef * output.entropy.sum()).backward()
        found.append([output.log_probs, output.entropy, *(w.grad for w in trainer.model.parameters())])
        rollout.close()
    for stock, thin in zip(*found, strict=True):
        torch.testing.assert_close(stock, thin, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("lengths", "cuts"),
    [
        ([7], [(0, 1)]),
        ([2, 120, 130, 135], [(0, 1), (1, 4)]),
        ([100, 110, 120, 130], [(0, 4)]),
        ([100] * 8 + [400] * 8, [(0, 8), (8, 16)]),
    ],
)
def test_rows_are_parted_where_padding_costs_more_than_a_part(lengths, cuts):
    assert _cuts(lengths) == cuts


def test_other_calls_reach_the_stock_forward(tmp_path):
    rollout, trainer = make(tmp_path, lean=True)
    call = batch(trainer)
    assert trainer.model(call["input_ids"]).logits.shape[:2] == (4, 6)
    assert trainer.model(**call, output_hidden_states=False).label_mask is not None
    rollout.close()


def test_a_model_with_dropout_is_left_alone(tmp_path):
    rollout, trainer = make(tmp_path, lean=False)
    trainer.model.config.attention_dropout = 0.1
    assert not make_lean(trainer)
    rollout.close()


def test_a_trl_that_is_not_as_expected_is_left_alone_and_said(tmp_path, caplog):
    rollout, trainer = make(tmp_path, lean=False)
    trainer.model.forward = type(trainer.model).forward.__get__(trainer.model)
    with caplog.at_level(logging.WARNING, logger="grpo_agent.trainer.lean"):
        assert not make_lean(trainer)
    assert "training runs TRL's own, slower forward of Qwen2ForCausalLM" in caplog.text
    rollout.close()


def test_a_model_that_counts_positions_otherwise_is_left_alone(tmp_path, caplog):
    rollout, trainer = make(tmp_path, lean=False)
    trainer.model.model.register_forward_hook(
        lambda module, args, output: output.__setattr__(
            "last_hidden_state", output.last_hidden_state + output.last_hidden_state.size(1)
        )
    )
    with caplog.at_level(logging.WARNING, logger="grpo_agent.trainer.lean"):
        assert not make_lean(trainer)
    assert "log-probabilities or entropies would differ by" in caplog.text
    rollout.close()


def with_bias(trainer):
    head = trainer.model.get_output_embeddings()
    head.bias = torch.nn.Parameter(torch.zeros(head.out_features))


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({}, with_bias),
        ({}, lambda trainer: setattr(trainer.model.config, "final_logit_softcapping", 1e6)),
        ({"cast_lm_head_to_fp32": True}, lambda trainer: None),
        ({"entropy_coef": 0.1}, lambda trainer: None),
    ],
    ids=["bias", "cap", "precision", "entropy bonus"],
)
def test_a_head_that_is_more_than_a_product_stays_that_of_trl_though_no_number_shows_it(
    tmp_path, fields, change
):
    rollout, trainer = make(tmp_path, lean=False, **fields)
    change(trainer)
    assert _head(trainer, trainer.model) is _head_of_trl
    rollout.close()


def test_a_head_that_is_a_product_runs_plain(tmp_path):
    rollout, trainer = make(tmp_path, lean=False)
    assert _head(trainer, trainer.model) is not _head_of_trl
    rollout.close()
