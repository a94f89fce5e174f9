"""Every number of the report is what its file says."""

from pathlib import Path
from typing import Any

import pytest

from support.told import Page, problems


def test_each_number_is_what_its_file_says(finished: Path, forked: Any) -> None:
    assert forked("pages", "build", "--campaign", str(finished)).code == 0
    found = list(problems(finished, finished / "8-pages"))
    assert not found, "\n".join([f"{len(found)} numbers:", *found[:40]])
    told = Page((finished / "8-pages/report.html").read_text("utf-8")).told
    assert len([each for each in told if each.by.key is not None]) > 500


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("<p>3 CATs</p>", "has no place"),
        ('<data data-file="a.json" data-key="/n">3.1</data>', "is 3.14159 in a.json#/n"),
        ('<data data-file="a.json" data-key="/n" data-of="length">1</data>', ""),
        ('<data data-file="b.json" data-key="/n">3.1</data>', "is of b.json, which is missing"),
    ],
)
def test_a_number_that_is_wrong_is_found(tmp_path: Path, page: str, problem: str) -> None:
    (tmp_path / "a.json").write_text('{"n": [3.14159]}' if "length" in page else '{"n": 3.14159}')
    if problem.startswith("is 3.14159"):
        page = page.replace("3.1<", "3.2<")
    (tmp_path / "page.html").write_text(page)
    found = list(problems(tmp_path, tmp_path))
    assert [problem] == [each.rpartition("» ")[2] for each in found] if problem else not found
