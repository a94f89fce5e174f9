"""The sentiment of a text by VADER's lexicon, which is English."""

from collections.abc import Iterable
from typing import Any

from curation.words import INSTALL, NotCheckedError, base

CLEAR = 0.05  # as VADER's authors recommend: at least so far from 0 is positive or negative


def vader(texts: Iterable[str], *, language: str) -> list[float]:
    """VADER's compound score of each text (Hutto & Gilbert 2014).

    From −1, most negative, to 1; 0 for a text without a word of its lexicon.

    Raises:
        NotCheckedError: the language is not English, or vaderSentiment is not installed.
    """
    if base(language) != "en":
        raise NotCheckedError(
            f"VADER's lexicon is English, the texts are in «{language}»: give a classifier's scores"
        )
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        raise NotCheckedError(f"the package vaderSentiment is not installed: {INSTALL}") from None
    reader: Any = SentimentIntensityAnalyzer()
    return [float(reader.polarity_scores(text)["compound"]) for text in texts]
