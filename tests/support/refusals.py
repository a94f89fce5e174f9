"""Errors that people see: what is wrong, and how to fix it."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from curation.files import CurationError


@contextmanager
def fails(*parts: str, fix: str = "") -> Iterator[pytest.ExceptionInfo[CurationError]]:
    """Check that the block ends with an error that has these parts, and this in its fix."""
    with pytest.raises(CurationError) as caught:
        yield caught
    for part in parts:
        assert part in caught.value.what
    assert fix in caught.value.fix
