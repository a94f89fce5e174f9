"""The layouts of sets of CATs: each turns the rows of a file into items in StereoSet's form."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from curation.catsets.content import PAIRS, refuse_other_sets, unknown_columns
from curation.catsets.entries import (
    GOLD_ORDER,
    IN_SENTENCES,
    LABEL_ORDER,
    NAMES,
    Part,
    gap_in,
    gap_of,
    is_by_label,
    key_of,
    our_label,
    our_votes,
    parse_cell,
    plain,
    resolve,
    rows_of_lists,
    sentences_of,
    with_blank,
)
from curation.catsets.mapping import ORDER, MappingFile
from curation.files import CurationError
from curation.kinds import CAT_KINDS, FILLED, FOLLOWED, GOLD_COLUMNS, ITEMS, KINDS, Kind
from curation.records import Fields
from curation.text.item_form import BLANK, fill, filler
from curation.text.pairs import groups_of
from curation.text.wording import amount, some

PAIR = ITEMS["pair"]
ITEM = ("id", "kind", "domain", "target", "target_original", "context", "tier", "direction")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_FIRST = 5  # ids that a note or an error names


@dataclass
class RawItem:
    """An item as a layout has it: its fields by our names, and its sentences.

    ``sentences`` has objects with StereoSet's fields, and ``word`` if it is not yet in its context.
    It is something else if the item is faulty. ``whole`` is the item of StereoSet's own JSON.
    """

    where: str
    values: Fields
    sentences: Any
    whole: Fields | None = None


@dataclass
class Reading:
    """A part of a file that is being read.

    Attributes:
        path: the file.
        part: its rows.
        names: the column for each of our names.
        mapping: the mapping file.
        notes: what users should know.
        words: whether the layout has options that are words; None if it does not say it.
        ordered: whether the order of an item's sentences is the file's; if not, the layout has
            none but that of the gold labels.
    """

    path: Path
    part: Part
    names: dict[str, str]
    mapping: MappingFile | None
    notes: list[str] = field(default_factory=list)
    words: bool | None = False
    ordered: bool = True

    @property
    def labels(self) -> Mapping[str, str]:
        """Our label for each of theirs."""
        return self.mapping.labels if self.mapping else {}

    def get(self, values: Mapping[str, Any], name: str) -> Any:
        """A value by our name; None if it is not there."""
        return values.get(self.names[name]) if name in self.names else None

    def fields(self, values: Mapping[str, Any]) -> Fields:
        """The fields of an item by our names, without those that are not there.

        In the context, BLANK replaces each gap that the mapping file declares.
        """
        own = {name: self.get(values, name) for name in ITEM}
        if self.mapping and isinstance(own["context"], str):
            own["context"] = with_blank(own["context"], *self.mapping.blank)
        return {name: value for name, value in own.items() if value is not None}

    def gold(self, value: Any, name: str = "gold_label", order: Sequence[str] = ()) -> Any:
        """A gold label in our words."""
        classes = self.part.classes.get(self.names.get(name, name))
        return our_label(value, self.labels, classes or order)

    def votes(self, value: Any, order: Sequence[str] = ()) -> Any:
        """The votes of a sentence, with labels in our words."""
        classes = self.part.classes.get("label") or order
        return our_votes(value, self.labels, classes, self.voter)

    @property
    def voter(self) -> str:
        """The field of a vote that says who gave it, if the mapping file names one."""
        return self.mapping.columns.get("human_id", "") if self.mapping else ""


class Layout(NamedTuple):
    """A layout: its name in messages, and what reads it."""

    name: str
    read: Callable[[Reading], Iterator[RawItem]]


def layout_of(reading: Reading) -> Layout:
    """The layout of a part of a file, by its columns.

    Raises:
        CurationError: it is of no known layout; if it is known to be something else, the message
            says so.
    """
    part, has = reading.part, set(reading.names)
    if part.whole:
        return Layout("StereoSet's JSON", _listed)
    columns = set(part.columns()) - {reading.names.get("context", "")}
    refuse_other_sets(reading.path, columns, always_only=True)
    first = next((row.values for row in part.rows), {})
    if "data" in has and is_by_label(reading.get(first, "data")):
        return Layout("items with an object for each gold label", _by_label)
    if {"sentences", "context"} <= has:
        is_struct = isinstance(parse_cell(reading.get(first, "sentences")), dict)
        name = "the Hugging Face layout" if is_struct else "a list of items in StereoSet's form"
        return Layout(name, _listed)
    if "context" in has and {"c1_sentence", "c1_word"} & has:
        return Layout("columns c1_sentence to c3_gold_label", _numbered)
    if has >= PAIR.columns.keys() and not {"unrelated", "context"} & has:
        return Layout("pairs of sentences", _pairs)
    if "context" in has and any(has >= ITEMS[kind].columns.keys() for kind in CAT_KINDS):
        return Layout("a column for each option", _options)
    if {"choices", "context"} <= has:
        return Layout("a column with the list of choices", _choices)
    if {"sentence", "gold_label", "context"} <= has:
        name = "a list for each gold label" if part.by_label else "a row for each sentence"
        return Layout(name, _grouped)
    if reading.mapping is None or not reading.mapping.columns:
        refuse_other_sets(reading.path, part.columns())
    raise unknown_columns(reading.path, part.columns())


# --- a row is an item -----------------------------------------------------------------------------


def _listed(reading: Reading) -> Iterator[RawItem]:
    """Items with a list of sentences, or a struct of lists as Hugging Face stores it."""
    lists = [parse_cell(reading.get(row.values, "sentences")) for row in reading.part.rows]
    lists = [rows_of_lists(value) or value if isinstance(value, dict) else value for value in lists]
    shown = next((value for value in lists if isinstance(value, str)), "")
    if lists and all(isinstance(value, str) for value in lists if value is not None) and shown:
        raise CurationError(
            f"{reading.path}: the column «{reading.names['sentences']}» has Python objects as text "
            f"({shown[:40]!r}…)",
            "export the data as Parquet or JSON: to_parquet or to_json instead of to_csv",
        )
    keys = {key: None for value in lists for sentence in _objects(value) for key in sentence}
    given = reading.mapping.columns if reading.mapping else {}
    inner = resolve(keys, {n: column for n, column in given.items() if n in IN_SENTENCES})
    inner = {name: column for name, column in inner.items() if name in (*IN_SENTENCES, "id")}
    reading.names.update({n: column for n, column in inner.items() if n in IN_SENTENCES})
    for (where, values), sentences in zip(reading.part.rows, lists, strict=True):
        if reading.part.whole and not reading.labels and not reading.voter:
            yield RawItem(where, reading.fields(values), sentences, _own(values))
            continue
        if isinstance(sentences, list):
            sentences = [_inner(reading, inner, sentence) for sentence in sentences]
        yield RawItem(where, reading.fields(values), sentences)


def _objects(value: Any) -> Iterator[Fields]:
    yield from (s for s in value if isinstance(s, dict)) if isinstance(value, list) else ()


def _inner(reading: Reading, inner: Mapping[str, str], sentence: Any) -> Any:
    if not isinstance(sentence, dict):
        return sentence

    def get(name: str) -> Any:
        return sentence.get(inner[name]) if name in inner else None

    id = get("id") if get("sentence_id") is None else get("sentence_id")
    return _sentence(reading, id, get, golds=GOLD_ORDER, votes=LABEL_ORDER)


def _sentence(
    reading: Reading,
    id: Any,
    get: Callable[[str], Any],
    *,
    column: str = "gold_label",
    golds: Sequence[str] = (),
    votes: Sequence[str] = (),
) -> Fields:
    """A sentence in StereoSet's form, and ``word`` if it has no sentence.

    Args:
        reading: the part of the file.
        id: its id.
        get: gives its other values by our name; None for what is not there.
        column: our name of the column with its gold label.
        golds: the names of integers that are gold labels.
        votes: the names of integers that are votes.
    """
    fields = {
        "id": str(id) if isinstance(id, int) else id,
        "sentence": get("sentence"),
        "word": get("word") if get("sentence") is None else None,
        "gold_label": reading.gold(get("gold_label"), column, golds),
        "labels": reading.votes(get("labels"), votes),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _own(item: Fields) -> Fields:
    """An item of StereoSet's JSON with integer labels in words; otherwise unchanged."""
    sentences = item.get("sentences")
    if not isinstance(sentences, list):
        return item
    return {**item, "sentences": [_own_sentence(sentence) for sentence in sentences]}


def _own_sentence(sentence: Any) -> Any:
    if not isinstance(sentence, dict):
        return sentence
    gold, labels = sentence.get("gold_label"), sentence.get("labels")
    if isinstance(gold, int):
        sentence = {**sentence, "gold_label": our_label(gold, {}, GOLD_ORDER)}
    if any(isinstance(vote.get("label"), int) for vote in _objects(labels)):
        sentence = {**sentence, "labels": our_votes(labels, {}, LABEL_ORDER)}
    return sentence


def _by_label(reading: Reading) -> Iterator[RawItem]:
    """Items with ``data``: an object for each gold label, as in EditBias.

    Some of its files also have ``sentences`` with votes. If a text of an item differs there, the
    one in ``data`` is what its authors use; the item's votes were for other texts, and are left
    out.
    """
    reading.ordered = False
    changed = 0
    for where, values in reading.part.rows:
        data = reading.get(values, "data")
        if not isinstance(data, dict):
            yield RawItem(where, reading.fields(values), data)
            continue
        options = {
            label: option if isinstance(option, dict) else {"sentence": option}
            for label, option in data.items()
        }
        voted = {str(s.get("id")): s for s in _objects(reading.get(values, "sentences"))}
        pairs = [(option, voted.get(str(option.get("id")), {})) for option in options.values()]
        differs = any(
            old and old.get("sentence") != option.get("sentence") for option, old in pairs
        )
        sentences = []
        for label, (option, old) in zip(options, pairs, strict=True):
            own = {"sentence": option.get("sentence"), "gold_label": label}
            if not differs:
                own["labels"] = old.get("labels")
            sentences.append(_sentence(reading, option.get("id"), own.get, votes=LABEL_ORDER))
        changed += differs
        yield RawItem(where, reading.fields(values), sentences)
    if changed:
        reading.notes.append(
            f"in {amount(changed, 'item')} the texts of «data» and «sentences» differ: those of "
            "«data» are used, and the votes, which are for the others, are left out"
        )


_NUMBERS = [name.removesuffix("_word") for name in NAMES if name.endswith("_word")]
"""How columns of the same option begin: c1 and so on."""
_OF_OPTION = ("id", "sentence", "word", "gold_label", "labels")


def _numbered(reading: Reading) -> Iterator[RawItem]:
    """Rows with the columns c1_sentence, c1_gold_label and so on, as in stereotypes-multi."""
    if any(f"{number}_word" in reading.names for number in _NUMBERS):
        reading.words = True
    for where, values in reading.part.rows:
        sentences = []
        for number in _NUMBERS:
            own = {name: reading.get(values, f"{number}_{name}") for name in _OF_OPTION}
            sentence = _sentence(reading, own["id"], own.get, column=f"{number}_gold_label")
            if "sentence" in sentence or "word" in sentence:
                sentences.append(sentence)
        yield RawItem(where, reading.fields(values), sentences)


def _options(reading: Reading) -> Iterator[RawItem]:
    """Rows with a column for each option."""
    reading.ordered, reading.words = False, None
    for where, values in reading.part.rows:
        texts = {gold: reading.get(values, name) for name, gold in GOLD_COLUMNS.items()}
        sentences = [
            {"sentence": text, "gold_label": gold}
            for gold, text in texts.items()
            if text is not None
        ]
        yield RawItem(where, reading.fields(values), sentences)


def _pairs(reading: Reading) -> Iterator[RawItem]:
    """Rows with the two sentences of a pair; one that is there again counts once."""
    reading.ordered = False
    keep = reading.mapping is not None and reading.mapping.repeated == "count"
    seen: dict[tuple[Any, ...], str] = {}
    again, exchanged = 0, []
    for where, values in reading.part.rows:
        cells = [reading.get(values, name) for name in PAIR.columns]
        texts = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
        again += tuple(texts) in seen
        if tuple(texts) in seen and not keep:
            continue
        if tuple(texts[::-1]) in seen and texts[0] != texts[1]:
            exchanged.append(f"{seen[tuple(texts[::-1])]} and {where}")
        seen[tuple(texts)] = where
        fields = {**reading.fields(values), "kind": PAIR.name, "context": ""}
        if isinstance(direction := fields.get("direction"), str):
            fields["direction"] = direction.strip()
        groups = [reading.get(values, name) for name in ("group", "other_group")]
        if all(groups):
            fields["target"] = " / ".join(sorted(map(str, groups)))
        elif "target" not in fields:
            both = all(isinstance(text, str) for text in texts)
            found = groups_of(*map(str, texts)) if both else None
            fields["target"] = " / ".join(found) if found else _domain_of(reading, fields)
        sentences = [
            {"sentence": text, "gold_label": gold}
            for text, gold in zip(texts, PAIR.roles, strict=True)
            if text is not None
        ]
        yield RawItem(where, fields, sentences)
    if again:
        how = "counted, as the mapping file says" if keep else "left out"
        reading.notes.append(f"{amount(again, 'row')} with a pair that an earlier row has: {how}")
    if exchanged:
        reading.notes.append(
            f"{amount(len(exchanged), 'pair')} with the sentences of another exchanged, so that "
            f"both are the stereotype ({some(exchanged, _SHOWN)})"
        )


def _domain_of(reading: Reading, fields: Fields) -> Any:
    return (reading.mapping and reading.mapping.domain) or fields.get("domain")


def _choices(reading: Reading) -> Iterator[RawItem]:
    """Rows with a list of choices, whose order the mapping file says."""
    order = reading.mapping.order if reading.mapping else None
    column = reading.names["choices"]
    if order is None:
        sizes = {len(_list_of(reading.get(row.values, "choices"))) for row in reading.part.rows}
        raise CurationError(
            f"{reading.path}: does not say which of the «{column}» is the stereotype",
            PAIRS
            if sizes == {2}
            else 'write a mapping file with order = ["…", "…", "…"], the gold label of the first, '
            f"second and third choice of every row; they are {ORDER}. If rows have them in "
            "different orders, write each text into a column of its own",
        )
    reading.ordered, reading.words = False, None
    for where, values in reading.part.rows:
        choices = _list_of(reading.get(values, "choices"))
        sentences = (
            [{"sentence": s, "gold_label": gold} for s, gold in zip(choices, order, strict=True)]
            if len(choices) == len(order)
            else [{"sentence": s} for s in choices]
        )
        yield RawItem(where, reading.fields(values), sentences)


def _list_of(cell: Any) -> list[Any]:
    r"""The texts of a cell: a list, or one as JSON, Python or NumPy write it.

    >>> _list_of(r"['a' 'it\'s']"), _list_of('["a", "b"]')
    (['a', "it's"], ['a', 'b'])
    """
    cell = parse_cell(cell)
    if isinstance(cell, str):
        quoted = _QUOTED.findall(cell)
        return [re.sub(r"\\(.)", r"\1", one or other) for one, other in quoted]
    return cell if isinstance(cell, list) else []


# --- a row is a sentence --------------------------------------------------------------------------


def _grouped(reading: Reading) -> Iterator[RawItem]:
    """Rows with a sentence each; those with the same id, or the same context, are an item."""
    groups: dict[Any, list[tuple[str, Fields]]] = {}
    counts: Counter[str] = Counter()
    for where, values in reading.part.rows:
        own = reading.get(values, "id")
        if own is None:
            same = [str(reading.get(values, n)) for n in ("kind", "domain", "target", "context")]
            gold = str(reading.get(values, "gold_label"))
            key: Any = "\x1f".join(same)
            number = counts[f"{key}\x1f{gold}"]  # the second of a label is of another item
            counts[f"{key}\x1f{gold}"] += 1
            key = (key, number)
        else:
            key = str(own)
        groups.setdefault(key, []).append((where, values))
    reading.ordered, reading.words = not reading.part.by_label, None
    differing: dict[str, str] = {}
    for rows in groups.values():
        where, values = rows[0]
        fields = reading.fields(values)
        for name in fields:
            texts = Counter(str(reading.get(row, name)) for _, row in rows)
            if len(texts) > 1:
                differing.setdefault(str(fields.get("id", where)), name)
                most = texts.most_common(1)[0][0]
                fields[name] = next(
                    v for _, row in rows if str(v := reading.get(row, name)) == most
                )
        sentences = [
            _sentence(reading, reading.get(row, "sentence_id"), partial(reading.get, row))
            for _, row in rows
        ]
        yield RawItem(where, fields, sentences)
    _note_differing(reading, differing)


def _note_differing(reading: Reading, differing: Mapping[str, str]) -> None:
    if not differing:
        return
    first = ", ".join(list(differing)[:_FIRST])
    first += f" and {len(differing) - _FIRST} more" if len(differing) > _FIRST else ""
    names = " and ".join(f"«{reading.names[name]}»" for name in sorted(set(differing.values())))
    count = amount(len(differing), "CAT")
    if reading.mapping is None or reading.mapping.differing != "most":
        raise CurationError(
            f"{reading.path}: in {count} the sentences have different {names} (for id {first})",
            'write «differing = "most"» in a mapping file to use the most frequent text of each '
            "CAT, or correct the data",
        )
    reading.notes.append(
        f"in {count} the sentences have different {names}: the most frequent one is used, the "
        f"first if none is ({first})"
    )


NEARLY = 0.9  # the share of contexts with BLANK from which on the others have lost theirs
SHORT = 0.5  # options of less than this part of their contexts' length are words
_SHOWN = 8


def kinds_of(reading: Reading, raw_items: Sequence[RawItem]) -> list[Kind]:
    """The kind of each item: as the file or the mapping file says, or else by BLANK or another gap.

    If nearly all contexts have BLANK, or the layout has words that fill it, all items have a gap:
    the others have lost their BLANK, as happens in translations. If nearly none has it, those that
    have it have a gap only if an option fits its context.
    """
    fixed = (reading.mapping.kind if reading.mapping else None) or reading.part.kind
    if fixed:
        return [fixed] * len(raw_items)
    kinds = [_named_kind(reading, raw) for raw in raw_items]
    unnamed = [number for number, kind in enumerate(kinds) if kind is None]
    items = {number: _item(raw_items[number]) for number in unnamed}
    blank = {n for n, item in items.items() if BLANK in str(item["context"]) or gap_of(item)}
    nearly = NEARLY * len(unnamed)
    nearly_all = reading.words is True or len(blank) >= nearly
    nearly_none = len(unnamed) - len(blank) >= nearly
    odd = []
    for number in unnamed:
        has_gap = number in blank
        if nearly_all:
            has_gap = True
        elif nearly_none and has_gap:
            has_gap = _fits(raw_items[number])
        kinds[number] = _kind_by_form(has_gap, len(sentences_of(items[number])))
        if has_gap != (number in blank):
            odd.append(raw_items[number])
    if odd:
        ids = ", ".join(str(raw.values.get("id", raw.where))[:60] for raw in odd[:_SHOWN])
        read_as = (
            f"without BLANK: read as {FILLED.name}"
            if nearly_all
            else f"with BLANK: read as {FOLLOWED.name}"
        )
        reading.notes.append(f"{amount(len(odd), 'context')} {read_as}, like the others ({ids})")
    return [kind or FOLLOWED.name for kind in kinds]


def _kind_by_form(has_gap: bool, size: int) -> Kind:
    """The first kind with or without a gap that has this many associations, if there is one."""
    default = FILLED if has_gap else FOLLOWED
    with_context = [kind for kind in ITEMS.values() if kind.context]
    fits = (kind for kind in with_context if (kind.has_gap, kind.size) == (has_gap, size))
    return next(fits, default).name


def _fits(raw: RawItem) -> bool:
    """Whether an option is a word for the BLANK, or repeats the words around it."""
    context = str(raw.values.get("context"))
    context = with_blank(context, gap_of(_item(raw)) or BLANK)
    texts = [sentence.get("sentence") for sentence in sentences_of({"sentences": raw.sentences})]
    return any(
        isinstance(text, str) and (len(text.split()) == 1 or filler(context, text) is not None)
        for text in texts
    )


def _item(raw: RawItem) -> Fields:
    return {"context": raw.values.get("context"), "sentences": raw.sentences}


def _named_kind(reading: Reading, raw: RawItem) -> Kind | None:
    value = raw.values.get("kind")
    if value is None:
        return None
    kind = _kind(value, reading.mapping.kinds if reading.mapping else {})
    if kind is None:
        raise CurationError(
            f"{reading.path.parent / raw.where}: the column «{reading.names['kind']}» has "
            f"{str(value)[:60]!r}, which is neither of {', '.join(KINDS)}",
            f'correct the column, or write a mapping file: [kinds] "{str(value)[:60]}" = "…", '
            f"which is one of {', '.join(KINDS)}",
        )
    return kind


def _kind(value: Any, given: Mapping[str, Kind]) -> Kind | None:
    name = plain(str(value)).removesuffix("sentence")
    ours = next((kind for kind in KINDS if kind.removesuffix("sentence") == name), None)
    return given.get(key_of(value), ours)


def type_column(part: Part, given: Mapping[str, Kind]) -> str | None:
    """The column «type» if all its values are kinds; other files have other types there."""
    for column in part.columns():
        values = [row.values[column] for row in part.rows if row.values.get(column) is not None]
        if plain(column) == "type" and values and all(_kind(value, given) for value in values):
            return column
    return None


def fill_words(reading: Reading, raw_items: Sequence[RawItem], kinds: Sequence[Kind]) -> None:
    """Put the words of options into their contexts; sentences stay as they are."""
    with_gap = [
        raw
        for raw, kind in zip(raw_items, kinds, strict=True)
        if ITEMS[kind].has_gap and raw.whole is None and isinstance(raw.sentences, list)
    ]
    options = reading.mapping.options if reading.mapping else None
    unknown = options is None and reading.words is None
    are_words = options == "words" or (unknown and _are_words(with_gap))
    for raw in with_gap:
        context = raw.values.get("context")
        for sentence in sentences_of({"sentences": raw.sentences}):
            text = sentence.pop("word", None)
            if are_words and text is None:
                text = sentence.get("sentence")
            if isinstance(text, str) and isinstance(context, str) and text.strip():
                fits = BLANK in context and not gap_in(context)
                sentence["sentence"] = fill(context, text) if fits else text
    for raw in raw_items:
        for sentence in sentences_of({"sentences": raw.sentences}):
            if "word" in sentence:
                sentence["sentence"] = sentence.pop("word")


def _are_words(raw_items: Sequence[RawItem]) -> bool:
    """Whether the options are words: on average less than half as long as their contexts."""
    options = contexts = 0
    for raw in raw_items:
        context = str(raw.values.get("context"))
        for sentence in sentences_of({"sentences": raw.sentences}):
            text = sentence.get("sentence")
            if isinstance(text, str) and BLANK in context:
                options += len(text)
                contexts += len(context)
    return options < SHORT * contexts
