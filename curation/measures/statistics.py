"""How many CATs there are, how long, how varied and by whom they are (ACL §4, Table 1).

A cell counts CATs and the terms that have any. Lengths are in words separated by spaces, which
reproduces the paper's values. They are of the filled sentence (intrasentence), or of the context
and one association together (intersentence), over all associations.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import TypedDict

import numpy as np

from curation.kinds import CAT_KINDS, GOLDS, ITEMS, ItemKind
from curation.records import Cat, Fields
from curation.stats.intervals import FEW, Interval, mean_interval
from curation.stats.tests import log_choose
from curation.text.item_form import options
from curation.text.rules import grouped, same_text
from curation.text.words import UNSPACED, NotCheckedError, base, words

SAMPLE = 1000  # words among which different ones are counted, to compare large and small parts

Counts = Callable[[str], int]
Texts = Mapping[str, Sequence[str]]  # by CAT, the texts in which its associations differ


class Cell(TypedDict):
    """CATs, terms, mean lengths and CATs by tier; a mean is None if it is not known."""

    terms: int
    cats: int
    mean_words: float | None
    mean_characters: float | None
    mean_tokens: float | None
    tier_3: int
    tier_4: int
    tier_5: int
    tier_unknown: int


class KindCells(TypedDict):
    """The cells of a kind, by domain and overall (Table 1)."""

    domains: dict[str, Cell]
    overall: Cell


class Gap(TypedDict):
    """How much longer the ``first`` association is than the ``second``, in a unit.

    ``mean`` and its interval ``ci`` are over terms, ``differ`` is the share of CATs whose lengths
    differ, in per cent; all three are None without CATs.
    """

    kind: str
    unit: str
    first: str
    second: str
    cats: int
    mean: float | None
    ci: Interval | None
    differ: float | None
    few_terms: bool


class Vocabulary(TypedDict):
    """How many words the associations of a domain and label use, and how many different ones."""

    domain: str
    label: str
    words: int
    different: int
    once: int
    in_sample: float | None


class Attribute(TypedDict):
    """The commonest attribute of a term and label, and its share in per cent."""

    text: str
    count: int
    share: float


class Writers(TypedDict):
    """How the CATs are spread over their writers; the share is in per cent."""

    writers: int
    cats: int
    cats_of_nobody_known: int
    median_cats: float | None
    most_cats: int
    share_of_most: float | None
    terms_of_one_writer: int


class Statistics(TypedDict):
    """The content of ``statistics.json``; ``not_checked`` says why a value is None."""

    language: str
    kinds: dict[str, KindCells]
    overall: Cell
    gaps: list[Gap]
    vocabulary: list[Vocabulary] | None
    terms: list[Fields]
    writers: Writers | None
    not_checked: dict[str, str]


def statistics(
    cats: Sequence[Cat],
    *,
    language: str,
    writers: Mapping[str, str | None] | None = None,
    tokens: Counts | None = None,
) -> Statistics:
    """All statistics of a set of CATs.

    Args:
        cats: the CATs.
        language: language code of the texts.
        writers: the writer of each item, by its id; None if they are not known.
        tokens: counts a text's tokens; None if no tokenizer was named.
    """
    units: dict[str, Counts] = {"characters": len}
    not_checked: dict[str, str] = {}
    try:
        units["words"] = word_count(language)
    except NotCheckedError as reason:
        not_checked["words"] = str(reason)
    if tokens:
        units["tokens"] = tokens
    else:
        not_checked["tokens"] = "no tokenizer was named: --tokenizer MODEL"
    if writers is None:
        not_checked["writers"] = "a gold file does not name the writers of its CATs"
    texts = {cat.id: options(cat) for cat in cats}
    vocabulary = None
    try:
        vocabulary = _vocabulary(cats, texts, language)
    except NotCheckedError as reason:
        not_checked["vocabulary"] = str(reason)
    return {
        "language": language,
        "kinds": {
            kind: {
                "domains": {
                    domain: cell(own, units) for domain, own in by_domain(of_kind(cats, kind))
                },
                "overall": cell(of_kind(cats, kind), units),
            }
            for kind in CAT_KINDS
        },
        "overall": cell(cats, units),
        "gaps": [row for kind in ITEMS.values() for row in _gaps(cats, texts, kind, units)],
        "vocabulary": vocabulary,
        "terms": terms(cats, texts, writers or {}),
        "writers": _writers(cats, writers) if writers else None,
        "not_checked": not_checked,
    }


def of_kind(cats: Sequence[Cat], kind: str) -> list[Cat]:
    """The CATs of a kind."""
    return [cat for cat in cats if cat.kind == kind]


def by_domain(cats: Sequence[Cat]) -> list[tuple[str, list[Cat]]]:
    """The CATs of each domain, by name."""
    return sorted(grouped((cat.domain, cat) for cat in cats).items())


def word_count(language: str) -> Counts:
    """A function that counts a text's words in a language.

    Raises:
        NotCheckedError: the language does not separate words by spaces, and the package that splits
            them is not installed.

    >>> word_count("en")("The film-maker isn't in.")
    4
    """
    if base(language) not in UNSPACED:
        return lambda text: len(text.split())
    words("", language)
    return lambda text: len(words(text, language))


def texts_of(cat: Cat) -> list[str]:
    """The texts that a reader of a CAT sees: filled sentences, or context and sentence."""
    sentences = [a.sentence for a in cat.associations]
    if ITEMS[cat.kind].has_gap:
        return sentences
    return [f"{cat.context} {sentence}" for sentence in sentences]


def cell(cats: Sequence[Cat], units: Mapping[str, Counts]) -> Cell:
    """The cell of some CATs; a mean is None without CATs or if the unit is not available."""
    texts = [text for cat in cats for text in texts_of(cat)]

    def mean(unit: str) -> float | None:
        return fmean(map(units[unit], texts)) if texts and unit in units else None

    tiers = Counter(str(cat.tier or "unknown") for cat in cats)
    return {
        "terms": len({(cat.domain, cat.term) for cat in cats}),
        "cats": len(cats),
        "mean_words": mean("words"),
        "mean_characters": mean("characters"),
        "mean_tokens": mean("tokens"),
        "tier_3": tiers["3"],
        "tier_4": tiers["4"],
        "tier_5": tiers["5"],
        "tier_unknown": tiers["unknown"],
    }


# --- gaps ---------------------------------------------------------------------------------------


def _gaps(
    cats: Sequence[Cat], texts: Texts, kind: ItemKind, units: Mapping[str, Counts]
) -> list[Gap]:
    """How much longer one association is than another, which a model may follow."""
    rows = []
    cats = of_kind(cats, kind.name)
    for unit, count in units.items():
        sizes = {
            cat.id: {
                a.gold: count(option)
                for a, option in zip(cat.associations, texts[cat.id], strict=True)
            }
            for cat in cats
        }
        for first, second in combinations(kind.roles, 2):
            by_term = grouped(
                ((cat.domain, cat.term), sizes[cat.id][first] - sizes[cat.id][second])
                for cat in cats
            )
            sums = np.array([[sum(own), len(own)] for own in by_term.values()], float)
            differing = sum(d != 0 for own in by_term.values() for d in own)
            rows.append(
                Gap(
                    kind=kind.name,
                    unit=unit,
                    first=first,
                    second=second,
                    cats=len(cats),
                    mean=sum(map(sum, by_term.values())) / len(cats) if cats else None,
                    ci=mean_interval(sums[:, 0], sums[:, 1]) if cats else None,
                    differ=100 * differing / len(cats) if cats else None,
                    few_terms=len(by_term) < FEW,
                )
            )
    return rows


# --- vocabulary ---------------------------------------------------------------------------------


def _vocabulary(cats: Sequence[Cat], texts: Texts, language: str) -> list[Vocabulary]:
    """How many words the associations of each domain and label use, and how many different ones.

    Words are counted in the text that fills the BLANK, or in the sentences. ``in_sample`` is how
    many different words a sample of a thousand words has on average, drawn without replacement
    (rarefaction, Hurlbert 1971). It makes parts of different size comparable, and is None for fewer
    than a thousand words.

    Raises:
        NotCheckedError: texts of this language cannot be split into words.
    """
    rows = []
    for domain, own in by_domain(cats):
        for gold, options_of_gold in _by_label(own, texts).items():
            counts = Counter(word for option in options_of_gold for word in words(option, language))
            rows.append(
                Vocabulary(
                    domain=domain,
                    label=gold,
                    words=counts.total(),
                    different=len(counts),
                    once=sum(n == 1 for n in counts.values()),
                    in_sample=different_in_sample(list(counts.values()), SAMPLE),
                )
            )
    return rows


def _by_label(cats: Sequence[Cat], texts: Texts) -> dict[str, list[str]]:
    """The texts of the associations of each label that there is."""
    by_label = grouped(
        (a.gold, option)
        for cat in cats
        for a, option in zip(cat.associations, texts[cat.id], strict=True)
    )
    return {gold: by_label[gold] for gold in GOLDS if gold in by_label}


def different_in_sample(counts: Sequence[int], size: int) -> float | None:
    """The expected number of different words in a sample without replacement.

    Args:
        counts: how often each word occurs.
        size: words in the sample.

    Returns:
        None if there are fewer words than that.

    >>> different_in_sample([2, 1, 1], 2)  # of 6 pairs of words, one has the same word twice
    1.83...
    >>> different_in_sample([1, 1], 3) is None
    True
    """
    total = sum(counts)
    if total < size:
        return None
    whole = log_choose(total, size)
    missed = (
        math.exp(log_choose(total - n, size) - whole) if total - n >= size else 0.0 for n in counts
    )
    return math.fsum(1 - share for share in missed)


# --- terms and writers --------------------------------------------------------------------------


def terms(cats: Sequence[Cat], texts: Texts, writers: Mapping[str, str | None]) -> list[Fields]:
    """One row per term: its CATs, its writers, the commonest attribute of each label and its share.

    The attribute is the text that fills the BLANK, ignoring case and spaces; a term without such
    CATs has none. Of equally common attributes, the alphabetically first is reported.

    Returns:
        ``{"domain", "id", "term", "cats", KIND: its CATs, "writers", "attributes": {label:
        Attribute}}``; ``writers`` is None if they are not known.
    """
    by_term = grouped(((cat.domain, cat.term), cat) for cat in cats)
    return [
        {
            "domain": domain,
            "id": term,
            "term": own[0].target,
            "cats": len(own),
            **{kind: len(of_kind(own, kind)) for kind in CAT_KINDS},
            "writers": len({writer for cat in own if (writer := writers.get(cat.id))}) or None,
            "attributes": _commonest([cat for cat in own if ITEMS[cat.kind].has_gap], texts),
        }
        for (domain, term), own in sorted(
            by_term.items(), key=lambda pair: (pair[0][0], pair[1][0].target, pair[0][1])
        )
    ]


def _commonest(cats: Sequence[Cat], texts: Texts) -> dict[str, Attribute]:
    """By label, the commonest attribute, how often it occurs and its share in percent."""
    commonest: dict[str, Attribute] = {}
    for gold, own in _by_label(cats, texts).items():
        counter = Counter(map(same_text, own))
        text, count = min(counter.items(), key=lambda pair: (-pair[1], pair[0]))
        commonest[gold] = {"text": text, "count": count, "share": 100 * count / len(own)}
    return commonest


def _writers(cats: Sequence[Cat], writers: Mapping[str, str | None]) -> Writers:
    """How the CATs are spread over their writers."""
    known = [(cat, writer) for cat in cats if (writer := writers.get(cat.id))]
    each = Counter(writer for _, writer in known)
    by_term: dict[str, Counter[str]] = defaultdict(Counter)
    for cat, writer in known:
        by_term[cat.term][writer] += 1
    alone = sum(len(counter) == 1 and counter.total() > 1 for counter in by_term.values())
    return {
        "writers": len(each),
        "cats": len(known),
        "cats_of_nobody_known": len(cats) - len(known),
        "median_cats": median(each.values()) if each else None,
        "most_cats": max(each.values(), default=0),
        "share_of_most": 100 * max(each.values()) / len(known) if known else None,
        "terms_of_one_writer": alone,
    }
