"""Scores equal those of lm-eval and minicons, where they compute the same."""

from typing import Any

import pytest

from curation.models.rules import ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from support.models import Made
from support.peers import Worker, close

CONTEXTS = (
    "The librarian sings in the choir.",
    "My neighbour the wheelwright has been up since four.",
    "Bir fırıncı gördüm!",
    "그 도예가는 조용하다.",
    "We met  two   fiddlers 🎻🌞",
    "Who asked the lamplighter? Nobody",
    "Le boulanger français, s'il vous plaît:",
)
SENTENCES = (
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


BOTH = ("intrasentence", "intersentence")


def asks(kind: str) -> list[ScoringRequest]:
    """Three for each context, with the sentences in turn."""
    pairs = [(c, text) for n, c in enumerate(CONTEXTS) for text in (SENTENCES * 2)[n : n + 3]]
    if kind == "intersentence":
        return [ScoringRequest("intersentence", *pair) for pair in pairs]
    return [ScoringRequest("intrasentence", "BLANK", " ".join(pair)) for pair in pairs]


INTER = asks("intersentence")
PAIRS = [(ask.context, ask.sentence) for ask in INTER]


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


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen2"])
@pytest.mark.parametrize("kind", BOTH)
def test_a_whole_text_by_lm_eval(ours: Any, theirs: Any, name: str, kind: str) -> None:
    right = theirs("lm-eval", name, [("", ask.text) for ask in asks(kind)])
    close(ours(name, "ll-bos", asks(kind)), right)


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        *[("lm-eval", name) for name in ("gpt2", "llama", "qwen2")],
        *[("minicons-conditional", name) for name in ("gpt2", "llama")],
    ],
)
def test_a_text_after_its_context(ours: Any, theirs: Any, peer: str, name: str) -> None:
    close(ours(name, "conditional", INTER), theirs(peer, name, PAIRS))


def test_by_characters_is_what_lm_eval_compares_in_acc_norm(ours: Any, theirs: Any) -> None:
    values = theirs("lm-eval", "gpt2", PAIRS)
    by_length = [
        value / float(len(choice))  # as in lm_eval.api.task
        for value, (_, choice) in zip(values, PAIRS, strict=True)
    ]
    close(ours("gpt2", "conditional-chars", INTER), by_length)


def test_spaces_after_a_context_belong_to_the_text_as_in_lm_eval(ours: Any, theirs: Any) -> None:
    pairs = [(f"{context}  ", text) for context in CONTEXTS for text in SENTENCES[:3]]
    found = ours("gpt2", "conditional", [ScoringRequest("intersentence", *pair) for pair in pairs])
    close(found, theirs("lm-eval", "gpt2", pairs))


@pytest.mark.parametrize("kind", BOTH)
def test_a_whole_text_by_minicons(ours: Any, theirs: Any, kind: str) -> None:
    right = theirs("minicons", "gpt2", [ask.text for ask in asks(kind)])
    close(ours("gpt2", "ll-bos", asks(kind)), right)


@pytest.mark.parametrize("name", ["bert", "bert_uncased", "roberta", "distilbert"])
@pytest.mark.parametrize("rule", ["pll", "pll-word-l2r"])
@pytest.mark.parametrize("kind", BOTH)
def test_pseudo_likelihoods_by_minicons(
    ours: Any, theirs: Any, name: str, rule: str, kind: str
) -> None:
    right = theirs(f"minicons-{rule}", name, [ask.text for ask in asks(kind)])
    close(ours(name, rule, asks(kind)), right)
    if rule == "pll-word-l2r":  # words of several pieces tell the two rules apart
        other = ours(name, "pll", asks(kind))
        assert max(abs(a - b) / abs(b) for a, b in zip(right, other, strict=True)) > 1e-3
