"""Tables as other tools write them are read as what they mean, or an error says what to do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign, open_campaign
from curation.catsets.stereoset import read_cats
from curation.files import read_records
from curation.formats.predictions import read_predictions
from curation.formats.tables import csv_text
from curation.pipeline import bring_up_to_date
from curation.records import Decision, Person
from curation.released.versions import read_version
from curation.rounds.importing import import_answers, import_stereoset
from curation.rounds.quality import read_groups
from curation.rounds.sheets import import_tables
from support import catsets
from support.books import book
from support.commands import set_to
from support.expected import fails
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
    (decision,) = read_records(campaign.folder("decisions") / "decisions.jsonl", Decision)
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
    assert {*item.labels["submitted_at"]} == {"2026-03-04T10:00:00.000Z"}


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
    heard = Heard()  # a name that other tools use for the column
    row = {"create_at" if k == "created_at" else k: v for k, v in row.items()}
    bring(item, tmp_path / "min.json", row | {"annotation_id": 6}, reporter=heard)
    assert "'create_at' for submitted_at" in heard.notes[0]
    heard = Heard()
    bring(item, tmp_path / "writers.json", ITEM | {"tone": "x"}, reporter=heard)
    assert heard.notes == [f"{tmp_path / 'writers.json'}: columns that are not used: tone"]
    # A file may have items and labels.
    heard, label = Heard(), {"item_id": "i1", "annotator": "v", "association": "early"}
    bring(item, tmp_path / "both.json", ITEM, label | {"label": "unrelated"}, reporter=heard)
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


# --- other tools


def only_value(campaign: Campaign) -> list[str]:
    """The labels of the only item in the order of its associations, as one person gave them."""
    (item,) = campaign.items
    values = dict(campaign.labels[["association", "value"]].itertuples(index=False))
    return [values[association.id] for association in item.associations]


LABELS = ["stereotype", "anti-stereotype", "unrelated"]
TURK = {
    "HITId": "H", "AssignmentId": "A", "WorkerId": "W",
    "SubmitTime": "Mon Mar 02 02:00:00 PST 2026",
    "WorkTimeInSeconds": "60", "Input.item_id": "i1",
    **{f"Input.association_{n}": TEXTS[f"association_{n}"] for n in (1, 2, 3)},
}  # fmt: skip
POTATO = {"user": "v", "instance_id": "i1"} | {
    f"label_{n}:::{value}": "1" if LABELS[n - 1] == value else "" for n in (1, 2, 3)
    for value in LABELS
}  # fmt: skip


def test_mechanical_turks_table_of_labels_is_read(item: Campaign, tmp_path: Path) -> None:
    plain = TURK | {f"Answer.label_{n}": LABELS[n - 1] for n in (1, 2, 3)}
    apart = TURK | {"WorkerId": "W2", "AssignmentId": "B"} | {
        f"Answer.label_{n}.{value}": str(LABELS[n - 1] == value).lower()
        for n in (1, 2, 3) for value in LABELS
    }  # fmt: skip
    for row, seen in ((plain, 3), (apart, 6)):
        assert not bring(item, tmp_path / "turk.json", row).rejected
        labels = item.labels
        assert len(labels) == seen
        assert only_value(item) == LABELS
    assert {*labels["submitted_at"]} == {"2026-03-02T10:00:00.000Z"}
    assert {*labels["seconds"]} == {60}


def test_potatos_table_is_read_and_the_order_of_texts_is_said(
    item: Campaign, tmp_path: Path
) -> None:
    heard = Heard()
    path = tmp_path / "potato.tsv"
    path.write_text("\n".join("\t".join(row) for row in (POTATO, POTATO.values())), "utf-8")
    assert not bring(item, path, reporter=heard).rejected
    assert only_value(item) == LABELS
    assert heard.warnings == [
        f"{path}: no column association_1, association_2, association_3; label_1 is taken for the "
        "first text of each item in items.jsonl, label_2 for the second, and so on"
    ]
    # Two choices for one text, none, and a cell that is neither yes nor no.
    rows = [
        POTATO | {"user": "w", "label_1:::unrelated": "1", "label_2:::anti-stereotype": ""},
        POTATO | {"user": "x", "label_1:::unrelated": "perhaps"},
    ]
    done = bring(item, tmp_path / "odd.json", *rows)
    assert done.rejected == {"unknown_label": 1, "missing_field": 1, "bad_value": 1}
    # A table that does not come from Potato must name the texts.
    plain = {"item_id": "i1", "annotator": "v"} | {f"label_{n}": LABELS[n - 1] for n in (1, 2, 3)}
    with fails("no column association_1, association_2, association_3"):
        bring(item, tmp_path / "plain.json", plain)
    del plain["annotator"]  # and its three columns are not taken for those of three raters
    with fails("no column annotator, association_1, association_2, association_3"):
        bring(item, tmp_path / "plain.json", plain)


def test_potatos_instance_is_the_task_in_a_round(campaign: Campaign, tmp_path: Path) -> None:
    here = Validating(campaign, tmp_path)
    answers = [POTATO | {"instance_id": here.task, "consent": here.round.consent}]
    assert here.bring(answers).counts == {"new": 1, "known": 0}
    assert sorted(campaign.labels["value"]) == sorted(LABELS)


def test_a_list_of_one_is_its_label(item: Campaign, tmp_path: Path) -> None:
    rows = [
        {"item_id": "i1", "annotator": "v", "association": text, "label": [label]}
        for text, label in zip(TEXTS.values(), LABELS, strict=True)
    ]
    rows.append(rows[0] | {"annotator": "w", "label": LABELS})
    done = bring(item, tmp_path / "doccano.json", *rows)
    assert only_value(item) == LABELS
    assert done.rejected == {"bad_value": 1}


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_qualtrics_rows_of_headings_are_no_answers(
    campaign: Campaign, tmp_path: Path, kind: str
) -> None:
    names = [name for name in ITEM if name != "submitted_at"]
    rows = [
        [*names, "RecordedDate"],
        [f"What is the {name}?" for name in names] + ["Recorded Date"],
        [json.dumps({"ImportId": f"QID{n}"}) for n in range(len(names) + 1)],
        [*(ITEM[name] for name in names), "2026-03-02 10:00:00"],
    ]
    path, heard = tmp_path / f"table.{kind}", Heard()
    if kind == "csv":
        path.write_text(csv_text(rows), "utf-8-sig")
    done = bring(campaign, path if kind == "csv" else book(path, *rows), reporter=heard)
    assert (done.rows, done.items, done.rejected) == (1, 1, {})
    assert [person.answers for person in people_of(campaign)] == [1]
    assert campaign.items[0].submitted_at == "2026-03-02T10:00:00.000Z"
    assert heard.warnings == []


def people_of(campaign: Campaign) -> list[Person]:
    return read_records(campaign.folder("rounds") / "people.jsonl", Person)


def test_label_studios_full_json_is_named(campaign: Campaign, tmp_path: Path) -> None:
    here = Validating(campaign, tmp_path)
    task = {"id": 1, "annotations": [{"id": 1, "result": []}], "predictions": [], "data": {}}
    path = tmp_path / "ls.json"
    path.write_text(json.dumps([task]), "utf-8")
    for call in (
        lambda: import_answers(campaign, path),
        lambda: here.bring(path),
        lambda: import_stereoset(campaign, path),
    ):
        with fails("Label Studio's full JSON", fix="JSON_MIN or CSV"):
            call()
    # The fix: the same answers as JSON_MIN.
    row = {"task_id": here.task, "annotator": 1, "annotation_id": 1, "label_1": "unrelated",
           "created_at": f"{here.round.opened_at}", "consent": here.round.consent}  # fmt: skip
    assert here.bring([row]).counts == {"new": 1, "known": 0}


# --- a column for each rater


RATED = [
    {"item_id": "i1", "association": text, "Ana": label, "Budi": "unrelated", "note": "x"}
    for text, label in zip(TEXTS.values(), LABELS, strict=True)
]


def follow(fix: str, folder: Path) -> Path:
    """The file that an error says to write, with the lines that it shows."""
    lines = re.findall(r"\w+ = \[.*?\]", fix)
    (name,) = re.findall(r"a file (\S+\.toml)", fix)
    (folder / name).write_text("\n".join(lines), "utf-8")
    return folder / name


@pytest.mark.parametrize("kind", ["csv", "xlsx", "label_1"])
def test_a_column_for_each_rater_is_read_after_the_line_that_the_error_shows(
    item: Campaign, tmp_path: Path, kind: str
) -> None:
    names = {"Ana": "label_1", "Budi": "label_2"} if kind == "label_1" else {}
    rows = [{names.get(name, name): cell for name, cell in row.items()} for row in RATED]
    rows[2][names.get("Budi", "Budi")] = ""  # not labelled
    table = [list(rows[0]), *(list(row.values()) for row in rows)]
    path = tmp_path / "team.csv"
    path.write_text(csv_text(table), "utf-8")
    if kind == "xlsx":
        path = book(tmp_path / "team.xlsx", *table)
    raters = [*names.values()] or ["Ana", "Budi"]
    with fails(f"{raters[0]}, {raters[1]} have labels, and no column says who gave them") as caught:
        bring(item, path)
    heard = Heard()
    done = bring(item, follow(caught.value.fix, tmp_path), reporter=heard)
    assert (done.rows, done.labels, done.rejected) == (5, 5, {})
    assert [note.partition(": ")[2] for note in heard.notes] == ["columns that are not used: note"]
    # The writer, Budi and Ana.
    assert sorted(person.answers for person in people_of(item)) == [1, 2, 3]
    assert sorted(item.labels["value"]) == sorted([*LABELS, "unrelated", "unrelated"])
    assert bring(item, tmp_path / "team.toml").added == 0


def test_raters_of_texts_without_a_known_heading(item: Campaign, tmp_path: Path) -> None:
    path = tmp_path / "team.json"
    named = {"item_id": "Nr", "association": "Text"}
    rows = [{named.get(name, name): cell for name, cell in row.items()} for row in RATED]
    path.write_text(json.dumps(rows), "utf-8")
    with fails("Ana, Budi have labels", fix="and name the columns item_id, association") as caught:
        bring(item, path)
    path.write_text(json.dumps(RATED), "utf-8")  # as the fix says
    assert bring(item, follow(caught.value.fix, tmp_path)).labels == 6


@pytest.mark.parametrize("name", ["gold_label", "Gold", "intended", "majority"])
def test_a_column_of_gold_labels_is_offered_as_no_rater(
    item: Campaign, tmp_path: Path, name: str
) -> None:
    rows = [{name: label, **row} for label, row in zip(LABELS, RATED, strict=True)]
    (tmp_path / "team.json").write_text(json.dumps(rows), "utf-8")
    with fails("Ana, Budi have labels", fix='raters = ["Ana", "Budi"]') as caught:
        bring(item, tmp_path / "team.json")
    assert bring(item, follow(caught.value.fix, tmp_path)).labels == 6


def test_labels_of_raters_may_have_other_names(item: Campaign, tmp_path: Path) -> None:
    rows = [row | {"Ana": row["Ana"][0].upper()} for row in RATED]
    (tmp_path / "team.json").write_text(json.dumps(rows), "utf-8")
    text = (
        'files = "team.json"\nraters = ["Ana"]\n[labels]\nS = "stereotype"\nA = "anti-stereotype"\n'
    )
    path = tmp_path / "map.toml"
    path.write_text(f'{text}U = "unrelated"\n', "utf-8")
    bring(item, path)
    assert only_value(item) == LABELS


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('raters = ["Anna"]', "line 2, raters: TABLE has no column «Anna»"),
        ('language = "en"\nraters = ["Ana"]', "line 2, language: is not read for a table"),
        ("", "raters: is missing"),
    ],
)
def test_a_wrong_file_of_raters(item: Campaign, tmp_path: Path, lines: str, says: str) -> None:
    (tmp_path / "team.json").write_text(json.dumps(RATED), "utf-8")
    path = tmp_path / "map.toml"
    path.write_text(f'files = ["team.json"]\n{lines}\n', "utf-8")
    with fails(says.replace("TABLE", str(tmp_path / "team.json"))):
        bring(item, path)
    with fails("map.toml" if "raters" in lines else "team.json"):
        import_stereoset(item, path)


# --- datasets


def sentences() -> list[dict[str, Any]]:
    """A row for each sentence, whose gold label and votes are in objects."""
    return [
        {"bias_type": "profession", "target": "baker", "context": "The baker is here.",
         "sentence": f"It is {text}.", "gold": {"label": label, "share": 1.0},
         "labels": [{"rater": "p1", "label": label}]}
        for text, label in zip(TEXTS.values(), LABELS, strict=True)
    ]  # fmt: skip


def test_an_object_where_a_label_is_expected_is_named_and_the_fix_works(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(sentences()), "utf-8")
    with fails("«gold» is an object, not a text; it has «label», «share»") as caught:
        import_stereoset(campaign, path)
    columns = [caught.value.fix.partition("[columns] ")[2]]
    assert columns == ['gold_label = "gold.label"']
    mapping = tmp_path / "map.toml"

    def write() -> Path:
        mapping.write_text("\n".join(['files = "rows.json"', "[columns]", *columns]), "utf-8")
        return mapping

    with fails("no vote has «human_id», which says who gave it; votes have rater, label") as caught:
        import_stereoset(campaign, write())
    columns.append(caught.value.fix.partition("[columns] ")[2])
    assert columns[1] == 'human_id = "rater"'
    assert import_stereoset(campaign, write()).labels == 3
    assert {*campaign.labels["annotator"]} == {"p1"}
    assert [cat.associations[0].gold for cat in read_cats(mapping)] == ["stereotype"]


def test_ids_are_unique_among_items_and_among_sentences(campaign: Campaign, tmp_path: Path) -> None:
    items = catsets.items()[:2]
    for number, item in enumerate(items):
        item["id"] = str(number)
        for at, sentence in enumerate(item["sentences"]):
            sentence["id"] = str(3 * number + at)
    path = catsets.write_json(tmp_path / "a.json", catsets.stereoset(items))
    done = import_stereoset(campaign, path)
    assert (done.items, done.rejected) == (2, {})
    assert len(read_cats(path)) == len(read_version(path).cats) == 2
    items[1]["sentences"][0]["id"] = "2"
    catsets.write_json(path, catsets.stereoset(items))
    for read in (read_cats, read_version):
        with fails("the id 2", "is already used in"):
            read(path)
    done = import_stereoset(campaign, path, round="again")
    assert done.rejected


def test_scores_that_are_numbers_in_quotation_marks_are_read(tmp_path: Path) -> None:
    rows = [{"id": "a", "score": "-0.5"}, {"id": "b", "score": " 2 "}, {"id": "c", "score": "x"}]
    path = tmp_path / "p.json"
    for name, text in (
        ("p.json", json.dumps({"intrasentence": rows})),
        ("p.jsonl", "\n".join(map(json.dumps, rows))),
        ("p.csv", "id,score\na,-0.5\nb, 2 \nc,x\n"),
    ):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        assert [*read_predictions(path)] == [("a", -0.5), ("b", 2.0), ("c", "x")]


def test_people_whose_data_prolific_does_not_give_have_no_group(
    item: Campaign, tmp_path: Path
) -> None:
    rows = [annotation(n, n, "unrelated") for n in (1, 2, 3)]
    bring(item, tmp_path / "min.json", *rows)
    groups = ["1,Kenya", "2,CONSENT_REVOKED", "3,DATA_EXPIRED"]
    (item.folder("rounds") / "annotators.csv").write_text(
        "\n".join(["annotator,group", *groups]), "utf-8"
    )
    assert [*read_groups(item).values()] == ["Kenya"]
