"""The words of tables that people fill in: headings, hints, and what words in cells mean.

``annotation_configs/tables/<language>.toml`` has them, one file per language with the same sections
and keys. A campaign can change them in its own ``2-rounds/text.toml``, and a round keeps the words
with which it was planned in ``texts.json``. ``{blank}`` in them is the language's word for the gap.

Tables are read whatever the language of the campaign is: a heading or a label in any shipped
language has its meaning, and so have the words of the round's own texts.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.kinds import ACTIONS, GOLDS, LABELS
from curation.records import FLAGS, VALUES, Fields, Value
from curation.text.item_form import BLANK

Sections = dict[str, Fields]
"""Texts by section and key: a text, or a list of texts."""

Space = Literal["column", "label", "decision", "flag", "reason", "answer"]
"""What a word can name; the same word may be a heading and a label."""

FIRST = "en"  # the language whose file defines which sections and keys there are
SPACES: tuple[Space, ...] = ("column", "label", "decision", "flag", "reason", "answer")
PROMPTS = "prompts"  # the section of a campaign's own texts with the prompts of chat models
LONGEST = 200  # characters of a word; longer cells are texts
YES, NO, OTHER = "yes", "no", "other"  # the names of the space «answer»
MACHINE = ("answer_id", "updated_at", "as_sent", "item_id", "date_order")
"""Columns whose canonical names tables show in every language."""
SPELLED = {"anti_stereotype": "anti-stereotype"}  # names of labels that are not keys of TOML
FORM: dict[Space, dict[str, tuple[str, str]]] = {
    "label": {name: ("validation", name.replace("-", "_")) for name in GOLDS},
    "decision": {name: ("review", name) for name in ACTIONS},
    "flag": {name: ("validation", name) for name in FLAGS},
    "reason": {
        name: ("review", name)
        for name in (
            "unknown",
            "not_a_group",
            "insult",
            "too_general",
            "wrong_word",
            "other_reason",
        )
    },
    "answer": {OTHER: ("review", "into_other")},
}
"""Section and key of the words that a round's form shows, by space and canonical name."""
SPACE_OF: dict[str, Space] = {
    **dict.fromkeys(LABELS, "label"),
    "decision": "decision",
    "flags": "flag",
    "reasons": "reason",
}
"""The fields of forms whose values are chosen from a list, and what these values name."""
SEVERAL = ("flags", "reasons")
"""Those that can have several values."""

_ENDS = " \t\r\n.。:：?？؟!"
_GAPS = re.compile(r"[\s_\-‐‑‒–—−]+")
# Vowel points and hamzas above or below a letter, the tatweel, and marks that cannot be seen.
_POINTS = re.compile(
    "[\u064b-\u0655\u0670\u0640\u00ad\u061c\u200b-\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069]"
)
# Letters that people write for each other: ta marbuta and ha; ya without dots and Persian letters.
_LETTERS = str.maketrans("ةىیک", "هييك")


def key(word: str) -> str:
    """The normalised form of a word; ways to write it share it.

    Case, full and half width, Arabic vowel points, hamzas and tatweel, ta marbuta or ha, invisible
    marks, hyphens, spaces, underscores and punctuation at the ends make no difference.

    >>> key("Anti_Stereotype."), key("ＬＡＢＥＬ １") == key("label_1"), key("صُورة") == key("صـورة")
    ('antistereotype', True, True)
    >>> key("صوره نمطيه") == key("صورة نمطية")
    True
    """
    plain = unicodedata.normalize("NFKD", word).casefold().translate(_LETTERS)
    return _GAPS.sub("", _POINTS.sub("", plain).strip(_ENDS))


# --- the files ------------------------------------------------------------------------------


def languages() -> list[str]:
    """The languages whose words are shipped."""
    return sorted(path.stem for path in shipped("annotation_configs", "tables").glob("*.toml"))


def nearest(language: str) -> str | None:
    """The shipped language of a language code: its own, or that of its base; None if none is."""
    known = languages()
    return next((code for code in (language, language.split("-")[0]) if code in known), None)


@cache
def read_shipped(folder: Literal["text", "tables", "report"], language: str) -> Sections:
    """A shipped file of texts as it is, with ``{blank}`` and other placeholders.

    Do not change the result.

    Args:
        folder: ``text`` for what forms and pages show, ``tables`` for the words of tables,
            ``report`` for the strings of the report.
        language: a language whose texts are shipped.

    Raises:
        CurationError: the file is damaged.
    """
    path = shipped("annotation_configs", folder, f"{language}.toml")
    return read_toml(path, fix="install curation again")


@cache
def shipped_texts(language: str) -> Sections:
    """The table texts in a language, or in English if they are not shipped. Do not change them.

    Args:
        language: a language code; ``en-GB`` uses ``en`` if it has no file.

    Raises:
        CurationError: the file is damaged.
    """
    name = nearest(language) or FIRST
    return with_blank(read_shipped("tables", name), blank_word(read_shipped("text", name)))


def blank_word(texts: Sections) -> str:
    """The word for the gap in a sentence in the language of some texts; by default BLANK."""
    return str(texts.get("writing", {}).get("blank", BLANK))


def with_blank(texts: Sections, word: str) -> Sections:
    """Texts with the word for the gap in the place of ``{blank}``."""

    def fill(text: str | list[str]) -> str | list[str]:
        lines = [text] if isinstance(text, str) else text
        filled = [line.replace("{blank}", word) for line in lines]
        return filled[0] if isinstance(text, str) else filled

    return {section: {k: fill(text) for k, text in keys.items()} for section, keys in texts.items()}


def has_own_headings(texts: Sections, language: str) -> bool:
    """Whether the tables of a round have headings in the campaign's language.

    Args:
        texts: the texts of the round.
        language: the campaign's language code.
    """
    base = language.split("-")[0]
    english = with_blank(read_shipped("tables", FIRST), blank_word(texts))
    return base == FIRST or texts["heading"] != english["heading"]


def wrong_text(texts: Mapping[str, Any]) -> str | None:
    """The first field of a round's texts that is missing or of another form, as ``section.key``.

    Args:
        texts: the texts of a round, as a file has them.
    """
    for section, keys in texts.items():
        if not isinstance(keys, dict):
            return section
        known = shipped_texts(FIRST).get(section, {})
        for name, text in keys.items():
            lines = text if isinstance(text, list) else [text]
            if not all(isinstance(line, str) for line in lines):
                return f"{section}.{name}"
            if name in known and type(known[name]) is not type(text):
                return f"{section}.{name}"
    for section, known in shipped_texts(FIRST).items():
        for name in known:
            if name not in texts.get(section, {}):
                return f"{section}.{name}"
    form = [place for places in FORM.values() for place in places.values()]
    strange = (f"{s}.{k}" for s, k in form if not isinstance(texts.get(s, {}).get(k, ""), str))
    return next(strange, None)


# --- what tables show -----------------------------------------------------------------------


def offered_words(texts: Sections) -> dict[Space, dict[str, str]]:
    """The words that the tables of a round show, by space and canonical name.

    Headings come from ``[heading]``, values from the round's form. If a word is also a name or
    the word of something else in its space, the canonical name is shown instead.

    Args:
        texts: the round's texts.
    """
    words: dict[Space, dict[str, str]] = {
        space: {name: texts[s][k] for name, (s, k) in places.items() if k in texts.get(s, {})}
        for space, places in FORM.items()
    }
    words["column"] = dict(texts["heading"])
    # Forms have boxes to tick, not these two: a table shows the first word that is read.
    lists = texts["answer_words"]
    words["answer"] |= {name: next(iter(lists[name]), name) for name in (YES, NO)}
    return {space: _distinct(words[space], _names(space, texts)) for space in SPACES}


def _names(space: Space, texts: Sections) -> list[str]:
    """The canonical names in a space."""
    names = [*texts[f"{space}_words"]]
    if space == "column":
        return [*names, *texts["heading"], *MACHINE]
    return [SPELLED.get(name, name) for name in names] if space == "label" else names


def _distinct(words: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The words; or the canonical name if a word is too long, or names something else, too."""
    owners = {key(name): [name] for name in names if name not in words}
    for name, word in words.items():
        for each in {key(word), key(name)}:
            owners.setdefault(each, []).append(name)
    return {
        name: word if key(word) and len(word) <= LONGEST and owners[key(word)] == [name] else name
        for name, word in words.items()
    }


# --- what words mean ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Words:
    """What words in tables mean.

    Attributes:
        meanings: by space, the canonical name of each normalised word.
        blank: what people may write for BLANK.
    """

    meanings: Mapping[Space, Mapping[str, str]]
    blank: str = BLANK

    def read(self, space: Space, word: str) -> str | None:
        """The canonical name that a word means in a space, or None.

        >>> shipped_words().read("label", "Tidak berkaitan"), shipped_words().read("column", "語")
        ('unrelated', 'term')
        """
        return _read(self, space, word) if len(word) <= LONGEST else None


@lru_cache(maxsize=20_000)
def _read(words: Words, space: Space, word: str) -> str | None:
    return words.meanings[space].get(key(word))


@cache
def shipped_words() -> Words:
    """What words mean in tables that do not belong to a round: those of all shipped languages."""
    meanings: dict[Space, dict[str, str]] = {space: {} for space in SPACES}
    for language in languages():
        with_name = with_blank(read_shipped("tables", language), BLANK)
        for space, word, name in (*aliases(shipped_texts(language)), *aliases(with_name)):
            meanings[space].setdefault(key(word), name)
    return Words(meanings)


@cache
def canonical_words(blank: str = BLANK) -> Words:
    """What words mean in answers that have canonical names only.

    Args:
        blank: the round's word for the gap, which people may have typed.

    >>> canonical_words().read("label", "unrelated"), canonical_words().read("label", "无关")
    ('unrelated', None)
    """
    english = shipped_texts(FIRST)
    names = {space: {key(name): name for name in _names(space, english)} for space in SPACES}
    return Words(names, blank)


_VALUES: dict[str | None, Value] = {value: value for value in VALUES}


def read_label(text: str, words: Words | None = None) -> Value | None:
    """The label that a text names, or None. Words of every shipped language are read.

    Args:
        text: the text; case, spaces and hyphens make no difference.
        words: the words of a round, if its own texts have other names for labels.

    >>> read_label(" Anti_Stereotype."), read_label("meaningless"), read_label("bad")
    ('anti-stereotype', 'unrelated', None)
    >>> read_label("antistereotip"), read_label("صورة نمطية"), read_label("無関係")
    ('anti-stereotype', 'stereotype', 'unrelated')
    """
    return _VALUES.get((words or shipped_words()).read("label", text))


def round_words(texts: Sections) -> Words:
    """What words mean in a round's tables: what the round shows and reads, then what is shipped.

    Args:
        texts: the round's texts.
    """
    own = [
        (s, word, name) for s, words in offered_words(texts).items() for name, word in words.items()
    ]
    meanings: dict[Space, dict[str, str]] = {space: {} for space in SPACES}
    names = {space: {key(name): name for name in _names(space, texts)} for space in SPACES}
    for space, word, name in (*own, *aliases(texts)):
        # Nothing else has a canonical name, and an empty cell has no meaning.
        if key(word) and names[space].get(key(word), name) == name:
            meanings[space].setdefault(key(word), name)
    known = shipped_words().meanings
    whole = {space: {**known[space], **meanings[space]} for space in SPACES}
    return Words(whole, blank_word(texts))


def aliases(texts: Sections) -> Iterator[tuple[Space, str, str]]:
    """The words of one language that are read: the space, a word, and its canonical name."""
    for name, word in texts["heading"].items():
        yield "column", word, name
    for space in SPACES:
        for name, words in texts[f"{space}_words"].items():
            canonical = SPELLED.get(name, name) if space == "label" else name
            yield from ((space, word, canonical) for word in _with_name(name, words, space))


def _with_name(name: str, words: Iterable[str], space: Space) -> Iterator[str]:
    if space != "column":  # canonical headings are known where tables are read
        yield name
    yield from words
