"""Any classifier tells sentiment; what it tells is what transformers alone would."""

import importlib
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from curation.models import loading
from curation.models.classifier import Sentiment, classify, load
from support import models as tiny
from support.expected import Patch, fails, raising, short_of_memory
from support.models import Made, edit, offline

HF: Any = importlib.import_module("transformers")
LONG = " ".join(tiny.TEXTS[:6])  # more tokens than any window here
TEXTS = [*tiny.TEXTS[:9], "bread", LONG, tiny.TEXTS[3], "kind and patient"]
TWO = ("NEGATIVE", "POSITIVE")
Classifiers = Callable[..., Path]


@pytest.fixture(scope="module")
def built(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Classifiers:
    """A classifier whose outputs differ from text to text, without training; made once."""
    root = tmp_path_factory.mktemp("classifiers")

    def build(name: str = "bert", labels: tuple[str, ...] = TWO) -> Path:
        torch.manual_seed(1)
        loaded = loading.load(str(made(name)), head="classes", fresh=labels)
        body = {id(part) for part in loaded.model.base_model.parameters()}
        for part in loaded.model.parameters():
            if id(part) not in body:
                part.normal_(0, 0.5 if part.dim() > 1 else 0)  # no bias: far from the edges
        folder = root / f"{name}-{'-'.join(labels)}".replace(" ", "_") / "classifier"
        loaded.model.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        return folder

    return cache(build)


@pytest.fixture
def changed(built: Classifiers, tmp_path: Path) -> Classifiers:
    """A copy whose configuration says something else."""

    def change(**told: Any) -> Path:
        folder = Path(shutil.copytree(built(), tmp_path / "changed"))
        edit(folder / "config.json", **told)
        return folder

    return change


def slowly(folder: Path, texts: list[str]) -> np.ndarray:
    """Softmax of each text, one at a time, by transformers alone; shape (texts, classes)."""
    tokenizer = HF.AutoTokenizer.from_pretrained(folder)
    model = HF.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for text in texts:
        told = {"truncation": True, "max_length": tiny.WINDOW, "return_tensors": "pt"}
        inputs = tokenizer(text, **told)
        if "Distil" in type(model).__name__:
            del inputs["token_type_ids"]
        with torch.no_grad():
            found.append(model(**inputs).logits[0].softmax(-1).numpy())
    return np.array(found)


# --- what is told -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["bert", "distilbert", "gpt2", "roberta", "xlnet", "llama", "bart"]
)
def test_it_is_what_transformers_tells_one_text_at_a_time(built: Classifiers, name: str) -> None:
    texts = TEXTS if name != "xlnet" else [text for text in TEXTS if text != LONG]
    wanted = slowly(built(name), texts)
    classifier = load(str(built(name)))
    found = classify(classifier, texts)
    assert not classifier.alone
    np.testing.assert_allclose([s.negative for s in found], wanted[:, 0], atol=1e-5)
    np.testing.assert_allclose([s.positive for s in found], wanted[:, 1], atol=1e-5)
    # Far more than the tolerance above, or all would be alike; how much depends on the tokenizer,
    # whose training breaks ties as it happens to.
    assert np.ptp(wanted[:, 0]) > 0.005
    assert {s.neutral for s in found} == {0.0}
    assert [sum(s) for s in found] == pytest.approx([1.0] * len(texts))
    assert found[3] == found[-2]  # the same text


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama"])
def test_the_size_of_batches_changes_nothing(built: Classifiers, name: str) -> None:
    classifier = load(str(built(name)))
    classifier.batch_tokens = 100_000
    whole = classify(classifier, TEXTS)
    for tokens in (1, 150, 300, 100_000):
        told: list[int] = []
        classifier.batch_tokens = tokens
        again = classify(classifier, TEXTS[::-1], tell=told.append)
        np.testing.assert_allclose(again[::-1], whole, atol=1e-5)
        assert sum(told) == len(TEXTS)
        assert (len(told) == 1) is (tokens == 100_000)
    assert classify(classifier, []) == []


STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")


@pytest.mark.parametrize(
    ("labels", "outputs"),
    [
        (STARS, ([0, 1], [2], [3, 4])),  # outputs of one sentiment are added up
        (("Positive", "Negative"), ([1], [], [0])),
        (("neu", "pos", "neg"), ([2], [0], [1])),
    ],
)
def test_labels_may_stand_in_any_order(built: Classifiers, labels: Any, outputs: Any) -> None:
    folder = built("bert", labels)
    classifier = load(str(folder))
    wanted = slowly(folder, TEXTS)
    sums = np.array([wanted[:, which].sum(1) for which in outputs]).T
    np.testing.assert_allclose(classify(classifier, TEXTS), sums, atol=1e-5)
    order = {n: sort for sort, which in zip(Sentiment._fields, outputs, strict=True) for n in which}
    assert classifier.classes == tuple(order[n] for n in range(len(labels)))


def test_outputs_without_names_are_named_by_whoever_knows(changed: Classifiers) -> None:
    folder = changed(id2label={"0": "LABEL_0", "1": "LABEL_1"}, label2id={})
    with fails("«LABEL_0» does not say which", fix="negative,neutral,positive"):
        load(str(folder))
    one = classify(load(str(folder), labels=("negative", "positive")), TEXTS)
    other = classify(load(str(folder), labels=("positive", "negative")), TEXTS)
    assert [s.negative for s in one] == [s.positive for s in other]
    assert [s.negative for s in one] != [s.negative for s in other]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (("negative", "neutral", "positive"), "has 2 classes, but 3 labels are given"),
        (("negative", "joy"), "«joy» does not say which"),
        (("negative", "neutral"), "no class for negative or for positive"),
    ],
)
def test_labels_that_do_not_fit_are_errors(built: Classifiers, labels: Any, says: str) -> None:
    with fails(says, fix="its 2 outputs"):
        load(str(built()), labels=labels)


# --- long texts, memory, padding ----------------------------------------------------------------


def test_a_long_text_loses_its_end_and_that_is_said(built: Classifiers) -> None:
    classifier = load(str(built()))
    found = classify(classifier, [LONG, "bread", f"{LONG} {LONG}"])
    assert classifier.truncated == 2
    assert classifier.notices == [
        "classifier: the ends of texts with more than 96 tokens were not read: 2 of 3 texts"
    ]
    assert found[0] == found[2]  # they begin alike
    classify(classifier, ["bread"])
    assert classifier.notices[0].endswith(": 2 of 4 texts")  # said once, of all
    start = classifier.encode([LONG])[0]["input_ids"]
    assert list(start[:-1]) == classifier.loaded.tokenizer(LONG)["input_ids"][:95]
    assert len(start) == 96


def test_no_memory_halves_the_batches(built: Classifiers, monkeypatch: Patch) -> None:
    classifier = load(str(built()))
    classifier.batch_tokens = 100_000
    whole = classify(classifier, TEXTS)
    model = classifier.loaded.model
    monkeypatch.setattr(model, "forward", short_of_memory(model.forward, most=200))
    np.testing.assert_allclose(classify(classifier, TEXTS), whole, atol=1e-5)
    assert classifier.batch_tokens <= 200 * 2
    assert any("out of memory: using batches of" in notice for notice in classifier.notices)


def test_no_memory_for_one_text_is_an_error_and_others_stay(
    built: Classifiers, monkeypatch: Patch
) -> None:
    classifier = load(str(built()))
    full, odd = torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("something else")
    monkeypatch.setattr(classifier.loaded.model, "forward", raising(full))
    with fails("not enough memory for one text of 96 tokens", fix="on the CPU"):
        classify(classifier, TEXTS)
    monkeypatch.setattr(classifier.loaded.model, "forward", raising(odd))
    with pytest.raises(RuntimeError, match="something else"):
        classify(classifier, TEXTS)


def test_a_model_that_sees_padding_reads_one_by_one(built: Classifiers, tmp_path: Path) -> None:
    # FNet mixes all tokens of a row by a Fourier transform, and knows no mask.
    tokenizer = HF.AutoTokenizer.from_pretrained(built())
    torch.manual_seed(0)
    labels = {"id2label": {0: "negative", 1: "positive"}, "max_position_embeddings": tiny.WINDOW}
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    config = HF.FNetConfig(vocab_size=len(tokenizer), initializer_range=0.5, **size, **labels)
    HF.FNetForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    classifier = load(str(tmp_path))
    assert classifier.alone
    assert classifier.notices == [
        f"{tmp_path.name}: cannot read texts in batches; it reads them one by one, slower"
    ]
    model = HF.FNetForSequenceClassification.from_pretrained(tmp_path).eval()
    for text, found in zip(TEXTS[:5], classify(classifier, TEXTS[:5]), strict=True):
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            wanted = model(ids).logits[0].softmax(-1)
        assert (found.negative, found.positive) == pytest.approx(tuple(wanted.tolist()), abs=1e-5)


@pytest.mark.parametrize("empty", ["", " \n"])
def test_an_empty_text_is_an_error_that_says_which(built: Classifiers, empty: str) -> None:
    with fails("text 2: is empty"):
        classify(load(str(built())), ["bread", empty])


@pytest.mark.parametrize("name", ["bart", "t5", "roberta", "xlnet", "gpt2"])
def test_a_text_may_hold_what_is_a_token_to_the_model(built: Classifiers, name: str) -> None:
    # BART and T5 break where texts of a batch have unlike numbers of ends.
    classifier = load(str(built(name)))
    tokenizer = classifier.loaded.tokenizer
    special = max(tokenizer.all_special_tokens, key=len)
    texts = ["He is </s> kind.", f"He is {special} kind{tokenizer.eos_token}", "kind"]
    for one in classifier.encode(texts):
        ids, plain = list(one["input_ids"]), tokenizer("kind")["input_ids"]
        for token in (special, tokenizer.eos_token):
            number = tokenizer.convert_tokens_to_ids(token)
            assert ids.count(number) == plain.count(number)
    whole = classify(classifier, texts)
    alone = [classify(classifier, [text])[0] for text in texts]
    np.testing.assert_allclose(whole, alone, atol=1e-5)


# --- opening ------------------------------------------------------------------------------------


def test_what_was_opened_is_said(built: Classifiers) -> None:
    about = load(str(built()), dtype="bfloat16").about
    assert about["versions"]["transformers"] == HF.__version__
    said = {
        "model": "classifier",
        "dtype": "bfloat16",
        "device": "cpu",
        "revision": loading.fingerprint(built()),
        "architecture": "BertForSequenceClassification",
        "classes": ["negative", "positive"],
        "window": 96,
    }
    assert {name: about[name] for name in said} == said
    assert "family" not in about  # of language models


def test_16_bits_tell_nearly_the_same(built: Classifiers) -> None:
    whole = classify(load(str(built())), TEXTS)
    coarse = classify(load(str(built()), dtype="bfloat16"), TEXTS)
    np.testing.assert_allclose(coarse, whole, atol=0.05)
    assert coarse != whole


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bert", "has no trained weights for"),
        ("gpt2", "has no trained weights for"),
        ("mamba", "models of this type cannot classify"),
    ],
)
def test_a_model_without_a_trained_head_is_an_error(made: Made, name: str, says: str) -> None:
    with fails(says, fix="curation measures train-sentiment"):
        load(str(made(name)))


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"problem_type": "multi_label_classification"}, "its output is several labels at once"),
        ({"id2label": {"0": "negative", "1": "toxic"}}, "«toxic» does not say"),
        ({"id2label": {"0": "neutral", "1": "negative"}}, "for negative or for positive"),
    ],
)
def test_another_output_is_an_error(changed: Classifiers, told: dict[str, Any], says: str) -> None:
    with fails(says):
        load(str(changed(**told)))


def test_a_regression_is_an_error(built: Classifiers) -> None:
    with fails("its output is a number"):
        load(str(built("bert", ("score",))))


def test_a_training_that_has_not_ended_is_no_classifier(changed: Classifiers) -> None:
    folder = changed()
    (folder / "train-sentiment.json").write_text("{}", "utf-8")
    with fails("its training has not ended", fix="train-sentiment"):
        load(str(folder))


def test_a_classifier_in_a_cache_needs_no_network(built: Classifiers, tmp_path: Path) -> None:
    commit = tiny.cached(built(), tmp_path)
    code = "from curation.models.classifier import classify, load\nfound = load(*names)\n"
    code += "print(found.about['revision'], classify(found, ['bread'])[0].positive)"
    revision, positive = offline(code, tmp_path, "bakery/small").split()
    assert revision == commit
    assert float(positive) == pytest.approx(slowly(built(), ["bread"])[0, 1], abs=1e-5)
