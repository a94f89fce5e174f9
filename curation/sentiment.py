"""The sentiment of a text by VADER's lexicon, for English texts."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from curation.words import INSTALL, NotCheckedError, base

CLEAR = 0.05  # scores at least this far from 0 are positive or negative, as VADER's authors advise


class Sentiment(NamedTuple):
    """The sentiment of each association by its id, higher being more positive, and who gave it.

    ``by`` is the name of the classifier, or of the file if no classifier is known.
    """

    by: str
    scores: Mapping[str, float]


def vader(texts: Iterable[str], *, language: str) -> list[float]:
    """VADER's compound score of each text (Hutto & Gilbert 2014).

    Args:
        texts: the texts.
        language: the language code of the texts.

    Returns:
        Scores from −1 (most negative) to 1; 0 for a text without words of the lexicon.

    Raises:
        NotCheckedError: the language is not English, or vaderSentiment is not installed.
    """
    if base(language) != "en":
        raise NotCheckedError(
            f"VADER's lexicon is English, but the texts are in «{language}»: "
            "use the scores of a classifier"
        )
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise NotCheckedError("the package vaderSentiment is not installed", INSTALL) from None
    reader: Any = SentimentIntensityAnalyzer()
    return [float(reader.polarity_scores(text)["compound"]) for text in texts]
