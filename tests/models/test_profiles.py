"""Each profile, on each sort of model, is what the papers and StereoSet's code say."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.models import masked, nsp
from curation.models.loading import load
from curation.models.rules import PROFILES, Family, rules_for
from curation.models.scoring import ModelSpec, Scorer
from support.heads import with_head
from support.models import Made
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
def head(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The folder of a trained next-sentence head of a model."""
    root = tmp_path_factory.mktemp("heads")

    def make(name: str) -> Path:
        (root / name).mkdir()
        nsp.save_next_sentence(root / name, with_head(made(name)), base={})
        return root / name

    return cache(make)


def test_every_profile_of_a_paper_is_defined() -> None:
    assert set(DEFINED) == set(PROFILES) - {"default", "choice", "crows"}
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
def test_profiles_equal_their_definition(made: Made, head: Made, name: str, profile: str) -> None:
    family = MODELS[name]
    own = name == "bert_pretrained" and profile != "acl-ll"
    scorer = Scorer(ModelSpec(str(made(name)), plain=True, nsp="" if own else str(head(name))))
    rules = rules_for(family, rule=None, profile=profile)
    for kind, asks in (("intrasentence", INTRA[:4]), ("intersentence", INTER[:3])):
        found = scorer.score(rules[kind], asks)  # type: ignore[index]
        for ask, value in zip(asks, found, strict=True):
            right = defined(made(name), head(name), profile, family, ask)
            assert value == pytest.approx(right, rel=1e-4, abs=1e-4), ask


def test_a_models_own_head_is_not_its_trained_one(made: Made, head: Made) -> None:
    of = (made("bert_pretrained"), head("bert_pretrained"))
    trained, own = (defined(*of, name, "masked", INTER[0]) for name in ("acl-ll", "arxiv"))
    assert trained != pytest.approx(own, abs=2e-4)  # twice as near as equal ones may be


@pytest.mark.parametrize("rule", ["attribute-acl", "attribute-code", "attribute-code-literal"])
def test_probabilities_of_pieces_are_averaged(rule: str) -> None:
    # (0.5 + 0.125) / 2 = 0.3125; the sum of the logarithms would be log 0.0625.
    values = np.log([0.5, 0.125])
    assert masked._combined(rule, values) == pytest.approx(math.log(0.3125))
    assert masked._combined(rule, values[:1]) == pytest.approx(math.log(0.5))
    assert masked._combined(rule, np.array([-900.0, -900.0])) == pytest.approx(-900)


# --- attribute-code-literal ---------------------------------------------------------------------


def literal_and_usual(folder: Path) -> list[list[Any]]:
    scorer = Scorer(ModelSpec(str(folder), plain=True))
    rules = ("attribute-code-literal", "attribute-code")
    return [scorer.score(rule, OWN_WORD) for rule in rules]


def test_the_literal_rule_is_attribute_code_for_word_pieces_only(made: Made) -> None:
    assert len(OWN_WORD) == 5
    literal, usual = literal_and_usual(made("bert_pretrained"))
    assert literal == pytest.approx(usual, rel=1e-6)
    literal, usual = literal_and_usual(made("roberta"))
    assert all(a != pytest.approx(b, rel=1e-5) for a, b in zip(literal, usual, strict=True))


def test_a_text_is_made_as_stereosets_loader_makes_it(made: Made) -> None:
    tokenizer = load(str(made("roberta")), head="none").tokenizer
    ask = intra("The BLANK met a BLANK.", "court")
    [found] = masked.texts(tokenizer, "attribute-code-literal", [ask])
    alone, other = tokenizer(["court", " court"], add_special_tokens=False)["input_ids"]
    assert alone != other
    assert isinstance(found, list)
    assert len(found) == len(alone) > 1
    for k, row in enumerate(found):
        pasted = tokenizer.decode(alone[:k]) + "<mask>"
        expected = tokenizer(f"The {pasted} met a {pasted}.")["input_ids"]
        assert list(row.ids) == expected
        assert expected.count(tokenizer.mask_token_id) == 2
        assert list(row.reads) == [(expected.index(tokenizer.mask_token_id), alone[k])]


def test_an_attribute_that_is_not_there_is_refused(made: Made) -> None:
    ask, rule = intra("The BLANK is kind.", " "), "attribute-code-literal"
    [found] = Scorer(ModelSpec(str(made("roberta")), plain=True)).score(rule, [ask])
    assert found[0] == "nothing_to_score"  # type: ignore[index]
    assert reference(made("roberta"), rule, ask) is None
