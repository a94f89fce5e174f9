"""Sets of pairs: their layouts, their groups, and what is wrong with a pair."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from curation.catsets.stereoset import dataset, read_cats, read_gold_file
from curation.files import dump_json
from support import catsets
from support.expected import fails

ROWS = [
    ["The Welsh baker sang all day.", "The Irish baker sang all day.", "stereo", "nation"],
    ["An Irish baker is never late.", "A Welsh baker is never late.", "antistereo", "nation"],
    ["She mends the clock.", "He mends the clock.", "stereo", "gender"],
]
CROWS = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]


def table(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], sep: str = ",") -> Path:
    quoted = [[f'"{cell}"' for cell in row] for row in (names, *rows)]
    path.write_text("".join(sep.join(row) + "\n" for row in quoted), "utf-8")
    return path


def mapping(path: Path, **keys: str) -> Path:
    file = path.with_suffix(".toml")
    lines = [f'files = ["{path.name}"]', *(f"{key} = {value}" for key, value in keys.items())]
    file.write_text("\n".join(lines), "utf-8")
    return file


def shape(path: Path) -> list[tuple[str, ...]]:
    """The texts of pairs by role, with direction, domain and target."""
    return [
        (by_gold["stereotype"], by_gold["anti-stereotype"], str(c.direction), c.domain, c.target)
        for c in read_cats(path)
        for by_gold in [{a.gold: a.sentence for a in c.associations}]
    ]


@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("more", ["sent_more", "stereotype", "pro-trope", "sent_more_fr"])
def test_the_layouts_of_published_sets(tmp_path: Path, sep: str, more: str) -> None:
    less = more.replace("more", "less").replace("pro", "anti").replace("stereo", "anti_stereo")
    names = [more, less, "stereo_antistero", "bias_type"]
    rows = [[f" {row[0]}", f"{row[1]}  ", *row[2:]] for row in ROWS]
    path = table(tmp_path / "pairs.csv", names, rows, sep)
    assert [row[:4] for row in shape(path)] == [tuple(row) for row in ROWS]
    assert [row[4] for row in shape(path)] == ["irish / welsh", "a welsh / an irish", "he / she"]
    assert {cat.kind for cat in read_cats(path)} == {"pair"}
    assert {cat.context for cat in read_cats(path)} == {""}


def test_groups_that_the_file_names(tmp_path: Path) -> None:
    names = ["Gender_ID_x", "Gender_ID_y", "sent_x", "sent_y"]
    path = table(tmp_path / "q.csv", names, [["Welsh", "Irish", "A Welsh poem.", "An Irish poem."]])
    with fails("there is no column «domain»", fix='domain = "one for all"'):
        read_cats(path)
    assert shape(mapping(path, domain='"nation"'))[0][3:] == ("nation", "Irish / Welsh")


def test_a_pair_without_groups_is_of_its_type(tmp_path: Path) -> None:
    far = [["All of them went home again.", "Nobody knew what to say now.", "stereo", "age"]]
    assert shape(table(tmp_path / "a.csv", CROWS, far))[0][4] == "age"


def test_one_of_two_languages_is_chosen_by_a_mapping_file(tmp_path: Path) -> None:
    names = ["modified_eng_sent_more", "modified_eng_sent_less", "more_hi", "less_hi", "bias_type"]
    path = table(
        tmp_path / "a.csv", names, [["Old men sing.", "Young men sing.", "x y", "z y", "age"]]
    )
    assert "columns that are not used: «more_hi», «less_hi»" in read_gold_file(path).notes[0]
    file = mapping(path)
    file.write_text(
        file.read_text("utf-8")
        + '\n[columns]\nstereotype = "more_hi"\nanti_stereotype = "less_hi"',
        "utf-8",
    )
    assert shape(file)[0][:2] == ("x y", "z y")


def test_what_is_there_again_counts_once(tmp_path: Path) -> None:
    first = ROWS[0]
    rows = [*ROWS, first, first, [first[1], first[0], *first[2:]]]
    path = table(tmp_path / "a.csv", CROWS, rows)
    found = read_gold_file(path)
    assert len(found.cats) == 4
    assert "2 rows with a pair that an earlier row has: left out" in found.notes[0]
    assert "1 pair with the sentences of another exchanged" in found.notes[1]
    assert "a.csv line 2 and a.csv line 7" in found.notes[1]
    counted = read_gold_file(mapping(path, repeated='"count"'))
    assert len({cat.id for cat in counted.cats}) == 6


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (["Old men sing.", "", "stereo", "age"], "a.csv line 5 (id"),
        (
            ["Old men sing.", "Old men sing. ", "stereo", "age"],
            "the sentences of the pair are the same",
        ),
        (["Old men sing.", "Young men sing.", "both", "age"], "field 'direction'"),
    ],
)
def test_what_is_not_a_pair_is_named(tmp_path: Path, row: list[str], what: str) -> None:
    path = table(tmp_path / "a.csv", CROWS, [*ROWS, row])
    with fails("line 5", what, fix="a mapping file with"):
        read_cats(path)
    assert len(read_cats(mapping(path, skip='"bad"'))) == 3


def test_three_texts_without_a_context_are_no_pair(tmp_path: Path) -> None:
    names = ["stereotype", "anti_stereotype", "unrelated", "domain"]
    with fails("its columns are «stereotype», «anti_stereotype», «unrelated»"):
        read_cats(table(tmp_path / "a.csv", names, [["a b", "c b", "d b", "age"]]))


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("siësta".encode("cp1252"), "of Windows in Western Europe: «iconv -f CP1252 -t UTF-8»"),
        ("crème".encode("mac_roman"), "of an old Mac: «iconv -f MACINTOSH -t UTF-8»"),
        ("é\né\n".encode() + "é".encode("cp1252"), "2 other lines are UTF-8"),
        ("é\né\n".encode("cp1252") + "é".encode(), "UTF-8 now: 1, check these"),
    ],
)
def test_a_file_in_another_encoding_says_which(tmp_path: Path, text: bytes, fix: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(",".join(CROWS).encode() + b"\n" + text)
    with fails("a.csv line ", "is not UTF-8", fix=fix):
        read_cats(path)


def test_pairs_in_stereosets_form_are_read_back(tmp_path: Path) -> None:
    cats = read_cats(table(tmp_path / "a.csv", CROWS, ROWS))
    content = dataset(cats, {}, version="1")
    assert list(content["data"]) == ["intersentence", "intrasentence", "pair"]
    path = tmp_path / "pairs.json"
    path.write_bytes(dump_json(content))
    assert read_cats(path) == cats
    for item in content["data"]["pair"]:
        del item["context"]
    path.write_bytes(dump_json(content))
    assert read_cats(path) == cats


def test_a_list_of_two_choices_is_not_a_pair(tmp_path: Path) -> None:
    row: Mapping[str, object] = {
        "domain": "age",
        "context": "c",
        "choices": ["a", "b"],
        "target": "x",
    }
    path = catsets.write_lines(tmp_path / "a.jsonl", [dict(row)])
    with fails(fix="see «Pairs» in docs/datasets.md"):
        read_cats(path)
