"""A classifier of sentiment learns, is gone on with after a kill, and transformers opens it."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, pipeline

from curation.files import CurationError
from curation.models import classifier
from curation.models.tiny import make
from curation.models.train import sentiment
from curation.models.train.reviews import Reviews, read_reviews
from curation.models.train.sentiment import train
from curation.models.train.settings import Progress, SentimentSettings
from support import models as tiny
from support.reviews import ALL, BAD, GOOD, PLAIN, sentence, write_folder, write_reviews
from support.strike import KilledError, kill_at

SHORT: dict[str, Any] = {"length": 32, "batch": 8, "epochs": 2, "held_out": 0.25, "lr": 1e-3}
LEARNS: dict[str, Any] = {"length": 32, "batch": 16, "epochs": 6, "held_out": 0.2, "lr": 2e-3}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model over these words, untrained."""
    return make(tmp_path_factory.mktemp("base") / "tiny-bert", [ALL], family="masked", steps=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reviews:
    """24 reviews: 18 to learn from, so 3 steps of 8 an epoch, and 6 held out."""
    return read_reviews([write_reviews(tmp_path_factory.mktemp("small") / "a.csv", 24)])


def same(one: Path, other: Path) -> bool:
    left, right = (load_file(folder / "model.safetensors") for folder in (one, other))
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


# --- learning -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learnt(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    root = tmp_path_factory.mktemp("learnt")
    reviews = read_reviews([write_reviews(root / "a.csv", 240)])
    return root / "out", train(SentimentSettings(model=str(bert), **LEARNS), reviews, root / "out")


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
    whys = ("neutral", "repeated", "contradictory", "unlabelled", "in_test")
    assert [report[f"reviews_{why}"] for why in whys] == [0, 0, 0, 0, 0]
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


def test_the_optimiser_is_adam_without_decay(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[Any]()
    adam = torch.optim.Adam
    monkeypatch.setattr(torch.optim, "Adam", lambda *a, **k: made.append(adam(*a, **k)) or made[0])
    train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path)
    assert type(made[0]) is adam
    assert [group["weight_decay"] for group in made[0].param_groups] == [0]
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert len(made[0].param_groups[0]["params"]) == len(list(model.parameters()))


def test_three_classes_have_neutral_between(bert: Path, tmp_path: Path) -> None:
    reviews = read_reviews([write_reviews(tmp_path / "a.csv", 270, three=True)], classes=3)
    wanted = SentimentSettings(model=str(bert), classes=3, **LEARNS)
    report = train(wanted, reviews, tmp_path / "out")
    assert report["classes"] == ["negative", "neutral", "positive"]
    assert report["held_out_accuracy"] > 60 > report["commonest_class_held_out"]
    found = classifier.load(str(tmp_path / "out"))
    config = json.loads((tmp_path / "out" / "config.json").read_bytes())
    assert config["id2label"] == {"0": "negative", "1": "neutral", "2": "positive"}
    told = classifier.classify(found, [f"the soup was {w} here and today" for w in PLAIN])
    assert np.mean([s.neutral for s in told]) > 0.5


@pytest.mark.parametrize("name", ["gpt2", "roberta", "xlnet", "bart"])
def test_every_type_with_a_head_for_classes_can_be_trained(
    name: str, small: Reviews, tmp_path: Path
) -> None:
    folder = tiny.MAKERS[name](tmp_path / "base")
    wanted = SentimentSettings(model=str(folder), **{**SHORT, "length": 64, "epochs": 1})
    report = train(wanted, small, tmp_path / "out")
    assert 0 <= report["held_out_accuracy"] <= 100
    told = classifier.classify(classifier.load(str(tmp_path / "out")), ["a map was dull here"])[0]
    score = pipeline("text-classification", model=str(tmp_path / "out"))("a map was dull here")[0]
    assert score["score"] == pytest.approx(max(told), abs=1e-5)


def test_a_classifier_of_other_classes_gets_a_new_head(
    bert: Path, small: Reviews, tmp_path: Path
) -> None:
    train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path / "two")
    reviews = read_reviews([write_reviews(tmp_path / "a.csv", 30, three=True)], classes=3)
    wanted = SentimentSettings(model=str(tmp_path / "two"), classes=3, **SHORT)
    train(wanted, reviews, tmp_path / "three")
    assert classifier.load(str(tmp_path / "three")).classes == ("negative", "neutral", "positive")


def test_a_batch_in_parts_is_the_same_batch(small: Reviews, tmp_path: Path) -> None:
    # Dropout would draw differently, so this model has none.
    folder = tiny.MAKERS["gpt2"](tmp_path / "base")
    config = json.loads((folder / "config.json").read_bytes())
    config |= {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    told = {"model": str(folder), **SHORT}
    reports = [
        train(SentimentSettings(accumulate=parts, **told), small, tmp_path / f"{parts}")
        for parts in (1, 3)
    ]
    losses = [[epoch["loss"] for epoch in report["epochs"]] for report in reports]
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert losses[0][0] != losses[0][1]


def test_a_limit_holds_on_both_sides(bert: Path, small: Reviews, tmp_path: Path) -> None:
    report = train(SentimentSettings(model=str(bert), limit=4, **SHORT), small, tmp_path)
    assert report["reviews_an_epoch_by_class"] == {"negative": 2, "positive": 2}
    assert report["reviews_held_out_by_class"] == {"negative": 2, "positive": 2}
    assert report["steps"] == 2


@pytest.mark.parametrize("step", [None, 2])
def test_a_test_set_takes_the_place_of_the_held_out_share(
    bert: Path, tmp_path: Path, step: int | None
) -> None:
    folder = tmp_path / "aclImdb"
    write_folder(folder / "train", 20)
    write_folder(folder / "test", 8, first=20)
    (folder / "test" / "pos" / "99_9.txt").write_text("this song was lovely here", "utf-8")
    (folder / "train" / "pos" / "99_9.txt").write_text("this song was lovely here", "utf-8")
    test = read_reviews([folder], part="test")
    reviews = read_reviews([folder], test=test)
    wanted = SentimentSettings(model=str(bert), checkpoint_every=1, **SHORT)
    if step:
        with pytest.raises(KilledError):
            train(wanted, reviews, tmp_path / "out", tell=kill_at(step))
        with pytest.raises(CurationError, match=r"other settings \(the corpus\)"):
            train(wanted, read_reviews([folder]), tmp_path / "out")
    report = train(wanted, reviews, tmp_path / "out")
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


def test_long_reviews_lose_their_ends(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set[tuple[int, ...]]()
    outputs = classifier.Classifier.outputs

    def watched(self: Any, encoded: Any) -> Any:
        seen.update(tuple(one["input_ids"]) for one in encoded)
        return outputs(self, encoded)

    monkeypatch.setattr(classifier.Classifier, "outputs", watched)
    report = train(SentimentSettings(model=str(bert), **{**SHORT, "length": 5}), small, tmp_path)
    assert report["settings"]["length"] == 5
    found = classifier.load(str(tmp_path))
    assert found.window == 128  # its use is not bound to that length
    # [CLS], three words of each review, [SEP].
    words = [" ".join(small.text(n).split()[:3]) for n in small.numbers]
    wanted = set(map(tuple, found.loaded.tokenizer(words)["input_ids"]))
    assert {ids[:4] for ids in wanted} <= {ids[:4] for ids in seen}
    assert {len(ids) for ids in seen if ids[:4] in {ids[:4] for ids in wanted}} == {5}


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_a_killed_training_ends_as_if_it_had_not_been(
    bert: Path, small: Reviews, tmp_path: Path, step: int
) -> None:
    wanted = SentimentSettings(model=str(bert), checkpoint_every=2, **SHORT)
    whole = train(wanted, small, tmp_path / "whole")
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path / "killed", tell=kill_at(step))
    with pytest.raises(CurationError, match="has not ended"):
        classifier.load(str(tmp_path / "killed"))
    told: list[Progress] = []
    report = train(wanted, small, tmp_path / "killed", tell=told.append)
    # Checkpoints: after step 2, at the first epoch's end (3), after step 4. What tells of a step
    # comes before its checkpoint.
    assert told[0].step == {1: 0, 2: 0, 3: 2, 5: 4}[step]
    assert same(tmp_path / "whole", tmp_path / "killed")
    # Dropout differs from seed to seed, or this would not tell whether its state is brought back.
    train(replace(wanted, seed=2), small, tmp_path / "other")
    assert not same(tmp_path / "whole", tmp_path / "other")
    assert report["epochs"] == whole["epochs"]
    assert report["continued"] == (told[0].step > 0)


def test_a_kill_while_the_model_is_written_is_made_good(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = SentimentSettings(model=str(bert), **SHORT)

    def half(run: Any) -> None:
        (run.out / "config.json").write_bytes(b"half")
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(sentiment.SentimentTrainer, "_save_model", half)
        with pytest.raises(KilledError):
            train(wanted, small, tmp_path / "killed")
    with pytest.raises(CurationError, match="has not ended"):
        classifier.load(str(tmp_path / "killed"))
    train(wanted, small, tmp_path / "killed")
    train(wanted, small, tmp_path / "whole")
    assert same(tmp_path / "whole", tmp_path / "killed")


def test_a_training_that_has_ended_is_not_done_again(
    bert: Path, small: Reviews, tmp_path: Path
) -> None:
    wanted = SentimentSettings(model=str(bert), **SHORT)
    report = train(wanted, small, tmp_path)
    assert train(wanted, small, tmp_path, tell=kill_at(1)) == report
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path, restart=True, tell=kill_at(1))
    assert not (tmp_path / "config.json").exists()  # what is half new does not pass for a model


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lr": 5e-4}, r"--lr was 0\.001, is 0\.0005"),
        ({"epochs": 3, "batch": 9}, "--batch was 8, is 9; --epochs was 2, is 3"),
    ],
)
def test_other_settings_are_an_error_that_says_which(
    bert: Path, small: Reviews, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    wanted = {"model": str(bert), **SHORT}
    often = SentimentSettings(checkpoint_every=1, **wanted)
    with pytest.raises(KilledError):
        train(often, small, tmp_path, tell=kill_at(2))
    with pytest.raises(CurationError, match=says) as error:
        train(SentimentSettings(**{**wanted, **change}), small, tmp_path)
    assert "--restart" in error.value.fix
    other = read_reviews([write_reviews(tmp_path.with_suffix(".csv"), 26)])
    with pytest.raises(CurationError, match=r"other settings \(the corpus\)"):
        train(SentimentSettings(**wanted), other, tmp_path)


def test_a_folder_of_something_else_is_left_alone(
    bert: Path, small: Reviews, tmp_path: Path
) -> None:
    (tmp_path / "train-nsp.json").write_text("{}", "utf-8")  # another sort of training's
    with pytest.raises(CurationError, match=r"contains train-nsp\.json"):
        train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path, restart=True)
    assert (tmp_path / "train-nsp.json").read_text("utf-8") == "{}"


# --- what does not go ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"device": "map"}, "one device"),
        ({"accumulate": 9}, "a batch of 8 reviews cannot be split into 9 parts"),
        (
            {"length": 129},
            "reviews of 129 tokens are not allowed",
        ),  # the model's window is 128
        ({"length": 2}, "reviews of 2 tokens"),  # two special tokens and one of the review
        ({"lr": 1e30}, "the loss is"),
        ({"classes": 3}, "the reviews have 2 classes, the settings have 3"),
    ],
)
def test_settings_that_do_not_go_are_errors(
    bert: Path, small: Reviews, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    with pytest.raises(CurationError, match=says) as error:
        train(SentimentSettings(**{"model": str(bert), **SHORT, **change}), small, tmp_path)
    assert error.value.fix


def test_where_memory_runs_out_the_mend_is_more_parts(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(sentiment.SentimentTrainer, "_logits", full)
    wanted = SentimentSettings(model=str(bert), accumulate=2, **SHORT)
    with pytest.raises(CurationError, match="out of memory with 8 reviews in 2 parts") as error:
        train(wanted, small, tmp_path)
    assert "--accumulate 4" in error.value.fix


def test_a_model_without_such_a_head_is_an_error(small: Reviews, tmp_path: Path) -> None:
    wanted = SentimentSettings(model=str(tiny.MAKERS["mamba"](tmp_path / "base")), **SHORT)
    with pytest.raises(CurationError, match="no text classifier for this type") as error:
        train(wanted, small, tmp_path / "out")
    assert "bert-base-cased" in error.value.fix


def test_a_model_without_its_body_is_an_error(bert: Path, small: Reviews, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "more"))
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}), "utf-8")
    with pytest.raises(CurationError, match=r"has no trained weights for bert\.encoder\.layer\.2"):
        train(SentimentSettings(model=str(folder), **SHORT), small, tmp_path / "out")
