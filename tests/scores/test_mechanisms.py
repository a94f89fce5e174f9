"""Means over models by way of scoring, as ACL §7 prints them."""

from typing import Any

import pytest

from curation.scores.compare import mechanisms
from curation.scores.groups import Group

INTRA, INTER = "intrasentence", "intersentence"
# lms on the test set as printed: overall in ACL Table 4 (likelihood) and 5 (pseudo-likelihood),
# intrasentence and intersentence in Tables 6 and 7.
PRINTED = {
    "BERT-base": ((85.4, 82.5, 88.3), (82.3, 89.6, 75.0)),
    "BERT-large": ((85.8, 82.9, 88.7), (81.1, 88.8, 73.3)),
    "RoBERTa-base": ((68.2, 71.9, 64.4), (83.5, 88.0, 79.1)),
    "RoBERTa-large": ((75.8, 72.7, 78.8), (83.4, 88.1, 78.7)),
    "XLNet-base": ((67.7, 70.3, 65.0), (60.5, 60.6, 60.4)),
    "XLNet-large": ((78.2, 74.0, 82.5), (61.3, 61.1, 61.4)),
    "GPT-2": ((83.6, 91.0, 76.3), (86.8, 91.0, 82.5)),
    "GPT-2-medium": ((85.9, 91.2, 80.5), (88.6, 91.2, 85.9)),
    "GPT-2-large": ((88.3, 91.8, 84.9), (89.6, 91.8, 87.5)),
    "ENSEMBLE": ((90.2, 91.7, 89.4), (90.1, 91.9, 89.1)),
}
# ACL §6: GPT-2 has one way of scoring intrasentence CATs, and two intersentence ones.
RULES = {
    "masked": ({INTRA: "ll", INTER: "nsp"}, {INTRA: "pll", INTER: "pll"}),
    "causal": ({INTRA: "sentence", INTER: "nsp"}, {INTRA: "sentence", INTER: "ratio"}),
    "ensemble": ({INTRA: "mixed", INTER: "nsp"}, {INTRA: "mixed", INTER: "mixed"}),
}


def cell(lms: float, ss: float = 60.0) -> dict[str, Any]:
    return {"overall": {"lms": lms, "ss": ss, "icat": lms * min(ss, 100 - ss) / 50}}


def result(model: str, family: str, rules: dict[str, str], *lms: float) -> dict[str, Any]:
    both, *kinds = lms
    of_kinds = {kind: cell(value) for kind, value in zip(rules, kinds, strict=False)}
    return {"model": model, "family": family, "rules": rules, "kinds": of_kinds, **cell(both)}


def printed() -> tuple[list[dict[str, Any]], list[Group]]:
    found = []
    for model, figures in PRINTED.items():
        family = {"ENS": "ensemble", "GPT": "causal"}.get(model[:3], "masked")
        for rules, lms in zip(RULES[family], figures, strict=True):
            found.append(result(model, family, rules, *lms))
    numbers = range(len(found))
    return found, [
        Group("profile", "acl-ll", "", tuple(numbers[::2])),
        Group("profile", "acl-pll", "", tuple(numbers[1::2])),
    ]


def test_the_papers_means_come_out() -> None:
    # «avg lms ll = 79.88, avg lms pll = 79.68»; intrasentence 75.7 and 79.4; intersentence 78.82
    # and 75.98 (ACL §7). The ensemble is in none of them.
    both, intra, inter = mechanisms(*printed())
    assert [round(value, 2) for value in both.lms] == [79.88, 79.68]
    assert [round(value, 1) for value in intra.lms] == [75.7, 79.4]
    assert [round(value, 2) for value in inter.lms] == [78.82, 75.98]
    assert (both.kind, intra.kind, inter.kind) == ("both", INTRA, INTER)
    assert (both.a, both.b) == ("acl-ll", "acl-pll")
    # Nine models, but intrasentence the six whose rules differ.
    assert len(both.models) == len(inter.models) == 9
    assert intra.models == list(PRINTED)[:6]
    assert both.ss == pytest.approx([60.0, 60.0])
    assert both.icat == pytest.approx([0.8 * value for value in both.lms])


def test_only_models_that_have_both_count_and_two_at_least() -> None:
    a, b = {INTRA: "a", INTER: "a"}, {INTRA: "b"}
    found = [result("m", "masked", a, 50, 60, 40), result("n", "masked", a, 70, 80, 60),
             result("o", "masked", a, 0, 0, 0),
             result("m", "masked", b, 10, 10), result("n", "masked", b, 30, 30)]  # fmt: skip
    one, two = Group("rules", "a", "", (0, 1, 2)), Group("rules", "b", "", (3, 4))
    rows = mechanisms(found, [one, two])
    # The second lacks intersentence CATs, so that only intrasentence can be compared.
    assert [(row.kind, row.models, row.lms) for row in rows] == [
        (INTRA, ["m", "n"], [70.0, 20.0]),
    ]
    assert mechanisms(found, [one, two._replace(runs=(3,))]) == []
    # What declares a profile does not say its rules: they may be the same.
    found[4]["rules"] = {}
    assert mechanisms(found, [one, two]) == []
    assert mechanisms(found, [one, two._replace(name="b+lower")]) == []
    assert mechanisms(found, [one, two._replace(sort="alone")]) == []
