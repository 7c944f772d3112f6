"""Every provider passes the public conformance suite."""

from __future__ import annotations

import asyncio

import pytest

from grpo_agent.sandboxes import SandboxProvider, make_provider
from grpo_agent.sandboxes.testing import CHECKS


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", ["local", "unsafe"])
def test_provider_conforms(name: str, check: str) -> None:
    async def main() -> None:
        async with make_provider(name) as provider:
            assert isinstance(provider, SandboxProvider)
            await CHECKS[check](provider)

    asyncio.run(main())
