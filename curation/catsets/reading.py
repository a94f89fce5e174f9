"""Reads a set of CATs in any known layout, or as a mapping file says.

One way leads from a path to CATs, and each module on it calls only those after it: ``stereoset``
(CATs and their settings), ``reading`` (items in StereoSet's form), ``content`` (the rows of a file,
whatever its container), ``formats`` (packed, Parquet and text tables) and ``files``.
"""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from curation.catsets.content import PAIRS, list_columns, read_parts
from curation.catsets.entries import (
    IN_SENTENCES,
    Dataset,
    Entry,
    Part,
    hidden_error,
    in_order_of_ids,
    is_hidden,
    key_of,
    plain,
    resolve,
    sentences_of,
    with_ids,
)
from curation.catsets.layouts import RawItem, Reading, fill_words, kinds_of, layout_of, type_column
from curation.catsets.mapping import MappingFile, mapping_error, read_mapping
from curation.files import CurationError
from curation.formats.table_words import read_label
from curation.kinds import GOLDS, ITEMS
from curation.records import Fields
from curation.text.wording import amount

INDEX = ("indexlevel0", "unnamed:0", "index")  # columns that pandas writes of its own accord
_SHOWN = 8
_NEEDED = {"context": "«context»", "target": "«target»", "domain": "«domain» or «bias_type»"}


def read_dataset(path: Path, content: tuple[list[Part], Any] | None = None) -> Dataset:
    """The items of a file in any known layout, or of the files that a mapping file names.

    The items are not checked: they may lack fields, or have labels that are not known.

    Args:
        path: the file.
        content: what ``content.read_parts`` gave of it, if it was read already.

    Raises:
        CurationError: a file cannot be read, is not a set of CATs, lacks a column, or no gold label
            in it is known; the message names the file, the place and the fix.
    """
    mapping = read_mapping(path) if path.suffix.lower() == ".toml" else None
    if mapping and mapping.raters:
        why = "is of a table of answers, and not of a set of CATs"
        raise mapping_error(path, ["raters"], why, "use «curation import answers»")
    entries: list[Entry] = []
    layouts: dict[str, None] = {}
    files_of: dict[str, list[str]] = {}  # each note, and the files that it is true of
    curation: Any = {}
    for named in mapping.files if mapping else [path.name]:
        new_entries, layout, own_notes, own = (
            _named_in(path, named, mapping) if mapping else _read(path, path, None, content)
        )
        entries += new_entries
        layouts[layout] = None
        for note in own_notes:
            files_of.setdefault(note, []).append(Path(named).name)
        curation = curation or own
    if mapping and mapping.language:
        known = curation if isinstance(curation, dict) else {}
        curation = {**known, "language": mapping.language}
    notes = [f"{_named(names)}: {note}" for note, names in files_of.items()]
    entries = _without_skipped(path, entries, mapping, notes)
    if mapping and mapping.skip and not entries:
        raise mapping_error(path, ["skip"], "leaves out all items", "delete some of the ids")
    if not entries and not curation:  # a release of very few terms has an empty dev.json
        raise CurationError(f"{path}: contains no items", "check that it is the right file")
    bad = mapping is not None and mapping.skip == "bad"
    return Dataset(entries, " and ".join(layouts), tuple(notes), bad, curation)


def _named_in(
    path: Path, named: str, mapping: MappingFile
) -> tuple[list[Entry], str, list[str], Any]:
    """The items of a file that a mapping file names; errors name the mapping file, too."""
    file = path.parent / named
    if file.suffix.lower() == ".toml":
        raise mapping_error(path, ["files"], "names a mapping file", "name the data files")
    try:
        exists = file.exists()
    except OSError:
        exists = False
    if not exists:
        raise mapping_error(path, ["files"], f"{named}: no such file", _path_fix(named))
    try:
        return _read(path, file, mapping)
    except CurationError as error:
        if path.name in error.what:
            raise
        raise CurationError(f"{path.name}: {error.what}", error.fix) from None


def _path_fix(named: str) -> str:
    """What to do about a path in a mapping file at which there is no file."""
    if "://" in named:
        return "download the file first, and name the copy"
    if "*" in named or "?" in named:
        return "name each file: * and ? have no meaning here"
    if named.startswith("~"):
        return "write the whole path: ~ has no meaning here"
    if "\\" in named:
        return "write / between folders"
    return "check the path; it is relative to the mapping file"


def _named(files: Sequence[str]) -> str:
    more = f" and {amount(len(files) - 1, 'other file')}" if len(files) > 1 else ""
    return f"{files[0]}{more}"


def _read(
    path: Path,
    file: Path,
    mapping: MappingFile | None,
    content: tuple[list[Part], Any] | None = None,
) -> tuple[list[Entry], str, list[str], Any]:
    """The items of one file, the name of its layout, notes, and its field ``curation``."""
    named = mapping.columns.values() if mapping else None
    parts, curation = content or read_parts(file, named=named)
    layout, notes, entries, ordered = "", [], [], []
    for part in parts:
        _take_out(part, named or ())
        names = resolve(part.columns(), mapping.columns if mapping else None)
        if "kind" not in names and (column := type_column(part, mapping.kinds if mapping else {})):
            names["kind"] = column
        reading = Reading(file, part, names, mapping)
        if not part.rows and (part.kind or not part.header):
            continue
        _check_columns(path, reading)
        _refuse_objects(reading)
        chosen = layout_of(reading)
        raw_items = list(chosen.read(reading))
        if not part.whole:
            _check_needed(reading, raw_items)
        layout = chosen.name
        entries += _entries(reading, raw_items)
        ordered += [reading.ordered] * len(raw_items)
        notes += [note for note in reading.notes if note not in notes]
    if not parts or not (entries or any(part.kind for part in parts)):
        raise CurationError(
            f"{file}: not a StereoSet file, and not another set of CATs: contains no items",
            "check that it is the right file",
        )
    entries = with_ids(entries, notes)
    entries = [e if has else in_order_of_ids(e) for e, has in zip(entries, ordered, strict=True)]
    _check_labels(file, entries)
    own = any(part.whole for part in parts)  # imports say it of StereoSet's own JSON
    if not own and not any(s.get("labels") for entry in entries for s in sentences_of(entry.item)):
        notes.append("no votes, only gold labels")
    return entries, layout, notes, curation


# --- columns --------------------------------------------------------------------------------------


def _take_out(part: Part, columns: Iterable[str]) -> None:
    """Make columns of fields inside objects, such as that of ``label`` in ``gold``."""
    for column in columns:
        outer, dot, name = column.partition(".")
        for row in part.rows if dot else ():
            own = row.values.get(outer)
            if column not in row.values and isinstance(own, dict) and name in own:
                row.values[column] = own[name]


def _refuse_objects(reading: Reading) -> None:
    """Refuse rows that have an object where a text is expected."""
    for name in (*_NEEDED, "gold_label", "sentence") if not reading.part.whole else ():
        values = (reading.get(row.values, name) for row in reading.part.rows)
        value = next((value for value in values if value is not None), None)
        if isinstance(value, dict):
            own, field = reading.names[name], resolve(value).get(name, "…")
            line = f'[columns] {name} = "{own}.{field}"'
            raise CurationError(
                f"{reading.path}: «{own}» is an object, not a text; it has {list_columns(value)}",
                f"write a mapping file with the field that is meant: {line}",
            )


def _check_columns(path: Path, reading: Reading) -> None:
    """Refuse a mapping file that names columns that the file does not have."""
    if reading.mapping is None:
        return
    columns = reading.part.columns()
    inside = _columns_in_sentences(reading)
    for name, column in reading.mapping.columns.items():
        if name == "human_id":  # a field of votes
            continue
        known = [*columns, *(inside if name in IN_SENTENCES else ())]
        if column in known:
            continue
        near = difflib.get_close_matches(column, known, 1)
        fix = f"did you mean {near[0]!r}?" if near else "name one of these columns"
        raise mapping_error(
            path,
            ["columns", name],
            f"{reading.path.name} has no column «{column}»; its columns are {list_columns(known)}",
            fix,
        )


def _columns_in_sentences(reading: Reading) -> list[str]:
    sentences = (reading.get(row.values, "sentences") for row in reading.part.rows)
    columns: dict[str, None] = {}
    for value in sentences:
        objects = value if isinstance(value, list) else [value]
        for entry in objects:
            columns |= dict.fromkeys(entry if isinstance(entry, dict) else ())
    return list(columns)


def _check_needed(reading: Reading, raw_items: Sequence[RawItem]) -> None:
    """Refuse a file in which no item has a context, a target or a domain."""
    for name, shown in _NEEDED.items():
        fixed = reading.mapping and name == "domain" and reading.mapping.domain
        if fixed or not raw_items or any(name in raw.values for raw in raw_items):
            continue
        own = reading.names.get(name)
        missing = f"the column «{own}» is empty" if own else f"there is no column {shown}"
        raise CurationError(
            f"{reading.path}: {missing}; its columns are {list_columns(reading.part.columns())}",
            f'write a mapping file: [columns] {name} = "their name"'
            + (', or domain = "one for all"' if name == "domain" else ""),
        )
    used = {plain(c) for column in reading.names.values() for c in (column, column.split(".")[0])}
    others = [c for c in reading.part.columns() if c and plain(c) not in {*used, *INDEX}]
    if others:
        reading.notes.append(f"columns that are not used: {list_columns(others)}")


def _check_labels(file: Path, entries: Sequence[Entry]) -> None:
    """Refuse a file of pairs, or with gold labels of which none is known, or all are hidden."""
    if entries and all(len(sentences_of(e.item)) == 2 < ITEMS[e.kind].size for e in entries):
        raise CurationError(f"{file}: every item has a context and two sentences", PAIRS)
    foreign: dict[str, None] = {}
    for entry in entries:
        for sentence in sentences_of(entry.item):
            gold = sentence.get("gold_label")
            if gold is None or gold == "":
                continue
            if isinstance(gold, str) and read_label(gold) in GOLDS:
                return
            foreign[key_of(gold)[:60]] = None
    if foreign and all(map(is_hidden, foreign)):
        raise hidden_error(str(file))
    if foreign:
        names = list(foreign)[:_SHOWN]
        lines = ", ".join(f'"{name}" = "…"' for name in names)
        raise CurationError(
            f"{file}: field gold_label: no label is known; it has "
            f"{', '.join(f'«{name}»' for name in names)}",
            f"write a mapping file with a table [labels] and {lines}; each is one of "
            f"{', '.join(GOLDS)}",
        )


# --- items ----------------------------------------------------------------------------------------


def _entries(reading: Reading, raw_items: list[RawItem]) -> list[Entry]:
    kinds = kinds_of(reading, raw_items)
    fill_words(reading, raw_items, kinds)
    return [
        Entry(kind, raw.where, _item(raw, reading.mapping))
        for raw, kind in zip(raw_items, kinds, strict=True)
    ]


def _item(raw: RawItem, mapping: MappingFile | None) -> Fields:
    if raw.whole is not None and mapping is None:
        return raw.whole
    values = raw.values
    domain = mapping.domain if mapping and mapping.domain else values.get("domain")
    if mapping and key_of(domain) in mapping.domains:
        domain = mapping.domains[key_of(domain)]
    item = {
        "id": values.get("id"),
        "target": values.get("target"),
        "bias_type": domain,
        "context": values.get("context"),
        "tier": values.get("tier"),
        "target_original": values.get("target_original"),
        "direction": values.get("direction"),
    }
    item = {name: value for name, value in item.items() if value is not None}
    sentences = raw.sentences
    if raw.whole is not None:
        sentences = raw.whole.get("sentences")
    if isinstance(item.get("id"), int) and not isinstance(item["id"], bool):
        item["id"] = str(item["id"])
    return item if sentences is None else {**item, "sentences": sentences}


def _without_skipped(
    path: Path, entries: list[Entry], mapping: MappingFile | None, notes: list[str]
) -> list[Entry]:
    """The items without those that the mapping file says to leave out."""
    if mapping is None or mapping.skip == "bad" or not mapping.skip:
        return entries
    ids, skipped = {str(entry.item.get("id")) for entry in entries}, set(mapping.skip)
    unknown = [name for name in mapping.skip if name not in ids]
    if unknown:
        raise mapping_error(
            path, ["skip"], f"no item has the id {unknown[0][:80]!r}", "delete it from the list"
        )
    kept = [entry for entry in entries if str(entry.item.get("id")) not in skipped]
    notes.append(f"{path.name}: {amount(len(entries) - len(kept), 'item')} left out by «skip»")
    return kept
