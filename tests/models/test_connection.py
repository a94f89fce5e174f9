"""The errors of real servers."""

import pytest

from curation.http import gist
from curation.models import connection
from curation.models.echoes import ERRORS
from support.written import beside

NAMES = ("FILTERED", "WRONG_MODEL", "NO_CHAT", "NO_TEMPLATE", "LARGE_MAX_TOKENS", "TOO_LONG")
PATTERNS = {name: ERRORS[name.lower()] for name in NAMES}
SORTS = beside(__file__, "errors.toml")["sorts"]


@pytest.mark.parametrize(("sort", "text"), [(sort, text) for sort in SORTS for text in SORTS[sort]])
def test_each_error_is_of_one_sort(sort: str, text: str) -> None:
    found = {name for name, pattern in PATTERNS.items() if pattern.search(text)}
    if sort == "LARGE_MAX_TOKENS":  # it is looked for before TOO_LONG
        found.discard("TOO_LONG")
    assert found == {sort} - {"parameters"}


def test_words_of_an_error_leave_out_what_it_repeats_of_the_request() -> None:
    body = {"detail": [{"type": "extra", "msg": "not permitted", "input": {"content": "flagged"}}]}
    assert connection.words(body) == "not permitted extra"
    azure = {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}
    assert PATTERNS["FILTERED"].search(connection.words(azure))
    assert PATTERNS["FILTERED"].search(
        connection.words({"error": {"code": 400, "status": "SAFETY"}})
    )
    assert connection.words(None) == connection.words(3.5) == connection.words({}) == ""


def test_gist_and_error_of_odd_contents() -> None:
    assert gist([{"error": {"message": "blocked"}}]) == "blocked"
    assert gist({"message": " two\n lines "}) == "two lines"
    assert gist("x" * 300) == "x" * 200 + "…"
    odd = ({}, [], None, 1, {"choices": None}, {"choices": []}, {"choices": [1]}, {"error": None})
    assert [connection.error_in(content) for content in odd] == [None] * len(odd)
    assert connection.error_in({"error": "no"}) == "no"
