"""Every rule, on every sort of model, equals a slow and plain computation of the same."""

import pytest

from curation.models.rules import RULES, Refusal, Scored, ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from curation.text.item_form import attribute, fill_all
from support.models import CAUSAL, MASKED, Made
from support.reference import reference

SENTENCES = {
    "The baker is BLANK today.": ("kind", "unbelievably cheerful", "🥐 round", "a"),
    "BLANK fiddlers are loud.": ("White", "hard-working", "çalışkandır"),
    "Most bakers are BLANK": ("epäjärjestelmällisiä", "patient", "kind!"),
    "그 도예가는 BLANK하다.": ("친절", "조용", "🍞"),
    "BLANK people like BLANK people.": ("kind", "well-read", "old"),
}
PAIRS = {
    "The librarian sings in the choir.": ("She is kind.", "he lives alone", "Clouds drift 🌞."),
    "Bir fırıncı gördüm. ": ("Çok çalışkandır!", "İyi.", "The weather is lovely."),
    " ": ("A text after nothing.", "An other.", "Kind"),
    "My neighbour the baker " * 9: ("sings.",),  # long texts take long: one is enough
}


def intra(context: str, words: str) -> ScoringRequest:
    sentence = fill_all(context, words)[0]
    start, end = attribute(context, sentence)
    filled, places = fill_all(context, sentence[start:end])
    return ScoringRequest(
        "intrasentence", context, sentence, start, end, filled, places[0], tuple(places[1:])
    )


def asks(rule: str) -> list[list[ScoringRequest]]:
    """CATs, as lists of asks."""
    within = [[intra(c, w) for w in words] for c, words in SENTENCES.items()]
    across = [[ScoringRequest("intersentence", c, s) for s in said] for c, said in PAIRS.items()]
    kinds = RULES[rule].kinds
    return within * ("intrasentence" in kinds) + across * ("intersentence" in kinds)


def of(family: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    rules = [rule for rule, says in RULES.items() if family in says.families and rule != "nsp"]
    return [(name, rule) for name in names for rule in rules]


NEEDS_A_START = {"ll-bos", "ll-acl", "ll-code", "ratio"}
TOKENIZERS = ("bert", "roberta", "xlm_roberta")  # what that rule makes depends on these alone
CASES = [
    (name, rule)
    for name, rule in of("causal", CAUSAL) + of("masked", MASKED)
    if not (name == "neox" and rule in NEEDS_A_START)  # its tokenizer has no such token
    and not (rule == "attribute-code-literal" and name not in TOKENIZERS)
]


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_scores_equal_the_reference(made: Made, name: str, rule: str) -> None:
    folder, cats = made(name), asks(rule)
    if name == "neox":  # nor can it score a text after nothing
        cats = [cat for cat in cats if cat[0].context.strip()]
    flat = [ask for cat in cats for ask in cat]
    wanted = [reference(folder, rule, ask) for ask in flat]
    for how in ({}, {"batch_tokens": 24}, {"plain": True}):
        found = Scorer(ModelSpec(str(folder), **how)).score(rule, flat)  # type: ignore[arg-type]
        for ask, value, right in zip(flat, found, wanted, strict=True):
            if right is None:
                assert isinstance(value, Refusal), (ask, value)
            else:
                # A ratio is the difference of two sums, and as exact as these.
                near = 1e-4 if rule == "ratio" else 0
                assert value == pytest.approx(right, rel=1e-5, abs=near), ask
        assert orders(cats, found) == orders(cats, wanted)


def orders(
    cats: list[list[ScoringRequest]], values: list[Scored] | list[float | None]
) -> list[list[int]]:
    """Each CAT's associations from the least likely to the likeliest; refused ones first."""
    left = (value if isinstance(value, float) else float("-inf") for value in values)
    rows = [[next(left) for _ in cat] for cat in cats]
    return [sorted(range(len(row)), key=row.__getitem__) for row in rows]
