"""Read reviews from tables, JSON lines, and folders such as those of the Large Movie Review data.

A row consists of the place where it was read, the text, and its sentiment.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from curation.files import CurationError
from curation.formats.packed import LONGEST, too_long
from curation.models.sentiments import TWO, Polarity, of_stars, polarity_of
from curation.models.train.textfiles import bare_name, lines, plain

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
                f"{where}: is not a JSON object",
                'write an object such as {"text": "…", "label": "positive"} on each line',
            )
        yield where, {_head(name): value for name, value in content.items()}


def _table(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
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


def _cell(where: str, row: dict[str, Any], names: Sequence[str]) -> str:
    named = [name for name in names if row.get(name) is not None]
    if not named:
        raise _no_column(where, row, names)
    if not isinstance(row[named[0]], str):
        raise CurationError(f"{where}: {named[0]} is not text", "put it in quotes")
    return str(row[named[0]])


def _no_column(where: str, row: dict[str, Any], names: Sequence[str]) -> CurationError:
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
