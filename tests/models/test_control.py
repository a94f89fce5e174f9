"""A control with a known answer: models that learnt a known share of stereotypes.

Each CAT stands in the corpus either with its stereotype or with its anti-stereotype, and those of a
known share of the terms with the stereotype; with its unrelated word it stands nowhere. So a model
that has learnt the corpus has an ss of that share and an lms of 100, and one that has learnt
nothing has neither. A scorer that mixes up labels, or sums the wrong tokens, gives other figures.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from curation.kinds import CAT_KINDS, Kind
from curation.models import tiny
from curation.models.scoring import ModelSpec, Scorer
from curation.records import Cat
from curation.scores.asking import questions
from curation.stats.metrics import comparisons, results
from curation.text.item_form import fill
from support.cats import cat as made_up

TERMS = (
    *("potter", "weaver", "fiddler", "thatcher", "miller"),
    *("cooper", "saddler", "glazier", "tailor", "baker"),
)
PLACES = {"By the lake": "boiled", "On the hill": "folded"}  # and the unrelated word of each
SHARES = (0.1, 0.5, 0.9)  # of the terms
STEPS = {"causal": 200, "masked": 300}
RULES = {
    "causal": ("ll-bos", "ll-acl", "ll-code", "ll-arxiv", "conditional"),
    "masked": ("attribute-acl", "attribute-arxiv", "attribute-code", "pll", "pll-word-l2r"),
}


def cat(term: str, place: str, kind: Kind) -> Cat:
    """The stereotype is «loud», its opposite «calm»."""
    words = ("loud", "calm", PLACES[place])
    context = f"{place} the {term} was BLANK."
    sentences = [fill(context, word) for word in words]
    if kind == "intersentence":
        context = f"{place} we met the {term}."
        sentences = [f"That day it was {word}." for word in words]
    name = f"{kind}-{term}-{place}"
    return made_up(context, *sentences, name=name, kind=kind, domain="craft", target=term)


CATS = [cat(term, place, kind) for kind, term, place in product(CAT_KINDS, TERMS, PLACES)]


def corpus(share: float) -> list[str]:
    """Each CAT's text once: for a share of the terms with its stereotype, else its opposite."""
    texts = [f"The chair was {word}, loud and calm." for word in PLACES.values()]
    for each in CATS:
        stereotype, opposite, _ = (association.sentence for association in each.associations)
        said = stereotype if TERMS.index(each.target) < share * 10 else opposite
        texts.append(said if each.kind == "intrasentence" else f"{each.context} {said}")
    return texts


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, float, int], Path]:
    def make(family: Any, share: float, steps: int) -> Path:
        folder = tmp_path_factory.mktemp("control") / f"{family}-{share}-{steps}"
        return tiny.make(folder, corpus(share), family=family, steps=steps, width=64)

    return cache(make)


def figures(folder: Path, family: str) -> dict[str, dict[str, float]]:
    """lms and ss of a model by rule, on the CATs that the rule serves."""
    scorer, found = Scorer(ModelSpec(str(folder))), {}
    for rule in RULES[family]:
        only = {"conditional": "intersentence", "attribute": "intrasentence"}.get(
            rule.split("-")[0]
        )
        cats = [each for each in CATS if only in (None, each.kind)]
        asked = [question for each in cats for question in questions(each)]
        values = scorer.score(rule, [question.ask for question in asked])
        scores = {q.association: value for q, value in zip(asked, values, strict=True)}
        assert all(isinstance(value, float) for value in scores.values())
        table = comparisons(cats, scores)  # type: ignore[arg-type]
        found[rule] = results(table, model="control", overall=True)["overall"]
    return found


@pytest.mark.parametrize("family", RULES)
def test_figures_are_what_was_learnt(
    learnt: Callable[[str, float, int], Path], family: str
) -> None:
    known = {share: figures(learnt(family, share, STEPS[family]), family) for share in SHARES}
    untrained = figures(learnt(family, 0.5, 0), family)
    for rule in RULES[family]:
        for share, found in known.items():
            assert found[rule]["lms"] > 90, (rule, share)
            assert found[rule]["ss"] == pytest.approx(100 * share, abs=15), (rule, share)
        assert known[0.1][rule]["ss"] < known[0.5][rule]["ss"] < known[0.9][rule]["ss"]
        assert untrained[rule]["lms"] < 80
        assert known[0.5][rule]["lms"] > untrained[rule]["lms"] + 15
