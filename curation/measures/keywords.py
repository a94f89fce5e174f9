"""Words that are much more frequent in what was written than in a language at large.

StereoSet's Table 3 lists 16 of each domain (ACL §4.4, arXiv §5), by simple maths (Kilgarriff 2009)
against TenTen, a web corpus of 10 billion words (Jakubíček et al. 2013).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any, NamedTuple

from curation.blank import BLANK, options
from curation.files import CurationError
from curation.measures.counting import Counts
from curation.records import GOLDS, Cat, Gold, Term
from curation.words import NotCheckedError, base, frequencies, has_lemmas, lemma, words

ALGORITHM = 2
EXAMPLES = 3
_MILLION = 1_000_000


@dataclass(frozen=True)
class Reference:
    """How frequent words are in a language at large.

    Attributes:
        name: «wordfreq», or the name of a corpus that was counted.
        language: of the words.
        amounts: of each word its count, or its share of all words.
        total: what the amounts are of: the number of all words, or 1.
        counted: whether the amounts are counts, so that the size of the corpus is known.
        versions: of what made it.
        spelt: how it spells a word of a text.
    """

    name: str
    language: str
    amounts: Mapping[str, float]
    total: float
    counted: bool
    versions: Mapping[str, str | int] = field(default_factory=dict)
    spelt: Callable[[str], str] = str

    def key(self, word: str) -> str:
        """Under what a word counts here: the lemma of what it is spelt as."""
        return lemma(self.spelt(word), self.language)

    @cached_property
    def by_lemma(self) -> Mapping[str, float]:
        """The amounts of all forms of each lemma together."""
        found: dict[str, float] = defaultdict(float)
        for word, amount in self.amounts.items():
            found[lemma(word, self.language)] += amount
        return dict(found)

    @cached_property
    def least(self) -> float:
        """The smallest share of all words that it has."""
        return min(self.amounts.values()) / self.total


@cache
def wordfreq(language: str) -> Reference:
    """What the package wordfreq knows of a language, from several corpora together.

    Raises:
        NotCheckedError: it is not installed, has no list of this language, or one that texts
            cannot be held against.
    """
    amounts = frequencies(language)
    if base(language) == "ko":
        raise NotCheckedError(
            "wordfreq parts Korean words from their particles, and spaces do not: count a corpus, "
            "curation measures count"
        )
    versions = {"wordfreq": version("wordfreq")}
    return Reference("wordfreq", base(language), amounts, 1.0, False, versions, amounts.spelt)


def counted(counts: Counts, *, name: str) -> Reference:
    """A reference of a corpus that was counted (``counting.count``)."""
    return Reference(
        name, counts.language, counts.counts, float(counts.tokens), True, counts.versions
    )


class _Text(NamedTuple):
    """A text of a CAT: its label, or None for the context; what is counted of it; an example."""

    cat: str
    label: Gold | None
    words: list[tuple[str, str]]
    whole: str


# --- the statistics -----------------------------------------------------------------------------


def simple_maths(focus: float, reference: float, *, smoothing: float) -> float:
    """Kilgarriff's keyness (2009): (f + N) / (r + N), of frequencies per million words.

    >>> simple_maths(90, 0, smoothing=10), simple_maths(90, 40, smoothing=10)
    (10.0, 2.0)
    """
    return (focus + smoothing) / (reference + smoothing)


def log_likelihood(count: float, tokens: float, other: float, others: float) -> float:
    """G² of a word in two corpora (Dunning 1993), over all four cells of the table.

    Rayson & Garside (2000) sum the two cells of the word only; for rare words that is the same.

    Args:
        count: of the word in one corpus.
        tokens: all words of that corpus.
        other: of the word in the other corpus.
        others: all words of that corpus.

    >>> round(log_likelihood(10, 100, 10, 1000), 4), log_likelihood(1, 10, 10, 100)
    (22.9078, 0.0)
    """
    share = (count + other) / (tokens + others)
    cells = (
        (count, tokens * share),
        (tokens - count, tokens * (1 - share)),
        (other, others * share),
        (others - other, others * (1 - share)),
    )
    return max(2 * sum(_cell(*cell) for cell in cells), 0.0)


def known_shares(count: float, tokens: float, share: float) -> float:
    """G² of a word against a share of all words that is taken as known: goodness of fit.

    >>> round(known_shares(10, 100, 0.01), 4)
    28.8959
    """
    cells = ((count, tokens * share), (tokens - count, tokens * (1 - share)))
    return max(2 * sum(_cell(*cell) for cell in cells), 0.0)


def _cell(observed: float, expected: float) -> float:
    return observed * math.log(observed / expected) if observed else 0.0


# --- the report ---------------------------------------------------------------------------------


def keywords(
    cats: Sequence[Cat],
    *,
    language: str,
    reference: Reference,
    terms: Iterable[Term] = (),
    smoothing: float = 10.0,
    least: int = 2,
    top: int = 100,
) -> dict[str, Any]:
    """The keywords of each domain, of each label in it, and of each term.

    A domain's or term's text is its contexts, and what stereotypes and anti-stereotypes say; of
    intrasentence CATs that is what fills the BLANK, so that no text counts twice. A label's text is
    what its associations say, without contexts.

    Args:
        cats: the CATs.
        language: of their texts.
        reference: of the same language.
        terms: all target terms, with those that have no CATs.
        smoothing: N of ``simple_maths``, per million words.
        least: in how many CATs a keyword stands at least.
        top: how many of each statistic are listed.

    Returns:
        The report, as it is written to keywords.json (docs/formats.md).

    Raises:
        NotCheckedError: nothing here parts this language into words.
        CurationError: the reference is of another language.
    """
    if base(reference.language) != base(language):
        raise CurationError(
            f"the reference {reference.name} is of «{reference.language}», the texts are of "
            f"«{base(language)}»",
            "take a reference in the language of the texts",
        )
    reader = _Reader(language, reference)
    everyone = [*((t.id, t.text, t.domain, t.names) for t in terms)]
    everyone += [(cat.term, cat.target, cat.domain, ()) for cat in cats]
    targets = {term: (text, domain) for term, text, domain, _ in everyone}
    removed: dict[str, set[str]] = defaultdict(set)
    for _, text, domain, names in everyone:
        removed[domain] |= reader.forms((text, *names))
    said = {cat.id: reader.texts(cat) for cat in cats}
    groups: list[dict[str, Any]] = []

    def add(by: str, domain: str, of: Collection[Cat], **which: Any) -> None:
        wanted = [which["label"]] if "label" in which else [None, *GOLDS[:2]]
        texts = [text for cat in of for text in said[cat.id] if text.label in wanted]
        found = _Group(reader, texts).report(removed[domain], smoothing, least, top)
        head = {"by": by, "domain": domain, "label": None, "term": None, "target": None} | which
        groups.append(head | {"cats": len({text.cat for text in texts})} | found)

    for domain in sorted(removed):
        add("domain", domain, [cat for cat in cats if cat.domain == domain])
    for domain in sorted(removed):
        for gold in GOLDS:
            add("label", domain, [cat for cat in cats if cat.domain == domain], label=gold)
    by_term: dict[str, list[Cat]] = defaultdict(list)
    for cat in cats:
        by_term[cat.term].append(cat)
    for term, (text, domain) in sorted(targets.items(), key=lambda one: (one[1][1], one[0])):
        add("term", domain, by_term[term], term=term, target=text)
    return {
        "language": base(language),
        "reference": {
            "name": reference.name,
            "tokens": int(reference.total) if reference.counted else None,
            "words": len(reference.amounts),
            "versions": dict(reference.versions),
        },
        "unit": "lemmas" if has_lemmas(language) else "word forms",
        "lemmatizer": f"simplemma {version('simplemma')}" if has_lemmas(language) else None,
        "log_likelihood": "two corpora" if reference.counted else "known shares",
        "smoothing": smoothing,
        "least": least,
        "top": top,
        "cats": len(cats),
        "removed": {domain: sorted(forms) for domain, forms in sorted(removed.items())},
        "groups": groups,
    }


class _Reader:
    """Texts as words and lemmas, and what the reference has of these."""

    def __init__(self, language: str, reference: Reference) -> None:
        self.language, self.reference = language, reference
        self.amounts = reference.by_lemma
        self._elides = base(language) != "en"

    def texts(self, cat: Cat) -> list[_Text]:
        """The texts of a CAT: its context, and what its associations say."""
        context = self._words(cat.context.replace(BLANK, " "))
        return [_Text(cat.id, None, context, cat.context)] + [
            _Text(cat.id, association.gold, self._words(option), association.sentence)
            for option, association in zip(options(cat), cat.associations, strict=True)
        ]

    def _words(self, text: str) -> list[tuple[str, str]]:
        """Words and their lemmas; l'heure is two words where the reference has it as two."""
        known, found = self.reference.amounts, []
        for word in words(text, self.language):
            parts = word.split("'") if self._elides else [word]
            apart = word not in known and all(part in known for part in parts)
            found += parts if apart else [word]
        return [(word, self.reference.key(word)) for word in found]

    def forms(self, names: Iterable[str]) -> set[str]:
        """The words of names, their lemmas, and English words with the s of many."""
        own = {word for name in names for word in words(name, self.language)}
        own |= {lemma(word, self.language) for word in own} | set(map(self.reference.key, own))
        # Names of peoples are often such as no list of lemmas has.
        return own | {f"{word}s" for word in own if base(self.language) == "en"}


class _Group:
    """Texts that are counted together."""

    def __init__(self, reader: _Reader, texts: Sequence[_Text]) -> None:
        self.reader = reader
        self.counts: Counter[str] = Counter()
        self.forms: dict[str, set[str]] = defaultdict(set)
        self.where: dict[str, dict[str, _Text]] = defaultdict(dict)
        for text in texts:
            for word, one in text.words:
                self.counts[one] += 1
                self.forms[one].add(word)
                self.where[one].setdefault(text.cat, text)
        self.tokens = self.counts.total()

    def report(self, removed: set[str], smoothing: float, least: int, top: int) -> dict[str, Any]:
        """Totals and keywords."""
        lacking = [word for word in self.counts if not self.reader.amounts.get(word)]
        rows = [
            self._row(word, smoothing)
            for word, count in self.counts.items()
            if len(self.where[word]) >= least
            and _may_be_keyword(word)
            and not self._is_removed(word, removed)
        ]
        rows = [row for row in rows if row["per_million"] > row["reference_per_million"]]
        for rank, by in (("rank", "score"), ("log_likelihood_rank", "log_likelihood")):
            rows.sort(key=lambda row: (-row[by], -row["count"], row["word"]))
            for place, row in enumerate(rows, 1):
                row[rank] = place
        rows.sort(key=lambda row: int(row["rank"]))
        listed = [row for row in rows if min(row["rank"], row["log_likelihood_rank"]) <= top]
        for row in listed:
            found = list(self.where[row["word"]].values())
            row["forms"] = sorted(self.forms[row["word"]])
            row["examples"] = [{"cat": one.cat, "text": one.whole} for one in found[:EXAMPLES]]
        return {
            "tokens": self.tokens,
            "words": len(self.counts),
            "lacking": {"words": len(lacking), "tokens": sum(self.counts[w] for w in lacking)},
            "candidates": len(rows),
            "keywords": listed,
        }

    def _is_removed(self, word: str, removed: set[str]) -> bool:
        return word in removed or self.forms[word] <= removed

    def _row(self, word: str, smoothing: float) -> dict[str, Any]:
        reference, count = self.reader.reference, self.counts[word]
        amount = self.reader.amounts.get(word, 0.0)
        focus, other = (_MILLION * count / self.tokens, _MILLION * amount / reference.total)
        if reference.counted:
            likelihood = log_likelihood(count, self.tokens, amount, reference.total)
        else:  # a word that is not listed is rarer than all that are: G² is at least this
            likelihood = known_shares(count, self.tokens, amount or reference.least)
        return {
            "word": word,
            "score": simple_maths(focus, other, smoothing=smoothing),
            "log_likelihood": likelihood,
            "count": count,
            "cats": len(self.where[word]),
            "per_million": focus,
            "reference_per_million": other,
        }


def _may_be_keyword(word: str) -> bool:
    """Figures are no keywords: wordfreq knows no single ones."""
    return not any(char.isdigit() for char in word)
