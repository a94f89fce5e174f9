"""What a model is asked about a CAT: each association's text, and where its attribute is in it."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from curation.models.rules import ScoringRequest
from curation.records import GOLDS, Cat
from curation.text.item_form import BLANK, END, attribute, fill_all


class Question(NamedTuple):
    """An association's id, what is asked about it, and a digest of that."""

    association: str
    ask: ScoringRequest
    digest: str


def _lower(text: str) -> str:
    return BLANK.join(part.lower() for part in text.split(BLANK))


def _sentence_case(text: str) -> str:
    return text if text.startswith(BLANK) else text[:1].upper() + text[1:]


def _no_final(text: str) -> str:
    return END.sub("", text)


VARIANTS: dict[str, tuple[Callable[[str], str], str]] = {
    "lower": (_lower, "all in small letters"),
    "capital": (_sentence_case, "every text begins with a capital"),
    "unpointed": (_no_final, "no final punctuation"),
}
"""How texts can be altered, to see whether results depend on it: by name, with what it does."""


def questions(cat: Cat, *, variant: str = "") -> list[Question]:
    """What a model is asked about each association of a CAT, in its order.

    Args:
        cat: the CAT.
        variant: one of ``VARIANTS``; "" for the texts as published.
    """
    asked = []
    for question in texts(cat, variant=variant):
        ask = question.ask
        if cat.kind == "intrasentence":
            start, end = attribute(ask.context, ask.sentence)
            filled, places = fill_all(ask.context, ask.sentence[start:end])
            ask = ask._replace(
                start=start, end=end, filled=filled, at=places[0], also=tuple(places[1:])
            )
        asked.append(question._replace(ask=ask))
    return asked


def texts(cat: Cat, *, variant: str = "") -> list[Question]:
    """As ``questions``, but without the places of the attribute."""
    alter = VARIANTS[variant][0] if variant else str
    asked = []
    for association in cat.associations:
        context, sentence = alter(cat.context), alter(association.sentence)
        digest = hashlib.sha256("\0".join([cat.kind, context, sentence]).encode()).hexdigest()[:16]
        asked.append(Question(association.id, ScoringRequest(cat.kind, context, sentence), digest))
    return asked


def cat_digest(cat: Cat, *, variant: str = "") -> str:
    """A digest of the texts of a CAT's associations, in the order of ``GOLDS``.

    It changes if a text changes, and if the gold labels of two associations are exchanged: then the
    comparisons of the CAT are of other pairs.

    Args:
        cat: the CAT.
        variant: one of ``VARIANTS``; "" for the texts as published.
    """
    by_id = {question.association: question.digest for question in texts(cat, variant=variant)}
    by_gold = {association.gold: by_id[association.id] for association in cat.associations}
    joined = "\0".join(by_gold[gold] for gold in GOLDS)
    return hashlib.sha256(joined.encode()).hexdigest()[:16]
