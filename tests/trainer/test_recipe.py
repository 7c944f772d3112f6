import pytest

from grpo_agent.agents.limits import RolloutLimits
from grpo_agent.trainer.compose import load_recipe, to_yaml
from grpo_agent.trainer.errors import RecipeError, UserError
from grpo_agent.trainer.recipe import EvalRecipe, Recipe, packaged_recipes
from grpo_agent.trainer.setting import settings


def recipe(*overrides, file=None):
    return load_recipe(file, overrides)


def test_a_name_and_its_settings_go_together_in_any_order():
    for overrides in (["env=code", "env.levels=[1,2]"], ["env.levels=[1,2]", "env=code"]):
        assert recipe(*overrides).env_settings["levels"] == [1, 2]


def test_short_forms_set_the_name():
    made = recipe("env=code", "model=some/folder", "sandbox=unsafe", "generator=transformers")
    assert (made.model.name, made.sandbox["name"]) == ("some/folder", "unsafe")


def test_an_environment_by_path_takes_the_default_recipe_and_none_of_the_settings_of_code():
    made = recipe("env=path/to/file.py:GuessNumber", "env.high=10")
    assert made.env_name == "path/to/file.py:GuessNumber"
    assert made.env_settings == {"high": 10}


def test_problems_of_a_dataset_get_room_for_a_whole_function():
    assert recipe("env=code", "env.source=humaneval").limits.max_turn_tokens > 300


def test_values_are_typed():
    made = recipe(
        "env=code", "limits.max_turns=4", "trainer.learning_rate=1e-6", "limits.max_turn_tokens=null"
    )
    assert made.limits.max_turns == 4
    assert made.limits.max_turn_tokens is None
    assert made.trainer["learning_rate"] == 1e-6


def test_a_deleted_key_falls_back_to_its_default_and_its_siblings_stay():
    whole = recipe("env=code")
    made = recipe("env=code", "~trainer.max_grad_norm", "~limits.max_turns", file="code_1.5b_gpu")
    assert "max_grad_norm" not in made.trainer
    assert made.trainer["num_generations"] == 8
    assert made.limits.max_turns == RolloutLimits().max_turns
    assert made.limits.max_turn_tokens == 512
    assert recipe("env=code", "~eval").eval == EvalRecipe()
    assert recipe("env=code", "~limits.max_turns=2").limits.max_turn_tokens == whole.limits.max_turn_tokens
    assert recipe("env=code", "~env.levels").env_settings.keys() == whole.env_settings.keys() - {"levels"}


def test_another_environment_does_not_inherit_the_settings_of_the_recipe(tmp_path):
    (tmp_path / "mine.yaml").write_text("env: {name: code, levels: [1]}\n")
    made = recipe("env=other", file=str(tmp_path / "mine.yaml"))
    assert made.env == {"name": "other"}


def test_a_recipe_may_name_the_environment_in_short_and_build_on_a_packaged_one(tmp_path):
    (tmp_path / "mine.yaml").write_text("defaults: [code_cpu, _self_]\nlimits: {max_turns: 7}\n")
    made = recipe(file=str(tmp_path / "mine.yaml"))
    assert made.limits.max_turns == 7
    assert made.limits.max_turn_tokens == recipe("env=code").limits.max_turn_tokens
    (tmp_path / "short.yaml").write_text("env: code\n")
    assert recipe("env.levels=[3]", file=str(tmp_path / "short.yaml")).env == {"name": "code", "levels": [3]}


@pytest.mark.parametrize("name", sorted(packaged_recipes()))
def test_packaged_recipes_load_and_survive_yaml(name, tmp_path):
    made = recipe("env=code", file=name)
    (tmp_path / "again.yaml").write_text(to_yaml(made))
    assert recipe(file=str(tmp_path / "again.yaml")) == made


def test_resume_reads_the_recipe_of_the_run(tmp_path):
    (tmp_path / "recipe.yaml").write_text(to_yaml(recipe("env=code", "seed=7")))
    made = recipe(f"resume={tmp_path}", "trainer.max_steps=3")
    assert (made.seed, made.trainer["max_steps"], made.resume) == (7, 3, str(tmp_path))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["env=code", "limits.max_turn=3"],
            r"unknown key 'limits.max_turn' \(did you mean 'limits.max_turns'",
        ),
        (["env=code", "limit.max_turns=3"], "did you mean 'limits.max_turns'"),
        (["env=code", "max_turns=3"], "did you mean 'limits.max_turns'"),
        (["env=code", "limits.max_turns=x"], "limits.max_turns: Value 'x' of type 'str'"),
        (["env=code", "limits.max_turns=0"], "limits.max_turns is 0; it must be positive"),
        (["env=code", "limits=3"], r"limits is 3; it holds keys of its own, e.g. limits\."),
        (["env=code", "eval.split=tests"], "did you mean 'test'"),
        (["env=code", "eval.samples=0"], "eval.samples is 0; it must be at least 1"),
        (["env=code", "model.dtype=float31"], "did you mean 'float32'"),
        (["env=code", "rollout.max_unscored_share=2"], "between 0.0 and 1.0"),
        (["env=code", "seed=1,2"], r"written in brackets"),
        (["env=code", "env.levels=[1"], "cannot read the override"),
        (["env=code", "max_train_minutes=0"], "must be positive"),
        (["env={levels: [1]}", "seed=1"], "no env is named"),
        (["seed=1"], "no environment is named; say env=code"),
        (["~env"], "no environment is named; say env=code"),
        (["env=code", "~limits.max_turn"], r"gives no 'limits.max_turn' \(did you mean 'limits.max_turns'"),
        (["env=code", "~trainer.max_grad_nor"], "~trainer.max_grad_nor: the recipe gives no"),
        (["env=code", "~nothing.at_all"], "the recipe gives no 'nothing.at_all'"),
        (["env=code", "~seed.x"], "the recipe gives no 'seed.x'"),
        (["env=code", "~limits.max_turns=9"], "~limits.max_turns=9: limits.max_turns is 2"),
        (["resume=runs/none"], "there is no runs/none/recipe.yaml"),
    ],
)
def test_what_cannot_be_used_is_one_line(overrides, message):
    with pytest.raises(UserError, match=message) as caught:
        recipe(*overrides)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a: [1\nb: {", "- 1\n- 2\n", "defaults: [nowhere]\n", "env: ${missing}\n"])
def test_a_broken_file_is_one_line(tmp_path, text):
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(RecipeError) as caught:  # the texts are the YAML parser's and Hydra's
        recipe(file=str(tmp_path / "bad.yaml"))
    assert "\n" not in str(caught.value)


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(RecipeError, match="did you mean 'code_cpu'"):
        recipe(file="code_cp")


def test_every_setting_is_documented():
    assert [setting.key for setting in settings() if not setting.doc] == []
    assert {"env", "limits.max_turns", "trainer", "seed"} <= {setting.key for setting in settings()}


def test_the_defaults_are_shown_as_they_are_written():
    shown = {setting.key: setting.default for setting in settings()}
    assert (shown["seed"], shown["eval.before"], shown["resume"]) == ("0", "true", "null")
    assert str(Recipe(env={"name": "code"}).eval.temperature) == shown["eval.temperature"]
