"""Which runs are ranked together: those of a profile, or of the same rules, and no others.

Their next-sentence heads must be trained alike, too (ACL §6.1, A.5).
"""

from dataclasses import replace
from typing import Any

import pytest

from curation.kinds import CAT_KINDS
from curation.models.rules import PROFILES, rules_name
from curation.records import Cat
from curation.scores.groups import Group, groups, mark_heads, member_runs, profiles_in, single
from curation.scores.runs import Run
from support.boards import CATS, S, run
from support.expected import fails


def under(model: str, family: Any, profile: Any = "acl-ll", rules: Any = (), **about: Any) -> Run:
    """A run of a family that has scored both kinds, under a profile or under two rules."""
    named: Any = dict(zip(CAT_KINDS, rules, strict=False) if rules else PROFILES[profile][family])
    scored = run(model, rules_name(named), p=S, q=S)
    return replace(scored, about={"model": model, "family": family, "rules": named, **about})


BERT, GPT2 = under("bert", "masked"), under("gpt2", "causal")
OTHER = under("bert", "masked", "arxiv")
PAIR = ("acl-ll", [BERT.name, GPT2.name])
LL_BOS = ("ll-bos", "ll-bos")


def grouped(*runs: Run, **picked: Any) -> list[tuple[str, list[str]]]:
    return [
        (group.name, [runs[number].name for number in group.runs])
        for group in groups(runs, **picked)
    ]


def test_a_profile_has_its_models_of_every_family() -> None:
    # ACL Table 4: masked models beside GPT-2, by different rules.
    assert BERT.rules != GPT2.rules
    assert grouped(BERT, GPT2) == [PAIR]
    assert groups([BERT])[0].title == "profile acl-ll"


def test_different_profiles_are_never_together() -> None:
    assert grouped(BERT, GPT2, OTHER) == [PAIR, ("arxiv", [OTHER.name])]
    # More models first; of equal ones default, then by name.
    plain = under("gpt2", "causal", "default")
    assert [name for name, _ in grouped(plain, OTHER, BERT)] == ["default", "acl-ll", "arxiv"]


def test_a_run_is_in_each_profile_that_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = {"masked": dict(PROFILES["acl-ll"]["masked"])}
    monkeypatch.setitem(PROFILES, "twin", twin)  # type: ignore[arg-type]
    assert grouped(BERT, GPT2) == [PAIR, ("twin", [BERT.name])]
    assert profiles_in(groups([BERT, GPT2]), 0) == ["acl-ll", "twin"]


def test_rules_that_are_not_of_a_profile_are_a_group() -> None:
    a, b = (under(name, "causal", rules=LL_BOS) for name in "ab")
    own = under("c", "causal", rules=("ll-acl", "conditional"))
    assert grouped(a, own, b, BERT) == [
        ("acl-ll", [BERT.name]),
        ("ll-bos", ["a/ll-bos", "b/ll-bos"]),
        ("ll-acl_conditional", ["c/ll-acl_conditional"]),
    ]
    assert groups([a])[0].title == "rules ll-bos"
    # The folder alone says the rule, too.
    assert grouped(Run("x", "ll-bos", "", {}), a) == [("ll-bos", ["x/ll-bos", "a/ll-bos"])]


def test_a_run_without_declared_rules_is_alone() -> None:
    found = groups([Run("m", "predictions", "", {}), Run("n", "predictions", "", {}), BERT])
    assert [(g.sort, g.name, g.runs) for g in found] == [
        ("profile", "acl-ll", (2,)), ("alone", "m/predictions", (0,)),
        ("alone", "n/predictions", (1,)),
    ]  # fmt: skip
    assert found[1].title == "rule not declared"
    declared = Run("m", "acl-ll", "", {}, profile="acl-ll")
    assert grouped(declared, BERT) == [("acl-ll", ["m/acl-ll", BERT.name])]
    # No run.json says the rules of a folder that is named after a profile.
    assert groups([Run("old", "default", "", {})])[0].sort == "alone"
    assert Group("alone", "m/x+y", "t", (0,)).variant == ""


def test_variants_are_groups_of_their_own_and_last() -> None:
    lower = replace(BERT, variant="lower")
    found = groups([lower, BERT, under("a", "causal", rules=LL_BOS)])
    assert [(group.name, group.variant) for group in found] == [
        ("acl-ll", ""), ("ll-bos", ""), ("acl-ll+lower", "lower"),
    ]  # fmt: skip
    assert found[2].title == "profile acl-ll, texts altered: lower"


def test_a_model_is_once_in_a_group() -> None:
    messages: list[str] = []
    old = replace(BERT, rule="acl-ll", where="5-scores/bert/acl-ll")  # before folders had rules
    found = groups([old, GPT2, BERT], skipped=messages.append)
    assert [group.runs for group in found] == [(1, 2)]
    assert messages == [
        f"5-scores/bert/acl-ll: left out of profile acl-ll, because {BERT.name} has this model's "
        "scores under it, too"
    ]


def ensemble(*members: Run, model: str = "both") -> Run:
    about = {"family": "ensemble", "member_runs": member_runs(members)}
    return Run(model, "mixed", "", {}, about)


def test_an_ensemble_is_where_all_of_its_members_are() -> None:
    other = under("gpt2", "causal", "arxiv")
    inner = ensemble(BERT, GPT2)
    assert grouped(BERT, GPT2, inner) == [("acl-ll", [BERT.name, GPT2.name, "both/mixed"])]
    apart = groups([BERT, GPT2, other, ensemble(BERT, other)])
    assert [(group.sort, group.runs) for group in apart] == [
        ("profile", (0, 1)), ("profile", (2,)), ("alone", (3,)),
    ]  # fmt: skip
    assert apart[2].title.startswith("its members are scored by different rules")
    # Of an ensemble of ensembles the runs beneath count.
    assert grouped(ensemble(inner, BERT)) == [("acl-ll", ["both/mixed"])]
    for members in ((inner, other), (BERT, replace(GPT2, variant="lower"))):
        assert groups([ensemble(*members)])[0].sort == "alone"
    assert single([BERT, inner, GPT2], [1, 2]) == [2]


def test_an_older_ensemble_is_known_by_its_members_runs() -> None:
    old = Run("old", "mixed", "", {}, {"family": "ensemble", "members": [BERT.name, GPT2.name]})
    assert grouped(old, every=[BERT, GPT2]) == [("acl-ll", ["old/mixed"])]
    assert groups([old], every=[BERT])[0].sort == "alone"  # one is not there any more
    assert groups([replace(old, about={"family": "ensemble"})])[0].sort == "alone"


def test_one_group_can_be_picked() -> None:
    lone = Run("m", "predictions", "", {})
    runs = (BERT, GPT2, OTHER, lone, replace(GPT2, variant="lower"))
    assert grouped(*runs, profile="arxiv") == [("arxiv", [OTHER.name])]
    assert grouped(*runs, profile="acl-ll+lower") == [("acl-ll+lower", [f"{GPT2.name}+lower"])]
    # By rules also where a profile has them.
    assert grouped(*runs, rule=BERT.rule) == [(BERT.rule, [BERT.name])]
    there = "--profile acl-ll, --profile acl-ll+lower, --profile arxiv, --rule"
    for picked, says, fix in (
        ({"profile": "default"}, "under the profile «default»", there),
        ({"rule": "predictions"}, "under the rules «predictions»", ""),
        ({"rule": "ll-bos", "profile": "arxiv"}, "both a profile and a rule", ""),
    ):
        with fails(says, fix=fix):
            groups(runs, **picked)
    with fails(fix="declare"):
        groups([lone], profile="arxiv")


def test_two_ensembles_of_mixed_rules_are_not_ranked_for_that() -> None:
    plain = (under("bert", "masked", "default"), under("gpt2", "causal", "default"))
    runs = [ensemble(BERT, GPT2), ensemble(*plain, model="other")]
    assert [group.name for group in groups(runs)] == ["default", "acl-ll"]
    with fails():
        groups(runs, rule="mixed")


# --- next-sentence heads --------------------------------------------------------------------------

INTRA, INTER = ([cat] for cat in CATS[:2])
TRAINED = {"corpus": "ab" * 32, "epochs": 10, "seed": 1}
NONE = "no record of how the next-sentence head was trained"
NO_RECORD = f"profile acl-ll ({NONE})"


def trained(model: str, profile: str = "acl-ll", family: str = "causal", **other: Any) -> Run:
    return under(model, family, profile, head_training={**TRAINED, **other})


def ranked(*runs: Run, cats: list[Cat] = INTER) -> dict[str, list[str]]:
    """The models of each group by its title."""
    marked = mark_heads(runs, cats)
    return {g.title: [marked[n].model for n in g.runs] for g in groups(marked)}


def test_heads_that_were_trained_otherwise_are_ranked_apart_with_the_difference() -> None:
    old = under("old", "causal")
    runs = [trained("b", epochs=2), trained("a"), trained("c", family="masked"), old]
    assert ranked(*runs) == {
        "profile acl-ll": ["a", "c"],
        "profile acl-ll (next-sentence head trained with epochs 2 instead of 10)": ["b"],
        NO_RECORD: ["old"],
    }
    marked = mark_heads(runs, INTER)
    assert [run.about.get("other_head") for run in marked][1:] == ["", "", NONE]
    # Each is still one of the profile's.
    assert [profiles_in(groups(marked), n) for n in range(4)] == [["acl-ll"]] * 4
    only = groups(marked, profile="acl-ll")
    assert sorted(n for group in only for n in group.runs) == [0, 1, 2, 3]


def test_every_difference_is_named_and_a_corpus_by_its_first_digits() -> None:
    other = trained("c", corpus="cd" * 32, seed=2, freeze=True)
    (_, second) = ranked(trained("a"), trained("b"), other)
    assert second.endswith(
        "trained with corpus cdcdcdcdcdcd instead of abababababab, seed 2 instead of 1)"
    )


def test_the_largest_group_is_ranked_and_of_equal_ones_the_first() -> None:
    two = [trained("a", seed=2), trained("b"), trained("c")]
    assert ranked(*two)["profile acl-ll"] == ["b", "c"]
    assert ranked(*two[:2])["profile acl-ll"] == ["a"]
    # Most have no record, but these are not known to be alike.
    old = [under("x", "causal"), under("y", "causal"), trained("z")]
    assert ranked(*old) == {NO_RECORD: ["x", "y"], "profile acl-ll": ["z"]}


def test_a_head_matters_only_for_cats_that_it_scored() -> None:
    runs = [trained("a"), trained("b", epochs=2), under("old", "causal")]
    assert ranked(*runs, cats=INTRA) == {"profile acl-ll": ["a", "b", "old"]}
    one = replace(runs[1], scores=run("", p=S).scores)  # of the other kind
    assert ranked(runs[0], one) == {"profile acl-ll": ["a", "b"]}
    pll = [under(name, "causal", "acl-pll") for name in "ab"]
    assert ranked(*pll) == {"profile acl-pll": ["a", "b"]}


def test_a_models_own_head_is_right_under_arxiv_and_not_under_acl() -> None:
    """ArXiv §7.1 takes BERT's own; ACL §6.1 trains one for every model."""
    own = under("bert", "masked", "arxiv", opened={"nsp": {"next_sentence": {"head": "own"}}})
    assert ranked(trained("gpt2", "arxiv"), own) == {"profile arxiv": ["gpt2", "bert"]}
    assert ranked(trained("gpt2"), under("bert", "masked", own_head=True)) == {
        "profile acl-ll": ["gpt2"],
        "profile acl-ll (the model's own next-sentence head)": ["bert"],
    }


@pytest.mark.parametrize(("declared", "profile"), [("acl-ll", "acl-ll"), ("ll-acl_nsp", "")])
def test_predictions_have_no_record(declared: str, profile: str) -> None:
    given = replace(under("p", "causal"), rule=declared, about={}, profile=profile)
    (marked,) = mark_heads([given], INTER)
    assert marked.about["other_head"] == NONE
    assert "other_head" not in mark_heads([given], INTRA)[0].about
