"""Places in a corpus that mention words: sentences for reduction, labelled passages for probes."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.bias import Passage
from curation.engine import Engine
from curation.shards import Shard
from curation.trust.groups import Groups


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
    raise NotImplementedError


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
    raise NotImplementedError
