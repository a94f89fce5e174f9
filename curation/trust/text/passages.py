"""Places in a corpus that mention words: sentences for reduction, labelled passages for probes."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from curation.bias import Passage
from curation.engine import Engine, each_shard
from curation.shards import Shard, documents, shards
from curation.trust.groups import Groups
from curation.trust.text.automated import Context, contexts, one_group
from curation.trust.text.locating import Located, locate
from curation.trust.text.matching import Lists, lists
from curation.trust.text.scanning import batches, scanner


class Mention(NamedTuple):
    """A listed word in a context; ``text[start:end]`` is the word as the text has it.

    ``word`` is the word as the list has it; ``document`` is the same for all contexts of a
    document.
    """

    text: str
    word: str
    start: int
    end: int
    document: str


class LabelledPassage(NamedTuple):
    """A passage that mentions a target, and the group with which the automatic measure counts it.

    ``passage.text[start:end]`` is the target's word; ``group`` is None for no group, or several.
    """

    passage: Passage
    start: int
    end: int
    group: str | None


def mentions(shard: Shard, words: Collection[str], *, window: int = 1) -> Iterator[Mention]:
    """Every mention of a word: one for each place, with the sentence that it is in.

    Args:
        shard: from ``curation.shards.shards``, with ``documents=True``.
        words: the words; several words are a sequence of words.
        window: sentences of a context. With more than one, a place is in several contexts.
    """
    found = scanner(tuple(words), shard.language, wanted=None, window=window)
    for texts in chain.from_iterable(map(batches, documents(shard))):
        scan = found.scan(texts)
        for position in sorted({hit.document for hit in scan.hits}):
            text, name = texts[position], document_name(texts[position])
            spans, places = locate(found, text)
            last = max(len(spans) - window, -1)
            for place in places:
                for first in range(
                    max(place.sentence - window + 1, 0), min(place.sentence, last) + 1
                ):
                    start, end = spans[first][0], spans[first + window - 1][1]
                    yield Mention(
                        text[start:end],
                        found.lexicon.names[place.word],
                        place.start - start,
                        place.end - start,
                        name,
                    )


def passages(
    paths: Sequence[Path],
    groups: Groups,
    *,
    most: int,
    seed: int,
    language: str = "en",
    window: int = 3,
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = None,
    tell: Callable[[int], None] | None = None,
) -> list[LabelledPassage]:
    """A random sample of the passages that mention each target, each with its automatic label.

    The same files, words and seed give the same passages, whatever the number of workers. Passages
    with the same text count once.

    Args:
        paths: as for ``curation.trust.text.automated.count``.
        groups: targets and groups with their words.
        most: the number of passages of each target at most.
        seed: of the sample.
        language: of the texts.
        window: sentences of a passage.
        field: the JSON field or Parquet column that has the text.
        engine: "local" or "ray".
        workers: how many run at once; by default one per processor.
        tell: called with the number of bytes read since the last call.

    Returns:
        In the order of the targets, then in random order.
    """
    prepared = lists(groups, language)
    parts = shards(
        paths,
        language=language,
        field=field,
        workers=workers or os.cpu_count() or 1,
        documents=True,
    )
    work = partial(_draw, prepared=prepared, groups=groups, window=window, most=most, seed=seed)
    drawn: list[dict[str, LabelledPassage]] = [{} for _ in groups.targets]
    with closing(each_shard(work, parts, engine=engine, workers=workers)) as each:
        for index, found in each:
            for target, more in enumerate(found):
                together = drawn[target] | more
                drawn[target] = {key: together[key] for key in sorted(together)[:most]}
            if tell:
                tell(parts[index].size)
    return [passage for of_target in drawn for passage in of_target.values()]


def _draw(
    shard: Shard, *, prepared: Lists, groups: Groups, window: int, most: int, seed: int
) -> list[dict[str, LabelledPassage]]:
    """The passages of a shard with the lowest keys, by target and key."""
    lexicon, names = prepared.lexicon, tuple(groups.targets)
    wanted = frozenset(prepared.targets)
    found = scanner(tuple(lexicon.names), lexicon.language, wanted=wanted, window=window)
    drawn: list[dict[str, LabelledPassage]] = [{} for _ in names]
    limits = [""] * len(names)  # the highest key that is kept, once there are enough
    for texts in chain.from_iterable(map(batches, documents(shard))):
        scan = found.scan(texts)
        every = contexts(scan.lengths, scan.hits, prepared, window=window)
        for position, of_document in groupby(every, itemgetter(0)):
            text, located = texts[position], None
            name = document_name(text)
            for context in of_document:
                for target in context.targets:
                    key = _hash(f"{seed}\0{names[target]}\0{name}\0{context.start}")
                    if limits[target] and key > limits[target]:
                        continue
                    located = located or locate(found, text)
                    drawn[target][key] = _passage(
                        text, name, located, context, target, prepared, groups, key, window
                    )
                    if len(drawn[target]) > 2 * most:
                        drawn[target], limits[target] = _lowest(drawn[target], most)
    return [_lowest(each, most)[0] for each in drawn]


def _lowest(drawn: dict[str, LabelledPassage], most: int) -> tuple[dict[str, LabelledPassage], str]:
    keys = sorted(drawn)[:most]
    return {key: drawn[key] for key in keys}, keys[-1] if len(keys) == most else ""


def _passage(
    text: str,
    document: str,
    located: "Located",
    context: Context,
    target: int,
    prepared: Lists,
    groups: Groups,
    key: str,
    window: int,
) -> LabelledPassage:
    """A passage with its first mention of the target."""
    last = context.start + window - 1
    start, end = located.spans[context.start][0], located.spans[last][1]
    place = next(
        place
        for place in located.places
        if context.start <= place.sentence <= last
        and target in prepared.targets.get(place.word, ())
    )
    group = one_group(context.words, prepared)
    name = tuple(groups.targets)[target]
    passage = Passage(id=f"passage-{key}", text=text[start:end], target=name, document=document)
    label = None if group is None else groups.names[group]
    return LabelledPassage(passage, place.start - start, place.end - start, label)


def document_name(text: str) -> str:
    """A name for a document, the same for all documents with this text."""
    return f"document-{_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
