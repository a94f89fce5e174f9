"""Which runs are ranked together: those of a profile, or of the same rules, and no others."""

from dataclasses import replace
from typing import Any

import pytest

from curation.files import CurationError
from curation.models.rules import PROFILES, rules_name
from curation.scores.groups import Group, groups, member_runs, profiles_in, single
from curation.scores.runs import Run

INTRA, INTER = "intrasentence", "intersentence"


def under(model: str, family: str, rules: str | dict[str, str], variant: str = "") -> Run:
    """A run of a family under a profile, or under the rules that are given."""
    found: Any = PROFILES[rules][family] if isinstance(rules, str) else rules  # type: ignore[index]
    about = {"model": model, "family": family, "rules": dict(found)}
    return Run(model, rules_name(found), variant, {}, about)


BERT, GPT2 = under("bert", "masked", "acl-ll"), under("gpt2", "causal", "acl-ll")


def grouped(*runs: Run, **picked: Any) -> list[tuple[str, list[str]]]:
    return [
        (group.name, [runs[number].name for number in group.runs])
        for group in groups(runs, **picked)
    ]


def test_a_profile_has_its_models_of_every_family() -> None:
    # ACL Table 4: masked models beside GPT-2, by different rules.
    assert BERT.rules != GPT2.rules
    assert grouped(BERT, GPT2) == [("acl-ll", [BERT.name, GPT2.name])]
    assert groups([BERT])[0].title == "profile acl-ll"


def test_different_profiles_are_never_together() -> None:
    other = under("bert", "masked", "arxiv")
    assert grouped(BERT, GPT2, other) == [
        ("acl-ll", [BERT.name, GPT2.name]), ("arxiv", [other.name]),
    ]  # fmt: skip
    # More models first; of equal ones default, then by name.
    plain = under("gpt2", "causal", "default")
    assert [name for name, _ in grouped(plain, other, BERT)] == ["default", "acl-ll", "arxiv"]


def test_a_run_is_in_each_profile_that_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = {"masked": dict(PROFILES["acl-ll"]["masked"])}
    monkeypatch.setitem(PROFILES, "twin", twin)  # type: ignore[arg-type]
    assert grouped(BERT, GPT2) == [("acl-ll", [BERT.name, GPT2.name]), ("twin", [BERT.name])]
    assert profiles_in(groups([BERT, GPT2]), 0) == ["acl-ll", "twin"]


def test_rules_that_are_not_of_a_profile_are_a_group() -> None:
    single_rule = {INTRA: "ll-bos", INTER: "ll-bos"}
    a, b = (under(name, "causal", single_rule) for name in "ab")
    own = under("c", "causal", {INTRA: "ll-acl", INTER: "conditional"})
    assert grouped(a, own, b, BERT) == [
        ("acl-ll", [BERT.name]),
        ("ll-bos", ["a/ll-bos", "b/ll-bos"]),
        ("ll-acl_conditional", ["c/ll-acl_conditional"]),
    ]
    assert groups([a])[0].title == "rules ll-bos"
    # The folder alone says the rule, too.
    assert grouped(Run("x", "ll-bos", "", {}), a) == [("ll-bos", ["x/ll-bos", "a/ll-bos"])]


def test_a_run_without_declared_rules_is_alone() -> None:
    runs = [Run("m", "predictions", "", {}), Run("n", "predictions", "", {}), BERT]
    found = groups(runs)
    assert [(g.sort, g.name, g.runs) for g in found] == [
        ("profile", "acl-ll", (2,)), ("alone", "m/predictions", (0,)),
        ("alone", "n/predictions", (1,)),
    ]  # fmt: skip
    assert found[1].title == "rule not declared"
    declared = Run("m", "acl-ll", "", {}, profile="acl-ll")
    assert grouped(declared, BERT) == [("acl-ll", ["m/acl-ll", BERT.name])]
    # No run.json says the rules of a folder that is named after a profile.
    assert groups([Run("old", "default", "", {})])[0].sort == "alone"


def test_variants_are_groups_of_their_own_and_last() -> None:
    lower = replace(BERT, variant="lower")
    rule = under("a", "causal", {INTRA: "ll-bos", INTER: "ll-bos"})
    found = groups([lower, BERT, rule])
    assert [group.name for group in found] == ["acl-ll", "ll-bos", "acl-ll+lower"]
    assert found[2].title == "profile acl-ll, texts altered: lower"
    assert [group.variant for group in found] == ["", "", "lower"]


def test_a_model_is_once_in_a_group() -> None:
    messages: list[str] = []
    old = replace(BERT, rule="acl-ll", where="5-scores/bert/acl-ll")  # before folders had rules
    found = groups([old, GPT2, BERT], skipped=messages.append)
    assert [group.runs for group in found] == [(1, 2)]
    assert messages == [
        f"5-scores/bert/acl-ll: left out of profile acl-ll, because {BERT.name} has this model's "
        "scores under it, too"
    ]


def ensemble(*members: Run, **about: Any) -> Run:
    kept = {"family": "ensemble", "member_runs": member_runs(members), **about}
    return Run("both", "mixed", "", {}, kept)


def test_an_ensemble_is_where_all_of_its_members_are() -> None:
    other = under("gpt2", "causal", "arxiv")
    assert grouped(BERT, GPT2, ensemble(BERT, GPT2)) == [
        ("acl-ll", [BERT.name, GPT2.name, "both/mixed"]),
    ]
    apart = groups([BERT, GPT2, other, ensemble(BERT, other)])
    assert [(group.sort, group.runs) for group in apart] == [
        ("profile", (0, 1)), ("profile", (2,)), ("alone", (3,)),
    ]  # fmt: skip
    assert apart[2].title.startswith("its members are scored by different rules")
    # Of an ensemble of ensembles the runs beneath count.
    inner = ensemble(BERT, GPT2)
    assert grouped(ensemble(inner, BERT)) == [("acl-ll", ["both/mixed"])]
    assert groups([ensemble(inner, other)])[0].sort == "alone"
    lower = replace(GPT2, variant="lower")
    assert groups([ensemble(BERT, lower)])[0].sort == "alone"
    assert single([BERT, inner, GPT2], [1, 2]) == [2]


def test_an_older_ensemble_is_known_by_its_members_runs() -> None:
    old = Run("old", "mixed", "", {}, {"family": "ensemble", "members": [BERT.name, GPT2.name]})
    assert grouped(old, every=[BERT, GPT2]) == [("acl-ll", ["old/mixed"])]
    assert groups([old], every=[BERT])[0].sort == "alone"  # one is not there any more
    assert groups([replace(old, about={"family": "ensemble"})])[0].sort == "alone"


def test_one_group_can_be_picked() -> None:
    other = under("bert", "masked", "arxiv")
    lone = Run("m", "predictions", "", {})
    runs = (BERT, GPT2, other, lone, replace(GPT2, variant="lower"))
    assert grouped(*runs, profile="arxiv") == [("arxiv", [other.name])]
    assert grouped(*runs, profile="acl-ll+lower") == [("acl-ll+lower", [f"{GPT2.name}+lower"])]
    # By rules also where a profile has them.
    assert grouped(*runs, rule=BERT.rule) == [(BERT.rule, [BERT.name])]
    with pytest.raises(CurationError, match="under the profile «default»") as error:
        groups(runs, profile="default")
    assert "--profile acl-ll, --profile acl-ll+lower, --profile arxiv, --rule" in error.value.fix
    with pytest.raises(CurationError, match="under the rules «predictions»"):
        groups(runs, rule="predictions")
    with pytest.raises(CurationError, match="both a profile and a rule"):
        groups(runs, rule="ll-bos", profile="arxiv")
    with pytest.raises(CurationError) as error:
        groups([lone], profile="arxiv")
    assert "declare" in error.value.fix


def test_two_ensembles_of_mixed_rules_are_not_ranked_for_that() -> None:
    a = ensemble(BERT, GPT2)
    b = ensemble(under("bert", "masked", "default"), under("gpt2", "causal", "default"))
    runs = [a, replace(b, model="other")]
    assert [group.name for group in groups(runs)] == ["default", "acl-ll"]
    with pytest.raises(CurationError):
        groups(runs, rule="mixed")


def test_a_group_is_plain_data() -> None:
    assert Group("alone", "m/x+y", "t", (0,)).variant == ""
