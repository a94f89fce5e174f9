"""A copy of the campaign that a file of tests makes."""

from pathlib import Path

import pytest

from support.desk import Desk


@pytest.fixture
def desk(made: Desk, tmp_path: Path) -> Desk:
    """A copy of the campaign of the file's fixture ``made``."""
    return made.copy(tmp_path / "c")
