"""How much was collected, how long it is, who wrote it and how varied it is (ACL §4, Table 1).

A cell counts CATs and the terms that have any. Lengths are in words as spaces part them, which
gives the paper's figures: of the filled sentence (intrasentence), or of the context and one
association together (intersentence), over all three associations.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean, median
from typing import Any

import numpy as np

from curation.blank import options
from curation.records import GOLDS, KINDS, Cat
from curation.rules import TIERS, same_text
from curation.stats.intervals import FEW, mean_interval
from curation.words import UNSPACED, NotCheckedError, base, words

ALGORITHM = 3
SAMPLE = 1000  # words among which different ones are counted, so that large and small compare

Counts = Callable[[str], int]
Report = dict[str, Any]
Said = Mapping[str, Sequence[str]]  # by CAT what differs between its associations, in their order


def statistics(
    cats: Sequence[Cat],
    *,
    language: str,
    writers: Mapping[str, str | None] | None = None,
    tokens: Counts | None = None,
) -> Report:
    """All statistics of a set of CATs.

    Args:
        cats: the CATs.
        language: language code of the texts.
        writers: who wrote each item, by its id; None where nobody knows.
        tokens: how many tokens a model makes of a text; None where no tokenizer was named.

    Returns:
        ``kinds`` (Table 1: by kind its domains and overall), ``overall``, ``gaps``, ``vocabulary``,
        ``terms``, ``writers`` (None where not known) and ``not_checked``: why a figure is null.
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
        not_checked["writers"] = "a gold file does not say who wrote its CATs"
    said = {cat.id: options(cat) for cat in cats}
    return {
        "language": language,
        "kinds": {
            kind: {
                "domains": {
                    domain: cell(own, units) for domain, own in by_domain(of_kind(cats, kind))
                },
                "overall": cell(of_kind(cats, kind), units),
            }
            for kind in KINDS
        },
        "overall": cell(cats, units),
        "gaps": [row for kind in KINDS for row in _gaps(of_kind(cats, kind), said, kind, units)],
        "vocabulary": vocabulary(cats, said, language=language, not_checked=not_checked),
        "terms": terms(cats, said, writers or {}),
        "writers": writers and _writers(cats, writers),
        "not_checked": not_checked,
    }


def of_kind(cats: Sequence[Cat], kind: str) -> list[Cat]:
    """The CATs of a kind."""
    return [cat for cat in cats if cat.kind == kind]


def by_domain(cats: Sequence[Cat]) -> list[tuple[str, list[Cat]]]:
    """The CATs of each domain, by name."""
    found: dict[str, list[Cat]] = defaultdict(list)
    for cat in cats:
        found[cat.domain].append(cat)
    return sorted(found.items())


def word_count(language: str) -> Counts:
    """What counts a text's words in a language.

    Raises:
        NotCheckedError: no space parts them, and what parts them is not there.

    >>> word_count("en")("The film-maker isn't in.")
    4
    """
    if base(language) not in UNSPACED:
        return lambda text: len(text.split())
    words("", language)
    return lambda text: len(words(text, language))


def shown(cat: Cat) -> list[str]:
    """The three texts that a reader of a CAT sees: filled sentences, or context and sentence."""
    sentences = [a.sentence for a in cat.associations]
    if cat.kind == "intrasentence":
        return sentences
    return [f"{cat.context} {sentence}" for sentence in sentences]


def cell(cats: Sequence[Cat], units: Mapping[str, Counts]) -> dict[str, Any]:
    """CATs, terms, mean lengths and CATs by tier.

    A mean is None where there is no CAT or the unit is missing.
    """
    texts = [text for cat in cats for text in shown(cat)]
    means = {
        f"mean_{unit}": fmean(map(units[unit], texts)) if texts and unit in units else None
        for unit in ("words", "characters", "tokens")
    }
    tiers = Counter(str(cat.tier or "unknown") for cat in cats)
    return {
        "terms": len({(cat.domain, cat.term) for cat in cats}),
        "cats": len(cats),
        **means,
        **{f"tier_{name}": tiers[name] for name in TIERS},
    }


# --- gaps ---------------------------------------------------------------------------------------


def _gaps(
    cats: Sequence[Cat], said: Said, kind: str, units: Mapping[str, Counts]
) -> list[dict[str, Any]]:
    """How much longer one association is than another: a model that likes length follows it."""
    rows = []
    for unit, count in units.items():
        sizes = {
            cat.id: {
                a.gold: count(option)
                for a, option in zip(cat.associations, said[cat.id], strict=True)
            }
            for cat in cats
        }
        for first, second in combinations(GOLDS, 2):
            differences = [(cat, sizes[cat.id][first] - sizes[cat.id][second]) for cat in cats]
            rows.append(
                {"kind": kind, "unit": unit, "first": first, "second": second} | _gap(differences)
            )
    return rows


def _gap(differences: Sequence[tuple[Cat, int]]) -> dict[str, Any]:
    """Mean difference with its interval over terms, and the share of CATs that have any."""
    by_term: dict[tuple[str, str], list[int]] = defaultdict(list)
    for cat, difference in differences:
        by_term[cat.domain, cat.term].append(difference)
    count = len(differences)
    if not count:
        return {"cats": 0, "mean": None, "ci": None, "differ": None, "few_terms": True}
    sums = np.array([[sum(found), len(found)] for found in by_term.values()], float)
    return {
        "cats": count,
        "mean": sum(d for _, d in differences) / count,
        "ci": mean_interval(sums[:, 0], sums[:, 1]),
        "differ": 100 * sum(d != 0 for _, d in differences) / count,
        "few_terms": len(by_term) < FEW,
    }


# --- vocabulary ---------------------------------------------------------------------------------


def vocabulary(
    cats: Sequence[Cat], said: Said, *, language: str, not_checked: dict[str, str] | None = None
) -> list[dict[str, Any]] | None:
    """How many words the associations of each domain and label use, and how many different ones.

    Of what fills the BLANK, or of the sentences. ``in_sample`` is how many different words a
    thousand of them hold on average, drawn without replacement (rarefaction, Hurlbert 1971), which
    compares what is large with what is small; None where there are fewer.

    Returns:
        A row a domain and label; None where the language's words cannot be parted.
    """
    rows = []
    try:
        for domain, own in by_domain(cats):
            found: dict[str, Counter[str]] = {gold: Counter() for gold in GOLDS}
            for cat in own:
                for a, option in zip(cat.associations, said[cat.id], strict=True):
                    found[a.gold].update(words(option, language))
            for gold, counter in found.items():
                rows.append(
                    {
                        "domain": domain,
                        "label": gold,
                        "words": counter.total(),
                        "different": len(counter),
                        "once": sum(n == 1 for n in counter.values()),
                        "in_sample": different_in_sample(list(counter.values()), SAMPLE),
                    }
                )
    except NotCheckedError as reason:
        if not_checked is not None:
            not_checked["vocabulary"] = str(reason)
        return None
    return rows


def different_in_sample(counts: Sequence[int], size: int) -> float | None:
    """How many different words a sample without replacement is expected to hold.

    >>> different_in_sample([2, 1, 1], 2)  # of 6 pairs of words one is twice the same
    1.83...
    >>> different_in_sample([1, 1], 3) is None
    True
    """
    total = sum(counts)
    if total < size:
        return None
    whole = _log_choose(total, size)
    missed = (
        math.exp(_log_choose(total - n, size) - whole) if total - n >= size else 0.0 for n in counts
    )
    return math.fsum(1 - share for share in missed)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# --- terms and writers --------------------------------------------------------------------------


def terms(
    cats: Sequence[Cat], said: Said, writers: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """A row a term: its CATs, its writers, the commonest attribute of each label and its share.

    The attribute is what fills the BLANK, case and spaces aside; a term without intrasentence CATs
    has none. Of equally common ones the first by alphabet is told.
    """
    found: dict[tuple[str, str], list[Cat]] = defaultdict(list)
    for cat in cats:
        found[cat.domain, cat.term].append(cat)
    return [
        {
            "domain": domain,
            "id": term,
            "term": own[0].target,
            "cats": len(own),
            **{kind: len(of_kind(own, kind)) for kind in KINDS},
            "writers": len({who for cat in own if (who := writers.get(cat.id))}) or None,
            "attributes": _commonest(of_kind(own, "intrasentence"), said),
        }
        for (domain, term), own in sorted(found.items(), key=lambda one: _place(one[1][0]))
    ]


def _place(cat: Cat) -> tuple[str, str, str]:
    return cat.domain, cat.target, cat.term


def _commonest(cats: Sequence[Cat], said: Said) -> dict[str, dict[str, Any]]:
    """By label the commonest attribute, how often it stands there and its share in percent."""
    found: dict[str, Counter[str]] = {gold: Counter() for gold in GOLDS}
    for cat in cats:
        for a, option in zip(cat.associations, said[cat.id], strict=True):
            found[a.gold][same_text(option)] += 1
    told = {}
    for gold, counter in found.items():
        if counter:
            text, count = min(counter.items(), key=lambda one: (-one[1], one[0]))
            told[gold] = {"text": text, "count": count, "share": 100 * count / counter.total()}
    return told


def _writers(cats: Sequence[Cat], writers: Mapping[str, str | None]) -> dict[str, Any]:
    """How the CATs are spread over those who wrote them: one person's words are one voice."""
    known = [(cat, who) for cat in cats if (who := writers.get(cat.id))]
    each = Counter(who for _, who in known)
    by_term: dict[str, Counter[str]] = defaultdict(Counter)
    for cat, who in known:
        by_term[cat.term][who] += 1
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
