"""``curation scores train-nsp``: early errors, a kill in the middle, its end."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.strike import kill_once_there
from support.topics import articles, tiny_bert, write_corpus

HOW = ("--length", "32", "--batch", "16", "--epochs", "30", "--held-out", "0.2", "--lr", "1e-3")
HOW += ("--device", "cpu", "--checkpoint-every", "2")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Ten articles of six sentences, eight to learn from: 40 pairs an epoch, 3 steps of 16."""
    root = tmp_path_factory.mktemp("nsp")
    model, corpus = tiny_bert(root / "tiny-bert"), write_corpus(root / "a.txt", 10, 6)
    return ("scores", "train-nsp", str(model), "--corpus", str(corpus), *HOW)


def test_a_killed_run_goes_on_and_ends_the_same(
    cli: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = cli(*command, "--out", whole, **ONE_THREAD)
    assert done.code == 0, done.err
    kill_once_there(killed / "checkpoint.pt", *command, "--out", str(killed))
    assert not (killed / "head.json").exists()
    again = cli(*command, "--out", killed, **ONE_THREAD)
    assert again.code == 0, again.err
    assert "continues at step" in again.err
    for name in ("model.safetensors", "head.safetensors"):
        assert (whole / name).read_bytes() == (killed / name).read_bytes()

    report = json.loads((whole / "training.json").read_bytes())
    assert (report["steps"], len(report["epochs"]), report["continued"]) == (90, 30, 0)
    assert json.loads((killed / "training.json").read_bytes())["continued"] == 1
    assert "10 articles, 60 sentences" in done.err
    assert "step 90 of 90: loss" in done.err
    assert "epoch 30 of 30: loss" in done.err
    accuracy = f"held-out accuracy {report['held_out_accuracy']:.1f} % on 10 pairs"
    assert f"{accuracy} (the paper's heads: 92.5 to 98.5 %)" in done.out
    assert done.out == again.out.replace(str(killed), str(whole))


def test_a_folder_of_wikiextractor_is_learnt_from_and_so_many_pairs_are_tested_on(
    forked: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    # Ten articles of six sentences: 7 test pairs take two of them, the others have 8 · 5 pairs.
    for number, article in enumerate(articles(10, 6)):
        folder = tmp_path / "text" / ("AA" if number < 5 else "AB")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "wiki_00").open("a", encoding="utf-8") as file:
            text = "\n".join(article)
            file.write(f'<doc id="{number}" url="u" title="T">\nT\n\n{text}\n\n</doc>\n')
    how = ("--corpus", tmp_path / "text", "--test-pairs", "7", "--limit", "30", "--epochs", "1")
    how += ("--optimizer", "bertadam", "--length", "32", "--batch", "16", "--device", "cpu")
    done = forked(*command[:3], *how, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "10 articles, 60 sentences; left out: 0 articles of fewer than two" in done.err
    assert "on 7 pairs (the paper's heads: 92.5 to 98.5 %)" in done.out
    report = json.loads((tmp_path / "out" / "training.json").read_bytes())
    assert (report["pairs_held_out"], report["pairs_an_epoch"]) == (7, 30)
    assert report["corpus"][0]["file"] == "text"
    assert report["settings"]["optimizer"] == "bertadam"

    done = forked(*command[:3], *how, "--test-pairs", "50", "--out", tmp_path / "more")
    assert done.code == 1
    assert "50 test pairs are too many: the corpus has 50 pairs in 10 articles" in done.err


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "no such file"), ("", "is empty"), ("one\n\ntwo", "no article of two sentences")],
)
def test_a_bad_corpus_is_an_error_before_the_model_is_loaded(
    forked: Any, tmp_path: Path, content: str | None, says: str
) -> None:
    if content is not None:
        (tmp_path / "a.txt").write_text(content, "utf-8")
    out = tmp_path / "out"
    done = forked("scores", "train-nsp", "no-model", "--corpus", tmp_path / "a.txt", "--out", out)
    assert done.code == 1
    assert says in done.err
    assert "fix:" in done.err
    assert not out.exists()


def test_a_missing_model_leaves_nothing_that_looks_trained(
    forked: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    args = [str(tmp_path / "empty") if part.endswith("tiny-bert") else part for part in command]
    done = forked(*args, "--out", tmp_path / "out")
    assert done.code == 1
    assert "without config.json" in done.err
    assert not list((tmp_path / "out").glob("*.json"))


def test_without_the_extra_an_error_says_what_to_install(forked: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n\nc\nd\n", "utf-8")
    args = ("scores", "train-nsp", "m", "--corpus", tmp_path / "a.txt")
    gone = {"curation.models.train.next_sentence": None}  # as if torch were not there
    done = forked(*args, "--out", tmp_path / "o", before=lambda: sys.modules.update(gone))
    assert done.code == 1
    assert "pip install 'curation[models]'" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "o").exists()
