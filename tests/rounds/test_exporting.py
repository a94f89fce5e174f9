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

from curation.across.people import _without_quotes, decide_on_person
from curation.campaign.store import Campaign, open_campaign
from curation.files import read_records
from curation.formats.rows import read_rows
from curation.records import Dealing, Flag
from curation.rounds.answers.archive import Sent
from curation.rounds.platforms.texts import read_words
from curation.rounds.running import close_round, top_up_round
from support.desk import STUDY
from support.expected import fails
from support.validating import Validating

OWN = Path(__file__).with_name("own_texts.toml").read_text("utf-8")
TITLES = ["Jina lako", "Lebo 2", "Ukweli?", "Idhini"]


@pytest.fixture
def here(campaign: Campaign, tmp_path: Path) -> Validating:
    """A round of validation with a campaign's own texts."""
    return Validating(campaign, tmp_path, STUDY + OWN)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The first sheet of a workbook, by heading, or a CSV."""
    if path.suffix == ".csv":
        return [row for _, row in read_rows(path)]
    heads, *lines = load_workbook(path).worksheets[0].values
    return [dict(zip(map(str, heads), line, strict=True)) for line in lines]


def forget(here: Validating) -> None:
    """Forget what was dealt, as if an export had been stopped before its end."""
    (here.files / "dealt.jsonl").unlink(missing_ok=True)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_answers_in_the_words_of_a_campaigns_own_texts(here: Validating) -> None:
    (path,) = here.export()
    assert path.name == "v.xlsx"
    (task,) = rows_of(path)
    assert [title for title in TITLES if title not in task] == []
    words = {"warm": "Dhana potofu", "cold": "KINYUME", "round": "haihusiani"}
    texts = [task["Maandishi 1"], task["Text 2"], task["Text 3"]]
    labels = [next(word for text, word in words.items() if text in each) for each in texts]
    task |= {f"Lebo {n}": label for n, label in enumerate(labels, 1)}
    task |= {"Idhini": here.round.consent}
    came = here.bring(
        task | {"Jina lako": who, "Ukweli?": yes} for who, yes in (("v1", "Ndiyo"), ("v2", None))
    )
    assert (came.counts, came.refused) == ({"new": 2, "known": 0}, {})
    values = open_campaign(here.campaign.root).labels["value"]
    golds = ("stereotype", "anti-stereotype", "unrelated")
    assert values.value_counts().to_dict() == dict.fromkeys(golds, 2)
    assert [flag.flag for flag in read_records(here.files / "flags.jsonl", Flag)] == ["objective"]
    raw = b"".join(path.read_bytes() for path in (here.files / "raw").iterdir())
    assert b"Dhana potofu" in raw  # archived as it came
    assert b"Jina lako" in raw


def test_a_round_is_run_from_python_without_a_terminal(
    here: Validating, capsys: pytest.CaptureFixture[str]
) -> None:
    here.export()
    with here.campaign.lock():
        assert top_up_round(here.campaign, here.round) == {}
        with pytest.warns(UserWarning, match="people excluded: 1 of 1; beyond about 5 %"):
            change = decide_on_person(here.campaign, "w1", "exclude", "a bot")
        assert (change.before["items"], change.after["items"]) == (1, 0)
        closed, added = close_round(here.campaign, here.round)
    assert (closed.state, added, *capsys.readouterr()) == ("closed", [], "", "")


def test_rows_in_which_nobody_wrote_anything_are_not_answers(here: Validating) -> None:
    (task,) = rows_of(here.export(format="csv")[0])
    with fails("nobody has filled in a row"):
        here.bring([task])
    assert not (here.files / "raw").exists()
    skipped, alone = {**task, "annotator": "v1"}, {"annotator": "v2", "consent": "x"}
    came = here.bring([task, skipped, task, {**task, **alone}])
    assert (came.counts, came.refused) == ({"new": 2, "known": 0}, {"skipped": 2})


def test_the_table_of_a_person_is_private_and_names_them(here: Validating) -> None:
    names = [f"val {n}" for n in range(5)]
    for format, head in (("xlsx", "Jina lako"), ("csv", "annotator")):
        tables = here.export(format, people=here.people(*names), format=format)
        assert [path.name for path in tables] == [f"v-{n:03d}.{format}" for n in range(1, 6)]
        index = here.folder / format / "v-who-gets-which.csv"
        assert {mode(path) for path in (*tables, index)} == {0o600}
        assert sorted(row[head] for path in tables for row in rows_of(path)) == names
        forget(here)
    (table,) = here.export("anybody")
    umask = os.umask(0o022)
    os.umask(umask)
    assert mode(table) == 0o666 & ~umask


def test_csv_tables_have_empty_columns_and_a_byte_order_mark_on_request(here: Validating) -> None:
    (plain,) = here.export("plain", format="csv")
    forget(here)
    (marked,) = here.export("bom", format="csv", bom=True)
    assert marked.read_bytes() == b"\xef\xbb\xbf" + plain.read_bytes()
    (task,) = rows_of(marked)
    flags = {f"flags.{flag}" for flag in ("objective", "ungrammatical", "unknown_target")}
    fill = {"label_1", "label_2", "label_3", *flags, "annotator", "consent"}
    assert {name for name, cell in task.items() if not cell} == fill
    assert task["answers_needed"] == "5"
    page = (here.folder / "bom" / "v-instructions.html").read_text("utf-8")
    assert "<td>flags.objective</td>" in page
    assert f"<td>{here.round.consent}</td>" in page
    assert "Lebo 1" not in page
    with fails("--bom is for CSV tables", fix="--format csv"):
        here.export("x", bom=True)
    (row,) = csv.DictReader(io.StringIO(plain.read_text("utf-8")))  # any reader reads it
    assert list(row)[:2] == ["task_id", "target"]


def test_without_consent_there_is_no_column_for_it(here: Validating) -> None:
    settings = here.campaign.root / "campaign.toml"
    settings.write_text(settings.read_text("utf-8").replace("consent = true", "consent = false"))
    (task,) = rows_of(here.export()[0])
    assert [title for title in TITLES if title not in task] == ["Idhini"]


@pytest.mark.parametrize("named", ["v", "v.xlsx", "somewhere/v.xlsx"])
def test_a_workbook_is_recalled_and_the_next_table_may_be_csv(here: Validating, named: str) -> None:
    tables = here.export() + here.export(recall=[named], format="csv")
    tables += here.export(recall=["v-002"])
    assert [table.name for table in tables] == ["v.xlsx", "v-002.csv", "v-003.xlsx"]
    lines = read_records(here.files / "dealt.jsonl", Dealing)
    assert [f"{line.action} {line.table}" for line in lines] == [
        "deal v.xlsx", "recall v.xlsx", "deal v-002.csv", "recall v-002.csv", "deal v-003.xlsx",
    ]  # fmt: skip


def test_a_stopped_export_in_the_other_format_keeps_its_names(here: Validating) -> None:
    here.export()
    forget(here)
    with pytest.warns(UserWarning, match=r"v\.xlsx: this file is there already"):
        (table,) = here.export(format="csv")
    assert table.name == "v-001.csv"


def test_what_is_in_the_place_of_a_folder_or_a_table_stays(here: Validating) -> None:
    (here.folder / "out").write_text("mine", "utf-8")
    for to in ("out", "out/below"):
        with fails("/out: is not a folder"):
            here.export(to)
    assert not (here.files / "dealt.jsonl").exists()
    (here.folder / "new" / "v-001.xlsx").mkdir(parents=True)
    (here.folder / "new" / "v-who-gets-which.csv").mkdir()
    with pytest.warns(UserWarning, match=r"v-001\.xlsx: this file is there already"):
        tables = here.export("new", people=here.people(*"abcde"))
    assert [table.name for table in tables] == [f"v-{n:03d}.xlsx" for n in range(2, 7)]
    assert (here.folder / "new" / "v-who-gets-which-002.csv").is_file()


def test_a_round_whose_texts_lack_some_is_refused(here: Validating) -> None:
    path = here.files / "texts.json"
    texts = orjson.loads(path.read_bytes())
    heading = dict(texts["heading"])
    assert heading.pop("annotator") == "Jina lako"
    hintless = {name: keys for name, keys in texts.items() if name != "hint"}
    for less, field in ((texts | {"heading": heading}, "heading.annotator"), (hintless, "hint.")):
        path.write_bytes(orjson.dumps(less))
        with fails(f"texts.json, field '{field}"):
            here.export()


def test_quoted_words_are_erased_under_headings_of_the_rounds_own(here: Validating) -> None:
    payload = {"task_id": "t", "Maandishi 1": "a", "النص 2": "b", "Lebo 1": "c"}
    sent = Sent(id="e", source="forms", position=0, payload=payload)
    kept = payload | {"Maandishi 1": "(erased)", "النص 2": "(erased)"}
    assert _without_quotes(sent, theirs={"t"}, words=read_words(here.campaign, "v")) == kept


def test_git_sees_no_table_of_a_person_wherever_it_is_written(here: Validating) -> None:
    (here.folder / "repository" / ".git").mkdir(parents=True)
    for folder, ignores in (
        (here.campaign.root / "tasks" / "may", False),  # all of it is ignored
        (here.folder / "post", False),  # in no repository
        (here.campaign.root / "post", True),
        (here.folder / "repository" / "post", True),
    ):
        forget(here)
        written = here.export(folder, people=here.people("v1", "v2", "v3", "v4", "v5"))
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
def test_a_table_is_not_a_list_of_people(here: Validating, text: str, says: str) -> None:
    with fails(says, fix="one person's id per line"):
        here.export(people=here.people(text))


def test_a_workbook_is_not_a_list_of_people(here: Validating) -> None:
    with fails("is a workbook"):
        here.export(people=here.export()[0])
