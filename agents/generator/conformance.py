"""What every `Generator` keeps to, as a check that implementers run on theirs.

Each rule is one coroutine below; its docstring is the rule. A broken rule raises `AssertionError` with
the rule and what was seen. A generator that never answers breaks a rule too: every wait has a bound.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..core import Generation, Generator, Sampling
from ..errors import GeneratorError

T = TypeVar("T")
_CONCURRENT = 100


@dataclass(frozen=True, slots=True)
class Case:
    """What the rules are tried with."""

    make: Callable[[], Generator]
    prompts: tuple[tuple[int, ...], ...]
    """At least two different ones."""
    stop_ids: frozenset[int]
    max_new_tokens: int
    change_weights: Callable[[], None] | None
    timeout_s: float

    async def within(self, what: Awaitable[T]) -> T:
        """Wait for `what`, but not for ever."""
        try:
            return await asyncio.wait_for(what, self.timeout_s)
        except TimeoutError:
            raise AssertionError(f"the generator did not answer within {self.timeout_s} s") from None

    async def sample(
        self, generator: Generator, *, prompt: int = 0, temperature: float = 1.0, seed: int | None = None
    ) -> Generation:
        """Sample one turn after prompt number `prompt`."""
        return await self.within(
            generator.generate(
                self.prompts[prompt % len(self.prompts)],
                max_new_tokens=self.max_new_tokens,
                sampling=Sampling(temperature),
                seed=seed,
            )
        )


def check_generator(
    make: Callable[[], Generator],
    *,
    prompts: Sequence[Sequence[int]],
    stop_ids: Sequence[int],
    max_new_tokens: int = 8,
    change_weights: Callable[[], None] | None = None,
    timeout_s: float = 60.0,
) -> None:
    """Try every rule of the `Generator` contract. Not to be called inside a running event loop.

    Args:
        make: makes a generator; called once or twice per rule.
        prompts: two or more prompts, as ids.
        stop_ids: ids that end a turn.
        max_new_tokens: length of the turns that are sampled.
        change_weights: changes the model behind `make`, if it has one that a trainer changes.
        timeout_s: a single call, or a hundred at once, may take this long.

    Raises:
        AssertionError: a rule is broken.
        ValueError: fewer than two prompts.
    """
    if len(prompts) < 2:
        raise ValueError(f"prompts holds {len(prompts)}; give at least two that differ")
    case = Case(
        make, tuple(map(tuple, prompts)), frozenset(stop_ids), max_new_tokens, change_weights, timeout_s
    )
    for rule in RULES:
        try:
            asyncio.run(rule(case))
        except AssertionError as error:
            raise AssertionError(f"{rule.__name__}: {rule.__doc__} {error}") from error


async def ids_have_logprobs(case: Case) -> None:
    """A generation has ids, as many logprobs, all finite and at most 0, and at most `max_new_tokens`."""
    async with case.make() as generator:
        for temperature in (1.0, 0.7, 0.0):
            _check_generation(case, await case.sample(generator, temperature=temperature))


async def one_token_is_one_token(case: Case) -> None:
    """`max_new_tokens=1` gives exactly one id."""
    async with case.make() as generator:
        answer = await case.within(generator.generate(case.prompts[0], max_new_tokens=1, sampling=Sampling()))
        _require(len(answer.ids) == 1, f"It gave {answer.ids}.")


async def greedy_repeats(case: Case) -> None:
    """Temperature 0 gives the same ids again, alone or beside others."""
    async with case.make() as generator:
        alone = await case.sample(generator, temperature=0.0)
        beside = await asyncio.gather(
            *(case.sample(generator, prompt=index, temperature=0.0) for index in range(6))
        )
        _require(alone.ids == beside[0].ids, f"Alone {alone.ids}, beside others {beside[0].ids}.")


async def hundred_run_at_once(case: Case) -> None:
    """A hundred concurrent calls are all answered."""
    async with case.make() as generator:
        calls = (case.sample(generator, prompt=index, seed=index) for index in range(_CONCURRENT))
        for answer in await asyncio.gather(*calls):
            _check_generation(case, answer)


async def cancelling_frees_the_slot(case: Case) -> None:
    """Cancelled calls make room: a later call is answered, and the cancelled ones raise `CancelledError`."""
    async with case.make() as generator:
        for delay_s in (0.0, 0.05):
            tasks = [
                asyncio.ensure_future(case.sample(generator, prompt=index)) for index in range(_CONCURRENT)
            ]
            await asyncio.sleep(delay_s)
            for task in tasks:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                _require(
                    isinstance(outcome, asyncio.CancelledError | Generation), f"A call gave {outcome!r}."
                )
            _check_generation(case, await case.sample(generator))


async def bad_ids_are_refused(case: Case) -> None:
    """Empty ids, or more than the context holds, raise `ValueError`; the generator goes on."""
    async with case.make() as generator:
        too_long = [case.prompts[0][0]] * generator.max_context
        for ids in ([], too_long):
            try:
                await case.within(generator.generate(ids, max_new_tokens=1, sampling=Sampling()))
            except ValueError:
                continue
            raise AssertionError(f"{len(ids)} ids were taken.")
        _check_generation(case, await case.sample(generator))


async def entering_nests(case: Case) -> None:
    """Leaving an inner `async with` leaves the outer one running."""
    async with case.make() as outer:
        async with outer as inner:
            _check_generation(case, await case.sample(inner))
        _check_generation(case, await case.sample(outer))


async def outside_is_clear(case: Case) -> None:
    """Outside `async with` a call is answered or raises `GeneratorError`; it never hangs."""
    generator = case.make()
    for _ in range(2):
        try:
            await case.sample(generator)
        except GeneratorError as error:
            _require("async with" in str(error), f"The message does not name `async with`: {error}")
        async with generator:
            _check_generation(case, await case.sample(generator))


async def leaving_ends_calls(case: Case) -> None:
    """A call that still runs when the generator is left is answered or raises `GeneratorError`."""
    generator = case.make()
    async with generator:
        tasks = [asyncio.ensure_future(case.sample(generator, prompt=index)) for index in range(8)]
        await asyncio.sleep(0)
    for outcome in await case.within(asyncio.gather(*tasks, return_exceptions=True)):
        _require(isinstance(outcome, GeneratorError | Generation), f"A call gave {outcome!r}.")


async def closing_repeats(case: Case) -> None:
    """`close` may be called twice, entered before or not."""
    for enter in (False, True):
        generator = case.make()
        if enter:
            async with generator:
                await case.sample(generator)
        await case.within(generator.close())
        await case.within(generator.close())


async def new_weights_are_seen(case: Case) -> None:
    """After a change of weights, entering again gives what a new generator gives: nothing stale is kept."""
    if case.change_weights is None:
        return
    generator = case.make()
    async with generator:
        before = await case.sample(generator, temperature=0.0)
    case.change_weights()
    async with generator:
        after = await case.sample(generator, temperature=0.0)
    async with case.make() as fresh:
        expected = await case.sample(fresh, temperature=0.0)
    _require(after.ids == expected.ids, f"It gave {after.ids}, a new generator {expected.ids}.")
    gaps = [abs(one - other) for one, other in zip(after.logprobs, expected.logprobs, strict=True)]
    _require(max(gaps) < 1e-3, f"Its logprobs differ from a new generator's by {max(gaps)}.")
    _require(before != after, "The change of weights changed nothing; give one that does.")


RULES = (
    ids_have_logprobs,
    one_token_is_one_token,
    greedy_repeats,
    hundred_run_at_once,
    cancelling_frees_the_slot,
    bad_ids_are_refused,
    entering_nests,
    outside_is_clear,
    leaving_ends_calls,
    closing_repeats,
    new_weights_are_seen,
)
"""All rules, in the order they are tried."""


def _check_generation(case: Case, answer: Generation) -> None:
    _require(0 < len(answer.ids) <= case.max_new_tokens, f"It gave {len(answer.ids)} ids.")
    _require(len(answer.ids) == len(answer.logprobs), f"It gave {len(answer.logprobs)} logprobs.")
    fit = all(math.isfinite(logprob) and logprob <= 1e-3 for logprob in answer.logprobs)
    _require(fit, f"It gave logprobs {answer.logprobs}.")
    stops = [token in case.stop_ids for token in answer.ids]
    _require(not any(stops[:-1]), f"It went on after a stop id: {answer.ids}.")
    _require(
        answer.finish_reason == ("stop" if stops[-1] else "length"),
        f"It said {answer.finish_reason!r} after {answer.ids}, stop ids being {sorted(case.stop_ids)}.",
    )
    _require(stops[-1] or len(answer.ids) == case.max_new_tokens, f"It stopped early, after {answer.ids}.")


def _require(is_kept: bool, seen: str) -> None:
    if not is_kept:
        raise AssertionError(seen)
