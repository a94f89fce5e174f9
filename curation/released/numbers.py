"""What a release may say of all hidden CATs together, without giving away the labels of one."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from math import ceil, floor, pi
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from curation.checks.codes import PITFALLS
from curation.records import Record, SplitName
from curation.released.commitments import Hash, HiddenGold
from curation.released.contents import Contents
from curation.released.facts import (
    Baseline,
    Facts,
    Hidden,
    Part,
    PitfallCount,
    ScoreRow,
    TrustFacts,
    TrustRow,
)
from curation.text.wording import amount, some

GAIN = 0.03
"""The largest share of orders that published values may add to what is guessed without them."""
ONE = ceil(1 / (2 * pi * GAIN**2))
"""The smallest number of hidden CATs about which one value may be given out."""
HIDDEN_PER_DEV = 5
"""With fewer dev CATs, a value also tells much of how far a model prefers stereotypes."""
ROW_GAIN = 0.01
"""The same as ``GAIN`` for the rows of a leaderboard, so that icat gains 2 points at most."""


def budget(cats: int, dev: int) -> int:
    """How many values may be given out about a number of hidden CATs.

    With K values of models whose ss is 50, which is the worst case, the best estimate of the
    order of each of N CATs has a variance of K/N, so it adds sqrt(K / (2 pi N)) to the share of
    orders that are guessed. Terms of different sizes only lower it.

    Args:
        cats: the number of hidden CATs.
        dev: the number of CATs with public gold labels; ``HIDDEN_PER_DEV`` hidden ones count for
            each.

    >>> [budget(cats, cats // 3) for cats in (100, 222, 500, 1_000, 6_000)], budget(1_000, 100)
    ([0, 1, 2, 5, 33], 2)
    """
    return floor(2 * pi * GAIN**2 * min(cats, HIDDEN_PER_DEV * dev))


class GivenOut(Record):
    """A line of ``given-out.jsonl``: a value about hidden gold labels that was given out.

    ``version`` is the release that publishes it, ``cats`` the ``fingerprint`` of the hidden CATs,
    ``name`` what it is, such as "model gpt2 (default)", and ``value`` what is published.
    """

    version: str
    cats: Hash
    name: str
    value: str

    @property
    def content(self) -> tuple[str, str, str]:
        """What makes two lines the same value, whatever the version."""
        return self.cats, self.name, self.value


def fingerprint(golds: Iterable[HiddenGold]) -> str:
    """The sha256 of the hidden CATs' own ids, texts and gold labels, whatever their public ids."""
    lines = []
    for gold in golds:
        own = (gold.original, gold.kind, gold.bias_type, gold.target, gold.context)
        options = sorted((o.original, o.sentence, o.gold_label) for o in gold.sentences)
        lines.append(orjson.dumps((*own, options)))
    return sha256(b"\n".join(sorted(lines))).hexdigest()


def same_names(golds: Iterable[HiddenGold]) -> frozenset[object]:
    """By what CATs of two versions are recognised as the same: by their own id, or their texts."""
    return frozenset(name for gold in golds for name in (gold.original, gold.texts))


def values_left(
    version: str,
    golds: Mapping[str, Sequence[HiddenGold]],
    given: Collection[GivenOut],
    *,
    dev: int,
) -> int:
    """How many more values about the hidden CATs of a version may be given out.

    A value counts for every version that shares a CAT with its own, because the budget belongs to
    the CATs. It also counts if the gold file of its own version is lost. If a related version is
    sealed, nothing may be given out: all its values are public.

    Args:
        version: the version.
        golds: of each version that is not revealed, this one included, the CATs whose gold labels
            nobody knows.
        given: all values that were given out.
        dev: the number of CATs with public gold labels.

    Returns:
        The number; it is negative if more was given out than the budget.
    """
    known = {name: same_names(of) for name, of in golds.items()}
    related = [name for name in known if known[name] & known[version] or name == version]
    if any(gold.sealed for name in related for gold in golds[name][:1]):
        return 0
    return min(budget(len(golds[name]), dev) - _used(known, name, given) for name in related)


def _used(known: Mapping[str, frozenset[object]], version: str, given: Iterable[GivenOut]) -> int:
    """How many values were given out that count for a version."""
    own = known[version]
    return len({value.content for value in given if known.get(value.version, own) & own})


def board_rows_left(
    version: str,
    golds: Mapping[str, Sequence[HiddenGold]],
    given: Collection[GivenOut],
    *,
    dev: int,
) -> int:
    """How many more rows a leaderboard may show about the hidden CATs of a version.

    A row is a value as ``values_left`` counts them. Somebody who has read K - 1 rows can send in a
    model made from them as the last one, and keep the best of all K. What K rows then add to the
    share of orders that are guessed is that of K - 1/2 values. It moves ss by as much and icat by
    twice as much, so it may be ``ROW_GAIN``; one row adds nothing (``benchmarks/board_attack.py``).
    lms and ss are means over terms, so N CATs on T terms of sizes n_t count as T^2 / sum(1 / n_t)
    CATs of equal weight.

    Args:
        version: the version.
        golds: as for ``values_left``.
        given: all values that were given out.
        dev: the number of CATs with public gold labels.

    Returns:
        The number, 0 or more.
    """
    terms = Counter((gold.bias_type, gold.target) for gold in golds[version]).values()
    cats = len(terms) ** 2 / sum(1 / size for size in terms) if terms else 0
    most = max(1, floor(2 * pi * ROW_GAIN**2 * min(cats, HIDDEN_PER_DEV * dev) + 1 / 2))
    used = _used({name: same_names(of) for name, of in golds.items()}, version, given)
    return max(0, min(values_left(version, golds, given, dev=dev), most - used))


def share_out(
    wanted: Sequence[GivenOut], given: Collection[GivenOut], room: int
) -> tuple[list[GivenOut], list[GivenOut]]:
    """The values that may be published, and those that may not.

    A value that was given out before costs nothing. The first ones of the others are published.

    Args:
        wanted: the values, in the order of their importance.
        given: all values that were given out.
        room: how many more may be.
    """
    known = {value.content for value in given}
    new = [value for value in wanted if value.content not in known]
    left_out = new[max(room, 0) :]
    return [value for value in wanted if value not in left_out], left_out


FEW = 100
"""Numbers about fewer hidden CATs than this are not published: they would say too much of each."""
_POINTS, _SHARES = 1, 2  # decimals of public numbers in points, and of those between -1 and 1
_SHOWN = 3  # values that a finding names
SENTIMENT = "sentiment"
_FIXED = frozenset(("IdealLM", "StereotypedLM", "RandomLM"))  # whatever the gold labels are
P = TypeVar("P", bound=Part)


def coarse(facts: Facts, contents: Contents, *, split: SplitName, numbers: bool = True) -> Facts:
    """The facts with overall numbers about the hidden CATs only, rounded.

    There are none of a kind, a domain or a term. Tiers and CATs without votes are counted over the
    other CATs. Counts of pitfalls that depend on gold labels are left out: many are about few CATs,
    and readers can see in the texts which ones. What changes without people who failed checks is
    left out. If fewer than ``FEW`` CATs are
    hidden, these are left out, too: agreement, sentiment, scores of models and baselines on their
    split, and rows of the trust report about gold labels.

    Args:
        facts: the facts of the release.
        contents: what it publishes, as from ``conceal``.
        split: the split that is hidden.
        numbers: False leaves out all these numbers, because nearly the same CATs are hidden in an
            earlier version, or their labels are known: they would be about few CATs.
    """
    hidden = [cat for cat in contents.cats if cat.commitment is not None]
    terms = {(cat.domain, cat.target) for cat in hidden}
    about = Hidden(split=split, cats=len(hidden), terms=len(terms))
    facts = facts.model_copy(update={**_of_others(facts, contents), "hidden": about})
    return _overall_only(facts, about, numbers=numbers)


def _overall_only(facts: Facts, hidden: Hidden, *, numbers: bool = True) -> Facts:
    """The facts with overall numbers about the hidden CATs only, rounded."""
    enough = numbers and hidden.cats >= FEW
    kind = _overall({size.kind for size in facts.sizes if size.split == hidden.split})
    every = _overall({size.kind for size in facts.sizes})
    return facts.model_copy(
        update={
            "agreement": tuple(_rounded(row, _SHARES) for row in facts.agreement if enough),
            "sentiment": tuple(
                _rounded(row, _POINTS) for row in facts.sentiment if enough and row.kind == every
            ),
            "pitfalls": tuple(map(_unchecked, facts.pitfalls)),
            "scores": _rows(facts.scores, hidden.split, kind if enough else ""),
            "unscored": (),
            "failed_checks": "",
            "baselines": tuple(
                _baseline(
                    base,
                    _rows(base.rows, hidden.split, kind if enough else ""),
                    lambda text: (
                        not text.endswith(f", {hidden.split}")
                        or (enough and text.endswith(f", {kind}, {hidden.split}"))
                    ),
                )
                for base in facts.baselines
            ),
            "trust": facts.trust and _trust(facts.trust, enough=enough),
        }
    )


def _baseline(base: Baseline, rows: tuple[ScoreRow, ...], keeps: Callable[[str], bool]) -> Baseline:
    """A baseline with other rows, and without some of the values beyond chance."""
    return base.model_copy(update={"rows": rows, "beyond": tuple(filter(keeps, base.beyond))})


def _overall(kinds: Collection[str]) -> str:
    """The kind of rows about CATs of all of these kinds."""
    return "both" if len(kinds) > 1 else "".join(kinds)


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
    table = contents.annotations
    people, counted = int(table["annotator"].nunique()), int(table["counted"].sum())
    labels = {"annotations": len(table), "annotators": people, "counted": counted}
    return {"tiers": tiers, "without_votes": len(contents.without_votes), **labels}


def _unchecked(pitfall: PitfallCount) -> PitfallCount:
    """A pitfall without its count, if this depends on gold labels."""
    if pitfall.count is None or not PITFALLS[pitfall.code].labelled:
        return pitfall
    return pitfall.model_copy(update={"count": None, "why": "it depends on hidden gold labels"})


def _rows(rows: Iterable[ScoreRow], split: str, kind: str) -> tuple[ScoreRow, ...]:
    """Rows of scores: of the hidden split only those of this kind, rounded."""
    return tuple(
        row if row.split != split else _rounded(row, _POINTS)
        for row in rows
        if row.split != split or row.kind == kind
    )


def _rounded(row: P, digits: int) -> P:
    """A part of the facts with its numbers rounded, and those in intervals."""
    values: dict[str, object] = {}
    for name, value in row:
        if isinstance(value, float):
            values[name] = round(value, digits)
        elif isinstance(value, tuple) and value and isinstance(value[0], float):
            values[name] = tuple(round(end, digits) for end in value)
    return row.model_copy(update=values)


# --- values that count -------------------------------------------------------------------------


def gold_values(facts: Facts) -> dict[str, str]:
    """The values about hidden gold labels in the facts of a release: their names and values.

    They are in this order: models, baselines, sentiment, rows of the trust report. A metric that
    treats stereotype and anti-stereotype alike is left out (``budget``). A sealed release has none:
    nobody can run a model on its texts.
    """
    if facts.hidden is None or facts.hidden.sealed:
        return {}
    split = facts.hidden.split
    found: dict[str, str] = {}
    for name, rows in _by_name(facts):
        shown = [
            f"{row.kind}: {value}"
            for row in rows
            if row.split == split and (value := telling_values(row))
        ]
        if shown:
            found[name] = "; ".join(shown)
    if facts.sentiment:
        found[SENTIMENT] = "; ".join(f"{r.kind}: {r.label} {r.share}" for r in facts.sentiment)
    for row in facts.trust.rows if facts.trust else ():
        if _about_gold(row):
            name = _trust_name(row)
            found[name] = found.get(name, "") + f"{row.status} {row.value} {row.ci} {row.p};"
    return found


def telling_values(row: BaseModel) -> str:
    """The metrics of a row of scores that tell of gold labels, with their intervals, in words."""
    from curation.stats.metrics import METRICS

    values = row.model_dump()
    return ", ".join(
        f"{name} {values[name]} {values[f'{name}_ci']}"
        for name, metric in METRICS.items()
        if metric.tells_gold and values[name] is not None
    )


def too_much(facts: Facts) -> list[str]:
    """What the facts of a release publish about hidden gold labels beyond ``coarse`` and budget."""
    if facts.hidden is None or facts.hidden.sealed:
        return []
    most = _overall_only(facts, facts.hidden)
    says = [
        f"{name}: more than overall numbers, or more decimals"
        for name in ("agreement", "failed_checks", "sentiment", "pitfalls", "scores", "baselines")
        if getattr(most, name) != getattr(facts, name)
    ]
    if facts.trust and most.trust and most.trust.rows != facts.trust.rows:
        says.append("trust: rows about few CATs, or more decimals")
    found = gold_values(facts)
    if len(found) > allowed_values(facts):
        says.append(
            f"{amount(len(found), 'value')} about gold labels, and {facts.hidden.cats:,} hidden "
            f"CATs allow {allowed_values(facts)}: {some(list(found), _SHOWN)}"
        )
    return says


def allowed_values(facts: Facts) -> int:
    """How many values about its hidden CATs a release may publish."""
    return budget(facts.hidden.cats if facts.hidden else 0, dev_cats(facts))


def dev_cats(facts: Facts) -> int:
    """The number of dev CATs of a release."""
    return sum(size.cats for size in facts.sizes if size.split == "dev")


def drop_values(facts: Facts, names: Collection[str]) -> Facts:
    """The facts without values of these names, as in ``gold_values``.

    Metrics that do not tell of gold labels stay. The names are listed in ``Hidden.left_out``.
    """
    from curation.stats.metrics import METRICS

    if facts.hidden is None or not names:
        return facts
    split = facts.hidden.split

    telling = [name for name, metric in METRICS.items() if metric.tells_gold]
    stays = tuple(f"{name} " for name in METRICS if name not in telling)
    none = dict.fromkeys([*telling, *(f"{name}_ci" for name in telling)])

    def cut(row: ScoreRow) -> ScoreRow:
        return row.model_copy(update=none) if row.split == split else row

    def keeps(text: str) -> bool:
        return not text.endswith(f", {split}") or text.startswith(stays)

    if trust := facts.trust:
        rows = [r for r in trust.rows if not _about_gold(r) or _trust_name(r) not in names]
        trust = _with_rows(trust, rows)
    return facts.model_copy(
        update={
            "scores": tuple(cut(r) if _model_name(r) in names else r for r in facts.scores),
            "baselines": tuple(
                _baseline(base, tuple(map(cut, base.rows)), keeps)
                if _base_name(base) in names
                else base
                for base in facts.baselines
            ),
            "sentiment": () if SENTIMENT in names else facts.sentiment,
            "trust": trust,
            "hidden": facts.hidden.model_copy(update={"left_out": tuple(names)}),
        }
    )


def _by_name(facts: Facts) -> Iterable[tuple[str, Sequence[ScoreRow]]]:
    models: dict[str, list[ScoreRow]] = {}
    for row in facts.scores:
        models.setdefault(_model_name(row), []).append(row)
    yield from models.items()
    for base in facts.baselines:
        if base.model not in _FIXED:
            yield _base_name(base), base.rows


def _base_name(base: Baseline) -> str:
    return f"baseline {base.model}"


def _model_name(row: ScoreRow) -> str:
    return f"model {row.model}" + (f" ({row.rules})" if row.rules else "")


def _trust_name(row: TrustRow) -> str:
    return f"trust {row.criterion}, {row.check}, {row.subject} {row.name}".rstrip()


# --- the trust report ---------------------------------------------------------------------------

_WHOLE = frozenset(("cat", "cats", "item", "items", "term", "terms", "target", "targets"))
"""What a row must be about: 100 of these are at least 100 CATs."""


def _trust(report: TrustFacts, *, enough: bool) -> TrustFacts:
    """The trust report without rows that say too much of hidden CATs."""
    rows = [
        row if row.subject == "measure" else _coarse_row(row)
        for row in report.rows
        if not _about_gold(row) or (enough and _is_public(row))
    ]
    return _with_rows(report, rows)


def _with_rows(report: TrustFacts, rows: Sequence[TrustRow]) -> TrustFacts:
    left_out = report.left_out + len(report.rows) - len(rows)
    return report.model_copy(update={"rows": tuple(rows), "left_out": left_out})


def _about_gold(row: TrustRow) -> bool:
    """Whether a row was computed from gold labels."""
    return row.subject != "measure" and row.status != "attested"


def _is_public(row: TrustRow) -> bool:
    """Whether a row about gold labels is about enough CATs.

    Pitfalls may be of single CATs, and the smallest domain of a few.
    """
    few = row.criterion == "content" or row.check.startswith("domains:")
    return not few and row.n >= FEW and row.unit.casefold() in _WHOLE


def _coarse_row(row: TrustRow) -> TrustRow:
    points = any(word in row.statistic for word in ("points", "mean over terms", "lms"))
    digits = _POINTS if points or abs(row.value or 0) > 1 else _SHARES
    own, few = _rounded(row, digits), _rounded(row, 2)
    others = {"p": few.p, "power": few.power, "threshold": row.threshold}
    return own.model_copy(update={**others, "computed": "", "change": ""})
