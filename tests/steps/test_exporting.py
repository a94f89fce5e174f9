"""Exports of rounds: formats, names, private files, and words of a campaign's own."""

import csv
import io
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import orjson
import pytest
from openpyxl import load_workbook

from curation.campaign import Campaign, open_campaign
from curation.files import CurationError, read_records
from curation.records import Dealing, Round
from curation.rounds.answers.archive import Sent
from curation.rounds.tables.reading import read_rows
from curation.steps import read
from curation.steps.importing import import_answers
from curation.steps.people import _without_quotes
from curation.steps.rounds.round_files import read_round, read_words
from curation.steps.rounds.running import open_round
from curation.steps.rounds.sheets import export_round, import_round
from support.desk import STUDY

OWN = """
[validation]
stereotype = "Dhana potofu"
anti_stereotype = "Kinyume"
unrelated = "Haihusiani"
objective = "Ni ukweli"

[heading]
annotator = "Jina lako"
label_1 = "Lebo 1"
label_2 = "Lebo 2"
label_3 = "Lebo 3"
text_1 = "Maandishi 1"
consent = "Idhini"
"flags.objective" = "Ukweli?"

[answer_words]
yes = ["ndiyo"]
"""
MEANT = {"stereotype": "warm", "anti_stereotype": "cold", "unrelated": "round"}


def open_validation(
    campaign: Campaign, tmp_path: Path, texts: str, context: str, meant: dict[str, str]
) -> Round:
    """A round of validation on one item, with a campaign's own texts."""
    campaign.rounds.mkdir()
    (campaign.rounds / "text.toml").write_text(texts, "utf-8")
    row = {"domain": "profession", "target": "baker", "context": context, **meant}
    path = tmp_path / "written.jsonl"
    path.write_bytes(orjson.dumps(row | {"annotator": "w1"}))
    import_answers(campaign, path)
    with campaign.lock():
        return open_round(campaign, "validation", platform="files", name="v").round


@pytest.fixture
def validating(campaign: Campaign, tmp_path: Path) -> Round:
    """An open round of validation on one item."""
    return open_validation(campaign, tmp_path, STUDY + OWN, "The baker is BLANK.", MEANT)


def export(campaign: Campaign, to: Path, **how: Any) -> list[Path]:
    """The tables of an export of the round v."""
    with campaign.lock():
        exported = export_round(campaign, read_round(campaign, "v"), to, **how)
        return [path for path, _ in exported.tables]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The first sheet of a workbook, by heading."""
    heads, *lines = load_workbook(path).worksheets[0].values
    return [dict(zip(map(str, heads), line, strict=True)) for line in lines]


def people_file(folder: Path, *people: str) -> Path:
    path = folder / "people.txt"
    path.write_text("\n".join(people), "utf-8")
    return path


def test_answers_in_the_words_of_a_campaigns_own_texts(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (path,) = export(campaign, tmp_path / "out")
    assert path.name == "v.xlsx"
    ((task),) = rows_of(path)
    heads = list(task)
    assert "Jina lako" in heads
    assert "Lebo 2" in heads
    assert "Ukweli?" in heads
    words = {"warm": "Dhana potofu", "cold": "KINYUME", "round": "haihusiani"}
    texts = [task["Maandishi 1"], task["Text 2"], task["Text 3"]]
    labels = [next(word for text, word in words.items() if text in each) for each in texts]
    answers = [
        task
        | {f"Lebo {n}": label for n, label in enumerate(labels, 1)}
        | {"Jina lako": who, "Idhini": validating.consent, "Ukweli?": yes}
        for who, yes in (("v1", "Ndiyo"), ("v2", None))
    ]
    with campaign.lock():
        came = import_round(campaign, validating, answers)
    assert (came.counts, came.refused) == ({"new": 2, "known": 0}, {})
    opened = open_campaign(campaign.root)
    assert read.read_labels(opened)["value"].value_counts().to_dict() == {
        "stereotype": 2,
        "anti-stereotype": 2,
        "unrelated": 2,
    }
    flags = [orjson.loads(line) for line in (campaign.rounds / "v/flags.jsonl").open("rb")]
    assert [flag["flag"] for flag in flags] == ["objective"]
    raw = b"".join(path.read_bytes() for path in (campaign.rounds / "v" / "raw").iterdir())
    assert b"Dhana potofu" in raw  # archived as it came
    assert b"Jina lako" in raw


def test_rows_in_which_nobody_wrote_anything_are_not_answers(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (path,) = export(campaign, tmp_path / "out", format="csv")
    ((_, task),) = read_rows(path)
    with campaign.lock(), pytest.raises(CurationError, match="nobody has filled in a row"):
        import_round(campaign, validating, [task])
    assert not (campaign.rounds / "v" / "raw").exists()
    skipped, alone = {**task, "annotator": "v1"}, {"annotator": "v2", "consent": "x"}
    with campaign.lock():
        came = import_round(campaign, validating, [task, skipped, task, {**task, **alone}])
    assert (came.counts, came.refused) == ({"new": 2, "known": 0}, {"skipped": 2})


def test_the_table_of_a_person_is_private_and_names_them(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    people = people_file(tmp_path, *(f"val {n}" for n in range(5)))
    for format in ("xlsx", "csv"):
        to = tmp_path / format
        ledger = campaign.rounds / "v" / "dealt.jsonl"
        tables = export(campaign, to, people=people, format=format)
        assert [path.name for path in tables] == [f"v-{n:03d}.{format}" for n in range(1, 6)]
        assert {path.stat().st_mode & 0o777 for path in tables} == {0o600}
        assert (to / "v-who-gets-which.csv").stat().st_mode & 0o777 == 0o600
        read_table = rows_of if format == "xlsx" else lambda p: [row for _, row in read_rows(p)]
        head = "Jina lako" if format == "xlsx" else "annotator"
        assert sorted(row[head] for path in tables for row in read_table(path)) == [
            f"val {n}" for n in range(5)
        ]
        ledger.unlink()
    (table,) = export(campaign, tmp_path / "anybody")
    umask = os.umask(0o022)
    os.umask(umask)
    assert table.stat().st_mode & 0o777 == 0o666 & ~umask


def test_csv_tables_have_empty_columns_to_fill_and_a_byte_order_mark_on_request(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (plain,) = export(campaign, tmp_path / "plain", format="csv")
    (campaign.rounds / "v" / "dealt.jsonl").unlink()
    (marked,) = export(campaign, tmp_path / "bom", format="csv", bom=True)
    assert marked.read_bytes() == b"\xef\xbb\xbf" + plain.read_bytes()
    ((_, task),) = read_rows(marked)
    empty = {name for name, cell in task.items() if not cell}
    flags = ("objective", "ungrammatical", "unknown_target")
    assert empty == {"label_1", "label_2", "label_3", *(f"flags.{f}" for f in flags),
                     "annotator", "consent"}  # fmt: skip
    assert task["answers_needed"] == "5"
    page = (tmp_path / "bom" / "v-instructions.html").read_text("utf-8")
    assert "<td>flags.objective</td>" in page
    assert f"<td>{validating.consent}</td>" in page
    assert "Lebo 1" not in page
    with pytest.raises(CurationError, match="--bom is for CSV tables") as caught:
        export(campaign, tmp_path / "x", bom=True)
    assert "--format csv" in caught.value.fix


def test_without_consent_there_is_no_column_for_it(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    settings = campaign.root / "campaign.toml"
    settings.write_text(settings.read_text("utf-8").replace("consent = true", "consent = false"))
    (table,) = export(open_campaign(campaign.root), tmp_path / "out")
    (task,) = rows_of(table)
    assert "Idhini" not in task
    assert "Jina lako" in task


@pytest.mark.parametrize("named", ["v", "v.xlsx", "somewhere/v.xlsx"])
def test_a_workbook_is_recalled_by_its_name_and_the_next_table_may_be_csv(
    campaign: Campaign, validating: Round, tmp_path: Path, named: str
) -> None:
    (first,) = export(campaign, tmp_path)
    (second,) = export(campaign, tmp_path, recall=[named], format="csv")
    assert (first.name, second.name) == ("v.xlsx", "v-002.csv")
    (third,) = export(campaign, tmp_path, recall=["v-002"])
    assert third.name == "v-003.xlsx"
    lines = read_records(campaign.rounds / "v" / "dealt.jsonl", Dealing)
    assert [(line.action, line.table) for line in lines] == [
        ("deal", "v.xlsx"),
        ("recall", "v.xlsx"),
        ("deal", "v-002.csv"),
        ("recall", "v-002.csv"),
        ("deal", "v-003.xlsx"),
    ]


def test_a_stopped_export_in_the_other_format_keeps_its_names(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    export(campaign, tmp_path)
    (campaign.rounds / "v" / "dealt.jsonl").unlink()  # as if it had been stopped before its end
    with pytest.warns(UserWarning, match=r"v\.xlsx: this file is there already"):
        (table,) = export(campaign, tmp_path, format="csv")
    assert table.name == "v-001.csv"


def test_what_is_in_the_place_of_a_folder_or_a_table_stays(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("mine", "utf-8")
    for to in (tmp_path / "out", tmp_path / "out" / "below"):
        with pytest.raises(CurationError, match=r"/out: is not a folder"):
            export(campaign, to)
    assert not (campaign.rounds / "v" / "dealt.jsonl").exists()
    (tmp_path / "new" / "v-001.xlsx").mkdir(parents=True)
    (tmp_path / "new" / "v-who-gets-which.csv").mkdir()
    with pytest.warns(UserWarning, match=r"v-001\.xlsx: this file is there already"):
        tables = export(campaign, tmp_path / "new", people=people_file(tmp_path, *"abcde"))
    assert [table.name for table in tables] == [f"v-{n:03d}.xlsx" for n in range(2, 7)]
    assert (tmp_path / "new" / "v-who-gets-which-002.csv").is_file()


def test_a_spreadsheet_runs_nothing_and_a_byte_that_xml_forbids_breaks_nothing(
    campaign: Campaign, tmp_path: Path
) -> None:
    words = {"stereotype": "=1+1 x.", "anti_stereotype": "-1+cmd\x07 x.", "unrelated": "@SUM(A1)."}
    open_validation(campaign, tmp_path, STUDY, "+The baker sings.", words)
    (table,) = export(campaign, tmp_path / "out")
    sheet = load_workbook(table).worksheets[0]
    (task,) = rows_of(table)
    assert task["Context"] == "+The baker sings."
    assert {task[f"Text {n}"] for n in (1, 2, 3)} == {
        "=1+1 x.", "-1+cmd\ufffd x.", "@SUM(A1)."
    }  # fmt: skip
    assert "f" not in {cell.data_type for line in sheet.iter_rows() for cell in line}


def test_a_csv_table_is_read_by_any_csv_reader(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (table,) = export(campaign, tmp_path, format="csv")
    (task,) = csv.DictReader(io.StringIO(table.read_text("utf-8")))
    assert list(task)[:2] == ["task_id", "target"]


def test_a_round_whose_texts_lack_some_is_refused(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    path = campaign.rounds / "v" / "texts.json"
    texts = orjson.loads(path.read_bytes())
    assert texts["heading"]["annotator"] == "Jina lako"
    for section, field in (("heading", "heading.annotator"), ("hint", "hint.")):
        kept = {name: keys for name, keys in texts.items() if name != section}
        less = {name: text for name, text in texts[section].items() if name != "annotator"}
        path.write_bytes(orjson.dumps(kept | ({section: less} if section == "heading" else {})))
        with pytest.raises(CurationError, match=rf"texts.json, field '{field}"):
            export(campaign, tmp_path)


def test_quoted_words_are_erased_under_headings_of_the_rounds_own(
    campaign: Campaign, validating: Round
) -> None:
    words = read_words(campaign, "v")
    payload = {"task_id": "t", "Maandishi 1": "a", "النص 2": "b", "Lebo 1": "c"}
    sent = Sent(id="e", source="forms", position=0, payload=payload)
    assert _without_quotes(sent, theirs={"t"}, words=words) == payload | {
        "Maandishi 1": "(erased)",
        "النص 2": "(erased)",
    }


def test_git_sees_no_table_of_a_person_wherever_it_is_written(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    people = people_file(tmp_path, "v1", "v2", "v3", "v4", "v5")
    ledger = campaign.rounds / "v" / "dealt.jsonl"
    for folder, ignores in (
        (campaign.root / "tasks" / "may", False),  # all of it is ignored
        (tmp_path / "post", False),  # in no repository
        (campaign.root / "post", True),
        (tmp_path / "repository" / "post", True),
    ):
        (tmp_path / "repository" / ".git").mkdir(parents=True, exist_ok=True)
        ledger.unlink(missing_ok=True)
        written = export(campaign, folder, people=people)
        assert (folder / ".gitignore").exists() == ignores
        if ignores:
            lines = (folder / ".gitignore").read_text("utf-8").splitlines()
            index = folder / "v-who-gets-which.csv"
            assert all(any(fnmatch(p.name, line) for line in lines) for p in (*written, index))
            assert not any(fnmatch("v-instructions.html", line) for line in lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id\nAnn\nBen\n", "its first line, 'id', looks like a heading"),
        ("ID Anda\nAnn\n", "its first line, 'ID Anda', looks like a heading"),
        ("A1;Ann\nB2;Ben\n\n", "has several cells in each line"),
    ],
)
def test_a_list_of_people_that_is_a_table_is_an_error(
    campaign: Campaign, validating: Round, tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(CurationError, match=says) as caught:
        export(campaign, tmp_path / "out", people=path)
    assert "one person's id per line" in caught.value.fix


def test_a_workbook_is_not_a_list_of_people(
    campaign: Campaign, validating: Round, tmp_path: Path
) -> None:
    (book,) = export(campaign, tmp_path / "out")
    with pytest.raises(CurationError, match="is a workbook"):
        export(campaign, tmp_path / "out", people=book)
