"""Reviews and the sentiment of each, from which a classifier learns.

Files are read once. Texts go to a nameless file among the system's temporary ones (the variable
TMPDIR moves it), as large as the text; memory holds 17 bytes a review.
"""

import csv
import hashlib
import mmap
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from curation.files import CurationError, digest
from curation.models.corpus import Numbers, Texts, lines, plain
from curation.models.sentiments import TWO, Sort, names_of, of_stars, sort_of

_TEXT, _LABEL, _STARS = ("text", "review", "sentence"), ("label", "sentiment"), ("stars", "rating")
_COLUMNS = f"{', '.join(_TEXT)} and {', '.join((*_LABEL, *_STARS))}"
_FORMS = ".jsonl, .csv or .tsv, or one of these packed by gzip (.gz)"
_NUMBERS: dict[str, Sort] = {"0": "negative", "1": "positive"}
_FLOATS = ("0.0", "1.0")
_LEAST = 2  # reviews of a class: one to learn from, one held out
_LONGEST = 1 << 24  # characters of a cell; Python's own limit is far below what people write


@dataclass(frozen=True)
class Reviews(Texts):
    """Different reviews, by number.

    Attributes:
        numbers: of the reviews, in order; others were left out.
        classes: of each review in ``numbers``, its class as an index into ``names``.
        names: negative and positive, or with neutral between them.
        files: name, sha256 and size in bytes of each file.
        neutral: reviews that were left out because they are neither negative nor positive.
        repeated: reviews that were left out because they stand there already.
        contradictory: reviews that were left out because their text has another sentiment, too.
        identity: tells these texts with these classes from others, however they were read.
    """

    numbers: Numbers
    classes: NDArray[np.int8]
    names: tuple[Sort, ...]
    files: list[dict[str, Any]]
    neutral: int
    repeated: int
    contradictory: int
    identity: str

    def counts(self, those: Numbers) -> dict[str, int]:
        """How many of these reviews (indices of ``numbers``) each class has."""
        found = np.bincount(self.classes[those], minlength=len(self.names))
        return {name: int(count) for name, count in zip(self.names, found, strict=True)}


def read_reviews(paths: Sequence[Path], *, classes: int = 2) -> Reviews:
    """Read reviews and their sentiment.

    Args:
        paths: ``.jsonl`` (an object a line), ``.csv`` or ``.tsv`` (a head, then a row a review),
            each also packed by gzip. They have a column «text», «review» or «sentence», and one of
            «label» or «sentiment» (negative, neutral, positive, as ``sort_of`` reads them; in the
            two-class form also 0 for negative and 1 for positive) or of «stars» or «rating» (1 and
            2 are negative, 3 is neutral, 4 and 5 are positive).
        classes: 2 leaves out what is neutral, and counts it; 3 makes it a class.

    Raises:
        CurationError: a file is none of these, empty or no text; a column lacks, a label is
            unknown, a row has no text (names file and line); a class has fewer than two reviews.
    """
    names = names_of(classes)
    ends, sorts, keys = array("q"), array("b"), array("Q")
    neutral = 0
    with tempfile.TemporaryFile() as store:
        for path in paths:
            for where, text, sort in _rows(path, names):
                if sort not in names:
                    neutral += 1
                    continue
                if not text:
                    raise CurationError(f"{where}: has no text", "leave this row out")
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
    files = [
        {"file": path.name, "sha256": digest(path), "bytes": path.stat().st_size} for path in paths
    ]
    every, found = np.frombuffer(keys, np.uint64), np.frombuffer(sorts, np.int8)
    once, contradictory = _once(every, found)
    identity = hashlib.sha256(every[once].tobytes() + found[once].tobytes())
    reviews = Reviews(
        ends=np.frombuffer(ends, np.int64),
        _text=whole,
        numbers=once,
        classes=found[once],
        names=names,
        files=files,
        neutral=neutral,
        repeated=len(every) - len(once) - contradictory,
        contradictory=contradictory,
        identity=identity.hexdigest(),
    )
    for name, count in reviews.counts(np.arange(len(once))).items():
        if count < _LEAST:
            raise CurationError(
                f"the corpus has {count} different {'review' if count == 1 else 'reviews'} "
                f"of the class «{name}»",
                "at least two are needed: one to learn from and one held out"
                + ("" if classes == len(TWO) else "; without neutral reviews take --classes 2"),
            )
    return reviews


def _once(keys: NDArray[Any], sorts: NDArray[Any]) -> tuple[Numbers, int]:
    """The first of each text, those with two classes left out; how many reviews these are."""
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    differs = np.zeros(len(first), bool)
    np.logical_or.at(differs, of, sorts != sorts[first][of])
    return np.sort(first[~differs]), int(differs[of].sum())


def divide(
    reviews: Reviews, *, share: float, seed: int, limit: int | None = None
) -> tuple[Numbers, Numbers]:
    """Reviews to learn from and reviews held out, drawn within each class.

    Each class has at least one on either side.

    Args:
        reviews: the corpus.
        share: of each class, held out; rounded.
        seed: of the draw.
        limit: the most on either side; each class has its share of them.

    Returns:
        Indices of ``reviews.numbers``, in order.
    """
    draw = np.random.default_rng([seed, 0])
    learnt, held = [], []
    for sort in range(len(reviews.names)):
        those = draw.permutation(np.flatnonzero(reviews.classes == sort))
        count = min(max(round(len(those) * share), 1), len(those) - 1)
        held.append(those[:count])
        learnt.append(those[count:])
    return _some(learnt, limit), _some(held, limit)


def _some(sides: Sequence[Numbers], limit: int | None) -> Numbers:
    """As many of each class as its share of the limit, at least one."""
    total = sum(map(len, sides))
    if limit is None or limit >= total:
        return np.sort(np.concatenate(sides))
    # Each class in its drawn order is spread evenly from 0 to 1; the first ones of all are taken.
    places = np.concatenate([np.arange(len(part)) / len(part) for part in sides])
    chosen = np.argsort(places, kind="stable")[: max(limit, len(sides))]
    return np.sort(np.concatenate(sides)[chosen])


# --- files --------------------------------------------------------------------------------------


def _rows(path: Path, names: Sequence[Sort]) -> Iterator[tuple[str, str, Sort]]:
    """Where a row stands, its text and its sentiment."""
    kind = path.name.lower().removesuffix(".gz")
    if not kind.endswith((".jsonl", ".csv", ".tsv")):
        raise CurationError(
            f"{path}: neither a table nor JSON lines by its name", f"name it {_FORMS}"
        )
    for where, row in (_objects if kind.endswith(".jsonl") else _table)(path):
        text = _cell(where, row, _TEXT)
        named = [name for name in (*_LABEL, *_STARS) if row.get(name) is not None]
        if not named:
            raise _no_column(where, row, (*_LABEL, *_STARS))
        of = _of_label if named[0] in _LABEL else _of_stars
        yield where, plain(text), of(f"{where}, {named[0]}", row[named[0]], names)


def _objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in lines(path, forms=_FORMS):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            content = orjson.loads(line)
        except orjson.JSONDecodeError:
            content = None
        if not isinstance(content, dict):
            raise CurationError(
                f"{where}: no JSON object", 'write {"text": "…", "label": "positive"} a line'
            )
        yield where, {_head(name): value for name, value in content.items()}


def _table(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    before = csv.field_size_limit(_LONGEST)
    try:
        numbered = (line for _, line in lines(path, forms=_FORMS))
        table = csv.reader(numbered, delimiter="\t" if tabs else ",", strict=True)
        head: list[str] = []
        last = 0
        try:
            for cells in table:
                where, last = f"{path} line {last + 1}", table.line_num
                if not any(cell.strip() for cell in cells):
                    continue
                if not head:
                    head = [_head(cell) for cell in cells]
                    _see_once(where, head)
                    continue
                if len(cells) != len(head):
                    raise CurationError(
                        f"{where}: has {len(cells)} columns, the head has {len(head)}",
                        "put quotes around texts with separators, and double quotes inside them",
                    )
                yield where, dict(zip(head, cells, strict=True))
        except csv.Error as error:
            raise CurationError(
                f"{path} line {last + 1}: no row of a table: {error}",
                "put quotes around texts with separators, and double quotes inside them",
            ) from None
    finally:
        csv.field_size_limit(before)


def _see_once(where: str, head: Sequence[str]) -> None:
    for name in (*_TEXT, *_LABEL, *_STARS):
        if head.count(name) > 1:
            raise CurationError(
                f"{where}: has {head.count(name)} columns «{name}»", "give all but one another name"
            )


def _head(name: str) -> str:
    return name.strip().lower()


def _cell(where: str, row: dict[str, Any], names: Sequence[str]) -> str:
    named = [name for name in names if row.get(name) is not None]
    if not named:
        raise _no_column(where, row, names)
    if not isinstance(row[named[0]], str):
        raise CurationError(f"{where}: {named[0]} is no text", "write it in quotes")
    return str(row[named[0]])


def _no_column(where: str, row: dict[str, Any], names: Sequence[str]) -> CurationError:
    there = ", ".join(f"«{name}»" for name in row) or "none"
    return CurationError(
        f"{where}: no column {' or '.join(f'«{name}»' for name in names)}; there are {there}",
        f"the columns that are read are {_COLUMNS}",
    )


def _of_label(where: str, value: Any, names: Sequence[Sort]) -> Sort:
    said = str(value).strip().lower() if isinstance(value, str | int | float) else "?"
    if said in _FLOATS:  # as tables are written that had an empty cell once
        said = said.removesuffix(".0")
    if sort := sort_of(said):
        return sort
    if said in _NUMBERS and not isinstance(value, bool):
        if len(names) == len(TWO):
            return _NUMBERS[said]
        raise CurationError(
            f"{where}: «{said}» may stand for more than one of three classes",
            f"write one of {', '.join(names)}",
        )
    raise CurationError(
        f"{where}: unknown label {value!r}",
        "write negative, neutral or positive"
        + (", or 0 for negative and 1 for positive" if len(names) == len(TWO) else ""),
    )


def _of_stars(where: str, value: Any, names: Sequence[Sort]) -> Sort:
    try:
        stars = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        stars = float("nan")
    if stars not in (1, 2, 3, 4, 5):
        raise CurationError(f"{where}: {value!r} stars", "write a whole number from 1 to 5")
    return of_stars(int(stars))
