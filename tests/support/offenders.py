"""Tests of form: one test for a rule, which lists every place that breaks it."""

from collections.abc import Iterable

import pytest


def refuse(found: Iterable[str], *, fix: str) -> None:
    """Fail if there is anything that breaks a rule, and list all of it.

    Args:
        found: each place that breaks the rule, as ``file:line: what is wrong``.
        fix: what to do about it.
    """
    lines = list(found)
    if lines:
        pytest.fail("\n".join([f"{len(lines)} found. To fix: {fix}", *lines]), pytrace=False)
