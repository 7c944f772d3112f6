"""One environment for one episode, called from the event loop whether its methods are async or not."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from ..envs.core import Action, Env, Info, Step
from .contract import Reset, checked_reset, checked_step, checked_tools
from .errors import EnvContractError
from .failure import Failure, FailureKind, Stage, classify
from .thread import WorkerPool, WorkerThread, as_exception

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class EnvHost:
    """Creates, calls and closes one environment; checks what it returns."""

    def __init__(self, make_env: Callable[[], Env], workers: WorkerPool) -> None:
        """Prepare; nothing is created yet."""
        self._make_env, self._workers = make_env, workers
        self._env: Env | None = None
        self._worker: WorkerThread | None = None

    async def create(self) -> None:
        """Make the environment.

        Raises:
            EnvContractError: what was made is no environment.
        """
        await self._in_thread(self._create)

    async def reset(self, seed: int, options: Info) -> Reset:
        """Begin the episode.

        Raises:
            EnvContractError: the environment broke its contract.
        """
        return checked_reset(await self._call(self._made().reset, seed=seed, options=options))

    def tools(self) -> tuple[Mapping[str, Any], ...]:  # Any: JSON schema
        """Schemas of the tools offered in this episode.

        Raises:
            EnvContractError: the environment broke its contract.
        """
        return checked_tools(self._made().tools)

    async def step(self, action: Action) -> Step:
        """Apply one turn.

        Raises:
            EnvContractError: the environment broke its contract.
        """
        return checked_step(await self._call(self._made().step, action))

    async def close(self, timeout_s: float) -> Failure | None:
        """Close the environment, if one was made, and give its thread back. Never raises an `Exception`."""
        env = self._env
        try:
            async with asyncio.timeout(timeout_s):
                if env is not None:
                    await self._call(env.close)
                elif self._worker is not None and not self._worker.is_idle:
                    await self._call(self._close_late)
        except Exception as error:  # noqa: BLE001  # must not change what the episode earned
            failure = classify(error, Stage.CLOSE)
            if isinstance(error, TimeoutError):
                failure = Failure(FailureKind.ENV_TIMEOUT, Stage.CLOSE, f"close took over {timeout_s} s")
            _logger.warning("the environment failed to close: %s", failure)
            return failure
        finally:
            if self._worker is not None:
                self._workers.release(self._worker)
                self._worker = None
        return None

    def _create(self) -> None:
        # Held from within the thread, so that `close` finds it even if the creation was given up.
        env: object = self._make_env()
        if not isinstance(env, Env):
            raise EnvContractError(
                f"the environment factory must return an Env, got {type(env).__name__}; "
                "subclass grpo_agent.Env, or wrap a gymnasium environment"
            )
        self._env = env

    def _close_late(self) -> Awaitable[None] | None:
        """Runs after a creation that was given up; what it made is closed all the same."""
        return None if self._env is None else self._env.close()

    def _made(self) -> Env:
        if self._env is None:
            raise EnvContractError("the environment was not created")
        return self._env

    async def _call(self, method: Callable[..., Awaitable[T] | T], *args: object, **kwargs: object) -> T:
        try:
            if inspect.iscoroutinefunction(method):
                return await method(*args, **kwargs)  # type: ignore[no-any-return]  # narrowed to Any
            result = await self._in_thread(partial(method, *args, **kwargs))
            return await result if inspect.isawaitable(result) else result
        except SystemExit as error:
            raise as_exception(error) from error

    async def _in_thread(self, function: Callable[[], T]) -> T:
        if self._worker is None:
            self._worker = self._workers.lease()
        return await self._worker.call(function)
