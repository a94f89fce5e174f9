"""What a release may say of all hidden CATs together, without giving away the labels of one."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from curation.records import KINDS, SplitName
from curation.release.contents import Contents, PublishedCat
from curation.release.facts import (
    Facts,
    Hidden,
    Interval,
    PitfallCount,
    ScoreRow,
    TrustFacts,
    TrustRow,
)

FEW = 100
"""Numbers about fewer hidden CATs than this are not published: they would say too much of each."""
_DECIMALS = 1  # of public numbers about hidden CATs: more of them would say more of each CAT
LABELLED = frozenset(
    (
        *("words_differ", "unrelated_shortest", "negation_one_sided", "pronouns_opposite"),
        *("word_class_unrelated", "word_class_pair", "duplicate_item", "near_duplicate"),
        *("gold_conflict", "gold_differs", "no_votes", "order_leak", "shortest_leak"),
    )
)
"""Pitfalls whose counts depend on gold labels, or on who gave them."""


def public_facts(
    facts: Facts, contents: Contents, *, split: SplitName, numbers: bool = True
) -> Facts:
    """The facts without what would give away labels of single hidden CATs.

    Tiers and CATs without votes are counted over the other CATs. Counts of pitfalls that depend on
    gold labels (``LABELLED``) are always left out: many are about few CATs, and readers can see in
    the texts which ones. If fewer than ``FEW`` CATs are hidden, these are left out, too: agreement,
    sentiment, and scores of models and baselines on their split. If more are hidden, scores are
    rounded, and left out if a kind has fewer than ``FEW`` hidden CATs: those of this kind, and
    those of both kinds, because their difference to the other kind is about these few CATs.

    Args:
        facts: the facts of the release.
        contents: what it publishes, as from ``conceal``.
        split: the split that is hidden.
        numbers: False leaves out all these numbers, because earlier ones are about nearly the same
            CATs: the difference would be about a few of them.
    """
    hidden = [cat for cat in contents.cats if cat.commitment is not None]
    others = [cat for cat in contents.cats if cat.commitment is None]
    enough = numbers and len(hidden) >= FEW
    terms = {(cat.domain, cat.target) for cat in hidden}
    kinds = _kinds(hidden) if enough else frozenset()
    sentiment = tuple(
        row.model_copy(update={"share": _rounded(row.share), "ci": _ends(row.ci)})
        for row in facts.sentiment
        if row.kind in kinds
    )
    return facts.model_copy(
        update={
            **_of_others(facts, contents),
            "agreement": facts.agreement if enough else (),
            "sentiment": sentiment,
            "pitfalls": tuple(map(_unchecked, facts.pitfalls)),
            "scores": _rows(facts.scores, others, split, kinds),
            "unscored": (),
            "baselines": tuple(
                baseline.model_copy(
                    update={
                        "rows": _rows(baseline.rows, others, split, kinds),
                        "beyond": _beyond(baseline.beyond, split, kinds),
                    }
                )
                for baseline in facts.baselines
            ),
            "trust": facts.trust and _trust(facts.trust, enough="both" in kinds),
            "hidden": Hidden(split=split, cats=len(hidden), terms=len(terms)),
        }
    )


def sealed_facts(facts: Facts, contents: Contents) -> Facts:
    """The facts of a release whose test set is sealed: its numbers are public in full.

    Only what is about the files is counted over the published CATs. Nobody can run a model on texts
    that are not public, so scores tell nothing of single labels.

    Args:
        facts: the facts of the release.
        contents: what it publishes, as from ``seal``.
    """
    terms = sum(count.terms for count in facts.terms if count.split == "test")
    hidden = Hidden(split="test", cats=len(contents.sealed), terms=terms)
    return facts.model_copy(update={**_of_others(facts, contents), "hidden": hidden})


def _of_others(facts: Facts, contents: Contents) -> dict[str, Any]:
    """Tiers and numbers of annotations, over the CATs that are not hidden."""
    tiers = dict.fromkeys(facts.tiers, 0)
    for cat in contents.cats:
        if cat.commitment is None:
            name = "unknown" if cat.tier is None else str(cat.tier)
            tiers[name] = tiers.get(name, 0) + 1
    annotations = contents.annotations
    return {
        "tiers": tiers,
        "without_votes": len(contents.without_votes),
        "annotations": len(annotations),
        "annotators": int(annotations["annotator"].nunique()),
        "counted": int(annotations["counted"].sum()),
    }


def _kinds(hidden: Iterable[PublishedCat]) -> frozenset[str]:
    """The kinds, and "both", of which numbers about hidden CATs may be public."""
    counts = Counter(cat.kind for cat in hidden)
    kinds = frozenset(kind for kind in KINDS if not 0 < counts[kind] < FEW)
    return kinds | {"both"} if len(kinds) == len(KINDS) else kinds


def _unchecked(pitfall: PitfallCount) -> PitfallCount:
    """A pitfall without its count, if this depends on gold labels."""
    if pitfall.code not in LABELLED or pitfall.count is None:
        return pitfall
    return pitfall.model_copy(update={"count": None, "why": "it depends on hidden gold labels"})


def _rows(
    rows: tuple[ScoreRow, ...],
    others: Sequence[PublishedCat],
    split: SplitName,
    kinds: Collection[str],
) -> tuple[ScoreRow, ...]:
    """Rows of scores without those that say too much of hidden CATs."""
    public = {cat.split for cat in others} - {split}
    return tuple(
        row if row.split in public else _coarse(row)
        for row in rows
        if row.split in public or (row.kind in kinds and row.cats >= FEW)
    )


def _coarse(row: ScoreRow) -> ScoreRow:
    values = {name: _rounded(getattr(row, name)) for name in ("lms", "ss", "icat")}
    ends = {name: _ends(getattr(row, name)) for name in ("lms_ci", "ss_ci", "icat_ci")}
    return row.model_copy(update={**values, **ends})


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def _ends(ends: Interval) -> Interval:
    return None if ends is None else (round(ends[0], _DECIMALS), round(ends[1], _DECIMALS))


def _beyond(texts: tuple[str, ...], split: str, kinds: Collection[str]) -> tuple[str, ...]:
    """The values beyond chance, without those of kinds with few hidden CATs."""
    return tuple(
        text
        for text in texts
        if not text.endswith(f", {split}") or text.endswith(tuple(f", {k}, {split}" for k in kinds))
    )


# --- the trust report ---------------------------------------------------------------------------

_WHOLE = frozenset(("cat", "cats", "item", "items", "term", "terms", "target", "targets"))
"""What a row must be about: 100 of these are at least 100 CATs."""


def _trust(report: TrustFacts, *, enough: bool) -> TrustFacts:
    """The trust report without rows that say too much of hidden CATs."""
    rows = tuple(
        row if row.subject == "measure" else _coarse_row(row)
        for row in report.rows
        if row.subject == "measure" or row.status == "attested" or (enough and _is_public(row))
    )
    return report.model_copy(update={"rows": rows, "left_out": len(report.rows) - len(rows)})


def _is_public(row: TrustRow) -> bool:
    """Whether a row about gold labels is about enough CATs.

    Pitfalls may be of single CATs, and the smallest domain of a few.
    """
    few = row.criterion == "content" or row.check.startswith("domains:")
    return not few and row.n >= FEW and row.unit.casefold() in _WHOLE


def _coarse_row(row: TrustRow) -> TrustRow:
    points = any(word in row.statistic for word in ("points", "mean over terms", "lms"))
    digits = _DECIMALS if points or abs(row.value or 0) > 1 else 2
    return row.model_copy(
        update={
            "value": None if row.value is None else round(row.value, digits),
            "ci": None if row.ci is None else (round(row.ci[0], digits), round(row.ci[1], digits)),
            "p": None if row.p is None else round(row.p, 2),
            "power": None if row.power is None else round(row.power, 2),
            "computed": "",
            "change": "",
        }
    )
