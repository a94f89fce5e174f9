"""Text-automated: how often targets and one group only are named in the same context (section 4.1).

A context is some consecutive sentences of one document; contexts overlap. It counts for a group if
it has a word of the target and a word of the group, and no word of any other group. A document with
fewer sentences than a context has none.
"""

import os
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from curation.bias import Bias, Pair
from curation.engine import Engine, each_shard
from curation.files import CurationError
from curation.shards import Shard, documents, shards
from curation.stats.intervals import share_interval
from curation.trust.framework import DEFAULT, Floats, Policies, bias, of_counts, simultaneous
from curation.trust.groups import Groups
from curation.trust.text.matching import Lexicon, Lists, lists
from curation.trust.text.scanning import Hit, Ints, Scanner, batches, scanner
from curation.words import base

ALGORITHM = 1
Words = frozenset[int]


class Context(NamedTuple):
    """Consecutive sentences of a document that mention a target.

    Attributes:
        document: the document's position.
        start: the first sentence.
        targets: the numbers of the targets.
        words: the numbers of the groups' words in it.
    """

    document: int
    start: int
    targets: frozenset[int]
    words: Words


@dataclass(frozen=True)
class Counts:
    """What a corpus has of targets and groups.

    Attributes:
        words: the groups' words, by number.
        contexts: how many contexts of a target have which set of words.
        documents: how many documents have a row (target, contexts of each group); only rows that
            have a context of a group.
        occurring: the groups' words, as the lists have them, that are in a context.
        read: the number of documents of each file.
        short: how many of them have fewer sentences than a context.
    """

    words: tuple[str, ...]
    contexts: Counter[tuple[str, tuple[str, ...]]]
    documents: Counter[tuple[str, tuple[int, ...]]]
    occurring: frozenset[str]
    read: tuple[int, ...]
    short: tuple[int, ...]


def contexts(
    lengths: Ints, hits: Sequence[Hit], prepared: Lists, *, window: int
) -> Iterator[Context]:
    """The contexts of documents that mention a target, in order.

    Args:
        lengths: shape (documents,), the sentences of each document.
        hits: the words in them, in order of the documents.
        prepared: the words of targets and groups.
        window: sentences of a context.
    """
    for document, group in groupby(hits, itemgetter(0)):
        targets, words = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
        for _, sentence, number in group:
            if (of := prepared.targets.get(number)) is not None:
                targets[sentence].update(of)
            else:
                words[sentence].add(number)
        last = int(lengths[document]) - window
        starts = {
            start
            for sentence in targets
            for start in range(max(sentence - window + 1, 0), min(sentence, last) + 1)
        }
        for start in sorted(starts):
            span = range(start, start + window)
            yield Context(document, start, _union(targets, span), _union(words, span))


def _union(sets: Mapping[int, set[int]], span: range) -> frozenset[int]:
    present = [sets[at] for at in span if at in sets]
    return frozenset(present[0].union(*present[1:]) if present else ())


def one_group(words: Words, prepared: Lists) -> int | None:
    """The number of the only group that words belong to; None if there is none, or several."""
    owners = {prepared.groups[word] for word in words}
    return owners.pop() if len(owners) == 1 else None


# --- counting -----------------------------------------------------------------------------------


class Part(NamedTuple):
    """The counts of some documents; targets and words are numbers."""

    contexts: Counter[tuple[int, Words]]
    documents: Counter[tuple[int, tuple[int, ...]]]
    read: int
    short: int


def _count_shard(shard: Shard, *, prepared: Lists, groups: int, window: int) -> Part:
    lexicon, wanted = prepared.lexicon, frozenset(prepared.targets)
    found = scanner(tuple(lexicon.names), lexicon.language, wanted=wanted, window=window)
    return count_documents(documents(shard), found, prepared, groups=groups, window=window)


def count_documents(
    texts: Iterable[Sequence[str]], found: Scanner, prepared: Lists, *, groups: int, window: int
) -> Part:
    """The counts of documents.

    Args:
        texts: lists of documents without NUL characters.
        found: finds the words near targets.
        prepared: the words of targets and groups.
        groups: how many groups there are.
        window: sentences of a context.
    """
    part = Part(Counter(), Counter(), 0, 0)
    owners: dict[Words, int | None] = {}
    read = short = 0
    for batch in chain.from_iterable(map(batches, texts)):
        scan = found.scan(batch)
        read += int((scan.lengths > 0).sum())
        short += int(((scan.lengths > 0) & (scan.lengths < window)).sum())
        every = contexts(scan.lengths, scan.hits, prepared, window=window)
        for _, of_document in groupby(every, itemgetter(0)):
            rows: dict[int, list[int]] = {}
            for context in of_document:
                if context.words not in owners:
                    owners[context.words] = one_group(context.words, prepared)
                group = owners[context.words]
                for target in context.targets:
                    part.contexts[target, context.words] += 1
                    if group is not None:
                        rows.setdefault(target, [0] * groups)[group] += 1
            part.documents.update((target, tuple(row)) for target, row in rows.items())
    return part._replace(read=read, short=short)


def count(
    paths: Sequence[Path],
    groups: Groups,
    *,
    language: str = "en",
    window: int = 3,
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> Counts:
    """Count the contexts of targets in a corpus.

    Memory grows with the number of different sets of words, not with the text.

    Args:
        paths: ``.txt`` files with a document on each line, ``.jsonl`` files with one in each
            record, both also as ``.gz``, or ``.parquet`` files with one in each row.
        groups: targets and groups with their words.
        language: of the texts; words are those of ``curation.words``.
        window: sentences of a context.
        field: the field of a JSON record, or the column of a Parquet file, that has the text.
        engine: "local" or "ray". On Ray every machine must see the files under the same path.
        workers: how many run at once; by default one per processor.
        tell: called with the number of bytes read since the last call.

    Raises:
        CurationError: a file cannot be read or has no words, or a list has words that are the
            same word in texts; the message names file and line, or the word.
    """
    if not paths:
        raise CurationError("no file to measure", "name at least one file")
    prepared = lists(groups, language)
    parts = shards(
        paths,
        language=language,
        field=field,
        workers=workers or os.cpu_count() or 1,
        documents=True,
    )
    work = partial(_count_shard, prepared=prepared, groups=len(groups.words), window=window)
    found = Counter[tuple[int, Words]]()
    rows = Counter[tuple[int, tuple[int, ...]]]()
    read, short = [0] * len(paths), [0] * len(paths)
    with closing(each_shard(work, parts, engine=engine, workers=workers)) as each:
        for index, part in each:
            found.update(part.contexts)
            rows.update(part.documents)
            read[parts[index].file] += part.read
            short[parts[index].file] += part.short
            if tell:
                tell(parts[index].size)
    for path, number in zip(paths, read, strict=True):
        if not number:
            raise CurationError(
                f"{path}: contains no words", "leave the file out, or fetch it again"
            )
    targets, names = tuple(groups.targets), prepared.lexicon.names
    seen = {word for _, words in found for word in words}
    return Counts(
        tuple(names[number] for number in sorted(prepared.groups)),
        Counter(
            {(targets[t], tuple(names[w] for w in sorted(ws))): n for (t, ws), n in found.items()}
        ),
        Counter({(targets[t], row): n for (t, row), n in rows.items()}),
        frozenset(
            word
            for words in groups.words.values()
            for word in words
            if prepared.lexicon.number(word) in seen
        ),
        tuple(read),
        tuple(short),
    )


# --- results ------------------------------------------------------------------------------------


class Tally:
    """Counts as arrays, from which the measure is computed, also with other groups.

    Attributes:
        targets: the targets with contexts.
        of: shape (rows,), the position of each row's target.
        has: shape (rows, words), 1 if the row's contexts have the word.
        number: shape (rows,), how many contexts the row is.
    """

    def __init__(self, counts: Counts, language: str) -> None:
        """Make arrays."""
        self.language = language
        self.lexicon = Lexicon(counts.words, language)
        self.targets = {name: at for at, name in enumerate(dict(counts.contexts.keys()))}
        rows = sorted(counts.contexts)
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
            numbers = [self.lexicon.number(word) for word in members]
            belongs[[number for number in numbers if number is not None], place] = 1
        present = self.has @ belongs > 0
        several = np.minimum(present.sum(axis=1), 2)
        kinds = np.zeros((len(self.targets), 3))
        np.add.at(kinds, (self.of, several), self.number)
        soa = np.zeros((len(self.targets), len(groups.words)))
        alone = several == 1
        np.add.at(soa, self.of[alone], present[alone] * self.number[alone, None])
        if not len(soa):
            return np.zeros((len(groups.targets), len(groups.words))), np.zeros(
                (len(groups.targets), 3)
            )
        at = np.array([self.targets.get(name, -1) for name in groups.targets])
        known = (at >= 0)[:, None]
        return np.where(known, soa[at], 0.0), np.where(known, kinds[at], 0.0)

    def again(self, groups: Groups, policies: Policies) -> list[Bias]:
        """The measure with other lists of the same words or other policies, without intervals."""
        return self.biases(groups, policies)

    def biases(
        self,
        groups: Groups,
        policies: Policies = DEFAULT,
        *,
        documents: Counter[tuple[str, tuple[int, ...]]] | None = None,
        confidence: float = 0.95,
    ) -> list[Bias]:
        """The bias of each target.

        Args:
            groups: as for ``strengths``.
            policies: how strengths become a distribution.
            documents: the rows of documents, for intervals; None for no intervals.
            confidence: of all intervals of a target together.
        """
        policies = of_counts(policies)
        soa, kinds = self.strengths(groups)
        rows = defaultdict[str, list[tuple[tuple[int, ...], int]]](list)
        for (target, row), number in sorted((documents or {}).items()):
            rows[target].append((row, number))
        shares = documents is not None and policies.normalise == "sum"
        each = simultaneous(confidence, len(groups.words))
        biases = []
        for place, target in enumerate(groups.targets):
            reference = groups.reference(target)
            n = int(kinds[place].sum())
            ci = None
            if shares and reference is not None and soa[place].any():
                ci = intervals(rows[target], reference, confidence=each)
            biases.append(
                bias(
                    target,
                    [int(value) for value in soa[place]],
                    groups=groups.names,
                    reference=reference,
                    policies=policies,
                    n=n,
                    ci=ci,
                    undefined="" if n else "missing_target",
                )
            )
        return biases


def intervals(
    rows: Sequence[tuple[tuple[int, ...], int]], reference: Sequence[float], *, confidence: float
) -> list[Pair | None]:
    """Intervals of p − p0 over documents, because the contexts of a document overlap.

    If all documents have the same share, each counts as one observation: overlapping contexts of
    a document say the same thing.

    Args:
        rows: the contexts of each group in a document, and how many documents have such a row.
        reference: p0.
        confidence: of each interval.
    """
    won = np.repeat(
        np.array([row for row, _ in rows], float), [number for _, number in rows], axis=0
    )
    of = won.sum(axis=1)
    ends = [
        share_interval(won[:, place], of, observations=len(of), confidence=confidence)
        for place in range(won.shape[1])
    ]
    return [
        None if pair is None else (pair[0] - p0, pair[1] - p0)
        for pair, p0 in zip(ends, reference, strict=True)
    ]


def versions(language: str) -> dict[str, str | int]:
    """The versions of what the results depend on."""
    return {
        "text-automated": ALGORITHM,
        "unicode": unicodedata.unidata_version,
        "language": base(language),
    }
