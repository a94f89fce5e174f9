"""Reviews and their sentiment, for training a classifier: tables, JSON lines and folders."""

import csv
import hashlib
import mmap
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from curation.files import CurationError
from curation.formats.packed import LONGEST, too_long
from curation.models.sentiments import TWO, Polarity, names_of, of_stars, polarity_of
from curation.models.train.corpus import Numbers, Texts, bare_name, described, lines, plain
from curation.records import Fields
from curation.text.wording import amount

Part = Literal["train", "test"]
Row = tuple[str, str, Polarity]
_TEXT, _LABEL, _STARS = ("text", "review", "sentence"), ("label", "sentiment"), ("stars", "rating")
_COLUMNS = f"{', '.join(_TEXT)} and {', '.join((*_LABEL, *_STARS))}"
_FORMS = ".jsonl, .csv or .tsv, or one of these compressed (.gz, .bz2)"
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".zip")
_FOLDERS: dict[str, Polarity] = {"neg": "negative", "pos": "positive"}
_NUMBERS: dict[str, Polarity] = {"0": "negative", "1": "positive"}
_FLOATS = ("0.0", "1.0")
_LONGEST = 1 << 24  # characters in a cell; Python's own limit is too low for long reviews


class Source(NamedTuple):
    """The files of one path of reviews.

    Attributes:
        path: the path as it was given.
        files: the file itself, or the files of a folder in their order.
        polarities: the sentiment of each file of a folder; empty for a table or JSON lines.
        unlabelled: the number of files without a sentiment, which are not read.
    """

    path: Path
    files: list[Path]
    polarities: list[Polarity]
    unlabelled: int = 0

    def rows(self, names: Sequence[Polarity]) -> Iterator[Row]:
        """The rows of all files.

        Args:
            names: the classes in use.

        Raises:
            CurationError: a file cannot be read; the error names file and line.
        """
        if not self.polarities:
            yield from _rows(self.path, names)
        for file, polarity in zip(self.files, self.polarities, strict=False):
            if file.stat().st_size > LONGEST:
                raise too_long(str(file), LONGEST)
            text = " ".join(line for _, line in lines(file, forms="text files"))
            yield str(file), plain(text), polarity


def source(path: Path, part: Part) -> Source:
    """Find the files of a path: one file of reviews, or a folder with a file per review.

    A folder has the folders ``pos`` and ``neg`` of ``.txt`` files, either directly or in ``train``
    and ``test``, as in aclImdb (Maas et al. 2011). ``neg`` comes first; files are sorted by name.
    Files in ``unsup`` have no sentiment; they are counted.

    Args:
        path: the file or folder.
        part: the part to read, if a folder has both.

    Raises:
        CurationError: the path does not exist; in a folder, pos or neg is missing or has no files.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such file or folder", "check the path")
    if not path.is_dir():
        return Source(path, [path], [])
    inside = path / part if (path / part).is_dir() else path
    files, polarities = list[Path](), list[Polarity]()
    for name, polarity in _FOLDERS.items():
        if not (inside / name).is_dir():
            raise CurationError(
                f"{inside}: has no folder «{name}»",
                "name a folder with «pos» and «neg» in it, such as aclImdb or aclImdb/train",
            )
        texts = sorted((inside / name).glob("*.txt"))
        if not texts:
            raise CurationError(
                f"{inside / name}: has no .txt file", "unpack the data set again, or check the path"
            )
        files += texts
        polarities += [polarity] * len(texts)
    return Source(path, files, polarities, sum(1 for _ in (inside / "unsup").glob("*.txt")))


def has_test(path: Path) -> bool:
    """Whether a path is a folder with a train and a test part, such as aclImdb."""
    return (path / "train").is_dir() and (path / "test").is_dir()


def _rows(path: Path, names: Sequence[Polarity]) -> Iterator[Row]:
    if path.name.lower().endswith(_ARCHIVES):
        raise CurationError(
            f"{path}: is an archive", "unpack it and name the folder, such as aclImdb"
        )
    kind = bare_name(path)
    if not kind.endswith((".jsonl", ".csv", ".tsv")):
        raise CurationError(
            f"{path}: the name is not that of a table or of JSON lines",
            f"use a file whose name ends in {_FORMS}",
        )
    for where, row in (_objects if kind.endswith(".jsonl") else _table)(path):
        text = _cell(where, row, _TEXT)
        named = [name for name in (*_LABEL, *_STARS) if row.get(name) is not None]
        if not named:
            raise _no_column(where, row, (*_LABEL, *_STARS))
        of = _of_label if named[0] in _LABEL else _of_stars
        yield where, plain(text), of(f"{where}, {named[0]}", row[named[0]], names)


def _objects(path: Path) -> Iterator[tuple[str, Fields]]:
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
                f"{where}: is not a JSON object",
                'write an object such as {"text": "…", "label": "positive"} on each line',
            )
        yield where, {_head(name): value for name, value in content.items()}


def _table(path: Path) -> Iterator[tuple[str, Fields]]:
    tabs = bare_name(path).endswith(".tsv")
    before = csv.field_size_limit(_LONGEST)
    try:
        head: list[str] = []
        last = read = 0

        def text_lines() -> Iterator[str]:
            nonlocal read
            for _, line in lines(path, forms=_FORMS):
                read += len(line)
                if read > 2 * _LONGEST:  # an open quotation mark, perhaps in many cells
                    raise CurationError(
                        f"{path} line {last + 1}: a row has over {2 * _LONGEST >> 20} MiB",
                        "check its quotation marks: one may be open",
                    )
                yield line

        table = csv.reader(text_lines(), delimiter="\t" if tabs else ",", strict=True)
        try:
            for cells in table:
                where, last, read = f"{path} line {last + 1}", table.line_num, 0
                if not any(cell.strip() for cell in cells):
                    continue
                if not head:
                    head = [_head(cell) for cell in cells]
                    _check_unique(where, head)
                    continue
                if len(cells) != len(head):
                    raise CurationError(
                        f"{where}: has {len(cells)} columns, but the header has {len(head)}",
                        "put texts with separators in quotes, and double the quotes inside them",
                    )
                yield where, dict(zip(head, cells, strict=True))
        except csv.Error as error:
            raise CurationError(
                f"{path} line {last + 1}: is not a row of a table: {error}",
                "put texts with separators in quotes, and double the quotes inside them",
            ) from None
    finally:
        csv.field_size_limit(before)


def _check_unique(where: str, head: Sequence[str]) -> None:
    for name in (*_TEXT, *_LABEL, *_STARS):
        if head.count(name) > 1:
            raise CurationError(
                f"{where}: has {head.count(name)} columns «{name}»", "rename all but one"
            )


def _head(name: str) -> str:
    return name.strip().lower()


def _cell(where: str, row: Fields, names: Sequence[str]) -> str:
    named = [name for name in names if row.get(name) is not None]
    if not named:
        raise _no_column(where, row, names)
    if not isinstance(row[named[0]], str):
        raise CurationError(f"{where}: {named[0]} is not text", "put it in quotes")
    return str(row[named[0]])


def _no_column(where: str, row: Fields, names: Sequence[str]) -> CurationError:
    there = ", ".join(f"«{name[:100]}»" for name in list(row)[:50]) or "missing"
    return CurationError(
        f"{where}: there is no column {' or '.join(f'«{name}»' for name in names)}; the columns "
        f"are {there}",
        f"use one of these names: {_COLUMNS}",
    )


def _of_label(where: str, value: Any, names: Sequence[Polarity]) -> Polarity:
    label = str(value).strip().lower() if isinstance(value, str | int | float) else "?"
    if label in _FLOATS:  # spreadsheets write floats if a column had an empty cell
        label = label.removesuffix(".0")
    if polarity := polarity_of(label):
        return polarity
    if label in _NUMBERS and not isinstance(value, bool):
        if len(names) == len(TWO):
            return _NUMBERS[label]
        raise CurationError(
            f"{where}: with three classes it is not clear what «{label}» means",
            f"write one of: {', '.join(names)}",
        )
    raise CurationError(
        f"{where}: unknown label {value!r}",
        "write negative, neutral or positive"
        + (", or 0 for negative and 1 for positive" if len(names) == len(TWO) else ""),
    )


def _of_stars(where: str, value: Any, names: Sequence[Polarity]) -> Polarity:
    try:
        stars = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        stars = float("nan")
    if stars not in (1, 2, 3, 4, 5):
        raise CurationError(f"{where}: {value!r} is not a number of stars", "write 1, 2, 3, 4 or 5")
    return of_stars(int(stars))


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
    files: list[Fields]
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
    * A folder with the folders «pos» and «neg» of text files; see ``source``.

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
