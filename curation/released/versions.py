"""Reads what two versions of a dataset are compared by: a release folder, or a file of CATs.

A reader stops at the first fault, with an error.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from curation.catsets.content import read_parts
from curation.catsets.entries import MADE, Row, is_hidden, sentences_of
from curation.catsets.stereoset import read_gold_file
from curation.files import CurationError, read_bytes, read_json, read_text
from curation.formats.tables import read_json_lines
from curation.kinds import CAT_KINDS, ITEMS, Kind, find_item_kind
from curation.records import SplitName
from curation.released.commitments import public_rows
from curation.released.contents import (
    FACTS,
    SEALED,
    STEREOSET,
    TERMS,
    PublishedCat,
    SealedCat,
    TermKey,
    Version,
    published,
    split_of,
)
from curation.released.seen import from_item

_PLACES = ("*.parquet", "*/*.parquet", "*.json", "*.jsonl", "*.json.gz", "*.jsonl.gz", "*.csv",
           "cats/*.jsonl", "data/*.json*", "data/*.csv")  # fmt: skip


def data_files(folder: Path) -> list[Path]:
    """The files of a folder that have its CATs.

    These are ``dev.json`` and ``test.json``. If there is neither, they are the files of one format
    whose names say a split, such as ``intrasentence/validation-00000-of-00001.parquet``.
    """
    own = [folder / name for name in STEREOSET if os.path.lexists(folder / name)]
    if not own and os.path.lexists(folder / FACTS):  # a release that StereoSet's format cannot have
        own = [path for kind in CAT_KINDS for path in sorted(folder.glob(f"{kind}/*.parquet"))]
    others = ([p for p in sorted(folder.glob(each)) if split_of(p)] for each in _PLACES)
    return own or next(filter(None, others), [])


def read_version(path: Path, *, name: str = "") -> Version:
    """A release's folder, or a file of CATs.

    Args:
        path: the folder or the file.
        name: what messages call it; by default, the name of the folder or file.

    Raises:
        CurationError: there is nothing at the path; the folder has no files of CATs; a file is
            damaged; or an id is in two of them.
    """
    is_folder = path.is_dir()
    if not (files := data_files(path) if is_folder else [path]):
        raise CurationError(
            f"{path}: is not a release: it has no dev.json or test.json, and no other file of CATs "
            "whose name says dev, validation or test",
            "name the folder of a release, or a file of CATs",
        )
    cats: list[PublishedCat] = []
    place: dict[tuple[bool, str], Path] = {}  # of ids of CATs, and of those of sentences
    with_ids = []
    for file in files:
        own, has_ids = _cats(file, split_of(file) or "test")
        with_ids.append(has_ids)
        for cat in own:
            for key in ((True, cat.id), *((False, option.id) for option in cat.options)):
                if key in place:
                    raise CurationError(
                        f"{file}: the id {key[1]} of CAT {cat.id} is already used in {place[key]}",
                        "make ids unique in a version: delete what is there twice",
                    )
                place[key] = file
        cats += own
    terms = path / TERMS
    sealed = read_commitments(path) if is_folder and os.path.lexists(path / SEALED) else []
    return Version(
        name or path.resolve().name,
        tuple(cats),
        _term_ids(terms) if is_folder and os.path.lexists(terms) else None,
        is_folder or split_of(path) is not None,
        all(with_ids),
        tuple(SealedCat(**row) for row in sealed),
    )


def read_commitments(folder: Path) -> list[dict[str, Any]]:
    """The hidden CATs of a release's folder, as rows for ``commitments.verify``.

    Args:
        folder: the folder; ``sealed.jsonl`` or ``test.json`` has the commitments.

    Raises:
        CurationError: there is neither file, or it is damaged.
    """
    path, fix = folder / SEALED, "put back the folder as it was published"
    if not os.path.lexists(path):
        path = folder / STEREOSET[1]
        try:
            return public_rows(read_json(path))
        except ValueError as error:
            raise CurationError(f"{path}: {error}", fix) from None
    rows = []
    for number, row in read_json_lines(read_text(path), path):
        if row.keys() != set(SealedCat._fields) or not all(
            isinstance(v, str) for v in row.values()
        ):
            raise CurationError(f"{path} line {number}: is not a sealed CAT", fix)
        rows.append(row)
    return rows


def _cats(path: Path, split: SplitName) -> tuple[list[PublishedCat], bool]:
    """The CATs of a file, and whether they have ids."""
    own = find_item_kind(path.parent.name)
    try:
        if own and path.suffix == ".parquet" and os.path.lexists(path.parents[1] / FACTS):
            return [
                _read_as_it_is(row, own.name, split, part.classes)
                for part in read_parts(path)[0]
                for row in part.rows
            ], True
        content = read_parts(path) if path.suffix.lower() == ".json" else None
        if content and all(part.whole for part in content[0]):
            items = [(part.kind, row) for part in content[0] for row in part.rows if part.kind]
            labels = (s.get("gold_label") for _, row in items for s in sentences_of(row.values))
            if any(map(is_hidden, labels)):
                return [_read_as_it_is(row, kind, split) for kind, row in items], True
        file = read_gold_file(path, content)
    except CurationError as error:
        if str(path) in error.what:
            raise
        # Both versions may have a file of this name.
        raise CurationError(f"{path.parent}: {error.what}", error.fix) from None
    has_ids = not any(note.endswith(MADE) for note in file.notes)
    return [published(cat)._replace(split=split) for cat in file.cats], has_ids


def _term_ids(path: Path) -> dict[TermKey, str]:
    """The ids of terms by domain and text."""
    if not read_bytes(path).strip():
        return {}
    ids: dict[TermKey, str] = {}
    for number, row in read_json_lines(read_text(path), path):
        if missing := [k for k in ("id", "domain", "text") if not isinstance(row.get(k), str)]:
            raise CurationError(
                f"{path} line {number}, field {missing[0]!r}: is not a text",
                "restore the file, or delete it: terms are then compared by their texts",
            )
        ids[row["domain"], row["text"]] = row["id"]
    return ids


def _read_as_it_is(
    row: Row,
    kind: Kind,
    split: SplitName,
    classes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> PublishedCat:
    """A CAT whose gold labels are hidden, or all there; arguments as of ``from_item``."""
    cat = from_item(row.values, kind, "", split, classes)._replace(fields=frozenset())
    golds = {option.gold for option in cat.options}
    has_ids = all(option.id for option in cat.options)
    if not (cat.complete and has_ids and (golds == {None} or cat.whole)):
        raise CurationError(
            f"{row.where} (id {cat.id[:60]}): not a CAT with {ITEMS[kind].size} sentences; "
            "their gold labels must be hidden, or one of each",
            "restore the file: build the release again, or download it again",
        )
    options = tuple(option._replace(labels=()) for option in cat.options)
    return cat._replace(options=options, tier=cat.tier if type(cat.tier) is int else None)
