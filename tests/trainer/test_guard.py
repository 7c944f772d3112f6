import pytest
from fake_engine import TASKS, FakeEngine, make_trainer

from grpo_agent.trainer.guard import check_args, make_args
from grpo_agent.trainer.rollout_func import RolloutFunc


def args_of(folder, **fields):
    return make_args(folder, bf16=False, **({"num_generations": 4} | fields))


def test_sound_settings_pass(tmp_path):
    check_args(args_of(tmp_path), n_tasks=2)


def test_the_cpu_is_used_where_there_is_nothing_else(tmp_path, recwarn):
    import torch

    assert args_of(tmp_path).use_cpu is not torch.accelerator.is_available()


def test_the_old_name_of_a_field_is_taken_without_a_warning(tmp_path):
    assert args_of(tmp_path, gradient_checkpointing=False).activation_checkpointing is False


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"top_p": 0.9}, "trainer.top_p is 0.9; it must be 1.0"),
        ({"top_k": 20}, "trainer.top_k is 20; it must be 0"),
        ({"min_p": 0.1}, "trainer.min_p is 0.1; it must be None"),
        ({"repetition_penalty": 1.1}, "trainer.repetition_penalty is 1.1"),
        ({"generation_kwargs": {"num_beams": 2}}, "trainer.generation_kwargs is .*remove it"),
        ({"temperature": 0.0}, "trainer.temperature is 0.0"),
        ({"remove_unused_columns": True}, "trainer.remove_unused_columns is true; set it to false"),
        ({"mask_truncated_completions": True}, "trainer.mask_truncated_completions is true"),
        ({"beta": 0.1}, "trainer.beta is 0.1, which needs a reference model"),
        ({"gradient_accumulation_steps": 8}, "there are 4 tasks but one batch takes 16"),
        ({"save_steps": 3, "save_strategy": "steps", "steps_per_generation": 2}, "trainer.save_steps=3"),
    ],
)
def test_what_would_train_wrongly_is_refused_before_a_model_is_needed(tmp_path, fields, message):
    with pytest.raises(ValueError, match=message):
        check_args(args_of(tmp_path, **fields), n_tasks=4)


def test_a_reference_model_may_come_from_an_adapter_or_a_path(tmp_path):
    args = args_of(tmp_path, beta=0.1)
    check_args(args, n_tasks=4, has_adapter=True)
    check_args(args, n_tasks=4, model_path="org/model")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "vllm_importance_sampling_mode is 'sequence_mask'"),
        (
            {"vllm_importance_sampling_mode": "token_truncate", "vllm_enable_sleep_mode": True},
            "vllm_enable_sleep_mode is true",
        ),
    ],
)
def test_vllm_settings_that_harm_long_episodes_are_refused(tmp_path, fields, message):
    with pytest.raises(ValueError, match=message):
        check_args(args_of(tmp_path, use_vllm=True, **fields), n_tasks=4)


def test_an_evaluation_batch_of_broken_groups_is_refused(tmp_path):
    rollout = RolloutFunc(FakeEngine())
    with pytest.raises(ValueError, match=r"an evaluation batch has 6 rows .* groups of 4 do not divide"):
        make_trainer(tmp_path, rollout, options={"eval_tasks": TASKS}, per_device_eval_batch_size=6)
