"""A server of pages whose clock a test can set."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.web import Site


@pytest.fixture
def clock() -> list[float]:
    """The seconds that the server believes in."""
    return [1_000_000.0]


@pytest.fixture
def site(tmp_path: Path, clock: list[float]) -> Iterator[Site]:
    made = Site(tmp_path, now=lambda: clock[0])
    with made.served():
        yield made
