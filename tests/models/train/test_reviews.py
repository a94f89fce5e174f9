"""Reviews are read from tables and folders, each text once, and divided; test sets stay apart."""

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.models.sentiments import names_of, of_stars, polarity_of
from curation.models.train.reviews import Reviews, divide, has_test, read_reviews
from support.expected import fails
from support.reviews import found
from support.written import beside

FOUR = [("bad bread", 0), ("dull fair", 0), ("good bread", 1), ("fine fair", 1)]


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix.lower() == ".gz" else data)
    return path


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def table(path: Path, rows: list[tuple[str, Any]], head: str = "text,label") -> Path:
    return write(path, "\n".join([head, *(f"{text},{label}" for text, label in rows)]) + "\n")


FOUND = [(text, ("negative", "positive")[label]) for text, label in FOUR]


# --- forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a.csv", "a.csv.gz", "a.tsv", "A.TSV.GZ", "a.jsonl", "a.jsonl.gz"]
)
def test_every_form_says_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if "json" in name:
        write(path, "\n".join(json.dumps({"text": t, "label": n}) for t, n in FOUR))
    else:
        sign = "\t" if "tsv" in name.lower() else ","
        rows = "".join(f"{text}{sign}{label}\r\n" for text, label in FOUR)
        write(path, f"\ufefftext{sign}label\r\n{rows}")
    reviews = read_reviews([path])
    assert found(reviews) == FOUND
    assert reviews.identity == read_reviews([table(tmp_path / "b.csv", FOUR)]).identity
    assert (reviews.files[0]["file"], len(reviews.files[0]["sha256"])) == (name, 64)


@pytest.mark.parametrize("head", ["text,label", "Review, Sentiment", "sentence,LABEL"])
@pytest.mark.parametrize(
    "labels", [("0", "1"), ("0.0", "1.0"), ("neg", "POS"), ("Negative", "positive")]
)
def test_columns_and_labels_have_several_names(
    tmp_path: Path, head: str, labels: tuple[str, str]
) -> None:
    rows = [(text, labels[label]) for text, label in FOUR]
    assert found(read_reviews([table(tmp_path / "a.csv", rows, head)])) == FOUND


def test_cells_may_hold_commas_quotes_and_lines(tmp_path: Path) -> None:
    rows = '"bad, ""old""\n  bread",0\ndull,0\n\n"good\tbread",1\nfine,1\n'
    reviews = read_reviews([write(tmp_path / "a.csv", f"text,label\n{rows}")])
    texts = [text for text, _ in found(reviews)]
    assert texts == ['bad, "old" bread', "dull", "good bread", "fine"]


def test_stars_become_sentiments(tmp_path: Path) -> None:
    rows = [{"text": f"{n} of {m}", "stars": n} for n in range(1, 6) for m in (1, 2)]
    rows[0]["stars"], rows[1]["stars"] = "1", 1.0
    path = jsonl(tmp_path / "a.jsonl", rows)
    two = read_reviews([path])
    assert [sort for _, sort in found(two)] == ["negative"] * 4 + ["positive"] * 4
    assert (two.neutral, two.names) == (2, ("negative", "positive"))
    three = read_reviews([path], classes=3)
    assert [sort for _, sort in found(three)] == [
        *(["negative"] * 4), *(["neutral"] * 2), *(["positive"] * 4),
    ]  # fmt: skip
    assert (three.neutral, three.names) == (0, ("negative", "neutral", "positive"))
    assert two.identity != three.identity


def test_files_may_have_different_columns(tmp_path: Path) -> None:
    first = table(tmp_path / "a.csv", FOUR[:2])
    second = jsonl(tmp_path / "b.jsonl", [{"review": t, "rating": 5} for t, _ in FOUR[2:]])
    assert found(read_reviews([first, second])) == FOUND


def test_a_text_counts_once_and_one_with_two_labels_not_at_all(tmp_path: Path) -> None:
    rows = [*FOUR, ("bad  bread", 0), ("odd", 0), ("odd", 1), ("odd", 1), ("good bread", 1)]
    rows += [("meh", "neutral")]
    reviews = read_reviews([table(tmp_path / "a.csv", rows)])
    assert found(reviews) == FOUND
    assert (reviews.repeated, reviews.contradictory, reviews.neutral) == (2, 3, 1)
    # in = kept + left out
    assert len(rows) == len(reviews.numbers) + reviews.repeated + 3 + reviews.neutral


# --- what does not go ---------------------------------------------------------------------------

BYTES = [
    ["a.csv", b"text,label\nbread,0\nb\xe4d,1\n", "line 3: byte 0xe4 is not UTF-8"],
    ["a.csv", "text,label\nbread,0\n".encode("utf-16"), "a.csv: is UTF-16"],
    ["a.csv.gz", b"no gzip", "a.csv.gz line 1: cannot be decompressed"],
]
WRONG = beside(__file__)["wrong"]


@pytest.mark.parametrize(("name", "content", "says"), [*WRONG, *BYTES])
def test_what_cannot_be_read_says_where(
    tmp_path: Path, name: str, content: str | bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with fails(*says.split("*")):
        read_reviews([path])


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with fails("no such file"):
        read_reviews([tmp_path / "a.csv"])
    (tmp_path / "b.csv").mkdir()
    with fails("b.csv: has no folder «neg»"):
        read_reviews([tmp_path / "b.csv"])


def test_numbers_do_not_say_which_of_three_classes(tmp_path: Path) -> None:
    with fails("it is not clear what «0» means", fix="negative, neutral, positive"):
        read_reviews([table(tmp_path / "a.csv", FOUR)], classes=3)


def test_three_classes_need_neutral_reviews(tmp_path: Path) -> None:
    rows = [(text, ("neg", "pos")[label]) for text, label in FOUR]
    with fails("0 different reviews of the class «neutral»", fix="--classes 2"):
        read_reviews([table(tmp_path / "a.csv", rows)], classes=3)
    with fails("cannot be 4 classes"):
        names_of(4)


def test_the_limit_of_a_cell_is_as_it_was(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    rows = [(text * 50_000, label) for text, label in FOUR]  # more than Python's own limit
    reviews = read_reviews([table(tmp_path / "a.csv", rows)])
    assert reviews.sizes(reviews.numbers).tolist() == [50_000 * len(text) for text, _ in FOUR]
    assert csv.field_size_limit() == before


# --- both sides ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Reviews:
    """200 negative and 40 positive reviews."""
    path = tmp_path_factory.mktemp("many") / "a.csv"
    return read_reviews([table(path, [(f"review {n}", int(n % 6 == 0)) for n in range(240)])])


def test_each_class_is_divided_alike(many: Reviews) -> None:
    learnt, held = divide(many, share=0.1, seed=1)
    assert sorted([*learnt, *held]) == list(range(240))  # each on one side
    assert many.counts(held) == {"negative": 20, "positive": 4}
    assert many.counts(learnt) == {"negative": 180, "positive": 36}
    assert np.array_equal(divide(many, share=0.1, seed=1)[1], held)
    assert not np.array_equal(divide(many, share=0.1, seed=2)[1], held)


@pytest.mark.parametrize(("share", "held"), [(0.0, (1, 1)), (0.9, (180, 36)), (0.999, (199, 39))])
def test_each_class_is_on_both_sides(many: Reviews, share: float, held: tuple[int, int]) -> None:
    sides = divide(many, share=share, seed=1)
    assert tuple(many.counts(sides[1]).values()) == held
    assert all(min(many.counts(side).values()) > 0 for side in sides)


def test_a_limit_leaves_each_class_its_share(many: Reviews) -> None:
    learnt, held = divide(many, share=0.5, seed=1, limit=60)
    assert many.counts(learnt) == many.counts(held) == {"negative": 50, "positive": 10}
    least = divide(many, share=0.5, seed=1, limit=1)
    assert [many.counts(side) for side in least] == [{"negative": 1, "positive": 1}] * 2
    whole = divide(many, share=0.5, seed=1)
    assert set(learnt) < set(whole[0])  # a limit moves nobody to the other side
    assert set(held) < set(whole[1])


def test_names_say_sentiments() -> None:
    bad = ("negative", "NEG", "Very Negative", "LABEL_negative", "1 star", "2 stars", "★")
    said = {
        "negative": bad,
        "neutral": ("neutral", "NEU", "3 stars", "star 3", "neutro"),
        "positive": ("Positive", "pos", "4 stars", "5 stars", "5 Star", "★★★★★", "positivo"),
        None: ("LABEL_0", "0", "1", "6 stars", "not negative", "toxic", "", "stars", "possible"),
    }
    for sort, names in said.items():
        assert {polarity_of(name) for name in names} == {sort}
    assert [of_stars(n) for n in (2, 3, 4)] == ["negative", "neutral", "positive"]


# --- folders as aclImdb has them, and test sets ---------------------------------------------------


@pytest.fixture
def imdb(tmp_path: Path) -> Path:
    """A small folder of the same make: 3 + 2 reviews to learn from, 1 + 2 to test on."""
    root = tmp_path / "aclImdb"
    texts = {
        "train/pos/0_9.txt": "good bread<br /><br />and soup",
        "train/pos/10_8.txt": "fine fair",
        "train/pos/1_7.txt": "kind baker",
        "train/neg/0_3.txt": "bad\nbread",
        "train/neg/1_1.txt": "dull fair",
        "train/unsup/0_0.txt": "some boat",
        "train/unsup/1_0.txt": "some map",
        "test/pos/0_10.txt": "fresh soup",
        "test/neg/0_2.txt": "rude jester",
        "test/neg/1_4.txt": "stale cake",
    }
    for name, text in texts.items():
        write(root / name, text)
    write(root / "README", "about")
    write(root / "train" / "urls_pos.txt", "https://example.org")
    return root


TRAIN = [
    ("bad bread", "negative"),
    ("dull fair", "negative"),
    ("good bread<br /><br />and soup", "positive"),
    ("fine fair", "positive"),  # 10_8.txt comes before 1_7.txt: "0" before "_"
    ("kind baker", "positive"),
]
TEST = [("rude jester", "negative"), ("stale cake", "negative"), ("fresh soup", "positive")]


# --- folders ------------------------------------------------------------------------------------


def test_a_folder_has_a_file_a_review_and_unsup_is_counted(imdb: Path) -> None:
    assert has_test(imdb)
    assert not has_test(imdb / "train")
    whole = read_reviews([imdb])
    assert found(whole) == TRAIN
    assert whole.unlabelled == 2
    file = whole.files[0]
    assert (file["file"], file["files"]) == ("aclImdb", 5)
    assert file["bytes"] == sum(
        path.stat().st_size for name in ("pos", "neg") for path in (imdb / "train" / name).iterdir()
    )
    part = read_reviews([imdb / "train"])
    assert part.files[0]["file"] == "train"
    assert part.identity == whole.identity
    assert found(read_reviews([imdb], part="test")) == TEST
    assert read_reviews([imdb / "test"], part="test").unlabelled == 0


def test_a_folder_and_a_table_may_be_the_same_corpus(imdb: Path, tmp_path: Path) -> None:
    rows = "".join(f"{text},{sort}\n" for text, sort in TRAIN)
    path = write(tmp_path / "a.csv.gz", f"text,label\n{rows}")
    assert read_reviews([path]).identity == read_reviews([imdb]).identity


@pytest.mark.parametrize(
    ("name", "content", "says", "fix"),
    [
        ("neg", None, "aclImdb/train: has no folder «neg»", "aclImdb/train"),
        ("pos", None, "aclImdb/train: has no folder «pos»", "aclImdb/train"),
        ("neg", "empty", "aclImdb/train/neg: has no .txt file", "unpack"),
        ("neg/1_1.txt", b"d\xfcll", "neg/1_1.txt line 1: byte 0xfc is not UTF", "iconv"),
        ("neg/1_1.txt", b"", "train/neg/1_1.txt: is empty", "cut off"),
        ("neg/1_1.txt", b" \n", "train/neg/1_1.txt: has no text", "delete this review"),
    ],
)
def test_a_folder_with_a_flaw(imdb: Path, name: str, content: Any, says: str, fix: str) -> None:
    path = imdb / "train" / name
    if path.is_dir():
        shutil.rmtree(path)
        if content == "empty":
            path.mkdir()
    else:
        path.write_bytes(content)
    with fails(says, fix=fix):
        read_reviews([imdb])


def test_missing_folders_and_archives_are_errors(tmp_path: Path) -> None:
    with fails("aclImdb: no such file or folder"):
        read_reviews([tmp_path / "aclImdb"])
    for name in ("aclImdb_v1.tar.gz", "a.zip"):
        with fails("is an archive", fix="unpack it"):
            read_reviews([write(tmp_path / name, b"PK")])


# --- test sets ----------------------------------------------------------------------------------


def test_a_test_set_is_what_is_held_out_and_nothing_else(imdb: Path) -> None:
    test = read_reviews([imdb], part="test")
    reviews = read_reviews([imdb], test=test)
    learnt, held = divide(reviews, share=0.5, seed=1)
    assert learnt.tolist() == [0, 1, 2, 3, 4]
    assert held.tolist() == [0, 1, 2]
    assert reviews.identity != read_reviews([imdb]).identity  # another test set, another training
    some = divide(reviews, share=0.5, seed=1, limit=2)
    assert reviews.counts(some[0]) == test.counts(some[1]) == {"negative": 1, "positive": 1}


def test_a_text_of_the_test_set_is_not_learnt_from(imdb: Path) -> None:
    write(imdb / "test" / "pos" / "7_8.txt", "fine fair")
    write(imdb / "test" / "pos" / "8_8.txt", "fine fair")
    test = read_reviews([imdb], part="test")
    assert (len(test.numbers), test.repeated) == (4, 1)
    reviews = read_reviews([imdb], test=test)
    assert found(reviews) == [pair for pair in TRAIN if pair[0] != "fine fair"]
    assert (reviews.in_test, reviews.repeated) == (1, 0)
    assert np.intersect1d(reviews.keys, test.keys).size == 0


def test_every_class_is_on_both_sides(imdb: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "one.csv", "text,label\nawful song,0\n")
    with fails("the test set has 0 different reviews of ", "positive"):
        read_reviews([one], part="test")
    both = read_reviews([write(tmp_path / "b.csv", "text,label\na,0\nb,1\n")], part="test")
    few = read_reviews([write(tmp_path / "c.csv", "text,label\nc,0\nd,1\n")], test=both)
    assert [len(side) for side in divide(few, share=0.1, seed=1)] == [2, 2]  # one of each will do
    with fails("the corpus has 0 different reviews of ", "neg", fix="text is not in the test set"):
        read_reviews([imdb], test=read_reviews([imdb / "train"], part="test"))
