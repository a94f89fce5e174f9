"""Every layout gives the same CATs; what it lacks is made, and what is odd is reported."""

import bz2
import gzip
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.reading import read_dataset
from curation.catsets.stereoset import read_cats, read_entries
from support import catsets
from support.catsets import LAYOUTS, items
from support.expected import fails

WITHOUT_IDS = ("options.csv", "options.jsonl")
WITHOUT_VOTES = (*WITHOUT_IDS, "editbias.json", "unlearning.json", "sentences.csv")


def shape(path: Path) -> list[Any]:
    """What is in the CATs of a file, without their ids."""
    return sorted(
        (
            c.kind,
            c.domain,
            c.target,
            c.context,
            *sorted((a.gold, a.sentence) for a in c.associations),
        )
        for c in read_cats(path)
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    path = LAYOUTS["stereoset.json"](tmp_path_factory.mktemp("own") / "stereoset.json")
    whole = shape(path)
    assert [kind for kind, *_ in whole] == ["intersentence"] * 2 + ["intrasentence"] * 2
    return whole


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same_cats(tmp_path: Path, name: str, expected: list[Any]) -> None:
    path = LAYOUTS[name](tmp_path / name)
    assert shape(path) == expected
    cats = {cat.id: cat for cat in read_cats(path)}
    if name not in WITHOUT_IDS:
        assert set(cats) == {"cat-1", "cat-2", "cat-3", "cat-4"}
    if name not in (*WITHOUT_IDS, "unlearning.json"):
        ids = {a.id for a in cats["cat-1"].associations}
        assert ids == {f"cat-1-{label}" for label in catsets.GOLD}
    # Five votes for each label: the tier is 5.
    assert {cat.tier for cat in cats.values()} == {None if name in WITHOUT_VOTES else 5}
    # A gold file and an import have the same ids.
    gold = {(cat.id, a.id) for cat in cats.values() for a in cat.associations}
    brought = {(e.item["id"], s["id"]) for e in read_entries(path) for s in e.item["sentences"]}
    assert gold == brought
    assert len(gold) == 12


def test_items_of_stereosets_own_json_are_unchanged(tmp_path: Path) -> None:
    content = items()
    content[0] |= {"note": "kept", "tier": 4}
    content[1]["sentences"][0]["gold_label"] = "Anti_Stereotype"
    path = catsets.write_json(tmp_path / "a.json", catsets.stereoset(content))
    assert [entry.item for entry in read_entries(path)] == content
    assert [entry.where for entry in read_entries(path)] == [
        f"a.json data.{kind}[{n}]" for kind in ("intrasentence", "intersentence") for n in (0, 1)
    ]


def test_columns_are_found_in_any_spelling(tmp_path: Path, expected: list[Any]) -> None:
    names = ["BIAS-TYPE", "term", "prompt", "unrelated", "antistereotype", "Stereotype_Sentence"]
    rows = [dict(zip(names, catsets.option_row(item).values(), strict=True)) for item in items()]
    path = catsets.write_csv(tmp_path / "a.csv", rows, delimiter=";")
    assert shape(path) == expected
    path.write_text(f"sep=;\n{path.read_text('utf-8')}", "utf-8")
    assert shape(path) == expected


def test_options_that_are_words_fill_the_blank(tmp_path: Path, expected: list[Any]) -> None:
    rows = [catsets.option_row(item) for item in items()]
    for row, words in zip(rows, ("green late early", "algebraic dry mild"), strict=False):
        row |= dict(zip(list(row)[3:], words.split(), strict=True))
    assert shape(catsets.write_csv(tmp_path / "a.csv", rows)) == expected


def test_columns_of_words_fill_the_blank(tmp_path: Path) -> None:
    rows = [catsets.numbered(item, words=True) for item in items()[:2]]
    rows[1]["context"] = "A gardener likes mornings."  # a translation has lost the BLANK
    for row in rows:
        for number in (1, 2, 3):
            del row[f"c{number}_sentence"]
    dataset = read_dataset(catsets.write_lines(tmp_path / "a.jsonl", rows))
    assert [entry.kind for entry in dataset.entries] == ["intrasentence"] * 2
    assert [s["sentence"] for s in dataset.entries[0].item["sentences"]] == [
        f"The baker starts to work {word} on weekdays." for word in ("late", "early", "green")
    ]
    assert "1 context without BLANK: read as intrasentence" in "".join(dataset.notes)


def test_the_original_target_is_kept(tmp_path: Path) -> None:
    cats = read_cats(LAYOUTS["multi.parquet"](tmp_path / "a.parquet"))
    targets = ["baker (en)", "gardener (en)", "baker (en)", "pilot (en)"]
    assert [cat.target_original for cat in cats] == targets


def test_the_kind_by_blank_allows_for_translations(tmp_path: Path) -> None:
    intra = [{**items()[0], "id": f"i{n}"} for n in range(10)]
    intra[3] = {**intra[3], "context": "The baker starts to work on weekdays."}
    dataset = read_dataset(catsets.write_json(tmp_path / "a.json", intra))
    assert {entry.kind for entry in dataset.entries} == {"intrasentence"}
    assert "(i3)" in "".join(dataset.notes)
    inter = [{**items()[2], "id": f"i{n}"} for n in range(20)]
    inter[5] = {**inter[5], "context": "The baker lives BLANK."}
    dataset = read_dataset(catsets.write_json(tmp_path / "b.json", inter))
    assert {entry.kind for entry in dataset.entries} == {"intersentence"}
    assert "1 context with BLANK: read as intersentence" in "".join(dataset.notes)
    inter[5] = {**items()[0], "id": "i5"}  # its options fit its context
    dataset = read_dataset(catsets.write_json(tmp_path / "c.json", inter))
    assert dataset.entries[5].kind == "intrasentence"
    assert not [note for note in dataset.notes if "BLANK" in note]


def test_a_schemas_names_of_integers_go_before_the_documented_order(tmp_path: Path) -> None:
    rows = [catsets.as_struct(item) for item in items()]
    order = ("stereotype", "unrelated", "anti-stereotype")
    schema = {b"huggingface": catsets.features(order)}
    path = catsets.write_parquet(tmp_path / "a.parquet", rows, schema)
    sentences = read_entries(path)[0].item["sentences"]
    assert [s["gold_label"] for s in sentences] == list(order)  # the file has 0, 1, 2
    assert [s["labels"][0]["label"] for s in sentences] == list(catsets.GOLD)


@pytest.mark.parametrize("name", ["stereoset", "list"])
def test_integers_in_lists_have_the_documented_order(tmp_path: Path, name: str) -> None:
    content = items()
    for item in content:
        for number, sentence in enumerate(item["sentences"]):
            sentence |= {"gold_label": number, "labels": [{"label": 3, "human_id": "p"}]}
    whole = catsets.stereoset(content) if name == "stereoset" else content
    path = catsets.write_json(tmp_path / "a.json", whole)
    assert [a.gold for a in read_cats(path)[0].associations] == list(catsets.GOLD)
    assert read_entries(path)[0].item["sentences"][0]["labels"][0]["label"] == "related"


def test_an_integer_outside_the_order_is_an_error_and_stays(tmp_path: Path) -> None:
    content = [catsets.as_struct(item) for item in items()]
    content[1]["sentences"]["gold_label"][2] = 7
    path = catsets.write_json(tmp_path / "a.json", content)
    with fails("a.json [1] (id cat-2), gold_label: '7' is not a label", fix='[labels] "7" = '):
        read_cats(path)
    assert read_entries(path)[1].item["sentences"][2]["gold_label"] == 7


def test_integers_of_a_table_have_no_order(tmp_path: Path) -> None:
    rows = catsets.sentence_rows(items())
    for number, row in enumerate(rows):
        row["gold_label"] = number % 3
    path = catsets.write_csv(tmp_path / "a.csv", rows)
    fix = '[labels] and "0" = "…", "1" = "…", "2" = "…"'
    for read in (read_cats, read_entries):
        with fails("a.csv: field gold_label: no label is known", fix=fix):
            read(path)


def test_edited_texts_are_used_and_keep_no_votes_of_others(tmp_path: Path) -> None:
    rows = [{**item, **catsets.by_label(item)} for item in items()]
    rows[0]["data"]["unrelated"]["sentence"] = "The baker starts to work purple on weekdays."
    dataset = read_dataset(catsets.write_json(tmp_path / "a.json", rows))
    sentences = {s["gold_label"]: s for s in dataset.entries[0].item["sentences"]}
    assert sentences["unrelated"]["sentence"] == "The baker starts to work purple on weekdays."
    assert not any("labels" in sentence for sentence in sentences.values())
    assert len(dataset.entries[1].item["sentences"][0]["labels"]) == 5
    assert "in 1 item the texts of «data» and «sentences» differ" in "".join(dataset.notes)


def test_rows_of_a_cat_that_differ_are_an_error(tmp_path: Path) -> None:
    rows = catsets.sentence_rows(items())
    rows[1]["context"] = "I cannot translate this."
    path = catsets.write_csv(tmp_path / "a.csv", rows)
    with fails("in 1 CAT the sentences have different «context»"):
        read_cats(path)
    mapping = catsets.mapping(tmp_path, 'files = ["a.csv"]\ndiffering = "most"\n')
    assert read_cats(mapping)[0].context == items()[0]["context"]
    assert "the most frequent one is used" in "".join(read_dataset(mapping).notes)


@pytest.mark.parametrize("layout", ["options", "lists"])
def test_the_order_of_sentences_does_not_reveal_their_labels(tmp_path: Path, layout: str) -> None:
    content = [{**items()[0], "id": f"i{n}", "target": f"baker {n}"} for n in range(30)]
    if layout == "options":
        path = catsets.write_csv(tmp_path / "a.csv", list(map(catsets.option_row, content)))
    else:
        path = catsets.write_json(tmp_path / "a.json", catsets.label_lists(content))
    firsts = [cat.associations[0].gold for cat in read_cats(path)]
    assert {firsts.count(label) for label in catsets.GOLD} <= set(range(4, 20)), firsts


def test_rows_without_ids_are_put_together_by_their_context(tmp_path: Path) -> None:
    rows = [
        {name: value for name, value in row.items() if not name.endswith("_id")}
        for row in catsets.sentence_rows(items())
    ]
    path = catsets.write_csv(tmp_path / "a.csv", [*rows, *rows])  # each CAT is there twice
    cats = read_cats(path)
    assert len(cats) == len({cat.id for cat in cats}) == 8
    assert [cat.id for cat in cats] == [cat.id for cat in read_cats(path)]


def test_bad_items_are_named_together_with_the_way_out(tmp_path: Path) -> None:
    content = items()
    content[1]["sentences"].pop()
    content[3]["sentences"][0]["gold_label"] = "unrelated"
    path = catsets.write_json(tmp_path / "a.json", catsets.stereoset(content))
    with fails(
        "a.json data.intrasentence[1] (id cat-2): not a CAT",
        '2 items are not CATs: "cat-2", "cat-4"',
        fix='files = ["a.json"] and skip = ["cat-2", "cat-4"]',
    ):
        read_cats(path)
    for skip in ('["cat-2", "cat-4"]', '"bad"'):
        mapping = catsets.mapping(tmp_path, f'files = ["a.json"]\nskip = {skip}\n')
        assert [cat.id for cat in read_cats(mapping)] == ["cat-1", "cat-3"]


def test_a_field_that_is_empty_is_named(tmp_path: Path) -> None:
    content = items()
    content[2]["context"] = ""
    path = catsets.write_json(tmp_path / "a.json", catsets.stereoset(content))
    with fails("(id cat-3), field 'context': an item of the kind intersentence has a context"):
        read_cats(path)


@pytest.mark.parametrize("name", ["stereoset.json", "hf.jsonl", "options.csv"])
def test_packed_text_is_read(tmp_path: Path, expected: list[Any], name: str) -> None:
    content = LAYOUTS[name](tmp_path / name).read_bytes()
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress)):
        packed = tmp_path / f"{name}{ending}"
        packed.write_bytes(pack(content))
        assert shape(packed) == expected


def test_what_a_layout_lacks_is_noted(tmp_path: Path) -> None:
    lacks = {
        "stereoset.json": [], "hf.parquet": [], "editbias.json": ["no votes"],
        "sentences.csv": ["no votes", "«context_xx», «sentence_xx»"],
        "options.csv": ["no votes", "no ids of items and sentences"],
        "unlearning.json": ["no votes", "no ids of sentences"],
    }  # fmt: skip
    for name, noted in lacks.items():
        dataset = read_dataset(LAYOUTS[name](tmp_path / name))
        notes = "\n".join(dataset.notes)
        assert (bool(dataset.layout), bool(notes)) == (True, bool(noted)), name
        assert all(note in notes for note in noted), name
