"""One episode: reset, then generate, parse, step, observe, until something ends it.

What the agent or the rules end is a `StopReason`. What breaks is a `Failure`, and the episode is
unscored. The environment is closed whatever happened.

Not here: retries, concurrency and the deadline of a batch (`rollout`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

from ..envs.core import Action, Env, Info, Message, Observation, Step, Task, as_messages
from .chat import ChatFormat
from .core import Episode, Generation, Generator, Sampling, StopReason, Timings, Turn
from .env_host import EnvHost
from .errors import EnvContractError, GeneratorError
from .failure import Failure, FailureKind, Stage, classify, is_retryable
from .limits import RolloutLimits
from .observation import fit_observation
from .thread import WorkerPool
from .tokenlog import TokenLog

ParseErrorPolicy = Literal["feedback", "end"]
"""`feedback`: the environment answers a malformed action. `end`: it ends the episode."""

MIN_TURN_TOKENS = 16
"""An observation leaves the agent at least so many tokens to answer, else the episode ends."""


@dataclass(frozen=True, slots=True)
class Start:
    """What one episode begins from."""

    task: Task
    task_id: str
    sample: int
    env_seed: int
    """Equal for all members of a group."""
    turn_seed: Callable[[int], int]
    """Seed of the generation of a turn."""
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Setting:
    """What all episodes of a batch share."""

    make_env: Callable[[], Env]
    generator: Generator
    chat_format: ChatFormat
    limits: RolloutLimits
    sampling: Sampling
    workers: WorkerPool
    parse_error: ParseErrorPolicy
    close_timeout_s: float
    on_turn: Callable[[Turn], None]


class EpisodeRun:
    """One attempt at an episode. `run` plays it; `episode` tells, at any time, how far it came."""

    def __init__(self, start: Start, setting: Setting) -> None:
        """Prepare; nothing is created yet."""
        self.start, self._setting = start, setting
        self._env = EnvHost(setting.make_env, setting.workers)
        self._stage = Stage.CREATE
        self._log: TokenLog | None = None
        self._pending: list[int] = []  # environment tokens, logged once a turn follows them
        self._messages: list[Message] = []
        self._tools: tuple[Mapping[str, Any], ...] = ()  # Any: JSON schema
        self._turns: list[Turn] = []
        self._tool_calls = 0
        self._is_closed = False  # whether the last turn ended itself
        self._info: Info = {}
        self._reset_s = 0.0
        self._began = perf_counter()
        self._stop: StopReason | None = None
        self._failure: Failure | None = None
        self._close_failure: Failure | None = None
        self.may_retry = False
        """Whether it broke in a way in which a fresh environment may not."""

    async def run(self) -> Episode:
        """Play the episode to its end and close its environment. Raises only if cancelled."""
        timeout = asyncio.timeout(self._setting.limits.episode_timeout_s)
        try:
            async with timeout:
                self._stop = await self._play()
        except Exception as error:  # noqa: BLE001  # the episode's boundary: recorded, never a reward
            if timeout.expired():
                self._time_out()
            else:
                self._stop, self._failure = StopReason.FAILED, classify(error, self._stage)
                self.may_retry = is_retryable(error, self._failure)
        finally:
            self._close_failure = await self._env.close(self._setting.close_timeout_s)
        return self.episode()

    @property
    def failure(self) -> Failure | None:
        """What broke, if anything did."""
        return self._failure

    def episode(self) -> Episode:
        """What there is so far; an unfinished episode counts as cancelled by the deadline."""
        failure, stop = self._failure, self._stop
        if stop is None:
            stop = StopReason.CANCELLED
            failure = Failure(FailureKind.DEADLINE, self._stage, "the batch deadline passed")
        start = self.start
        return Episode(
            task=start.task,
            task_id=start.task_id,
            sample=start.sample,
            seed=start.env_seed,
            messages=tuple(self._messages),
            tools=self._tools,
            tokens=self._log,
            turns=tuple(self._turns),
            reward=None if failure else sum((turn.reward or 0.0 for turn in self._turns), 0.0),
            stop_reason=stop,
            failure=failure,
            close_failure=self._close_failure,
            info=self._info,
            timings=Timings(
                wait_s=start.wait_s,
                reset_s=self._reset_s,
                generate_s=sum(turn.generate_s for turn in self._turns),
                env_s=sum(turn.env_s for turn in self._turns),
                total_s=perf_counter() - self._began,
            ),
        )

    async def _play(self) -> StopReason:
        log = await self._begin()
        while True:
            action = await self._act(log)
            if stop := self._refusal(action):
                return stop
            step = await self._step(action)
            if step.terminated:
                return StopReason.TERMINATED
            if step.truncated:
                return StopReason.ENV_TRUNCATED
            if stop := self._end_by_limit(log, step.observation):
                return stop

    async def _begin(self) -> TokenLog:
        began = perf_counter()
        await self._env.create()
        self._stage = Stage.RESET
        limits = self._setting.limits
        options = {
            "task": self.start.task,
            "tool_timeout_s": limits.tool_timeout_s,
            "max_turns": limits.max_turns,
        }
        self._messages, self._info = await self._env.reset(self.start.env_seed, options)
        self._tools = self._env.tools()
        prompt_ids = self._setting.chat_format.encode(self._messages, self._tools)
        if len(prompt_ids) >= self._setting.generator.max_context:
            raise EnvContractError(
                f"the prompt has {len(prompt_ids)} tokens, but the model's context holds "
                f"{self._setting.generator.max_context}; shorten the task or choose a larger context"
            )
        self._log = TokenLog(prompt_ids)
        self._reset_s = perf_counter() - began
        return self._log

    async def _act(self, log: TokenLog) -> Action:
        """Sample a turn, log it and read it."""
        self._stage, began, index = Stage.GENERATE, perf_counter(), len(self._turns)
        room = self._room(log)
        generation = await self._setting.generator.generate(
            [*log.ids, *self._pending],
            max_new_tokens=min(room, self._setting.limits.max_turn_tokens or room),
            sampling=self._setting.sampling,
            seed=self.start.turn_seed(index),
        )
        self._record(log, generation, room)
        action = self._setting.chat_format.parse(generation.ids, turn=index)
        self._messages.append(action.to_message())
        self._turns.append(
            Turn(
                start=len(log) - len(generation.ids),
                end=len(log),
                finish_reason=generation.finish_reason,
                parse_error=next((call.error for call in action.tool_calls if call.error), None),
                tool_calls=len(action.tool_calls),
                generate_s=perf_counter() - began,
            )
        )
        return action

    def _record(self, log: TokenLog, generation: Generation, room: int) -> None:
        if not 1 <= len(generation.ids) <= room:
            raise GeneratorError(
                f"the generator returned {len(generation.ids)} ids; 1 to {room} were asked for",
                retryable=False,
            )
        log.append_env(self._pending)
        self._pending = []
        log.append_sampled(generation.ids, generation.logprobs)
        self._is_closed = self._setting.chat_format.is_closed(generation.ids)

    def _refusal(self, action: Action) -> StopReason | None:
        """Why the environment does not get to see this action, if it does not."""
        if self._setting.parse_error == "end" and self._turns[-1].parse_error is not None:
            return StopReason.PARSE_ERROR
        self._tool_calls += len(action.tool_calls)
        most = self._setting.limits.max_tool_calls
        return StopReason.MAX_TURNS if most is not None and self._tool_calls > most else None

    async def _step(self, action: Action) -> Step:
        self._stage, began = Stage.STEP, perf_counter()
        step = await self._env.step(action)
        self._info = step.info
        self._turns[-1] = replace(self._turns[-1], reward=step.reward, env_s=perf_counter() - began)
        if step.reward is None and self._failure is None:
            message = f"step {len(self._turns)} gave reward None: the environment could not score it"
            self._failure = Failure(FailureKind.ENV_ERROR, Stage.REWARD, message)
        if step.terminated or step.truncated:
            self._messages.extend(as_messages(step.observation))
        self._setting.on_turn(self._turns[-1])
        return step

    def _end_by_limit(self, log: TokenLog, observation: Observation) -> StopReason | None:
        """Take the observation in, or say which limit ends the episode here."""
        setting, messages = self._setting, as_messages(observation)
        closing = () if self._is_closed else setting.chat_format.turn_end_ids
        room = self._room(log)
        is_cut = room <= 0 and self._turns[-1].finish_reason == "length"
        if len(self._turns) >= setting.limits.max_turns and not is_cut:
            self._messages.extend(messages)
            return StopReason.MAX_TURNS
        most = room - len(closing) - MIN_TURN_TOKENS
        fitted = fit_observation(setting.chat_format, messages, most) if most > 0 else None
        self._messages.extend(fitted.messages if fitted else messages)
        if fitted is None:
            return self._full(log)
        self._pending = [*closing, *fitted.ids]
        return None

    def _room(self, log: TokenLog) -> int:
        """Tokens that the episode may still take."""
        of_context = self._setting.generator.max_context - len(log.prompt_ids) - len(log)
        return min(self._setting.limits.max_completion_tokens - len(log), of_context) - len(self._pending)

    def _full(self, log: TokenLog) -> StopReason:
        of_context = self._setting.generator.max_context - len(log.prompt_ids)
        is_budget = self._setting.limits.max_completion_tokens <= of_context
        return StopReason.MAX_TOKENS if is_budget else StopReason.CONTEXT_FULL

    def _time_out(self) -> None:
        """Never scored: neither slow generation nor an environment that hangs is the agent's doing."""
        is_generating = self._stage is Stage.GENERATE
        kind = FailureKind.GENERATOR if is_generating else FailureKind.ENV_TIMEOUT
        message = f"over {self._setting.limits.episode_timeout_s} s in all"
        self._stop = StopReason.TIMEOUT
        self._failure = self._failure or Failure(kind, self._stage, message)
