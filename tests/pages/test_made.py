"""«How it came about»: the numbers that no step keeps, and where they lie in pictures."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.pages import bars, made
from curation.pages.bars import Scale
from curation.pages.sourced import wrap
from support.written import lines


@pytest.fixture(scope="module")
def numbers(example: Path) -> dict[str, Any]:
    return made.numbers(open_campaign(example), hidden=False)


def stage(numbers: dict[str, Any], name: str) -> dict[str, int]:
    (found,) = (stage for stage in numbers["stages"] if stage["name"] == name)
    parts = {part["code"]: part["n"] for part in found["parts"]}
    assert sum(parts.values()) == found["of"]
    assert sum(list(parts.values())[4:]) == found["others"]
    assert list(parts.values())[1:] == sorted(list(parts.values())[1:], reverse=True)
    return parts


def test_nothing_is_lost_between_two_stages(example: Path, numbers: dict[str, Any]) -> None:
    terms, items, labels, cats, split = (s["name"] for s in numbers["stages"])
    assert stage(numbers, terms)["kept"] == len(lines(example / "1-terms" / "targets.jsonl"))
    written = sum(len(lines(path)) for path in example.glob("2-rounds/*/items.jsonl"))
    assert stage(numbers, items)["kept"] == sum(stage(numbers, cats).values()) == written
    given = sum(len(lines(path)) for path in example.glob("2-rounds/*/labels.jsonl"))
    assert sum(stage(numbers, labels).values()) == given
    kept = len(lines(example / "3-decisions" / "cats.jsonl"))
    assert stage(numbers, cats)["kept"] == sum(stage(numbers, split).values()) == kept
    refused = Counter(row["code"] for row in lines(example / "3-decisions" / "rejected.jsonl"))
    for name in (labels, cats):
        parts = stage(numbers, name)
        del parts["kept"]
        assert parts.items() <= refused.items()


def test_rounds_have_their_people_answers_and_days(example: Path, numbers: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in numbers["rounds"]}
    folders = {path.parent.name for path in example.glob("2-rounds/*/items.jsonl")}
    assert set(rows) == folders
    for name in ("write-2", "validate-2"):
        left_out = ("skipped", "superseded", "deleted", "withdrawn")
        sent = lines(example / "2-rounds" / name / "answers.jsonl")
        came = [answer for answer in sent if answer["code"] not in left_out]
        assert rows[name]["answers"] == len(came)
        assert rows[name]["refused"] == sum(answer["code"] is not None for answer in came)
        counted = [answer for answer in came if answer["code"] is None]
        assert rows[name]["people"] == len({answer["annotator"] for answer in counted})
        assert rows[name]["first"] == min(answer["submitted_at"] for answer in came)[:10]
    # Nobody knows when the published labels were given.
    assert rows["published"]["kind"] == "imported"
    assert rows["published"]["first"] is None
    dated = sum(row["answers"] for name, row in rows.items() if row["first"])
    undated = sum(
        row["refused"] for row in rows.values() if row["kind"] == "imported" and row["first"]
    )
    assert sum(day["answers"] for day in numbers["days"]) == dated - undated
    assert [day["day"] for day in numbers["days"]] == sorted(day["day"] for day in numbers["days"])


def test_pitfalls_and_people_are_those_of_the_reports(
    example: Path, numbers: dict[str, Any]
) -> None:
    table = json.loads((example / "4-measures" / "pitfalls.json").read_text("utf-8"))["table"]
    found = [row for row in table if row["count"]]
    pitfalls = numbers["pitfalls"]
    assert pitfalls["found"] == len(pitfalls["rows"]) == len(found)
    assert pitfalls["checked"] == sum(row["rate"] is not None for row in table)
    assert pitfalls["more"] == sum(row["rate"] > row["stereoset"] for row in found)
    people = json.loads((example / "3-decisions" / "agreement.json").read_text("utf-8"))
    doubtful = [person for person in people["annotators"] if person["suspect"]]
    assert numbers["doubtful"]["doubtful"] == len(doubtful) == 1


def test_hidden_gold_leaves_out_what_depends_on_labels(example: Path) -> None:
    campaign = open_campaign(example)
    hidden = made.numbers(campaign, hidden=True)
    assert (hidden["doubtful"], hidden["pitfalls"], hidden["named"]) == (None, None, False)
    assert [stage["name"] for stage in hidden["stages"]] == ["terms", "items"]
    read = {path.name for path in made.inputs(campaign, hidden=True)}
    assert read == {"candidates.csv", "round.json", "answers.jsonl"}
    assert read < {path.name for path in made.inputs(campaign, hidden=False)}


def test_the_step_line_stands_where_its_days_are() -> None:
    rows = [{"day": "2026-01-01", "answers": 2}, {"day": "2026-01-04", "answers": 4}]
    line = bars.step_line([wrap(row, "a.json") for row in rows])
    # Four days, 25 per cent each: the first half as high as the last.
    assert line.path == "M0 100H0V50H25V100H75V0H100V100H100"
    assert (line.on, line.first, line.last) == ("2026-01-04", "2026-01-01", "2026-01-04")
    (one,) = [{"day": "2026-01-01", "answers": 1}]
    assert bars.step_line([one]).path == "M0 100H0V0H100V100H100"


def test_days_that_lie_close_in_a_long_time_do_not_cover_each_other() -> None:
    days = ("2019-01-01", "2019-01-02", "2026-01-01")
    path = bars.step_line([{"day": day, "answers": 1} for day in days]).path
    begins = [float(part.split("V")[0]) for part in path.split("H")[1:]]
    assert begins == sorted(begins)


def test_dots_on_one_place_are_stacked() -> None:
    dots = bars.strip([50, 50.1, 90], Scale(0, 100, 0, 100))
    assert dots == [(50.0, 0), (50.0, 1), (90.0, 0)]


def test_an_axis_holds_all_values_and_one_alone() -> None:
    assert bars.axis([-0.2, None, 0.5], 0, 1) == (-0.2, 1.0, 0, 100)
    assert bars.axis([0]) == (0.0, 1.0, 0, 100)
    assert bars.stack([0, 0]) == [(0.0, 0.0), (0.0, 0.0)]
