"""Reads a set of CATs in any known layout, or as a mapping file says."""

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from curation.blank import BLANK
from curation.catsets.content import read_parts
from curation.catsets.entries import Dataset, Entry
from curation.catsets.headings import IN_SENTENCES, plain, resolve
from curation.catsets.labels import key_of
from curation.catsets.layouts import Found, Reading, layout_of
from curation.catsets.mapping import MappingFile, mapping_error, read_mapping
from curation.catsets.other_sets import listed
from curation.files import CurationError
from curation.records import GOLDS, KINDS, Kind
from curation.rules import fill, filler, read_label, stable_id
from curation.wording import amount

NEARLY = 0.9  # the share of contexts with BLANK from which on the others have lost theirs
SHORT = 0.5  # options of less than this part of their contexts' length are words
INDEX = ("indexlevel0", "unnamed:0", "index")  # columns that pandas writes of its own accord
_SHOWN = 8
_NEEDED = {"context": "context", "target": "target", "domain": "bias_type"}


def read_dataset(path: Path) -> Dataset:
    """The items of a file in any known layout, or of the files that a mapping file names.

    The items are not checked: they may lack fields, or have labels that are not known.

    Raises:
        CurationError: a file cannot be read, is not a set of CATs, lacks a column, or no gold label
            in it is known; the message names the file, the place and the fix.
    """
    if path.suffix.lower() != ".toml":
        return _dataset(path, [path], None)
    how = read_mapping(path)
    return _dataset(path, [path.parent / file for file in how.files], how)


def _dataset(path: Path, files: Sequence[Path], how: MappingFile | None) -> Dataset:
    entries: list[Entry] = []
    layouts: dict[str, None] = {}
    told: dict[str, list[str]] = {}  # each note, and the files that it is true of
    curation: Any = {}
    for file in files:
        if how and file.suffix.lower() == ".toml":
            raise mapping_error(path, ["files"], "names a mapping file", "name the data files")
        found, layout, own_notes, own = _read(path, file, how)
        entries += found
        layouts[layout] = None
        for note in own_notes:
            told.setdefault(note, []).append(file.name)
        curation = curation or own
    if how and how.language:
        curation = {**(curation if isinstance(curation, dict) else {}), "language": how.language}
    notes = [f"{_named(names)}: {note}" for note, names in told.items()]
    entries = _without_skipped(path, entries, how, notes)
    if not entries:
        raise CurationError(f"{path}: contains no items", "check that it is the right file")
    bad = how is not None and how.skip == "bad"
    return Dataset(entries, " and ".join(layouts), tuple(notes), bad, curation)


def _named(files: Sequence[str]) -> str:
    more = f" and {amount(len(files) - 1, 'other file')}" if len(files) > 1 else ""
    return f"{files[0]}{more}"


def _read(
    path: Path, file: Path, how: MappingFile | None
) -> tuple[list[Entry], str, list[str], Any]:
    """The items of one file, the name of its layout, notes, and its field ``curation``."""
    parts, curation = read_parts(file)
    layout, notes, entries = "", [], []
    for part in parts:
        names = resolve(part.columns(), how.columns if how else None)
        reading = Reading(file, part, names, how)
        if not part.rows and (part.kind or not part.header):
            continue
        _check_columns(path, reading)
        chosen = layout_of(reading)
        found = chosen.read(reading)
        if not part.whole:
            _check_needed(reading, found)
        layout = chosen.name
        entries += _entries(reading, found)
        notes += [note for note in reading.notes if note not in notes]
    if not parts or not (entries or any(part.kind for part in parts)):
        raise CurationError(
            f"{file}: not a StereoSet file, and not another set of CATs: contains no items",
            "check that it is the right file",
        )
    entries = _with_ids(entries, notes)
    _check_labels(file, entries)
    if entries and not any(_has_votes(entry.item) for entry in entries):
        notes.append("the file has no votes, only gold labels")
    return entries, layout, notes, curation


# --- columns --------------------------------------------------------------------------------------


def _check_columns(path: Path, reading: Reading) -> None:
    """Refuse a mapping file that names columns that the file does not have."""
    if reading.how is None:
        return
    columns = reading.part.columns()
    inside = _columns_in_sentences(reading)
    for name, column in reading.how.columns.items():
        known = [*columns, *(inside if name in IN_SENTENCES else ())]
        if column in known:
            continue
        near = difflib.get_close_matches(column, known, 1)
        fix = f"did you mean {near[0]!r}?" if near else "name one of these columns"
        raise mapping_error(
            path,
            ["columns", name],
            f"{reading.path.name} has no column «{column}»; its columns are {listed(known)}",
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


def _check_needed(reading: Reading, found: Iterable[Found]) -> None:
    """Refuse a file in which no item has a context, a target or a domain."""
    found = list(found)
    for name, shown in _NEEDED.items():
        fixed = reading.how and name == "domain" and reading.how.domain
        if fixed or not found or any(name in one.values for one in found):
            continue
        raise CurationError(
            f"{reading.path}: there is no column «{shown}»; its columns are "
            f"{listed(reading.part.columns())}",
            f'write a mapping file: [columns] {name} = "their name"'
            + (', or domain = "one for all"' if name == "domain" else ""),
        )
    used = {plain(column) for column in reading.names.values()}
    others = [c for c in reading.part.columns() if c and plain(c) not in {*used, *INDEX}]
    if others:
        reading.notes.append(f"columns that are not used: {listed(others)}")


def _check_labels(file: Path, entries: Sequence[Entry]) -> None:
    """Refuse a file with gold labels of which none is known."""
    foreign: dict[str, None] = {}
    for entry in entries:
        for sentence in _sentences(entry.item):
            gold = sentence.get("gold_label")
            if gold is None:
                continue
            if isinstance(gold, str) and read_label(gold) in GOLDS:
                return
            foreign[key_of(gold)[:60]] = None
    if foreign:
        names = list(foreign)[:_SHOWN]
        lines = ", ".join(f'"{name}" = "…"' for name in names)
        raise CurationError(
            f"{file}: field gold_label: no label is known; it has "
            f"{', '.join(f'«{name}»' for name in names)}",
            f"write a mapping file with a table [labels] and {lines}; each is one of "
            f"{', '.join(GOLDS)}",
        )


def _sentences(item: dict[str, Any]) -> list[dict[str, Any]]:
    sentences = item.get("sentences")
    return [s for s in sentences if isinstance(s, dict)] if isinstance(sentences, list) else []


def _has_votes(item: dict[str, Any]) -> bool:
    return any(sentence.get("labels") for sentence in _sentences(item))


# --- items ----------------------------------------------------------------------------------------


def _entries(reading: Reading, found: list[Found]) -> list[Entry]:
    kinds = _kinds(reading, found)
    _fill_words(reading, found, kinds)
    entries = []
    for one, kind in zip(found, kinds, strict=True):
        item = _item(one, reading.how)
        entries.append(Entry(kind, one.where, item))
    return entries


def _item(found: Found, how: MappingFile | None) -> dict[str, Any]:
    if found.whole is not None and how is None:
        return found.whole
    values = found.values
    domain = how.domain if how and how.domain else values.get("domain")
    if how and key_of(domain) in how.domains:
        domain = how.domains[key_of(domain)]
    item = {
        "id": values.get("id"),
        "target": values.get("target"),
        "bias_type": domain,
        "context": values.get("context"),
        "tier": values.get("tier"),
        "target_original": values.get("target_original"),
    }
    item = {name: value for name, value in item.items() if value is not None}
    sentences = found.sentences
    if found.whole is not None:
        sentences = found.whole.get("sentences")
    if isinstance(item.get("id"), int) and not isinstance(item["id"], bool):
        item["id"] = str(item["id"])
    return item if sentences is None else {**item, "sentences": sentences}


def _kinds(reading: Reading, found: Sequence[Found]) -> list[Kind]:
    """The kind of each item: as the file or the mapping file says, or else by BLANK.

    If nearly all contexts have BLANK, or the layout has words that fill it, all items are
    intrasentence: the others have lost their BLANK, as happens in translations. If nearly none has
    it, those that have it are intrasentence only if an option fits its context.
    """
    fixed = (reading.how.kind if reading.how else None) or reading.part.kind
    if fixed:
        return [fixed] * len(found)
    kinds = [_named_kind(reading, one) for one in found]
    unnamed = [number for number, kind in enumerate(kinds) if kind is None]
    blank = {number for number in unnamed if BLANK in str(found[number].values.get("context"))}
    nearly_all = reading.words is True or len(blank) >= NEARLY * len(unnamed)
    nearly_none = len(blank) <= (1 - NEARLY) * len(unnamed)
    odd = []
    for number in unnamed:
        by_blank: Kind = "intrasentence" if number in blank else "intersentence"
        kinds[number] = by_blank
        if nearly_all and number not in blank:
            kinds[number] = "intrasentence"
        elif nearly_none and number in blank and not _fits(found[number]):
            kinds[number] = "intersentence"
        if kinds[number] != by_blank:
            odd.append(found[number])
    if odd:
        ids = ", ".join(str(one.values.get("id", one.where))[:60] for one in odd[:_SHOWN])
        missing = "without BLANK: read as intrasentence" if nearly_all else "with a stray BLANK"
        reading.notes.append(
            f"{amount(len(odd), 'context')} {missing}, like the others of the file ({ids})"
        )
    return [kind or "intersentence" for kind in kinds]


def _fits(found: Found) -> bool:
    """Whether an option is a word for the BLANK, or repeats the words around it."""
    context = str(found.values.get("context"))
    texts = [sentence.get("sentence") for sentence in _sentences({"sentences": found.sentences})]
    return any(
        isinstance(text, str) and (len(text.split()) == 1 or filler(context, text) is not None)
        for text in texts
    )


def _named_kind(reading: Reading, found: Found) -> Kind | None:
    value = found.values.get("kind")
    if value is None:
        return None
    name = plain(str(value)).removesuffix("sentence")
    kind = next((kind for kind in KINDS if kind.removesuffix("sentence") == name), None)
    if kind is None:
        raise CurationError(
            f"{reading.path.parent / found.where}: the column «{reading.names['kind']}» has "
            f"{str(value)[:60]!r}, which is neither of {', '.join(KINDS)}",
            "correct the column, or fix the kind in a mapping file: kind = «intrasentence»",
        )
    return kind


def _fill_words(reading: Reading, found: Sequence[Found], kinds: Sequence[Kind]) -> None:
    """Put the words of options into their contexts; sentences stay as they are."""
    intra = [one for one, kind in zip(found, kinds, strict=True) if kind == "intrasentence"]
    intra = [one for one in intra if one.whole is None and isinstance(one.sentences, list)]
    told = reading.how.options if reading.how else None
    are_words = told == "words" or (told is None and _are_words(intra))
    for one in intra:
        context = one.values.get("context")
        for sentence in _sentences({"sentences": one.sentences}):
            text = sentence.pop("word", None)
            if are_words and text is None:
                text = sentence.get("sentence")
            if isinstance(text, str) and isinstance(context, str) and text.strip():
                sentence["sentence"] = fill(context, text) if BLANK in context else text
    for one in found:
        for sentence in _sentences({"sentences": one.sentences}):
            if "word" in sentence:
                sentence["sentence"] = sentence.pop("word")


def _are_words(intra: Sequence[Found]) -> bool:
    """Whether the options are words: on average less than half as long as their contexts."""
    options = contexts = 0
    for one in intra:
        context = str(one.values.get("context"))
        for sentence in _sentences({"sentences": one.sentences}):
            text = sentence.get("sentence")
            if isinstance(text, str) and BLANK in context:
                options += len(text)
                contexts += len(context)
    return options < SHORT * contexts


# --- ids ------------------------------------------------------------------------------------------


def _with_ids(entries: list[Entry], notes: list[str]) -> list[Entry]:
    """The items with ids; if no item or no sentence of a file has one, they are made.

    The same content always gives the same ids; what is there twice gets different ones.
    """
    no_items = entries and all(entry.item.get("id") is None for entry in entries)
    all_sentences = [s for entry in entries for s in _sentences(entry.item)]
    no_sentences = all_sentences and all(s.get("id") is None for s in all_sentences)
    if not no_items and not no_sentences:
        return entries
    made = [word for word, lacks in (("items", no_items), ("sentences", no_sentences)) if lacks]
    notes.append(f"no ids of {' and '.join(made)}: made from the texts")
    seen: Counter[str] = Counter()
    complete = []
    for entry in entries:
        item = dict(entry.item)
        if no_items:
            item["id"] = _new_id("cat", seen, entry.kind, *_texts(item))
        if no_sentences and isinstance(item.get("sentences"), list):
            item["sentences"] = [
                {**s, "id": _new_id("sentence", seen, str(item.get("id")), *_words(s))}
                if isinstance(s, dict)
                else s
                for s in item["sentences"]
            ]
        complete.append(entry._replace(item=item))
    return complete


def _new_id(prefix: str, seen: Counter[str], *parts: str) -> str:
    name = stable_id(prefix, *parts)
    seen[name] += 1
    return name if seen[name] == 1 else stable_id(prefix, *parts, str(seen[name]))


def _texts(item: dict[str, Any]) -> list[str]:
    own = [str(item.get(name)) for name in ("bias_type", "target", "context")]
    return [*own, *sorted("\x1e".join(_words(sentence)) for sentence in _sentences(item))]


def _words(sentence: dict[str, Any]) -> tuple[str, str]:
    return str(sentence.get("gold_label")), str(sentence.get("sentence"))


def _without_skipped(
    path: Path, entries: list[Entry], how: MappingFile | None, notes: list[str]
) -> list[Entry]:
    """The items without those that the mapping file says to leave out."""
    if how is None or how.skip == "bad" or not how.skip:
        return entries
    ids, skipped = {str(entry.item.get("id")) for entry in entries}, set(how.skip)
    unknown = [name for name in how.skip if name not in ids]
    if unknown:
        raise mapping_error(
            path, ["skip"], f"no item has the id {unknown[0][:80]!r}", "delete it from the list"
        )
    kept = [entry for entry in entries if str(entry.item.get("id")) not in skipped]
    notes.append(f"{path.name}: {amount(len(entries) - len(kept), 'item')} left out by «skip»")
    return kept
