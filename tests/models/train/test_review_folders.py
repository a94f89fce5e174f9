"""Reviews are read from folders as aclImdb has them, and test sets are kept apart."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.models.train.reviews import divide, has_test, read_reviews
from support.expected import fails
from support.reviews import found


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


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
    path = write(tmp_path / "a.csv.gz", gzip.compress(f"text,label\n{rows}".encode()))
    assert read_reviews([path]).identity == read_reviews([imdb]).identity


@pytest.mark.parametrize(
    ("name", "content", "says", "fix"),
    [
        ("neg", None, r"aclImdb/train: has no folder «neg»", "aclImdb/train"),
        ("pos", None, r"aclImdb/train: has no folder «pos»", "aclImdb/train"),
        ("neg", "empty", r"aclImdb/train/neg: has no \.txt file", "unpack"),
        ("neg/1_1.txt", b"d\xfcll", r"neg/1_1\.txt line 1: byte 0xfc is not UTF", "iconv"),
        ("neg/1_1.txt", b"", r"train/neg/1_1\.txt: is empty", "cut off"),
        ("neg/1_1.txt", b" \n", r"train/neg/1_1\.txt: has no text", "delete this review"),
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
    with fails(says, fix):
        read_reviews([imdb])


def test_missing_folders_and_archives_are_errors(tmp_path: Path) -> None:
    with fails("aclImdb: no such file or folder"):
        read_reviews([tmp_path / "aclImdb"])
    for name in ("aclImdb_v1.tar.gz", "a.zip"):
        with fails("is an archive", "unpack it"):
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
    with fails(r"the test set has 0 different reviews of .*positive"):
        read_reviews([one], part="test")
    both = read_reviews([write(tmp_path / "b.csv", "text,label\na,0\nb,1\n")], part="test")
    few = read_reviews([write(tmp_path / "c.csv", "text,label\nc,0\nd,1\n")], test=both)
    assert [len(side) for side in divide(few, share=0.1, seed=1)] == [2, 2]  # one of each will do
    with fails(r"the corpus has 0 different reviews of .*neg", "text is not in the test set"):
        read_reviews([imdb], test=read_reviews([imdb / "train"], part="test"))
