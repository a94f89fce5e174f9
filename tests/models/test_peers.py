"""Scores equal those of lm-eval and minicons, where they compute the same."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from curation.models.rules import ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from support.models import MAKERS
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


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("models") / name))


def cats(kind: str) -> list[list[ScoringRequest]]:
    """One for each context, with three of the sentences in turn."""
    found = []
    for n, context in enumerate(CONTEXTS):
        three = (SENTENCES * 2)[n : n + 3]
        if kind == "intrasentence":
            found.append(
                [ScoringRequest("intrasentence", "BLANK", f"{context} {text}") for text in three]
            )
        else:
            found.append([ScoringRequest("intersentence", context, text) for text in three])
    return found


def ours(folder: Path, rule: str, kind: str) -> list[float]:
    scored = Scorer(ModelSpec(str(folder))).score(rule, [ask for cat in cats(kind) for ask in cat])
    values = [value for value in scored if isinstance(value, float)]
    assert len(values) == len(scored), scored
    return values


BOTH = ("intrasentence", "intersentence")


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen2"])
@pytest.mark.parametrize("kind", BOTH)
def test_a_whole_text_by_lm_eval(
    model: Callable[[str], Path], peers: Worker, name: str, kind: str
) -> None:
    folder = model(name)
    peers.open("lm-eval", folder)
    theirs = peers.score([("", ask.text) for cat in cats(kind) for ask in cat]).values
    close(ours(folder, "ll-bos", kind), theirs)


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen2"])
def test_a_text_after_its_context_by_lm_eval(
    model: Callable[[str], Path], peers: Worker, name: str
) -> None:
    folder = model(name)
    peers.open("lm-eval", folder)
    items = [(ask.context, ask.sentence) for cat in cats("intersentence") for ask in cat]
    close(ours(folder, "conditional", "intersentence"), peers.score(items).values)


def test_by_characters_is_what_lm_eval_compares_in_acc_norm(
    model: Callable[[str], Path], peers: Worker
) -> None:
    folder = model("gpt2")
    peers.open("lm-eval", folder)
    items = [(ask.context, ask.sentence) for cat in cats("intersentence") for ask in cat]
    theirs = [
        value / float(len(choice))  # as in lm_eval.api.task
        for value, (_, choice) in zip(peers.score(items).values, items, strict=True)
    ]
    close(ours(folder, "conditional-chars", "intersentence"), theirs)


def test_spaces_after_a_context_belong_to_the_text_as_in_lm_eval(
    model: Callable[[str], Path], peers: Worker
) -> None:
    asks = [
        ScoringRequest("intersentence", f"{context}  ", text)
        for context in CONTEXTS
        for text in SENTENCES[:3]
    ]
    folder = model("gpt2")
    peers.open("lm-eval", folder)
    theirs = peers.score([(ask.context, ask.sentence) for ask in asks]).values
    found = Scorer(ModelSpec(str(folder))).score("conditional", asks)
    close([value for value in found if isinstance(value, float)], theirs)


@pytest.mark.parametrize("kind", BOTH)
def test_a_whole_text_by_minicons(model: Callable[[str], Path], peers: Worker, kind: str) -> None:
    folder = model("gpt2")
    peers.open("minicons", folder)
    theirs = peers.score([ask.text for cat in cats(kind) for ask in cat]).values
    close(ours(folder, "ll-bos", kind), theirs)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_text_after_its_context_by_minicons(
    model: Callable[[str], Path], peers: Worker, name: str
) -> None:
    folder = model(name)
    peers.open("minicons-conditional", folder)
    items = [(ask.context, ask.sentence) for cat in cats("intersentence") for ask in cat]
    close(ours(folder, "conditional", "intersentence"), peers.score(items).values)


@pytest.mark.parametrize("name", ["bert", "bert_uncased", "roberta", "distilbert"])
@pytest.mark.parametrize("rule", ["pll", "pll-word-l2r"])
@pytest.mark.parametrize("kind", BOTH)
def test_pseudo_log_likelihoods_by_minicons(
    model: Callable[[str], Path], peers: Worker, name: str, rule: str, kind: str
) -> None:
    folder = model(name)
    peers.open(f"minicons-{rule}", folder)
    theirs = peers.score([ask.text for cat in cats(kind) for ask in cat]).values
    close(ours(folder, rule, kind), theirs)
    if rule == "pll-word-l2r":  # words of several pieces tell the two rules apart
        other = ours(folder, "pll", kind)
        assert max(abs(a - b) / abs(b) for a, b in zip(theirs, other, strict=True)) > 1e-3
