"""Reviews and their sentiment, for training a classifier.

Files are read once. The texts are kept in an unnamed temporary file of the same size (set TMPDIR to
move it). Memory use is 25 bytes per review.
"""

import hashlib
import mmap
import tempfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.sentiments import TWO, Polarity, names_of
from curation.models.train.corpus import Numbers, Texts
from curation.models.train.review_files import Part, source
from curation.models.train.textfiles import described
from curation.text.wording import amount


@dataclass(frozen=True)
class Reviews(Texts):
    """Different reviews, by number.

    Attributes:
        numbers: the numbers of the reviews that are used, in order; the others were left out.
        classes: the class of each review in ``numbers``, as an index into ``names``.
        keys: a hash of the text of each review in ``numbers``.
        names: negative and positive, or negative, neutral and positive.
        files: name, sha256 and size in bytes of each file or folder.
        neutral: reviews left out because they are neither negative nor positive.
        unlabelled: files of a folder left out because they have no sentiment.
        repeated: reviews left out because the same text came before.
        contradictory: reviews left out because their text occurs with two sentiments.
        in_test: reviews left out because their text is in the test set.
        test: the test set, if there is one.
        identity: a sha256 that is the same for equal texts with equal classes, in any file format.
    """

    numbers: Numbers
    classes: NDArray[np.int8]
    keys: NDArray[np.uint64]
    names: tuple[Polarity, ...]
    files: list[dict[str, Any]]
    neutral: int
    unlabelled: int
    repeated: int
    contradictory: int
    in_test: int
    test: "Reviews | None"
    identity: str

    def counts(self, indices: Numbers) -> dict[str, int]:
        """The number of these reviews (indices into ``numbers``) in each class."""
        counts = np.bincount(self.classes[indices], minlength=len(self.names))
        return {name: int(count) for name, count in zip(self.names, counts, strict=True)}


def read_reviews(
    paths: Sequence[Path], *, classes: int = 2, part: Part = "train", test: Reviews | None = None
) -> Reviews:
    """Read reviews and their sentiment.

    A path is one of these:

    * A ``.jsonl`` file (an object per line), or a ``.csv`` or ``.tsv`` file (a header, then a row
      per review); each also compressed by gzip or bzip2. It has a column «text», «review» or
      «sentence», and one column with the sentiment. «label» or «sentiment» contains negative,
      neutral or positive, as ``polarity_of`` reads them; with two classes also 0 for negative and 1
      for positive. «stars» or «rating» contains 1 and 2 for negative, 3 for neutral, 4 and 5 for
      positive.
    * A folder with the folders «pos» and «neg» of text files; see ``review_files.source``.

    Args:
        paths: files and folders.
        classes: 2 leaves out neutral reviews and counts them; 3 makes them a class.
        part: the part to read, if a folder has a train and a test part.
        test: the test set of these reviews, read before; its texts are left out here and counted.

    Raises:
        CurationError: a path is not one of these; a file is empty or not text; a column is missing,
            a label is unknown or a row has no text (the error names file and line); a class has
            too few reviews.
    """
    names = names_of(classes)
    ends, labels, keys = array("q"), array("b"), array("Q")
    neutral = 0
    sources = [source(path, part) for path in paths]
    with tempfile.TemporaryFile() as store:
        for each in sources:
            for where, text, polarity in each.rows(names):
                if polarity not in names:
                    neutral += 1
                    continue
                if not text:
                    raise CurationError(f"{where}: has no text", "delete this review")
                data = text.encode("utf-8")
                store.write(data)
                ends.append((ends[-1] if ends else 0) + len(data))
                labels.append(names.index(polarity))
                keys.append(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()))
        if not keys:
            raise CurationError(
                f"{', '.join(map(str, paths))}: there is no review that is {' or '.join(names)}",
                "name a file of reviews with their sentiment",
            )
        store.flush()
        whole = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
    hashes, classes_of = np.frombuffer(keys, np.uint64), np.frombuffer(labels, np.int8)
    once, contradictory = _once(hashes, classes_of)
    own = once if test is None else once[~np.isin(hashes[once], test.keys)]
    identity = hashlib.sha256(hashes[own].tobytes() + classes_of[own].tobytes())
    if test is not None:
        identity.update(test.identity.encode())
    reviews = Reviews(
        ends=np.frombuffer(ends, np.int64),
        _text=whole,
        numbers=own,
        classes=classes_of[own],
        keys=hashes[own],
        names=names,
        files=[described(each.path, each.files) for each in sources],
        neutral=neutral,
        unlabelled=sum(each.unlabelled for each in sources),
        repeated=len(hashes) - len(once) - contradictory,
        contradictory=contradictory,
        in_test=len(once) - len(own),
        test=test,
        identity=identity.hexdigest(),
    )
    _check_classes(reviews, part)
    return reviews


def _check_classes(reviews: Reviews, part: Part) -> None:
    shared = part == "train" and reviews.test is None
    fix = "add one whose text is not in the test set"
    if shared:
        fix = "add reviews: at least two are needed, one to learn from and one held out"
    if len(reviews.names) > len(TWO):
        fix += "; if there are no neutral reviews, use --classes 2"
    for name, count in reviews.counts(np.arange(len(reviews.numbers))).items():
        if count < (2 if shared else 1):
            of = "test set" if part == "test" else "corpus"
            raise CurationError(
                f"the {of} has {amount(count, 'different review')} of the class «{name}»", fix
            )


def _once(keys: NDArray[Any], classes: NDArray[Any]) -> tuple[Numbers, int]:
    """The first review of each text, without contradictory ones; and the number of the latter."""
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    differs = np.zeros(len(first), bool)
    np.logical_or.at(differs, of, classes != classes[first][of])
    return np.sort(first[~differs]), int(differs[of].sum())


def divide(
    reviews: Reviews, *, share: float, seed: int, limit: int | None = None
) -> tuple[Numbers, Numbers]:
    """Split reviews into those to learn from and those held out: the test set, or a share.

    Each class has at least one review on either side.

    Args:
        reviews: the corpus.
        share: the share of each class that is held out, rounded; no effect if there is a test set.
        seed: the seed of the draw.
        limit: the largest number of reviews on either side; each class keeps its share.

    Returns:
        Indices into ``reviews.numbers`` to learn from; and held-out indices, into the numbers of
        the test set if there is one, else into the same. Both in order.
    """
    rng = np.random.default_rng([seed, 0])
    training = _shuffled(reviews, rng)
    if reviews.test is not None:
        held = _shuffled(reviews.test, rng)
    else:
        counts = [min(max(round(len(part) * share), 1), len(part) - 1) for part in training]
        held = [part[:count] for part, count in zip(training, counts, strict=True)]
        training = [part[count:] for part, count in zip(training, counts, strict=True)]
    return _limited(training, limit), _limited(held, limit)


def _shuffled(reviews: Reviews, rng: np.random.Generator) -> list[Numbers]:
    """The reviews of each class, in random order."""
    return [
        rng.permutation(np.flatnonzero(reviews.classes == index))
        for index in range(len(reviews.names))
    ]


def _limited(parts: Sequence[Numbers], limit: int | None) -> Numbers:
    """The reviews of all classes up to a limit: each class keeps its share, and at least one."""
    total = sum(map(len, parts))
    if limit is None or limit >= total:
        return np.sort(np.concatenate(parts))
    # Each class in its order is spread evenly from 0 to 1; the lowest of all classes are chosen.
    places = np.concatenate([np.arange(len(part)) / len(part) for part in parts])
    chosen = np.argsort(places, kind="stable")[: max(limit, len(parts))]
    return np.sort(np.concatenate(parts)[chosen])
