"""Tables with odd content are imported or refused with a place; nothing is half kept."""

from pathlib import Path
from typing import Any

import pytest

from curation.across.people import _without_quotes
from curation.campaign.store import Campaign
from curation.files import read_records
from curation.formats.rows import read_rows
from curation.formats.table_words import shipped_words
from curation.records import Rejection
from curation.rounds.answers.archive import Sent
from curation.rounds.importing import import_answers, import_stereoset
from curation.rounds.reviews import _append
from curation.rounds.sheets import read_answers
from curation.terms.steps import EDITS
from support.books import book
from support.expected import fails
from support.validating import Validating

HEAD = "domain,target,context,stereotype,anti_stereotype,unrelated,annotator,submitted_at\n"
ITEM = "profession,baker,The baker is BLANK.,early,late,octal,w1,{}\n"
LIVE = '=HYPERLINK("http://example.invalid","prize")'


def kept(campaign: Campaign) -> list[Path]:
    """The raw answers, and the terms that answers made permanent."""
    terms = campaign.folder("terms") / "imported.jsonl"
    return [*campaign.folder("rounds").glob("*/raw/*"), *([terms] if terms.exists() else [])]


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (HEAD + ITEM.format("3/4/2026"), "table.csv row 1, submitted_at '3/4/2026'"),
        ('{"domain": ' + "[" * 300 + "]" * 300 + "}", "table.csv line 1: an answer cannot be"),
        ('[{"domain": 1}, {"domain": 123456789012345678901, "x": NaN}]', "table.csv row 2: an ans"),
        (",".join(f"c{n}" for n in range(100_000)) + "\nx\n", "table.csv line 1: it has 100,000"),
        ('{"a": 1}\n{' + ",".join(f'"c{n}":1' for n in range(2001)) + "}", "line 2: it has 2,001"),
        ("\n" * 200_000 + "sep=,\n", "table.csv: no header and no rows"),
    ],
)
def test_a_refused_table(campaign: Campaign, tmp_path: Path, rows: str, message: str) -> None:
    with fails(message) as caught:
        import_answers(campaign, table(tmp_path, rows))
    assert len(caught.value.what) < 2000
    assert kept(campaign) == []


def test_an_odd_row_is_refused_alone(campaign: Campaign, tmp_path: Path) -> None:
    long = "x" * 300
    rows = [
        ITEM.format("2026-03-14 10:22:05.000000Z"),
        ITEM.format("").replace("profession", long),
        ITEM.format("").replace("baker,", f"{long},"),
        ITEM.format("").replace("w1", long),
        ITEM.format("0001-01-01T00:00:00+23:59"),
        ITEM.format("").replace("early", "x" * 20_000),
    ]
    done = import_answers(campaign, table(tmp_path, HEAD + "".join(rows)))
    assert (done.added, done.items, done.rejected) == (6, 1, {"bad_value": 5})
    refused = read_records(campaign.folder("rounds") / "main" / "rejected.jsonl", Rejection)
    assert [r.detail.split(" ")[0] for r in refused] == [
        "'domain'", "'target'", "'annotator'", "submitted_at", "'stereotype'",
    ]  # fmt: skip
    assert campaign.items[0].submitted_at == "2026-03-14T10:22:05.000Z"
    again = import_answers(campaign, tmp_path / "table.csv")
    assert (again.added, again.known, again.items) == (0, 6, 1)


def test_dates_are_read_as_an_option_or_a_row_says(campaign: Campaign, tmp_path: Path) -> None:
    path = table(tmp_path, HEAD + ITEM.format("3/4/2026 10:22"))
    import_answers(campaign, path, dates="day-first")
    assert campaign.items[0].submitted_at == "2026-04-03T10:22:00.000Z"
    table(tmp_path, path.read_text("utf-8") + ITEM.format("14/4/2026").replace("early", "soon"))
    assert import_answers(campaign, path).known == 1  # settled by the second row: the same answer


def test_a_published_item_that_is_not_kept_is_named(campaign: Campaign, tmp_path: Path) -> None:
    items = '[{"id": "a"}, {"id": "b", "sentences": ' + "[" * 300 + "]" * 300 + "}]"
    path = table(tmp_path, '{"version": "1", "data": {"intrasentence": ' + items + "}}")
    with fails("table.csv data.intrasentence[1]: an answer cannot be kept as JSON"):
        import_stereoset(campaign, path)
    assert kept(campaign) == []


@pytest.fixture
def here(campaign: Campaign, tmp_path: Path) -> Validating:
    """An open round on one item whose texts a spreadsheet would run."""
    words = {"stereotype": LIVE, "anti_stereotype": "-1+cmd", "unrelated": "@SUM(A1)\tx"}
    return Validating(campaign, tmp_path, context="+The baker sings.", words=words)


def test_a_text_that_a_spreadsheet_would_run_is_safe_and_read_back(here: Validating) -> None:
    names = ("=v1", "+v2", "v3", "v4", "v5")
    tables = here.export(people=here.people(*names), format="csv")
    out = here.folder / "out"
    cells = [path.read_text("utf-8") for path in out.glob("*.csv")]
    assert not any(f",{q}{sign}" in text for text in cells for q in ("", '"') for sign in "=+-@\t")
    ((_, row),) = read_rows(tables[0])
    assert row["context"] == "+The baker sings."
    assert {row[f"text_{n}"] for n in (1, 2, 3)} == {LIVE, "-1+cmd", "@SUM(A1)\tx"}
    assert {row["person"] for _, row in read_rows(out / "v-who-gets-which.csv")} == {*names}


def test_answers_in_columns_that_nobody_knows_are_not_kept(here: Validating) -> None:
    before = kept(here.campaign)
    path = table(here.folder, f"task_id,annotator,Lbl_1\n{here.task},v1,stereotype\n")
    what = "table.csv: no column with answers to a round of validation"
    with fails(what, "it has task_id, annotator, Lbl_1", fix="label_1, label_2, label_3"):
        here.bring(path)
    assert kept(here.campaign) == before


def test_renamed_headings_have_one_error_in_a_workbook_and_in_its_csv(tmp_path: Path) -> None:
    cells = (("task_id", "who", "Lbl_1"), ("t-1", "v1", "stereotype"))
    csv = table(tmp_path, "\n".join(map(",".join, cells)))
    errors = set()
    for path in (csv, book(tmp_path / "table.xlsx", *cells)):
        with fails() as caught:
            read_answers(path)
        errors.add((caught.value.what.partition(": ")[2], caught.value.fix))
    ((what, _),) = errors
    assert what == "no column annotator; it has task_id, who, Lbl_1"


def test_a_workbook_is_archived_as_its_csv_would_be(here: Validating) -> None:
    said = ["stereotype", "anti-stereotype", "unrelated"]
    head = ["task_id", "annotator", "consent", "label_1", "label_2", "label_3", "seconds", "note"]
    answer = [here.task, "v1", here.round.consent, *said, 40, "mine"]
    xlsx = book(here.folder / "a.xlsx", head, answer, answer)
    csv = table(here.folder, "".join(",".join(map(str, row)) + "\n" for row in (head, answer)))
    for path, new, known in ((xlsx, 2, 0), (xlsx, 0, 2), (csv, 0, 1)):
        assert here.bring(path).counts == {"new": new, "known": known}
    assert sorted(here.campaign.labels["value"]) == sorted(said)
    refused = read_records(here.files / "rejected.jsonl", Rejection)
    assert {(rejection.code, rejection.record["label_1"]) for rejection in refused} == {
        ("second_answer", "stereotype")  # the copied row
    }


def test_a_workbook_is_refused_as_a_whole(campaign: Campaign, tmp_path: Path) -> None:
    head, row = HEAD.strip().split(","), ITEM.format("2026-03-14").strip().split(",")
    changed = [*row[:3], "=1+1", *row[4:]]
    cases = {
        "sheet 'Tasks' row 3, submitted_at '3/4/2026'": [head, row, [*row[:-1], "3/4/2026"]],
        "sheet 'Tasks': cell D3 with a formula": [head, row, changed],
        "sheet 'Tasks': no column context": [[n.replace("context", "x") for n in head], row],
        "Probably 'contxt' (cell C1) for context": [[*head[:2], "contxt", *head[3:]], row],
        "has a header and no rows": [head],
    }
    for message, rows in cases.items():
        with fails(message):
            import_answers(campaign, book(tmp_path / "a.xlsx", *rows))
    assert kept(campaign) == []


def test_quoted_words_are_erased_whatever_their_columns_are_called() -> None:
    row: dict[str, Any] = {"Task ID": " t ", "Text 1": "a", "Input.text_2": "b", "label_1": "c"}
    sent = Sent(id="e", source="forms", position=0, payload=row)
    kept = {"Task ID": " t ", "Text 1": "(erased)", "Input.text_2": "(erased)", "label_1": "c"}
    assert _without_quotes(sent, theirs={"t"}, words=shipped_words()) == kept
    odd = Sent(id="e", source="forms", position=0, payload={"task_id": [{}]})
    assert _without_quotes(odd, theirs={"t"}, words=shipped_words()) is None


def test_a_line_that_is_added_to_the_edits_is_safe_and_read_back(campaign: Campaign) -> None:
    campaign.folder("terms").mkdir(exist_ok=True)
    path = campaign.folder("terms") / "edits.csv"
    path.write_text("term;action;domain;into\nbaker;keep;profession;\n", "utf-8")
    edit = {"domain": "profession", "term": "nurse", "action": "rename", "into": "=1+1"}
    _append(campaign, ("domain", "term", "action", "into"), [edit])
    assert path.read_text("utf-8").splitlines()[-1] == "nurse;rename;profession;'=1+1"
    assert campaign[EDITS][-1].into == "=1+1"
