"""Names of sandbox providers, and sharing one among all that ask for the same."""

from __future__ import annotations

import asyncio
import difflib
import importlib
from typing import Any

from .core import SandboxProvider

_PROVIDERS = {
    "local": (".local", "LocalProvider"),
    "unsafe": (".unsafe", "UnsafeProvider"),
}

_Key = tuple[str, tuple[tuple[str, str], ...]]
_shared: dict[asyncio.AbstractEventLoop, dict[_Key, SandboxProvider]] = {}


def provider_names() -> list[str]:
    """The names that `make_provider` takes."""
    return sorted(_PROVIDERS)


def make_provider(name: str, **options: Any) -> SandboxProvider:  # Any: each provider has its own options
    """Make a provider; nothing runs before `start` or the first use.

    Args:
        name: `local` (isolated by Linux namespaces) or `unsafe` (plain processes).
        options: of the provider, e.g. `slots=4`.

    Raises:
        ValueError: no provider has this name, or it refuses an option.
    """
    if name not in _PROVIDERS:
        near = difflib.get_close_matches(str(name), _PROVIDERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"no sandbox provider is called {name!r}; {hint}there are: {', '.join(provider_names())}"
        )
    module, attribute = _PROVIDERS[name]
    factory = getattr(importlib.import_module(module, __package__), attribute)
    try:
        provider: SandboxProvider = factory(**options)
    except TypeError as error:
        raise ValueError(f"sandbox provider {name!r} refuses its options {options!r}: {error}") from error
    return provider


def shared_provider(name: str, **options: Any) -> SandboxProvider:  # Any: as for make_provider
    """The provider that all callers with equal arguments share, within the running event loop.

    Raises:
        ValueError: as `make_provider`.
        RuntimeError: no event loop is running.
    """
    loop = asyncio.get_running_loop()
    for other in [other for other in _shared if other.is_closed()]:
        _shared.pop(other, None)  # nobody can use these any more, nor close them
    providers = _shared.setdefault(loop, {})
    key = (name, tuple(sorted((option, repr(value)) for option, value in options.items())))
    if key not in providers:
        providers[key] = make_provider(name, **options)
    return providers[key]


async def close_shared_providers() -> None:
    """Close what `shared_provider` made in the running event loop."""
    for provider in _shared.pop(asyncio.get_running_loop(), {}).values():
        await provider.close()
