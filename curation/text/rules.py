"""Pure rules that several stages need: ids, normal forms of texts, groups, and decisions."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import permutations
from typing import NamedTuple, TypeVar

from curation.kinds import GOLDS, Gold
from curation.records import VALUES

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Votes = tuple[int, int, int, int]
"""Counted votes of one association, in the order of ``records.VALUES``."""

_BETWEEN = re.compile(r"[\s\u2010-\u2013-]+")  # what may be between the words of a licence's name


class Caps(NamedTuple):
    """How many answers a person may give in a round, and on one term in it; 0 is no limit."""

    person: int = 0
    term: int = 0


def stable_id(prefix: str, *parts: str) -> str:
    """A permanent id; the same parts always give the same id.

    >>> stable_id("term", "profession", "baker")
    'term-5917ec1f7047c9ae702f'
    >>> stable_id("term", "ab", "c") == stable_id("term", "a", "bc")
    False
    """
    digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
    return f"{prefix}-{digest[:20]}"


def grouped(pairs: Iterable[tuple[Key, Value]]) -> defaultdict[Key, list[Value]]:
    """The values of each key, in their order; a key that is not there has none.

    >>> dict(grouped((len(word), word) for word in ("ab", "c", "de")))
    {2: ['ab', 'de'], 1: ['c']}
    """
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def nfc(text: str) -> str:
    r"""A text in NFC: a letter and its marks are one character, where there is one.

    >>> nfc("Zoe\u0308") == "Zo\u00eb"
    True
    """
    return unicodedata.normalize("NFC", text)


def same_text(text: str) -> str:
    """The normalised form of a text; texts that differ only in case, form or spaces share it.

    >>> same_text("  The  Baker. ") == same_text("the baker.")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


QUOTES = str.maketrans("’‘ʼ`´“”„", "'''''\"\"\"")
"""Apostrophes and quotation marks that keyboards exchange for one another."""
UNSEEN = str.maketrans(
    "", "", "\u200b\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
"""Invisible marks of the writing direction or of line breaks, which are copied with a text."""
_TATWEEL = "\u0640"  # makes an Arabic word longer on the line, and is not part of it
_ALIKE = str.maketrans({"ı": "i", _TATWEEL: None, **dict.fromkeys("-‐‑–", " ")})
_POINTS = re.compile(rf"[\u0591-\u05bd\u05bf-\u05c7\u064b-\u0652\u0670{_TATWEEL}]")
"""The vowel points of Hebrew and Arabic, which writers may leave out, and the tatweel."""


def bare(text: str) -> str:
    """A text without the differences between ways to write a name.

    These are marks on letters (accents, umlauts, vowel points), invisible characters, the Arabic
    tatweel, the kind of apostrophe, hyphens instead of spaces, and the Turkish i without a dot.
    """
    decomposed = unicodedata.normalize("NFKD", same_text(text.translate(QUOTES)))
    seen = (c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
    return " ".join("".join(seen).translate(_ALIKE).split())


def spelling_key(text: str, *, accents: bool = False) -> str:
    """The normalised form of a term; spelling variants of a term share it.

    Vowel points of Hebrew and Arabic are left out, since a word is written with or without them.

    Args:
        text: a term.
        accents: whether marks on Latin letters make a different word, as in Spanish.

    >>> spelling_key("Film-Maker") == spelling_key("filmmaker")
    True
    >>> spelling_key("café owner") == spelling_key("Cafe Owner")
    True
    >>> spelling_key("خَبّاز") == spelling_key("خبـــاز") == spelling_key("خباز")
    True
    """
    decomposed = _POINTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    # Marks on Latin letters are spelling variants; in other scripts they are part of the word.
    bare = "".join(
        c for i, c in enumerate(decomposed) if accents or not ("\u0300" <= c <= "\u036f" and i > 0)
    )
    return re.sub(r"[\s\-‐‑–'’.・]+", "", bare) or decomposed


# --- the decision ---------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The decision on an item: kept or not, the reason if not, and its gold labels."""

    kept: bool
    reason: str | None
    golds: tuple[Gold | None, ...]


def decide(
    votes: Sequence[Votes],
    *,
    needed: int = 3,
    of: int = 5,
    roles: Sequence[Gold] = (),
    intents: Sequence[Gold | None] | None = None,
) -> Outcome:
    """Decide one item: keep it if its gold labels are one of each (StereoSet, ACL §4.3, 3 of 5).

    The gold label of an association is the label with at least ``needed`` of ``of`` votes. Votes
    for ``related`` are counted, but ``related`` is never a gold label. The reason is
    ``too_few_labels`` only if the missing labels could still change whether the item is kept.

    Args:
        votes: the counted votes of each association.
        needed: the number of votes that make a gold label; more than half of ``of``.
        of: the number of votes that an association can get.
        roles: the gold labels that an item of its kind must have, in any order; by default the
            first ones of ``GOLDS``, one for each association.
        intents: the writer's intents; if given, each gold label must equal its intent (None
            matches every label).

    Raises:
        ValueError: ``needed`` is not a majority of ``of``, or an association has more than ``of``
            votes.

    >>> decide([(3, 2, 0, 0), (1, 4, 0, 0), (0, 0, 5, 0)]).kept
    True
    >>> decide([(3, 2, 0, 0), (3, 2, 0, 0), (0, 0, 5, 0)]).reason
    'two_of_a_kind'
    >>> decide([(2, 2, 0, 0), (0, 3, 0, 0), (0, 0, 3, 0)]).reason
    'too_few_labels'
    >>> decide([(1, 4, 0, 0), (5, 0, 0, 0)], roles=("stereotype", "anti-stereotype")).kept
    True
    """
    if not of / 2 < needed <= of:
        raise ValueError(f"needed = {needed} is not a majority of of = {of}")
    if any(sum(v) > of for v in votes):
        raise ValueError(f"an association has more than {of} counted votes")
    golds = tuple(
        next((g for g, n in zip(GOLDS, v, strict=False) if n >= needed), None) for v in votes
    )
    # The gold labels that each association can still get when all its labels are in.
    within_reach = [
        {gold} if gold else {g for g, n in zip(GOLDS, v, strict=False) if n + of - sum(v) >= needed}
        for gold, v in zip(golds, votes, strict=True)
    ]
    one_of_each = [
        assignment
        for assignment in permutations(roles or GOLDS[: len(votes)])
        if all(g in reach for g, reach in zip(assignment, within_reach, strict=True))
    ]
    as_meant = [
        assignment
        for assignment in one_of_each
        if intents is None or all(i in (None, g) for i, g in zip(intents, assignment, strict=True))
    ]
    if as_meant and None not in golds:
        return Outcome(True, None, golds)
    if as_meant:
        return Outcome(False, "too_few_labels", golds)
    if any(v[3] >= needed for v in votes):
        return Outcome(False, "majority_related", golds)
    if not all(within_reach):
        return Outcome(False, "no_majority", golds)
    return Outcome(False, "intent_mismatch" if one_of_each else "two_of_a_kind", golds)


FULL = 5
"""The number of labels per association that a tier needs: five validators (ACL §4.3)."""
TIERS = ("3", "4", "5", "unknown")
"""The names of the tiers in counts of CATs."""


def tier(votes: Sequence[Votes], golds: Sequence[Gold]) -> int | None:
    """The tier of a CAT: the smallest number of votes of its gold labels.

    StereoSet keeps CATs with at least three of five votes. Four or more is a stricter tier (ACL
    §4.3, footnote 2).

    Args:
        votes: the counted votes of the associations.
        golds: their gold labels.

    Returns:
        3, 4 or 5; None if an association does not have exactly five counted labels.

    >>> tier([(4, 1, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)], GOLDS)
    4
    >>> tier([(4, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)], GOLDS) is None
    True
    """
    if any(sum(v) != FULL for v in votes):
        return None
    return min(v[VALUES.index(gold)] for v, gold in zip(votes, golds, strict=True))


def chance_of_agreement(votes: Sequence[int]) -> float:
    """The probability that two votes on an association, drawn with replacement, are the same.

    It is the sum of the squared shares of the labels. ACL Table 10 gives no formula for its
    agreement by term. The mean of this value over a term's stereotype associations, both kinds
    together, fits the table best (docs/decisions.md, "Terms").

    Args:
        votes: how often each label was given; at least one vote.

    >>> round(chance_of_agreement([4, 1, 0, 0]), 2)  # (4/5)² + (1/5)²
    0.68
    """
    total = sum(votes)
    return sum((n / total) ** 2 for n in votes)


def licence_name(name: str) -> str:
    """The name of a licence without differences in spaces, hyphens and case.

    >>> licence_name("CC BY-SA 4.0") == licence_name("cc-by-sa-4.0")
    True
    >>> licence_name("CC BY 4.0") == licence_name("CC BY-SA 4.0")
    False
    """
    return _BETWEEN.sub(" ", name.strip()).casefold()
