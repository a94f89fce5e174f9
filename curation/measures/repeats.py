"""Pitfalls of a whole dataset: repetitions, uneven counts, and leaks of the gold label."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from statistics import median

import numpy as np

from curation.checks.content import ENDS, alike, compared, gist
from curation.checks.lists import in_small
from curation.checks.similar import similar
from curation.checks.surface import Finding
from curation.records import GOLDS, KINDS, Cat, Kind
from curation.text.rules import same_text
from curation.text.wording import amount
from curation.text.words import split

Findings = Iterator[tuple[int, Finding]]
"""The index of a CAT, and a finding in it."""
ALIKE = 90  # %: contexts with at least this similarity are reported
REPEATS = 0.95  # the similarity of near duplicates, the same as the default of imports
FAR = 2  # counts are uneven above this multiple of the median, or below the median divided by it


def tokens(text: str) -> list[str]:
    """The words of a text in lower case, split as in the checks of one item."""
    return split(in_small(text))


def _key(text: str) -> str:
    return same_text(text).strip(ENDS)


def _groups(keys: Sequence[object]) -> list[list[int]]:
    """The indices of each key that occurs more than once."""
    places_of: dict[object, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        places_of[key].append(at)
    return [places for places in places_of.values() if len(places) > 1]


def _name(cat: Cat) -> str:
    return f"CAT {cat.id}"


def duplicates(cats: Sequence[Cat]) -> Findings:
    """CATs with the same target, context and associations; the first of them is not reported."""
    keys = [
        (
            *(cat.kind, cat.domain, same_text(cat.target), same_text(cat.context)),
            *sorted(same_text(a.sentence) for a in cat.associations),
        )
        for cat in cats
    ]
    for first, *others in _groups(keys):
        for at in others:
            yield at, Finding("duplicate_item", None, f"identical to {_name(cats[first])}")


def contexts(cats: Sequence[Cat]) -> Findings:
    """CATs whose contexts are the same, similar, or the same except for the target."""
    keys = [_key(cat.context) for cat in cats]
    for places in _groups(list(zip((cat.kind for cat in cats), keys, strict=True))):
        for at, other in zip(places, [places[1], *places], strict=False):
            yield at, Finding("same_context", None, f"same context as {_name(cats[other])}")
    targets = [same_text(cat.target) for cat in cats]
    templates = [
        (cat.kind, key.replace(target, "\0"))
        for cat, key, target in zip(cats, keys, targets, strict=True)
    ]
    for places in _groups(templates):
        first = places[0]
        second = next((at for at in places if targets[at] != targets[first]), None)
        if second is None or "\0" not in templates[first][1]:
            continue
        for at in places:
            unlike = second if targets[at] == targets[first] else first
            detail = f"except for the target, same context as {_name(cats[unlike])}"
            yield at, Finding("same_template", None, detail)
    yield from _alike(cats, keys)


def _alike(cats: Sequence[Cat], keys: Sequence[str]) -> Findings:
    """CATs whose context is similar to another; the finding names the most similar one."""
    places_of: dict[str, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        places_of[key].append(at)
    texts = sorted(places_of, key=len)
    nearest: dict[int, tuple[float, int]] = {}
    for pairs in similar(texts, texts, similarity=ALIKE / 100):
        order = np.lexsort((pairs.others, -pairs.percent, pairs.some))
        order = order[pairs.some[order] != pairs.others[order]]
        _, first = np.unique(pairs.some[order], return_index=True)
        best = (column[order[first]].tolist() for column in pairs[:3])
        nearest |= {at: (likeness, other) for at, other, likeness in zip(*best, strict=True)}
    for at, text in enumerate(texts):
        if at not in nearest:
            continue
        likeness, other = nearest[at]
        name = _name(cats[places_of[texts[other]][0]])
        detail = f"similarity of {int(likeness)} % to the context of {name}"
        for place in places_of[text]:
            yield place, Finding("context_alike_90", None, detail)
            if likeness >= 100 * REPEATS:
                yield place, Finding("context_alike_95", None, detail)


def near_duplicates(cats: Sequence[Cat]) -> Findings:
    """CATs that nearly repeat an earlier one on the same target, as in ``content.near``."""
    by_target: dict[tuple[Kind, str, str], list[int]] = defaultdict(list)
    places_of: dict[str, dict[tuple[Kind, str, str], list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for at, cat in enumerate(cats):
        pair = [a.sentence for gold in GOLDS[:2] for a in cat.associations if a.gold == gold]
        target = (cat.kind, cat.domain, cat.target)
        by_target[target].append(at)
        places_of["\n".join(compared(gist(cat.context, pair)))][target].append(at)
    texts = list(places_of)
    first: dict[int, int] = {}
    for pairs in similar(texts, texts, similarity=REPEATS):
        for a, b in zip(pairs.some.tolist(), pairs.others.tolist(), strict=True):
            own, known = places_of[texts[a]], places_of[texts[b]]
            both = own.keys() & known.keys()
            if both and alike(texts[a].split("\n"), texts[b].split("\n"), REPEATS):
                for target in both:
                    for at in own[target]:
                        first[at] = min(first.get(at, at), known[target][0])
    for at in (at for places in by_target.values() for at in places):
        if first.get(at, at) < at:
            detail = f"nearly identical to {_name(cats[first[at]])}"
            yield at, Finding("near_duplicate", None, detail)


def associations(cats: Sequence[Cat]) -> Findings:
    """Associations that occur in several CATs, and those with different gold labels.

    An intersentence association can mean something else after another context. Then it counts as
    ``gold_differs``, not as ``gold_conflict``.
    """
    homes = [  # texts with the same home must have the same gold label
        (cat.domain, cat.target, _key(cat.context) if cat.kind == "intersentence" else "")
        for cat in cats
    ]
    places = [(at, n) for at in range(len(cats)) for n in range(3)]
    texts = [(cats[at].kind, _key(cats[at].associations[n].sentence)) for at, n in places]
    for group in _groups(texts):
        here = [places[n] for n in group]
        first = here[0][0]
        second = next((at for at, _ in here if at != first), None)
        if second is None:
            continue
        # Two of each are enough to name another CAT, and there can be as many as CATs.
        inside: dict[tuple[object, str], list[int]] = defaultdict(list)
        anywhere: dict[str, list[int]] = defaultdict(list)
        for at, n in here:
            gold = cats[at].associations[n].gold
            if len(known := inside[homes[at], gold]) < 2:
                known.append(at)
            if homes[at] not in [homes[o] for o in anywhere[gold]] and len(anywhere[gold]) < 2:
                anywhere[gold].append(at)
        for at, n in here:
            mine = cats[at].associations[n]
            other = _name(cats[second if at == first else first])
            yield at, Finding("option_reused", n, f"{mine.sentence!r} is also in {other}")
            golds = [gold for gold in GOLDS if gold != mine.gold]
            same = [(o, gold) for gold in golds for o in inside[homes[at], gold] if o != at]
            apart = [(o, gold) for gold in golds for o in anywhere[gold] if homes[o] != homes[at]]
            for code, labelled in (("gold_conflict", same), ("gold_differs", apart)):
                if labelled:
                    o, gold = min(labelled)
                    detail = f"{mine.gold} here, {gold} in {_name(cats[o])}"
                    yield at, Finding(code, n, f"{mine.sentence!r} is {detail}")


CHECKS: tuple[Callable[[Sequence[Cat]], Findings], ...] = (
    duplicates,
    contexts,
    near_duplicates,
    associations,
)


def uneven_terms(cats: Sequence[Cat]) -> Iterator[tuple[str, str, str, str]]:
    """The (domain, target, code, detail) of targets with far fewer or more CATs than usual."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for cat in cats:
        counts[cat.domain][cat.target] += 1
    for domain, by_target in counts.items():
        middle = median(by_target.values())
        for target, count in by_target.items():
            if not middle / FAR <= count <= middle * FAR:
                detail = (
                    f"{target!r} has {amount(count, 'CAT')}; the median of {domain!r} is {middle:g}"
                )
                yield domain, target, "terms_uneven", detail


def uneven_domains(cats: Sequence[Cat]) -> Iterator[tuple[str, str]]:
    """The (code, detail) of domains with far fewer or more CATs than usual."""
    counts = Counter(cat.domain for cat in cats)
    for domain, count in counts.items():
        middle = median(counts.values())
        if not middle / FAR <= count <= middle * FAR:
            detail = (
                f"{domain!r} has {amount(count, 'CAT')}; the median of the domains is {middle:g}"
            )
            yield "domains_uneven", detail


def leaks(cats: Sequence[Cat]) -> Iterator[tuple[str, str]]:
    """The (code, detail) of patterns that give away the gold label without reading the text."""
    for gold in GOLDS:
        places = Counter(
            at for cat in cats for at, a in enumerate(cat.associations) if a.gold == gold
        )
        for at, count in places.most_common(1):
            if _at_least(count, len(cats)) > 1 / 2:
                detail = f"the {gold} is at position {at + 1} in {count} of {len(cats)} CATs"
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
    """The lower bound of a share's 95 % interval by Wilson (1927)."""
    if not of:
        return 0.0
    share = count / of
    middle = share + z * z / (2 * of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of)
