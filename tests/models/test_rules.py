"""The contract: complete, consistent, and right in its errors."""

import pytest

from curation.files import CurationError
from curation.models import rules
from curation.models.rules import BOTH, PROFILES, RULES, Ask, rules_for


@pytest.mark.parametrize("rule", RULES)
def test_the_contract_speaks_of_every_rule(rule: str) -> None:
    assert rule in (rules.__doc__ or "")


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_name_rules_that_serve_family_and_kind(profile: str) -> None:
    for family, by_kind in PROFILES[profile].items():
        assert set(by_kind) == set(BOTH)
        for kind, rule in by_kind.items():
            assert family in RULES[rule].families
            assert kind in RULES[rule].kinds


def test_by_default_every_family_is_served_without_a_trained_head() -> None:
    families = {family for rule in RULES.values() for family in rule.families}
    assert set(PROFILES["default"]) == families
    assert all("nsp" not in by_kind.values() for by_kind in PROFILES["default"].values())


def test_a_rule_serves_the_kinds_that_it_is_for() -> None:
    assert rules_for("causal", rule="ratio", profile=None) == {"intersentence": "ratio"}
    both = rules_for("masked", rule="pll", profile=None)
    assert both == {"intrasentence": "pll", "intersentence": "pll"}


@pytest.mark.parametrize(
    ("rule", "profile", "message"),
    [
        ("pll", None, "«pll» is not for causal models"),
        ("ppl", None, "no rule «ppl»"),
        (None, "acl-pll", "«acl-pll» says nothing of causal models"),
        (None, "acl", "no profile «acl»"),
        ("ll-bos", "arxiv", "both a rule and a profile"),
    ],
)
def test_what_does_not_fit_is_named(rule: str | None, profile: str | None, message: str) -> None:
    with pytest.raises(CurationError, match=message) as caught:
        rules_for("causal", rule=rule, profile=profile)
    assert caught.value.mend


def test_what_an_ask_says_of_its_text() -> None:
    ask = Ask("intrasentence", "A BLANK cat.", "A kind cat.", 2, 6, "A kind cat.", 2)
    assert (ask.attribute, ask.text) == ("kind", "A kind cat.")
    assert [ask.text[a:b] for a, b in ask.fills] == ["kind"]
    twice = Ask("intrasentence", "BLANK is BLANK.", "Old is old.", 0, 3, "old is old.", 0, (7,))
    assert [twice.text[a:b] for a, b in twice.fills] == ["Old", "old"]
    pair = Ask("intersentence", "A cat came.", "It sat.")
    assert pair.text == "A cat came. It sat."
