"""Two sentences become one text, in each tokenizer's way and within the window."""

from collections.abc import Callable

import pytest

from curation.models.loading import Loaded, load
from curation.models.nsp import Frame, frame_of, texts
from curation.models.rules import Refusal
from support.expected import fails
from support.models import Made

Bodies = Callable[[str], Loaded]


@pytest.fixture
def body(made: Made) -> Bodies:
    """Tiny models without a head, by name."""
    return lambda name: load(str(made(name)), head="none")


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("bert", Frame([2], [3], [3], (0, 0, 1), (0, 1), first=True)),
        ("albert", Frame([2], [3], [3], (0, 0, 1), (0, 1), first=True)),
        ("distilbert", Frame([2], [3], [3], first=True)),
        ("roberta", Frame([0], [2, 2], [2], first=True)),
        ("xlnet", Frame([], [4], [4, 3], (0, 1, 2), (0, 1), first=False)),
        ("gpt2", Frame([], [], [])),
        ("llama", Frame([1], [], [])),
    ],
)
def test_what_stands_around_two_texts(body: Bodies, name: str, frame: Frame) -> None:
    assert frame_of(body(name)) == frame


def test_a_tokenizer_of_nothing_is_an_error(body: Bodies) -> None:
    loaded = body("bert")
    empty = {"input_ids": [2, 3, 3], "special_tokens_mask": [1] * 3, "token_type_ids": [0] * 3}
    loaded.tokenizer = lambda *_, **__: empty
    with fails("has no token for «a»"):
        frame_of(loaded)


def test_a_context_loses_tokens_at_its_left(body: Bodies) -> None:
    loaded = body("bert")
    pair = " ".join(["sings"] * 5 + ["the lake"] * 5), "He is kind."
    long, short = loaded.tokenizer(list(pair), add_special_tokens=False)["input_ids"]
    cut = texts(loaded, [pair], labels=[1], window=20)[0]
    kept = 20 - 3 - len(short)  # [CLS] and two [SEP]
    assert list(cut.ids) == [2, *long[-kept:], 3, *short, 3]
    assert list(cut.types) == [0] * (kept + 2) + [1] * (len(short) + 1)
    assert cut.reads == [(0, 1)]


def test_an_association_that_leaves_no_room_is_refused(body: Bodies) -> None:
    loaded = body("bert")
    sentence = "He is kind."
    own = len(loaded.tokenizer(sentence, add_special_tokens=False)["input_ids"])
    pair = [("The baker sings.", sentence)]
    # Three special tokens and one of the context at least.
    assert len(texts(loaded, pair, labels=[1], window=own + 4)[0].ids) == own + 4
    refused = texts(loaded, pair, labels=[1], window=own + 3)[0]
    assert isinstance(refused, Refusal)
    assert refused.code == "too_long"
    shortened = texts(loaded, pair, labels=[1], window=own + 3, shorten=True)[0]
    assert len(shortened.ids) == own + 3
    assert len(shortened.types) - sum(shortened.types) == 3  # [CLS], one of the context, [SEP]


def test_a_causal_text_is_cut_behind_its_first_special_tokens(body: Bodies) -> None:
    loaded = body("llama")
    whole = loaded.tokenizer("The baker sings. He is kind.")["input_ids"]
    pair = [("The baker sings.", "He is kind.")]
    cut = texts(loaded, pair, labels=[1], window=len(whole) - 2)[0]
    assert list(cut.ids) == [whole[0], *whole[3:]]
    assert cut.reads == [(len(whole) - 3, 1)]  # asked at the last token
    assert texts(loaded, pair, labels=[1], window=5)[0][0] == "too_long"
