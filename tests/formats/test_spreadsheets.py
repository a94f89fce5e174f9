"""People fill in exported workbooks in a real LibreOffice, and their answers arrive unchanged.

Everything is written in Indonesian, Arabic or Japanese: the headings, the lists and the texts.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from curation.campaign.settings import read_settings
from curation.files import read_records
from curation.formats.rows import read_rows
from curation.formats.table_words import shipped_texts
from curation.records import Event, Flag, Item, Label, Person, Rejection, Review, Term
from curation.rounds.answers import people
from curation.rounds.answers.rows import columns_of, seconds_of
from curation.text.item_form import read_blank
from curation.text.times import read_time
from support.books import book
from support.desk import GOLD, Row, read_csv
from support.expected import fails
from support.spreadsheet import Office, missing
from support.team import CAMPAIGNS, FIRST, Team, one_space

CASES = [
    ("indonesian", "id", "id-ID", "profesi,hobi,daerah"),
    ("arabic", "ar", "ar-EG", "مهنة,هواية,منطقة"),
    ("japanese", "ja", "ja-JP", "職業,趣味,地域"),
]
FORMS = ("xlsx", "csv", "csv;")
LABELS = tuple(GOLD.values())
DECISIONS = ("keep", "merge", "drop")
Start = Callable[[str], Office]


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Start]:
    """Starts a LibreOffice whose user has a locale."""
    assert not missing(), missing()
    with ExitStack() as stack:
        yield lambda locale: stack.enter_context(Office(tmp_path / f"office-{locale}", locale))


class Table:
    """An exported workbook: the rows of its tasks, by canonical name."""

    def __init__(self, path: Path, language: str) -> None:
        names = {text: name for name, text in shipped_texts(language)["heading"].items()}
        sheet = openpyxl.load_workbook(path)[shipped_texts(language)["sheet"]["tasks"]]
        heads, *rows = sheet.iter_rows()
        self.columns = {names.get(h.value, str(h.value)): h.column_letter for h in heads}
        self.rows = {
            cells[0].row: {
                name: cell.value or "" for name, cell in zip(self.columns, cells, strict=True)
            }
            for cells in rows
        }

    def cells(self, answers: Mapping[int, Row]) -> dict[str, Any]:
        """The text of each cell."""
        return {
            f"{self.columns[name]}{row}": value
            for row, answer in answers.items()
            for name, value in answer.items()
            if value != ""
        }


class Volunteers(Team):
    """A team whose people fill their workbooks in with LibreOffice."""

    office: Office

    def pseudonym(self, who: str) -> str:
        settings = read_settings(self.root / "campaign.toml")
        return people.pseudonyms(people.read_key(settings.campaign.id))(who)

    def terms(self) -> dict[str, str]:
        """The texts of the terms by id."""
        return {t.id: t.text for t in read_records(self.root / "1-terms" / "targets.jsonl", Term)}

    def fill(self, name: str, who: tuple[str, ...], fill: Callable[[Row, str], Row]) -> None:
        """Everybody fills in a table of a round, saves it in another form, and it is imported."""
        listed = self.out / f"{name}-people.txt"
        listed.write_text("\n".join(who), "utf-8")
        to = self.out / name
        made = self.say("rounds", "export", name, "--people", listed, "--to", to)
        who_gets = read_csv(Path(made["who_gets_which"]))
        shares = {row["person"]: to / row["file"] for row in who_gets}
        for n, (person, path) in enumerate(shares.items()):
            table = Table(path, self.language)
            answers = {
                row: {"consent": 0, **fill(task, person)} for row, task in table.rows.items()
            }
            saved = {
                form: to / f"{person}-{k}.{form[:4].strip(';')}" for k, form in enumerate(FORMS)
            }
            seen = self.office.fill(path, table.cells(answers), saved)
            self.check(seen, saved["xlsx"], table.cells(answers))
            form = FORMS[n % len(FORMS)]
            came = self.say("rounds", "import", name, saved[form])
            assert (came["new"], came["known"]) == (len(answers), 0)
            again = {self.say("rounds", "import", name, saved[f])["new"] for f in FORMS}
            assert again == {0}, "the forms do not say the same"

    def check(self, seen: Any, saved: Path, cells: Mapping[str, Any]) -> None:
        """The workbook has lists, locks and a direction, and still has them when it was saved."""
        assert [sheet["hidden"] for sheet in seen["sheets"]] == [False, False, True]
        for sheet in seen["sheets"]:
            assert sheet["protected"]
            assert sheet["right_to_left"] == (self.language == "ar")
        chosen = {cell for cell, value in cells.items() if isinstance(value, int)}
        assert seen["lists"].keys() >= chosen
        with pytest.raises(AssertionError, match="A2 is locked"):
            self.office.fill(saved, {"A2": "t-1"}, {})
        assert self.office.fill(saved, cells, {}) == seen


@pytest.mark.parametrize(("name", "language", "locale", "domains"), CASES)
def test_answers_survive_a_spreadsheet_program(
    forked: Any, office: Start, tmp_path: Path, name: str, language: str, locale: str, domains: str
) -> None:
    team = Volunteers(forked, tmp_path / "c", CAMPAIGNS / name, language)
    team.office = office(locale)
    team.begin(domains)
    team.say("terms", "select")
    reviews(team)
    team.say("rounds", "close", "r")
    team.say("terms", "select")
    for kind in ("intrasentence", "intersentence"):
        writes(team, kind)
    labels(team)
    agreed = {person.consent for person in team.records("people.jsonl", Person)}
    assert len(agreed) == 1
    assert agreed != {None}


def reviews(team: Volunteers) -> None:
    """Reviewers choose decisions, terms and reasons, and write a date that is not one."""
    given = {row["term"]: row for row in team.people("reviews")}
    expected = set()

    def fill(task: Row, who: str) -> Row:
        decision, _, more = given[task["term"]][who].partition(":")
        decision, _, rename = decision.partition(">")
        answer: Row = {"decision": DECISIONS.index(decision), "rename": rename}
        if decision == "merge":
            answer["merge_into"] = more
        elif decision == "drop":
            answer |= {"reasons.unknown": 0, "rename": "1/2"}
        into = more if decision == "merge" else None
        note = "unknown" if decision == "drop" else ""
        expected.add((team.pseudonym(who), task["term"], decision, into, rename or None, note))
        return answer

    team.open("review", "r")
    team.fill("r", ("r1", "r2", "r3"), fill)
    texts = team.terms()
    assert expected == {
        (r.annotator, texts[r.term], r.action, r.into and texts[r.into], r.name, r.note)
        for r in team.records("r/reviews.jsonl", Review)
    }
    raw = [
        event.payload for path in team.rounds.glob("r/raw/*") for event in read_records(path, Event)
    ]
    assert sum("1/2" in payload.values() for payload in raw) == sum(
        e[2] == "drop" for e in expected
    )


def writes(team: Volunteers, kind: str) -> None:
    """Writers write what the campaign's files have."""
    write, expected = team.write(kind), []

    def fill(task: Row, who: str) -> Row:
        answer = write(task, who)
        context = read_blank(one_space(answer["context"]), team.blank)
        meant = {**answer, "kind": kind, "context": context}
        expected.append((task["target"], context, *team.texts(meant)))
        return answer if kind == "intersentence" else {"template": answer.pop("context"), **answer}

    team.open(kind, kind)
    team.fill(kind, ("w1", "w2", "w3"), fill)
    texts = team.terms()
    items = team.records(f"{kind}/items.jsonl", Item)
    refused = team.records(f"{kind}/rejected.jsonl", Rejection)
    assert len(items) + len(refused) == len(expected)
    assert {
        (texts[i.term], i.context, *(a.sentence for a in i.associations)) for i in items
    } <= set(expected)
    team.say("rounds", "close", kind)


def labels(team: Volunteers) -> None:
    """Validators choose labels, and the first of them says once that an item is a fact."""
    expected, flagged = {}, []

    def fill(task: Row, who: str) -> Row:
        answer = team.label(task, who)
        answer = {f"label_{n}": answer[f"label_{n}"] for n in (1, 2, 3)}
        for n in (1, 2, 3):
            if value := answer[f"label_{n}"]:
                expected[team.pseudonym(who), task[f"text_{n}"]] = value
                answer[f"label_{n}"] = LABELS.index(value)
        if who == "v1" and not flagged and answer["label_1"] != "":
            flagged.append((team.pseudonym(who), task["text_1"]))
            answer["flags.objective"] = 0
        return answer

    team.open("validation", "v")
    team.fill("v", FIRST, fill)
    items = [i for path in team.rounds.glob("*/items.jsonl") for i in read_records(path, Item)]
    sentences = {a.id: a.sentence for item in items for a in item.associations}
    came = team.records("v/labels.jsonl", Label)
    assert {(each.annotator, sentences[each.association]): each.value for each in came} == expected
    (flag,) = team.records("v/flags.jsonl", Flag)
    (item,) = (item for item in items if item.id == flag.item)
    assert (flag.flag, flag.annotator) == ("objective", flagged[0][0])
    assert flagged[0][1] in {a.sentence for a in item.associations}


HEAD = ("task_id", "annotator", "label_1", "label_2", "label_3", "submitted_at", "seconds")


@pytest.mark.parametrize(
    ("locale", "typed"),
    [
        ("id-ID", "14/03/2026 10:22:05"),
        ("ar-EG", "14/03/2026 10:22:05"),
        ("ja-JP", "2026/3/14 10:22:05"),
        ("en-US", "3/14/2026 10:22:05 AM"),
    ],
)
def test_what_it_makes_of_texts(office: Start, tmp_path: Path, locale: str, typed: str) -> None:
    path = book(tmp_path / "a.xlsx", HEAD, ("t-1", "v1", *LABELS))
    saved = {form: tmp_path / f"b{n}.{form[:4]}" for n, form in enumerate(("xlsx", "csv", "ods"))}
    office(locale).fill(path, {"F2": typed, "G2": "0:01:30"}, saved)
    rows = {
        form: row for form in ("xlsx", "csv") for _, row in read_rows(saved[form], None, columns_of)
    }
    assert seconds_of(rows["xlsx"]) == 90
    assert read_time(rows["xlsx"]["submitted_at"]) == "2026-03-14T10:22:05.000Z"
    if locale == "ar-EG":  # the program writes ص١٠:٢٢:٠٥ ١٤٤٧/٠٩/٢٥ into the CSV
        with pytest.raises(ValueError, match="not a time"):
            read_time(rows["csv"]["submitted_at"])
    else:
        assert read_time(rows["csv"]["submitted_at"]) == "2026-03-14T10:22:05.000Z"
    with fails("is an OpenDocument spreadsheet"):
        list(read_rows(saved["ods"], None, columns_of))


def test_a_date_that_the_program_made_is_refused(office: Start, tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", HEAD, ("t-1", "v1"))
    cells = {"C2": "1/2", "D2": "=1+1", "E2": "50%", "G2": "0:45"}
    office("en-US").fill(path, cells, {"xlsx": tmp_path / "b.xlsx"})
    says = ("C2 with a date", "D2 with a formula", "E2 with a percentage", "G2 with some")
    with fails(*says):
        list(read_rows(tmp_path / "b.xlsx", None, columns_of))
