"""The three sentiments, and what models and files call them."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from curation.files import CurationError

Sort = Literal["negative", "neutral", "positive"]
TWO: tuple[Sort, ...] = ("negative", "positive")
THREE: tuple[Sort, ...] = ("negative", "neutral", "positive")
_WORDS: dict[Sort, tuple[str, ...]] = {
    "negative": ("negative", "neg", "negativ", "negativo", "negativa", "negatif", "négatif"),
    "neutral": ("neutral", "neu", "neutro", "neutra", "neutre"),
    "positive": ("positive", "pos", "positiv", "positivo", "positiva", "positif"),
}
_SORTS = {word: sort for sort, words in _WORDS.items() for word in words}
# «very negative», «LABEL_positive»: neither what comes before tells which, nor small letters.
_BEFORE = re.compile(r"^(?:label |sentiment )?(?:very |slightly |strongly |extremely )?")
_STARRED = re.compile(r"(?P<before>[1-5]) ?(?:stars?|★)|stars? (?P<after>[1-5])|(?P<drawn>★{1,5})")


def names_of(classes: int) -> tuple[Sort, ...]:
    """What two or three classes are called, in the order of a model's outputs.

    Raises:
        CurationError: neither two nor three.
    """
    if classes not in (len(TWO), len(THREE)):
        raise CurationError(f"no form of {classes} classes", "take --classes 2 or 3")
    return TWO if classes == len(TWO) else THREE


def of_stars(stars: int) -> Sort:
    """The sentiment of 1 to 5 stars.

    >>> [of_stars(stars) for stars in range(1, 6)]
    ['negative', 'negative', 'neutral', 'positive', 'positive']
    """
    return "negative" if stars < 3 else "positive" if stars > 3 else "neutral"


def sort_of(label: str) -> Sort | None:
    """The sentiment that a class's name says, or None.

    >>> [sort_of(name) for name in ("NEGATIVE", "pos", "Very Positive", "2 stars", "LABEL_0")]
    ['negative', 'positive', 'positive', 'negative', None]
    """
    words = " ".join(re.sub(r"[^\w★]|_", " ", label.lower()).split())
    if stars := _STARRED.fullmatch(words):
        return of_stars(int(stars["before"] or stars["after"] or len(stars["drawn"])))
    return _SORTS.get(_BEFORE.sub("", words))


def read_classes(name: str, config: Any, labels: Sequence[str] | None = None) -> tuple[Sort, ...]:
    """What a model's outputs mean, by the names that it gives them or by those that are given.

    Args:
        name: what the model is called.
        config: of a model with classes.
        labels: names in the order of the outputs, instead of the model's own.

    Raises:
        CurationError: a name says no sentiment, they are too many or too few, or one of negative
            and positive is not among them.
    """
    own = [str(config.id2label.get(n, f"LABEL_{n}")) for n in range(config.num_labels)]
    if len(own) == 1 or config.problem_type not in (None, "single_label_classification"):
        raise CurationError(
            f"{name}: gives {'a number' if len(own) == 1 else 'several labels at once'}, "
            "not one of several classes",
            "name a model that tells negative from positive texts",
        )
    ask = f"say with --labels what its {len(own)} outputs mean, as in negative,neutral,positive"
    if labels is not None and len(labels) != len(own):
        raise CurationError(
            f"{name}: has {len(own)} classes, and {len(labels)} labels are given", ask
        )
    names = own if labels is None else list(labels)
    found = [sort for label in names if (sort := sort_of(label))]
    if len(found) < len(names):
        unknown = next(label for label in names if sort_of(label) is None)
        raise CurationError(
            f"{name}: the class «{unknown}» does not say which sentiment it is", ask
        )
    if not {"negative", "positive"} <= set(found):
        raise CurationError(f"{name}: no class for negative or none for positive texts", ask)
    return tuple(found)
