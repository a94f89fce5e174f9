"""Pitfalls that only the words of a language show: spelling, insults, names, word classes.

They need the extra ``language``. Most are English, because what they stand on is; docs/measures.md
has the precision of each on StereoSet's development set, read by hand. A word's judgement does not
hang on its text, and is made once.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module, resources
from math import log
from typing import NamedTuple, TypeVar

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

from curation.blank import BLANK
from curation.checks.lists import Lists
from curation.checks.surface import Finding, Read, in_texts
from curation.rules import filler
from curation.words import INSTALL, UNSPACED, WORD, NotCheckedError, base, frequencies, zipf

COMMON = 3.0  # Zipf: from here on a word is taken for rightly spelt
FARTHER = 2.0  # Zipf: so much more frequent is the word that was meant
KNOWN = 1.5  # Zipf: from here on a word is one of the language's
FEW_KNOWN = 0.4  # share of a text's words; with fewer it is taken for another language
FREQUENT = 3.5  # Zipf of the short words that a fused one falls into
RARE = 2.5  # Zipf of a target's rarest word, below which it is hardly ever written
LOCALES = ("en_US", "en_GB", "en_IE", "en_NZ")
LONGEST = 40  # letters of a word that is looked at; to seek in longer ones takes too long
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
    """What is known of a language's words; empty where nothing is.

    ``judge`` gives the (code, detail) of a word in small letters; ``targets`` are the words of the
    dataset's targets, which are not called misspelt in each text anew; ``unchecked`` has the codes
    that nothing is said of.
    """

    lists: Lists
    shares: Mapping[str, float]
    names: frozenset[str]
    targets: frozenset[str]
    judge: Callable[[str], tuple[tuple[str, str], ...]]
    classes: Classes
    unchecked: frozenset[str]


def lexicon(lists: Lists, targets: Iterable[tuple[str, str]]) -> tuple[Lexicon, dict[str, str]]:
    """What the checks need of a language, and which codes cannot be checked, and why.

    Args:
        lists: the word lists of the language.
        targets: (domain, target) of the dataset.
    """
    english = base(lists.language) == "en"
    why: dict[str, str] = {} if english else dict.fromkeys(ENGLISH, "English words only")
    shares: Mapping[str, float] = {}
    try:
        known = frequencies(lists.language)
        shares = known.listed if english else known
    except NotCheckedError as error:
        why |= {code: str(error) for code in (*SPELLING, *FREQUENCIES) if code not in why}
    for code, name in LISTED.items():
        if name not in lists:
            why[code] = (
                f"no list {name!r} for «{lists.language}»: write one into a file of your own"
            )
    profane = names = frozenset[str]()
    classes: Classes = _no_classes
    if english:
        # Spelling and names ask it what is a word at all.
        asked = (*SPELLING, *CLASSES, *NAMES)
        classes = _load(_word_classes, "lemminflect", asked, why) or _no_classes
        profane = _load(lambda: _profane(lists), "better-profanity", PROFANE, why) or profane
        names = _load(lambda: _given_names(lists, classes), "Faker", NAMES, why) or names
    words = frozenset(word for _, target in targets for word in _words(target.lower()))
    spelt = english and "misspelt_word" not in why

    @cache
    def judge(word: str) -> tuple[tuple[str, str], ...]:
        found = []
        if word in profane:
            found.append(("profane_word", repr(word)))
        if spelt and word not in words and (meant := _meant(word, shares, classes)):
            found.append(("misspelt_word", f"{word!r} for {meant!r}?"))
        return tuple(found)

    return Lexicon(lists, shares, names, words, judge, classes, frozenset(why)), why


def _load(
    load: Callable[[], T], package: str, codes: Sequence[str], why: dict[str, str]
) -> T | None:
    """What a package of the extra gives; where it is not there, it is said why not."""
    try:
        return load()
    except ImportError:
        why |= dict.fromkeys(codes, f"the package {package} is not installed: {INSTALL}")
        return None


def check(what: Read, lexicon: Lexicon) -> list[Finding]:
    """The findings of one item; none of codes that cannot be checked."""
    texts = [_words(t.replace(BLANK, " ")) for t in (what.item.context, *what.item.sentences)]
    found: list[Finding] = []
    for code in ("misspelt_word", "profane_word"):
        found += in_texts(what, code, partial(_judged, texts, code, lexicon))
    found += in_texts(what, "violent_word", partial(_listed, what, "violence"))
    found += in_texts(what, "given_name", lambda at: _names(texts[at], what, lexicon))
    found += in_texts(what, "public_figure", partial(_figures, what))
    found += _foreign(what, lexicon)
    if what.blanks == 1 and lexicon.shares:
        found += _of_fillers(what, lexicon)
    return [one for one in found if one.code not in lexicon.unchecked]


def _words(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFC", text).replace("’", "'"))


def _judged(texts: Sequence[Sequence[str]], code: str, lexicon: Lexicon, at: int) -> set[str]:
    words, found = texts[at], set()
    shouted = all(word.isupper() for word in words)
    for n, word in enumerate(words):
        # A capital within a sentence makes a name, and names are spelt as they like.
        if code == "misspelt_word" and n and not word.islower() and not shouted:
            continue
        for what, detail in lexicon.judge(word.lower()):
            if what == code:
                found.add(detail)
    return found


# --- spelling -------------------------------------------------------------------------------


def _meant(word: str, shares: Mapping[str, float], classes: Classes) -> str | None:
    """The far more frequent word one letter away from a rare one, or None."""
    if not 4 <= len(word) <= LONGEST or not _PLAIN.fullmatch(word):
        return None
    here = zipf(shares.get(word, 0))
    if here >= COMMON or classes(word):
        return None
    best = max(_neighbours(word), key=lambda near: shares.get(near, 0))
    there = zipf(shares.get(best, 0))
    return best if there >= COMMON and there - here >= FARTHER else None


def _neighbours(word: str) -> Iterator[str]:
    """All that lies one letter away: one less, one other, one more, or two that changed places."""
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
    """(domain, target, code, detail) of targets whose names look misspelt or are rare."""
    shares = lexicon.shares
    if "rare_target" in lexicon.unchecked:
        return
    least = 10 ** (COMMON - 9)  # as a share: a logarithm for each word of a language takes long
    common = [word for word, share in shares.items() if share >= least]
    for domain, target in targets:
        words = _words(target.lower())
        for word in words:
            if "misspelt_target" in lexicon.unchecked:
                break
            if meant := _meant_target(word, common, lexicon):
                yield domain, target, "misspelt_target", f"{word!r} for {meant!r}?"
        rarest = min(words, key=lambda word: shares.get(word, 0), default="")
        if rarest and zipf(shares.get(rarest, 0)) < RARE:
            detail = f"{rarest!r}: {zipf(shares.get(rarest, 0)):.1f} on the Zipf scale"
            yield domain, target, "rare_target", detail


def _meant_target(word: str, common: Sequence[str], lexicon: Lexicon) -> str | None:
    """As ``_meant``, and up to two letters away: there are few targets, and much hangs on them."""
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
    best = max(alike, key=lambda one: lexicon.shares[one[0]], default=None)
    return best[0] if best and zipf(lexicon.shares[best[0]]) - here >= FARTHER / 2 else None


# --- what fills BLANK -----------------------------------------------------------------------


def _of_fillers(what: Read, lexicon: Lexicon) -> Iterator[Finding]:
    fillers = [_words(filler(what.item.context, s) or "") for s in what.item.sentences]
    for at, words in enumerate(fillers):
        if len(words) == 1 and (parts := _parts(words[0].lower(), lexicon)):
            code = "fused_words" if len(parts) > 2 else "fused_pair"
            yield Finding(code, at, f"{words[0]!r}: {' '.join(parts)}?")
    places = [what.item.place(gold) for gold in ("stereotype", "anti-stereotype", "unrelated")]
    classes = [
        lexicon.classes(fillers[at][-1].lower()) if at is not None and fillers[at] else frozenset()
        for at in places
    ]
    for other, code in ((2, "word_class_unrelated"), (1, "word_class_pair")):
        if classes[0] and classes[other] and not classes[0] & classes[other]:
            one, two = (fillers[places[n] or 0][-1] for n in (0, other))
            detail = (
                f"{two!r} ({', '.join(sorted(classes[other]))}) "
                f"for {one!r} ({', '.join(sorted(classes[0]))})"
            )
            yield Finding(code, None, detail)


def _parts(word: str, lexicon: Lexicon) -> tuple[str, ...] | None:
    """The frequent words that a fused one falls into, at least two of them long; or None."""
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
    # Three words and more without one that joins them, of two letters at least, are chance.
    chance = len(parts) > 2 and not any(part in _JOIN and len(part) > 1 for part in parts)
    return None if bare or chance or len(parts) > 2 * len(long) + 1 else parts


# --- names, insults, other languages --------------------------------------------------------


def _names(words: Sequence[str], what: Read, lexicon: Lexicon) -> set[str]:
    """Given names, where a capital shows that one is meant."""
    if sum(word[:1].isupper() for word in words) > len(words) / 2:
        return set()
    own = set(_words(what.item.target))
    return {
        repr(word)
        for word in words
        if word[:1].isupper() and word.lower() in lexicon.names and word not in own
    }


def _listed(what: Read, name: str, at: int) -> set[str]:
    """The first word of a text that is on a list."""
    found = what.lists.first(name, what.tokens[at], what.small[at])
    return {repr(found)} if found else set()


def _figures(what: Read, at: int) -> set[str]:
    """People of public life, whose names are of one word to three; the longest of each."""
    if base(what.lists.language) in UNSPACED:
        return _listed(what, "public_figure", at)
    figures, tokens = what.lists.get("public_figure"), what.tokens[at]
    tokens = [token.removesuffix("'s") for token in tokens]
    found, n = set(), 0
    while n < len(tokens):
        names = (" ".join(tokens[n : n + size]) for size in (3, 2, 1))
        name = next((name for name in names if figures.holds(name)), None)
        if name:
            found.add(repr(name))
        n += len(name.split()) if name else 1
    return found


def _foreign(what: Read, lexicon: Lexicon) -> Iterator[Finding]:
    if not lexicon.shares:
        return
    for at, tokens in enumerate(what.tokens):
        words = [t for t in tokens if not t.isdigit() and t != BLANK.lower()]
        known = sum(zipf(lexicon.shares.get(word, 0)) >= 4 for word in words)
        if len(words) >= 4 and known / len(words) < FEW_KNOWN:
            text = (what.item.context, *what.item.sentences)[at]
            yield Finding("other_language", at - 1 if at else None, repr(text))


def _profane(lists: Lists) -> frozenset[str]:
    """The words of better_profanity's list that are hardly ever meant otherwise."""
    text = resources.files("better_profanity").joinpath("profanity_wordlist.txt").read_text("utf-8")
    ambiguous = lists.get("profane_not")
    words = frozenset(filter(None, (line.strip().lower() for line in text.splitlines())))
    return frozenset(word for word in words if not ambiguous.holds(word))


def _given_names(lists: Lists, classes: Classes) -> frozenset[str]:
    """Faker's English first names that are not words or places as well."""
    other = lists.get("name_not")
    found = set()
    for locale in LOCALES:
        found |= set(import_module(f"faker.providers.person.{locale}").Provider.first_names)
    small = {name.lower() for name in found}
    return frozenset(n for n in small if not classes(n) and not other.holds(n))


def _no_classes(word: str) -> frozenset[str]:
    """The word classes of a word where none are known."""
    return frozenset()


def _word_classes() -> Classes:
    """What gives the word classes of an English word in lemminflect's dictionary."""
    from lemminflect import getAllLemmas

    return _classes_by(getAllLemmas)


@cache
def _classes_by(lemmas: Callable[[str], Mapping[str, Sequence[str]]]) -> Classes:
    """The word classes of a word by its lemmas; what was found of a word is kept."""

    @cache
    def classes(word: str) -> frozenset[str]:
        found = set(lemmas(word)) - {"PROPN"}
        # A participle does what an adjective does, and a gerund what a noun does.
        if "VERB" in found and word.endswith(("ing", "ed", "en", "n", "t")):
            base_forms = lemmas(word)["VERB"]
            found |= {"ADJ"} if word not in base_forms else set()
            found |= {"NOUN"} if word.endswith("ing") else set()
        return frozenset(found)

    return classes
