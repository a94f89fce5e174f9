"""The contexts of words in a corpus: a random sample of the different texts that mention each.

The sample does not depend on how the files are cut, nor on how many processes read them: each text
has a random number that follows from the seed, the word and the text, and the texts with the
smallest numbers are kept.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from curation.engine import Engine, map_shards
from curation.shards import Shard, shards
from curation.trust.text.passages import mentions

if TYPE_CHECKING:
    from curation.models.states import Place

_PIECES = 1 << 20  # workers to cut for: the smallest shards, however many workers there are


class Context(NamedTuple):
    """A word in a text.

    Attributes:
        word: the word, as its list has it.
        text: the sentence or sentences.
        spans: the (start, end) characters of each occurrence of the word in the text.
        document: the document of the text; of several, the first in alphabetical order.
    """

    word: str
    text: str
    spans: tuple[tuple[int, int], ...]
    document: str

    @property
    def place(self) -> "Place":
        """What a model's states are read of."""
        from curation.models.states import Place

        return Place(self.text, self.spans)


class Sample(NamedTuple):
    """Contexts of words.

    Attributes:
        contexts: the contexts of all words; those of the same text follow each other.
        found: how many contexts the corpus has of each word; words without any are left out.
    """

    contexts: list[Context]
    found: dict[str, int]


def draw(seed: int, *names: str) -> int:
    """A random number from 0 to 2⁶⁴ − 1 that follows from a seed and names.

    >>> draw(1, "baker", "a text") == draw(1, "baker", "a text") != draw(2, "baker", "a text")
    True
    """
    whole = "\0".join((str(seed), *names)).encode()
    return int.from_bytes(blake2b(whole, digest_size=8).digest(), "big")


def sample_contexts(
    paths: Sequence[Path],
    words: Sequence[str],
    *,
    most: int | None,
    seed: int,
    language: str = "en",
    window: int = 1,
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = None,
    tell: Callable[[int], None] = lambda _: None,
) -> Sample:
    """A random sample of the contexts of each word.

    Texts that are the same count once for a word: most of them are boilerplate.

    Args:
        paths: the files of the corpus.
        words: the words.
        most: the number of contexts of each word at most; None for all.
        seed: of the sample.
        language: of the texts.
        window: sentences of a context.
        field: the JSON field or Parquet column that has the text.
        engine: "local" or "ray".
        workers: how many processes read at once; by default one per processor.
        tell: called with the number of bytes of each shard that was read.

    Raises:
        CurationError: a file is missing, empty, damaged, or of an unknown type.
    """
    parts = shards(paths, language=language, field=field, workers=_PIECES, documents=True)
    work = partial(_of_shard, words=tuple(words), most=most, seed=seed, window=window)
    results = map_shards(
        work, parts, engine=engine, workers=workers, tell=lambda index: tell(parts[index].size)
    )
    kept: list[Context] = []
    found: dict[str, int] = {}
    for word in words:
        own = [result[word] for result in results if word in result]
        if own:
            found[word] = sum(counted for counted, _ in own)
            kept += _smallest((each for _, contexts in own for each in contexts), most, seed)
    return Sample(sorted(kept, key=lambda each: (each.text, each.word)), found)


def _of_shard(
    shard: Shard, *, words: tuple[str, ...], most: int | None, seed: int, window: int
) -> dict[str, tuple[int, list[Context]]]:
    """How many contexts of each word a shard has, and a sample of them."""
    spans: dict[str, dict[tuple[str, str], dict[tuple[int, int], None]]] = {}
    for each in mentions(shard, words, window=window):
        places = spans.setdefault(each.word, {}).setdefault((each.text, each.document), {})
        places[each.start, each.end] = None
    found = {}
    for word, own in spans.items():
        contexts = (
            Context(word, text, tuple(places), document) for (text, document), places in own.items()
        )
        found[word] = len(own), _smallest(contexts, most, seed)
    return found


def _smallest(contexts: Iterable[Context], most: int | None, seed: int) -> list[Context]:
    """The contexts with the smallest numbers, each text once."""
    texts: dict[str, Context] = {}
    for each in contexts:
        known = texts.get(each.text)
        if known is None or each.document < known.document:
            texts[each.text] = each
    if most is None or len(texts) <= most:
        return list(texts.values())
    return nsmallest(most, texts.values(), key=lambda each: draw(seed, each.word, each.text))
