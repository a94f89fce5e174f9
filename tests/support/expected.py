"""Errors that tests expect."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

from curation.files import CurationError

Patch = pytest.MonkeyPatch


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


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that ends in an error, whatever it is given."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def short_of_memory(forward: Callable[..., Any], *, most: int, rows: bool = False) -> Any:
    """A model's ``forward`` that has memory for so many tokens at once, or for so many ``rows``."""

    @wraps(forward)
    def run(**inputs: Any) -> Any:
        ids = inputs["input_ids"]
        if (len(ids) if rows else ids.numel()) > most:
            raise RuntimeError("CUDA out of memory")
        return forward(**inputs)

    return run
