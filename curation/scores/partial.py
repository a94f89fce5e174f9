"""Predictions that lack scores: how many CATs are left out, by kind, domain and term."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from curation.records import KINDS, Cat


def left_out(
    cats: Sequence[Cat], kept: Sequence[Cat], *, bad: Collection[str] = ()
) -> dict[str, Any]:
    """How many CATs are left out because one of their sentences has no score.

    Args:
        cats: all CATs.
        kept: those that have all three scores.
        bad: the ids of sentences whose score is not a finite number.

    Returns:
        ``{"left_out", "of", "bad", "kinds": {kind: {"left_out", "of", "domains": {domain:
        {"left_out", "of"}}}}, "terms": {"domain/target": {"left_out", "of"}}}``: how many CATs are
        left out, and how many there are. ``bad`` is how many of those that are left out have a
        score that is not a finite number. ``terms`` has only terms that lose a CAT.
    """
    there = {cat.id for cat in kept}
    gone = [cat for cat in cats if cat.id not in there]
    kinds: dict[str, Any] = {}
    for kind in KINDS:
        lost, own = ([c.domain for c in part if c.kind == kind] for part in (gone, cats))
        if own:
            kinds[kind] = {"left_out": len(lost), "of": len(own), "domains": _counts(lost, own)}
    terms = _counts(map(_term, gone), map(_term, cats))
    return {
        "left_out": len(gone),
        "of": len(cats),
        "bad": sum(any(a.id in bad for a in cat.associations) for cat in gone),
        "kinds": kinds,
        "terms": {name: counts for name, counts in terms.items() if counts["left_out"]},
    }


def _term(cat: Cat) -> str:
    return f"{cat.domain}/{cat.target}"


def _counts(gone: Iterable[str], every: Iterable[str]) -> dict[str, dict[str, int]]:
    lost, of = Counter(gone), Counter(every)
    return {name: {"left_out": lost[name], "of": of[name]} for name in sorted(of)}
