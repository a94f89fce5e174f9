"""A random sample of the passages of a corpus that mention targets, with their automatic labels."""

import hashlib
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from curation.records import Passage
from curation.trust.groups import Groups
from curation.trust.text.automated import Context, contexts, near_targets
from curation.trust.text.matching import Lists, lists
from curation.trust.text.scanning import Located, Texts, batches
from curation.work.shards import Shard

Span = tuple[int, int]


class LabelledPassage(NamedTuple):
    """A passage that mentions a target, and the group with which the automatic measure counts it.

    ``spans`` are the (start, end) characters of every mention in ``passage.text``; ``group`` is
    None for no group, or several.
    """

    passage: Passage
    spans: tuple[Span, ...]
    group: str | None


Drawn = list[dict[str, LabelledPassage]]
"""Passages by their random keys, in order, for each target."""


def passages(
    texts: Texts,
    groups: Groups,
    *,
    most: int,
    seed: int,
    tell: Callable[[int], None] | None = None,
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

    def add(_: int, part: Drawn) -> None:
        for target, more in enumerate(part):
            together = drawn[target] | more
            drawn[target] = {key: together[key] for key in sorted(together)[:most]}

    prepared = lists(groups, texts.language)
    work = partial(_draw, prepared=prepared, window=texts.window, most=most, seed=seed)
    texts.read(work, add, tell=tell)
    return [passage for of_target in drawn for passage in of_target.values()]


def _draw(shard: Shard, *, prepared: Lists, window: int, most: int, seed: int) -> Drawn:
    """The passages of a shard with the lowest keys."""
    names, found = tuple(prepared.groups.targets), near_targets(prepared, window)
    drawn: Drawn = [{} for _ in names]
    for texts in batches(shard):
        document, located = cache(document_name), cache(found.locate)
        more: list[dict[str, Context]] = [{} for _ in names]
        for context in contexts(found.scan(texts), prepared, window=window):
            name = document(texts[context.document])
            for target in context.targets:
                key = _hash(f"{seed}\0{names[target]}\0{name}\0{context.start}")
                if len(drawn[target]) < most or key < next(reversed(drawn[target])):
                    more[target][key] = context
        for target, new in enumerate(more):
            own = drawn[target]
            for key in sorted(own.keys() | new.keys())[:most] if new else ():
                if key not in own:
                    text = texts[new[key].document]
                    own[key] = _passage(key, text, located(text), new[key], target, prepared)
            drawn[target] = {key: own[key] for key in sorted(own)[:most]} if new else own
    return drawn


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
    passage = Passage(
        id=f"passage-{key}",
        text=text[start:end],
        target=tuple(groups.targets)[target],
        document=document_name(text),
    )
    return LabelledPassage(passage, mentions, None if group is None else groups.names[group])


def document_name(text: str) -> str:
    """A name for a document, the same for all documents with this text."""
    return f"document-{_hash(text)}"


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
