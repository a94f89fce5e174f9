"""Each profile, on each sort of model, is what the papers and StereoSet's code say."""

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from curation.models import masked, nsp
from curation.models.loading import Loaded, load
from curation.models.rules import PROFILES, Family, ScoringRequest, rules_for
from curation.models.scoring import ModelSpec, Scorer
from support.models import MAKERS
from support.profiles import DEFINED, defined
from support.reference import INTER, INTRA, intra, reference

OWN_WORD = tuple(ask for ask in INTRA[:3] + INTRA[5:7] if not ask.also)
MODELS: dict[str, Family] = {
    "bert_pretrained": "masked",
    "roberta": "masked",
    "xlnet": "xlnet",
    "gpt2": "causal",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("models") / name))


@pytest.fixture(scope="module")
def head(
    model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """The folder of a trained next-sentence head of a model."""

    def make(name: str) -> Path:
        folder = tmp_path_factory.mktemp("heads") / name
        folder.mkdir()
        base = load(str(model(name)), head="none")
        torch.manual_seed(0)
        made = nsp.Head(base.model.config.hidden_size).eval().requires_grad_(False)
        made.dense.weight.normal_(0, 0.3)
        made.out.weight.normal_(0, 1)
        whole = nsp.NextSentenceModel(base.model, made, pool=nsp.POOLS[base.family], follows=1)
        loaded = Loaded(base.name, base.family, whole, base.tokenizer, base.about)
        nsp.save_next_sentence(folder, loaded, base={})
        return folder

    return cache(make)


def test_every_profile_of_a_paper_is_defined() -> None:
    assert set(DEFINED) == set(PROFILES) - {"default", "choice"}
    for name, families in DEFINED.items():
        assert set(families) == set(PROFILES[name]) - {"endpoint"}


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        (name, profile)
        for name, family in MODELS.items()
        for profile, families in DEFINED.items()
        if family in families
    ],
)
def test_profiles_equal_their_definition(
    model: Callable[[str], Path], head: Callable[[str], Path], name: str, profile: str
) -> None:
    family = MODELS[name]
    own = name == "bert_pretrained" and profile != "acl-ll"
    scorer = Scorer(ModelSpec(str(model(name)), plain=True, nsp="" if own else str(head(name))))
    rules = rules_for(family, rule=None, profile=profile)
    for kind, asks in (("intrasentence", INTRA[:4]), ("intersentence", INTER[:3])):
        found = scorer.score(rules[kind], asks)  # type: ignore[index]
        for ask, value in zip(asks, found, strict=True):
            right = defined(model(name), head(name), profile, family, ask)
            assert value == pytest.approx(right, rel=1e-4, abs=1e-4), ask


def test_a_models_own_head_is_not_its_trained_one(
    model: Callable[[str], Path], head: Callable[[str], Path]
) -> None:
    of = (model("bert_pretrained"), head("bert_pretrained"))
    trained, own = (defined(*of, name, "masked", INTER[0]) for name in ("acl-ll", "arxiv"))
    assert trained != pytest.approx(own, abs=1e-2)


# --- attribute-acl ------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["attribute-acl", "attribute-code", "attribute-code-literal"])
def test_probabilities_of_pieces_are_averaged(rule: str) -> None:
    # (0.5 + 0.125) / 2 = 0.3125; the sum of the logarithms would be log 0.0625.
    values = np.log([0.5, 0.125])
    assert masked._combined(rule, values) == pytest.approx(math.log(0.3125))
    assert masked._combined(rule, values[:1]) == pytest.approx(math.log(0.5))
    assert masked._combined(rule, np.array([-900.0, -900.0])) == pytest.approx(-900)


def test_later_pieces_are_masked_and_earlier_ones_revealed(model: Callable[[str], Path]) -> None:
    tokenizer = load(str(model("bert_pretrained")), head="none").tokenizer
    ask = intra("The BLANK is kind.", "court jester")
    [rows] = masked.texts(tokenizer, "attribute-acl", [ask])
    pieces = tokenizer("court jester", add_special_tokens=False)["input_ids"]
    whole = tokenizer("The court jester is kind.")["input_ids"]
    at = whole.index(pieces[0])
    assert isinstance(rows, list)
    assert len(rows) == len(pieces) > 2
    for k, row in enumerate(rows):
        hidden = [tokenizer.mask_token_id] * (len(pieces) - k)
        assert list(row.ids) == whole[: at + k] + hidden + whole[at + len(pieces) :]
        assert list(row.reads) == [(at + k, pieces[k])]


# --- pll-shared ---------------------------------------------------------------------------------


def test_the_tokens_of_the_context_sentence_are_masked_in_turn(
    model: Callable[[str], Path],
) -> None:
    tokenizer = load(str(model("bert_pretrained")), head="none").tokenizer
    context, sentence = "My neighbour is a baker.", "He sings at dawn."
    [rows] = masked.texts(
        tokenizer, "pll-shared", [ScoringRequest("intersentence", context, sentence)]
    )
    whole = tokenizer(f"{context} {sentence}")["input_ids"]
    size = len(tokenizer(context, add_special_tokens=False)["input_ids"])
    assert isinstance(rows, list)
    assert len(rows) == size
    for n, row in enumerate(rows, start=1):  # after [CLS]
        expected = [*whole[:n], tokenizer.mask_token_id, *whole[n + 1 :]]
        assert list(row.ids) == expected
        assert list(row.reads) == [(n, whole[n])]


# --- attribute-code-literal ---------------------------------------------------------------------


def test_for_word_pieces_the_literal_rule_is_attribute_code(model: Callable[[str], Path]) -> None:
    scorer = Scorer(ModelSpec(str(model("bert_pretrained")), plain=True))
    literal, usual = (
        scorer.score(rule, OWN_WORD) for rule in ("attribute-code-literal", "attribute-code")
    )
    assert len(OWN_WORD) == 5
    assert literal == pytest.approx(usual, rel=1e-6)


def test_for_byte_bpe_it_is_not(model: Callable[[str], Path]) -> None:
    scorer = Scorer(ModelSpec(str(model("roberta")), plain=True))
    literal, usual = (
        scorer.score(rule, OWN_WORD) for rule in ("attribute-code-literal", "attribute-code")
    )
    assert all(a != pytest.approx(b, rel=1e-5) for a, b in zip(literal, usual, strict=True))


def test_a_text_is_made_as_stereosets_loader_makes_it(model: Callable[[str], Path]) -> None:
    tokenizer = load(str(model("roberta")), head="none").tokenizer
    ask = intra("The BLANK met a BLANK.", "court")
    [rows] = masked.texts(tokenizer, "attribute-code-literal", [ask])
    alone = tokenizer("court", add_special_tokens=False)["input_ids"]
    assert alone != tokenizer(" court", add_special_tokens=False)["input_ids"]
    assert isinstance(rows, list)
    assert len(rows) == len(alone) > 1
    for k, row in enumerate(rows):
        pasted = tokenizer.decode(alone[:k]) + "<mask>"
        expected = tokenizer(f"The {pasted} met a {pasted}.")["input_ids"]
        assert list(row.ids) == expected
        assert expected.count(tokenizer.mask_token_id) == 2
        assert list(row.reads) == [(expected.index(tokenizer.mask_token_id), alone[k])]


def test_an_attribute_that_is_not_there_is_refused(model: Callable[[str], Path]) -> None:
    ask = intra("The BLANK is kind.", " ")
    [found] = Scorer(ModelSpec(str(model("roberta")), plain=True)).score(
        "attribute-code-literal", [ask]
    )
    assert found[0] == "nothing_to_score"  # type: ignore[index]
    assert reference(model("roberta"), "attribute-code-literal", ask) is None
