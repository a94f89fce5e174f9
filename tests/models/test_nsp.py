"""The rule nsp: BERT's own head and trained ones, laid out in every way."""

import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertForNextSentencePrediction,
    FNetConfig,
    FNetForNextSentencePrediction,
)

from curation.files import CurationError
from curation.models import nsp
from curation.models.forward import Row
from curation.models.loading import Loaded, load
from curation.models.rules import Refusal, ScoringRequest
from support import models as tiny

CONTEXT = "My neighbour the baker gets up before the sun does, and sings."
PAIRS = [
    *((CONTEXT, s) for s in ("He is kind.", "A potter makes bowls, cups and jugs.", "Clouds!")),
    *(("The fiddlers were cheerful.", s) for s in ("They sing.", "He is kind.", "Mountains.")),
    ("She has a white house by the lake with two grey cats and sings.", "She asked."),
]
ASKS = [ScoringRequest("intersentence", *pair) for pair in PAIRS]
TRAINED = ("bert", "roberta", "albert", "distilbert", "deberta", "xlnet", "gpt2", "llama", "mamba")


def with_head(folder: Path, *, seed: int = 0) -> Loaded:
    """A tiny model with a head of wide weights, as if it had been trained."""
    base = load(str(folder), head="none")
    width = base.model.config.get_text_config().hidden_size
    torch.manual_seed(seed)
    head = nsp.Head(width).eval().requires_grad_(False)
    head.dense.weight.normal_(0, 0.3)
    head.out.weight.normal_(0, 1)
    model = nsp.NextSentenceModel(base.model, head, pool=nsp.POOLS[base.family], follows=1)
    return Loaded(base.name, base.family, model, base.tokenizer, base.about)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Folders of tiny models, by name; each is made once."""
    root = tmp_path_factory.mktemp("models")

    def make(name: str) -> Path:
        folder = root / name
        return folder if folder.exists() else tiny.MAKERS[name](folder)

    return make


@pytest.fixture(scope="module")
def saved(made: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What train-nsp leaves of a GPT-2."""
    folder = tmp_path_factory.mktemp("saved")
    base = {"model": "bakery/gpt2", "revision": "abc"}
    nsp.save_next_sentence(folder, with_head(made("gpt2")), base=base)
    return folder


def values(found: Sequence[Any]) -> list[float]:
    assert all(isinstance(value, float) for value in found)
    return list(found)


# --- what is computed ---------------------------------------------------------------------------


@torch.inference_mode()
def test_berts_own_head_says_what_transformers_says(made: Any) -> None:
    folder = made("bert_pretrained")
    runner = nsp.load_next_sentence(str(folder))
    assert runner.pack
    assert runner.notices == []
    found = values(nsp.score(runner, "nsp", ASKS))
    model = BertForNextSentencePrediction.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for (context, sentence), value in zip(PAIRS, found, strict=True):
        logits = model(**tokenizer(context, sentence, return_tensors="pt")).logits[0].double()
        assert value == pytest.approx(float(torch.log_softmax(logits, -1)[0]), abs=2e-5)
    assert max(found) - min(found) > 0.02  # a thousand times what may differ


@torch.inference_mode()
@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_head_pools_as_its_family_says(made: Any, name: str) -> None:
    loaded = with_head(made(name))
    found = values(nsp.score(nsp.PairRunner(loaded), "nsp", ASKS))
    body = AutoModel.from_pretrained(made(name)).eval()
    tokenizer, head = loaded.tokenizer, loaded.model.head
    for (context, sentence), value in zip(PAIRS, found, strict=True):
        if loaded.family == "causal":
            given = tokenizer(f"{context} {sentence}", return_tensors="pt")
            state = body(input_ids=given["input_ids"])[0].mean(1)
        else:
            given = tokenizer(
                context, sentence, return_tensors="pt", return_token_type_ids=name != "distilbert"
            )
            if name in ("roberta", "deberta"):
                given.pop("token_type_ids")
            hidden = body(**given)[0]
            state = hidden[:, -1] if name == "xlnet" else hidden[:, 0]
        pooled = torch.tanh(state @ head.dense.weight.T + head.dense.bias)
        logits = (pooled @ head.out.weight.T + head.out.bias)[0].double()
        assert value == pytest.approx(float(torch.log_softmax(logits, -1)[1]), abs=5e-5)
    assert max(found) - min(found) > 0.02


@pytest.mark.parametrize("name", ["bert", "roberta", "albert", "distilbert", "xlnet", "gpt2"])
def test_packed_rows_give_what_single_pairs_give(made: Any, name: str) -> None:
    loaded = with_head(made(name))
    packed, plain = nsp.PairRunner(loaded), nsp.PairRunner(loaded, plain=True, batch_tokens=1)
    assert (packed.pack, packed.notices) == (True, [])
    told: list[int] = []
    found = values(nsp.score(packed, "nsp", ASKS, tell=told.append))
    assert found == pytest.approx(values(nsp.score(plain, "nsp", ASKS)), abs=2e-5)
    assert sum(told) < len(ASKS)  # several pairs a row
    if name == "gpt2":  # contexts are shared
        assert packed.tokens < plain.tokens


def test_a_pair_that_is_asked_twice_is_run_once(made: Any) -> None:
    runner = nsp.PairRunner(with_head(made("bert")))
    once = nsp.score(runner, "nsp", ASKS[:1])
    tokens = runner.tokens
    assert nsp.score(runner, "nsp", ASKS[:1] * 5) == once * 5
    assert runner.tokens == 2 * tokens
    assert nsp.score(runner, "nsp", []) == []


def test_which_index_means_next_is_read_from_the_head(saved: Path, tmp_path: Path) -> None:
    assert json.loads((saved / "head.json").read_bytes())["next"] == 1
    for path in saved.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    says = json.loads((saved / "head.json").read_bytes())
    (tmp_path / "head.json").write_text(json.dumps({**says, "next": 0}), "utf-8")
    here = nsp.score(nsp.load_next_sentence(str(saved)), "nsp", ASKS)
    there = nsp.score(nsp.load_next_sentence(str(tmp_path)), "nsp", ASKS)
    # The two outcomes are all there is: their probabilities add up to one.
    for one, other in zip(values(here), values(there), strict=True):
        assert math.exp(one) + math.exp(other) == pytest.approx(1, abs=1e-6)


def test_a_saved_head_scores_as_it_did_before(made: Any, saved: Path) -> None:
    runner = nsp.load_next_sentence(str(saved))
    before = nsp.score(nsp.PairRunner(with_head(made("gpt2"))), "nsp", ASKS)
    assert values(nsp.score(runner, "nsp", ASKS)) == pytest.approx(values(before), abs=1e-5)
    assert runner.about["next_sentence"] == {
        "head": "trained",
        "pool": "mean",
        "next": 1,
        "base": {"model": "bakery/gpt2", "revision": "abc"},
    }
    assert runner.about["family"] == "causal"


def test_plain_running_gives_the_same(saved: Path) -> None:
    plain = nsp.load_next_sentence(str(saved), plain=True, batch_tokens=64)
    assert (plain.pack, plain.batch_tokens) == (False, 64)
    found = values(nsp.score(nsp.load_next_sentence(str(saved)), "nsp", ASKS))
    assert values(nsp.score(plain, "nsp", ASKS)) == pytest.approx(found, abs=2e-5)


@pytest.mark.parametrize("name", ["bert", "xlnet", "gpt2"])
def test_16_bits_pass_the_probe_and_stay_near(made: Any, tmp_path: Path, name: str) -> None:
    nsp.save_next_sentence(tmp_path, with_head(made(name)), base={})
    runner = nsp.load_next_sentence(str(tmp_path), dtype="bfloat16")
    assert (runner.pack, runner.notices) == (True, [])
    assert runner.about["dtype"] == "bfloat16"
    assert runner.loaded.model.precision == torch.float32  # the head's
    found = values(nsp.score(runner, "nsp", ASKS))
    whole = values(nsp.score(nsp.load_next_sentence(str(tmp_path)), "nsp", ASKS))
    assert np.abs(np.subtract(found, whole)).max() < 0.5
    assert found != whole


# --- refusals -----------------------------------------------------------------------


def test_a_context_that_is_too_long_is_cut_and_a_long_association_refused(made: Any) -> None:
    loaded = with_head(made("bert"))
    loaded.tokenizer.model_max_length = loaded.window - 60
    room, word = loaded.window, "the"
    assert len(loaded.tokenizer(word, add_special_tokens=False)["input_ids"]) == 1
    asks = [
        ScoringRequest("intersentence", " ".join([word] * one), " ".join([word] * other))
        for one, other in ((room, 5), (room - 8, 5), (1, room - 4), (1, room - 3))
    ]
    long, fits, last, over = nsp.score(nsp.PairRunner(loaded), "nsp", asks)
    # [CLS], two [SEP] and the association leave room - 8 tokens of the context.
    assert long == pytest.approx(fits, abs=1e-5)
    assert isinstance(last, float)
    assert isinstance(over, Refusal)
    assert over.code == "too_long"


@pytest.mark.parametrize("name", ["bert", "gpt2"])
@pytest.mark.parametrize(("context", "sentence"), [("The baker sings.", " "), ("", "He is kind.")])
def test_nothing_to_score_is_refused(made: Any, name: str, context: str, sentence: str) -> None:
    runner = nsp.PairRunner(with_head(made(name)))
    asks = [ScoringRequest("intersentence", context, sentence), ASKS[0]]
    refused, scored = nsp.score(runner, "nsp", asks)
    assert isinstance(refused, Refusal)
    assert refused.code == "nothing_to_score"
    assert isinstance(scored, float)


def test_what_is_not_finite_is_refused(made: Any) -> None:
    loaded = with_head(made("bert"))
    runner = nsp.PairRunner(loaded)
    loaded.model.head.out.bias[:] = float("nan")
    assert [found[0] for found in nsp.score(runner, "nsp", ASKS[:2])] == ["not_finite"] * 2


def test_another_rule_is_an_error(made: Any) -> None:
    runner = nsp.PairRunner(with_head(made("bert")))
    with pytest.raises(CurationError, match="cannot compute the rule «pll»"):
        nsp.score(runner, "pll", ASKS)


# --- what has no head ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bert", "gpt2", "roberta", "xlnet"])
def test_a_model_without_a_trained_head_is_an_error_that_names_the_mend(
    made: Any, name: str
) -> None:
    with pytest.raises(CurationError) as error:
        nsp.load_next_sentence(str(made(name)))
    assert "train-nsp" in error.value.fix
    assert name in error.value.what


def test_other_errors_of_loading_are_left_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(CurationError, match=r"has no config\.json"):
        nsp.load_next_sentence(str(tmp_path))


def test_a_training_that_has_not_ended_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "train-nsp.json").write_text("{}", "utf-8")
    with pytest.raises(CurationError, match="its training has not ended"):
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
def test_a_damaged_head_is_an_error(
    saved: Path, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    says_now = json.loads((saved / "head.json").read_bytes())
    (tmp_path / "head.json").write_text(json.dumps({**says_now, **change}), "utf-8")
    with pytest.raises(CurationError, match=says) as error:
        nsp.load_next_sentence(str(tmp_path))
    assert "head.json" in error.value.what


@pytest.mark.parametrize("damage", ["cut", "gone", "other"])
def test_damaged_weights_are_an_error(saved: Path, tmp_path: Path, damage: str) -> None:
    for path in saved.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = tmp_path / "head.safetensors"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:50])
    elif damage == "gone":
        weights.unlink()
    else:
        weights.write_bytes((tmp_path / "model.safetensors").read_bytes())
    with pytest.raises(CurationError, match=r"head\.safetensors: cannot be read"):
        nsp.load_next_sentence(str(tmp_path))


# --- where packing or memory fails --------------------------------------------------------------


def test_what_cannot_be_packed_is_padded_with_a_notice(made: Any) -> None:
    runner = nsp.PairRunner(with_head(made("deberta")))  # it takes no mask of four dimensions
    assert not runner.pack
    assert ["packed rows" in notice for notice in runner.notices] == [True]
    plain = nsp.PairRunner(with_head(made("deberta")), plain=True, batch_tokens=1)
    found = values(nsp.score(runner, "nsp", ASKS))
    assert found == pytest.approx(values(nsp.score(plain, "nsp", ASKS)), abs=2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_probe_sees_a_mask_that_lets_pairs_see_each_other(
    made: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = with_head(made("bert"))
    loaded.model.body.to(getattr(torch, dtype))
    assert nsp.PairRunner(loaded).pack
    monkeypatch.setattr(Row, "mask", lambda row: np.ones((len(row), len(row)), bool))
    assert not nsp.PairRunner(loaded).pack


def test_a_model_that_takes_no_mask_is_run_pair_by_pair(made: Any, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(made("bert"))
    torch.manual_seed(0)
    config = FNetConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        intermediate_size=64,
        type_vocab_size=2,
        initializer_range=0.3,
    )
    model = FNetForNextSentencePrediction(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    runner = nsp.load_next_sentence(str(tmp_path))
    assert (runner.pack, runner.batch_tokens, len(runner.notices)) == (False, 1, 2)
    found = values(nsp.score(runner, "nsp", ASKS))
    with torch.inference_mode():
        for pair, value in zip(PAIRS, found, strict=True):
            given = tokenizer(*pair, return_tensors="pt")
            given.pop("attention_mask")
            logits = model(**given).logits[0].double()
            assert value == pytest.approx(float(torch.log_softmax(logits, -1)[0]), abs=2e-5)


def test_where_memory_runs_out_batches_are_halved(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = with_head(made("bert"))
    runner = nsp.PairRunner(loaded, plain=True)
    wanted = values(nsp.score(runner, "nsp", ASKS))
    forward = loaded.model.body.forward

    @functools.wraps(forward)
    def small(**inputs: Any) -> Any:
        if inputs["input_ids"].numel() > 60:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(**inputs)

    monkeypatch.setattr(loaded.model.body, "forward", small)
    assert values(nsp.score(runner, "nsp", ASKS)) == pytest.approx(wanted, abs=2e-5)
    assert any("out of memory" in notice for notice in runner.notices)
