"""Keywords: words that are much more frequent in the collected texts than in the language at large.

StereoSet's Table 3 lists 16 per domain (ACL §4.4, arXiv §5), by simple maths (Kilgarriff 2009)
against TenTen, a web corpus of 10 billion words (Jakubíček et al. 2013).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import NamedTuple, NotRequired, TypedDict

from curation.files import CurationError
from curation.kinds import GOLDS, Gold, roles_of
from curation.measures.counting import Counts
from curation.records import Cat, Term
from curation.text.item_form import around, options
from curation.text.rules import grouped
from curation.text.words import (
    UNSPACED,
    NotCheckedError,
    base,
    frequencies,
    has_lemmas,
    lemma,
    words,
)

EXAMPLES = 3
_MILLION = 1_000_000


@dataclass(frozen=True)
class Reference:
    """The frequencies of words in a language at large.

    Attributes:
        name: "wordfreq", or the name of a counted corpus.
        language: the language of the words.
        amounts: each word's count, or its share of all words.
        total: the sum of the amounts: the number of all words, or 1.
        counted: whether the amounts are counts, so that the size of the corpus is known.
        versions: the versions of the tools that made it.
        spelt: converts a word of a text to the reference's spelling.
    """

    name: str
    language: str
    amounts: Mapping[str, float]
    total: float
    counted: bool
    versions: Mapping[str, str | int] = field(default_factory=dict)
    spelt: Callable[[str], str] = str

    def key(self, word: str) -> str:
        """The lemma of a word in the reference's spelling; words with the same key count as one."""
        return lemma(self.spelt(word), self.language)

    @cached_property
    def by_lemma(self) -> Mapping[str, float]:
        """Each lemma's amount: the sum over all its forms."""
        amounts: dict[str, float] = defaultdict(float)
        for word, amount in self.amounts.items():
            amounts[lemma(word, self.language)] += amount
        return dict(amounts)

    @cached_property
    def least(self) -> float:
        """The smallest share of all words in the reference."""
        return min(self.amounts.values()) / self.total


@lru_cache(maxsize=2)
def wordfreq(language: str) -> Reference:
    """The reference of the package wordfreq, from several corpora together.

    Raises:
        NotCheckedError: wordfreq is not installed, does not list this language, or splits its words
            in a way that texts cannot be compared with.
    """
    amounts = frequencies(language)
    if base(language) == "ko":
        raise NotCheckedError(
            "wordfreq splits particles from Korean words, but the texts cannot be split so: "
            "count a corpus with curation measures count"
        )
    versions = {"wordfreq": version("wordfreq")}
    return Reference("wordfreq", base(language), amounts, 1.0, False, versions, amounts.spelt)


def counted(counts: Counts, *, name: str) -> Reference:
    """The reference of a counted corpus (``counting.count``)."""
    return Reference(
        name, counts.language, counts.counts, float(counts.tokens), True, counts.versions
    )


class _Text(NamedTuple):
    """A text of a CAT.

    ``label`` is None for the context, ``words`` has the (word, lemma) pairs to count, and ``whole``
    is the text to show as an example.
    """

    cat: str
    label: Gold | None
    words: list[tuple[str, str]]
    whole: str


# --- the statistics -----------------------------------------------------------------------------


def simple_maths(focus: float, reference: float, *, smoothing: float) -> float:
    """Kilgarriff's keyness (2009): (f + N) / (r + N), from frequencies per million words.

    >>> simple_maths(90, 0, smoothing=10), simple_maths(90, 40, smoothing=10)
    (10.0, 2.0)
    """
    return (focus + smoothing) / (reference + smoothing)


def log_likelihood(count: float, tokens: float, other: float, others: float) -> float:
    """G² of a word in two corpora (Dunning 1993), over all four cells of the table.

    Rayson & Garside (2000) sum only the word's two cells, which is the same for rare words.

    Args:
        count: the word's count in one corpus.
        tokens: the number of all words in that corpus.
        other: the word's count in the other corpus.
        others: the number of all words in the other corpus.

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
    """G² of a word against a known share of all words (goodness of fit).

    >>> round(known_shares(10, 100, 0.01), 4)
    28.8959
    """
    cells = ((count, tokens * share), (tokens - count, tokens * (1 - share)))
    return max(2 * sum(_cell(*cell) for cell in cells), 0.0)


def _cell(observed: float, expected: float) -> float:
    return observed * math.log(observed / expected) if observed else 0.0


# --- the report ---------------------------------------------------------------------------------


class Example(TypedDict):
    """A text that has a keyword, and its CAT."""

    cat: str
    text: str


class Keyword(TypedDict):
    """A word of a group; frequencies are per million words.

    ``rank`` is by ``score`` (simple maths), ``log_likelihood_rank`` by G². ``forms`` and
    ``examples`` are of listed keywords only.
    """

    word: str
    score: float
    log_likelihood: float
    count: int
    cats: int
    per_million: float
    reference_per_million: float
    rank: NotRequired[int]
    log_likelihood_rank: NotRequired[int]
    forms: NotRequired[list[str]]
    examples: NotRequired[list[Example]]


class Group(TypedDict):
    """The text of a domain, of a label in it or of a term, and its keywords.

    ``lacking`` counts words that the reference does not have, ``candidates`` the words that are
    more frequent than in the reference.
    """

    by: str
    domain: str
    label: str | None
    term: str | None
    target: str | None
    cats: int
    tokens: int
    words: int
    lacking: dict[str, int]
    candidates: int
    keywords: list[Keyword]


class About(TypedDict):
    """The reference; ``tokens`` is None if only shares of words are known."""

    name: str
    tokens: int | None
    words: int
    versions: dict[str, str | int]


class Keywords(TypedDict):
    """The content of ``keywords.json`` (docs/formats.md)."""

    language: str
    reference: About
    unit: str
    lemmatizer: str | None
    log_likelihood: str
    smoothing: float
    least: int
    top: int
    cats: int
    removed: dict[str, list[str]]
    groups: list[Group]


def keywords(
    cats: Sequence[Cat],
    *,
    language: str,
    reference: Reference,
    terms: Iterable[Term] = (),
    smoothing: float = 10.0,
    least: int = 2,
    top: int = 100,
) -> Keywords:
    """The keywords of each domain, of each label in a domain, and of each term.

    The text of a domain or term is its contexts, stereotypes and anti-stereotypes. The text of a
    label is its associations, without contexts. In intrasentence CATs the text of an association is
    only what fills the BLANK, so no text counts twice.

    Args:
        cats: the CATs.
        language: the language of their texts.
        reference: a reference in the same language.
        terms: all target terms, including those without CATs.
        smoothing: N of ``simple_maths``, per million words.
        least: the smallest number of CATs in which a keyword must occur.
        top: how many keywords to list by each statistic.

    Raises:
        NotCheckedError: the language's texts cannot be split into words.
        CurationError: the reference is in another language.
    """
    if base(reference.language) != base(language):
        raise CurationError(
            f"the reference {reference.name} is in «{reference.language}», but the texts are in "
            f"«{base(language)}»",
            "use a reference in the language of the texts",
        )
    reader = _Reader(language, reference)
    all_terms = [*((t.id, t.text, t.domain, t.names) for t in terms)]
    all_terms += [(cat.term, cat.target, cat.domain, ()) for cat in cats]
    targets = {term: (text, domain) for term, text, domain, _ in all_terms}
    removed: dict[str, set[str]] = defaultdict(set)
    for _, text, domain, names in all_terms:
        removed[domain] |= reader.forms((text, *names))
    texts_of = {cat.id: reader.texts(cat) for cat in cats}
    groups: list[Group] = []

    def add(
        by: str,
        domain: str,
        of: Collection[Cat],
        *,
        label: Gold | None = None,
        term: str | None = None,
        target: str | None = None,
    ) -> None:
        labels = [label] if label else [None, *GOLDS[:2]]
        texts = [text for cat in of for text in texts_of[cat.id] if text.label in labels]
        counted = _Counted(reader, texts)
        found = counted.keywords(removed[domain], smoothing, least)
        groups.append(
            {
                "by": by,
                "domain": domain,
                "label": label,
                "term": term,
                "target": target,
                "cats": len({text.cat for text in texts}),
                "tokens": counted.tokens,
                "words": len(counted.counts),
                "lacking": counted.lacking(),
                "candidates": len(found),
                "keywords": counted.listed(found, top),
            }
        )

    for domain in sorted(removed):
        add("domain", domain, [cat for cat in cats if cat.domain == domain])
    for domain in sorted(removed):
        for gold in roles_of(cat.kind for cat in cats):
            add("label", domain, [cat for cat in cats if cat.domain == domain], label=gold)
    by_term = grouped((cat.term, cat) for cat in cats)
    for term, (text, domain) in sorted(targets.items(), key=lambda item: (item[1][1], item[0])):
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
    """Splits texts into words and lemmas as the reference does."""

    def __init__(self, language: str, reference: Reference) -> None:
        self.language, self.reference = language, reference
        self.amounts = reference.by_lemma
        self._elides = base(language) != "en"

    def texts(self, cat: Cat) -> list[_Text]:
        """The texts of a CAT: its context, and its associations (or what fills the BLANK)."""
        spaced = base(self.language) not in UNSPACED
        context = self._words(around(cat.context, spaced=spaced))
        return [_Text(cat.id, None, context, cat.context)] + [
            _Text(cat.id, association.gold, self._words(option), association.sentence)
            for option, association in zip(options(cat), cat.associations, strict=True)
        ]

    def _words(self, text: str) -> list[tuple[str, str]]:
        """Words and their lemmas; l'heure is two words if the reference has it as two."""
        known, all_words = self.reference.amounts, []
        for word in words(text, self.language):
            parts = word.split("'") if self._elides else [word]
            apart = word not in known and all(part in known for part in parts)
            all_words += parts if apart else [word]
        return [(word, self.reference.key(word)) for word in all_words]

    def forms(self, names: Iterable[str]) -> set[str]:
        """The words of names, their lemmas, and in English both with a plural s."""
        own = {word for name in names for word in words(name, self.language)}
        own |= {lemma(word, self.language) for word in own} | set(map(self.reference.key, own))
        # The lists of lemmas lack many names of peoples, so the plural is made here.
        return own | {f"{word}s" for word in own if base(self.language) == "en"}


class _Counted:
    """The counts of a group of texts."""

    def __init__(self, reader: _Reader, texts: Sequence[_Text]) -> None:
        self.reader = reader
        self.counts: Counter[str] = Counter()
        self.forms: dict[str, set[str]] = defaultdict(set)
        self.where: dict[str, dict[str, _Text]] = defaultdict(dict)
        for text in texts:
            for word, key in text.words:
                self.counts[key] += 1
                self.forms[key].add(word)
                self.where[key].setdefault(text.cat, text)
        self.tokens = self.counts.total()

    def lacking(self) -> dict[str, int]:
        """How many different words the reference does not have, and how often they occur."""
        missing = [word for word in self.counts if not self.reader.amounts.get(word)]
        return {"words": len(missing), "tokens": sum(self.counts[word] for word in missing)}

    def keywords(self, removed: set[str], smoothing: float, least: int) -> list[Keyword]:
        """All keywords of the group with their two ranks, by simple maths."""
        rows = [
            self._row(word, smoothing)
            for word in self.counts
            if len(self.where[word]) >= least
            and not any(char.isdigit() for char in word)  # wordfreq has no single numbers
            and not (word in removed or self.forms[word] <= removed)
        ]
        rows = [row for row in rows if row["per_million"] > row["reference_per_million"]]
        rows.sort(key=lambda row: (-row["log_likelihood"], -row["count"], row["word"]))
        by_likelihood = {row["word"]: place for place, row in enumerate(rows, 1)}
        rows.sort(key=lambda row: (-row["score"], -row["count"], row["word"]))
        for place, row in enumerate(rows, 1):
            row["rank"] = place
            row["log_likelihood_rank"] = by_likelihood[row["word"]]
        return rows

    def listed(self, rows: Sequence[Keyword], top: int) -> list[Keyword]:
        """The first keywords by each rank, with their forms and examples."""
        first = [row for row in rows if min(row["rank"], row["log_likelihood_rank"]) <= top]
        for row in first:
            texts = list(self.where[row["word"]].values())[:EXAMPLES]
            row["forms"] = sorted(self.forms[row["word"]])
            row["examples"] = [{"cat": text.cat, "text": text.whole} for text in texts]
        return first

    def _row(self, word: str, smoothing: float) -> Keyword:
        reference, count = self.reader.reference, self.counts[word]
        amount = self.reader.amounts.get(word, 0.0)
        focus, other = (_MILLION * count / self.tokens, _MILLION * amount / reference.total)
        if reference.counted:
            likelihood = log_likelihood(count, self.tokens, amount, reference.total)
        else:  # a word that is not listed is rarer than every listed one: G² is at least this
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
