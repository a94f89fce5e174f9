"""A corpus of articles, and the pairs of sentences that a next-sentence head learns from.

A corpus is read once. Its sentences go to a temporary file without a name, as large as the text
(set TMPDIR to move it). Memory holds 8 bytes a sentence, 24 an article and about 60 a pair of an
epoch. Every epoch draws its own pairs; all draws come from seeds.
"""

import hashlib
import mmap
import tempfile
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.train.articles import article_files, articles
from curation.models.train.textfiles import described

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """Texts in a nameless file, by number.

    Attributes:
        ends: of each text, where it ends in bytes; it begins where the one before ends.
    """

    ends: Numbers
    _text: mmap.mmap

    def text(self, number: int) -> str:
        """A text."""
        start = int(self.ends[number - 1]) if number else 0
        return self._text[start : int(self.ends[number])].decode("utf-8")

    def sizes(self, numbers: Numbers) -> Numbers:
        """How long texts are, in bytes."""
        starts = np.where(numbers > 0, self.ends[numbers - 1], 0)
        return np.asarray(self.ends[numbers] - starts)


@dataclass(frozen=True)
class Corpus(Texts):
    """Sentences of articles, by number.

    Attributes:
        first: of each article, the number of its first sentence.
        after: of each article, the number after its last.
        files: name, sha256 and size in bytes of each file or folder.
        single: articles that were left out because they have fewer than two sentences.
        repeated: articles that were left out because an equal one came before.
        identity: the same for equal sentences in equal articles, whatever the files' form.
    """

    first: Numbers
    after: Numbers
    files: list[dict[str, Any]]
    single: int
    repeated: int
    identity: str

    @property
    def articles(self) -> int:
        """How many there are."""
        return len(self.first)

    @property
    def sentences(self) -> int:
        """How many there are."""
        return int((self.after - self.first).sum())

    def sentence(self, number: int) -> str:
        """A sentence's text."""
        return self.text(number)


class Pairs(NamedTuple):
    """First and second sentences by number, and whether the second comes next (1) or not (0)."""

    first: Numbers
    second: Numbers
    label: NDArray[np.int8]


# --- reading ------------------------------------------------------------------------------------


def read_corpus(
    paths: Sequence[Path],
    *,
    running: bool = False,
    field: str = "text",
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Corpus:
    """Read articles from files and folders.

    Args:
        paths: files that ``articles`` reads, and folders of them, which are read with their
            subfolders in sorted order.
        running: lines of ``.txt`` files are running text, and are split as well.
        field: the name of the text in JSON lines, and of its column in Parquet.
        tell: is called after each file with the bytes read so far and those of all files.

    Raises:
        CurationError: a file cannot be read, or a path has no article of two sentences; names file
            and line.
    """
    ends, firsts, keys = array("q"), array("q", [0]), array("Q")
    single = 0
    inside = [article_files(path) for path in paths]
    sizes = [[file.stat().st_size for file in files] for files in inside]
    done, total = 0, sum(map(sum, sizes))
    with tempfile.TemporaryFile() as store:
        for path, files, bytes_of in zip(paths, inside, sizes, strict=True):
            before = len(ends)
            for file, size in zip(files, bytes_of, strict=True):
                for article in articles(file, running=running, field=field):
                    if len(article) < 2:
                        single += 1
                        continue
                    key = hashlib.blake2b(digest_size=8)
                    for sentence in article:
                        data = sentence.encode("utf-8")
                        key.update(data + b"\n")
                        store.write(data)
                        ends.append((ends[-1] if ends else 0) + len(data))
                    firsts.append(len(ends))
                    keys.append(int.from_bytes(key.digest()))
                done += size
                tell(done, total)
            if len(ends) == before:
                raise CurationError(
                    f"{path}: no article of two sentences or more",
                    "write a sentence a line and an empty line between articles; for running text "
                    "in .txt files give --running-text",
                )
        store.flush()
        text = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
    # An article that comes twice could be in training and held out: keep the first, in order.
    once = np.sort(np.unique(np.frombuffer(keys, np.uint64), return_index=True)[1])
    bounds = np.frombuffer(firsts, np.int64)
    return Corpus(
        ends=np.frombuffer(ends, np.int64),
        first=bounds[:-1][once],
        after=bounds[1:][once],
        files=[described(path, files) for path, files in zip(paths, inside, strict=True)],
        single=single,
        repeated=len(keys) - len(once),
        identity=hashlib.sha256(np.frombuffer(keys, np.uint64)[once].tobytes()).hexdigest(),
        _text=text,
    )


# --- pairs --------------------------------------------------------------------------------------


def divide(
    corpus: Corpus, *, share: float, seed: int, held_pairs: int | None = None
) -> tuple[Numbers, Numbers]:
    """Articles to learn from, and articles held out: whole ones, at least two on either side.

    Args:
        corpus: the articles.
        share: the share of the articles that is held out; rounded.
        seed: of the draw.
        held_pairs: how many pairs the held-out articles must have; if given, ``share`` has no
            effect: articles are held out in the drawn order until they have so many.

    Raises:
        CurationError: fewer than four articles («not next» takes a sentence of another article), or
            too few to hold out so many pairs and keep two to learn from.
    """
    count = corpus.articles
    if count < 4:
        raise CurationError(
            f"the corpus has {count} different articles of two sentences or more",
            "at least four are needed: two to learn from and two held out",
        )
    drawn = np.random.default_rng([seed, 0]).permutation(count)
    if held_pairs is None:
        held = min(max(round(count * share), 2), count - 2)
    else:
        enough = np.cumsum(corpus.after[drawn] - corpus.first[drawn] - 1)
        held = max(int(np.searchsorted(enough, held_pairs)) + 1, 2)
        if held > count - 2:
            raise CurationError(
                f"{held_pairs} test pairs are too many: the corpus has {enough[-1]} pairs in "
                f"{count} articles, and two articles must be left to learn from",
                "lower --test-pairs, or name more files with --corpus",
            )
    return np.sort(drawn[held:]), np.sort(drawn[:held])


def pairs(
    corpus: Corpus, articles: Numbers, *, seed: Sequence[int], limit: int | None = None
) -> Pairs:
    """Pairs of sentences: in half of them the second follows, in half it is of another article.

    Each sentence but an article's last begins a pair. Which of them become «next» is drawn so that
    the halves are equal («next» has one more of an odd number); the others get a sentence drawn
    evenly from all other of these articles. ``limit`` sentences are chosen by the seed's first
    number alone, so that every epoch has the same.

    Args:
        corpus: the sentences.
        articles: by number; at least two.
        seed: first that of the whole, then what tells one draw from another.
        limit: the most pairs.
    """
    first, after = corpus.first[articles], corpus.after[articles]
    sizes = after - first
    before = np.concatenate(
        [[0], np.cumsum(sizes)]
    )  # of these articles' sentences, strung together
    strung = np.arange(before[-1]) + np.repeat(first - before[:-1], sizes)
    home = np.repeat(np.arange(len(articles)), sizes)
    begins = np.delete(np.arange(before[-1]), before[1:] - 1)
    if limit is not None and limit < len(begins):
        begins = np.sort(np.random.default_rng([seed[0], 1]).permutation(begins)[:limit])
    draw = np.random.default_rng([*seed, 2])
    label = np.zeros(len(begins), np.int8)
    label[draw.permutation(len(begins))[: (len(begins) + 1) // 2]] = 1
    own = home[begins]
    other = draw.integers(before[-1] - sizes[own])
    other += np.where(other >= before[own], sizes[own], 0)  # past the own article
    second = np.where(label == 1, begins + 1, other)
    return Pairs(strung[begins], strung[second], label)
