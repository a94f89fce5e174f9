"""Tables with odd content are imported or refused with a place; nothing is half kept."""

import warnings
from pathlib import Path
from typing import Any

import orjson
import pytest
from openpyxl import Workbook

from curation.campaign import Campaign
from curation.files import CurationError, read_records
from curation.formats.table_words import shipped_words
from curation.records import Rejection, Round
from curation.rounds.answers.archive import Sent
from curation.rounds.tables.reading import read_rows
from curation.steps.importing import import_answers, import_stereoset
from curation.steps.people import _without_quotes
from curation.steps.read import read_items, read_labels
from curation.steps.rounds.running import _append, open_round
from curation.steps.rounds.sheets import export_round, import_round, read_answers
from curation.steps.terms import read_edits

HEAD = "domain,target,context,stereotype,anti_stereotype,unrelated,annotator,submitted_at\n"
ITEM = "profession,baker,The baker is BLANK.,early,late,octal,w1,{}\n"
STUDY = '[study]\ninstitution = "A"\ncontact = "a@example.invalid"\nethics = "e"\npay = "p"\n'
LIVE = '=HYPERLINK("http://example.invalid","prize")'


def kept(campaign: Campaign) -> list[Path]:
    """The raw answers, and the terms that answers made permanent."""
    terms = campaign.terms / "imported.jsonl"
    return [*campaign.rounds.glob("*/raw/*"), *([terms] if terms.exists() else [])]


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
def test_a_table_that_is_refused_as_a_whole(
    campaign: Campaign, tmp_path: Path, rows: str, message: str
) -> None:
    with pytest.raises(CurationError) as caught:
        import_answers(campaign, table(tmp_path, rows))
    assert message in caught.value.what
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
    refused = read_records(campaign.rounds / "main" / "rejected.jsonl", Rejection)
    assert [r.detail.split(" ")[0] for r in refused] == [
        "'domain'", "'target'", "'annotator'", "submitted_at", "'stereotype'",
    ]  # fmt: skip
    assert read_items(campaign)[0].submitted_at == "2026-03-14T10:22:05.000Z"
    again = import_answers(campaign, tmp_path / "table.csv")
    assert (again.added, again.known, again.items) == (0, 6, 1)


def test_dates_are_read_as_the_option_or_another_row_says(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = table(tmp_path, HEAD + ITEM.format("3/4/2026 10:22"))
    import_answers(campaign, path, dates="day-first")
    assert read_items(campaign)[0].submitted_at == "2026-04-03T10:22:00.000Z"
    table(tmp_path, path.read_text("utf-8") + ITEM.format("14/4/2026").replace("early", "soon"))
    assert import_answers(campaign, path).known == 1  # settled by the second row: the same answer


def test_a_published_item_that_cannot_be_kept_names_its_place(
    campaign: Campaign, tmp_path: Path
) -> None:
    items = '[{"id": "a"}, {"id": "b", "sentences": ' + "[" * 300 + "]" * 300 + "}]"
    path = table(tmp_path, '{"version": "1", "data": {"intrasentence": ' + items + "}}")
    with pytest.raises(CurationError) as caught:
        import_stereoset(campaign, path)
    assert "table.csv data.intrasentence[1]: an answer cannot be kept as JSON" in caught.value.what
    assert kept(campaign) == []


@pytest.fixture
def validating(campaign: Campaign, tmp_path: Path) -> Round:
    """An open round on one item whose texts a spreadsheet would run."""
    campaign.rounds.mkdir()
    (campaign.rounds / "text.toml").write_text(STUDY, "utf-8")
    words = {"stereotype": LIVE, "anti_stereotype": "-1+cmd", "unrelated": "@SUM(A1)\tx"}
    row = {"domain": "profession", "target": "baker", "context": "+The baker sings.", **words}
    path = tmp_path / "written.jsonl"
    path.write_bytes(orjson.dumps(row | {"annotator": "w1"}))
    assert import_answers(campaign, path).items == 1
    with campaign.lock(), warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody writes now: domains without terms do not matter
        return open_round(campaign, "validation", platform="files").round


def test_a_text_that_a_spreadsheet_would_run_is_exported_safe_and_read_back(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    people = tmp_path / "people.txt"
    people.write_text("=v1\n+v2\nv3\nv4\nv5\n", "utf-8")
    with campaign.lock():
        exported = export_round(campaign, validating, tmp_path / "out", people=people, format="csv")
    cells = [path.read_text("utf-8") for path in (tmp_path / "out").glob("*.csv")]
    assert not any(f",{q}{sign}" in text for text in cells for q in ("", '"') for sign in "=+-@\t")
    ((_, row),) = read_rows(exported.tables[0][0])
    assert row["context"] == "+The baker sings."
    assert {row[f"text_{n}"] for n in (1, 2, 3)} == {LIVE, "-1+cmd", "@SUM(A1)\tx"}
    who = read_rows(tmp_path / "out" / f"{validating.name}-who-gets-which.csv")
    assert {row["person"] for _, row in who} == {"=v1", "+v2", "v3", "v4", "v5"}


def test_answers_in_columns_that_nobody_knows_are_not_kept(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    before = kept(campaign)
    (task,) = (campaign.rounds / validating.name / "tasks.jsonl").read_bytes().splitlines()
    id = orjson.loads(task)["id"]
    path = table(tmp_path, f"task_id,annotator,Lbl_1\n{id},v1,stereotype\n")
    rows, place = read_answers(path)
    with campaign.lock(), pytest.raises(CurationError) as caught:
        import_round(campaign, validating, rows, place=place)
    assert "table.csv: no column with answers to a round of validation" in caught.value.what
    assert "it has task_id, annotator, Lbl_1" in caught.value.what
    assert "label_1, label_2, label_3" in caught.value.fix
    assert kept(campaign) == before


def test_renamed_headings_have_one_error_in_a_workbook_and_in_its_csv(tmp_path: Path) -> None:
    cells = (("task_id", "who", "Lbl_1"), ("t-1", "v1", "stereotype"))
    book = Workbook()
    for row in cells:
        book.worksheets[0].append(row)
    book.save(tmp_path / "table.xlsx")
    errors = []
    for path in (table(tmp_path, "\n".join(map(",".join, cells))), tmp_path / "table.xlsx"):
        with pytest.raises(CurationError) as caught:
            read_answers(path)
        errors.append((caught.value.what.partition(": ")[2], caught.value.fix))
    assert errors[0] == errors[1]
    assert errors[0][0] == "no column annotator; it has task_id, who, Lbl_1"


def test_the_columns_of_mechanical_turk_and_the_timestamp_of_google_forms(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (task,) = (campaign.rounds / validating.name / "tasks.jsonl").read_bytes().splitlines()
    values = ("stereotype", "anti-stereotype", "unrelated")
    radio = [f"Answer.label_{n}.{value}" for n in (1, 2, 3) for value in values]
    cells = [str(n == m).lower() for n in range(3) for m in range(3)]
    head = ",".join(["Timestamp", "Input.task_id", "WorkerId", "consent", *radio])
    time = "2026/03/14 10:22:05 AM GMT+7"
    line = ",".join([time, orjson.loads(task)["id"], "v1", validating.consent, *cells])
    path = table(tmp_path, f"{head}\n{line}\n")
    rows, place = read_answers(path)
    with campaign.lock():
        came = import_round(campaign, validating, rows, place=place)
    assert (came.counts["new"], came.refused) == (1, {})
    labels = read_labels(campaign)
    assert sorted(labels["value"]) == sorted(values)
    assert set(labels["submitted_at"]) == {"2026-03-14T03:22:05.000Z"}


def book(path: Path, *rows: list[Any]) -> Path:
    """A workbook with one sheet."""
    workbook = Workbook()
    for row in rows:
        workbook.active.append(row)  # type: ignore[union-attr]
    workbook.save(path)
    return path


def test_a_workbook_is_archived_as_its_csv_would_be(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (task,) = (campaign.rounds / validating.name / "tasks.jsonl").read_bytes().splitlines()
    id, said = orjson.loads(task)["id"], ["stereotype", "anti-stereotype", "unrelated"]
    head = ["task_id", "annotator", "consent", "label_1", "label_2", "label_3", "seconds", "note"]
    answer = [id, "v1", validating.consent, *said, 40, "mine"]
    book(tmp_path / "a.xlsx", head, answer, answer)
    table(tmp_path, "".join(",".join(map(str, row)) + "\n" for row in (head, answer)))
    for name, expected in (("a.xlsx", (2, 0)), ("a.xlsx", (0, 2)), ("table.csv", (0, 1))):
        rows, place = read_answers(tmp_path / name)
        with campaign.lock():
            came = import_round(campaign, validating, rows, place=place)
        assert (came.counts["new"], came.counts["known"]) == expected
    assert sorted(read_labels(campaign)["value"]) == sorted(said)
    refused = read_records(campaign.rounds / validating.name / "rejected.jsonl", Rejection)
    assert {(rejection.code, rejection.record["label_1"]) for rejection in refused} == {
        ("second_answer", "stereotype")  # the copied row
    }


def test_a_workbook_is_refused_as_a_whole(campaign: Campaign, tmp_path: Path) -> None:
    head, row = HEAD.strip().split(","), ITEM.format("2026-03-14").strip().split(",")
    changed = [*row[:3], "=1+1", *row[4:]]
    cases = {
        "sheet 'Sheet' row 3, submitted_at '3/4/2026'": [head, row, [*row[:-1], "3/4/2026"]],
        "sheet 'Sheet': cell D3 with a formula": [head, row, changed],
        "sheet 'Sheet': no column context": [[n.replace("context", "x") for n in head], row],
        "Probably 'contxt' (cell C1) for context": [
            [n.replace("context", "contxt") for n in head],
            row,
        ],
        "has a header and no rows": [head],
    }
    for message, rows in cases.items():
        with pytest.raises(CurationError) as caught:
            import_answers(campaign, book(tmp_path / "a.xlsx", *rows))
        assert message in caught.value.what
    assert kept(campaign) == []


def test_quoted_words_are_erased_whatever_their_columns_are_called() -> None:
    row: dict[str, Any] = {"Task ID": " t ", "Text 1": "a", "Input.text_2": "b", "label_1": "c"}
    sent = Sent(id="e", source="forms", position=0, payload=row)
    kept = {"Task ID": " t ", "Text 1": "(erased)", "Input.text_2": "(erased)", "label_1": "c"}
    assert _without_quotes(sent, theirs={"t"}, words=shipped_words()) == kept
    odd = Sent(id="e", source="forms", position=0, payload={"task_id": [{}]})
    assert _without_quotes(odd, theirs={"t"}, words=shipped_words()) is None


def test_a_line_that_is_added_to_the_edits_is_safe_and_read_back(campaign: Campaign) -> None:
    campaign.terms.mkdir(exist_ok=True)
    path = campaign.terms / "edits.csv"
    path.write_text("term;action;domain;into\nbaker;keep;profession;\n", "utf-8")
    edit = {"domain": "profession", "term": "nurse", "action": "rename", "into": "=1+1"}
    _append(campaign, ("domain", "term", "action", "into"), [edit])
    assert path.read_text("utf-8").splitlines()[-1] == "nurse;rename;profession;'=1+1"
    assert read_edits(campaign)[-1].into == "=1+1"
