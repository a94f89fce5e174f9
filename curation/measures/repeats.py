"""Pitfalls that only a whole dataset shows: what repeats, what is uneven, what leaks the gold."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import median

import numpy as np
from rapidfuzz import fuzz, process

from curation.checks.content import ENDS, gist, near
from curation.checks.surface import Finding
from curation.records import GOLDS, KINDS, Cat
from curation.rules import same_text
from curation.words import WORD

Found = Iterator[tuple[int, Finding]]
ALIKE = 90  # % of likeness from which on contexts are told
REPEATS = 0.95  # likeness of what repeats another, as imports have it by default
FAR = 2  # times or parts of the median, beyond which counts are uneven
_BLOCK = 512  # contexts compared at once


def tokens(text: str) -> list[str]:
    """The words of a text in small letters, as the checks of one item read them."""
    return WORD.findall(unicodedata.normalize("NFC", text).replace("’", "'").lower())


def _key(text: str) -> str:
    return same_text(text).strip(ENDS)


def _groups(keys: Sequence[object]) -> list[list[int]]:
    """The places of what stands more than once."""
    found: dict[object, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        found[key].append(at)
    return [places for places in found.values() if len(places) > 1]


def _name(cat: Cat) -> str:
    return f"CAT {cat.id}"


def duplicates(cats: Sequence[Cat]) -> Found:
    """CATs of the same target, context and associations; the first of them is not told."""
    keys = [
        (
            *(cat.kind, cat.domain, same_text(cat.target), same_text(cat.context)),
            *sorted(same_text(a.sentence) for a in cat.associations),
        )
        for cat in cats
    ]
    for first, *others in _groups(keys):
        for at in others:
            yield at, Finding("duplicate_item", None, f"the same as {_name(cats[first])}")


def contexts(cats: Sequence[Cat]) -> Found:
    """CATs of the same context; of much the same; and of the same but for the target."""
    keys = [_key(cat.context) for cat in cats]
    for places in _groups(list(zip((cat.kind for cat in cats), keys, strict=True))):
        for at, other in zip(places, [places[1], *places], strict=False):
            yield at, Finding("same_context", None, f"the context of {_name(cats[other])}")
    templates = [
        (cat.kind, key.replace(same_text(cat.target), "\0"))
        for cat, key in zip(cats, keys, strict=True)
    ]
    for places in _groups(templates):
        for at in places:
            mine = same_text(cats[at].target)
            unlike = next((o for o in places if same_text(cats[o].target) != mine), None)
            if unlike is not None and "\0" in templates[at][1]:
                detail = f"but for the target the context of {_name(cats[unlike])}"
                yield at, Finding("same_template", None, detail)
    yield from _alike(cats, keys)


def _alike(cats: Sequence[Cat], keys: Sequence[str]) -> Found:
    standing: dict[str, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        standing[key].append(at)
    best: dict[str, tuple[float, str]] = {}
    close: dict[str, list[str]] = {key: [key] for key in standing}
    for one, other, likeness in _pairs(sorted(standing, key=len)):
        for mine, theirs in ((one, other), (other, one)):
            best[mine] = max(best.get(mine, (0, "")), (likeness, theirs))
            if likeness >= 100 * REPEATS:
                close[mine].append(theirs)
    for key, (likeness, other) in best.items():
        for at in standing[key]:
            detail = f"{int(likeness)} % like the context of {_name(cats[standing[other][0]])}"
            yield at, Finding("context_alike_90", None, detail)
            if likeness >= 100 * REPEATS:
                yield at, Finding("context_alike_95", None, detail)
    yield from _nearly(cats, keys, close)


def _nearly(cats: Sequence[Cat], keys: Sequence[str], close: Mapping[str, Sequence[str]]) -> Found:
    """CATs that nearly repeat one before them on the same target; see ``content.near``."""
    before: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    for at, cat in enumerate(cats):
        told = [a.sentence for a in cat.associations if a.gold != "unrelated"]
        text, home = gist(cat.context, told), (cat.kind, cat.domain, cat.target)
        others = [pair for key in close[keys[at]] for pair in before[(*home, key)]]
        like = near([theirs for _, theirs in others], text, likeness=REPEATS)
        if like is not None:
            detail = f"nearly the same as {_name(cats[others[like][0]])}"
            yield at, Finding("near_duplicate", None, detail)
        before[(*home, keys[at])].append((at, text))


def _pairs(texts: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Pairs of different texts, given from short to long, and their likeness in percent.

    Twice the letters in common, in order, by all letters of the two; told from ``ALIKE`` on.
    """
    lengths = np.array([len(text) for text in texts])
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        # A longer text could not be so much alike even if it held the other whole.
        longest = len(block[-1]) * (200 - ALIKE) / ALIKE
        end = int(np.searchsorted(lengths, longest, "right"))
        likeness = process.cdist(
            block, texts[start:end], scorer=fuzz.ratio, score_cutoff=ALIKE, dtype=np.float32
        )
        for one, other in zip(*np.nonzero(np.triu(likeness, 1)), strict=True):
            yield block[one], texts[start + other], float(likeness[one, other])


def associations(cats: Sequence[Cat]) -> Found:
    """Associations that stand in several CATs, and those whose gold labels differ."""
    places = [(at, n) for at in range(len(cats)) for n in range(3)]
    texts = [(cats[at].kind, _key(cats[at].associations[n].sentence)) for at, n in places]
    for group in _groups(texts):
        here = [places[one] for one in group]
        if len({at for at, _ in here}) == 1:
            continue
        for at, n in here:
            mine = cats[at].associations[n]
            others = [(o, cats[o].associations[m]) for o, m in here if o != at]
            other = others[0][0]
            yield at, Finding("option_reused", n, f"{mine.sentence!r} as in {_name(cats[other])}")
            unlike = [(cats[o], theirs) for o, theirs in others if theirs.gold != mine.gold]
            for code, same in (("gold_conflict", True), ("gold_differs", False)):
                for cat, theirs in unlike:
                    if (cat.target == cats[at].target) == same:
                        detail = f"{mine.gold} here, {theirs.gold} in {_name(cat)}"
                        yield at, Finding(code, n, f"{mine.sentence!r} is {detail}")
                        break


CHECKS: tuple[Callable[[Sequence[Cat]], Found], ...] = (
    duplicates,
    contexts,
    associations,
)


def uneven_terms(cats: Sequence[Cat]) -> Iterator[tuple[str, str, str, str]]:
    """(domain, target, code, detail) of targets with far fewer or more CATs than is usual."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cat in cats:
        counts[cat.domain][cat.target] += 1
    for domain, by_target in counts.items():
        middle = median(by_target.values())
        for target, count in by_target.items():
            if not middle / FAR <= count <= middle * FAR:
                detail = f"{target!r} has {count} CATs; the median of {domain!r} is {middle:g}"
                yield domain, target, "terms_uneven", detail


def uneven_domains(cats: Sequence[Cat]) -> Iterator[tuple[str, str]]:
    """(code, detail) of domains with far fewer or more CATs than is usual."""
    counts = Counter(cat.domain for cat in cats)
    for domain, count in counts.items():
        middle = median(counts.values())
        if not middle / FAR <= count <= middle * FAR:
            detail = f"{domain!r} has {count} CATs; the median of the domains is {middle:g}"
            yield "domains_uneven", detail


def leaks(cats: Sequence[Cat]) -> Iterator[tuple[str, str]]:
    """(code, detail) of what tells the gold label without the text being read."""
    for gold in GOLDS:
        places = Counter(
            at for cat in cats for at, a in enumerate(cat.associations) if a.gold == gold
        )
        for at, count in places.most_common(1):
            if _at_least(count, len(cats)) > 1 / 2:
                detail = f"the {gold} stands at place {at + 1} in {count} of {len(cats)} CATs"
                yield "order_leak", detail
    for kind in KINDS:
        lengths = [
            {a.gold: len(tokens(a.sentence)) or len(a.sentence) for a in cat.associations}
            for cat in cats
            if cat.kind == kind
        ]
        short = sum(n["unrelated"] < min(n["stereotype"], n["anti-stereotype"]) for n in lengths)
        if _at_least(short, len(lengths)) > 1 / 3:
            share = f"{short} of {len(lengths)} {kind} CATs"
            yield "shortest_leak", f"the unrelated association is the shortest in {share}"


def _at_least(count: int, of: int, z: float = 1.96) -> float:
    """The lower bound of a share by Wilson's interval (Wilson 1927), of 95 %."""
    if not of:
        return 0.0
    share = count / of
    middle = share + z * z / (2 * of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of)
