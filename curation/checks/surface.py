"""Checks of one item's form: what is wrong with its texts, and how its associations compare.

Nothing here needs more than the base install. A check that needs a word list is made where the
language has one (``data/words/pitfalls.csv``, or a team's own); ``unchecked`` names the others.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from curation.blank import BLANK
from curation.checks.codes import CASED, PITFALLS
from curation.checks.content import meta_text
from curation.checks.lists import Lists, in_small
from curation.records import Gold, Kind
from curation.rules import filler, flaws, left, same_text
from curation.words import UNSPACED, WORD, base

UNMARKED = {"lo", "th"}
"""Languages whose sentences end without a mark."""
JOINING = UNSPACED | {"ar", "fa", "he", "ko", "ku", "ps", "sd", "ug", "ur"}
"""Languages that join articles or particles to a word: that it stands whole says nothing."""
UNCASED = {
    *("am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "km", "kn"),
    *("ko", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sd", "si", "ta", "te", "th", "ti"),
    *("ug", "ur", "yi", "yue", "zh"),
}
"""Languages whose letters have no capitals."""
MARKS = frozenset(".!?…‽。．！？؟۔।॥።፧;։།။។:")
CLOSERS = "\"'“”„«»‹›‘’)]}」』）*~ \t\r\n"
MANY = 2  # times the shortest sentence, from which on lengths differ too much
DIGITS = 9  # of a telephone number at least; two years have eight
_SMALL_LEFT = re.compile(r"(?<!\w)THE blank (?=\w)|_{3,}")
_SPACES = re.compile(r"[^\S\n]{2,}|^\s|\s$")
_CONTACT = re.compile(
    # Begun inside a long word, the search for its end would be made once for each letter.
    r"(?P<mail>(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+)"
    r"|(?P<web>https?://\S+|www\.\w\S+|(?<![\w-])[\w-]+\.(?:com|org|net|edu|gov|info|io)\b)"
    r"|(?P<telephone>(?<![\w.])\+?\(?\d[\d ()./-]{7,}\d(?![\w]))"
)
_ARTICLE = re.compile(r"(?<![\w'’.-])([Aa]n?)\s+([^\W\d_][\w'’]*)")


class Finding(NamedTuple):
    """A pitfall: its code, which association (None: the item), and what is wrong there."""

    code: str
    at: int | None
    detail: str


class Asked(NamedTuple):
    """The item that is checked, with what its associations are or are meant to be."""

    kind: Kind
    domain: str
    target: str
    context: str
    sentences: tuple[str, str, str]
    golds: tuple[Gold | None, ...] = (None, None, None)
    also: tuple[
        str, ...
    ] = ()  # other names of the target: what it was called when this was written

    def place(self, gold: Gold) -> int | None:
        """Which association is the stereotype, anti-stereotype or unrelated one."""
        return self.golds.index(gold) if gold in self.golds else None


class Read(NamedTuple):
    """An item with its texts read once for all checks; ``tokens`` are of small letters."""

    item: Asked
    lists: Lists
    blanks: int
    small: tuple[str, ...]
    tokens: tuple[list[str], ...]

    @property
    def pair(self) -> tuple[int, int] | None:
        """The stereotype's place and the anti-stereotype's, where both are known."""
        one, other = self.item.place("stereotype"), self.item.place("anti-stereotype")
        return None if one is None or other is None else (one, other)


def read(item: Asked, lists: Lists) -> Read:
    """Read the texts of an item: the context first, then its associations."""
    small = tuple(map(in_small, (item.context, *item.sentences)))
    blanks = item.context.count(BLANK) if item.kind == "intrasentence" else 0
    return Read(item, lists, blanks, small, tuple(WORD.findall(text) for text in small))


def check(
    what: Read,
    *,
    meta: Sequence[re.Pattern[str]] = (),
    name_target: bool = True,
    blank_alone: bool = True,
) -> list[Finding]:
    """What is wrong with an item's form.

    Args:
        what: the item, as ``read`` reads it with the word lists of its language.
        meta: what betrays text about the task, as from ``content.meta_patterns``.
        name_target: the context must name the target.
        blank_alone: BLANK must not touch a letter.

    >>> from curation.checks.lists import lists
    >>> texts = ("The baker is kind.", "The baker is unkind.", "the baker is a a pie.")
    >>> item = Asked("intrasentence", "profession", "baker", "The baker is BLANK.", texts)
    >>> [(found.code, found.at) for found in check(read(item, lists("en")))]
    [('capitals_lost', 2), ('capital_mixed', None), ('word_doubled', 2)]
    """
    found = list(_broken(what, name_target, blank_alone))
    for one in CHECKS:
        found += one(what)
    if meta:
        found += _meta(what, meta)
    return found


def unchecked(lists: Lists) -> dict[str, str]:
    """The codes of this module that cannot be checked in a language, and why not."""
    language = base(lists.language)
    why = {
        code: f"no list {name!r} for «{lists.language}»: write one into a file of your own"
        for code, names in NEEDS.items()
        for name in names
        if name not in lists
    }
    if language in UNMARKED:
        said = f"sentences in «{lists.language}» end without a mark"
        why |= dict.fromkeys(("punctuation_missing", "punctuation_mixed"), said)
    if language in UNSPACED:
        said = f"no space parts words in «{lists.language}»"
        why |= dict.fromkeys(("words_differ", "other_target", "word_doubled"), said)
    if language in UNCASED:
        said = f"«{lists.language}» has no capitals"
        codes = (code for code, about in PITFALLS.items() if about.languages == CASED)
        why |= dict.fromkeys(codes, said)
    if language in JOINING:
        why["target_inflected"] = f"«{lists.language}» joins articles or particles to words"
    if language != "en":
        why["article_wrong"] = "English articles only"
    return why


NEEDS: Mapping[str, tuple[str, ...]] = {
    "negation_one_sided": ("negation",),
    "pronouns_opposite": ("pronoun_female", "pronoun_male"),
    "word_doubled": ("doubled_right",),
}
"""The lists without which a check cannot be made."""


def _broken(what: Read, name_target: bool, blank_alone: bool) -> Iterator[Finding]:
    """What is wrong in any dataset."""
    item = what.item
    knobs = {"name_target": name_target, "blank_alone": blank_alone}
    called = (item.target, *item.also)
    for code, detail, at in flaws(item.kind, called, item.context, item.sentences, **knobs):
        yield Finding(code, at, detail)
    for at, text in enumerate((item.context, *item.sentences)):
        written = at or item.kind == "intersentence"
        if written and _SMALL_LEFT.search(text) and not left(text):
            yield Finding("blank_left", at - 1 if at else None, f"a blank is left in {text!r}")


def _meta(what: Read, patterns: Sequence[re.Pattern[str]]) -> Iterator[Finding]:
    item = what.item
    for at, text in enumerate((item.context, *item.sentences)):
        words = filler(item.context, text) if at and what.blanks else None
        if phrase := meta_text(words or text, patterns):
            yield Finding("meta_text", at - 1 if at else None, f"{phrase!r} in {text!r}")


def _target(what: Read) -> Iterator[Finding]:
    """The target is named in another form than its own."""
    item, target = what.item, what.item.target
    if target in item.context and _whole(target, item.context):
        return
    small, context = same_text(target), same_text(item.context)
    if small not in context:
        return
    if not _whole(small, context):
        if base(what.lists.language) not in JOINING:
            detail = f"{target!r} is part of a longer word in {item.context!r}"
            yield Finding("target_inflected", None, detail)
    elif target not in item.context and target[:1].upper() + target[1:] not in item.context:
        yield Finding("target_recased", None, f"{target!r} in other capitals: {item.context!r}")


def _whole(word: str, text: str) -> bool:
    """Whether a word stands in a text with no letter beside it, once at least."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


def _capitals(what: Read) -> Iterator[Finding]:
    """A sentence has small letters where its context has capitals; what fills BLANK aside."""
    if what.blanks != 1:
        return
    before, after = (" ".join(part.split()) for part in what.item.context.split(BLANK))
    for at, sentence in enumerate(what.item.sentences):
        text = " ".join(sentence.split())
        pairs = [(before, text[: len(before)]), (after, text[max(len(text) - len(after), 0) :])]
        lost = [
            f"{ours!r} for {theirs!r}"
            for theirs, ours in pairs
            if ours != theirs
            and ours.lower() == theirs.lower()
            and any(a.islower() and b != a for a, b in zip(ours, theirs, strict=False))
        ]
        if lost:
            yield Finding("capitals_lost", at, "; ".join(lost))


def _capital(what: Read) -> Iterator[Finding]:
    firsts = [next(filter(str.isalnum, text), "") for text in what.item.sentences]
    capital = {first.isupper() for first in firsts if first.lower() != first.upper()}
    if len(capital) > 1:
        yield Finding("capital_mixed", None, f"they begin with {', '.join(firsts)}")


def _punctuation(what: Read) -> Iterator[Finding]:
    if base(what.lists.language) in UNMARKED:
        return
    bare = [not MARKS & {text.rstrip(CLOSERS)[-1:]} for text in what.item.sentences]
    for at, sentence in enumerate(what.item.sentences):
        if bare[at]:
            yield Finding("punctuation_missing", at, f"…{sentence[-30:]!r}")
    if len(set(bare)) > 1:
        count = len(bare) - sum(bare)
        yield Finding("punctuation_mixed", None, f"{count} of {len(bare)} end with a mark")


def in_texts(what: Read, code: str, look: Callable[[int], set[str]]) -> Iterator[Finding]:
    """Findings of single texts; what a sentence has from its context is named once."""
    ours = look(0)
    for at in range(len(what.small)):
        found = look(at) if at else ours
        told = found - ours if at and what.item.kind == "intrasentence" else found
        for detail in sorted(told):
            yield Finding(code, at - 1 if at else None, detail)


def _doubled(what: Read) -> Iterator[Finding]:
    if "doubled_right" not in what.lists or base(what.lists.language) in UNSPACED:
        return
    right = what.lists.get("doubled_right").whole

    def look(at: int) -> set[str]:
        twice = {a for a, b in pairwise(what.tokens[at]) if a == b and not a.isdigit()}
        return {f"{a} {a}" for a in twice - right if f"{a} {a}" in what.small[at]}

    yield from in_texts(what, "word_doubled", look)


def _spaces(what: Read) -> Iterator[Finding]:
    for at, text in enumerate((what.item.context, *what.item.sentences)):
        if "  " in text or text != text.strip():
            found = _SPACES.search(text)
            where = text[max(found.start() - 15, 0) : found.end() + 15] if found else text
            yield Finding("space_doubled", at - 1 if at else None, repr(where))


def _contact(what: Read) -> Iterator[Finding]:
    texts = (what.item.context, *what.item.sentences)

    def look(at: int) -> set[str]:
        # No address without one of these, and the search is dear.
        if not re.search(r"[@:/]|www|\.\w|\d", texts[at]):
            return set()
        return {
            f"{found.lastgroup}: {found[0]}"
            for found in _CONTACT.finditer(texts[at])
            if found.lastgroup != "telephone" or sum(map(str.isdigit, found[0])) >= DIGITS
        }

    yield from in_texts(what, "contact_data", look)


def _articles(what: Read) -> Iterator[Finding]:
    if base(what.lists.language) != "en":
        return
    for at, sentence in enumerate(what.item.sentences):
        for article, word in _ARTICLE.findall(sentence):
            wanted = _article(word, sentence, what.lists)
            if wanted and wanted != article.lower():
                yield Finding("article_wrong", at, f"{article} {word}")


def _article(word: str, text: str, lists: Lists) -> str:
    """The English article before a word: ``a`` or ``an``; empty where both are heard."""
    small = word.lower().replace("’", "'")
    # Capitals alone are spelled out or not: who knows?
    if (word.isupper() and text != text.upper()) or len(small) == 1:
        return ""
    if lists.get("an_either").holds(small):
        return ""
    if small[0] in "aeiou":
        return "a" if lists.get("a_before").holds(small) else "an"
    return "an" if lists.get("an_before").holds(small) or not small[0].isascii() else "a"


def _lengths(what: Read) -> Iterator[Finding]:
    """Lengths in words, of Japanese and its like in characters."""
    unspaced = base(what.lists.language) in UNSPACED
    parts = what.small if unspaced else what.tokens
    lengths = [len(part) for part in parts[1:]]
    if max(lengths) >= MANY * min(lengths):
        yield Finding("lengths_differ", None, f"lengths {', '.join(map(str, lengths))}")
    if what.pair and not unspaced:
        one, other = (lengths[at] for at in what.pair)
        if one != other:
            yield Finding("words_differ", None, f"{one} and {other} words")
    unrelated = what.item.place("unrelated")
    if unrelated is not None and all(
        n > lengths[unrelated] for at, n in enumerate(lengths) if at != unrelated
    ):
        detail = f"unrelated {lengths[unrelated]}, of {', '.join(map(str, lengths))}"
        yield Finding("unrelated_shortest", None, detail)


def _negation(what: Read) -> Iterator[Finding]:
    if what.pair is None or "negation" not in what.lists:
        return
    found = [
        what.lists.first("negation", what.tokens[at + 1], what.small[at + 1]) for at in what.pair
    ]
    if (found[0] is None) != (found[1] is None):
        which = "stereotype" if found[0] else "anti-stereotype"
        yield Finding("negation_one_sided", None, f"{found[0] or found[1]!r} in the {which} alone")


def _pronouns(what: Read) -> Iterator[Finding]:
    lists = what.lists
    domain = same_text(what.item.domain)
    if what.pair is None or domain in lists.get("gender_domain").whole:
        return
    if any(name not in lists for name in NEEDS["pronouns_opposite"]):
        return
    said = []
    for at in what.pair:
        tokens, text = what.tokens[at + 1], what.small[at + 1]
        female, male = (lists.first(name, tokens, text) for name in NEEDS["pronouns_opposite"])
        said.append(None if (female is None) == (male is None) else (female or male, bool(female)))
    one, other = said
    if one and other and one[1] != other[1]:
        yield Finding("pronouns_opposite", None, f"{one[0]!r} against {other[0]!r}")


CHECKS: tuple[Callable[[Read], Iterator[Finding]], ...] = (
    *(_target, _capitals, _capital, _punctuation, _doubled, _spaces, _articles, _contact),
    *(_lengths, _negation, _pronouns),
)
