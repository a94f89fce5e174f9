"""Artefact baselines: the scores of rules that understand nothing.

A benchmark is only as good as the distance between a model and the best of these rules. Each rule
gives an association a number from its surface alone. As everywhere, a higher number means likelier,
and only the associations of one CAT are compared. If a rule cannot be applied (another
language, a missing package), it has no scores and gives the reason; scores are never made up.

SentimentLM has the rule of StereoSet's (ACL §5.3). Its name says who gave the sentiment: the
paper's BERT classifier (A.2) was not published. The others are named after the pattern of
StereoSet's baselines.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from curation.kinds import FOLLOWED, ITEMS
from curation.records import Cat
from curation.text.item_form import options
from curation.text.pairs import differing
from curation.text.words import NotCheckedError, Sentiment, base, frequencies, listed, vader

Scores = dict[str, float]


class Artefact(NamedTuple):
    """An artefact baseline: its name, its rule in a line, its scores by association id.

    If the rule could not be applied, ``scores`` is None and ``why`` is the reason; otherwise
    ``why`` is empty. A rule for one kind of CAT has scores of this kind only.
    """

    name: str
    says: str
    scores: Scores | None
    why: str = ""


_STOP_WORDS = """
a about above after again against all also am an and any are as at be because been before being
below between both but by can could did do does doing down during each even every few for from
further get gets getting got had has have having here how i if in into is just like may me might
more most much must my myself no nor not now of off on once one only or other our ours ourselves
out over own quite really same shall should so some still such than that the then there these
this those through to too under until up upon us very was we well were what when where which
while who whom whose why will with would you your yours yourself yourselves
d ll m re s t ve ain aren can couldn didn doesn don hadn hasn haven isn mustn shouldn wasn weren
won wouldn
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that carry no content, and the pieces of contractions split at the apostrophe;
pronouns of the third person are in ``PRONOUNS``."""

_PRONOUNS = (
    "he him his himself she her hers herself it its itself they them their theirs themselves"
)
PRONOUNS = frozenset(_PRONOUNS.split())
"""English pronouns of the third person, with possessives and reflexives."""
_NO_CONTENT = STOP_WORDS | PRONOUNS

WORD = re.compile(r"[^\W_]+")
MIRRORED = {"ShortestLM": "LongestLM", "LastLM": "FirstLM"}
"""Rules that reverse another rule: with ties half won, their lms and ss are 100 less its values."""


def artefacts(
    cats: Sequence[Cat],
    *,
    language: str,
    sentiment: Sentiment | None = None,
    only: Collection[str] = (),
) -> list[Artefact]:
    """The artefact baselines of these CATs.

    Args:
        cats: the CATs, their associations in the order of the file.
        language: language code of the texts, such as ``en`` or ``pt-BR``.
        sentiment: of each association, for example from a classifier. None uses VADER, which reads
            English only.
        only: the names of those that are wanted; all of them by default.

    Returns:
        UnigramLM, LongestLM, ShortestLM, FirstLM, LastLM, OverlapLM, and SentimentLM with who gave
        the sentiment, such as «SentimentLM (VADER)», in this order.
        Those that could not be applied have no scores, and the reason.

    Raises:
        KeyError: ``sentiment`` has no value for an association.
    """
    rules: dict[str, tuple[str, Callable[[], Scores]]] = {
        "UnigramLM": (
            "frequent words are likelier, by mean log frequency",
            lambda: unigram(cats, language=language),
        ),
        "LongestLM": ("more characters are likelier", lambda: length(cats)),
        "ShortestLM": ("fewer characters are likelier", lambda: _reversed(length(cats))),
        "FirstLM": ("what comes first in the file is likelier", lambda: _reversed(order(cats))),
        "LastLM": ("what comes last in the file is likelier", lambda: order(cats)),
        "OverlapLM": (
            "a third-person pronoun and words of the context are likelier, then more characters",
            lambda: overlap(cats, language=language),
        ),
        f"SentimentLM ({sentiment.by if sentiment else 'VADER'})": (
            "the more negative is likelier",
            lambda: negativity(
                cats, language=language, sentiment=sentiment.scores if sentiment else None
            ),
        ),
    }
    baselines = []
    for name, (says, rule) in rules.items():
        if only and name not in only:
            continue
        try:
            baselines.append(Artefact(name, says, rule()))
        except NotCheckedError as reason:
            baselines.append(Artefact(name, says, None, str(reason)))
    return baselines


def unigram(cats: Sequence[Cat], *, language: str, total: bool = False) -> Scores:
    """Mean log frequency of an option's words (natural logarithm; package wordfreq).

    The option is the part in which a CAT's associations differ (``item_form.options``; in a pair,
    the words of ``pairs.differing``): text that is the same in all of them says nothing. The mean
    is taken because a sum would also count words, and the length has baselines of its own. A word
    that is not in the list gets the lowest frequency that such a list holds: 1e-8 for wordfreq's
    large lists, 1e-6 for its small ones (its documentation of ``minimum``). An option without any
    word gets the same.

    Args:
        cats: the CATs.
        language: language code of the texts.
        total: take the sum in place of the mean, to see what a rule that adds up
            log-probabilities owes to the number of words.

    Raises:
        NotCheckedError: wordfreq, or what it needs to split this language into words, is not
            installed; it has no list for the language; or the list lacks half of the words.
    """
    code = listed(language)
    import wordfreq
    from wordfreq.tokens import lossy_tokenize

    least = 1e-8 if code in wordfreq.available_languages("large") else 1e-6
    scores, every, unknown = {}, 0, 0

    @cache
    def frequencies_in(option: str) -> list[float]:
        split = lossy_tokenize(option, base(language))
        return [float(wordfreq.word_frequency(word, code, minimum=least)) for word in split]

    try:
        for cat in cats:
            if ITEMS[cat.kind].context:
                each = [frequencies_in(option) for option in options(cat)]
            else:
                shares = frequencies(language)
                first, second = (a.sentence for a in cat.associations)
                sides = differing(first, second, language)
                each = [[shares.get(word, least) for word in side] for side in sides]
            for association, own in zip(cat.associations, each, strict=True):
                every += len(own)
                unknown += sum(frequency <= least for frequency in own)
                logs = [math.log(frequency) for frequency in own or [least]]
                scores[association.id] = math.fsum(logs) / (1 if total else len(logs))
    # Chinese needs jieba, Japanese and Korean MeCab; its failures are runtime errors.
    except (ImportError, OSError, RuntimeError) as error:
        raise NotCheckedError(
            f"wordfreq cannot split «{language}» into words "
            f"({str(error).strip() or 'no reason given'})",
            "pip install 'wordfreq[cjk]'",
        ) from None
    if 2 * unknown >= every:  # also of no words at all
        raise NotCheckedError(
            f"wordfreq's list for «{language}» has only {every - unknown} of {every} words: "
            "is it the language of the texts?"
        )
    return scores


def length(cats: Sequence[Cat]) -> Scores:
    """Characters of the association's sentence."""
    return {a.id: float(len(a.sentence)) for cat in cats for a in cat.associations}


def order(cats: Sequence[Cat]) -> Scores:
    """The association's place in the file, from 1."""
    return {a.id: float(n) for cat in cats for n, a in enumerate(cat.associations, 1)}


def overlap(cats: Sequence[Cat], *, language: str) -> Scores:
    """One for a third-person pronoun, and one for each content word that is also in the context.

    For CATs with a context that has no gap. Content words are those that are neither stop words nor
    pronouns, lower-cased and without a plural s; each counts once. If two options are equal, the
    one with more characters is likelier: the score is the count times (1 + characters of the CAT's
    longest option), plus the option's characters, so ties are broken exactly.

    Raises:
        NotCheckedError: the language is not English, or all CATs have a gap.
    """
    if base(language) != "en":
        raise NotCheckedError(
            f"its lists of pronouns and stop words are English, the texts are in «{language}»"
        )
    with_context = [cat for cat in cats if ITEMS[cat.kind].context]
    following = [cat for cat in with_context if not ITEMS[cat.kind].has_gap]
    if not following:
        raise NotCheckedError(f"it is for {FOLLOWED.name} CATs, and there are none")
    scores = {}
    for cat in following:
        context = content_words(cat.context)
        step = 1 + max(len(a.sentence) for a in cat.associations)
        for a in cat.associations:
            pronoun = not PRONOUNS.isdisjoint(words(a.sentence))
            points = pronoun + len(context & content_words(a.sentence))
            scores[a.id] = float(points * step + len(a.sentence))
    return scores


def words(text: str) -> list[str]:
    """A text's words, lower-cased, split at apostrophes and hyphens.

    >>> words("She’s well-read.")
    ['she', 's', 'well', 'read']
    """
    return WORD.findall(text.lower())


def content_words(text: str) -> set[str]:
    """The words that carry content, without a plural s.

    >>> sorted(content_words("The baker's cakes are a mess; they like buses."))
    ['baker', 'buse', 'cake', 'mess']
    """
    return {_singular(word) for word in words(text) if word not in _NO_CONTENT}


def negativity(
    cats: Sequence[Cat], *, language: str, sentiment: Mapping[str, float] | None = None
) -> Scores:
    """How negative the association's sentence is (StereoSet, ACL §5.3).

    StereoSet's SentimentLM always prefers the more negative of two sentences. The sentence is the
    filled one if the context has a gap, and else the association without the context. The score is
    the sentiment with its sign reversed: VADER's compound score, −1 to 1, which is 0 for a sentence
    without a word of its lexicon (Hutto & Gilbert 2014), or ``sentiment``.

    Raises:
        NotCheckedError: no sentiment is given, and the language is not English or vaderSentiment
            is not installed.
        KeyError: ``sentiment`` has no value for an association.
    """
    if sentiment is not None:
        return {a.id: -float(sentiment[a.id]) for cat in cats for a in cat.associations}
    associations = [a for cat in cats for a in cat.associations]
    values = vader((a.sentence for a in associations), language=language)
    return {a.id: -value for a, value in zip(associations, values, strict=True)}


def _reversed(scores: Scores) -> Scores:
    return {name: -score for name, score in scores.items()}


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
