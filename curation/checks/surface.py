"""Checks of one item's form: errors in its texts, and differences between its associations.

These checks need only the base install. A check that reads a word list runs only if the language
has that list (``data/words/pitfalls.csv``, or a team's own). ``lists.unchecked`` names the
checks that do not run.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from curation.checks.content import ENDS, meta_text
from curation.checks.lists import JOINING, NEEDS, UNMARKED, Lists, in_small
from curation.kinds import ITEMS, Gold, Kind
from curation.text.item_form import (
    BLANK,
    controls,
    filler,
    flaws,
    has_blank_left,
    is_hyphenated,
    names_target,
)
from curation.text.rules import same_text
from curation.text.wording import in_words
from curation.text.words import AFFIXING, UNSPACED, base, split

MARKS = frozenset(".!?…‽。｡．！？؟۔।॥።፧;։།။។:")
CLOSERS = "\"'“”„«»‹›‘’)]}」』）*~ \t\r\n"
MANY = 2  # lengths differ too much from this ratio of longest to shortest sentence
DIGITS = 9  # the fewest digits of a telephone number; two years have eight
_SMALL_LEFT = re.compile(r"(?<!\w)THE blank (?=\w)|_{3,}")
_OPENERS = re.compile(r"^\W+")
_SPACES = re.compile(r"[^\S\n]{2,}|^\s|\s$")
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff]"  # kana and ideographs touch the numbers beside them
_CONTACT = re.compile(
    # Without the lookbehind, the search would start again at each letter of a long word.
    r"(?P<mail>(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+)"
    r"|(?P<web>https?://\S+|www\.\w\S+|(?<![\w-])[\w-]+\.(?:com|org|net|edu|gov|info|io)\b)"
    rf"|(?P<telephone>(?:(?<![\w.])|(?<={_UNSPACED}))"
    rf"\+?\(?\d[\d ()./-]{{7,}}\d(?:(?!\w)|(?={_UNSPACED})))"
)
_ADDRESS = re.compile(r"[@:/]|www|\.\w|\d")  # the full search is slow; every address has one
_ARTICLE = re.compile(r"(?<![\w'’.-])([Aa]n?)\s+([^\W\d_][\w'’]*)")


class Finding(NamedTuple):
    """A hit: its code, the index of the association (None: the item), and what is wrong there."""

    code: str
    at: int | None
    detail: str


class ItemTexts(NamedTuple):
    """The texts of an item to check, and the gold labels (or intents) of its associations.

    ``also`` has other names of the target: what it was called when the item was written.
    """

    kind: Kind
    domain: str
    target: str
    context: str
    sentences: tuple[str, ...]
    golds: tuple[Gold | None, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def has_gap(self) -> bool:
        """Whether the associations fill a BLANK in the context."""
        return ITEMS[self.kind].has_gap

    def place(self, gold: Gold) -> int | None:
        """The index of the association with a gold label, or None."""
        return self.golds.index(gold) if gold in self.golds else None


class ParsedItem(NamedTuple):
    """An item whose texts are split into words once for all checks.

    ``small`` and ``tokens`` are in lower case: the context first, then the associations.
    ``blanks`` is the number of BLANKs in a context with a gap, else 0.
    """

    item: ItemTexts
    lists: Lists
    blanks: int
    small: tuple[str, ...]
    tokens: tuple[list[str], ...]

    @property
    def pair(self) -> tuple[int, int] | None:
        """The indices of the stereotype and the anti-stereotype, if both are known."""
        stereotype, anti = self.item.place("stereotype"), self.item.place("anti-stereotype")
        return None if stereotype is None or anti is None else (stereotype, anti)


def read(item: ItemTexts, lists: Lists) -> ParsedItem:
    """Split the texts of an item into words: the context first, then its associations."""
    small = tuple(map(in_small, (item.context, *item.sentences)))
    blanks = item.context.count(BLANK) if item.has_gap else 0
    return ParsedItem(item, lists, blanks, small, tuple(map(split, small)))


def check(
    parsed: ParsedItem,
    *,
    meta: Sequence[re.Pattern[str]] = (),
    name_target: bool = True,
    blank_alone: bool = True,
) -> list[Finding]:
    """The pitfalls of an item's form.

    Args:
        parsed: the item, as from ``read`` with the word lists of its language.
        meta: the patterns of text about the task, as from ``content.meta_patterns``.
        name_target: the context must name the target.
        blank_alone: BLANK must not touch a letter.

    >>> from curation.checks.lists import lists
    >>> texts = ("The baker is kind.", "The baker is unkind.", "the baker is a a pie.")
    >>> item = ItemTexts("intrasentence", "profession", "baker", "The baker is BLANK.", texts)
    >>> [(finding.code, finding.at) for finding in check(read(item, lists("en")))]
    [('capitals_lost', 2), ('capital_mixed', None), ('word_doubled', 2)]
    """
    findings = list(_broken(parsed, name_target, blank_alone))
    for run_check in CHECKS:
        findings += run_check(parsed)
    if meta:
        findings += _meta(parsed, meta)
    return findings


def _broken(parsed: ParsedItem, name_target: bool, blank_alone: bool) -> Iterator[Finding]:
    """The pitfalls that are wrong in any dataset."""
    item = parsed.item
    settings = {"name_target": name_target, "blank_alone": blank_alone}
    targets = (item.target, *item.also)
    for code, detail, at in flaws(item.kind, targets, item.context, item.sentences, **settings):
        yield Finding(code, at, detail)
    if name_target and item.also and not names_target(item.context, item.target):
        old = next((name for name in item.also if names_target(item.context, name)), None)
        if old is not None:
            detail = f"{old!r}, not {item.target!r}, is in {item.context!r}"
            yield Finding("target_renamed", None, detail)
    for at, text in enumerate((item.context, *item.sentences)):
        if (at or not item.has_gap) and _SMALL_LEFT.search(text) and not has_blank_left(text):
            yield Finding("blank_left", at - 1 if at else None, f"a blank is left in {text!r}")


def _hyphen(parsed: ParsedItem) -> Iterator[Finding]:
    if parsed.blanks and base(parsed.lists.language) in AFFIXING:
        context = parsed.item.context
        if word := is_hyphenated(context):
            yield Finding("blank_hyphen", None, f"{word!r} in {context!r}")


def _directions(parsed: ParsedItem) -> Iterator[Finding]:
    texts = (parsed.item.context, *parsed.item.sentences)
    if target := controls(parsed.item.target):
        names = ", ".join(sorted(target))
        yield Finding("bidi_control", None, f"{names} in the target {parsed.item.target!r}")
    yield from in_texts(parsed, "bidi_control", lambda at: controls(texts[at]))


def _meta(parsed: ParsedItem, patterns: Sequence[re.Pattern[str]]) -> Iterator[Finding]:
    item = parsed.item
    for at, text in enumerate((item.context, *item.sentences)):
        words = filler(item.context, text) if at and parsed.blanks else None
        if phrase := meta_text(words or text, patterns):
            yield Finding("meta_text", at - 1 if at else None, f"{phrase!r} in {text!r}")


def _target(parsed: ParsedItem) -> Iterator[Finding]:
    """Contexts that name the target in another form."""
    item, target = parsed.item, parsed.item.target
    if target in item.context and _whole(target, item.context):
        return
    small, context = same_text(target), same_text(item.context)
    if small not in context:
        return
    if not _whole(small, context):
        if base(parsed.lists.language) not in JOINING:
            detail = f"{target!r} is part of a longer word in {item.context!r}"
            yield Finding("target_inflected", None, detail)
    elif target not in item.context and target[:1].upper() + target[1:] not in item.context:
        detail = f"{target!r} is capitalised differently in {item.context!r}"
        yield Finding("target_recased", None, detail)


def _whole(word: str, text: str) -> bool:
    """Whether a word occurs in a text at least once as a separate word."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


def _capitals(parsed: ParsedItem) -> Iterator[Finding]:
    """Sentences in which the context's capital letters are small; the BLANK's words are ignored."""
    if parsed.blanks != 1:
        return
    before, after = (" ".join(part.split()) for part in parsed.item.context.split(BLANK))
    for at, sentence in enumerate(parsed.item.sentences):
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


def _context_repeated(parsed: ParsedItem) -> Iterator[Finding]:
    """Associations that begin with the whole context, which a model reads before them anyway."""
    context, *texts = (
        _OPENERS.sub("", same_text(text)).rstrip(ENDS)
        for text in (parsed.item.context, *parsed.item.sentences)
    )
    if parsed.item.has_gap or not context:
        return
    repeats = [  # a letter or a vowel sign after it would be part of another word
        text.startswith(context)
        and unicodedata.category(text[len(context) :][:1] or " ")[0] not in "LMN"
        for text in texts
    ]
    if any(repeats):
        code = "context_repeated" if all(repeats) else "context_repeated_mixed"
        detail = f"{sum(repeats)} of {len(repeats)} begin with {parsed.item.context!r}"
        yield Finding(code, None, detail)


def _capital(parsed: ParsedItem) -> Iterator[Finding]:
    firsts = [next(filter(str.isalnum, text), "") for text in parsed.item.sentences]
    capital = {first.isupper() for first in firsts if first.lower() != first.upper()}
    if len(capital) > 1:
        yield Finding("capital_mixed", None, f"they begin with {', '.join(firsts)}")


def _punctuation(parsed: ParsedItem) -> Iterator[Finding]:
    if base(parsed.lists.language) in UNMARKED:
        return
    bare = [not MARKS & {text.rstrip(CLOSERS)[-1:]} for text in parsed.item.sentences]
    for at, sentence in enumerate(parsed.item.sentences):
        if bare[at]:
            yield Finding("punctuation_missing", at, f"…{sentence[-30:]!r}")
    if len(set(bare)) > 1:
        count = len(bare) - sum(bare)
        yield Finding("punctuation_mixed", None, f"{count} of {len(bare)} end with a mark")


def in_texts(parsed: ParsedItem, code: str, look: Callable[[int], set[str]]) -> Iterator[Finding]:
    """The findings of each text; a sentence does not repeat those of its context.

    Args:
        parsed: the item.
        code: the code of the findings.
        look: gives the details found in a text; 0 is the context, the others are associations.
    """
    of_context = look(0)
    for at in range(len(parsed.small)):
        details = look(at) if at else of_context
        if at and parsed.item.has_gap:
            details = details - of_context
        for detail in sorted(details):
            yield Finding(code, at - 1 if at else None, detail)


def _doubled(parsed: ParsedItem) -> Iterator[Finding]:
    if "doubled_right" not in parsed.lists or base(parsed.lists.language) in UNSPACED:
        return
    right = parsed.lists.get("doubled_right").whole

    def look(at: int) -> set[str]:
        twice = {a for a, b in pairwise(parsed.tokens[at]) if a == b and not a.isdigit()}
        return {f"{a} {a}" for a in twice - right if f"{a} {a}" in parsed.small[at]}

    yield from in_texts(parsed, "word_doubled", look)


def _spaces(parsed: ParsedItem) -> Iterator[Finding]:
    for at, text in enumerate((parsed.item.context, *parsed.item.sentences)):
        if "  " in text or text != text.strip():
            match = _SPACES.search(text)
            where = text[max(match.start() - 15, 0) : match.end() + 15] if match else text
            yield Finding("space_doubled", at - 1 if at else None, repr(where))


def _contact(parsed: ParsedItem) -> Iterator[Finding]:
    # Japanese also writes digits, hyphens and the at sign in full width.
    texts = [
        unicodedata.normalize("NFKC", text)
        for text in (parsed.item.context, *parsed.item.sentences)
    ]

    def look(at: int) -> set[str]:
        if not _ADDRESS.search(texts[at]):
            return set()
        return {
            f"{match.lastgroup}: {match[0]}"
            for match in _CONTACT.finditer(texts[at])
            if match.lastgroup != "telephone" or sum(map(str.isdigit, match[0])) >= DIGITS
        }

    yield from in_texts(parsed, "contact_data", look)


def _articles(parsed: ParsedItem) -> Iterator[Finding]:
    if base(parsed.lists.language) != "en":
        return
    for at, sentence in enumerate(parsed.item.sentences):
        for article, word in _ARTICLE.findall(sentence):
            right = _article(word, sentence, parsed.lists)
            if right and right != article.lower():
                yield Finding("article_wrong", at, f"{article} {word}")


def _article(word: str, text: str, lists: Lists) -> str:
    """The English article before a word: ``a`` or ``an``; empty if both are in use."""
    small = word.lower().replace("’", "'")
    # A word in capitals may be an abbreviation that is read letter by letter.
    if (word.isupper() and text != text.upper()) or len(small) == 1:
        return ""
    if lists.get("an_either").holds(small):
        return ""
    if small[0] in "aeiou":
        return "a" if lists.get("a_before").holds(small) else "an"
    return "an" if lists.get("an_before").holds(small) or not small[0].isascii() else "a"


def _lengths(parsed: ParsedItem) -> Iterator[Finding]:
    """Differences in length: in words, or in characters if words have no spaces between them."""
    unspaced = base(parsed.lists.language) in UNSPACED
    parts = parsed.small if unspaced else parsed.tokens
    lengths = [len(part) for part in parts[1:]]
    if max(lengths) >= MANY * min(lengths):
        yield Finding("lengths_differ", None, f"lengths {', '.join(map(str, lengths))}")
    if parsed.pair and not unspaced:
        stereotype, anti = (lengths[at] for at in parsed.pair)
        if stereotype != anti:
            yield Finding("words_differ", None, f"{stereotype} and {anti} words")
    unrelated = parsed.item.place("unrelated")
    if unrelated is not None and all(
        n > lengths[unrelated] for at, n in enumerate(lengths) if at != unrelated
    ):
        shown = ", ".join(map(str, lengths))
        detail = f"length {lengths[unrelated]}; all {in_words(len(lengths))}: {shown}"
        yield Finding("unrelated_shortest", None, detail)


def _negation(parsed: ParsedItem) -> Iterator[Finding]:
    if parsed.pair is None or "negation" not in parsed.lists:
        return
    stereotype, anti = (
        parsed.lists.first("negation", parsed.tokens[at + 1], parsed.small[at + 1])
        for at in parsed.pair
    )
    if (stereotype is None) != (anti is None):
        which = "stereotype" if stereotype else "anti-stereotype"
        yield Finding("negation_one_sided", None, f"{stereotype or anti!r} only in the {which}")


def _pronouns(parsed: ParsedItem) -> Iterator[Finding]:
    lists = parsed.lists
    domain = same_text(parsed.item.domain)
    if parsed.pair is None or domain in lists.get("gender_domain").whole:
        return
    if any(name not in lists for name in NEEDS["pronouns_opposite"]):
        return
    pronouns = []
    for at in parsed.pair:
        tokens, text = parsed.tokens[at + 1], parsed.small[at + 1]
        female, male = (lists.first(name, tokens, text) for name in NEEDS["pronouns_opposite"])
        clear = (female is None) != (male is None)
        pronouns.append((female or male, bool(female)) if clear else None)
    stereotype, anti = pronouns
    if stereotype and anti and stereotype[1] != anti[1]:
        yield Finding("pronouns_opposite", None, f"{stereotype[0]!r} and {anti[0]!r}")


CHECKS: tuple[Callable[[ParsedItem], Iterator[Finding]], ...] = (
    _hyphen,
    _directions,
    _target,
    _context_repeated,
    _capitals,
    _capital,
    _punctuation,
    _doubled,
    _spaces,
    _articles,
    _contact,
    _lengths,
    _negation,
    _pronouns,
)
