"""A real sandbox for tests that run programs."""

import asyncio

import pytest

from grpo_agent.sandboxes.errors import SandboxUnavailable
from grpo_agent.sandboxes.registry import make_provider


@pytest.fixture(scope="session")
def sandbox_name():
    """`local`, or `unsafe` where namespaces cannot be had: all programs of these tests are our own."""

    async def start():
        async with make_provider("local"):
            return "local"

    try:
        return asyncio.run(start())
    except SandboxUnavailable:
        return "unsafe"
