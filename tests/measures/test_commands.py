"""``curation measures``: what is shown is what is kept; other settings hold once; errors."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.catsets.stereoset import read_cats
from curation.formats.predictions import read_predictions
from curation.models import tiny
from support.commands import refused, run, set_to, told, well


def kept(root: Path, name: str) -> Any:
    return json.loads((root / "4-measures" / name).read_text("utf-8"))


@pytest.fixture(scope="session")
def release(example: Path) -> list[str]:
    """The example's release as gold files on a command line."""
    folder = example / "7-release" / "0.1.0"
    return ["--gold", str(folder / "dev.json"), "--gold", str(folder / "test.json")]


@pytest.fixture(scope="session")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny classifier with drawn weights that says what its classes are."""
    import torch
    from transformers import BertForSequenceClassification

    folder = tmp_path_factory.mktemp("classifier")
    texts = ["The baker is kind.", "Snow is cold and wet.", "He sleeps late on Sundays."] * 4
    tiny.make(folder, texts, family="masked")
    torch.manual_seed(3)
    model = BertForSequenceClassification.from_pretrained(
        folder, num_labels=3, id2label={0: "neg", 1: "neu", 2: "pos"}
    )
    model.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what classifiers said is kept."""
    monkeypatch.setenv("CURATION_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_measured_is_kept(example: Path, release: list[str], untouched: Any) -> None:
    before = untouched(example)
    own, gold = (told("measures", "statistics", *of) for of in (("-c", example), release))
    assert own == kept(example, "statistics.json")
    assert (own["kinds"], own["vocabulary"]) == (gold["kinds"], gold["vocabulary"])
    assert own["writers"]["writers"] == 10
    assert gold["writers"] is None
    assert "gold file" in gold["not_checked"]["writers"]
    own, gold = (told("measures", "sentiment", *of) for of in (("-c", example), release))
    assert own == kept(example, "sentiment.json")
    # A gold file's terms have no ids of their own: draws of whole terms come in another order.
    for row in (*own["rows"], *gold["rows"]):
        row["difference"] = row["difference"]["value"]
        for shares in row["labels"].values():
            shares.update({name: cell["share"] for name, cell in shares.items()})
    assert own == gold
    # Other settings are for once, and keep nothing.
    found = told("measures", "sentiment", "-c", example, "--classes", "3")
    assert (found["classes"], own["classes"]) == (3, 2)
    assert "neutral" in found["rows"][0]["labels"]["stereotype"]
    assert untouched(example) == before


def test_another_language_is_not_checked(release: list[str], tmp_path: Path) -> None:
    measure = ("measures", "sentiment", *release, "--language", "id")
    found = told(*measure)
    assert "rows" not in found
    assert "VADER's lexicon is English" in found["not_checked"]["sentiment"]
    out = well(*measure).out
    assert out.strip().startswith("sentiment: not checked: VADER's lexicon is English")
    assert not re.search(r"\d", out)
    path = tmp_path / "scores.json"
    err = run(*measure, "--scores", path).err
    assert "scores.json: there is nothing to write: VADER's lexicon is English" in err
    assert not path.exists()


def test_options_that_do_not_fit(release: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    err = refused("measures", "sentiment", *release, "--labels", "negative,positive")
    assert "labels negative, positive: labels name a classifier's outputs" in err
    assert "--model" in err
    measured = [("measures", name) for name in ("statistics", "sentiment", "keywords", "pitfalls")]
    for command in (*measured, ("scores", "baselines")):
        err = refused(*command, *release, "--language", "klingon")
        assert "--language: 'klingon' is not a language code" in err
    err = refused("measures", "statistics", *release, "--gold", "none.json")
    assert "none.json: no such file" in err
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    err = refused("measures", "statistics", *release, "--tokenizer", "nowhere/at-all")
    assert "nowhere/at-all" in err

    import curation.models.classifier

    monkeypatch.delattr(curation.models, "classifier")
    monkeypatch.delitem(sys.modules, "curation.models.classifier")
    monkeypatch.setitem(sys.modules, "torch", None)
    err = refused("measures", "sentiment", *release, "--model", "some/model")
    assert "some/model: models cannot be run" in err
    assert "pip install 'curation[models]'" in err


def test_paths_in_the_settings_are_from_the_campaigns_folder_on(
    finished: Path, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus.txt").write_text("The kind baker.\n", "utf-8")
    counts = finished / "counts.tsv.gz"
    well("measures", "count", tmp_path / "corpus.txt", "--out", counts)
    shutil.copytree(classifier, finished / "mine")
    set_to(finished, 'reference = "wordfreq"', 'reference = "counts.tsv.gz"')
    set_to(finished, 'sentiment = "vader"', 'sentiment = "mine"')
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "mine").mkdir(parents=True)
    (elsewhere / counts.name).write_text("Another file.", "utf-8")
    monkeypatch.chdir(elsewhere)
    keywords = ("measures", "keywords", "-c", finished)
    for more in ([], ["--least", "1"]):
        assert told(*keywords, *more)["reference"]["tokens"] == 3
    first = told("measures", "sentiment", "-c", finished)
    assert first["by"]["model"] == "mine"
    # What is named on the command line is looked for where that is.
    err = run(*keywords, "--reference", counts.name).err
    assert "counts.tsv.gz: not a table of counted words" in err
    # A file that is not in the campaign's folder.
    far = counts.rename(tmp_path / "far.tsv.gz")
    set_to(finished, 'reference = "counts.tsv.gz"', f'reference = "{far}"')
    assert told(*keywords)["reference"]["name"] == "far.tsv.gz"
    # A classifier that was trained anew is asked again.
    path = finished / "mine" / "config.json"
    names = {"neg": "pos", "pos": "neg"}
    config = re.sub('"(neg|pos)"', lambda m: f'"{names[m[1]]}"', path.read_text("utf-8"))
    path.write_text(config, "utf-8")
    again = told("measures", "sentiment", "-c", finished)
    assert again["by"]["classes"] != first["by"]["classes"]


def baselines(of: list[Any], path: Path) -> dict[str, Any]:
    """The overall results of the baselines, by their names."""
    well("scores", "baselines", *of, "--json", path)
    return {one["model"]: one["overall"] for one in json.loads(path.read_bytes())}


def test_sentiment_makes_sentimentlm(example: Path, tmp_path: Path) -> None:
    gold, scores, out = (tmp_path / name for name in ("gold.json", "scores.json", "out.json"))
    content = json.loads((example / "7-release" / "0.1.0" / "test.json").read_bytes())
    content["data"] = {kind: items[:20] for kind, items in content["data"].items()}
    gold.write_text(json.dumps(content), "utf-8")
    well("measures", "sentiment", "--gold", gold, "--scores", scores)
    wanted = {a.id for cat in read_cats(gold) for a in cat.associations}
    assert {name for name, _ in read_predictions(scores)} == wanted
    own = baselines(["--gold", gold], out)
    given = baselines(["--gold", gold, "--sentiment", scores], out)
    assert own["SentimentLM (VADER)"] == given["SentimentLM (scores.json)"]  # VADER both times
    well("measures", "sentiment", "-c", example, "--scores", scores)
    assert json.loads(scores.read_text("utf-8")) == kept(example, "sentiment_scores.json")


def test_without_a_cat_there_is_nothing_to_measure(campaign: Campaign, small: Any) -> None:
    well("import", "answers", small.writers, "-c", campaign.root)
    assert "no CAT was kept" in run("measures", "statistics", "-c", campaign.root).err


def test_what_a_setting_lets_in_blocks_no_release(finished: Path) -> None:
    set_to(finished, "name_target = true", "name_target = false")
    found = told("measures", "pitfalls", "-c", finished)
    (row,) = [row for row in found["table"] if row["code"] == "target_missing"]
    assert (row["count"], row["why"]) == (None, "name_target = false in [rounds]")
