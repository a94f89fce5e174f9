"""Pitfalls in the words of a language: spelling, insults, names, word classes.

They need the extra ``language``. Most work only in English, as the word lists and dictionaries that
they use do. docs/measures.md has the precision of each on StereoSet's development set, from a
reading by hand. The judgement of a word does not depend on its text, so each word is judged once.

``item_pitfalls`` also has the checks of the form.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module, resources
from math import log
from pathlib import Path
from typing import NamedTuple, TypeVar

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

from curation.checks import surface
from curation.checks.codes import PITFALLS, pitfall
from curation.checks.lists import JOINING, UNCASED, Lists, lists, unchecked
from curation.checks.surface import Finding, ParsedItem, in_texts
from curation.kinds import GOLDS, Gold
from curation.records import Item, Pitfall, Term
from curation.text.item_form import BLANK, around, filler
from curation.text.words import (
    INSTALL,
    UNSPACED,
    NotCheckedError,
    base,
    frequencies,
    plain,
    split,
    words,
    zipf,
)

COMMON = 3.0  # Zipf: a word at least this frequent is assumed to be spelt correctly
FARTHER = 2.0  # Zipf: the intended word is at least this much more frequent
KNOWN = 1.5  # Zipf: a word at least this frequent belongs to the language
EVERYDAY = 4.0  # Zipf: fluent texts have many words that are at least this frequent
EVERYDAY_JOINED = 3.0  # Zipf: the same if articles or particles make many forms of each word
FEW_KNOWN = 0.4  # a text with a smaller share of known words is assumed to be in another language
FREQUENT = 3.5  # Zipf: the short words that make up a fused word are at least this frequent
RARE = 2.5  # Zipf: a target whose rarest word is less frequent than this is rare
LOCALES = ("en_US", "en_GB", "en_IE", "en_NZ")
LONGEST = 40  # words with more letters are skipped: the search would take too long
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PLAIN = re.compile(r"[a-z]+")
_SHORT = frozenset(
    re.findall(r"\w+", "a an as at be by he i if in is it me my no of on or so to up us we")
)
_JOIN = _SHORT | {"and", "are", "but", "for", "from", "not", "than", "that", "the", "was", "with"}

SPELLING = ("misspelt_word", "misspelt_target", "fused_words", "fused_pair")
CLASSES = ("word_class_unrelated", "word_class_pair")
PROFANE, NAMES = ("profane_word",), ("given_name",)
ENGLISH = (*SPELLING, *CLASSES, *PROFANE, *NAMES)
FREQUENCIES = ("rare_target", "other_language")
LISTED = {"violent_word": "violence", "public_figure": "public_figure"}

T = TypeVar("T")
Classes = Callable[[str], frozenset[str]]


class Lexicon(NamedTuple):
    """The known words of a language; fields are empty if nothing is known.

    Attributes:
        lists: the word lists of the language.
        shares: each word's share of all words.
        names: given names, in lower case.
        targets: the words of the dataset's targets; they are checked once, not in each text.
        judge: gives the (code, detail) pairs of a word.
        is_known: whether fluent texts have many words as frequent as this one, in lower case.
        classes: gives the word classes of a word in lower case.
        unchecked: the codes that cannot be checked.
    """

    lists: Lists
    shares: Mapping[str, float]
    names: frozenset[str]
    targets: frozenset[str]
    judge: Callable[[str], tuple[tuple[str, str], ...]]
    is_known: Callable[[str], bool]
    classes: Classes
    unchecked: frozenset[str]


def lexicon(lists: Lists, targets: Iterable[tuple[str, str]]) -> tuple[Lexicon, dict[str, str]]:
    """The lexicon of a language, and the codes that cannot be checked in it with the reason.

    Args:
        lists: the word lists of the language.
        targets: the (domain, target) pairs of the dataset.
    """
    english = base(lists.language) == "en"
    why: dict[str, str] = {} if english else dict.fromkeys(ENGLISH, "English words only")
    shares: Mapping[str, float] = {}
    try:
        frequency = frequencies(lists.language)
        # English has one spelling, so the slow search for variants is not needed.
        shares = frequency.listed if english else frequency
        words("一", lists.language)  # fails if texts cannot be split into words
    except NotCheckedError as error:
        why |= {code: str(error) for code in (*SPELLING, *FREQUENCIES) if code not in why}
    for code, name in LISTED.items():
        if name not in lists:
            why[code] = f"no list {name!r} for «{lists.language}»: add one to your own word lists"
    profane = names = frozenset[str]()
    classes: Classes = _no_classes
    if english:
        # The checks of spelling and names use it to tell whether a string is a word.
        codes = (*SPELLING, *CLASSES, *NAMES)
        classes = _load(_word_classes, "lemminflect", codes, why) or _no_classes
        profane = _load(lambda: _profane(lists), "better-profanity", PROFANE, why) or profane
        names = _load(lambda: _given_names(lists, classes), "Faker", NAMES, why) or names
    own = frozenset(word for _, target in targets for word in _words(target.lower()))
    check_spelling = english and "misspelt_word" not in why

    @cache
    def judge(word: str) -> tuple[tuple[str, str], ...]:
        judgements, word = [], word.lower()
        if word in profane:
            judgements.append(("profane_word", repr(word)))
        if check_spelling and word not in own and (meant := _meant(word, shares, classes)):
            judgements.append(("misspelt_word", f"{word!r} for {meant!r}?"))
        return tuple(judgements)

    everyday = EVERYDAY_JOINED if base(lists.language) in JOINING - UNSPACED else EVERYDAY

    @cache
    def is_known(word: str) -> bool:
        # wordfreq's lists of such languages have English words, which its corpora quote.
        is_quoted = base(lists.language) in UNCASED and word.isascii()
        return not is_quoted and zipf(shares.get(word, 0)) >= everyday

    return Lexicon(lists, shares, names, own, judge, is_known, classes, frozenset(why)), why


def _load(
    load: Callable[[], T], package: str, codes: Sequence[str], why: dict[str, str]
) -> T | None:
    """Load data of a package of the extra; without the package, note it in ``why``."""
    try:
        return load()
    except ImportError:
        why |= dict.fromkeys(codes, f"the package {package} is not installed: {INSTALL}")
        return None


def check(parsed: ParsedItem, lexicon: Lexicon) -> list[Finding]:
    """The findings of one item, without those of codes that cannot be checked."""
    texts = [_words(t.replace(BLANK, " ")) for t in (parsed.item.context, *parsed.item.sentences)]
    judged = [_judged(words, lexicon) for words in texts]
    findings: list[Finding] = []
    for code in ("misspelt_word", "profane_word"):
        details = [{detail for other, detail in pairs if other == code} for pairs in judged]
        findings += in_texts(parsed, code, details.__getitem__)
    findings += in_texts(parsed, "violent_word", partial(_listed, parsed, "violence"))
    findings += in_texts(parsed, "given_name", lambda at: _names(texts[at], parsed, lexicon))
    findings += in_texts(parsed, "public_figure", partial(_figures, parsed))
    findings += _foreign(parsed, lexicon)
    if parsed.blanks == 1 and lexicon.shares:
        findings += _of_fillers(parsed, lexicon)
    return [finding for finding in findings if finding.code not in lexicon.unchecked]


def _words(text: str) -> list[str]:
    return split(unicodedata.normalize("NFC", text).replace("’", "'"))


def _judged(words: Sequence[str], lexicon: Lexicon) -> set[tuple[str, str]]:
    """The (code, detail) pairs of a text's words."""
    found = [(n, word, *pair) for n, word in enumerate(words) for pair in lexicon.judge(word)]
    has_names = bool(found) and not all(map(str.isupper, words))
    return {
        (code, detail)
        for n, word, code, detail in found
        # A capital letter inside a sentence marks a name, and names have no fixed spelling.
        if not (code == "misspelt_word" and has_names and n and not word.islower())
    }


# --- spelling -------------------------------------------------------------------------------


def _meant(word: str, shares: Mapping[str, float], classes: Classes) -> str | None:
    """The much more frequent word one letter away from a rare word, or None."""
    if not 4 <= len(word) <= LONGEST or not _PLAIN.fullmatch(word):
        return None
    here = zipf(shares.get(word, 0))
    if here >= COMMON or classes(word):
        return None
    near = filter(shares.__contains__, _neighbours(word))
    best = max(near, key=shares.__getitem__, default=word)
    there = zipf(shares.get(best, 0))
    return best if there >= COMMON and there - here >= FARTHER else None


def _neighbours(word: str) -> Iterator[str]:
    """All strings one edit away: a letter deleted, replaced or inserted, or two swapped."""
    for n in range(len(word) + 1):
        head, tail = word[:n], word[n:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def check_targets(
    targets: Iterable[tuple[str, str]], lexicon: Lexicon
) -> Iterator[tuple[str, str, str, str]]:
    """The (domain, target, code, detail) of targets whose names look misspelt or are rare."""
    shares = lexicon.shares
    if "rare_target" in lexicon.unchecked:
        return
    least = 10 ** (COMMON - 9)  # as a share: a logarithm for each word of a language takes long
    common = [word for word, share in shares.items() if share >= least]
    for domain, target in targets:
        parts = words(target, lexicon.lists.language)
        for word in parts:
            if "misspelt_target" in lexicon.unchecked:
                break
            if meant := _meant_target(word, common, lexicon):
                yield domain, target, "misspelt_target", f"{word!r} for {meant!r}?"
        rarest = min(parts, key=lambda word: shares.get(word, 0), default="")
        if rarest and zipf(shares.get(rarest, 0)) < RARE:
            detail = f"{rarest!r}: {zipf(shares.get(rarest, 0)):.1f} on the Zipf scale"
            yield domain, target, "rare_target", detail


def _meant_target(word: str, common: Sequence[str], lexicon: Lexicon) -> str | None:
    """Like ``_meant``, but up to two letters away: targets are few, and they matter more."""
    if meant := _meant(word, lexicon.shares, lexicon.classes):
        return meant
    here = zipf(lexicon.shares.get(word, 0))
    if len(word) < 7 or here >= RARE or lexicon.classes(word) or not _PLAIN.fullmatch(word):
        return None
    alike = process.extract(
        word,
        [other for other in common if other[0] == word[0] and abs(len(other) - len(word)) < 3],
        scorer=DamerauLevenshtein.distance,
        score_cutoff=2,
        limit=None,
    )
    best = max(alike, key=lambda match: lexicon.shares[match[0]], default=None)
    return best[0] if best and zipf(lexicon.shares[best[0]]) - here >= FARTHER / 2 else None


# --- the words that fill BLANK --------------------------------------------------------------

_CLASS_CODES: dict[Gold, str] = {
    "unrelated": "word_class_unrelated",
    "anti-stereotype": "word_class_pair",
}
"""The pitfall of a word of another class than the stereotype's, by the role of its association."""


def _of_fillers(parsed: ParsedItem, lexicon: Lexicon) -> Iterator[Finding]:
    fillers = [_words(filler(parsed.item.context, s) or "") for s in parsed.item.sentences]
    for at, filling in enumerate(fillers):
        if len(filling) == 1 and (parts := _parts(filling[0].lower(), lexicon)):
            code = "fused_words" if len(parts) > 2 else "fused_pair"
            yield Finding(code, at, f"{filling[0]!r}: {' '.join(parts)}?")
    last: dict[Gold, str] = {}
    for gold in GOLDS:
        place = parsed.item.place(gold)
        if place is not None and fillers[place]:
            last[gold] = fillers[place][-1]
    classes = {gold: lexicon.classes(word.lower()) for gold, word in last.items()}
    own = classes.get("stereotype")
    for other, code in _CLASS_CODES.items():
        others = classes.get(other)
        if own and others and not own & others:
            detail = (
                f"{last[other]!r} ({', '.join(sorted(others))}) "
                f"for {last['stereotype']!r} ({', '.join(sorted(own))})"
            )
            yield Finding(code, None, detail)


def _parts(word: str, lexicon: Lexicon) -> tuple[str, ...] | None:
    """The frequent words that make up a fused word, at least two of them long; or None."""
    shares = lexicon.shares
    if not 6 <= len(word) <= 2 * LONGEST or not _PLAIN.fullmatch(word):
        return None
    if zipf(shares.get(word, 0)) >= KNOWN or lexicon.classes(word):
        return None
    best: list[tuple[float, tuple[str, ...]] | None] = [(0.0, ())] + [None] * len(word)
    for end in range(1, len(word) + 1):
        for start in range(max(0, end - 20), end):
            before, piece = best[start], word[start:end]
            share = shares.get(piece, 0)
            if before is None or (len(piece) < 3 and piece not in _SHORT):
                continue
            if zipf(share) < (COMMON if len(piece) > 6 else FREQUENT):
                continue
            likely, now = before[0] + log(share), best[end]
            if now is None or likely > now[0]:
                best[end] = likely, (*before[1], piece)
    parts = best[-1][1] if best[-1] else ()
    long = [part for part in parts if len(part) > 3]
    affix = lexicon.lists.get("affix")
    bare = len(parts) < 2 or len(long) < 2 or affix.holds(parts[0]) or affix.holds(parts[-1])
    # Three or more words without a joining word of at least two letters occur by chance.
    chance = len(parts) > 2 and not any(part in _JOIN and len(part) > 1 for part in parts)
    return None if bare or chance or len(parts) > 2 * len(long) + 1 else parts


# --- names, insults, other languages --------------------------------------------------------


def _names(words: Sequence[str], parsed: ParsedItem, lexicon: Lexicon) -> set[str]:
    """Given names that are written with a capital letter."""
    capital = [word for word in words if word[:1].isupper()]
    found_names = {word for word in capital if word.lower() in lexicon.names}
    if not found_names or len(capital) > len(words) / 2:
        return set()
    return set(map(repr, found_names.difference(_words(parsed.item.target))))


def _listed(parsed: ParsedItem, name: str, at: int) -> set[str]:
    """The first word of a text that is on a list."""
    word = parsed.lists.first(name, parsed.tokens[at], parsed.small[at])
    return {repr(word)} if word else set()


def _figures(parsed: ParsedItem, at: int) -> set[str]:
    """Names of public figures, of one to three words; the longest that matches."""
    if base(parsed.lists.language) in UNSPACED:
        return _listed(parsed, "public_figure", at)
    figures, tokens = parsed.lists.get("public_figure"), parsed.tokens[at]
    tokens = [token.removesuffix("'s") for token in tokens]
    if not figures.may_hold(tokens):
        return set()
    found_names, n = set(), 0
    while n < len(tokens):
        names = (" ".join(tokens[n : n + size]) for size in (3, 2, 1))
        name = next((name for name in names if figures.holds(name)), None)
        if name:
            found_names.add(repr(name))
        n += len(name.split()) if name else 1
    return found_names


def _foreign(parsed: ParsedItem, lexicon: Lexicon) -> Iterator[Finding]:
    if "other_language" in lexicon.unchecked:
        return
    language = base(parsed.lists.language)
    spaced = language not in UNSPACED
    for at, text in enumerate((parsed.item.context, *parsed.item.sentences)):
        shown = text if at or not parsed.blanks else around(text, spaced=spaced)
        # Most texts have the same form here, and need not be split again.
        same = spaced and plain(shown, language) == parsed.small[at]
        tokens = parsed.tokens[at] if same else words(shown, language)
        tokens = [token for token in tokens if not token.isdigit()]
        if len(tokens) >= 4 and sum(map(lexicon.is_known, tokens)) / len(tokens) < FEW_KNOWN:
            yield Finding("other_language", at - 1 if at else None, repr(text))


def _profane(lists: Lists) -> frozenset[str]:
    """The words of better_profanity's list that rarely have another meaning."""
    text = resources.files("better_profanity").joinpath("profanity_wordlist.txt").read_text("utf-8")
    ambiguous = lists.get("profane_not")
    words = frozenset(filter(None, (line.strip().lower() for line in text.splitlines())))
    return frozenset(word for word in words if not ambiguous.holds(word))


def _given_names(lists: Lists, classes: Classes) -> frozenset[str]:
    """Faker's English first names that are not also words or places."""
    other = lists.get("name_not")
    names = set()
    for locale in LOCALES:
        names |= set(import_module(f"faker.providers.person.{locale}").Provider.first_names)
    small = {name.lower() for name in names}
    return frozenset(n for n in small if not classes(n) and not other.holds(n))


def _no_classes(word: str) -> frozenset[str]:
    """The word classes of a word if no dictionary is available."""
    return frozenset()


def _word_classes() -> Classes:
    """A function that gives the word classes of an English word in lemminflect's dictionary."""
    from lemminflect import getAllLemmas

    return _classes_by(getAllLemmas)


@cache
def _classes_by(lemmas: Callable[[str], Mapping[str, Sequence[str]]]) -> Classes:
    """The word classes of a word by its lemmas; what was found of a word is kept."""

    @cache
    def classes(word: str) -> frozenset[str]:
        tags = set(lemmas(word)) - {"PROPN"}
        # A participle can be used as an adjective, and a gerund as a noun.
        if "VERB" in tags and word.endswith(("ing", "ed", "en", "n", "t")):
            base_forms = lemmas(word)["VERB"]
            tags |= {"ADJ"} if word not in base_forms else set()
            tags |= {"NOUN"} if word.endswith("ing") else set()
        return frozenset(tags)

    return classes


# --- items --------------------------------------------------------------------------------------

REPORTED = ("block", "warn")
"""The severities reported as answers come in; notes are only useful for a whole dataset."""


def item_pitfalls(
    items: Sequence[Item],
    terms: Mapping[str, Term],
    *,
    language: str,
    own: Path | None = None,
    name_target: bool = True,
    blank_alone: bool = True,
    tell: Callable[[], None] = lambda: None,
) -> Iterator[Pitfall]:
    """The pitfalls of accepted items as answers come in, in the order of the items.

    Text about the task is not checked here: the import refuses newly written items that have it.

    Args:
        items: the items.
        terms: the terms by id; every item's term must be included.
        language: language code of the texts.
        own: the team's own word lists, with the columns of ``data/words/pitfalls.csv``.
        name_target: as in ``item_form.flaws``.
        blank_alone: as in ``item_form.flaws``.
        tell: called after each item.

    Raises:
        CurationError: ``own`` cannot be read; the message names the line.
    """
    words = lists(language, own)
    if not items:
        return  # loading the lexicon takes long
    targets = dict.fromkeys((term.domain, term.text) for term in terms.values())
    known, why = lexicon(words, targets)
    why |= unchecked(words)
    for item in items:
        term = terms[item.term]
        parsed = surface.read(_texts(item, term), words)
        findings = surface.check(parsed, name_target=name_target, blank_alone=blank_alone)
        for finding in (*findings, *check(parsed, known)):
            code = finding.code
            if PITFALLS[code].severity in REPORTED and code not in why:
                at = None if finding.at is None else item.associations[finding.at].id
                where = f"item {item.id}"
                yield pitfall(
                    code, where, finding.detail, item=item.id, association=at, target=term.text
                )
        tell()


def _texts(item: Item, term: Term) -> surface.ItemTexts:
    """The texts of an item with its writer's intents, or its published gold labels."""
    golds: dict[str | None, Gold] = {gold: gold for gold in GOLDS}
    return surface.ItemTexts(
        item.kind,
        term.domain,
        term.text,
        item.context,
        tuple(a.sentence for a in item.associations),
        tuple(a.intent or golds.get(a.published_gold) for a in item.associations),
        term.names,
    )
