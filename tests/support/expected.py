"""Errors that tests expect."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from curation.files import CurationError


@contextmanager
def fails(what: str, fix: str = "") -> Iterator[pytest.ExceptionInfo[Any]]:
    """What runs inside ends in an error for the user that says how to fix it.

    Args:
        what: a pattern of what is wrong.
        fix: a part of the fix.
    """
    with pytest.raises(CurationError, match=what) as error:
        yield error
    assert error.value.fix, f"no fix: {error.value.what}"
    assert fix in error.value.fix
