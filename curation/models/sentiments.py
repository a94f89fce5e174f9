"""The three sentiments, and their names in models and files."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from curation.files import CurationError
from curation.text.wording import amount

Polarity = Literal["negative", "neutral", "positive"]
TWO: tuple[Polarity, ...] = ("negative", "positive")
THREE: tuple[Polarity, ...] = ("negative", "neutral", "positive")
_WORDS: dict[Polarity, tuple[str, ...]] = {
    "negative": ("negative", "neg", "negativ", "negativo", "negativa", "negatif", "négatif"),
    "neutral": ("neutral", "neu", "neutro", "neutra", "neutre"),
    "positive": ("positive", "pos", "positiv", "positivo", "positiva", "positif"),
}
_POLARITIES = {word: polarity for polarity, words in _WORDS.items() for word in words}
# «very negative», «LABEL_positive»: these prefixes do not change the sentiment.
_BEFORE = re.compile(r"^(?:label |sentiment )?(?:very |slightly |strongly |extremely )?")
_STARRED = re.compile(r"(?P<before>[1-5]) ?(?:stars?|★)|stars? (?P<after>[1-5])|(?P<drawn>★{1,5})")


def names_of(classes: int) -> tuple[Polarity, ...]:
    """The names of two or three classes, in the order of a model's outputs.

    Raises:
        CurationError: ``classes`` is neither 2 nor 3.
    """
    if classes not in (len(TWO), len(THREE)):
        raise CurationError(f"there cannot be {classes} classes", "use --classes 2 or 3")
    return TWO if classes == len(TWO) else THREE


def of_stars(stars: int) -> Polarity:
    """The sentiment of 1 to 5 stars.

    >>> [of_stars(stars) for stars in range(1, 6)]
    ['negative', 'negative', 'neutral', 'positive', 'positive']
    """
    return "negative" if stars < 3 else "positive" if stars > 3 else "neutral"


def polarity_of(label: str) -> Polarity | None:
    """The sentiment that the name of a class means, or None.

    >>> [polarity_of(name) for name in ("NEGATIVE", "pos", "Very Positive", "2 stars", "LABEL_0")]
    ['negative', 'positive', 'positive', 'negative', None]
    """
    words = " ".join(re.sub(r"[^\w★]|_", " ", label.lower()).split())
    if stars := _STARRED.fullmatch(words):
        return of_stars(int(stars["before"] or stars["after"] or len(stars["drawn"])))
    return _POLARITIES.get(_BEFORE.sub("", words))


def read_classes(
    name: str, config: Any, labels: Sequence[str] | None = None
) -> tuple[Polarity, ...]:
    """The sentiment of each output of a model, from the names of its classes.

    Args:
        name: the name of the model, for errors.
        config: the configuration of a model with classes.
        labels: names to use instead of the model's own, in the order of the outputs.

    Raises:
        CurationError: a name does not mean a sentiment, there are too many or too few names, or
            negative or positive is missing.
    """
    own = [str(config.id2label.get(n, f"LABEL_{n}")) for n in range(config.num_labels)]
    if len(own) == 1 or config.problem_type not in (None, "single_label_classification"):
        raise CurationError(
            f"{name}: its output is {'a number' if len(own) == 1 else 'several labels at once'}, "
            "not one of several classes",
            "name a model that classifies texts as negative or positive",
        )
    fix = f"give the meaning of its {len(own)} outputs: --labels negative,neutral,positive"
    if labels is not None and len(labels) != len(own):
        raise CurationError(
            f"{name}: has {len(own)} classes, but "
            f"{amount(len(labels), 'label is', 'labels are')} given",
            fix,
        )
    names = own if labels is None else list(labels)
    classes = [polarity for label in names if (polarity := polarity_of(label))]
    if len(classes) < len(names):
        unknown = next(label for label in names if polarity_of(label) is None)
        raise CurationError(
            f"{name}: the name of the class «{unknown}» does not say which sentiment it is", fix
        )
    if not {"negative", "positive"} <= set(classes):
        raise CurationError(f"{name}: has no class for negative or for positive texts", fix)
    return tuple(classes)
