"""Text-automated: how often targets and one group only are named in the same context (section 4.1).

A context is some consecutive sentences of one document; contexts overlap. It counts for a group if
it has a word of the target and a word of the group, and no word of any other group. A document with
fewer sentences than a context has none.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from curation.files import CurationError
from curation.records import Bias
from curation.stats.intervals import share_interval
from curation.text.words import base
from curation.trust import framework
from curation.trust.framework import DEFAULT, Floats, Policies
from curation.trust.groups import Groups
from curation.trust.text.matching import Lexicon, Lists, lists
from curation.trust.text.scanning import Scan, Scanner, Texts, batches, scanner
from curation.work.shards import Shard

ALGORITHM = 1
Words = frozenset[int]
Row = tuple[int, ...]
Part = tuple[Counter[tuple[str, tuple[str, ...]]], Counter[tuple[str, Row]], int, int]
"""As in ``Counts``: contexts, documents, documents read and too short ones."""


class Context(NamedTuple):
    """Consecutive sentences of a document that mention a target.

    Attributes:
        document: the document's position.
        start: the first sentence.
        end: the one after the last.
        targets: the numbers of the targets.
        words: the numbers of the groups' words in it.
    """

    document: int
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


def contexts(scan: Scan, prepared: Lists, *, window: int) -> Iterator[Context]:
    """The contexts of documents that mention a target, in order.

    Args:
        scan: the sentences of the documents, and the words in them.
        prepared: the words of targets and groups.
        window: sentences of a context.
    """
    for document, group in groupby(scan.hits, itemgetter(0)):
        targets, words = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
        for _, sentence, number in group:
            if (of := prepared.targets.get(number)) is not None:
                targets[sentence].update(of)
            else:
                words[sentence].add(number)
        last = int(scan.lengths[document]) - window
        starts = {
            start
            for sentence in targets
            for start in range(max(sentence - window + 1, 0), min(sentence, last) + 1)
        }
        for start in sorted(starts):
            span = range(start, start + window)
            yield Context(document, start, span.stop, _union(targets, span), _union(words, span))


def _union(sets: Mapping[int, set[int]], span: range) -> frozenset[int]:
    present = [sets[at] for at in span if at in sets]
    return frozenset(present[0].union(*present[1:]) if present else ())


# --- counting -----------------------------------------------------------------------------------


def near_targets(prepared: Lists, window: int) -> Scanner:
    """What finds the words of groups near those of targets."""
    lexicon, wanted = prepared.lexicon, frozenset(prepared.targets)
    return scanner(lexicon.names, lexicon.language, wanted=wanted, window=window)


def _count_shard(shard: Shard, *, prepared: Lists, window: int) -> Part:
    return count_documents(batches(shard), prepared, window=window)


def count_documents(every: Iterable[Sequence[str]], prepared: Lists, *, window: int) -> Part:
    """The counts of documents.

    Args:
        every: lists of documents without NUL characters.
        prepared: the words of targets and groups.
        window: sentences of a context.
    """
    found, owner = near_targets(prepared, window), cache(prepared.one_group)
    targets, names = tuple(prepared.groups.targets), prepared.lexicon.names
    none = [0] * len(prepared.groups.words)
    counted, documents = Counter[tuple[int, Words]](), Counter[tuple[str, Row]]()
    read = short = 0
    for texts in every:
        scan = found.scan(texts)
        read += int((scan.lengths > 0).sum())
        short += int(((scan.lengths > 0) & (scan.lengths < window)).sum())
        for _, of_document in groupby(contexts(scan, prepared, window=window), itemgetter(0)):
            rows: dict[int, list[int]] = {}
            for context in of_document:
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

    def add(file: int, part: Part) -> None:
        found.update(part[0])
        rows.update(part[1])
        read[file] += part[2]
        short[file] += part[3]

    work = partial(_count_shard, prepared=prepared, window=texts.window)
    texts.read(work, add, tell=tell)
    for path, number in zip(texts.paths, read, strict=True):
        if not number:
            raise CurationError(
                f"{path}: contains no words", "leave the file out, or fetch it again"
            )
    return Counts(found, rows, tuple(read), tuple(short))


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
        units: for intervals, as in ``intervals``, by target; those that are left out have none.
        extra: more variance of the shares, shape (k,), by target.
        confidence: of all intervals of a target together.
        undefined: the reason codes that are known already, by target.
    """
    policies = framework.of_counts(policies)
    each = framework.simultaneous(confidence, len(groups.words))
    references = [groups.reference(target) for target in groups.targets]
    ends = np.full((*soa.shape, 2), np.nan)
    for place, (target, p0) in enumerate(zip(groups.targets, references, strict=True)):
        if target in units and p0 and soa[place].any() and policies.normalise == "sum":
            ends[place] = intervals(units[target], p0, confidence=each, extra=extra.get(target))
    missing = {name: "missing_target" for name, of in zip(groups.targets, n, strict=True) if not of}
    return framework.biases(
        tuple(groups.targets),
        soa,
        groups=groups.names,
        references=references,
        policies=policies,
        n=n,
        intervals=ends,
        undefined={**undefined, **missing},
    )


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
