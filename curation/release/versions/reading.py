"""Reads a version of a dataset to compare it: a release's folder, or a file in any known layout."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from curation.catsets.content import read_parts
from curation.catsets.entries import HIDDEN, MADE, is_hidden, sentences_of
from curation.catsets.stereoset import read_gold_file
from curation.files import CurationError, read_bytes, read_json, read_text
from curation.formats.tables import read_json_lines
from curation.records import GOLDS, Kind, SplitName
from curation.release.contents import PublishedCat, PublishedOption, SealedCat, published
from curation.release.hidden.commitments import public_rows
from curation.release.layout import SEALED, STEREOSET, TERMS, split_of
from curation.release.versions.diff import TermKey, Version
from curation.text.rules import read_label

_PLACES = ("*.parquet", "*/*.parquet", "*.json", "*.jsonl", "*.json.gz", "*.jsonl.gz", "*.csv",
           "cats/*.jsonl", "data/*.json*", "data/*.csv")  # fmt: skip


def data_files(folder: Path) -> list[Path]:
    """The files of a folder that have its CATs.

    These are ``dev.json`` and ``test.json``. If there is neither, they are the files of one format
    whose names say a split, such as ``intrasentence/validation-00000-of-00001.parquet``.
    """
    own = [folder / name for name in STEREOSET if os.path.lexists(folder / name)]
    if own:
        return own
    for pattern in _PLACES:
        files = [path for path in sorted(folder.glob(pattern)) if split_of(path)]
        if files:
            return files
    return []


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
    files = data_files(path) if is_folder else [path]
    if not files:
        raise CurationError(
            f"{path}: is not a release: it has no dev.json or test.json, and no other file of CATs "
            "whose name says dev, validation or test",
            "name the folder of a release, or a file of CATs",
        )
    cats: list[PublishedCat] = []
    place: dict[str, Path] = {}
    every = True
    for file in files:
        own, has_ids = _cats(file, split_of(file) or "test")
        every = every and has_ids
        for cat in own:
            for id in (cat.id, *(option.id for option in cat.options)):
                if id in place:
                    raise CurationError(
                        f"{file}: the id {id} of CAT {cat.id} is already used in {place[id]}",
                        "make ids unique in a version: delete what is there twice",
                    )
                place[id] = file
        cats += own
    terms = path / TERMS
    sealed = committed(path) if is_folder and os.path.lexists(path / SEALED) else []
    return Version(
        name or path.resolve().name,
        tuple(cats),
        _terms(terms) if is_folder and os.path.lexists(terms) else None,
        is_folder or split_of(path) is not None,
        every,
        tuple(SealedCat(**row) for row in sealed),
    )


def committed(folder: Path) -> list[dict[str, Any]]:
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
    try:
        hidden = _hidden_items(path)
        if hidden is not None:
            return [_hidden(where, kind, item, split) for kind, where, item in hidden], True
        file = read_gold_file(path)
    except CurationError as error:
        if str(path) in error.what:
            raise
        # Both versions may have a file of this name.
        raise CurationError(f"{path.parent}: {error.what}", error.fix) from None
    has_ids = not any(note.endswith(MADE) for note in file.notes)
    return [published(cat)._replace(split=split) for cat in file.cats], has_ids


def _terms(path: Path) -> dict[TermKey, str]:
    """The ids of terms by domain and text."""
    if not read_bytes(path).strip():
        return {}
    ids: dict[TermKey, str] = {}
    for number, row in read_json_lines(read_text(path), path):
        missing = [key for key in ("id", "domain", "text") if not isinstance(row.get(key), str)]
        if missing:
            raise CurationError(
                f"{path} line {number}, field {missing[0]!r}: is not a text",
                "restore the file, or delete it: terms are then compared by their texts",
            )
        ids[row["domain"], row["text"]] = row["id"]
    return ids


# --- hidden gold labels ---------------------------------------------------------------------------


def _hidden_items(path: Path) -> list[tuple[Kind, str, dict[str, Any]]] | None:
    """The items of a file in StereoSet's format with hidden gold labels; None for other files."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    if orjson.dumps(HIDDEN) not in read_bytes(path):  # cheaper than to parse each file twice
        return None
    parts, _ = read_parts(path)
    if not all(part.whole and part.kind for part in parts):
        return None
    items = [(part.kind, row.where, row.values) for part in parts for row in part.rows if part.kind]
    labels = (s.get("gold_label") for _, _, item in items for s in sentences_of(item))
    return items if any(map(is_hidden, labels)) else None


def _hidden(where: str, kind: Kind, item: dict[str, Any], split: SplitName) -> PublishedCat:
    """A CAT of a file with hidden gold labels; some CATs of the file may have theirs."""
    sentences = sentences_of(item)
    texts = [item.get(key) for key in ("id", "bias_type", "target", "context")]
    texts += [s.get(key) for s in sentences for key in ("id", "sentence")]
    labels = [s.get("gold_label") for s in sentences]
    golds = [next((g for g in GOLDS if g == read_label(str(label))), None) for label in labels]
    damaged = not all(isinstance(text, str) and text for text in texts)
    if damaged or len(sentences) != len(GOLDS) or not _all_or_none(labels, golds):
        raise CurationError(
            f"{where} (id {str(item.get('id'))[:60]}): not a CAT with three sentences; "
            "their gold labels must be hidden, or one of each",
            "restore the file: build the release again, or download it again",
        )
    options = [
        PublishedOption(s["id"], s["sentence"], gold)
        for s, gold in zip(sentences, golds, strict=True)
    ]
    tier = item.get("tier")
    return PublishedCat(
        *(item["id"], kind, item["bias_type"], item["target"], item.get("target_original")),
        *(split, item["context"], tier if type(tier) is int else None),
        (options[0], options[1], options[2]),
    )


def _all_or_none(labels: Sequence[Any], golds: Sequence[str | None]) -> bool:
    return set(golds) == set(GOLDS) or all(map(is_hidden, labels))
