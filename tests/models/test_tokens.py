"""Which tokens belong to which part of a text, by characters."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from transformers import AutoTokenizer

from curation.models.tokens import Tokens, _words, start_token, surround, tokenize
from support.expected import fails
from support.models import MAKERS, Made
from support.written import beside

TABLES = beside(__file__)

Tokenizers = Callable[[str], Any]
WORDS = ("kind", "évlerinizdenmiş", "친절", "🌞🍞", "well-read")


@pytest.fixture(scope="module")
def tokenizer(made: Made) -> Tokenizers:
    return cache(lambda name: AutoTokenizer.from_pretrained(made(name)))


@pytest.mark.parametrize("name", MAKERS)
def test_tokens_of_a_part_cover_its_characters(tokenizer: Tokenizers, name: str) -> None:
    texts = [f"The baker, {words}, sings." for words in WORDS]
    for words, text, tokens in zip(WORDS, texts, tokenize(tokenizer(name), texts), strict=True):
        start, end = text.index(words), text.index(words) + len(words)
        own = tokens.touching([(start, end)])
        assert own == list(range(own[0], own[-1] + 1))
        low, high = tokens.spans[own[0]][0], tokens.spans[own[-1]][1]
        assert low <= start  # a space before it may be the token's own
        assert text[low:start].strip() == ""
        assert high >= end
        rest = tokens.touching([(0, start), (end, len(text))])
        nothing = {n for n, (first, last) in enumerate(tokens.spans) if first == last}
        assert set(own) | set(rest) | nothing == set(range(len(tokens.ids)))


def test_touching_by_hand() -> None:
    # «ab cd»: the token of 0–2, that of 2–5 with its space, and one of no width at the end.
    tokens = Tokens([7, 8, 9], [(0, 2), (2, 5), (5, 5)], [0, 1, None])
    assert tokens.touching([(0, 2)]) == [0]
    assert tokens.touching([(1, 3)]) == [0, 1]
    assert tokens.touching([(3, 3)]) == []  # nothing touches an empty part
    assert tokens.touching([(3, 5), (0, 1)]) == [0, 1]
    assert tokens.touching([]) == []
    assert Tokens([], [], []).touching([(0, 1)]) == []
    with fails("the characters of its tokens"):  # not every tokenizer tells them
        Tokens([1], [], []).touching([(0, 1)])


@pytest.mark.parametrize(("name", "before", "after"), TABLES["what_is_put_around_a_text"])
def test_what_is_put_around_a_text(
    tokenizer: Tokenizers, name: str, before: list[str], after: list[str]
) -> None:
    found = surround(tokenizer(name))
    assert [tokenizer(name).convert_ids_to_tokens(ids) for ids in found] == [before, after]


def test_where_a_text_begins_and_what_has_no_token(tokenizer: Tokenizers) -> None:
    assert start_token(tokenizer("llama")) == tokenizer("llama").bos_token_id
    assert start_token(tokenizer("qwen2")) == tokenizer("qwen2").eos_token_id  # it has no other
    with fails("no token for the beginning"):
        start_token(tokenizer("neox"))
    assert tokenize(tokenizer("bert"), []) == []
    assert tokenize(tokenizer("bert"), [""])[0].ids == []


def test_words_are_parted_at_spaces_where_the_tokenizer_does_not() -> None:
    # «the old baker» as one word in three tokens, each but the first with its space before it.
    spans = [(0, 3), (3, 7), (7, 13)]
    first, second, third = _words("the old baker", spans, [0, 0, 0])
    assert len({first, second, third}) == 3
    assert _words("the old baker", spans, [0, 1, 2]) == [0, 1, 2]
    # A word of two tokens stays one, also where another had to be parted.
    parted = _words("the bakers sing", [(0, 3), (3, 8), (8, 10), (10, 15)], [0, 0, 0, 0])
    assert parted[1] == parted[2]
    assert len(set(parted)) == 3
