"""Refused answers go back as a sheet per person, and corrected ones are accepted."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from curation.formats.table_words import languages, shipped_texts
from curation.records import Answer, Flag, Item, Label, Rejection, Review
from curation.rounds.answers.people import KEYS
from curation.rounds.progress import REPAIRABLE
from support.desk import MEANT, Desk, Row, item_row, label_row, read_csv

pytestmark = pytest.mark.long
PEOPLE = ["Ann", "ben@example.invalid", "chris"]


class Tray(Desk):
    """A desk from which refused answers go back."""

    def sheets(self, name: str, *more: Any) -> dict[str, list[Row]]:
        """The sheet of each person with refused answers, which status then counts as out."""
        self.told = self.say("rounds", "refused", name, "--format", "csv", "--to", self.out, *more)
        said = self.status(name)
        sheets = [each for each in said["tables"] if "-refused-" in each["table"]]
        assert {each["table"] for each in sheets} == {Path(p).name for p in self.told["files"]}
        assert sum(each["answers"] for each in sheets) == self.told["answers"]
        assert "refused answer" not in said["next"]  # those that can go back are out
        if not self.told["files"]:
            return {}
        index = read_csv(Path(self.told["who_gets_which"]))
        return {row["person"]: read_csv(self.out / row["file"]) for row in index}

    def only_row(self, name: str) -> Row:
        """The row of the only sheet."""
        ((row,),) = self.sheets(name).values()
        return row

    def rejected(self, name: str) -> dict[str, int]:
        """The counts of the reason codes of a round."""
        return Counter(each.code for each in self.records(f"{name}/rejected.jsonl", Rejection))

    def send(self, name: str, rows: list[Row]) -> Any:
        """Import a file of JSON lines: it can hold any text."""
        path = self.out / "any.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return self.say("rounds", "import", name, path)


def workbook(path: str | Path) -> list[Row]:
    """The rows of a workbook's first sheet."""
    heads, *lines = load_workbook(path).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, heads), line, strict=True)) for line in lines]


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Tray:
    """A round of writing, opened."""
    desk = Tray.make(forked, tmp_path_factory.mktemp("back") / "c", ["baker", "potter"], items=3)
    desk.open("intrasentence", "w")
    return desk


def written(desk: Desk, **changes: Any) -> list[Row]:
    """Rows of writers, three people in turn; ``changes`` hold for all of them."""
    rows = desk.export("w")
    return [{**item_row(row, PEOPLE[n % 3], n), **changes} for n, row in enumerate(rows)]


BAD = {
    "blank_missing": {"template": "There is no gap for a baker or a potter."},
    "blank_twice": {"template": "BLANK and BLANK are a baker and a potter."},
    "blank_glued": {"template": "The baker and the potter are unBLANK."},
    "target_missing": {"template": "They are BLANK today."},
    "same_text_twice": {"unrelated": "same", "stereotype": "same"},
    "missing_field": {"unrelated": None},
}
TIMES = [{}, {"submitted_at": ""}, {"answer_id": "7"}, {"answer_id": "7", "submitted_at": ""}]


@pytest.mark.parametrize("identity", TIMES, ids=["time", "no-time", "id", "id-no-time"])
def test_a_corrected_answer_is_accepted_with_or_without_an_id_or_a_time(
    desk: Tray, identity: Row
) -> None:
    rows = written(desk, **identity)
    right = {row["task_id"]: {name: row[name] for name in ("template", *MEANT)} for row in rows}
    desk.bring("w", [row | change for row, change in zip(rows, BAD.values(), strict=True)])
    assert desk.status("w")["refused"] == 6
    sheets = desk.sheets("w")
    assert sheets.keys() == set(PEOPLE)
    assert desk.told["answers"] == 6
    back = [row for sheet in sheets.values() for row in sheet]
    assert all(row["what_to_change"] for row in back)
    said = desk.bring("w", back, "same.csv")
    assert (said["new"], said["known"], said["refused"]) == (0, 6, {})
    back = [row | right[row["task_id"]] for row in back]
    said = desk.bring("w", back, "back.csv")
    assert (said["new"], said["refused"]) == (6, {"superseded": 6})
    status = desk.status("w")
    assert (status["answers"], status["refused"], status["remaining"]) == (6, 0, 0)
    items = desk.records("w/items.jsonl", Item)
    assert {item.context for item in items} == {row["template"] for row in right.values()}
    assert desk.sheets("w") == {}
    archived = set((desk.rounds / "w" / "raw").iterdir())
    assert desk.bring("w", back, "again.csv")["new"] == 0
    assert set((desk.rounds / "w" / "raw").iterdir()) == archived


def test_status_says_who_corrects_what_and_others_are_asked_only_after_a_recall(desk: Tray) -> None:
    rows = written(desk)
    for n in (0, 1, 4):  # Ann's first, and both of Ben's
        rows[n]["template"] = f"No gap, {n}: a baker, a potter."
    desk.bring("w", rows)
    way = "curation rounds refused w (or curation rounds top-up w, to ask others)"
    assert desk.status("w")["next"] == f"3 answers missing, 3 refused answers can go back; {way}"
    desk.sheets("w")
    said = desk.status("w")
    out = {each["table"]: each["answers"] for each in said["tables"]}
    assert (said["out"], said["missing"], sum(out.values())) == (3, 0, 3)
    assert said["next"].startswith(
        "3 answers are out (2 tables, the oldest w-refused-001.csv, since"
    )
    assert said["next"].endswith("); curation rounds import w FILE")
    ledger = (desk.rounds / "w" / "dealt.jsonl").read_bytes()
    desk.sheets("w")
    assert (desk.rounds / "w" / "dealt.jsonl").read_bytes() == ledger
    assert desk.say("rounds", "top-up", "w")["answers"] == 0
    refused = desk.refused("rounds", "export", "w")
    assert "waits for no answer that is not out already: w-refused-001.csv (p-" in refused
    assert "curation rounds top-up w --recall NAME" in refused
    wrong = desk.refused("rounds", "top-up", "w", "--recall", "nobody")
    assert "nothing is out under this name" in wrong
    asked = desk.say("rounds", "top-up", "w", "--recall", "Ann")
    assert asked == {"round": "w", "tasks": 1, "answers": 1, "to_export": 1}
    assert desk.status("w")["next"].endswith(", 1 missing; curation rounds export w")
    (task,) = desk.tables("w", ["dora"])["dora"]
    desk.bring("w", [item_row(task, "dora", 50)], "dora.csv")
    said = desk.status("w")
    assert (said["remaining"], [each["answers"] for each in said["tables"]]) == (2, [2])
    person = said["tables"][0]["person"]
    desk.say("rounds", "exclude", person, "--reason", "a test")
    assert desk.status("w")["tables"] == []  # who is out holds no sheet


def test_a_wrong_correction_goes_back_again(desk: Tray) -> None:
    rows = written(desk, submitted_at="")
    rows[0]["template"] = "No gap for the baker."
    desk.bring("w", rows)
    for n in range(2):
        ((person, (row,)),) = desk.sheets("w").items()
        assert person == "Ann"
        desk.bring("w", [{**row, "template": f"BLANK, no, BLANK: the baker, {n}."}], f"{n}.csv")
    row = desk.only_row("w")
    assert row["what_to_change"] == "Write BLANK only once."
    desk.bring("w", [{**row, "template": "At last the baker is BLANK."}], "last.csv")
    assert desk.rejected("w") == {"superseded": 3}
    assert desk.status("w")["refused"] == 0


def test_the_same_state_gives_the_same_sheets_and_others_stay(desk: Tray) -> None:
    rows = written(desk)
    rows[0]["template"], rows[1]["template"] = "A baker.", "A potter."
    desk.bring("w", rows)
    first = desk.sheets("w")
    told = desk.told
    names = [Path(path).name for path in told["files"]]
    assert names == ["w-refused-001.csv", "w-refused-002.csv"]
    files = [*map(Path, told["files"]), Path(told["who_gets_which"])]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    before = [path.read_bytes() for path in files]
    assert (desk.sheets("w"), desk.told) == (first, told)
    person, (row,) = next(iter(first.items()))
    desk.bring("w", [{**row, "template": "The baker is BLANK, and a potter."}], "one.csv")
    assert person not in desk.sheets("w")
    assert [Path(path).name for path in desk.told["files"]] == ["w-refused-002.csv"]
    assert Path(desk.told["who_gets_which"]).name == "w-refused-who-gets-which-002.csv"
    assert [path.read_bytes() for path in files] == before
    shown = desk.run("rounds", "refused", "w")
    assert not [id for id in PEOPLE if id in shown.out + shown.err + json.dumps(told)]
    assert (desk.root / "tasks" / "w-refused-001.xlsx").exists()  # git leaves tasks/ out
    assert "tasks/" in (desk.root / ".gitignore").read_text("utf-8").splitlines()


def test_people_are_asked_for_consent_if_it_is_missing(desk: Tray) -> None:
    rows = written(desk, submitted_at="")
    version = rows[0]["consent"]
    for row in rows:
        if row["annotator"] == "Ann":
            row["consent"] = ""
    desk.bring("w", rows)
    ((person, sheet),) = desk.sheets("w").items()
    assert (person, len(sheet), {row["consent"] for row in sheet}) == ("Ann", 2, {""})
    assert sheet[0]["what_to_change"].endswith(f"(Consent: {version})")
    sheet[1]["consent"] = version  # one row is enough
    said = desk.bring("w", sheet, "agreed.csv")
    assert (said["new"], said["known"]) == (1, 1)
    assert (desk.status("w")["refused"], desk.status("w")["remaining"]) == (0, 0)


def test_the_sheet_names_the_cells(desk: Tray) -> None:
    rows = written(desk)
    rows[0] |= {"stereotype": "", "unrelated": " "}
    rows[1]["seconds"] = "soon"
    rows[2] |= {"submitted_at": "9999-12-31T23:59:59Z", "updated_at": "then"}
    desk.bring("w", rows)
    what = {person: row["what_to_change"] for person, (row,) in desk.sheets("w").items()}
    assert what["Ann"] == "A text is empty. Write it. (Stereotype)"
    assert "(seconds)" in what["ben@example.invalid"]
    assert "(updated_at)" in what["chris"]
    rows = [row for sheet in desk.sheets("w").values() for row in sheet]
    changes = ({"stereotype": "a", "unrelated": "b"}, {"seconds": "60"}, {"updated_at": ""})
    back = dict(zip(PEOPLE, changes, strict=True))
    said = desk.bring("w", [row | back[row["annotator"]] for row in rows], "back.csv")
    assert (said["new"], desk.status("w")["remaining"]) == (3, 0)


def test_one_label_of_three_can_be_corrected(desk: Tray) -> None:
    desk.bring("w", written(desk))
    desk.open("validation", "v")
    golds = desk.golds()
    for identity in ({}, {"submitted_at": ""}):
        copy = desk.copy(desk.root.parent / str(len(identity)))
        tasks = copy.export("v")
        rows = [{**label_row(row, "val", golds, n), **identity} for n, row in enumerate(tasks)]
        rows[0]["label_2"] = "foo"
        rows[1] |= {"label_3": "", "label_1": "?"}
        rows[2]["flags"] = "odd"
        copy.bring("v", rows)
        assert copy.status("v")["refused"] == 0  # the other labels count
        (sheet,) = copy.sheets("v").values()
        assert [row["what_to_change"] for row in sheet] == [
            "Choose one of the allowed labels. (Label 2)",
            "Choose one of the allowed labels. (Label 1) Fill in the empty cell. (Label 3)",
        ]
        assert (sheet[0]["label_2"], sheet[0]["text_1"]) == ("foo", tasks[0]["text_1"])
        for row in sheet:
            row |= {f"label_{n}": golds[row[f"text_{n}"]] for n in (1, 2, 3)}
        copy.bring("v", sheet, "back.csv")
        assert len(copy.records("v/labels.jsonl", Label)) == 3 * len(tasks)
        codes = [answer.code for answer in copy.records("v/answers.jsonl", Answer)]
        assert codes == [None] * len(tasks)
        assert copy.rejected("v") == {"bad_value": 1, "superseded": 2}
        assert copy.sheets("v") == {}


def test_reviews_and_pairs_of_sentences_go_back_too(desk: Tray) -> None:
    desk.open("review", "r")
    task, *_ = desk.export("r")
    row = {"task_id": task["task_id"], "annotator": "eve", "consent": task["consent"]}
    desk.bring("r", [{**row, "decision": "perhaps"}])
    back = desk.only_row("r")
    assert "(Decision)" in back["what_to_change"]
    assert desk.bring("r", [back], "same.csv")["new"] == 0
    desk.bring("r", [{**back, "decision": "merge"}], "no-into.csv")
    back = desk.only_row("r")
    assert "(Merge into)" in back["what_to_change"]
    said = desk.bring("r", [{**back, "decision": "keep"}], "back.csv")
    assert said["refused"] == {"superseded": 1}
    desk.open("intersentence", "s")
    task, *_ = desk.export("s")
    row |= {"task_id": task["task_id"], "context": "They are there.", "submitted_at": "2026-05-01"}
    row |= {"stereotype": "Fine.", "anti_stereotype": "Good.", "unrelated": "Blue."}
    desk.bring("s", [row])
    back = desk.only_row("s")
    assert back["what_to_change"] == "Name the group in the sentence."
    assert back["context"] == row["context"]
    back["context"] = f"The {task['target']} is there."
    assert desk.bring("s", [back], "back.csv")["refused"] == {"superseded": 1}
    assert desk.sheets("s") == {}


def test_a_workbook_comes_back_like_a_table(desk: Tray) -> None:
    desk.bring("w", written(desk))
    desk.open("validation", "v")
    rows = desk.labels("v", ["val"])
    rows[0] |= {"label_1": "", "label_2": "Anti_Stereotype", "flags": "objective|ungrammatical"}
    desk.bring("v", rows)
    for _ in range(2):  # the same bytes
        said = desk.say("rounds", "refused", "v", "--to", desk.out)
        assert [Path(path).name for path in said["files"]] == ["v-refused-001.xlsx"]
    path = Path(said["files"][0])
    assert path.stat().st_mode & 0o777 == 0o600
    (back,) = workbook(path)
    _, cells = load_workbook(path).worksheets[0].iter_rows()
    free = {head for head, cell in zip(back, cells, strict=True) if not cell.protection.locked}
    assert free == {"Label 1", "Label 2", "Label 3", "States a fact?", "Bad grammar?",
                    "Group unknown to you?", "Consent"}  # fmt: skip
    assert (back["What to change"], back["Label 1"]) == ("Fill in the empty cell. (Label 1)", None)
    assert (back["Label 2"], back["Bad grammar?"]) == ("Anti-stereotype", "yes")
    assert desk.bring("v", [back], "same.csv")["new"] == 0
    desk.bring("v", [back | {"Label 1": "meaningless"}], "back.csv")
    assert len(desk.records("v/labels.jsonl", Label)) == 3 * len(rows)
    assert len(desk.records("v/flags.jsonl", Flag)) == 2
    assert desk.sheets("v") == {}


def test_answers_of_any_content_go_back(desk: Tray) -> None:
    rows = written(desk)
    rows[0] |= {"template": "x" * 40_000}  # more than a cell can hold
    rows[1] |= {
        "template": "The \x07 baker\uffff.\nAnd a potter?",
        "annotator": "ann@example.invalid",
    }
    rows[2] |= {"unrelated": "", "stereotype": "=1+1", "annotator": "ANN@example.invalid"}
    rows[3:] = []
    assert desk.send("w", rows)["refused"].keys() <= set(REPAIRABLE)
    said = desk.say("rounds", "refused", "w", "--to", desk.out)
    assert (said["answers"], len(said["files"])) == (3, 2)
    back = [row for file in said["files"] for row in workbook(file)]
    assert desk.send("w", back)["known"] == 3
    for row in back:
        row |= {"Sentence with BLANK": f"The {row['Group']} is BLANK.", "Unrelated": "green"}
    assert desk.send("w", back)["refused"] == {"superseded": 3}


def test_a_review_keeps_its_reasons_and_its_choice(desk: Tray) -> None:
    desk.open("review", "r")
    first, second = desk.export("r")
    row = {"annotator": "eve", "consent": first["consent"], "decision": "perhaps"}
    into = second["merge_choices"].split(" | ")[0].split(": ")
    desk.bring("r", [
        {**row, "task_id": first["task_id"], "reasons": "insult|because I say so"},
        {**row, "task_id": second["task_id"], "reasons": "insult", "merge_into": into[0]},
    ])  # fmt: skip
    ((_, (plain, _)),) = desk.sheets("r").items()
    assert plain["reasons"] == "insult|because I say so"
    assert "reasons.insult" not in plain
    assert desk.bring("r", [plain], "same.csv")["new"] == 0
    desk.bring("r", [{**plain, "decision": "drop"}], "back.csv")
    (review,) = desk.records("r/reviews.jsonl", Review)
    assert review.note == "insult, because I say so"
    said = desk.say("rounds", "refused", "r", "--to", desk.out)
    (back,) = workbook(said["files"][0])
    assert (back["Merge into"], back["Dropped: an insult?"]) == (into[1], "yes")
    assert desk.bring("r", [back], "same2.csv")["new"] == 0
    desk.bring("r", [{**back, "Decision": "Merge it"}], "back2.csv")
    assert desk.records("r/reviews.jsonl", Review)[1].into == into[0]


def test_a_task_that_somebody_else_has_answered_or_holds_does_not_go_back(desk: Tray) -> None:
    rows = written(desk)
    rows[0]["template"], rows[1]["template"] = "A baker.", "A potter."
    desk.bring("w", rows)
    desk.say("rounds", "top-up", "w")
    more = desk.tables("w", ["dora"])["dora"]
    assert len(more) == 2
    assert desk.sheets("w") == {}  # dora holds them
    assert desk.told["left"] == {"no_longer_needed": 2}
    desk.bring("w", [item_row(more[0], "dora", 50)], "dora.csv")
    desk.say("rounds", "export", "w", "--recall", "dora", "--to", desk.out)
    shown = desk.run("rounds", "refused", "w").out
    assert "not in a sheet: 2 refused answers (2 no longer needed)" in shown


def test_rounds_that_cannot_take_sheets(desk: Tray, monkeypatch: Any, tmp_path: Path) -> None:
    assert desk.sheets("w") == {}
    assert "no refused answer can go back" in desk.run("rounds", "refused", "w").out
    path = desk.rounds / "w" / "round.json"
    kept = path.read_text("utf-8")
    path.write_text(kept.replace('"files"', '"label_studio"'), "utf-8")
    assert "only an open round of platform web or files" in desk.refused("rounds", "refused", "w")
    path.write_text(kept, "utf-8")
    (tmp_path / "keys").mkdir()
    monkeypatch.setenv(KEYS, str(tmp_path / "keys"))
    assert "the campaign's key is not here" in desk.refused("rounds", "refused", "w")


def test_the_guide_says_for_every_code_whether_it_goes_back() -> None:
    docs = Path(__file__).parents[3] / "docs"
    guide = (docs / "rounds.md").read_text("utf-8").split("### Refused answers go back")[1]
    back, stay = guide.split("| goes back |")[1].split("\n### ")[0].split("| does not go back |")
    first = [" ".join(re.findall(r"^\| (`.*?) \|", part, re.M)) for part in (back, stay)]
    goes, stays = (re.findall(r"`(\w+)`", cells) for cells in first)
    assert set(goes) == set(REPAIRABLE)
    reasons = (docs / "reasons.md").read_text("utf-8").split("\n## ")
    ours = next(part for part in reasons if part.startswith("Answers that do not become an item"))
    assert sorted(goes + stays) == sorted(re.findall(r"^\| `(\w+)`", ours, re.M))


@pytest.mark.parametrize("language", languages())
def test_every_language_has_a_sentence_for_every_code(language: str) -> None:
    sentences = shipped_texts(language)["refused"]
    assert tuple(name for name in sentences if name != "too_long") == REPAIRABLE
    assert "too_long" in sentences
    assert all(text.strip() and text[-1] in ".。" for text in sentences.values())
    assert len(set(sentences.values())) == len(sentences)
