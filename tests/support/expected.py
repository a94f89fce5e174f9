"""Errors that tests expect: what is wrong, and how to fix it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest

from curation.files import CurationError

Patch = pytest.MonkeyPatch


def has(said: str, *parts: str) -> None:
    """The text has every part, wherever its lines are broken."""
    in_a_line = " ".join(said.split())
    missing = [part for part in parts if part not in said and part not in in_a_line]
    assert not missing, f"{missing} is not in: {said}"


@contextmanager
def fails(*what: str, fix: str = "") -> Iterator[pytest.ExceptionInfo[CurationError]]:
    """The block ends with an error that says all of ``what``, and has a fix that says ``fix``."""
    with pytest.raises(CurationError) as caught:
        yield caught
    has(caught.value.what, *what)
    assert caught.value.fix, f"no fix: {caught.value.what}"
    has(caught.value.fix, fix)


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
