"""A classifier of sentiment learns, is gone on with after a kill, and transformers opens it."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, pipeline

from curation.models import classifier
from curation.models.train.reviews import Reviews, read_reviews
from curation.models.train.settings import Progress, SentimentSettings
from support.expected import Patch, fails
from support.models import Made, edit
from support.reviews import BAD, GOOD, PLAIN, sentence, write_folder, write_reviews
from support.trainings import Training, of_sentiment, same

LEARNS: dict[str, Any] = {"length": 32, "batch": 16, "epochs": 6, "held_out": 0.2, "lr": 2e-3}


@pytest.fixture(scope="module")
def whole(bert: Path, small: Reviews, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A training that nobody disturbs, and its report. Nobody may change its folder."""
    run = of_sentiment(bert, small, tmp_path_factory.mktemp("whole"))
    return run.root, run(checkpoint_every=2)


# --- learning -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learnt(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    root = tmp_path_factory.mktemp("learnt")
    reviews = read_reviews([write_reviews(root / "a.csv", 240)])
    return root / "out", of_sentiment(bert, reviews, root)("out", **LEARNS)


def test_a_small_model_learns_a_planted_sentiment(learnt: Any) -> None:
    _, report = learnt
    assert report["held_out_accuracy"] > 90
    assert report["commonest_class_held_out"] == 50
    assert report["epochs"][-1]["loss"] < 0.3 < report["epochs"][0]["loss"]
    assert report["paper_held_out_accuracy"] == 92


def test_its_own_classifier_tells_negative_from_positive(learnt: Any) -> None:
    found = classifier.load(str(learnt[0]))
    assert found.classes == ("negative", "positive")
    draw = random.Random(2)
    bad = classifier.classify(found, [sentence(draw, word) for word in BAD * 5])
    good = classifier.classify(found, [sentence(draw, word) for word in GOOD * 5])
    assert np.mean([s.negative for s in bad]) > 0.8 > 0.2 > np.mean([s.negative for s in good])
    assert sum(s.negative > s.positive for s in bad) >= 18
    assert sum(s.positive > s.negative for s in good) >= 18


def test_transformers_own_pipeline_opens_it(learnt: Any) -> None:
    texts = ["the bread was awful today and here", "a song was lovely at noon and again"]
    told = pipeline("text-classification", model=str(learnt[0]))(texts)
    assert [one["label"] for one in told] == ["negative", "positive"]
    found = classifier.classify(classifier.load(str(learnt[0])), texts)
    scores = [found[0].negative, found[1].positive]
    assert [one["score"] for one in told] == pytest.approx(scores, abs=1e-5)
    settings = json.loads((learnt[0] / "tokenizer.json").read_bytes())
    assert (settings["truncation"], settings["padding"]) == (None, None)


def test_the_report_says_what_was_done(learnt: Any, bert: Path) -> None:
    out, report = learnt
    assert json.loads((out / "training.json").read_bytes()) == report
    # 240 reviews, a fifth of each class held out: 192 to learn from, 12 steps of 16 an epoch.
    assert [report[f"reviews{of}"] for of in ("", "_an_epoch", "_held_out")] == [240, 192, 48]
    assert report["reviews_held_out_by_class"] == {"negative": 24, "positive": 24}
    assert report["reviews_an_epoch_by_class"] == {"negative": 96, "positive": 96}
    assert (report["steps"], report["warmup_steps"]) == (72, 36)  # no more than half
    for why in ("neutral", "repeated", "contradictory", "unlabelled", "in_test"):
        assert report[f"reviews_{why}"] == 0
    assert (report["test"], report["test_accuracy"]) == (None, None)
    assert report["settings"]["model"] == "tiny-bert"  # no folder of this machine
    assert str(bert.parent) not in json.dumps(report)
    assert report["base"]["revision"].startswith("sha256:")
    assert (report["precision"], report["continued"], len(report["epochs"])) == ("float32", 0, 6)
    assert report["corpus"][0]["file"] == "a.csv"
    assert not (out / "checkpoint.pt").exists()


def test_the_defaults_are_the_papers() -> None:
    usual = SentimentSettings(model="m")
    assert (usual.length, usual.batch, usual.lr, usual.epochs) == (256, 32, 1e-4, 7)


def test_the_optimiser_is_adam_without_decay(run: Training, monkeypatch: Patch) -> None:
    made = list[Any]()
    adam = torch.optim.Adam
    monkeypatch.setattr(torch.optim, "Adam", lambda *a, **k: made.append(adam(*a, **k)) or made[0])
    run()
    assert type(made[0]) is adam
    (group,) = made[0].param_groups
    assert group["weight_decay"] == 0
    model = AutoModelForSequenceClassification.from_pretrained(run.root)
    assert len(group["params"]) == len(list(model.parameters()))


def test_three_classes_have_neutral_between(run: Training, tmp_path: Path) -> None:
    reviews = read_reviews([write_reviews(tmp_path / "a.csv", 270, three=True)], classes=3)
    report = run("out", corpus=reviews, classes=3, **LEARNS)
    assert report["classes"] == ["negative", "neutral", "positive"]
    assert report["held_out_accuracy"] > 60 > report["commonest_class_held_out"]
    config = json.loads((tmp_path / "out" / "config.json").read_bytes())
    assert config["id2label"] == {"0": "negative", "1": "neutral", "2": "positive"}
    found = classifier.load(str(tmp_path / "out"))
    told = classifier.classify(found, [f"the soup was {w} here and today" for w in PLAIN])
    assert np.mean([s.neutral for s in told]) > 0.5


@pytest.mark.parametrize("name", ["gpt2", "roberta", "xlnet", "bart"])
def test_every_type_with_a_head_can_be_trained(made: Made, run: Training, name: str) -> None:
    report = run(model=str(made(name)), length=64, epochs=1)
    assert 0 <= report["held_out_accuracy"] <= 100
    told = classifier.classify(classifier.load(str(run.root)), ["a map was dull here"])[0]
    score = pipeline("text-classification", model=str(run.root))("a map was dull here")[0]
    assert score["score"] == pytest.approx(max(told), abs=1e-5)


def test_other_classes_get_a_new_head(run: Training, whole: Any, tmp_path: Path) -> None:
    reviews = read_reviews([write_reviews(tmp_path / "a.csv", 30, three=True)], classes=3)
    run("three", model=str(whole[0]), corpus=reviews, classes=3)
    found = classifier.load(str(tmp_path / "three"))
    assert found.classes == ("negative", "neutral", "positive")


@pytest.mark.parametrize("step", [None, 2])
def test_a_test_set_replaces_the_held_out_share(
    run: Training, tmp_path: Path, step: int | None
) -> None:
    folder = tmp_path / "aclImdb"
    write_folder(folder / "train", 20)
    write_folder(folder / "test", 8, first=20)
    for side in ("train", "test"):
        (folder / side / "pos" / "99_9.txt").write_text("this song was lovely here", "utf-8")
    reviews = read_reviews([folder], test=read_reviews([folder], part="test"))
    how: dict[str, Any] = {"out": "out", "checkpoint_every": 1}
    if step:
        run.kill(step, corpus=reviews, **how)
        run.fails("other settings (the corpus)", corpus=read_reviews([folder]), **how)
    report = run(corpus=reviews, **how)
    # All of the 20 reviews are learnt from, 10 of each class; the 21st is in the test set.
    assert report["reviews_an_epoch_by_class"] == {"negative": 10, "positive": 10}
    assert report["reviews_held_out_by_class"] == {"negative": 4, "positive": 5}
    assert (report["reviews"], report["reviews_in_test"]) == (20, 1)
    assert (report["test"]["reviews"], report["test"]["files"][0]["files"]) == (9, 9)
    assert report["test_accuracy"] == report["held_out_accuracy"]
    assert report["commonest_class_held_out"] == pytest.approx(500 / 9)
    # The accuracy is that of the saved model on the texts of the test folder.
    found = classifier.load(str(tmp_path / "out"))
    files = [(path, path.parent.name) for path in sorted((folder / "test").rglob("*.txt"))]
    told = classifier.classify(found, [path.read_text("utf-8") for path, _ in files])
    right = sum(
        (one.positive > one.negative) == (sort == "pos")
        for one, (_, sort) in zip(told, files, strict=True)
    )
    assert report["test_accuracy"] == pytest.approx(100 * right / 9)


def test_long_reviews_lose_their_ends(small: Reviews, run: Training, monkeypatch: Patch) -> None:
    seen = set[tuple[int, ...]]()
    outputs = classifier.Classifier.outputs

    def watched(self: Any, encoded: Any) -> Any:
        seen.update(tuple(one["input_ids"]) for one in encoded)
        return outputs(self, encoded)

    monkeypatch.setattr(classifier.Classifier, "outputs", watched)
    assert run(length=5)["settings"]["length"] == 5
    found = classifier.load(str(run.root))
    assert found.window == 128  # its use is not bound to that length
    # [CLS], three words of each review, [SEP].
    words = [" ".join(small.text(n).split()[:3]) for n in small.numbers]
    starts = {tuple(ids[:4]) for ids in found.loaded.tokenizer(words)["input_ids"]}
    assert starts <= {ids[:4] for ids in seen}
    assert {len(ids) for ids in seen if ids[:4] in starts} == {5}


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [2, 5])
def test_a_killed_training_ends_like_a_whole_one(whole: Any, run: Training, step: int) -> None:
    run.kill(step, checkpoint_every=2)
    with fails("has not ended"):
        classifier.load(str(run.root))
    told: list[Progress] = []
    report = run(checkpoint_every=2, tell=told.append)
    # Checkpoints: after step 2, at the first epoch's end (3), after step 4. What tells of a step
    # comes before its checkpoint.
    assert told[0].step == {2: 0, 5: 4}[step]
    assert same(whole[0], run.root)
    assert report["epochs"] == whole[1]["epochs"]
    assert report["continued"] == (told[0].step > 0)


# --- what does not go ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"accumulate": 9}, "a batch of 8 reviews cannot be split into 9 parts"),
        ({"length": 129}, "reviews of 129 tokens are not allowed"),  # the window is 128
        ({"length": 2}, "reviews of 2 tokens"),  # two special tokens and one of the review
        ({"classes": 3}, "the reviews have 2 classes, the settings have 3"),
    ],
)
def test_settings_that_do_not_go_are_errors(
    run: Training, change: dict[str, Any], says: str
) -> None:
    run.fails(says, **change)


def test_a_model_without_such_a_head_is_an_error(made: Made, run: Training) -> None:
    run.fails("no text classifier for this type", "bert-base-cased", model=str(made("mamba")))


def test_a_model_without_its_body_is_an_error(bert: Path, run: Training, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "more"))
    edit(folder / "config.json", num_hidden_layers=3)
    missing = "has no trained weights for bert.encoder.layer.2"
    run.fails(missing, out="out", model=str(folder))
