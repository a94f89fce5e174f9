"""Encoder-decoder models: T5's sentinels, BART's mask token, mBART's languages."""

from typing import Any

import pytest
from transformers import ByT5Tokenizer

from curation.models import seq2seq
from curation.models.faster import quicken
from curation.models.loading import Loaded, load
from curation.models.rules import ScoringRequest
from support.expected import Patch, fails, raising, short_of_memory
from support.models import SEQ2SEQ, Made
from support.reference import EMPTY, INTER, INTRA, codes, intra, reference

ASKS = {"infill": INTRA, "conditional": INTER, "conditional-chars": INTER}
Wanted = dict[str, dict[str, list[float | None]]]


@pytest.fixture(scope="module")
def wanted(made: Made) -> Wanted:
    return {
        name: {
            rule: [reference(made(name), rule, ask) for ask in ASKS[rule]] for rule in rules(name)
        }
        for name in SEQ2SEQ
    }


def rules(name: str) -> list[str]:
    return [rule for rule in ASKS if (name, rule) != ("mbart", "infill")]  # it has no mask here


@pytest.fixture
def t5(made: Made) -> Loaded:
    return load(str(made("t5")), device="cpu")


@pytest.fixture
def bart(made: Made) -> Loaded:
    return load(str(made("bart")), device="cpu")


def shown(loaded: Loaded, rule: str, ask: ScoringRequest, **how: Any) -> seq2seq.Pair:
    """What the encoder and the decoder read for a question."""
    [asked] = seq2seq.plan(loaded.tokenizer, rule, [ask], **how)
    assert isinstance(asked, seq2seq.Pair)
    return asked


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_scores_are_those_of_the_reference(made: Made, wanted: Wanted, name: str) -> None:
    loaded = load(str(made(name)), device="cpu")
    for rule in rules(name):
        for tokens in (None, 1, 100):
            found = seq2seq.score(loaded, rule, ASKS[rule], batch_tokens=tokens)
            assert found == pytest.approx(wanted[name][rule], rel=1e-5), rule
        alone = [seq2seq.score(loaded, rule, [ask])[0] for ask in ASKS[rule]]
        assert seq2seq.score(loaded, rule, ASKS[rule]) == pytest.approx(alone, rel=1e-6)
        assert seq2seq.score(loaded, rule, []) == []
    assert loaded.notices == []


def test_swapped_layers_give_the_same(t5: Loaded, wanted: Wanted) -> None:
    quicken(t5)
    found = seq2seq.score(t5, "infill", INTRA)
    assert found == pytest.approx(wanted["t5"]["infill"], rel=1e-5)


# --- what is shown and asked --------------------------------------------------------------------


def words(tokenizer: Any, ids: tuple[int, ...]) -> str:
    return " ".join(tokenizer.convert_ids_to_tokens(list(ids)))


def test_t5_is_asked_for_what_its_sentinel_stands_for(t5: Loaded) -> None:
    tokenizer = t5.tokenizer
    tokens = tokenizer.tokenize("The court jester sings.")
    first = len(tokenizer.tokenize("The"))
    after = len(tokenizer.tokenize("The court jester"))  # the attribute's pieces end here
    start, attribute, end = (
        " ".join(part) for part in (tokens[:first], tokens[first:after], tokens[after:])
    )
    asked = shown(t5, "infill", intra("The BLANK sings.", "court jester"))
    assert words(tokenizer, asked.shown) == f"{start} <extra_id_0> {end} </s>"
    assert words(tokenizer, asked.answer) == f"<extra_id_0> {attribute}"
    assert asked.first == 1  # the sentinel is given


def test_each_blank_gets_its_own_sentinel_and_the_first_is_scored(t5: Loaded) -> None:
    asked = shown(t5, "infill", intra("A BLANK and a BLANK met.", "potter"))
    text = words(t5.tokenizer, asked.shown)
    assert text.count("<extra_id_0>") == text.count("<extra_id_1>") == 1
    assert text.index("<extra_id_0>") < text.index("<extra_id_1>")
    assert words(t5.tokenizer, asked.answer).count("<extra_id") == 1


def test_bart_is_asked_for_the_whole_sentence(bart: Loaded) -> None:
    """The published sentence, whose capitals may differ from the context's."""
    tokenizer = bart.tokenizer
    asked = shown(bart, "infill", intra("The BLANK met a BLANK", "potter", lower=True))
    start, middle = tokenizer.tokenize("The"), tokenizer.tokenize(" met a")
    tokens = ["<s>", *start, "<mask>", *middle, "<mask>", "</s>"]
    assert tokenizer.convert_ids_to_tokens(list(asked.shown)) == tokens
    assert list(asked.answer) == tokenizer("the potter met a potter")["input_ids"][:-1]
    assert asked.first == 1  # <s> is special and is not summed


def test_t5_of_other_makes_spells_its_sentinels_otherwise(t5: Loaded) -> None:
    known = t5.tokenizer.get_vocab()
    spelt = {token.replace("<extra", "▁<extra"): n for token, n in known.items()}

    class Other:
        mask_token_id = None

        def get_vocab(self) -> dict[str, int]:
            return spelt

    first_two = [known["<extra_id_0>"], known["<extra_id_1>"]]
    assert seq2seq._blanks(Other(), most=2) == (first_two, True)


# --- what it costs ------------------------------------------------------------------------------


def test_options_share_what_the_encoder_reads(t5: Loaded) -> None:
    """Three options of one CAT and one of another: the encoder reads two texts, not four."""
    encoded, projected = [], []
    t5.model.encoder.register_forward_hook(
        lambda _, args, told, out: encoded.append(len(told["input_ids"])), with_kwargs=True
    )
    t5.model.lm_head.register_forward_hook(lambda _, args, out: projected.append(len(out)))
    seq2seq.score(t5, "conditional", INTER[:4])
    assert sum(encoded) == 2
    # one projection for each token of an association, none for padding or the end token
    count = sum(len(t5.tokenizer.tokenize(ask.sentence)) for ask in INTER[:4])
    assert sum(projected) == count


def test_the_same_question_is_put_once(t5: Loaded, monkeypatch: Patch) -> None:
    put: list[seq2seq.Pair] = []
    decode = seq2seq._Batches._decode
    monkeypatch.setattr(
        seq2seq._Batches,
        "_decode",
        lambda self, part, *states: put.extend(part) or decode(self, part, *states),
    )
    found = seq2seq.score(t5, "infill", [INTRA[0], INTRA[1], INTRA[0]])
    assert found[0] == found[2]
    assert len(put) == 2


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_no_memory_halves_the_batches(
    t5: Loaded, wanted: Wanted, monkeypatch: Patch, part: str
) -> None:
    module = getattr(t5.model, part)
    forward = short_of_memory(module.forward, most=2, rows=True)
    monkeypatch.setattr(module, "forward", forward)
    found = seq2seq.score(t5, "infill", INTRA, batch_tokens=150)
    assert found == pytest.approx(wanted["t5"]["infill"], rel=1e-5)
    assert {"out of memory" in notice for notice in t5.notices} == {True}
    monkeypatch.setattr(module, "forward", raising(MemoryError()))
    with fails("not enough memory for one text", fix="--dtype"):
        seq2seq.score(t5, "infill", INTRA[:2])


def test_another_error_is_not_swallowed(t5: Loaded, monkeypatch: Patch) -> None:
    monkeypatch.setattr(t5.model.decoder, "forward", raising(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        seq2seq.score(t5, "infill", INTRA[:1])


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_nothing_to_score(made: Made, name: str) -> None:
    loaded = load(str(made(name)), device="cpu")
    found = seq2seq.score(loaded, "infill", [*EMPTY, INTRA[0]])
    assert codes(found) == ["nothing_to_score"] * 3 + ["scored"]
    assert [reference(made(name), "infill", ask) for ask in EMPTY] == [None] * 3
    blank = [ScoringRequest("intersentence", "He sings.", text) for text in ("", "  ", "So")]
    found = seq2seq.score(loaded, "conditional", blank)
    assert codes(found) == ["nothing_to_score"] * 2 + ["scored"]


def test_a_long_context_loses_its_left(bart: Loaded, made: Made) -> None:
    """96 tokens are read at once; what fills the window is kept, the answer may not lose any."""
    long = "The weather is lovely and the bread smells good today. " * 8
    pairs = ((long, "He sings."), (long + "Clouds.", "He sings."), ("He sings.", long))
    asks = [ScoringRequest("intersentence", *pair) for pair in pairs]
    kept = shown(bart, "conditional", asks[0], window=bart.window).shown
    assert len(kept) == 96
    assert kept[-2:] == tuple(bart.tokenizer(long)["input_ids"][-2:])
    found = seq2seq.score(bart, "conditional", asks)
    assert codes(found) == ["scored", "scored", "too_long"]
    right = [reference(made("bart"), "conditional", ask) for ask in asks[:2]]
    assert found[:2] == pytest.approx(right, rel=1e-5)


def test_a_long_template_keeps_its_blank(t5: Loaded) -> None:
    t5.tokenizer.model_max_length = 30
    late = intra("Clouds drift slowly over the mountains, and nobody minds the BLANK.", "lake")
    early = intra("The BLANK drifts slowly over the mountains, and nobody minds.", "lake")
    kept = shown(t5, "infill", late, window=t5.window).shown
    assert len(kept) == 30
    assert "<extra_id_0>" in words(t5.tokenizer, kept)
    assert codes(seq2seq.score(t5, "infill", [late, early])) == ["scored", "too_long"]


def test_not_finite(t5: Loaded) -> None:
    t5.model.lm_head.weight.fill_(float("nan"))
    assert codes(seq2seq.score(t5, "infill", INTRA[:1])) == ["not_finite"]


def test_a_model_that_fills_no_gaps_cannot_infill(made: Made) -> None:
    loaded = load(str(made("mbart")), device="cpu")
    loaded.tokenizer.mask_token = None
    with fails("neither sentinels nor a mask token"):
        seq2seq.score(loaded, "infill", INTRA[:1])


def test_a_tokenizer_of_bytes_has_no_places(t5: Loaded) -> None:
    """ByT5's is no fast one: whole texts can be scored, a part of one cannot."""
    t5.tokenizer = ByT5Tokenizer(extra_ids=10)
    asked = shown(t5, "conditional", ScoringRequest("intersentence", "Hi.", "So é"))
    assert asked.answer == tuple(byte + 3 for byte in "So é".encode())  # 0 to 2 are special
    with fails("the characters of its tokens"):
        seq2seq.plan(t5.tokenizer, "infill", INTRA[:1])


def test_a_decoder_that_starts_with_nothing_known(bart: Loaded) -> None:
    bart.model.config.decoder_start_token_id = None
    bart.model.generation_config.decoder_start_token_id = None
    with fails("the start token of its decoder", fix="decoder_start_token_id"):
        seq2seq.score(bart, "conditional", INTER[:1])
