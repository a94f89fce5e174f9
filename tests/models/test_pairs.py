"""Pairs: what two sentences share, the rules of their kind, and whole runs."""

import json
from pathlib import Path

import pytest

from curation.kinds import KINDS
from curation.models import masked
from curation.models.chat import ChatSpec, read_prompts
from curation.models.loading import load
from curation.models.rules import Family, ScoringRequest, profiles_of, rules_for, rules_of
from curation.models.scoring import ModelSpec, Scorer
from curation.models.tokens import shared_places
from curation.scores.answer_report import Limits
from curation.scores.asking import cat_digest, chat_questions, questions
from curation.scores.running import ask_cats, conclude, job, score_cats
from support.cats import cat, pair
from support.chat_models import ENGLISH, random_chat_model
from support.expected import fails
from support.models import Made

CATS = [
    pair("Old bakers are kind.", "Young bakers are kind.", name="a"),
    pair("The potter sings well.", "The fiddler sings well.", name="b", direction="antistereo"),
    pair("She juggles and sings.", "He juggles and sings.", name="c", direction=None),
]


# --- what they share ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "first_shares", "other_shares"),
    [
        ("a b c d", "a x c d", [0, 2, 3], [0, 2, 3]),  # one word is replaced
        ("a b c", "a b b c", [0, 1, 2], [0, 1, 3]),  # [CLS] a b is as long as b c [SEP], and first
        ("a b", "c a b d", [0, 1], [1, 2]),
        ("a", "b", [], []),
        # Two blocks of two: the one that is first in the first sentence is taken, and after it
        # nothing of the other is left in the right order.
        ("a b x c d", "c d y a b", [0, 1], [3, 4]),
        ("c d y a b", "a b x c d", [0, 1], [3, 4]),
    ],
)
def test_shared_tokens_are_those_of_the_original(
    one: str, other: str, first_shares: list[int], other_shares: list[int]
) -> None:
    ids, others = ([ord(letter) for letter in text.split()] for text in (one, other))
    around = ([1], [2])
    assert shared_places(ids, others, around=around, second=False) == first_shares
    assert shared_places(others, ids, around=around, second=True) == other_shares


def test_in_long_sentences_frequent_tokens_begin_no_block() -> None:
    # difflib's autojunk: of 200 tokens of the second sentence, 7 is more than one percent.
    many = [7] * 198
    assert shared_places([5, 7, 6], [5, 7, 6], around=([1], [2]), second=False) == [0, 1, 2]
    assert shared_places([8, 7, 9], many, around=([1], [2]), second=False) == []
    assert shared_places([8, 7, 9], many[1:], around=([1], [2]), second=False) == [1]


def test_each_shared_token_is_masked_once(made: Made) -> None:
    tokenizer = load(str(made("bert")), head="none").tokenizer
    ask = questions(CATS[1])[0].ask
    [texts] = masked.texts(tokenizer, "pll-shared", [ask])
    [others] = masked.texts(tokenizer, "pll-shared", [questions(CATS[1])[1].ask])
    assert isinstance(texts, list)
    assert isinstance(others, list)
    read = [[token for text in each for _, token in text.reads] for each in (texts, others)]
    words = tokenizer.convert_ids_to_tokens(read[0])
    assert read[0] == read[1]
    assert "".join(words).replace("##", "").endswith("singswell.")
    assert all(list(t.ids).count(tokenizer.mask_token_id) == 1 for t in (*texts, *others))


def test_a_pair_that_shares_nothing_is_refused(made: Made) -> None:
    asks = [question.ask for question in questions(pair("clouds", "baker"))]
    for name, rule in (("gpt2", "ll-shared"), ("bert", "pll-shared-3")):
        own = [ask._replace(sentence="", other="x") for ask in asks]
        assert [s[0] for s in Scorer(ModelSpec(str(made(name)))).score(rule, own)] == [  # type: ignore[index]
            "nothing_to_score"
        ] * 2


def test_unmasked_texts_read_every_token_once(made: Made) -> None:
    tokenizer = load(str(made("bert")), head="none").tokenizer
    [[text]] = masked.texts(tokenizer, "aul", [questions(CATS[0])[0].ask])  # type: ignore[misc]
    assert list(text.ids) == tokenizer("Old bakers are kind.")["input_ids"]
    assert [*text.reads] == [*enumerate(text.ids)][1:-1]


# --- questions ------------------------------------------------------------------------------------


def test_a_sentence_knows_the_other_and_which_is_first() -> None:
    said = [(q.ask.text, q.ask.other, q.ask.second) for cat in CATS[:2] for q in questions(cat)]
    assert said == [
        ("Old bakers are kind.", "Young bakers are kind.", False),
        ("Young bakers are kind.", "Old bakers are kind.", True),
        # The original gives the less stereotypical sentence first if the direction is antistereo.
        ("The potter sings well.", "The fiddler sings well.", True),
        ("The fiddler sings well.", "The potter sings well.", False),
    ]
    lower = questions(CATS[0], variant="lower")[0].ask
    assert (lower.text, lower.other) == ("old bakers are kind.", "young bakers are kind.")


def test_the_digest_of_a_sentence_is_of_the_other_too() -> None:
    old = questions(CATS[0])
    new = questions(pair("Old bakers are kind.", "Tall bakers are kind.", name="a"))
    assert [a.digest == b.digest for a, b in zip(old, new, strict=True)] == [False, False]
    turned = questions(CATS[0].model_copy(update={"direction": "antistereo"}))
    assert old[0].digest != turned[0].digest
    assert cat_digest(CATS[0]) != cat_digest(pair("Young bakers are kind.", "Old bakers are kind."))


def test_digests_of_other_kinds_are_as_they_were() -> None:
    asked = questions(cat("A cat came.", "It sat.", "It ran.", "Red is a colour."))
    assert asked[0].digest == "ee853761e0cb60a6"


def test_a_chat_model_is_asked_one_comparison_in_both_orders() -> None:
    asked = chat_questions(CATS[0], read_prompts(ENGLISH))
    assert [(q.place.pair, q.place.swapped) for q in asked] == [
        ("stereotype/anti-stereotype", False),
        ("stereotype/anti-stereotype", True),
    ]
    assert asked[0].options == ("Old bakers are kind.", "Young bakers are kind.")
    assert "more natural" in asked[0].text


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "rule"),
    [
        ("causal", "ll-shared"),
        ("endpoint", "ll-bos"),
        ("masked", "pll-shared"),
        ("xlnet", "pll-shared"),
        ("chat", "choice"),
    ],
)
def test_rules_of_pairs_by_default(family: Family, rule: str) -> None:
    assert rules_for(family, rule=None, profile=None, kinds=["pair"]) == {"pair": rule}
    both = rules_for(family, rule=None, profile=None)
    assert set(both) == {"intrasentence", "intersentence"}
    assert rules_for(family, rule=None, profile=None, kinds=KINDS) == {**both, "pair": rule}
    assert profiles_of(family, {"pair": rule}) == ["choice" if family == "chat" else "default"]


def test_a_part_of_stereoset_has_the_rules_of_the_whole() -> None:
    rules = {"intrasentence": "pll", "intersentence": "pll-shared", "pair": "aul"}
    assert rules_of(rules, ["intersentence"]) == {
        "intrasentence": "pll",
        "intersentence": "pll-shared",
    }
    assert rules_of(rules, ["pair"]) == {"pair": "aul"}


@pytest.mark.parametrize(
    ("family", "rule", "profile", "kinds", "what", "fix"),
    [
        ("seq2seq", None, None, ["pair"], "«default» has no rule for pair CATs of seq2seq models",
         "score a model of another family"),
        ("causal", None, "code", ["pair"], "«code» has no rule for pair CATs of causal models",
         "use one of: --profile default, --rule ll-bos, --rule ll-shared"),
        ("masked", None, "crows", ["intersentence"],
         "«crows» has no rule for intersentence CATs of masked", ""),
        ("causal", "ll-shared", None, ["intersentence"],
         "the rule is for pair CATs, and there are none", "choose another rule or profile"),
        ("causal", "conditional", None, ["pair"],
         "the rule is for intersentence CATs, and there are none", ""),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_named(
    family: Family, rule: str | None, profile: str | None, kinds: list[str], what: str, fix: str
) -> None:
    with fails(what) as failed:
        rules_for(family, rule=rule, profile=profile, kinds=kinds)  # type: ignore[arg-type]
    assert fix in ("", failed.value.fix)


def test_attention_that_is_not_returned_is_an_error(made: Made) -> None:
    scorer = Scorer(ModelSpec(str(made("bert"))))
    asks = [question.ask for question in questions(CATS[0])]
    values = scorer.score("aula", asks)
    assert values == pytest.approx(scorer.score("aula", asks[:1]) + scorer.score("aula", asks[1:]))
    runner = scorer._open["lm"].args[0]  # type: ignore[attr-defined]
    assert runner.loaded.model.config._attn_implementation != "eager"  # as it was
    forward = runner.loaded.model.forward
    runner.loaded.model.forward = lambda *a, **k: forward(*a, **{**k, "output_attentions": False})
    with fails("does not return attentions", fix="use the rule «aul»"):
        scorer.score("aula", asks)


# --- runs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "profile", "rule"),
    [("gpt2", "", "ll-shared"), ("bert", "", "pll-shared"), ("bert", "crows", "pll-shared-3")],
)
def test_a_run_continues_and_has_ss(
    made: Made, tmp_path: Path, name: str, profile: str, rule: str
) -> None:
    work = job(ModelSpec(str(made(name))), tmp_path, profile=profile, kinds=["pair"])
    assert work.folder.name == rule
    assert score_cats(work, CATS[:2]) == {"scored": 4, "before": 0, "refused": 0}
    assert score_cats(work, CATS) == {"scored": 2, "before": 4, "refused": 0}
    lines = [json.loads(line) for line in (work.folder / "scores.jsonl").read_text().splitlines()]
    values = {line["association"]: line["value"] for line in lines}
    won = sum(values[f"{c}0"] > values[f"{c}1"] for c in "abc")
    report = conclude(work, CATS, ties="official")
    found = report["splits"]["test"]["kinds"]["pair"]["overall"]
    assert found["ss"] == pytest.approx(100 * won / 3)
    assert report["run"]["rules"] == {"pair": rule}


def test_a_local_chat_model_is_asked_about_pairs(tmp_path: Path) -> None:
    spec = ModelSpec(str(random_chat_model(tmp_path / "model")), chat=ChatSpec(ENGLISH))
    asked = ask_cats(job(spec, tmp_path, kinds=["pair"]), CATS, limits=Limits(1, 2))
    assert asked.counts["asked"] == 6
    again = ask_cats(job(spec, tmp_path, kinds=["pair"]), CATS, limits=Limits(1, 2))
    assert (again.counts["asked"], again.counts["before"]) == (0, 6)
    assert again.report["splits"]["test"]["kinds"]["pair"]["overall"]["cats"] == 3


def test_a_request_of_a_pair_is_its_sentence_alone() -> None:
    assert ScoringRequest("pair", "", "It sat.", other="It ran.").text == "It sat."
