"""Errors that a user can fix, as tests expect them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from curation.files import CurationError


@contextmanager
def fails(*what: str, fix: str = "") -> Iterator[pytest.ExceptionInfo[CurationError]]:
    """The code below raises a ``CurationError`` that says ``what``, and how to ``fix`` it."""
    with pytest.raises(CurationError) as caught:
        yield caught
    for text in what:
        assert text in caught.value.what
    assert caught.value.fix
    assert fix in caught.value.fix
