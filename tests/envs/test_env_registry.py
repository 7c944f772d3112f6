import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from grpo_agent import Action, Env, Step, make, register
from grpo_agent.envs import registry
from grpo_agent.envs.registry import REQUIRED, describe, env_factory, names
from grpo_agent.envs.testing import CounterEnv, GuessEnv

ROOT = Path(__file__).resolve().parents[2]
GUESS = f"{ROOT}/examples/guess_number.py:GuessNumber"


class Level(Env):
    """An environment with settings.

    More words.
    """

    def __init__(self, level: int, speed: float = 1.0) -> None:
        self.level, self.speed = level, speed

    def step(self, action: Action) -> Step:
        return Step("", 0.0, False, False, {})


class NoStep(Env):
    pass


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def test_example_of_the_readme_is_made_by_path_and_plays() -> None:
    env: Any = make(GUESS)
    first, _ = env.reset(seed=7)
    assert first.startswith("Guess a number")
    assert env.step(Action("no idea"))[1:4] == (0.0, False, False)
    assert env.step(Action(f"I say {env.secret}"))[1:3] == (1.0, True)


def test_a_file_is_loaded_once_however_its_path_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert type(make(GUESS)) is type(make("examples/../examples/guess_number.py:GuessNumber"))


def test_instances_and_factories_are_picklable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    factory = env_factory("examples/guess_number.py:GuessNumber")
    monkeypatch.chdir(tmp_path)
    assert type(pickle.loads(pickle.dumps(factory))()) is type(pickle.loads(pickle.dumps(make(GUESS))))


def test_a_factory_pickled_here_makes_environments_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "factory").write_bytes(pickle.dumps(env_factory(GUESS)))
    code = (
        "import pickle, pathlib; print(type(pickle.loads(pathlib.Path('factory').read_bytes())()).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "GuessNumber"


def test_a_file_may_import_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_neighbour_words.py").write_text("WORD = 'hi'")
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
        from grpo_agent import Env
        from my_neighbour_words import WORD
        class Mine(Env):
            def step(self, action):
                return WORD, 0.0, True, False, {}
        """)
    )
    assert make(f"{tmp_path}/mine.py:Mine").step(Action(""))[0] == "hi"  # type: ignore[index]


def test_module_path_and_class_are_made() -> None:
    assert isinstance(make("grpo_agent.envs.testing:GuessEnv", high=5), GuessEnv)
    assert isinstance(make(GuessEnv, high=5), GuessEnv)


@pytest.mark.usefixtures("fresh")
def test_registered_names_carry_defaults_that_make_overrides() -> None:
    register("level", Level, level=1, speed=2.0)
    env = make("level", speed=3.0)
    assert isinstance(env, Level)
    assert (env.level, env.speed, env.name) == (1, 3.0, "level")
    assert "level" in names()
    register("level", Level, level=2)  # again, as a reloaded file does
    assert describe("level").settings == {"level": 2, "speed": 1.0}


@pytest.mark.usefixtures("fresh")
def test_a_path_may_be_registered() -> None:
    register("counter", "grpo_agent.envs.testing:CounterEnv", goal=2)
    assert isinstance(make("counter"), CounterEnv)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("name", "env_class", "defaults", "kind", "message"),
    [
        ("code", Level, {}, ValueError, "'code' is taken by grpo_agent.envs.code.env:CodeEnv"),
        ("my env", Level, {}, ValueError, "'my env' is not usable"),
        ("level", Level, {"levle": 1}, TypeError, r"no setting 'levle' \(did you mean 'level'\?\)"),
        ("none", NoStep, {}, TypeError, "none has no step of its own; add: def step"),
    ],
)
def test_registering_wrongly_is_refused(
    name: str, env_class: type[Env], defaults: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        register(name, env_class, **defaults)


@pytest.mark.parametrize(
    ("env", "settings", "kind", "message"),
    [
        ("cod", {}, ValueError, r"unknown environment 'cod' \(did you mean 'code'\?\); known are code"),
        (
            GUESS.replace("guess_number", "guess_numbr"),
            {},
            ValueError,
            r"no file .*did you mean 'guess_number.py'",
        ),
        (GUESS[:-3], {}, ValueError, r"has no 'GuessNum' \(did you mean 'GuessNumber'\?\)"),
        (GUESS.partition(":")[0], {}, ValueError, r"classes: GuessNumber\)"),
        ("no_such_module:A", {}, ValueError, "cannot import 'no_such_module'.*ModuleNotFoundError"),
        ("a/b:c", {}, ValueError, "'a/b:c' is not a path; write package.module:Class"),
        ("json:dumps", {}, TypeError, "json:dumps is a function, not a class"),
        ("json:JSONDecoder", {}, TypeError, r"not an Env; write class JSONDecoder\(grpo_agent.Env\)"),
        ("gymnasium:Env", {}, TypeError, "wrap it with FromGymnasium"),
        (NoStep, {}, TypeError, "NoStep has no step of its own"),
        (Level, {"level": 1, "sped": 2}, TypeError, r"'sped' \(did you mean 'speed'\?\), given 2"),
        (Level, {}, TypeError, "environment Level needs a value for: level"),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line(
    env: Any, settings: dict[str, Any], kind: type[Exception], message: str
) -> None:
    for maker in (make, env_factory):
        with pytest.raises(kind, match=message) as caught:
            maker(env, **settings)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", r"ZeroDivisionError: division by zero \(.*broken.py:1\)"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(2)", "SystemExit: 2"),
    ],
)
def test_a_file_that_fails_to_load_says_why_and_where(source: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(source)
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"broken.py fails when loaded: {message}"):
            make(f"{tmp_path}/broken.py:A")


def test_packages_register_through_entry_points(tmp_path: Path) -> None:
    meta = tmp_path / "other_package-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text(
        "[grpo_agent.envs]\nother = grpo_agent.envs.testing:EchoEnv\nlost = not_there:Env\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from grpo_agent.envs.registry import describe, make, names\n"
        "print('other' in names(), make('other').name, describe('other').target)\n"
        "try: make('lost')\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[0] == "True other grpo_agent.envs.testing:EchoEnv"
    assert "cannot import 'not_there' of 'not_there:Env'" in done.stdout


def test_description_holds_summary_target_and_settings() -> None:
    described = describe(Level)
    assert described.summary == "An environment with settings."
    assert described.settings == {"level": REQUIRED, "speed": 1.0}
    assert describe(GUESS).target == GUESS
