"""The local provider that these tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from local_on_loop import Local


@pytest.fixture(scope="session")
def local() -> Iterator[Local]:
    """The provider that the tests of `local` share."""
    instance = Local()
    yield instance
    instance.close()
