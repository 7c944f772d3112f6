import pytest
from fake_engine import FakeEngine, make_trainer
from trl.trainer.grpo_trainer import GRPOTrainer

from grpo_agent.trainer.errors import PatchedTrainerError
from grpo_agent.trainer.grpo import train
from grpo_agent.trainer.rollout_func import RolloutFunc


class MaskIgnored(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        inputs = {name: value for name, value in inputs.items() if name != "tool_mask"}
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)


class RolloutIgnored(GRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        self.rollout_func = lambda prompts, trainer: {
            "prompt_ids": [[3]] * len(prompts),
            "completion_ids": [[4]] * len(prompts),
            "logprobs": [[0.0]] * len(prompts),
            "episode_reward": [1.0] * len(prompts),
        }
        return super()._generate_and_score_completions(inputs)


@pytest.mark.parametrize(
    ("patched", "message"),
    [
        (MaskIgnored, r"trainer test_probe.MaskIgnored trains on tokens that env_mask excludes"),
        (RolloutIgnored, r"trainer test_probe.RolloutIgnored did not call rollout_func"),
    ],
)
def test_a_patched_trainer_is_refused_before_a_weight_changes(tmp_path, patched, message):
    rollout = RolloutFunc(FakeEngine())
    trainer = make_trainer(tmp_path, rollout)
    trainer.__class__ = patched
    before = [weight.detach().clone() for weight in trainer.model.parameters()]
    with pytest.raises(PatchedTrainerError, match=message):
        train(trainer)
    rollout.close()
    assert all((old == new).all() for old, new in zip(before, trainer.model.parameters(), strict=True))


def test_the_stock_trainer_passes_and_its_metrics_are_left_alone(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    trainer = make_trainer(tmp_path, rollout)
    train(trainer)
    rollout.close()
    assert rollout.n_calls == 1
    assert trainer.state.log_history[0]["entropy"] > 0
