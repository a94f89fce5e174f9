"""Tables as other tools write them are read as what they mean, or an error says what to do."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign, open_campaign
from curation.files import read_records
from curation.records import Decision
from curation.steps.importing import import_answers
from curation.steps.pipeline import bring_up_to_date
from curation.steps.read import read_labels
from curation.steps.rounds.sheets import import_tables
from support.commands import set_to
from support.heard import Heard
from support.validating import Validating

ITEM = {
    "item_id": "i1", "annotator": "writer", "domain": "profession", "target": "baker",
    "context": "The baker is BLANK.", "stereotype": "early", "anti_stereotype": "late",
    "unrelated": "octal", "submitted_at": "2026-03-01T09:00:00Z",
}  # fmt: skip
TEXTS = {f"association_{n}": text for n, text in enumerate(("early", "late", "octal"), 1)}


def bring(campaign: Campaign, path: Path, *rows: dict[str, Any], **how: Any) -> Any:
    """Import rows as JSON, or the file that is there."""
    if rows:
        path.write_text(json.dumps(rows), "utf-8")
    return import_answers(campaign, path, **how)


@pytest.fixture
def item(campaign: Campaign, tmp_path: Path) -> Campaign:
    """A campaign with the item ``i1``."""
    assert bring(campaign, tmp_path / "writers.json", ITEM).items == 1
    return campaign


def third(campaign: Campaign) -> tuple[bool, tuple[int, ...]]:
    """Whether the only item is kept, and its third association's votes: S, A, U and related."""
    bring_up_to_date(campaign, "filter")
    (decision,) = read_records(campaign.decisions / "decisions.jsonl", Decision)
    return decision.kept, tuple(decision.verdicts[2].votes)


# --- Label Studio


def annotation(number: int, day: int, last: str, *, changed: int = 0) -> dict[str, Any]:
    """A row of Label Studio's JSON_MIN, of a day in March, and of the day of its last change."""
    return {
        "id": 1, "item_id": "i1", **TEXTS, "label_1": "stereotype",
        "label_2": "anti-stereotype", "label_3": last, "annotator": number,
        "annotation_id": 10 + number, "created_at": f"2026-03-{day:02}T10:00:00.000000Z",
        "updated_at": f"2026-03-{changed or day:02}T10:00:00.000000Z", "lead_time": 30.0,
    }  # fmt: skip


def test_label_studios_answers_count_in_the_order_of_their_times(
    item: Campaign, tmp_path: Path
) -> None:
    rows = [annotation(n, n, "unrelated" if n <= 3 else "stereotype") for n in range(7, 0, -1)]
    bring(item, tmp_path / "min.json", *rows)
    # Of the first five, days 1 to 3 say unrelated, and 4 and 5 stereotype. The newest five would
    # give stereotype 4, unrelated 1.
    assert third(item) == (True, (2, 0, 3, 0))


def test_of_two_rows_with_one_annotation_id_the_last_change_counts(
    item: Campaign, tmp_path: Path
) -> None:
    set_to(item.root, "of = 5", "of = 3")
    set_to(item.root, "needed = 3", "needed = 2")
    item = open_campaign(item.root)
    first = [annotation(n, n, "unrelated" if n == 3 else "stereotype") for n in (3, 2, 1)]
    bring(item, tmp_path / "first.json", *first)
    assert third(item) == (False, (2, 0, 1, 0))
    # The person 1 corrects the label. Person 3's row is gone from the export, and still counts.
    changed = [first[1], annotation(1, 1, "unrelated", changed=9)]
    done = bring(item, tmp_path / "second.json", *changed)
    assert (done.added, done.known, done.rejected) == (1, 1, {"superseded": 3})
    assert third(item) == (True, (1, 0, 2, 0))
    # An older export that comes late changes nothing.
    assert bring(item, tmp_path / "first.json").added == 0
    assert third(item) == (True, (1, 0, 2, 0))


def test_a_column_of_the_exact_name_goes_before_other_names(item: Campaign, tmp_path: Path) -> None:
    row = annotation(1, 5, "unrelated") | {"submitted_at": "2026-03-04T10:00:00Z"}
    bring(item, tmp_path / "min.json", row)
    assert {*read_labels(item)["submitted_at"]} == {"2026-03-04T10:00:00.000Z"}


# --- columns that are not used


def test_an_import_names_the_columns_that_it_does_not_use(item: Campaign, tmp_path: Path) -> None:
    heard = Heard()
    row = annotation(1, 5, "unrelated") | {"updated_att": "x", "flags": "objective"}
    del row["updated_at"]
    bring(item, tmp_path / "min.json", row, reporter=heard)
    assert heard.notes == [
        f"{tmp_path / 'min.json'}: columns that are not used: id, updated_att, flags. "
        "Probably 'updated_att' for updated_at"
    ]
    heard = Heard()
    bring(item, tmp_path / "writers.json", ITEM | {"tone": "x"}, reporter=heard)
    assert heard.notes == [f"{tmp_path / 'writers.json'}: columns that are not used: tone"]
    heard = Heard()
    bring(item, tmp_path / "writers.json", ITEM, reporter=heard)
    assert heard.notes == []


def test_a_rounds_import_names_them_too_but_not_those_of_its_own_table(
    campaign: Campaign, tmp_path: Path
) -> None:
    here, heard = Validating(campaign, tmp_path), Heard()
    (path,) = here.export(format="csv")
    head, row = path.read_text("utf-8").splitlines()
    row = row.removesuffix(",,") + f",v1,{here.round.consent}"
    path.write_text(f"{head},label1x,decision\n{row},unrelated,keep\n", "utf-8")
    with campaign.lock():
        import_tables(campaign, here.round, path, reporter=heard)
    assert heard.notes == [f"{path}: columns that are not used: label1x, decision"]
