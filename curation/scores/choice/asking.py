"""The questions that a chat model is asked about a CAT."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from curation.models.chat.prompts import Prompts
from curation.models.chat.reading import Reading
from curation.models.chat.spec import ChatSpec
from curation.records import PAIRS, Cat, Gold, Pair
from curation.scores.asking import texts

ENDS: dict[Pair, tuple[Gold, Gold]] = {
    "stereotype/unrelated": ("stereotype", "unrelated"),
    "anti-stereotype/unrelated": ("anti-stereotype", "unrelated"),
    "stereotype/anti-stereotype": ("stereotype", "anti-stereotype"),
}
"""The first and the second association of each pair."""


class Place(NamedTuple):
    """Which question it is: one pair of a CAT, in one order, with one prompt, in one sample.

    ``swapped``: the second association of the pair is shown first.
    """

    cat: str
    pair: Pair
    swapped: bool
    prompt: str
    sample: int


class ChatQuestion(NamedTuple):
    """A question, the text that is sent, and a digest of that text."""

    place: Place
    text: str
    digest: str


class Asked(NamedTuple):
    """A question that has a reply, and what the reply says.

    ``reading.first`` is the probability of the association that was shown first. If the question is
    ``swapped``, that is the second association of the pair.
    """

    cat: str
    pair: Pair
    swapped: bool
    prompt: str
    sample: int
    reading: Reading


def questions_of(
    cats: Iterable[Cat], prompts: Prompts, how: ChatSpec, *, variant: str = ""
) -> list[ChatQuestion]:
    """``chat_questions`` of all CATs.

    Args:
        cats: the CATs.
        prompts: the prompts.
        how: which of the prompts are used, and how often each question is asked.
        variant: as in ``chat_questions``.
    """
    return [
        question
        for cat in cats
        for question in chat_questions(
            cat, prompts, all_prompts=how.all_prompts, samples=how.samples, variant=variant
        )
    ]


def chat_questions(
    cat: Cat, prompts: Prompts, *, all_prompts: bool = False, samples: int = 1, variant: str = ""
) -> list[ChatQuestion]:
    """What a chat model is asked about a CAT: 3 pairs x 2 orders x prompts x samples.

    A replicate (one prompt in one sample) comes whole: its six questions follow each other, and
    the two orders of a pair are neighbours.

    Args:
        cat: the CAT.
        prompts: the prompts.
        all_prompts: ask with every prompt of the CAT's kind, not only with the first.
        samples: how often each question is asked.
        variant: how the texts are altered first, as in ``scores.asking.texts``.
    """
    asks = {question.association: question.ask for question in texts(cat, variant=variant)}
    by_gold = {each.gold: asks[each.id] for each in cat.associations}
    asked = []
    in_use = prompts.by_kind[cat.kind] if all_prompts else prompts.by_kind[cat.kind][:1]
    for prompt in in_use:
        filled = []
        for pair in PAIRS:
            first, second = (by_gold[gold] for gold in ENDS[pair])
            for swapped, (one, other) in enumerate(((first, second), (second, first))):
                text = prompt.fill(context=one.context, first=one.sentence, second=other.sentence)
                filled.append((pair, bool(swapped), text, _digest(text)))
        asked += [
            ChatQuestion(Place(cat.id, pair, swapped, prompt.name, sample), text, digest)
            for sample in range(samples)
            for pair, swapped, text, digest in filled
        ]
    return asked


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
