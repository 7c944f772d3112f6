"""gymnasium, both ways: our environments for its tools, its environments for our agents.

Importing this module registers every named environment: `gymnasium.make("grpo_agent/Code-v0")`, and
`gymnasium.make("grpo_agent/Env-v0", env="path/to/file.py:MyEnv")` for any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

from . import registry
from .core import Action, Env, Info, Observation, Step, as_messages
from .gym_parser import ActionParser
from .gym_text import AnyText, messages_text, plain_info, read_action, rendered
from .shared_loop import SharedLoop
from .text import truncate

NAMESPACE = "grpo_agent"

_shared_loop = SharedLoop()


class ToGymnasium(gymnasium.Env[str, str]):
    """One of our environments as a synchronous gymnasium environment over text.

    An observation is the text of the new messages; `info["messages"]` has them whole. An action is the
    agent's text; if the environment has tools, a JSON object `{"name": ..., "arguments": {...}}`, or a
    list of them, is a tool call. A step that cannot be scored has reward NaN.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # gymnasium annotates it

    def __init__(
        self,
        env: str | type[Env] | Env,
        *,
        split: str = "train",
        max_chars: int = 100_000,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """Wrap an environment.

        Args:
            env: a name, path or class, made with `settings`; or an environment.
            split: where tasks are drawn from, by the seed, unless `options["task"]` gives one.
            max_chars: longest observation and action; longer observations are cut in the middle.
            render_mode: `"ansi"` makes `render` return the transcript.
            **settings: constructor arguments of `env`.

        Raises:
            ValueError: as `registry.make`.
            TypeError: as `registry.make`.
        """
        self.inner = env if isinstance(env, Env) else registry.make(env, **settings)
        self.render_mode = render_mode
        self.observation_space = AnyText(max_chars)
        self.action_space = AnyText(max_chars)
        self._max_chars = max_chars
        self._tasks = self.inner.tasks(split)
        self._transcript: list[str] = []
        self._is_open = False
        self._holds_loop = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._close_episode()
        options = dict(options or {})
        if "task" not in options and self._tasks is not None:
            options["task"] = self._tasks[int(self.np_random.integers(len(self._tasks)))]
        env_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        self._is_open = True
        observation, info = self._wait(self.inner.reset(seed=env_seed, options=options))
        self._transcript = []
        return self._observed(observation, info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Apply one turn of the agent."""
        self._transcript.append(f"assistant: {action}")
        result = Step(*self._wait(self.inner.step(read_action(action, has_tools=bool(self.inner.tools)))))
        text, info = self._observed(result.observation, result.info)
        reward = float("nan") if result.reward is None else float(result.reward)
        return text, reward, bool(result.terminated), bool(result.truncated), info

    def render(self) -> str | None:
        """The transcript, in `ansi` mode."""
        return "\n".join(self._transcript) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Close the episode and let go of the shared loop. May be called again."""
        try:
            self._close_episode()
        finally:
            if self._holds_loop:
                self._holds_loop = False
                _shared_loop.release()

    def _observed(self, observation: Observation, info: Info) -> tuple[str, dict[str, Any]]:
        messages = [dict(message) for message in as_messages(observation)]
        self._transcript += [f"{message['role']}: {messages_text([message])}" for message in messages]
        return truncate(messages_text(messages), self._max_chars), {**info, "messages": messages}

    def _close_episode(self) -> None:
        if self._is_open:
            self._is_open = False
            self._wait(self.inner.close())

    def _wait(self, reply: Any) -> Any:  # Any: a result, or an awaitable of one
        if not hasattr(reply, "__await__"):
            return reply
        if not self._holds_loop:
            _shared_loop.acquire()
            self._holds_loop = True
        return _shared_loop.run(reply)


class FromGymnasium(Env):
    """A gymnasium environment as one of ours: rendered as text, acted on by parsing the reply."""

    def __init__(
        self,
        env_id: str,
        *,
        instructions: str | None = None,
        action_names: Sequence[str] = (),
        parse: Callable[[str], Any] | None = None,
        render: Callable[[Any], str] | None = None,
        env_settings: dict[str, Any] | None = None,
    ) -> None:
        """Make the gymnasium environment.

        Args:
            env_id: as for `gymnasium.make`, e.g. `"FrozenLake-v1"`.
            instructions: opens the first observation; by default the name and what is allowed.
            action_names: names of the actions of a Discrete space; a reply may use them.
            parse: from the agent's text to an action; a `ValueError` it raises is told to the agent. By
                default Discrete takes the first whole number (or name), other number spaces as many
                numbers as they have, Text the text.
            render: from an observation to text; by default the `ansi` rendering, else the values.
            env_settings: keyword arguments of `gymnasium.make`.

        Raises:
            ValueError: unknown `env_id`, or a space that needs `parse`.
        """
        self._env_id = env_id
        self._settings = dict(env_settings or {})
        self._render = render
        self._gym: gymnasium.Env[Any, Any] | None = self._make()
        self._space = self._gym.action_space
        self._parser = ActionParser(self._space, tuple(action_names), parse)
        self.instructions = instructions or f"You play {env_id}. {self._parser.allowed}"

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Observation, Info]:
        """Begin an episode; `options["gymnasium"]`, if given, are the options of the inner `reset`."""
        super().reset(seed=seed, options=options)
        if self._gym is None:
            self._gym = self._make()
        inner = (options or {}).get("gymnasium")
        observation, info = self._gym.reset(seed=seed, options=inner)
        return f"{self.instructions}\n\n{self._shown(self._gym, observation)}", plain_info(info)

    def step(self, action: Action) -> Step:
        """Parse the reply and act; a reply that is no action changes nothing and is told so."""
        if self._gym is None:
            raise RuntimeError("step was called before reset")
        try:
            move = self._parser.read(action.text)
        except ValueError as error:
            return Step(f"{error} {self._parser.allowed}", 0.0, False, False, {})
        observation, reward, terminated, truncated, info = self._gym.step(move)
        score = float(reward)
        return Step(
            self._shown(self._gym, observation),
            score if np.isfinite(score) else None,
            bool(terminated),
            bool(truncated),
            plain_info(info),
        )

    def close(self) -> None:
        """Close the inner environment; `reset` makes a new one."""
        if self._gym is not None:
            self._gym.close()
            self._gym = None

    def _make(self) -> gymnasium.Env[Any, Any]:
        try:
            made = gymnasium.make(self._env_id, **self._settings)
            wants_text = self._render is None and "render_mode" not in self._settings
            if wants_text and "ansi" in made.metadata.get("render_modes", ()):
                made.close()
                made = gymnasium.make(self._env_id, render_mode="ansi", **self._settings)
        except (gymnasium.error.Error, ImportError, TypeError) as error:
            raise ValueError(f"gymnasium cannot make {self._env_id!r}: {error}") from error
        return made

    def _shown(self, env: gymnasium.Env[Any, Any], observation: object) -> str:
        if self._render is not None:
            return self._render(observation)
        if env.render_mode == "ansi":
            return rendered(str(env.render()))
        return rendered(observation)


def gym_id(name: str) -> str:
    """The gymnasium id of a named environment, e.g. `grpo_agent/TextGame-v0` for `text_game`."""
    camel = "".join(part[:1].upper() + part[1:] for part in re.split(r"[._-]", name))
    return f"{NAMESPACE}/{camel}-v0"


def register_envs() -> None:
    """Register with gymnasium all names of the registry that are not yet; run when this is imported."""
    made = f"{__name__}:ToGymnasium"
    wanted = {gym_id(name): {"env": name} for name in registry.names() if name != "gymnasium"}
    for env_id, settings in {**wanted, f"{NAMESPACE}/Env-v0": {}}.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=made, kwargs=settings)


register_envs()
