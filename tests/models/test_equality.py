"""Every rule, on every sort of model, equals a slow and plain computation, and other people's."""

from typing import Any

import pytest

from curation.models.rules import RULES, Refusal, Scored, ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from curation.text.item_form import attribute, fill_all
from support.models import CAUSAL, MASKED, Made
from support.peers import Worker, close
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
OF_PAIRS = (
    ("Most old bakers are kind to a cat.", "Most young bakers are kind to a cat."),
    ("White fiddlers sing, White fiddlers juggle.", "Fiddlers sing, White fiddlers juggle!"),
    (
        "The potter sings well 🌞 and patient.",
        "The wheelwright sang, unbelievably, 🌞 and patient.",
    ),
    ("그 도예가는 친절하다.", "그 이웃은 친절하다."),
)


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
    pairs = [
        [
            ScoringRequest("pair", "", one, other=other, second=False),
            ScoringRequest("pair", "", other, other=one, second=True),
        ]
        for one, other in OF_PAIRS
    ]
    return (
        within * ("intrasentence" in kinds)
        + across * ("intersentence" in kinds)
        + pairs * ("pair" in kinds)
    )


def of(family: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    rules = [rule for rule, says in RULES.items() if family in says.families and rule != "nsp"]
    return [(name, rule) for name in names for rule in rules]


NEEDS_A_START = {"ll-bos", "ll-shared", "ll-acl", "ll-code", "ratio"}
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
        cats = [cat for cat in cats if cat[0].kind == "pair" or cat[0].context.strip()]
    flat = [ask for cat in cats for ask in cat]
    wanted = [reference(folder, rule, ask) for ask in flat]
    # Small batches are slow: test_forward.py has them for more models.
    small = [{"batch_tokens": 24}] if name in ("gpt2", "roberta") else []
    for how in ({}, {"plain": True}, *small):
        found = Scorer(ModelSpec(str(folder), **how)).score(rule, flat)  # type: ignore[arg-type]
        for ask, value, right in zip(flat, found, wanted, strict=True):
            if right is None:
                assert isinstance(value, Refusal), (ask, value)
            else:
                # A ratio is the difference of two sums, and as exact as these.
                near = {"ratio": 1e-4, "pll-shared-3": 1.1e-3}.get(rule, 0)
                assert value == pytest.approx(right, rel=1e-5, abs=near), ask
        assert orders(cats, found) == orders(cats, wanted)


def orders(
    cats: list[list[ScoringRequest]], values: list[Scored] | list[float | None]
) -> list[list[int]]:
    """Each CAT's associations from the least likely to the likeliest; refused ones first."""
    left = (value if isinstance(value, float) else float("-inf") for value in values)
    rows = [[next(left) for _ in cat] for cat in cats]
    return [sorted(range(len(row)), key=row.__getitem__) for row in rows]


# --- lm-eval and minicons, where they compute the same --------------------------------------------


CONTEXTS = (
    "The librarian sings in the choir.",
    "My neighbour the wheelwright has been up since four.",
    "Bir fırıncı gördüm!",
    "그 도예가는 조용하다.",
    "We met  two   fiddlers 🎻🌞",
    "Who asked the lamplighter? Nobody",
    "Le boulanger français, s'il vous plaît:",
)
TEXTS = (
    "She is unbelievably cheerful, hard-working and well-read.",
    "he lives in a white house (by the lake) with two grey cats",
    "Ev sahiplerimizden biri çok çalışkandır 🍞🥐!",
    "마을의 사람들은 친절합니다.",
    "Epäjärjestelmällisyydellään?",
    "The weather is lovely today 🌞🎻 — isn't it?",
    "Clouds drift; 3.5 % of them don't.",
    "  Two spaces before, one after ",
    "a",
)


def triples(kind: str) -> list[ScoringRequest]:
    """Three for each context, with the sentences in turn."""
    pairs = [(c, text) for n, c in enumerate(CONTEXTS) for text in (TEXTS * 2)[n : n + 3]]
    if kind == "intersentence":
        return [ScoringRequest("intersentence", *pair) for pair in pairs]
    return [ScoringRequest("intrasentence", "BLANK", " ".join(pair)) for pair in pairs]


INTER = triples("intersentence")
ASKED = [(ask.context, ask.sentence) for ask in INTER]


@pytest.fixture
def ours(made: Made) -> Any:
    """Our scores."""

    def score(name: str, rule: str, asked: list[ScoringRequest]) -> list[float]:
        scored = Scorer(ModelSpec(str(made(name)))).score(rule, asked)
        values = [value for value in scored if isinstance(value, float)]
        assert len(values) == len(scored), scored
        return values

    return score


@pytest.fixture
def theirs(made: Made, peers: Worker) -> Any:
    """Another's scores."""

    def score(peer: str, name: str, items: list[Any]) -> list[float]:
        peers.open(peer, made(name))
        return peers.score(items).values

    return score


GPTS, BERTS = ("gpt2", "llama", "qwen2"), ("bert", "bert_uncased", "roberta", "distilbert")
WHOLE = [
    *[("lm-eval", name, "ll-bos") for name in GPTS],
    ("minicons", "gpt2", "ll-bos"),
    *[(f"minicons-{rule}", name, rule) for rule in ("pll", "pll-word-l2r") for name in BERTS],
]


@pytest.mark.parametrize(("peer", "name", "rule"), WHOLE)
@pytest.mark.parametrize("kind", ["intrasentence", "intersentence"])
def test_a_whole_text(ours: Any, theirs: Any, peer: str, name: str, rule: str, kind: str) -> None:
    texts: list[Any] = [ask.text for ask in triples(kind)]
    right = theirs(peer, name, [("", text) for text in texts] if peer == "lm-eval" else texts)
    close(ours(name, rule, triples(kind)), right)
    if rule == "pll-word-l2r":  # words of several pieces tell the two rules apart
        other = ours(name, "pll", triples(kind))
        assert max(abs(a - b) / abs(b) for a, b in zip(right, other, strict=True)) > 1e-3


@pytest.mark.parametrize(
    ("peer", "name"),
    [*[("lm-eval", name) for name in GPTS], *[("minicons-conditional", n) for n in GPTS[:2]]],
)
def test_a_text_after_its_context(ours: Any, theirs: Any, peer: str, name: str) -> None:
    right = theirs(peer, name, ASKED)
    close(ours(name, "conditional", INTER), right)
    if (peer, name) == ("lm-eval", "gpt2"):  # what it compares in acc_norm, in lm_eval.api.task
        by_length = [value / len(choice) for value, (_, choice) in zip(right, ASKED, strict=True)]
        close(ours(name, "conditional-chars", INTER), by_length)


def test_spaces_after_a_context_belong_to_the_text_as_in_lm_eval(ours: Any, theirs: Any) -> None:
    pairs = [(f"{context}  ", text) for context in CONTEXTS for text in TEXTS[:3]]
    found = ours("gpt2", "conditional", [ScoringRequest("intersentence", *pair) for pair in pairs])
    close(found, theirs("lm-eval", "gpt2", pairs))
