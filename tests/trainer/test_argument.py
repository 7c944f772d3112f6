import pytest

from grpo_agent.trainer.argument import check_fields, grpo_args
from grpo_agent.trainer.compose import load_recipe
from grpo_agent.trainer.errors import RecipeError, UserError


def args(tmp_path, *overrides, n_tasks=100):
    return grpo_args(load_recipe(None, ["env=code", *overrides]), tmp_path, n_tasks=n_tasks)


def test_every_field_passes_through(tmp_path):
    made = args(tmp_path, "trainer.learning_rate=2e-6", "trainer.epsilon=0.3", "trainer.optim=sgd", "seed=9")
    assert (made.learning_rate, made.epsilon, made.optim, made.seed) == (2e-6, 0.3, "sgd", 9)


def test_the_constant_of_dr_grpo_follows_the_limits(tmp_path):
    assert args(tmp_path, "limits.max_completion_tokens=77").max_completion_length == 77
    assert args(tmp_path, "trainer.max_completion_length=55").max_completion_length == 55


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"learning_rat": 1}, r"unknown key 'trainer.learning_rat' \(did you mean 'learning_rate'\?\)"),
        ({"learning_rate": "abc"}, "trainer.learning_rate is 'abc'; it must be of type number"),
        ({"num_generations": 1.5}, "integer"),
        ({"num_generations": True}, "integer"),
        ({"loss_type": "drgrpo"}, "did you mean 'dr_grpo'"),
        ({"output_dir": "x"}, "set by run.folder"),
        ({"seed": 1}, "set by seed; use that"),
        ({"num_generations": 0}, "trainer.num_generations is 0; it must be at least 1"),
        ({"num_iterations": 0}, "trainer.num_iterations is 0; it must be at least 1"),
        ({"per_device_train_batch_size": 0}, "at least 1"),
        ({"per_device_eval_batch_size": -1}, "trainer.per_device_eval_batch_size is -1"),
        ({"gradient_accumulation_steps": 0}, "at least 1"),
        ({"steps_per_generation": 0}, "at least 1"),
        ({"generation_batch_size": 0}, "at least 1"),
        ({"num_generations_eval": 0}, "at least 1"),
    ],
)
def test_a_bad_field_is_one_line(fields, message):
    with pytest.raises(RecipeError, match=message):
        check_fields(fields)


def test_plain_types_fit_where_they_should():
    check_fields({"steps_per_generation": None, "num_iterations": 1})
    check_fields(
        {"learning_rate": 1, "epsilon_high": None, "scale_rewards": False, "optim": "sgd", "bf16": True}
    )


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["trainer.num_generations=7"], "divisible"),
        (["trainer.lr_scheduler_type=constat"], "constat is not a valid SchedulerType"),
        (["trainer.top_p=0.9"], "trainer.top_p is 0.9"),
    ],
)
def test_what_does_not_go_together_is_said_before_weights_load(tmp_path, overrides, message):
    with pytest.raises(UserError, match=message):
        args(tmp_path, *overrides)
