"""How often marks are right: the tables of docs/quality.md are those of ``benchmarks/people.py``.

Here, those for 15 tasks and with groups are computed again; the script has the rest.
"""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "people.py"))
PAGE = (ROOT / "docs" / "quality.md").read_text("utf-8")


def table(head: str) -> list[list[str]]:
    """The rows of the table of the page whose first column has this head."""
    found = re.search(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert found, head
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in found[1].splitlines()]


def test_thresholds_are_told_as_they_are() -> None:
    assert table("mark") == SCRIPT["marks_table"]()


@pytest.mark.long
def test_who_is_found_and_how_many_careful_people_are_marked() -> None:
    made = SCRIPT["kinds_table"]([SCRIPT["of_kinds"](15)])
    told = table("people who")
    assert [[row[0], row[2]] for row in made] == [[row[0], row[2]] for row in told]
    careful = [float(share) for share in told[0][2:]]
    assert max(careful) <= 1.0
    for row in told[1:4]:  # random, fixed label, fixed position
        assert [float(share) for share in row[2:]] == [100.0] * 3


@pytest.mark.long
def test_with_groups_a_minority_is_marked_like_the_majority() -> None:
    told = table("groups")
    assert SCRIPT["minority_row"](15, grouped=True) == told[0]
    gaps = {(row[0], row[1]): float(row[4]) for row in told}
    assert abs(gaps["given", "15"]) <= 1
    assert abs(gaps["given", "60"]) <= 1
    assert gaps["not given", "60"] > gaps["not given", "15"] > 1  # why groups matter
