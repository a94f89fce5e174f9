"""What a classifier said is kept, and never taken for what another would say."""

import json
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
import torch

from curation.campaign.settings import MeasureSettings
from curation.measures import steps as measures
from curation.measures.steps import classify
from curation.models import classifier, loading, tiny
from curation.records import Cat
from support.cats import cat
from support.expected import fails
from support.reviews import ALL

TEXTS = ("the bread was awful here", "a song was lovely today", "this boat was round at noon")
TWO = ("negative", "positive")


def save(base: Path, folder: Path, *, seed: int, labels: tuple[str, ...] = TWO) -> Path:
    """A classifier with a head that is drawn."""
    torch.manual_seed(seed)
    loaded = loading.load(str(base), head="classes", fresh=labels)
    loaded.model.classifier.weight.normal_(0, 2)
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model over these words, untrained."""
    return tiny.make(tmp_path_factory.mktemp("base"), [ALL], family="masked", steps=0)


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """A classifier of two classes."""
    return save(base, tmp_path / "mine", seed=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is kept."""
    monkeypatch.setenv(measures.CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "sentiment"


Case = tuple[list[Cat], MeasureSettings]


def case(name: str | Path, *texts: str, **given: Any) -> Case:
    """One CAT, and how its sentiment is measured."""
    settings = MeasureSettings().model_copy(update={"sentiment": str(name), **given})
    return [cat("the fair", *(texts or TEXTS))], settings


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a classifier is given from now on."""
    found, classify = list[str](), classifier.classify

    def keep(model: Any, texts: Any, **told: Any) -> Any:
        found.extend(texts)
        return classify(model, texts, **told)

    monkeypatch.setattr(classifier, "classify", keep)
    return found


def directly(name: Path, **told: Any) -> list[float]:
    """What a classifier says, without anything that is kept."""
    found = classifier.classify(classifier.load(str(name), **told), TEXTS)
    return [one.positive - one.negative for one in found]


def values(case: Case) -> list[float]:
    """The sentiment of each association."""
    return [feeling.value for feeling in classify(*case)[0].values()]


def test_a_text_is_asked_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch)
    first = values(case(folder))
    assert first == pytest.approx(directly(folder), abs=1e-5)
    assert sorted(set(found), key=found.index) == sorted(TEXTS, key=len)
    found.clear()
    assert values(case(folder)) == first
    assert found == []
    more = values(case(folder, "a map was dull", *TEXTS[:2]))
    assert found == ["a map was dull"]
    assert more[1:] == first[:2]


def test_another_model_in_the_same_folder_is_asked_anew(base: Path, folder: Path) -> None:
    first = values(case(folder))
    shutil.rmtree(folder)
    save(base, folder, seed=2)  # trained again: same name, same place
    second = values(case(folder))
    assert second == pytest.approx(directly(folder), abs=1e-5)
    assert second != pytest.approx(first, abs=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"model_max_length": 5},  # less of a text is read
        {"id2label": {"0": "positive", "1": "negative"}},
    ],
)
def test_a_change_of_a_model_changes_what_is_kept(folder: Path, change: dict[str, Any]) -> None:
    first = values(case(folder))
    name = "config.json" if "id2label" in change else "tokenizer_config.json"
    content = json.loads((folder / name).read_bytes())
    (folder / name).write_text(json.dumps({**content, **change}), "utf-8")
    second = values(case(folder))
    assert second == pytest.approx(directly(folder), abs=1e-5)
    assert second != pytest.approx(first, abs=1e-4)


def test_other_labels_are_another_classifier(folder: Path, cache: Path) -> None:
    first = values(case(folder))
    turned = values(case(folder, labels=("positive", "negative")))
    assert turned == pytest.approx([-value for value in first])
    assert values(case(folder, labels=TWO)) == first
    assert len(list(cache.iterdir())) == 2  # labels that say the same are the same


@pytest.mark.parametrize("told", [{"dtype": "bfloat16"}, {"device": "cuda:1"}, {"revision": "b"}])
def test_dtype_device_and_revision_are_kept_apart(folder: Path, told: dict[str, str]) -> None:
    about = classifier.load(str(folder)).about
    assert told.keys() <= about.keys()
    assert measures._cache_file(about) != measures._cache_file({**about, **told})


@pytest.mark.parametrize(
    "left",
    [
        *(b'["abc",0.1,0.', b"\0\0\0", b"{}\n5\nnull\n", b"\n\n"),
        *(b'[["a"],0.5,0.5,0.0]\n', b'["a","b","c","d"]\n', b"[null,0.5,0.5,0.0]\n"),
    ],
)
def test_what_a_kill_left_is_asked_again_and_harms_no_line(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    first = values(case(folder))
    (store,) = cache.iterdir()
    store.write_bytes(left)
    found = asked(monkeypatch)
    assert values(case(folder)) == first
    assert len(found) == 3
    assert len(measures.read_cache(store)) == 3  # also the first line behind what was left
    assert [orjson.loads(line) for line in store.read_bytes().splitlines()[-3:]]


def test_a_line_that_another_command_is_writing_stays(folder: Path, cache: Path) -> None:
    values(case(folder))
    (store,) = cache.iterdir()
    before = store.read_bytes() + b'["abc",0.1,0.'
    store.write_bytes(before)
    values(case(folder))
    assert store.read_bytes() == before + b"\n"


def test_where_nothing_can_be_kept_the_mend_names_the_variable(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(measures.CACHE, str(tmp_path / "file"))
    with fails("cannot be stored there", fix=measures.CACHE):
        classify(*case(folder))


def test_a_blank_sentence_is_named(folder: Path) -> None:
    with fails("association «c1»: has no sentence"):
        classify(*case(folder, "a map was dull", " ", "a map was fine"))


def test_neutral_texts_need_a_classifier_that_knows_them(base: Path, tmp_path: Path) -> None:
    folder = save(base, tmp_path / "two", seed=1)
    with fails("has no neutral class"):
        classify(*case(folder, classes=3))
    three = save(base, tmp_path / "three", seed=1, labels=("neg", "neu", "pos"))
    assert len(values(case(three, classes=3))) == 3
