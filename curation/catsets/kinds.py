"""The kind of items whose file does not say it, and words that fill a BLANK."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.blank import BLANK
from curation.catsets.entries import Part, sentences_of
from curation.catsets.gaps import gap_in, gap_of, with_blank
from curation.catsets.headings import plain
from curation.catsets.labels import key_of
from curation.catsets.layouts import RawItem, Reading
from curation.files import CurationError
from curation.item_form import fill, filler
from curation.records import KINDS, Kind
from curation.wording import amount

NEARLY = 0.9  # the share of contexts with BLANK from which on the others have lost theirs
SHORT = 0.5  # options of less than this part of their contexts' length are words
_SHOWN = 8


def kinds_of(reading: Reading, raw_items: Sequence[RawItem]) -> list[Kind]:
    """The kind of each item: as the file or the mapping file says, or else by BLANK or another gap.

    If nearly all contexts have BLANK, or the layout has words that fill it, all items are
    intrasentence: the others have lost their BLANK, as happens in translations. If nearly none has
    it, those that have it are intrasentence only if an option fits its context.
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
        by_blank: Kind = "intrasentence" if number in blank else "intersentence"
        kinds[number] = by_blank
        if nearly_all and number not in blank:
            kinds[number] = "intrasentence"
        elif nearly_none and number in blank and not _fits(raw_items[number]):
            kinds[number] = "intersentence"
        if kinds[number] != by_blank:
            odd.append(raw_items[number])
    if odd:
        ids = ", ".join(str(raw.values.get("id", raw.where))[:60] for raw in odd[:_SHOWN])
        read_as = (
            "without BLANK: read as intrasentence"
            if nearly_all
            else "with BLANK: read as intersentence"
        )
        reading.notes.append(f"{amount(len(odd), 'context')} {read_as}, like the others ({ids})")
    return [kind or "intersentence" for kind in kinds]


def _fits(raw: RawItem) -> bool:
    """Whether an option is a word for the BLANK, or repeats the words around it."""
    context = str(raw.values.get("context"))
    context = with_blank(context, gap_of(_item(raw)) or BLANK)
    texts = [sentence.get("sentence") for sentence in sentences_of({"sentences": raw.sentences})]
    return any(
        isinstance(text, str) and (len(text.split()) == 1 or filler(context, text) is not None)
        for text in texts
    )


def _item(raw: RawItem) -> dict[str, Any]:
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
            "correct the column, or write a mapping file: [kinds] and "
            f'"{str(value)[:60]}" = "intrasentence", or kind = "intrasentence" for all items',
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
    intra = [raw for raw, kind in zip(raw_items, kinds, strict=True) if kind == "intrasentence"]
    intra = [raw for raw in intra if raw.whole is None and isinstance(raw.sentences, list)]
    options = reading.mapping.options if reading.mapping else None
    unknown = options is None and reading.words is None
    are_words = options == "words" or (unknown and _are_words(intra))
    for raw in intra:
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


def _are_words(intra: Sequence[RawItem]) -> bool:
    """Whether the options are words: on average less than half as long as their contexts."""
    options = contexts = 0
    for raw in intra:
        context = str(raw.values.get("context"))
        for sentence in sentences_of({"sentences": raw.sentences}):
            text = sentence.get("sentence")
            if isinstance(text, str) and BLANK in context:
                options += len(text)
                contexts += len(context)
    return options < SHORT * contexts
