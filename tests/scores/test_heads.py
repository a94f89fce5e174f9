"""Runs are ranked together if their next-sentence heads were trained alike (ACL §6.1, A.5)."""

from dataclasses import replace
from typing import Any

import pytest

from curation.models.rules import PROFILES, rules_name
from curation.records import Cat
from curation.scores.groups import groups, mark_heads, profiles_in
from curation.scores.runs import Run
from support.boards import cat

INTER = [cat("q", "x", kind="intersentence")]
INTRA = [cat("p", "x")]
TRAINED = {"corpus": "ab" * 32, "epochs": 10, "seed": 1}
NONE = "no record of how the next-sentence head was trained"


def under(model: str, profile: str = "acl-ll", family: str = "causal", **about: Any) -> Run:
    """A run under a profile that has scored both kinds."""
    rules: Any = PROFILES[profile][family]  # type: ignore[index]
    scores = {f"{name}{gold}": 1.0 for name in "pq" for gold in "sau"}
    return Run(model, rules_name(rules), "", scores, {"family": family, "rules": rules, **about})


def trained(model: str, profile: str = "acl-ll", family: str = "causal", **other: Any) -> Run:
    return under(model, profile, family, head_training={**TRAINED, **other})


def own(model: str, profile: str) -> Run:
    opened = {"nsp": {"next_sentence": {"head": "own"}}}
    return under(model, profile, "masked", opened=opened)


def ranked(*runs: Run, cats: list[Cat] = INTER) -> dict[str, list[str]]:
    """The models of each group by its title."""
    marked = mark_heads(runs, cats)
    return {g.title: [marked[n].model for n in g.runs] for g in groups(marked)}


def test_heads_that_were_trained_otherwise_are_ranked_apart_with_the_difference() -> None:
    runs = [trained("b", epochs=2), trained("a"), trained("c", family="masked"), under("old")]
    assert ranked(*runs) == {
        "profile acl-ll": ["a", "c"],
        "profile acl-ll (next-sentence head trained with epochs 2 instead of 10)": ["b"],
        f"profile acl-ll ({NONE})": ["old"],
    }
    marked = mark_heads(runs, INTER)
    assert [run.about.get("other_head") for run in marked][1:] == ["", "", NONE]
    # Each is still one of the profile's.
    assert [profiles_in(groups(marked), n) for n in range(4)] == [["acl-ll"]] * 4
    only = groups(marked, profile="acl-ll")
    assert sorted(n for group in only for n in group.runs) == [0, 1, 2, 3]


def test_every_difference_is_named_and_a_corpus_by_its_first_digits() -> None:
    other = {"corpus": "cd" * 32, "seed": 2, "freeze": True}
    (_, second) = ranked(trained("a"), trained("b"), trained("c", **other))
    assert second.endswith(
        "trained with corpus cdcdcdcdcdcd instead of abababababab, seed 2 instead of 1)"
    )


def test_the_largest_group_is_ranked_and_of_equal_ones_the_first() -> None:
    two = [trained("a", seed=2), trained("b"), trained("c")]
    assert ranked(*two)["profile acl-ll"] == ["b", "c"]
    assert ranked(*two[:2])["profile acl-ll"] == ["a"]
    # Most have no record, but these are not known to be alike.
    old = [under("x"), under("y"), trained("z")]
    assert ranked(*old) == {f"profile acl-ll ({NONE})": ["x", "y"], "profile acl-ll": ["z"]}


def test_a_head_matters_only_for_cats_that_it_scored() -> None:
    runs = [trained("a"), trained("b", epochs=2), under("old")]
    assert ranked(*runs, cats=INTRA) == {"profile acl-ll": ["a", "b", "old"]}
    one = replace(runs[1], scores={"ps": 1.0, "pa": 1.0, "pu": 1.0})  # of the other kind
    assert ranked(runs[0], one) == {"profile acl-ll": ["a", "b"]}
    pll = [under("a", "acl-pll"), under("b", "acl-pll")]
    assert ranked(*pll) == {"profile acl-pll": ["a", "b"]}


def test_a_models_own_head_is_right_under_arxiv_and_not_under_acl() -> None:
    """ArXiv §7.1 takes BERT's own; ACL §6.1 trains one for every model."""
    gpt2, bert = trained("gpt2", "arxiv"), own("bert", "arxiv")
    assert ranked(gpt2, bert) == {"profile arxiv": ["gpt2", "bert"]}
    accepted = under("bert", family="masked", own_head=True)
    assert ranked(trained("gpt2"), accepted) == {
        "profile acl-ll": ["gpt2"],
        "profile acl-ll (the model's own next-sentence head)": ["bert"],
    }


@pytest.mark.parametrize("declared", ["acl-ll", "ll-acl_nsp"])
def test_predictions_have_no_record(declared: str) -> None:
    given = replace(
        under("p"), rule=declared, about={}, profile=declared if declared == "acl-ll" else ""
    )
    (run,) = mark_heads([given], INTER)
    assert run.about["other_head"] == NONE
    assert "other_head" not in mark_heads([given], INTRA)[0].about
