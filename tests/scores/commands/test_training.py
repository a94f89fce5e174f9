"""``scores train-nsp`` and ``measures train-sentiment``: early errors, a kill, their end."""

import json
import random
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from curation.catsets.stereoset import dataset
from curation.files import dump_json
from curation.formats.predictions import read_predictions
from curation.models.tiny import make
from support import commands
from support.cats import cat
from support.commands import refused, told, well
from support.reviews import ALL, BAD, GOOD, sentence, write_folder, write_reviews
from support.strike import strike
from support.topics import articles, tiny_bert, write_corpus

NSP, SENTIMENT = ("scores", "train-nsp"), ("measures", "train-sentiment")
FILES = {NSP: ("--corpus", "a.txt"), SENTIMENT: ("--reviews", "a.csv")}
HOW = ("--length", "32", "--batch", "16", "--device", "cpu")
HELD = ("--held-out", "0.2", "--checkpoint-every", "2")
OFTEN = "(the paper's classifier on its test set: 92 %; always the commonest class: 50.0 %)"


class Training(NamedTuple):
    """A command up to ``--out``, the folder that it made, and what it said."""

    command: tuple[str, ...]
    out: Path
    done: commands.Ran


def trained(root: Path, *words: str | Path) -> Training:
    command = (*map(str, words), *HOW, *HELD)
    return Training(command, root / "out", well(*command, "--out", root / "out"))


@pytest.fixture(scope="module")
def nsp(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Ten articles of six sentences, eight to learn from: 40 pairs an epoch, 3 steps of 16."""
    root = tmp_path_factory.mktemp("nsp")
    model, corpus = tiny_bert(root / "tiny-bert"), write_corpus(root / "a.txt", 10, 6)
    how = ("--epochs", "30", "--lr", "1e-3")
    return trained(root, *NSP, model, "--corpus", corpus, *how)


@pytest.fixture(scope="module")
def sentiment(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """120 reviews, 96 to learn from: 6 steps of 16 an epoch."""
    root = tmp_path_factory.mktemp("sentiment")
    model = make(root / "tiny-bert", [ALL], family="masked", steps=0)
    how = ("--epochs", "12", "--lr", "2e-3")
    return trained(root, *SENTIMENT, model, "--reviews", write_reviews(root / "a.csv", 120), *how)


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 CATs whose stereotypes are negative, and whose anti-stereotypes are positive."""
    draw = random.Random(5)
    cats = [
        cat(
            "the baker was here",
            *(sentence(draw, draw.choice(of)) for of in (BAD, GOOD, (BAD, GOOD)[n % 2])),
            name=f"c{n}-",
            target=f"baker {n % 5}",
        )
        for n in range(20)
    ]
    path = tmp_path_factory.mktemp("gold") / "dev.json"
    path.write_bytes(dump_json(dataset(cats, {}, version="1.0")))
    return path


# --- next-sentence heads --------------------------------------------------------------------------


def test_a_killed_training_of_a_head_goes_on(nsp: Training, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    died = commands.run(*nsp.command, "--out", killed, before=strike(killed, at=20))
    assert died.code == -signal.SIGKILL
    assert (killed / "checkpoint.pt").exists()
    assert not (killed / "head.json").exists()
    again = well(*nsp.command, "--out", killed)
    assert "continues at step" in again.err
    assert nsp.done.out == again.out.replace(str(killed), str(nsp.out))
    for name in ("model.safetensors", "head.safetensors"):
        assert (nsp.out / name).read_bytes() == (killed / name).read_bytes()
    report = json.loads((nsp.out / "training.json").read_bytes())
    assert (report["steps"], len(report["epochs"])) == (90, 30)
    for text in ("10 articles, 60 sentences", "step 90 of 90: loss", "epoch 30 of 30: loss"):
        assert text in nsp.done.err
    accuracy = f"held-out accuracy {report['held_out_accuracy']:.1f} % on 10 pairs"
    assert f"{accuracy} (the paper's heads: 92.5 to 98.5 %)" in nsp.done.out


def test_a_folder_of_wikiextractor_is_learnt_from(nsp: Training, tmp_path: Path) -> None:
    # Ten articles of six sentences: 7 test pairs take two of them, the others have 8 · 5 pairs.
    for number, article in enumerate(articles(10, 6)):
        folder = tmp_path / "text" / ("AA" if number < 5 else "AB")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "wiki_00").open("a", encoding="utf-8") as file:
            text = "\n".join(article)
            file.write(f'<doc id="{number}" url="u" title="T">\nT\n\n{text}\n\n</doc>\n')
    how = ("--corpus", tmp_path / "text", "--test-pairs", "7", "--limit", "30", "--epochs", "1")
    run = (*nsp.command[:3], *HOW, *how, "--optimizer", "bertadam")
    done = well(*run, "--out", tmp_path / "out")
    assert "10 articles, 60 sentences; left out: 0 articles with fewer than two" in done.err
    assert "on 7 pairs (the paper's heads: 92.5 to 98.5 %)" in done.out
    report = json.loads((tmp_path / "out" / "training.json").read_bytes())
    assert (report["pairs_held_out"], report["pairs_an_epoch"]) == (7, 30)
    assert report["corpus"][0]["file"] == "text"
    assert report["settings"]["optimizer"] == "bertadam"
    err = refused(*run, "--test-pairs", "50", "--out", tmp_path / "more")
    assert "50 test pairs are too many: the corpus has 50 pairs in 10 articles" in err


# --- classifiers of sentiment ---------------------------------------------------------------------


def test_what_is_trained_finds_a_planted_sentiment(
    sentiment: Training, gold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATION_CACHE", str(tmp_path / "cache"))
    measure = ("measures", "sentiment", "--gold", gold, "--model", sentiment.out)
    found = told(*measure, "--scores", tmp_path / "scores.json")
    assert (found["by"]["model"], found["by"]["classes"]) == ("out", ["negative", "positive"])
    row = found["rows"][0]
    shares = {label: row["labels"][label]["negative"]["share"] for label in row["labels"]}
    assert shares["stereotype"] > 85 > 15 > shares["anti-stereotype"]
    assert shares["anti-stereotype"] < shares["unrelated"] < shares["stereotype"]
    assert row["difference"]["value"] > 70
    scores = dict(read_predictions(tmp_path / "scores.json"))
    assert len(scores) == 60
    assert all(scores[f"c{n}-0"] < scores[f"c{n}-1"] for n in range(20))
    assert "has no neutral class" in refused(*measure, "--classes", "3")


def test_a_classifier_is_trained(sentiment: Training) -> None:
    report = json.loads((sentiment.out / "training.json").read_bytes())
    assert (report["steps"], len(report["epochs"])) == (72, 12)
    for text in (
        "120 reviews; left out: 0 neutral, 0 without",
        "step 72 of 72: loss",
        "epoch 12 of 12: loss",
    ):
        assert text in sentiment.done.err
    accuracy = f"held-out accuracy {report['held_out_accuracy']:.1f} % on 24 reviews"
    said = f"{accuracy} {OFTEN}; the trained model is in {sentiment.out}"
    assert said in sentiment.done.out


def test_a_folder_has_its_own_test_set_unless_another_is_named(
    sentiment: Training, tmp_path: Path
) -> None:
    folder = tmp_path / "aclImdb"
    write_folder(folder / "train", 16)
    (folder / "train" / "unsup").mkdir()
    for number in range(3):
        (folder / "train" / "unsup" / f"{number}_0.txt").write_text("a boat was here", "utf-8")
    write_folder(folder / "test", 6, first=16)
    model = sentiment.command[2]
    run = (*SENTIMENT, model, "--reviews", folder, *HOW, *HELD, "--epochs", "1", "--lr", "2e-3")

    done = well(*run, "--out", tmp_path / "own")
    assert "16 reviews; left out: 0 neutral, 3 without a sentiment, 0 repeated" in done.err
    assert "test set: 6 reviews; left out: 0 neutral" in done.err
    own = json.loads((tmp_path / "own" / "training.json").read_bytes())
    assert (own["reviews_an_epoch"], own["reviews_unlabelled"]) == (16, 3)
    assert f"accuracy on the test set {own['test_accuracy']:.1f} % on 6 reviews {OFTEN}" in done.out
    reviews = write_reviews(tmp_path / "other.csv", 10)
    done = well(*run, "--test", reviews, "--out", tmp_path / "other")
    assert "on 10 reviews" in done.out
    err = refused(*run, "--test", tmp_path / "no.csv", "--out", tmp_path / "none")
    assert "no.csv: no such file" in err


# --- errors before the model is loaded ------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "content", "says"),
    [
        (NSP, None, "a.txt: no such file"),
        (NSP, "one\n\ntwo", "no article of at least two sentences"),
        (SENTIMENT, None, "a.csv: no such file"),
        (
            SENTIMENT,
            'text,stars\n"two\nlines",1\nfair,6\n',
            "a.csv line 4, stars: '6' is not a num",
        ),
    ],
)
def test_bad_texts_are_an_error(
    tmp_path: Path, command: tuple[str, str], content: str | None, says: str
) -> None:
    option, name = FILES[command]
    file, out = tmp_path / name, tmp_path / "out"
    if content is not None:
        file.write_text(content, "utf-8")
    err = refused(*command, "no-model", option, file, "--out", out)
    assert says in " ".join(err.split())
    assert not out.exists()


@pytest.mark.parametrize("name", ["nsp", "sentiment"])
def test_a_missing_model_leaves_nothing_that_looks_trained(
    request: pytest.FixtureRequest, tmp_path: Path, name: str
) -> None:
    (tmp_path / "empty").mkdir()
    first, second, _, *how = request.getfixturevalue(name).command
    err = refused(first, second, tmp_path / "empty", *how, "--out", tmp_path / "out")
    assert "has no config.json" in err
    assert not list((tmp_path / "out").glob("*.json"))


@pytest.mark.parametrize(
    ("command", "text", "module"),
    [
        (NSP, "a\nb\n\nc\nd\n", "next_sentence"),
        (SENTIMENT, "text,label\na,0\nb,0\nc,1\nd,1\n", "sentiment"),
    ],
)
def test_without_the_extra_an_error_says_what_to_install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, str],
    text: str,
    module: str,
) -> None:
    # As if torch were not there.
    monkeypatch.setitem(sys.modules, f"curation.models.train.{module}", None)
    option, name = FILES[command]
    (tmp_path / name).write_text(text, "utf-8")
    err = refused(*command, "m", option, tmp_path / name, "--out", tmp_path / "o")
    assert "pip install 'curation[models]'" in err
    assert not (tmp_path / "o").exists()
