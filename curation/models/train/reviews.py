"""Reviews and the sentiment of each, for training a classifier.

Files are read once. Texts go to a temporary file without a name, as large as the text (set TMPDIR
to move it); memory holds 25 bytes a review.
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
from curation.models.sentiments import TWO, Sort, names_of
from curation.models.train.corpus import Numbers, Texts
from curation.models.train.review_files import Part, source
from curation.models.train.textfiles import described


@dataclass(frozen=True)
class Reviews(Texts):
    """Different reviews, by number.

    Attributes:
        numbers: of the reviews, in order; others were left out.
        classes: of each review in ``numbers``, its class as an index into ``names``.
        keys: of each review in ``numbers``, a hash of its text.
        names: negative and positive, or with neutral between them.
        files: name, sha256 and size in bytes of each file or folder.
        neutral: reviews that were left out because they are neither negative nor positive.
        unlabelled: files of a folder that were left out because they have no sentiment.
        repeated: reviews that were left out because the same text came before.
        contradictory: reviews that were left out because their text comes with two sentiments.
        in_test: reviews that were left out because the test set has their text.
        test: the test set, if there is one.
        identity: the same for equal texts with equal classes, whatever the files' form.
    """

    numbers: Numbers
    classes: NDArray[np.int8]
    keys: NDArray[np.uint64]
    names: tuple[Sort, ...]
    files: list[dict[str, Any]]
    neutral: int
    unlabelled: int
    repeated: int
    contradictory: int
    in_test: int
    test: "Reviews | None"
    identity: str

    def counts(self, those: Numbers) -> dict[str, int]:
        """How many of these reviews (indices of ``numbers``) each class has."""
        found = np.bincount(self.classes[those], minlength=len(self.names))
        return {name: int(count) for name, count in zip(self.names, found, strict=True)}


def read_reviews(
    paths: Sequence[Path], *, classes: int = 2, part: Part = "train", test: Reviews | None = None
) -> Reviews:
    """Read reviews and their sentiment.

    Args:
        paths: ``.jsonl`` (an object a line), ``.csv`` or ``.tsv`` (a header, then a row a review),
            each also packed by gzip or bzip2. They have a column «text», «review» or «sentence»,
            and one of «label» or «sentiment» (negative, neutral, positive, as ``sort_of`` reads
            them; with two classes also 0 for negative and 1 for positive) or of «stars» or
            «rating» (1 and 2 are negative, 3 is neutral, 4 and 5 are positive). Or folders with
            the folders «pos» and «neg» of text files, as ``review_files.source`` says.
        classes: 2 leaves out neutral reviews, and counts them; 3 makes them a class.
        part: of folders that have a train and a test part, the one to read.
        test: the test set of these reviews, read before; its texts are left out here, and counted.

    Raises:
        CurationError: a path is none of these, a file is empty or not text; a column is missing, a
            label is unknown, a row has no text (names file and line); a class has too few reviews.
    """
    names = names_of(classes)
    ends, sorts, keys = array("q"), array("b"), array("Q")
    neutral = 0
    sources = [source(path, part) for path in paths]
    with tempfile.TemporaryFile() as store:
        for one in sources:
            for where, text, sort in one.rows(names):
                if sort not in names:
                    neutral += 1
                    continue
                if not text:
                    raise CurationError(f"{where}: has no text", "leave it out")
                data = text.encode("utf-8")
                store.write(data)
                ends.append((ends[-1] if ends else 0) + len(data))
                sorts.append(names.index(sort))
                keys.append(int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()))
        if not keys:
            raise CurationError(
                f"{', '.join(map(str, paths))}: no review that is {' or '.join(names)}",
                "name a file of reviews with their sentiment",
            )
        store.flush()
        whole = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
    every, found = np.frombuffer(keys, np.uint64), np.frombuffer(sorts, np.int8)
    once, contradictory = _once(every, found)
    own = once if test is None else once[~np.isin(every[once], test.keys)]
    identity = hashlib.sha256(every[own].tobytes() + found[own].tobytes())
    if test is not None:
        identity.update(test.identity.encode())
    reviews = Reviews(
        ends=np.frombuffer(ends, np.int64),
        _text=whole,
        numbers=own,
        classes=found[own],
        keys=every[own],
        names=names,
        files=[described(one.path, one.files) for one in sources],
        neutral=neutral,
        unlabelled=sum(one.unlabelled for one in sources),
        repeated=len(every) - len(once) - contradictory,
        contradictory=contradictory,
        in_test=len(once) - len(own),
        test=test,
        identity=identity.hexdigest(),
    )
    _check_classes(reviews, part)
    return reviews


def _check_classes(reviews: Reviews, part: Part) -> None:
    shared = part == "train" and reviews.test is None
    fix = "one is needed, and the test set must not have its text"
    if shared:
        fix = "at least two are needed: one to learn from and one held out"
    if len(reviews.names) > len(TWO):
        fix += "; without neutral reviews take --classes 2"
    for name, count in reviews.counts(np.arange(len(reviews.numbers))).items():
        if count < (2 if shared else 1):
            of = "test set" if part == "test" else "corpus"
            several = "review" if count == 1 else "reviews"
            raise CurationError(
                f"the {of} has {count} different {several} of the class «{name}»", fix
            )


def _once(keys: NDArray[Any], sorts: NDArray[Any]) -> tuple[Numbers, int]:
    """The first of each text, those with two classes left out; how many reviews these are."""
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    differs = np.zeros(len(first), bool)
    np.logical_or.at(differs, of, sorts != sorts[first][of])
    return np.sort(first[~differs]), int(differs[of].sum())


def divide(
    reviews: Reviews, *, share: float, seed: int, limit: int | None = None
) -> tuple[Numbers, Numbers]:
    """Reviews to learn from and reviews held out: the test set, or a share of each class.

    Each class has at least one on either side.

    Args:
        reviews: the corpus.
        share: the share of each class that is held out, rounded; no effect where there is a test
            set.
        seed: of the draw.
        limit: the most on either side; each class has its share of them.

    Returns:
        Indices of ``reviews.numbers``; and of those of the test set, or else of the same. In order.
    """
    draw = np.random.default_rng([seed, 0])
    learnt = _drawn(reviews, draw)
    if reviews.test is not None:
        held = _drawn(reviews.test, draw)
    else:
        counts = [min(max(round(len(those) * share), 1), len(those) - 1) for those in learnt]
        held = [those[:count] for those, count in zip(learnt, counts, strict=True)]
        learnt = [those[count:] for those, count in zip(learnt, counts, strict=True)]
    return _some(learnt, limit), _some(held, limit)


def _drawn(reviews: Reviews, draw: np.random.Generator) -> list[Numbers]:
    """The reviews of each class, in a drawn order."""
    return [
        draw.permutation(np.flatnonzero(reviews.classes == sort))
        for sort in range(len(reviews.names))
    ]


def _some(sides: Sequence[Numbers], limit: int | None) -> Numbers:
    """As many of each class as its share of the limit, at least one."""
    total = sum(map(len, sides))
    if limit is None or limit >= total:
        return np.sort(np.concatenate(sides))
    # Each class in its drawn order is spread evenly from 0 to 1; the first ones of all are taken.
    places = np.concatenate([np.arange(len(part)) / len(part) for part in sides])
    chosen = np.argsort(places, kind="stable")[: max(limit, len(sides))]
    return np.sort(np.concatenate(sides)[chosen])
