"""The rule nsp: BERT's own head and trained ones, and two sentences as one text."""

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoTokenizer,
    BertForNextSentencePrediction,
    FNetConfig,
    FNetForNextSentencePrediction,
)

from curation.models import nsp
from curation.models.forward import Row
from curation.models.loading import Loaded, load
from curation.models.nsp import Frame, frame_of, texts
from curation.models.rules import Refusal, ScoringRequest
from support.expected import Patch, fails
from support.heads import with_head
from support.models import Made, edit
from support.profiles import trained_head

CONTEXT = "My neighbour the baker gets up before the sun does, and sings."
PAIRS = [
    *((CONTEXT, s) for s in ("He is kind.", "A potter makes bowls, cups and jugs.", "Clouds!")),
    *(("The fiddlers were cheerful.", s) for s in ("They sing.", "He is kind.", "Mountains.")),
    ("She has a white house by the lake with two grey cats and sings.", "She asked."),
]
ASKS = [ScoringRequest("intersentence", *pair) for pair in PAIRS]
TRAINED = ("bert", "roberta", "albert", "distilbert", "deberta", "xlnet", "gpt2", "llama", "mamba")


@pytest.fixture
def bert(made: Made) -> Loaded:
    return with_head(made("bert"))


@pytest.fixture(scope="module")
def kept(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What train-nsp leaves of a GPT-2; nobody may change it."""
    folder = tmp_path_factory.mktemp("saved")
    base = {"model": "bakery/gpt2", "revision": "abc"}
    nsp.save_next_sentence(folder, with_head(made("gpt2")), base=base)
    return folder


@pytest.fixture
def saved(kept: Path, tmp_path: Path) -> Path:
    """A copy of it that may be harmed."""
    return Path(shutil.copytree(kept, tmp_path / "saved"))


def scores(runner: nsp.PairRunner, asks: Sequence[ScoringRequest] = ASKS) -> list[Any]:
    found = nsp.score(runner, "nsp", asks)
    assert all(isinstance(value, float) for value in found)
    return list(found)


def near(runner: nsp.PairRunner, within: float = 2e-5) -> Any:
    """What equals the scores of a runner."""
    return pytest.approx(scores(runner), abs=within)


def of_transformers(model: Any, tokenizer: Any, *without: str) -> list[float]:
    """The scores of the pairs, one at a time, by transformers alone."""
    found = []
    for pair in PAIRS:
        given = tokenizer(*pair, return_tensors="pt")
        for name in without:
            given.pop(name)
        logits = model(**given).logits[0].double()
        found.append(float(torch.log_softmax(logits, -1)[0]))
    return found


# --- what is computed ---------------------------------------------------------------------------


@torch.inference_mode()
def test_berts_own_head_says_what_transformers_says(made: Made) -> None:
    folder = made("bert_pretrained")
    runner = nsp.load_next_sentence(str(folder))
    assert (runner.pack, runner.loaded.notices) == (True, [])
    found = scores(runner)
    model = BertForNextSentencePrediction.from_pretrained(folder).eval()
    wanted = of_transformers(model, AutoTokenizer.from_pretrained(folder))
    assert found == pytest.approx(wanted, abs=2e-5)
    assert max(found) - min(found) > 0.02  # a thousand times what may differ


@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_head_pools_as_its_family_says(made: Made, tmp_path: Path, name: str) -> None:
    nsp.save_next_sentence(tmp_path, with_head(made(name)), base={})
    found = scores(nsp.PairRunner(with_head(made(name))))
    segments = name in ("bert", "albert")
    wanted = [trained_head(tmp_path, ask, segments=segments) for ask in ASKS]
    assert found == pytest.approx(wanted, abs=5e-5)
    assert max(found) - min(found) > 0.02


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "distilbert", "xlnet", "gpt2"])
def test_packed_rows_give_what_single_pairs_give(made: Made, name: str, monkeypatch: Patch) -> None:
    loaded = with_head(made(name))
    packed, plain = nsp.PairRunner(loaded), nsp.PairRunner(loaded, plain=True, batch_tokens=1)
    assert (packed.pack, packed.loaded.notices) == (True, [])
    rows: list[Row] = []
    batches = packed._batches
    monkeypatch.setattr(packed, "_batches", lambda some: rows.extend(some) or batches(some))
    assert scores(packed) == near(plain)
    assert len(rows) < len(ASKS)  # several pairs a row
    if name == "gpt2":  # contexts are shared
        assert packed.tokens < plain.tokens


def test_a_pair_that_is_asked_twice_is_run_once(bert: Loaded) -> None:
    runner = nsp.PairRunner(bert)
    once = scores(runner, ASKS[:1])
    tokens = runner.tokens
    assert scores(runner, ASKS[:1] * 5) == once * 5
    assert runner.tokens == 2 * tokens
    assert scores(runner, []) == []


def test_which_index_means_next_is_read_from_the_head(kept: Path, saved: Path) -> None:
    assert json.loads((saved / "head.json").read_bytes())["next"] == 1
    edit(saved / "head.json", next=0)
    here, there = (scores(nsp.load_next_sentence(str(folder))) for folder in (kept, saved))
    # The two outcomes are all there is: their probabilities add up to one.
    for one, other in zip(here, there, strict=True):
        assert math.exp(one) + math.exp(other) == pytest.approx(1, abs=1e-6)


def test_a_saved_head_scores_as_it_did_before(made: Made, kept: Path) -> None:
    runner = nsp.load_next_sentence(str(kept))
    assert scores(runner) == near(nsp.PairRunner(with_head(made("gpt2"))), 1e-5)
    assert runner.loaded.about["next_sentence"] == {
        "head": "trained",
        "pool": "mean",
        "next": 1,
        "base": {"model": "bakery/gpt2", "revision": "abc"},
    }
    assert runner.loaded.about["family"] == "causal"
    plain = nsp.load_next_sentence(str(kept), plain=True, batch_tokens=64)
    assert (plain.pack, plain.batch_tokens) == (False, 64)
    assert scores(plain) == near(runner)


@pytest.mark.parametrize("name", ["bert", "xlnet", "gpt2"])
def test_16_bits_pass_the_probe_and_stay_near(made: Made, tmp_path: Path, name: str) -> None:
    nsp.save_next_sentence(tmp_path, with_head(made(name)), base={})
    runner = nsp.load_next_sentence(str(tmp_path), dtype="bfloat16")
    assert (runner.pack, runner.loaded.notices) == (True, [])
    assert runner.loaded.about["dtype"] == "bfloat16"
    assert runner.loaded.model.precision == torch.float32  # the head's
    found, whole = scores(runner), scores(nsp.load_next_sentence(str(tmp_path)))
    assert np.abs(np.subtract(found, whole)).max() < 0.5
    assert found != whole


# --- refusals -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_nothing_to_score_is_refused(made: Made, name: str) -> None:
    runner = nsp.PairRunner(with_head(made(name)))
    for pair in (("The baker sings.", " "), ("", "He is kind.")):
        asks = [ScoringRequest("intersentence", *pair), ASKS[0]]
        refused, scored = nsp.score(runner, "nsp", asks)
        assert isinstance(refused, Refusal)
        assert refused.code == "nothing_to_score"
        assert isinstance(scored, float)


def test_what_is_not_finite_is_refused_and_another_rule_is_an_error(bert: Loaded) -> None:
    runner = nsp.PairRunner(bert)
    bert.model.head.out.bias[:] = float("nan")
    assert [found[0] for found in nsp.score(runner, "nsp", ASKS[:2])] == ["not_finite"] * 2
    with fails("cannot compute the rule «pll»"):
        nsp.score(runner, "pll", ASKS)


# --- what has no head ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "gpt2", "roberta", "xlnet"])
def test_a_model_without_a_trained_head_is_an_error(made: Made, name: str) -> None:
    with fails(name, fix="train-nsp"):
        nsp.load_next_sentence(str(made(name)))


def test_other_errors_of_loading_are_left_as_they_are(tmp_path: Path) -> None:
    with fails("has no config.json"):
        nsp.load_next_sentence(str(tmp_path))
    (tmp_path / "train-nsp.json").write_text("{}", "utf-8")
    with fails("its training has not ended"):
        nsp.load_next_sentence(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"form": 9}, "not a head that this version can read"),
        ({"next": 2}, "field «next»: 2 is not one of"),
        ({"pool": "max"}, "field «pool»: 'max' is not one of"),
        ({"family": "seq2seq"}, "field «family»: 'seq2seq' is not one of"),
    ],
)
def test_a_damaged_head_is_an_error(saved: Path, change: dict[str, Any], says: str) -> None:
    edit(saved / "head.json", **change)
    with fails(says) as error:
        nsp.load_next_sentence(str(saved))
    assert "head.json" in error.value.what


@pytest.mark.parametrize("damage", ["cut", "gone", "other"])
def test_damaged_weights_are_an_error(saved: Path, damage: str) -> None:
    path = saved / "head.safetensors"
    cut, other = path.read_bytes()[:50], (saved / "model.safetensors").read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"cut": cut, "other": other}[damage])
    with fails("head.safetensors: cannot be read"):
        nsp.load_next_sentence(str(saved))


# --- where packing or memory fails --------------------------------------------------------------


def test_what_cannot_be_packed_is_padded_with_a_notice(made: Made) -> None:
    loaded = with_head(made("deberta"))  # it takes no mask of four dimensions
    runner = nsp.PairRunner(loaded)
    assert not runner.pack
    assert ["packed rows" in notice for notice in runner.loaded.notices] == [True]
    assert scores(runner) == near(nsp.PairRunner(loaded, plain=True, batch_tokens=1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_probe_sees_a_mask_that_hides_nothing(
    bert: Loaded, dtype: Any, monkeypatch: Patch
) -> None:
    bert.model.body.to(dtype)
    assert nsp.PairRunner(bert).pack
    monkeypatch.setattr(Row, "mask", lambda row: np.ones((len(row), len(row)), bool))
    assert not nsp.PairRunner(bert).pack


@torch.inference_mode()
def test_a_model_that_takes_no_mask_is_run_pair_by_pair(bert: Loaded, tmp_path: Path) -> None:
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64}
    words = {"vocab_size": len(bert.tokenizer), "type_vocab_size": 2}
    config = FNetConfig(**size, **words, initializer_range=0.3)
    model = FNetForNextSentencePrediction(config).eval()
    model.save_pretrained(tmp_path)
    bert.tokenizer.save_pretrained(tmp_path)
    runner = nsp.load_next_sentence(str(tmp_path))
    assert (runner.pack, runner.batch_tokens, len(runner.loaded.notices)) == (False, 1, 2)
    wanted = of_transformers(model, bert.tokenizer, "attention_mask")
    assert scores(runner) == pytest.approx(wanted, abs=2e-5)


# --- two sentences become one text ----------------------------------------------------------------


Bodies = Callable[[str], Loaded]


@pytest.fixture
def body(made: Made) -> Bodies:
    """Tiny models without a head, by name."""
    return lambda name: load(str(made(name)), head="none")


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("bert", Frame([2], [3], [3], (0, 0, 1), (0, 1), first=True)),
        ("albert", Frame([2], [3], [3], (0, 0, 1), (0, 1), first=True)),
        ("distilbert", Frame([2], [3], [3], first=True)),
        ("roberta", Frame([0], [2, 2], [2], first=True)),
        ("xlnet", Frame([], [4], [4, 3], (0, 1, 2), (0, 1), first=False)),
        ("gpt2", Frame([], [], [])),
        ("llama", Frame([1], [], [])),
    ],
)
def test_what_stands_around_two_texts(body: Bodies, name: str, frame: Frame) -> None:
    assert frame_of(body(name)) == frame


def test_a_tokenizer_of_nothing_is_an_error(body: Bodies) -> None:
    loaded = body("bert")
    empty = {"input_ids": [2, 3, 3], "special_tokens_mask": [1] * 3, "token_type_ids": [0] * 3}
    loaded.tokenizer = lambda *_, **__: empty
    with fails("has no token for «a»"):
        frame_of(loaded)


def test_a_context_loses_tokens_at_its_left(body: Bodies) -> None:
    loaded = body("bert")
    pair = " ".join(["sings"] * 5 + ["the lake"] * 5), "He is kind."
    long, short = loaded.tokenizer(list(pair), add_special_tokens=False)["input_ids"]
    cut = texts(loaded, [pair], labels=[1], window=20)[0]
    kept = 20 - 3 - len(short)  # [CLS] and two [SEP]
    assert list(cut.ids) == [2, *long[-kept:], 3, *short, 3]
    assert list(cut.types) == [0] * (kept + 2) + [1] * (len(short) + 1)
    assert cut.reads == [(0, 1)]


def test_an_association_that_leaves_no_room_is_refused(body: Bodies) -> None:
    loaded = body("bert")
    sentence = "He is kind."
    own = len(loaded.tokenizer(sentence, add_special_tokens=False)["input_ids"])
    pair = [("The baker sings.", sentence)]
    # Three special tokens and one of the context at least.
    assert len(texts(loaded, pair, labels=[1], window=own + 4)[0].ids) == own + 4
    refused = texts(loaded, pair, labels=[1], window=own + 3)[0]
    assert isinstance(refused, Refusal)
    assert refused.code == "too_long"
    shortened = texts(loaded, pair, labels=[1], window=own + 3, shorten=True)[0]
    assert len(shortened.ids) == own + 3
    assert len(shortened.types) - sum(shortened.types) == 3  # [CLS], one of the context, [SEP]


def test_a_causal_text_is_cut_behind_its_first_special_tokens(body: Bodies) -> None:
    loaded = body("llama")
    whole = loaded.tokenizer("The baker sings. He is kind.")["input_ids"]
    pair = [("The baker sings.", "He is kind.")]
    cut = texts(loaded, pair, labels=[1], window=len(whole) - 2)[0]
    assert list(cut.ids) == [whole[0], *whole[3:]]
    assert cut.reads == [(len(whole) - 3, 1)]  # asked at the last token
    assert texts(loaded, pair, labels=[1], window=5)[0][0] == "too_long"
