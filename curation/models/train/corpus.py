"""A corpus of articles, and the pairs of sentences that a next-sentence head learns from.

A corpus is read once. Its sentences are kept in an unnamed temporary file of the same size (set
TMPDIR to move it). Memory use is 8 bytes per sentence, 24 per article and about 60 per pair of an
epoch. Every epoch draws its own pairs; all draws depend on seeds.
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
from curation.text.wording import amount

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Texts:
    """Texts in an unnamed file, by number.

    Attributes:
        ends: the byte at which each text ends; it begins where the previous text ends.
    """

    ends: Numbers
    _text: mmap.mmap

    def text(self, number: int) -> str:
        """The text with this number."""
        start = int(self.ends[number - 1]) if number else 0
        return self._text[start : int(self.ends[number])].decode("utf-8")

    def sizes(self, numbers: Numbers) -> Numbers:
        """The lengths of texts in bytes."""
        starts = np.where(numbers > 0, self.ends[numbers - 1], 0)
        return np.asarray(self.ends[numbers] - starts)


@dataclass(frozen=True)
class Corpus(Texts):
    """Sentences of articles, by number.

    Attributes:
        first: the number of the first sentence of each article.
        after: the number after the last sentence of each article.
        files: name, sha256 and size in bytes of each file or folder.
        single: articles left out because they have fewer than two sentences.
        repeated: articles left out because an equal article came before.
        identity: a sha256 that is the same for equal sentences in equal articles, in any file
            format.
    """

    first: Numbers
    after: Numbers
    files: list[dict[str, Any]]
    single: int
    repeated: int
    identity: str

    @property
    def articles(self) -> int:
        """The number of articles."""
        return len(self.first)

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return int((self.after - self.first).sum())

    def sentence(self, number: int) -> str:
        """The sentence with this number."""
        return self.text(number)


class Pairs(NamedTuple):
    """First and second sentences by number; the label is 1 if the second comes next, else 0."""

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
        paths: files that ``articles`` reads, and folders of such files, which are read with their
            subfolders in sorted order.
        running: lines of ``.txt`` files are running text, and are split into sentences.
        field: the name of the text in JSON lines, and of its column in Parquet.
        tell: called after each file with the bytes read so far, and with the bytes of all files.

    Raises:
        CurationError: a file cannot be read, or a path has no article of at least two sentences;
            the error names file and line.
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
                    f"{path}: there is no article of at least two sentences",
                    "write one sentence per line and an empty line between articles; if .txt files "
                    "contain running text, give --running-text",
                )
        store.flush()
        text = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
    # A repeated article could be both in training and held out, so only the first is kept.
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
    """Split the articles into those to learn from and those held out, at least two on either side.

    Args:
        corpus: the articles.
        share: the share of the articles that is held out, rounded.
        seed: the seed of the draw.
        held_pairs: how many pairs the held-out articles must have. If given, ``share`` has no
            effect, and articles are held out in random order until they have this many pairs.

    Returns:
        The numbers of the articles to learn from, and of those held out, each in order.

    Raises:
        CurationError: there are fewer than four articles (a pair with the label «not next» needs a
            sentence of another article), or too few for this number of held-out pairs and two
            articles to learn from.
    """
    count = corpus.articles
    if count < 4:
        raise CurationError(
            f"the corpus has {amount(count, 'different article')} of at least two sentences",
            "add articles: at least four are needed, two to learn from and two held out",
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
                f"{count} articles, and at least two articles are needed to learn from",
                "lower --test-pairs, or name more files with --corpus",
            )
    return np.sort(drawn[held:]), np.sort(drawn[:held])


def pairs(
    corpus: Corpus, articles: Numbers, *, seed: Sequence[int], limit: int | None = None
) -> Pairs:
    """Pairs of sentences. In half of them the second comes next, in half it is not of the article.

    Each sentence except the last of an article is the first one of a pair. A random half of the
    pairs gets the label «next» (of an odd number, one more than half). The second sentence of the
    others is drawn from all other articles, each sentence with equal probability. With ``limit``,
    the first sentences are chosen by the first number of the seed only, so every epoch has the
    same.

    Args:
        corpus: the sentences.
        articles: the numbers of at least two articles.
        seed: the seed of the training, then a number that differs from draw to draw.
        limit: the largest number of pairs.
    """
    first, after = corpus.first[articles], corpus.after[articles]
    sizes = after - first
    # The sentences of these articles are numbered from 0 on, one article after the other.
    before = np.concatenate([[0], np.cumsum(sizes)])
    numbers = np.arange(before[-1]) + np.repeat(first - before[:-1], sizes)
    home = np.repeat(np.arange(len(articles)), sizes)
    begins = np.delete(np.arange(before[-1]), before[1:] - 1)
    if limit is not None and limit < len(begins):
        begins = np.sort(np.random.default_rng([seed[0], 1]).permutation(begins)[:limit])
    rng = np.random.default_rng([*seed, 2])
    label = np.zeros(len(begins), np.int8)
    label[rng.permutation(len(begins))[: (len(begins) + 1) // 2]] = 1
    own = home[begins]
    other = rng.integers(before[-1] - sizes[own])
    other += np.where(other >= before[own], sizes[own], 0)  # skips the article itself
    second = np.where(label == 1, begins + 1, other)
    return Pairs(numbers[begins], numbers[second], label)
