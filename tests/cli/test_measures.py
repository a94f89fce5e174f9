"""``curation measures``: what is shown is what is kept; other settings hold once; what blocks."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import read_cats
from curation.files import dump_json
from curation.formats.predictions import read_predictions
from curation.models import tiny
from support.commands import set_to


def said(done: Any) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


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


@pytest.mark.parametrize("name", ["statistics", "sentiment"])
def test_a_campaigns_measure_is_what_is_kept_and_is_made_once(
    forked: Any, finished: Path, untouched: Any, name: str
) -> None:
    before = untouched(finished)
    assert said(forked("measures", name, "-c", finished, "--json")) == kept(
        finished, f"{name}.json"
    )
    assert untouched(finished) == before


@pytest.mark.parametrize("name", ["statistics", "sentiment"])
def test_a_release_measures_as_the_campaign_that_made_it(
    forked: Any, finished: Path, release: list[str], name: str
) -> None:
    own, gold = (
        said(forked("measures", name, *where, "--json")) for where in (["-c", finished], release)
    )
    if name == "sentiment":
        # A gold file's terms have no ids of their own: draws of whole terms come in another order.
        for found in (own, gold):
            for row in found["rows"]:
                row["difference"] = row["difference"]["value"]
                row["labels"] = {
                    label: {n: cell["share"] for n, cell in shares.items()}
                    for label, shares in row["labels"].items()
                }
        assert own == gold
    else:
        assert own["kinds"] == gold["kinds"]
        assert own["vocabulary"] == gold["vocabulary"]
        assert own["writers"]["writers"] == 10
        assert gold["writers"] is None
        assert "gold file" in gold["not_checked"]["writers"]


def test_other_knobs_are_for_once_and_keep_nothing(
    forked: Any, finished: Path, untouched: Any
) -> None:
    before = untouched(finished)
    found = said(forked("measures", "sentiment", "-c", finished, "--classes", "3", "--json"))
    assert found["classes"] == 3
    assert "neutral" in found["rows"][0]["labels"]["stereotype"]
    assert kept(finished, "sentiment.json")["classes"] == 2
    assert untouched(finished) == before


def test_another_language_is_not_checked_and_no_figure_is_made_up(
    forked: Any, release: list[str]
) -> None:
    found = said(forked("measures", "sentiment", *release, "--language", "id", "--json"))
    assert "rows" not in found
    assert "VADER's lexicon is English" in found["not_checked"]["sentiment"]
    shown = forked("measures", "sentiment", *release, "--language", "id")
    assert shown.code == 0
    assert shown.out.strip().startswith("sentiment: not checked: VADER's lexicon is English")
    assert not re.search(r"\d", shown.out)


def test_labels_without_a_classifier_are_an_error(forked: Any, release: list[str]) -> None:
    done = forked("measures", "sentiment", *release, "--labels", "negative,positive")
    assert done.code == 1
    assert not done.out
    assert "labels negative, positive: labels name a classifier's outputs" in done.err
    assert "--model" in done.err


def test_what_is_not_checked_is_not_written(
    forked: Any, release: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "scores.json"
    done = forked("measures", "sentiment", *release, "--language", "id", "--scores", path)
    assert done.code == 1
    assert "scores.json: there is nothing to write: VADER's lexicon is English" in done.err
    assert not path.exists()


@pytest.mark.parametrize("name", ["statistics", "sentiment", "keywords", "pitfalls"])
def test_a_language_that_is_none_is_an_error(forked: Any, release: list[str], name: str) -> None:
    done = forked("measures", name, *release, "--language", "klingon")
    assert done.code == 1
    assert "--language: 'klingon' is not a language code" in done.err


def test_without_torch_a_classifier_is_an_error(
    forked: Any, release: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import curation.models.classifier

    monkeypatch.delattr(curation.models, "classifier")
    monkeypatch.delitem(sys.modules, "curation.models.classifier")
    monkeypatch.setitem(sys.modules, "torch", None)
    done = forked("measures", "sentiment", *release, "--model", "some/model")
    assert done.code == 1
    assert "some/model: models cannot be run" in done.err
    assert "pip install 'curation[models]'" in done.err


def test_paths_in_the_settings_are_from_the_campaigns_folder_on(
    forked: Any, finished: Path, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATION_CACHE", str(tmp_path / "cache"))
    (tmp_path / "corpus.txt").write_text("The kind baker.\n", "utf-8")
    counts = finished / "counts.tsv.gz"
    assert forked("measures", "count", tmp_path / "corpus.txt", "--out", counts).code == 0
    shutil.copytree(classifier, finished / "mine")
    set_to(finished, 'reference = "wordfreq"', 'reference = "counts.tsv.gz"')
    set_to(finished, 'sentiment = "vader"', 'sentiment = "mine"')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / counts.name).write_text("Another file.", "utf-8")
    (elsewhere / "mine").mkdir()
    found = said(forked("measures", "keywords", "-c", finished, "--json"))
    assert found["reference"]["tokens"] == 3
    found = said(forked("measures", "keywords", "-c", finished, "--least", "1", "--json"))
    assert found["reference"]["tokens"] == 3
    found = said(forked("measures", "sentiment", "-c", finished, "--json"))
    assert found["by"]["model"] == "mine"
    # What is named on the command line is looked for where that is.
    done = forked("measures", "keywords", "-c", finished, "--reference", counts.name)
    assert "counts.tsv.gz: not a table of counted words" in done.err
    # A file that is not in the campaign's folder.
    counts.rename(tmp_path / "far.tsv.gz")
    far = f'reference = "{tmp_path / "far.tsv.gz"}"'
    set_to(finished, 'reference = "counts.tsv.gz"', far)
    found = said(forked("measures", "keywords", "-c", finished, "--json"))
    assert found["reference"]["name"] == "far.tsv.gz"


def test_a_classifier_that_was_trained_anew_is_asked_again(
    forked: Any, finished: Path, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATION_CACHE", str(tmp_path / "cache"))
    shutil.copytree(classifier, finished / "mine")
    set_to(finished, 'sentiment = "vader"', 'sentiment = "mine"')
    run = ("measures", "sentiment", "-c", finished, "--json")
    first = said(forked(*run))
    path = finished / "mine" / "config.json"
    config = path.read_text("utf-8")
    assert config.count('"neg"') >= 1
    swapped = config.replace('"neg"', '"x"').replace('"pos"', '"neg"').replace('"x"', '"pos"')
    path.write_text(swapped, "utf-8")
    again = said(forked(*run))
    assert again["by"]["classes"] != first["by"]["classes"]


def test_sentiment_makes_sentimentlm(forked: Any, example: Path, tmp_path: Path) -> None:
    gold, scores = example / "7-release" / "0.1.0" / "test.json", tmp_path / "scores.json"
    assert forked("measures", "sentiment", "--gold", gold, "--scores", scores).code == 0
    wanted = {a.id for cat in read_cats(gold) for a in cat.associations}
    assert {name for name, _ in read_predictions(scores)} == wanted
    results = []
    for by, more in (("VADER", []), ("scores.json", ["--sentiment", scores])):
        path = tmp_path / "baselines.json"
        assert forked("scores", "baselines", "--gold", gold, "--json", path, *more).code == 0
        found = {one["model"]: one["overall"] for one in json.loads(path.read_text("utf-8"))}
        results.append(found[f"SentimentLM ({by})"])
    assert results[0] == results[1]  # VADER both times


def test_a_campaign_keeps_its_sentiment_as_predictions(forked: Any, finished: Path) -> None:
    path = finished / "scores.json"
    assert forked("measures", "sentiment", "-c", finished, "--scores", path).code == 0
    assert json.loads(path.read_text("utf-8")) == kept(finished, "sentiment_scores.json")


def test_a_classifier_is_asked_once(
    forked: Any, finished: Path, classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURATION_CACHE", str(tmp_path / "cache"))
    set_to(finished, 'sentiment = "vader"', f'sentiment = "{classifier}"')
    first = said(forked("measures", "sentiment", "-c", finished, "--json"))
    assert first["by"]["model"] == classifier.name
    assert first["rows"][0]["cats"] == kept(finished, "statistics.json")["overall"]["cats"]
    (store,) = (tmp_path / "cache" / "sentiment").iterdir()
    lines = store.read_bytes().splitlines()
    # Killed while it wrote: the last line is half, and the one before it whole.
    store.write_bytes(b"\n".join(lines[:20]) + b"\n" + lines[20][:30])
    again = said(forked("measures", "sentiment", "-c", finished, "--classes", "3", "--json"))
    now = store.read_bytes().splitlines()
    assert now[:20] == lines[:20]  # what was whole was not asked for again
    assert {line[:30] for line in now} >= {line[:30] for line in lines}
    assert again["rows"][0]["difference"] == first["rows"][0]["difference"]
    baselines = forked("scores", "baselines", "-c", finished, "--json", tmp_path / "b.json")
    assert baselines.code == 0, baselines.err
    found = {one["model"]: one["overall"] for one in json.loads((tmp_path / "b.json").read_bytes())}
    given = forked(
        *("scores", "baselines", "-c", finished, "--json", tmp_path / "c.json"),
        *("--sentiment", finished / "4-measures" / "sentiment_scores.json"),
    )
    assert given.code == 0, given.err
    told = {one["model"]: one["overall"] for one in json.loads((tmp_path / "c.json").read_bytes())}
    name = f"SentimentLM ({classifier.name})"
    assert found[name] == told[name]


def test_a_tokenizer_counts_tokens(forked: Any, release: list[str], classifier: Path) -> None:
    found = said(forked("measures", "statistics", *release, "--tokenizer", classifier, "--json"))
    overall = found["overall"]
    assert overall["mean_words"] < overall["mean_tokens"] < overall["mean_characters"]
    assert {gap["unit"] for gap in found["gaps"]} == {"characters", "words", "tokens"}


def test_what_is_not_there_is_said(cli: Any, forked: Any, release: list[str]) -> None:
    command = ("measures", "statistics", *release)
    for done, said in (
        (cli(*command, "--tokenizer", "nowhere/at-all", HF_HUB_OFFLINE="1"), "nowhere/at-all"),
        (forked(*command, "--gold", "none.json"), "none.json: no such file"),
    ):
        assert done.code == 1
        assert said in done.err
        assert "fix:" in done.err


def test_without_a_cat_there_is_nothing_to_measure(forked: Any, campaign: Any, small: Any) -> None:
    assert forked("import", "answers", small.writers, "-c", campaign.root).code == 0
    done = forked("measures", "statistics", "-c", campaign.root)
    assert done.code == 1
    assert "no CAT was kept" in done.err


# --- what blocks a release ----------------------------------------------------------------------


def published(path: Path, *, sentence: str) -> None:
    """A StereoSet file with one item that every validator agrees on."""
    golds = {"stereotype": "She is up early.", "anti-stereotype": sentence, "unrelated": "5 is odd"}
    item = {
        "id": "late-1",
        "target": "baker",
        "bias_type": "profession",
        "context": "My neighbour is a baker.",
        "sentences": [
            {
                "id": f"late-1-{n}",
                "sentence": text,
                "gold_label": gold,
                "labels": [{"label": gold, "human_id": f"h{h}"} for h in range(5)],
            }
            for n, (gold, text) in enumerate(golds.items())
        ],
    }
    path.write_bytes(
        dump_json({"version": "1", "data": {"intersentence": [item], "intrasentence": []}})
    )


def test_a_pitfall_blocks_a_release_until_it_is_accepted_or_left_out(
    forked: Any, finished: Path, tmp_path: Path
) -> None:
    published(tmp_path / "late.json", sentence="She is BLANK until noon.")
    assert forked("import", "stereoset", tmp_path / "late.json", "-c", finished).code == 0
    assert forked("trust", "report", "-c", finished).code == 0
    done = forked("release", "build", "-c", finished)
    assert done.code == 1
    assert "pitfalls block the release: blank_left 1;" in done.err
    assert 'accept = ["blank_left"] in [release]' in done.err
    before = (finished / "7-release" / "0.1.0" / "README.md").read_text("utf-8")

    set_to(finished, "accept = []", 'accept = ["blank_left"]')
    set_to(finished, 'version = "0.1.0"', 'version = "0.2.0"')
    assert forked("release", "build", "-c", finished).code == 0
    after = (finished / "7-release" / "0.2.0" / "README.md").read_text("utf-8")
    assert "| `blank_left` (accepted) |" in after
    assert "(accepted)" not in before

    set_to(finished, 'accept = ["blank_left"]', "accept = []")
    path = finished / "campaign.toml"
    text = re.sub(r"leave_out = \[(.*)\]", r'leave_out = [\1, "late-1"]', path.read_text("utf-8"))
    path.write_text(text.replace('version = "0.2.0"', 'version = "0.3.0"'), "utf-8")
    assert forked("trust", "report", "-c", finished).code == 0
    assert forked("release", "build", "-c", finished).code == 0
    decisions = (finished / "3-decisions" / "decisions.jsonl").read_text("utf-8").splitlines()
    (found,) = [row for row in map(json.loads, decisions) if row["item"] == "late-1"]
    assert (found["kept"], found["reason"]) == (False, "left_out")
    assert [verdict["gold"] for verdict in found["verdicts"]] == [
        "stereotype",
        "anti-stereotype",
        "unrelated",
    ]


def test_what_is_accepted_must_be_a_pitfall(forked: Any, finished: Path) -> None:
    set_to(finished, "accept = []", 'accept = ["blank_lefd"]')
    done = forked("release", "build", "-c", finished)
    assert done.code == 1
    assert "[release] accept names 'blank_lefd', which is not a code" in done.err
    assert "did you mean 'blank_left'?" in done.err


def test_what_a_setting_lets_in_blocks_no_release(forked: Any, finished: Path) -> None:
    set_to(finished, "name_target = true", "name_target = false")
    found = said(forked("measures", "pitfalls", "-c", finished, "--json"))
    (row,) = [row for row in found["table"] if row["code"] == "target_missing"]
    assert (row["count"], row["why"]) == (None, "name_target = false in [rounds]")


def test_an_item_to_leave_out_that_is_not_there_is_a_warning(forked: Any, finished: Path) -> None:
    path = finished / "campaign.toml"
    text = re.sub(r"leave_out = \[.*\]", 'leave_out = ["nobody"]', path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    done = forked("decisions", "filter", "-c", finished)
    assert done.code == 0
    assert "leave_out names 'nobody', which is not an item of this campaign" in done.err
