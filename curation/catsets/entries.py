"""What is read from a set of CATs: items, columns, ids, labels and gaps, by published names."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.formats.table_words import read_label
from curation.formats.toml_files import shipped_table
from curation.kinds import FOLLOWED, ITEMS, Kind
from curation.records import Fields
from curation.text.item_form import BLANK, filler
from curation.text.rules import stable_id


class Entry(NamedTuple):
    """One item in StereoSet's form, and its place in the file."""

    kind: Kind
    where: str
    item: Fields


@dataclass(frozen=True)
class Dataset:
    """The items of a set of CATs.

    Attributes:
        entries: the items, in the order of the file; they may be faulty.
        layout: the name of the layout.
        notes: what users should know of how the file was read, one sentence each.
        skip_bad: whether the mapping file says to leave out items that are not CATs.
        curation: the field ``curation`` of a release's file, unchecked.
    """

    entries: list[Entry]
    layout: str
    notes: tuple[str, ...] = ()
    skip_bad: bool = False
    curation: Any = field(default_factory=dict)


class Row(NamedTuple):
    """A row of a table, or a JSON object: its place in the file, and its values by column."""

    where: str
    values: Fields


@dataclass(frozen=True)
class Part:
    """Rows that are together in a file, such as the items of one kind.

    Attributes:
        rows: the rows.
        kind: the kind of all of them, if their place says it.
        classes: the names of integer labels by column, if the file declares them.
        whole: whether these are items of StereoSet's own JSON, whose other fields are kept.
        by_label: whether the rows were in a list for each gold label.
        header: the columns, if the file lists them itself.
    """

    rows: list[Row]
    kind: Kind | None = None
    classes: dict[str, list[str]] = field(default_factory=dict)
    whole: bool = False
    by_label: bool = False
    header: tuple[str, ...] = ()

    def columns(self) -> list[str]:
        """The columns, in order of appearance."""
        named = (column for row in self.rows for column in row.values)
        return list(dict.fromkeys((*self.header, *named)))


def sentences_of(item: Fields) -> list[Fields]:
    """The sentences of an item that are objects; none if it has no list of them."""
    sentences = item.get("sentences")
    return [s for s in sentences if isinstance(s, dict)] if isinstance(sentences, list) else []


NAMES: Mapping[str, tuple[str, ...]] = {
    name: tuple(others) for name, others in shipped_table("catsets", "columns.toml").items()
}
"""Our name of each column, and other names of it; compared without case, spaces and signs."""
IN_SENTENCES = ("sentence_id", "sentence", "word", "gold_label", "labels")
"""Columns that layouts with a list of sentences have inside each sentence."""


def plain(heading: str) -> str:
    """A heading as it is compared.

    >>> plain("Anti-stereotype Sentence") == plain("anti_stereotype_sentence")
    True
    """
    return re.sub(r"[\s_‐‑–—-]+", "", unicodedata.normalize("NFKC", heading)).casefold()


_PLAIN = {
    name: [plain(name), *(plain(other) for other in others)] for name, others in NAMES.items()
}


def resolve(columns: Iterable[str], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The column of the file for each of our names, as far as it has one.

    Args:
        columns: the columns of the file.
        given: the column for each of our names in a mapping file; these go before.

    >>> resolve(["Bias Type", "ID", "notes"])
    {'id': 'ID', 'domain': 'Bias Type'}
    """
    by_plain: dict[str, str] = {}
    for column in columns:
        by_plain.setdefault(plain(column), column)
    given = given or {}
    taken = {column for name, column in given.items() if name != "target_original"}
    chosen = {}
    for name, others in _PLAIN.items():
        if name in given:
            chosen[name] = given[name]
            continue
        for other in others:
            if other in by_plain and by_plain[other] not in taken:
                chosen[name] = by_plain[other]
                taken.add(by_plain[other])
                break
    return chosen


def is_by_label(value: object) -> bool:
    """Whether a value is an object whose keys are gold labels."""
    return (
        isinstance(value, dict)
        and 0 < len(value) <= 4
        and all(isinstance(key, str) and read_label(key) for key in value)
    )


GOLD_ORDER = ("anti-stereotype", "stereotype", "unrelated")
"""The integers of ``gold_label`` in the Hugging Face layout, as its dataset card documents them."""
LABEL_ORDER = (*GOLD_ORDER, "related")
"""The integers of ``label`` in the same layout."""


HIDDEN = "hidden"
"""The gold label of a hidden CAT in a release; in the Hugging Face layout, it is -1."""


def is_hidden(value: Any) -> bool:
    """Whether a gold label in a file says that it is not published.

    >>> is_hidden("hidden"), is_hidden(-1), is_hidden("stereotype")
    (True, True, False)
    """
    return type(value) in (str, int) and key_of(value) in (HIDDEN, "-1")


def hidden_error(where: str) -> CurationError:
    """The error of a place whose gold labels are hidden."""
    return CurationError(
        f"{where}: the gold labels are hidden; this needs the gold labels",
        "use the test.json of the release in which they are revealed (VERSION-revealed); the team "
        "of the dataset can use its 7-release/gold-VERSION.jsonl",
    )


def key_of(value: Any) -> str:
    """A value of a file as a mapping file's key names it."""
    return str(value).strip().casefold()


def our_label(value: Any, given: Mapping[str, str], order: Sequence[str] = ()) -> Any:
    """A label in our words; a value that is not known stays as it is.

    Args:
        value: the label in the file.
        given: the labels of a mapping file, by ``key_of``.
        order: the names of integers.

    >>> our_label(0, {}, GOLD_ORDER), our_label("estereotipo", {"estereotipo": "stereotype"})
    ('anti-stereotype', 'stereotype')
    >>> our_label(7, {}, GOLD_ORDER), our_label("Anti_Stereotype", {}), our_label(["unrelated"], {})
    (7, 'anti-stereotype', 'unrelated')
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        if key_of(value) in given:
            return given[key_of(value)]
        if isinstance(value, int) and 0 <= value < len(order):
            name = order[value]
            return given.get(key_of(name)) or read_label(name) or name
    if isinstance(value, str):
        return read_label(value) or value
    return value


def our_votes(
    labels: Any, given: Mapping[str, str], order: Sequence[str] = (), voter: str = ""
) -> Any:
    """The votes of a sentence as a list of objects, with the labels in our words.

    Args:
        labels: a list of objects, an object of lists, or either as JSON; anything else is kept.
        given: as for ``our_label``.
        order: as for ``our_label``.
        voter: the field that says who gave a vote, if it is not ``human_id``.

    >>> our_votes({"label": [1], "human_id": ["p1"]}, {}, LABEL_ORDER)
    [{'label': 'stereotype', 'human_id': 'p1'}]
    """
    labels = parse_cell(labels)
    if isinstance(labels, dict):
        rows = rows_of_lists(labels)
        labels = labels if rows is None else rows
    if not isinstance(labels, list):
        return labels
    votes = []
    for vote in labels:
        if isinstance(vote, dict) and "label" in vote:
            vote = {**vote, "label": our_label(vote["label"], given, order)}
        if isinstance(vote, dict) and voter in vote:
            vote = {**vote, "human_id": vote[voter]}
        votes.append(vote)
    return votes


def rows_of_lists(columns: Mapping[str, Any]) -> list[Fields] | None:
    """An object of lists as a list of objects; None if it is not one, or they differ in length.

    >>> rows_of_lists({"a": [1, 2], "b": [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    lists = {name: value for name, value in columns.items() if isinstance(value, list)}
    lengths = {len(value) for value in lists.values()}
    if len(lengths) != 1 or len(lists) != len(columns):
        return None
    return [{name: value[index] for name, value in lists.items()} for index in range(lengths.pop())]


def parse_cell(cell: Any) -> Any:
    """A cell that is a list or an object written as JSON, as that list or object."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


MADE = "made from the texts"
"""How the note of ``with_ids`` ends."""


def with_ids(entries: list[Entry], notes: list[str]) -> list[Entry]:
    """The items with ids; if no item or no sentence of a file has one, they are made.

    The same content always gives the same ids; what is there twice gets different ones.
    """
    no_items = entries and all(entry.item.get("id") is None for entry in entries)
    all_sentences = [s for entry in entries for s in sentences_of(entry.item)]
    no_sentences = all_sentences and all(s.get("id") is None for s in all_sentences)
    if not no_items and not no_sentences:
        return entries
    made = [word for word, lacks in (("items", no_items), ("sentences", no_sentences)) if lacks]
    notes.append(f"no ids of {' and '.join(made)}: {MADE}")
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


def in_order_of_ids(entry: Entry) -> Entry:
    """An item with its sentences in an order that says nothing about their gold labels.

    For layouts that name sentences by their gold labels: a fixed order would make the first
    sentence of each item the same label's, which models and baselines must not see.
    """
    sentences = entry.item.get("sentences")
    if not isinstance(sentences, list) or len(sentences_of(entry.item)) < len(sentences):
        return entry
    ordered = sorted(sentences, key=lambda sentence: stable_id("order", str(sentence.get("id"))))
    return entry._replace(item={**entry.item, "sentences": ordered})


def _new_id(prefix: str, seen: Counter[str], *parts: str) -> str:
    name = stable_id(prefix, *parts)
    seen[name] += 1
    return name if seen[name] == 1 else stable_id(prefix, *parts, str(seen[name]))


def _texts(item: Fields) -> list[str]:
    own = [str(item.get(name)) for name in ("bias_type", "target", "context")]
    return [*own, *sorted("\x1e".join(_words(sentence)) for sentence in sentences_of(item))]


def _words(sentence: Fields) -> tuple[str, str]:
    return str(sentence.get("gold_label")), str(sentence.get("sentence"))


_FORMS = (
    r"[_*＿]+BLANK[_*＿]+|[(（]\s*(?i:blank|mask|gap)\s*[)）]",
    r"[\[<{［＜｛【]+[\s|/]*(?i:(?:\w+_)?(?:blank|mask|gap)(?:[\s_-]*\d+)?|m)[\s|/]*[\]>}］＞｝】]+",
    r"<extra_id_\d+>|@placeholder",  # of T5; of ReCoRD
    r"[(（]\s+[)）]|\[\s*\]|\{\s*\d?\s*\}",
    r"[_＿]{3,}|(?<!\S)_{1,2}(?:\s_{1,2})*(?!\w)",
)
"""What marks a gap and is never ordinary text; «…» and «[...]» also mark words left out."""
_GAP = re.compile("|".join(_FORMS))
_SIGN = re.compile(r"[A-Z]{2,}\W*|[^\w\s]+")


def gap_in(context: Any) -> str:
    """The form of a context's gap if it is not BLANK alone; empty if there is none.

    >>> gap_in("The ____ baker."), gap_in("A <mask> baker."), gap_in("The [BLANK] baker.")
    ('____', '<mask>', '[BLANK]')
    >>> gap_in("The BLANK baker wrote ____."), gap_in("Her snake_case [sic] …"), gap_in("«BLANK»")
    ('', '', '')
    """
    forms = [match[0] for match in _GAP.finditer(str(context))]
    return next((form for form in forms if BLANK in form or BLANK not in str(context)), "")


def with_blank(context: str, *forms: str) -> str:
    """A context with BLANK for each gap; a form of one sign, such as ___, is also a longer one.

    >>> with_blank("The ____ baker.", "___"), with_blank("The [MASK] baker.", "___", "[MASK]")
    ('The BLANK baker.', 'The BLANK baker.')
    """
    for form in sorted(forms, key=len, reverse=True):
        more = re.escape(form[0]) + "*" if len(set(form)) == 1 else ""
        context = re.sub(re.escape(form) + more, BLANK, context)
    return context


def gap_of(item: Fields) -> str:
    """The gap of an item's context that is not BLANK alone: as ``gap_in``, or a word of its own.

    A word in capitals or without letters, such as GAP or «...», is the gap if every sentence
    repeats the context with other words in its place.
    """
    context = str(item.get("context"))
    texts = [str(sentence.get("sentence")) for sentence in sentences_of(item)]
    words = context.split()
    if BLANK in context or gap_in(context) or not texts or len(words) < 3:
        return gap_in(context)
    for at, word in enumerate(words):
        with_gap = " ".join([*words[:at], BLANK, *words[at + 1 :]])
        if _SIGN.fullmatch(word) and all(filler(with_gap, text) is not None for text in texts):
            return word.strip(".,;:!?。、") or word
    return ""


def undeclared_gap(kind: Kind, item: Fields) -> str:
    """The gap of an item's context that is not BLANK, or that BLANK is only a part of.

    A form that a sentence repeats belongs to the text.
    """
    context = str(item.get("context"))
    texts = [str(sentence.get("sentence")) for sentence in sentences_of(item)]
    repeated = any(filler(context, text) is not None for text in texts)
    return "" if repeated or not ITEMS[kind].has_gap else gap_of(item)


def how_to_declare(form: str) -> str:
    """What to do about a gap that is not BLANK."""
    line = f"blank = {json.dumps(form, ensure_ascii=False)}"
    kind = FOLLOWED.name
    return f'write a mapping file with {line}, or kind = "{kind}" if this is ordinary text'
