"""``curation measures train-sentiment``: early errors, a kill, its end, its use."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import dataset
from curation.files import dump_json
from curation.formats.predictions import read_predictions
from curation.models.tiny import make
from support.cats import cat
from support.reviews import ALL, BAD, GOOD, sentence, write_folder, write_reviews
from support.strike import kill_once_there

HOW = ("--length", "32", "--batch", "16", "--epochs", "12", "--held-out", "0.2", "--lr", "2e-3")
HOW += ("--device", "cpu", "--checkpoint-every", "2")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """120 reviews, 96 to learn from: 6 steps of 16 an epoch."""
    root = tmp_path_factory.mktemp("sentiment")
    model = make(root / "tiny-bert", [ALL], family="masked", steps=0)
    reviews = write_reviews(root / "a.csv", 120)
    return ("measures", "train-sentiment", str(model), "--reviews", str(reviews), *HOW)


@pytest.fixture(scope="module")
def trained(
    forked: Any, command: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Any]:
    """What the command made, and what it said."""
    out = tmp_path_factory.mktemp("trained") / "out"
    done = forked(*command, "--out", out)
    assert done.code == 0, done.err
    return out, done


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 CATs whose stereotypes are negative, and whose anti-stereotypes are positive."""
    draw = random.Random(5)
    cats = [
        cat(
            "the baker was here",
            sentence(draw, draw.choice(BAD)),
            sentence(draw, draw.choice(GOOD)),
            sentence(draw, draw.choice((BAD, GOOD)[n % 2])),
            name=f"c{n}-",
            target=f"baker {n % 5}",
        )
        for n in range(20)
    ]
    path = tmp_path_factory.mktemp("gold") / "dev.json"
    path.write_bytes(dump_json(dataset(cats, {}, version="1.0")))
    return path


def test_what_is_trained_finds_a_planted_sentiment(
    forked: Any, trained: Any, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATION_CACHE", str(tmp_path / "cache"))
    args = ("measures", "sentiment", "--gold", gold, "--model", trained[0])
    done = forked(*args, "--scores", tmp_path / "scores.json", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["by"]["model"], found["by"]["classes"]) == ("out", ["negative", "positive"])
    row = found["rows"][0]
    shares = {label: row["labels"][label]["negative"]["share"] for label in row["labels"]}
    assert shares["stereotype"] > 85 > 15 > shares["anti-stereotype"]
    assert shares["anti-stereotype"] < shares["unrelated"] < shares["stereotype"]
    assert row["difference"]["value"] > 70
    scores = dict(read_predictions(tmp_path / "scores.json"))
    assert len(scores) == 60
    assert all(scores[f"c{n}-0"] < scores[f"c{n}-1"] for n in range(20))

    neutral = forked(*args, "--classes", "3")
    assert neutral.code == 1
    assert "has no neutral class" in neutral.err


def test_a_killed_run_goes_on_and_ends_the_same(
    forked: Any, command: tuple[str, ...], trained: Any, gold: Path, tmp_path: Path
) -> None:
    whole, done = trained
    killed = tmp_path / "killed"
    kill_once_there(killed / "checkpoint.pt", *command, "--out", str(killed))
    assert not (killed / "training.json").exists()
    early = forked("measures", "sentiment", "--gold", gold, "--model", killed)
    assert early.code == 1
    assert "its training has not ended" in early.err

    other = forked(*command, "--epochs", "13", "--out", killed)
    assert other.code == 1
    assert "--epochs was 12, is 13" in other.err
    again = forked(*command, "--out", killed)
    assert again.code == 0, again.err
    assert "continues at step" in again.err
    name = "model.safetensors"
    assert (whole / name).read_bytes() == (killed / name).read_bytes()

    report = json.loads((whole / "training.json").read_bytes())
    assert (report["steps"], len(report["epochs"]), report["continued"]) == (72, 12, 0)
    assert json.loads((killed / "training.json").read_bytes())["continued"] == 1
    assert "120 reviews; left out: 0 neutral, 0 without" in done.err
    assert "step 72 of 72: loss" in done.err
    assert "epoch 12 of 12: loss" in done.err
    accuracy = f"held-out accuracy {report['held_out_accuracy']:.1f} % on 24 reviews"
    rest = "(the paper's classifier on its test set: 92 %; always the commonest class: 50.0 %)"
    assert f"{accuracy} {rest}; the trained model is in {whole}" in done.out
    assert done.out == again.out.replace(str(killed), str(whole))


def test_a_folder_has_its_own_test_set_unless_another_is_named(
    forked: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "aclImdb"
    write_folder(folder / "train", 16)
    (folder / "train" / "unsup").mkdir()
    for number in range(3):
        (folder / "train" / "unsup" / f"{number}_0.txt").write_text("a boat was here", "utf-8")
    write_folder(folder / "test", 6, first=16)
    how = ("measures", "train-sentiment", command[2], "--reviews", folder, *HOW, "--epochs", "1")

    done = forked(*how, "--out", tmp_path / "own")
    assert done.code == 0, done.err
    assert "16 reviews; left out: 0 neutral, 3 without a sentiment, 0 repeated" in done.err
    assert "test set: 6 reviews; left out: 0 neutral" in done.err
    report = json.loads((tmp_path / "own" / "training.json").read_bytes())
    accuracy = f"accuracy on the test set {report['test_accuracy']:.1f} % on 6 reviews"
    rest = "(the paper's classifier on its test set: 92 %; always the commonest class: 50.0 %)"
    assert f"{accuracy} {rest}" in done.out
    assert (report["reviews_an_epoch"], report["reviews_unlabelled"]) == (16, 3)

    reviews = write_reviews(tmp_path / "other.csv", 10)
    done = forked(*how, "--test", reviews, "--out", tmp_path / "other")
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "other" / "training.json").read_bytes())
    assert report["test"]["files"][0]["file"] == "other.csv"
    assert report["test"]["reviews"] == report["reviews_held_out"] == 10

    done = forked(*how, "--test", tmp_path / "no.csv", "--out", tmp_path / "none")
    assert done.code == 1
    assert "no.csv: no such file" in done.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "a.csv: no such file"),
        ("", "a.csv: is empty"),
        ("text,label\nbread,0\nfair,great\n", "a.csv line 3, label: unknown label 'great'"),
        (
            'text,stars\n"two\nlines",1\nfair,6\n',
            "a.csv line 4, stars: '6' is not a number of stars",
        ),
        ("text,label\nbread, and butter,0\n", "a.csv line 2: has 3 columns"),
        ("text,label\na,0\nb,0\nc,1\n", "1 different review of the class «positive»"),
    ],
)
def test_bad_reviews_are_an_error_before_the_model_is_loaded(
    forked: Any, tmp_path: Path, content: str | None, says: str
) -> None:
    reviews = tmp_path / "a.csv"
    if content is not None:
        reviews.write_text(content, "utf-8")
    out = tmp_path / "out"
    done = forked("measures", "train-sentiment", "no-model", "--reviews", reviews, "--out", out)
    assert done.code == 1
    assert says in " ".join(done.err.split())
    assert "fix:" in done.err
    assert not out.exists()


def test_a_missing_model_leaves_nothing_that_looks_trained(
    forked: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    args = [str(tmp_path / "empty") if part.endswith("tiny-bert") else part for part in command]
    done = forked(*args, "--out", tmp_path / "out")
    assert done.code == 1
    assert "has no config.json" in done.err
    assert not list((tmp_path / "out").glob("*.json"))


def test_without_the_extra_an_error_says_what_to_install(forked: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,0\nb,0\nc,1\nd,1\n", "utf-8")
    args = ("measures", "train-sentiment", "m", "--reviews", tmp_path / "a.csv")
    gone = {"curation.models.train.sentiment": None}  # as if torch were not there
    done = forked(*args, "--out", tmp_path / "o", before=lambda: sys.modules.update(gone))
    assert done.code == 1
    assert "pip install 'curation[models]'" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "o").exists()
