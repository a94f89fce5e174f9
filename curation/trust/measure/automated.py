"""Text-automated: how often targets and one group only are named in the same context (section 4.1).

A context is some consecutive sentences of one document; contexts overlap. It counts for a group if
it has a word of the target and a word of the group, and no word of any other group. A document with
fewer sentences than a context has none. Passages are a random sample of contexts.
"""

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from curation.files import CurationError
from curation.records import Bias, Passage
from curation.stats.intervals import share_interval
from curation.text.words import base
from curation.trust.measure import framework
from curation.trust.measure.framework import DEFAULT, Floats, Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.matching import Lexicon, Lists, lists
from curation.trust.measure.scanning import Batches, Hit, Located, Scanner, Texts, scanner

T = TypeVar("T")
ALGORITHM = 1
Words = frozenset[int]
Row = tuple[int, ...]
Span = tuple[int, int]
Part = tuple[Counter[tuple[str, tuple[str, ...]]], Counter[tuple[str, Row]], int, int]
"""As in ``Counts``: contexts, documents, documents read and too short ones."""


class Context(NamedTuple):
    """Consecutive sentences of a document that mention a target.

    Attributes:
        start: the first sentence.
        end: the one after the last.
        targets: the numbers of the targets.
        words: the numbers of the groups' words in it.
    """

    start: int
    end: int
    targets: frozenset[int]
    words: Words


@dataclass(frozen=True)
class Counts:
    """What a corpus has of targets and groups.

    Attributes:
        contexts: how many contexts of a target have which set of words.
        documents: how many documents have a row (target, contexts of each group); only rows that
            have a context of a group.
        read: the number of documents of each file.
        short: how many of them have fewer sentences than a context.
    """

    contexts: Counter[tuple[str, tuple[str, ...]]]
    documents: Counter[tuple[str, Row]]
    read: tuple[int, ...]
    short: tuple[int, ...]


def contexts(
    hits: Iterable[Hit], sentences: int, prepared: Lists, *, window: int
) -> Iterator[Context]:
    """The contexts of a document that mention a target, in order.

    Args:
        hits: the sentence and number of each listed word in the document.
        sentences: how many the document has.
        prepared: the words of targets and groups.
        window: sentences of a context.
    """
    targets, words = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for sentence, number in hits:
        if (of := prepared.targets.get(number)) is not None:
            targets[sentence].update(of)
        else:
            words[sentence].add(number)
    last = sentences - window
    starts = {
        start
        for sentence in targets
        for start in range(max(sentence - window + 1, 0), min(sentence, last) + 1)
    }
    for start in sorted(starts):
        span = range(start, start + window)
        both = ((of[at] for at in span if at in of) for of in (targets, words))
        targets_there, words_there = (frozenset[int]().union(*present) for present in both)
        yield Context(start, span.stop, targets_there, words_there)


# --- counting -----------------------------------------------------------------------------------


def near_targets(prepared: Lists, window: int) -> Scanner:
    """What finds the words of groups near those of targets."""
    lexicon, wanted = prepared.lexicon, frozenset(prepared.targets)
    return scanner(lexicon.names, lexicon.language, wanted=wanted, window=window)


def count_documents(batches: Iterable[Sequence[str]], *, prepared: Lists, window: int) -> Part:
    """The counts of documents.

    Args:
        batches: lists of documents without NUL characters.
        prepared: the words of targets and groups.
        window: sentences of a context.
    """
    found, owner = near_targets(prepared, window), cache(prepared.one_group)
    targets, names = tuple(prepared.groups.targets), prepared.lexicon.names
    none = [0] * len(prepared.groups.words)
    counted, documents = Counter[tuple[int, Words]](), Counter[tuple[str, Row]]()
    read = short = 0
    for texts in batches:
        scan = found.scan(texts)
        read += int((scan.lengths > 0).sum())
        short += int(((scan.lengths > 0) & (scan.lengths < window)).sum())
        for document, hits in scan.hits.items():
            rows, sentences = dict[int, list[int]](), int(scan.lengths[document])
            for context in contexts(hits, sentences, prepared, window=window):
                group = owner(context.words)
                for target in context.targets:
                    counted[target, context.words] += 1
                    if group is not None:
                        rows.setdefault(target, [*none])[group] += 1
            documents.update((targets[target], tuple(row)) for target, row in rows.items())
    named = {(targets[t], tuple(names[w] for w in sorted(ws))): n for (t, ws), n in counted.items()}
    return Counter(named), documents, read, short


def count(texts: Texts, groups: Groups, *, tell: Callable[[int], None] | None = None) -> Counts:
    """Count the contexts of targets in a corpus.

    Memory grows with the number of different sets of words, not with the text.

    Args:
        texts: the corpus.
        groups: targets and groups with their words.
        tell: called with the number of bytes read since the last call.

    Raises:
        CurationError: a file cannot be read or has no words, or a list has words that are the
            same word in texts; the message names file and line, or the word.
    """
    prepared = lists(groups, texts.language)
    found, rows = Counter[tuple[str, tuple[str, ...]]](), Counter[tuple[str, Row]]()
    read, short = [0] * len(texts.paths), [0] * len(texts.paths)
    work = partial(count_documents, prepared=prepared, window=texts.window)
    for file, part in texts.read(work, tell=tell):
        found.update(part[0])
        rows.update(part[1])
        read[file] += part[2]
        short[file] += part[3]
    if 0 in read:
        path = texts.paths[read.index(0)]
        raise CurationError(f"{path}: contains no words", "leave the file out, or fetch it again")
    return Counts(found, rows, tuple(read), tuple(short))


# --- passages -------------------------------------------------------------------------------------


class LabelledPassage(NamedTuple):
    """A passage that mentions a target, and the group with which the automatic measure counts it.

    ``spans`` are the (start, end) characters of every mention in ``Passage.text``; ``group`` is
    None for no group, or several.
    """

    passage: Passage
    spans: tuple[Span, ...]
    group: str | None


Drawn = list[dict[str, LabelledPassage]]
"""Passages by their random keys, in order, for each target."""


def passages(
    texts: Texts, groups: Groups, *, most: int, seed: int, tell: Callable[[int], None] | None = None
) -> list[LabelledPassage]:
    """A random sample of the passages that mention each target, each with its automatic label.

    The same files, words and seed give the same passages, whatever the number of workers. Passages
    of documents with the same text count once.

    Args:
        texts: the corpus; a passage has as many sentences as its ``window``.
        groups: targets and groups with their words.
        most: the number of passages of each target at most.
        seed: of the sample.
        tell: called with the number of bytes read since the last call.

    Returns:
        In the order of the targets, then in random order.
    """
    drawn: Drawn = [{} for _ in groups.targets]
    prepared = lists(groups, texts.language)
    work = partial(_draw, prepared=prepared, window=texts.window, most=most, seed=seed)
    for _, part in texts.read(work, tell=tell):
        drawn = [_lowest(own | more, most) for own, more in zip(drawn, part, strict=True)]
    return [passage for of_target in drawn for passage in of_target.values()]


def _draw(batches: Batches, *, prepared: Lists, window: int, most: int, seed: int) -> Drawn:
    """The passages of documents with the lowest keys."""
    names, found = tuple(prepared.groups.targets), near_targets(prepared, window)
    drawn: Drawn = [{} for _ in names]
    for texts in batches:
        scan, located = found.scan(texts), cache(found.locate)
        more: list[dict[str, tuple[str, Context]]] = [{} for _ in names]
        for document, hits in scan.hits.items():
            text, sentences = texts[document], int(scan.lengths[document])
            name = document_name(text)
            for context in contexts(hits, sentences, prepared, window=window):
                for target in context.targets:
                    key = _hash(f"{seed}\0{names[target]}\0{name}\0{context.start}")
                    if len(drawn[target]) < most or key < next(reversed(drawn[target])):
                        more[target][key] = text, context
        for target, new in enumerate(more):
            own = drawn[target]
            for key in _lowest(new, most).keys() - own.keys():
                text, context = new[key]
                own[key] = _passage(key, text, located(text), context, target, prepared)
            drawn[target] = _lowest(own, most)
    return drawn


def _lowest(drawn: Mapping[str, T], most: int) -> dict[str, T]:
    """What has the lowest keys, in their order."""
    return {key: drawn[key] for key in sorted(drawn)[:most]}


def _passage(
    key: str, text: str, located: Located, context: Context, target: int, prepared: Lists
) -> LabelledPassage:
    start, end = located.spans[context.start][0], located.spans[context.end - 1][1]
    mentions = tuple(
        (place.start - start, place.end - start)
        for place in located.places
        if context.start <= place.sentence < context.end
        and target in prepared.targets.get(place.word, ())
    )
    group, groups = prepared.one_group(context.words), prepared.groups
    own = {"text": text[start:end], "target": tuple(groups.targets)[target]}
    passage = Passage(id=f"passage-{key}", document=document_name(text), **own)
    return LabelledPassage(passage, mentions, None if group is None else groups.names[group])


def document_name(text: str) -> str:
    """A name for a document, the same for all documents with this text."""
    return f"document-{_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


# --- results ------------------------------------------------------------------------------------


class Tally:
    """Counts as arrays, from which the measure is computed, also with other groups.

    Attributes:
        lexicon: the groups' words that are in a context.
        targets: the targets with contexts.
        of: shape (rows,), the position of each row's target.
        has: shape (rows, words), 1 if the row's contexts have the word.
        number: shape (rows,), how many contexts the row is.
    """

    def __init__(self, counts: Counts, language: str) -> None:
        """Make arrays."""
        rows = sorted(counts.contexts)
        self.lexicon = Lexicon(sorted({word for _, words in rows for word in words}), language)
        self.targets = {name: at for at, name in enumerate(dict(rows))}
        columns = {word: at for at, word in enumerate(self.lexicon.names)}
        self.of = np.array([self.targets[target] for target, _ in rows], np.int64)
        self.number = np.array([counts.contexts[row] for row in rows], float)
        self.has = np.zeros((len(rows), len(columns)), np.float32)
        for place, (_, words) in enumerate(rows):
            self.has[place, [columns[word] for word in words]] = 1

    def strengths(self, groups: Groups) -> tuple[Floats, Floats]:
        """The contexts of each target for each group, and all of its contexts.

        Words that were not counted are as if they did not occur.

        Args:
            groups: the counted targets, and groups of counted words.

        Returns:
            Shapes (targets, k) and (targets, 3): contexts with no, one and several groups.
        """
        belongs = np.zeros((len(self.lexicon.names), len(groups.words)), np.float32)
        for place, members in enumerate(groups.words.values()):
            belongs[self.lexicon.of(members), place] = 1
        present = self.has @ belongs > 0
        several = np.minimum(present.sum(axis=1), 2)
        kinds = np.zeros((len(self.targets) + 1, 3))
        np.add.at(kinds, (self.of, several), self.number)
        soa = np.zeros((len(self.targets) + 1, len(groups.words)))
        alone = several == 1
        np.add.at(soa, self.of[alone], present[alone] * self.number[alone, None])
        at = [self.targets.get(name, -1) for name in groups.targets]  # the last row stays 0
        return soa[at], kinds[at]

    def biases(
        self,
        groups: Groups,
        policies: Policies = DEFAULT,
        *,
        documents: Counter[tuple[str, Row]] | None = None,
        confidence: float = 0.95,
    ) -> list[Bias]:
        """The bias of each target.

        Args:
            groups: as for ``strengths``.
            policies: how strengths become a distribution.
            documents: the rows of documents, for intervals; None for no intervals.
            confidence: of all intervals of a target together.
        """
        soa, kinds = self.strengths(groups)
        rows = defaultdict[str, dict[Row, int]](dict)
        for (target, row), number in sorted((documents or {}).items()):
            rows[target][row] = number
        units = {
            target: np.repeat(np.array([*own], float), [*own.values()], axis=0)
            for target, own in rows.items()
        }
        n = kinds.sum(axis=1).astype(int).tolist()
        return count_biases(groups, soa, policies, n=n, units=units, confidence=confidence)


def count_biases(
    groups: Groups,
    soa: Floats,
    policies: Policies,
    *,
    n: Sequence[int],
    units: Mapping[str, Floats] = {},
    extra: Mapping[str, Floats] = {},
    confidence: float = 0.95,
    undefined: Mapping[str, str] = {},
) -> list[Bias]:
    """The bias of each target, if strengths of association are numbers of contexts.

    Args:
        groups: targets and groups.
        soa: shape (targets, k).
        policies: how strengths become a distribution.
        n: how many contexts each target has, also those of no group.
        units: documents or passages, as in ``intervals``, by target; those that are left out have
            no interval.
        extra: more variance of the shares, shape (k,), by target.
        confidence: of all intervals of a target together.
        undefined: the reason codes that are known already, by target.
    """
    policies = framework.of_counts(policies)
    known = [effective_number(units.get(target, ())) for target in groups.targets]
    each = framework.simultaneous(confidence, len(groups.words))
    ends = np.full((*soa.shape, 2), np.nan)
    for place, target in enumerate(groups.targets):
        p0 = groups.reference(target)
        if target in units and p0 and soa[place].any() and policies.normalise == "sum":
            ends[place] = intervals(units[target], p0, confidence=each, extra=extra.get(target))
    missing = {name: "missing_target" for name, of in zip(groups.targets, n, strict=True) if not of}
    codes = {**undefined, **missing}
    how: dict[str, Any] = {"n": n, "intervals": ends, "undefined": codes}
    return framework.biases(groups, soa, policies, units=known if units else None, **how)


def effective_number(contexts: Iterable[Any]) -> float:
    """How many documents with equally many contexts would weigh as these do: (Σ c)² / Σ c² (Kish).

    Args:
        contexts: the contexts of each document, or an array of them by group.

    >>> effective_number([[2, 0], [1, 1]]), effective_number([[8, 0], [1, 1]]), effective_number([])
    (2.0, 1.4706, 0.0)
    """
    counts = [float(np.sum(each)) for each in contexts]
    square = sum(count**2 for count in counts)
    return round(sum(counts) ** 2 / square, 4) if square else 0.0


def intervals(
    won: Floats, reference: Sequence[float], *, confidence: float, extra: Floats | None = None
) -> Floats:
    """Intervals of p − p0 over documents, because the contexts of a document overlap.

    If all documents have the same share, each counts as one observation: overlapping contexts of
    a document say the same thing.

    Args:
        won: shape (documents, k), the contexts of each group in each document.
        reference: p0.
        confidence: of each interval.
        extra: more variance of the shares, shape (k,).

    Returns:
        Shape (k, 2); NaN for fewer than two documents with contexts.
    """
    won = won[won.any(axis=1)]
    of, more = won.sum(axis=1), np.zeros(len(reference)) if extra is None else extra
    ends = [
        share_interval(own, of, observations=len(of), confidence=confidence, extra=float(variance))
        for own, variance in zip(won.T, more, strict=True)
    ]
    pairs = [(np.nan, np.nan) if pair is None else pair for pair in ends]
    return np.asarray(np.array(pairs) - np.array(reference)[:, None])


def versions(language: str) -> dict[str, str | int]:
    """The versions of what the results depend on."""
    return {
        "text-automated": ALGORITHM,
        "unicode": unicodedata.unidata_version,
        "language": base(language),
    }
