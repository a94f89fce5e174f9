"""The contract: complete, consistent, and right in its errors."""

import numpy as np
import pytest

from curation.kinds import CAT_KINDS, KINDS
from curation.models import masked, rules
from curation.models.echoes import Echo, Echoes
from curation.models.rules import PROFILES, RULES, ScoringRequest, profiles_of, rules_for
from curation.models.scoring import ModelSpec, Scorer
from support.expected import fails
from support.models import Made
from support.reference import INTER, INTRA


def test_the_contract_speaks_of_every_rule_and_profile() -> None:
    assert [rule for rule in RULES if rule not in (rules.__doc__ or "")] == []
    assert list(rules.SOURCES) == list(PROFILES)


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_name_rules_that_serve_family_and_kind(profile: str) -> None:
    for family, by_kind in PROFILES[profile].items():
        assert set(by_kind) in ({*KINDS}, {*CAT_KINDS}, {"pair"})
        for kind, rule in by_kind.items():
            assert family in RULES[rule].families
            assert kind in RULES[rule].kinds
        assert profile in profiles_of(family, by_kind)
        for kinds in (CAT_KINDS, ["pair"]):
            own = rules.rules_of(by_kind, kinds)
            assert not own or profile in profiles_of(family, own)


def test_by_default_every_family_is_served_without_a_trained_head() -> None:
    families = {family for rule in RULES.values() for family in rule.families}
    assert set(PROFILES["default"]) == families - {"chat"}  # which have a profile of their own
    asked = rules_for("chat", rule=None, profile=None, kinds=KINDS)
    assert asked == PROFILES["choice"]["chat"]
    assert all("nsp" not in by_kind.values() for by_kind in PROFILES["default"].values())


def test_a_rule_serves_the_kinds_that_it_is_for() -> None:
    assert rules_for("causal", rule="ratio", profile=None) == {"intersentence": "ratio"}
    both = rules_for("masked", rule="pll", profile=None)
    assert both == {"intrasentence": "pll", "intersentence": "pll"}


HEADS = ("acl-ll", "arxiv", "code")
NO_HEAD = (
    "«{}» has no rules for endpoint* a next-sentence head, which a model behind an endpoint cannot"
    " have"
)
SERVE = "use one of: acl-pll, default"  # those that serve endpoints


@pytest.mark.parametrize(
    ("family", "rule", "profile", "what", "fix"),
    [
        ("causal", "pll", None, "«pll» is not for causal models", ""),
        ("causal", "ppl", None, "no rule «ppl»", ""),
        ("causal", None, "acl", "no profile «acl»", ""),
        ("causal", "ll-bos", "arxiv", "both a rule and a profile", ""),
        *[("endpoint", None, name, NO_HEAD.format(name), SERVE) for name in HEADS],
        # No profile of a paper is for models that it does not score. StereoSet's code reads XLNet
        # after a passage of its own, and does not hide what is masked.
        ("seq2seq", None, "acl-pll", "«acl-pll» has no rules for seq2seq", "use one of: default"),
        ("xlnet", None, "code", "«code» has no rules for xlnet models", ""),
    ],
)
def test_what_does_not_fit_is_named(
    family: rules.Family, rule: str | None, profile: str | None, what: str, fix: str
) -> None:
    with fails(*what.split("*")) as failed:
        rules_for(family, rule=rule, profile=profile)
    assert fix in ("", failed.value.fix)


@pytest.mark.parametrize(
    ("by_kind", "name"),
    [
        ({"intrasentence": "ll-acl", "intersentence": "nsp"}, "ll-acl_nsp"),
        ({"intersentence": "nsp", "intrasentence": "ll-acl"}, "ll-acl_nsp"),
        ({"intrasentence": "pll-word-l2r", "intersentence": "pll-word-l2r"}, "pll-word-l2r"),
        ({"intersentence": "nsp"}, "nsp"),
    ],
)
def test_what_a_run_is_called(by_kind: dict[str, str], name: str) -> None:
    assert rules.rules_name(by_kind) == name


def test_a_run_serves_no_profile_whose_rules_it_does_not_have() -> None:
    assert profiles_of("masked", {"intersentence": "nsp"}) == []
    assert profiles_of("ensemble", {"intrasentence": "mixed", "intersentence": "nsp"}) == []
    # What acl-pll was before it was the paper's:
    assert profiles_of("masked", {"intrasentence": "pll", "intersentence": "nsp"}) == []


def test_what_an_ask_says_of_its_text() -> None:
    ask = ScoringRequest("intrasentence", "A BLANK cat.", "A kind cat.", 2, 6, "A kind cat.", 2)
    assert (ask.attribute, ask.text) == ("kind", "A kind cat.")
    assert [ask.text[a:b] for a, b in ask.fills] == ["kind"]
    twice = ScoringRequest(
        "intrasentence", "BLANK is BLANK.", "Old is old.", 0, 3, "old is old.", 0, (7,)
    )
    assert [twice.text[a:b] for a, b in twice.fills] == ["Old", "old"]
    pair = ScoringRequest("intersentence", "A cat came.", "It sat.")
    assert pair.text == "A cat came. It sat."


def test_characters_are_the_code_points_of_the_association() -> None:
    texts = ["It sat.", " It  sat. ", "caf\u00e9", "cafe\u0301", "🍞", "도예가"]
    asks = [ScoringRequest("intersentence", "A cat came. ", text) for text in texts]
    assert [ask.characters for ask in asks] == [7, 10, 4, 5, 1, 3]


# --- rules that are in no contract ----------------------------------------------------------------


LEFT_TO_RIGHT = "ll-bos, ll-acl, ll-code, ll-arxiv, conditional, conditional-chars, ratio"
CAUSAL = LEFT_TO_RIGHT.replace("ll-arxiv", "ll-arxiv, ll-shared")
ATTRIBUTE = "attribute-acl, attribute-arxiv, attribute-code, attribute-code-literal"
BOTH_WAYS = f"{ATTRIBUTE}, pll, pll-shared, pll-shared-3, pll-word-l2r, aul, aula"
TO_DECODERS = "infill, conditional, conditional-chars"


@pytest.mark.parametrize(
    ("name", "known"),
    [("gpt2", CAUSAL), ("bert", BOTH_WAYS), ("xlnet", BOTH_WAYS), ("t5", TO_DECODERS)],
)
def test_a_rule_without_a_sum_of_its_own_does_not_get_that_of_another(
    made: Made, name: str, known: str
) -> None:
    scorer = Scorer(ModelSpec(str(made(name))))
    others = RULES.keys() - {*known.split(", "), "nsp"}  # nsp has a model of its own
    for rule in ("made-up", "attribute-made-up", "pll-made-up", *others):
        for request in (INTRA[0], INTER[0]):
            with fails(f"the rule «{rule}» is not computed here", fix=f"use one of: {known}"):
                scorer.score(rule, [request])


def test_no_way_of_combining_probabilities_is_left_over_for_unknown_rules() -> None:
    with fails("the rule «pll-made-up» is not computed here"):
        masked._combined("pll-made-up", np.array([-1.0, -2.0]))


def test_no_sum_over_echoes_is_left_over_for_unknown_rules() -> None:
    echo = Echo(["It", " sat", "."], [None, -1.0, -2.0], [], 0)
    echoes = Echoes("<s>", False, 0, dict.fromkeys(["It sat."], echo))
    echoes.known["<s>It sat."] = Echo(["<s>", *echo.tokens], [None, -1.0, -1.0, -2.0], [], 0)
    ask = ScoringRequest("intrasentence", "It BLANK.", "It sat.", 3, 6, "It sat.", 3)
    assert echoes.score("ll-acl", ask) == -4.0
    with fails("the rule «made-up» is not computed here", fix=f"use one of: {LEFT_TO_RIGHT}"):
        echoes.score("made-up", ask)
