"""How far annotators agree: coefficients with intervals, terms, annotators, retention, intent."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pandas as pd

from curation.kinds import GOLDS
from curation.records import VALUES, Decision, Fields, Item, Term
from curation.stats.agreement import (
    MEASURES,
    Counted,
    Counts,
    by_cat,
    coefficient,
    contributions,
    interval,
)
from curation.stats.intervals import Interval
from curation.text.rules import chance_of_agreement
from curation.text.wording import amount

_FEW_CATS = 10  # with fewer CATs the coverage of intervals was not measured (docs/intervals.md)
PAPER_RETENTION = 83.0  # per cent of CATs kept (StereoSet, ACL §4.3)
GROUPS = ("domain", "kind", "round", "term", "annotator")
CLASSES = ("all", "stereo/anti")
SCOPES = ("kept", "decided")


class Facts(NamedTuple):
    """Associations and the labels that count.

    ``frame`` has one row per association, in the order of the items, with the columns item
    (number), domain, kind, term (``domain/text``), kept, decided, gold (code in ``GOLDS``, -1 for
    none). ``labels`` has one row per label that counts: ``row`` (its association's row in
    ``frame``), ``value`` (code in ``VALUES``), round and annotator.
    """

    frame: pd.DataFrame
    labels: pd.DataFrame


class Coefficient(TypedDict):
    """A coefficient of a group, with its interval over CATs; None if no votes can be paired."""

    by: str
    group: str
    scope: str
    classes: str
    measure: str
    value: float | None
    ci: Interval | None
    cats: int
    labels: int
    few_cats: bool


class TermShares(TypedDict):
    """Shares of votes, in per cent, as in ``by_term``; None if no association has a vote."""

    agreement: float | None
    stereotype: float | None
    all: float | None


class DecidedShares(TermShares):
    """The same over kept and dropped items."""

    items: int


class TermAgreement(TermShares):
    """Agreement on a term; ``cats`` counts its kept items."""

    term: str
    domain: str
    cats: int
    decided: DecidedShares


class AnnotatorAgreement(TypedDict):
    """An annotator against the others; shares in per cent, None without any to compare with."""

    annotator: str
    labels: int
    with_others: float | None
    with_gold: float | None
    suspect: bool


class RetentionRow(TypedDict):
    """The share of decided items that were kept, in per cent; None if there are none."""

    domain: str
    kind: str
    items: int
    open: int
    kept: int
    retention: float | None
    paper: float


class Differing(TypedDict):
    """How many gold labels differ from others; the share in per cent, None if there are none."""

    associations: int
    differ: int
    share: float | None


class Outcome(TypedDict):
    """What labels decide: labels that count, CATs, the share of associations with a gold label in
    per cent, and alpha over decided items that got all their labels; None without any.
    """

    labels: int
    cats: int
    gold: float | None
    alpha: float | None


class FailedChecks(TypedDict):
    """The outcome with and without the people who failed two instruction checks in a round.

    ``people`` counts those of them whose labels count.
    """

    people: int
    all: Outcome
    without: Outcome


class WithoutFlagged(Outcome):
    """The outcome without the items that at least ``by`` validators flagged; by 0: of all items.

    ``items`` counts the items that are left.
    """

    by: int
    items: int


class Agreement(TypedDict):
    """The content of ``agreement.json`` (docs/decisions.md)."""

    confidence: float
    excluded: list[str]
    items: dict[str, int]
    measures: list[Coefficient]
    terms: list[TermAgreement]
    annotators: list[AnnotatorAgreement]
    retention: list[RetentionRow]
    gold: dict[str, Differing]
    repeats: dict[str, int]
    failed_checks: FailedChecks | None
    flagged: list[WithoutFlagged]


def facts(
    items: Sequence[Item],
    decisions: Sequence[Decision],
    counted: Counted,
    terms: Mapping[str, Term],
    *,
    exclude: Sequence[str] = (),
) -> Facts:
    """Combine the labels that count with the decisions.

    Args:
        items: the items.
        decisions: one per item, in their order.
        counted: which labels count.
        terms: the terms by id.
        exclude: annotators whose labels are left out; the decisions stay.
    """
    rows = [
        {
            "item": number,
            "domain": terms[item.term].domain,
            "kind": item.kind,
            "term": f"{terms[item.term].domain}/{terms[item.term].text}",
            "kept": decision.kept,
            "decided": decision.reason != "too_few_labels",
            "gold": GOLDS.index(verdict.gold) if verdict.gold else -1,
        }
        for number, (item, decision) in enumerate(zip(items, decisions, strict=True))
        for verdict in decision.verdicts
    ]
    columns = ["item", "domain", "kind", "term", "kept", "decided", "gold"]
    frame = pd.DataFrame(rows, columns=columns)
    frame = frame.astype(
        dict.fromkeys(("domain", "kind", "term"), "category")
        | dict.fromkeys(("kept", "decided"), "bool")
        | dict.fromkeys(("item", "gold"), "int64")
    )
    labels = counted.labels
    live = (labels["code"] == "") & ~labels["annotator"].isin(list(exclude))
    labels = labels.loc[live, ["row", "value", "round", "annotator"]].reset_index(drop=True)
    codes = pd.Categorical(labels["value"], categories=list(VALUES)).codes
    return Facts(frame, labels.assign(value=codes.astype(np.int64)))


def _votes(of: Facts, labels: pd.DataFrame) -> Counts:
    cells = labels["row"].to_numpy() * len(VALUES) + labels["value"].to_numpy()
    return np.bincount(cells, minlength=len(of.frame) * len(VALUES)).reshape(-1, len(VALUES))


def _groups(of: Facts, by: str) -> Iterator[tuple[str, Counts]]:
    """The votes of each group; associations outside the group have no votes."""
    if by == "round":
        for name in sorted(of.labels["round"].unique()):
            yield str(name), _votes(of, of.labels[of.labels["round"] == name])
        return
    votes = _votes(of, of.labels)
    if by == "overall":
        yield "overall", votes
        return
    for name in of.frame[by].cat.categories:
        yield str(name), votes * (of.frame[by] == name).to_numpy()[:, None]


def measured(
    of: Facts,
    *,
    by: str = "overall",
    measures: Sequence[str] = tuple(MEASURES),
    confidence: float = 0.95,
) -> list[Coefficient]:
    """Krippendorff's alpha, Fleiss' kappa and AC1, with intervals over CATs.

    The unit is an association. ``scope`` is "kept" (items that were kept) or "decided" (items that
    were kept or dropped by their votes). ``classes`` is "all", or "stereo/anti" for associations
    whose gold label is stereotype or anti-stereotype, which is the harder choice.

    Args:
        of: the associations and their labels.
        by: how associations are grouped: "overall" or one of ``GROUPS`` without annotator.
        measures: names in ``stats.agreement.MEASURES``.
        confidence: of the intervals.

    Returns:
        One row for each group, scope, classes and measure.
    """
    rows: list[Coefficient] = []
    for group, votes in _groups(of, by):
        for scope in SCOPES:
            for classes in CLASSES:
                chosen = of.frame[scope].to_numpy() & (votes.sum(axis=1) > 0)
                if classes != "all":
                    chosen &= of.frame["gold"].isin([0, 1]).to_numpy()
                part = votes[chosen]
                if not len(part):
                    continue
                units = by_cat(contributions(part), of.frame["item"].to_numpy()[chosen])
                for measure in measures:
                    value = coefficient(measure, part)
                    rows.append(
                        {
                            "by": by,
                            "group": group,
                            "scope": scope,
                            "classes": classes,
                            "measure": measure,
                            "value": value,
                            "ci": None
                            if value is None
                            else interval(measure, units, confidence=confidence),
                            "cats": len(units),
                            "labels": int(part.sum()),
                            "few_cats": len(units) < _FEW_CATS,
                        }
                    )
    return rows


def by_term(of: Facts) -> list[TermAgreement]:
    """Agreement on each term (ACL §4.3, Table 10), both kinds pooled, of kept and decided items.

    ``agreement`` is our reading of Table 10: the chance that two votes on an association are the
    same (``rules.chance_of_agreement``), averaged over the stereotype associations. ``stereotype``
    and ``all`` are plain shares of votes for the gold label: over the stereotype associations, and
    over all associations that have a gold label.

    Returns:
        One row for each term. The highest agreement comes first.
    """
    votes = _votes(of, of.labels)
    total, gold = votes.sum(axis=1), of.frame["gold"].to_numpy()
    frame = of.frame.assign(
        share=100 * votes[np.arange(len(votes)), gold] / np.maximum(total, 1),
        alike=[100 * chance_of_agreement(v) if sum(v) else np.nan for v in votes.tolist()],
    )[(gold >= 0) & (total > 0)]
    rows: list[TermAgreement] = []
    for term, part in frame[frame["decided"]].groupby("term", observed=True, sort=True):
        kept, decided = part[part["kept"]], _of_term(part)
        rows.append(
            {
                "term": str(term).split("/", 1)[1],
                "domain": str(part["domain"].iloc[0]),
                "cats": int(kept["item"].nunique()),
                **_of_term(kept),
                "decided": {"items": int(part["item"].nunique()), **decided},
            }
        )
    return sorted(rows, key=lambda row: (-(row["agreement"] or 0), row["domain"], row["term"]))


def _of_term(part: pd.DataFrame) -> TermShares:
    """The shares of ``by_term`` over some of a term's associations."""
    stereotypes = part[part["gold"] == GOLDS.index("stereotype")]

    def mean(values: "pd.Series[float]") -> float | None:
        return float(values.mean()) if len(values) else None

    return {
        "agreement": mean(stereotypes["alike"]),
        "stereotype": mean(stereotypes["share"]),
        "all": mean(part["share"]),
    }


def by_annotator(of: Facts) -> list[AnnotatorAgreement]:
    """Each annotator's agreement with the others who labelled the same associations.

    Returns:
        One row for each annotator, lowest agreement first. ``with_others`` is the share of the
        others' labels on the same associations that are the same, ``with_gold`` the share of the
        annotator's labels that equal the gold label. ``suspect`` marks annotators with at least
        fifteen labels whom most others contradict.
    """
    votes = _votes(of, of.labels)
    row, value = of.labels["row"].to_numpy(), of.labels["value"].to_numpy()
    others = votes.sum(axis=1)[row] - 1
    gold = of.frame["gold"].to_numpy()[row]
    each = pd.DataFrame(
        {
            "annotator": of.labels["annotator"].astype(str),
            "same": np.where(others > 0, (votes[row, value] - 1) / np.maximum(others, 1), np.nan),
            "gold": np.where(gold >= 0, value == gold, np.nan),
        }
    ).groupby("annotator")
    table = pd.DataFrame(
        {"labels": each.size(), "same": each["same"].mean(), "gold": each["gold"].mean()}
    ).sort_values(["same", "labels"], na_position="last")
    return [
        {
            "annotator": str(name),
            "labels": int(labels),
            "with_others": None if np.isnan(same) else float(100 * same),
            "with_gold": None if np.isnan(right) else float(100 * right),
            "suspect": bool(same < 0.5 and labels >= 15),
        }
        for name, labels, same, right in table.itertuples(name=None)
    ]


def retention(
    items: Sequence[Item], decisions: Sequence[Decision], terms: Mapping[str, Term]
) -> list[RetentionRow]:
    """Share of decided items that were kept, by domain and kind, beside the paper's 83 %.

    Domain and kind may be "all".
    """
    tally: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for item, decision in zip(items, decisions, strict=True):
        domain = terms[item.term].domain
        for key in {(domain, item.kind), (domain, "all"), ("all", item.kind), ("all", "all")}:
            tally[key][0] += 1
            tally[key][1] += decision.reason == "too_few_labels"
            tally[key][2] += decision.kept
    return [
        {
            "domain": domain,
            "kind": kind,
            "items": items_,
            "open": open_,
            "kept": kept,
            "retention": 100 * kept / (items_ - open_) if items_ > open_ else None,
            "paper": PAPER_RETENTION,
        }
        for (domain, kind), (items_, open_, kept) in sorted(
            tally.items(), key=lambda pair: ([part == "all" for part in pair[0]], pair[0])
        )
    ]


def intent(items: Sequence[Item], decisions: Sequence[Decision]) -> dict[str, Differing]:
    """How often gold labels differ from the writer's intent, or from the published label.

    Returns:
        ``intent`` and ``published``, each over the associations that have both labels.
    """
    counts = {"intent": [0, 0], "published": [0, 0]}
    for item, decision in zip(items, decisions, strict=True):
        for association, verdict in zip(item.associations, decision.verdicts, strict=True):
            before = {"intent": association.intent, "published": association.published_gold}
            for name, meant in before.items():
                if verdict.gold is not None and meant is not None:
                    counts[name][0] += 1
                    counts[name][1] += meant != verdict.gold
    return {
        name: {"associations": n, "differ": d, "share": 100 * d / n if n else None}
        for name, (n, d) in counts.items()
    }


def outcome(
    decisions: Sequence[Decision], counted: Counted, early: Collection[str] = ()
) -> Outcome:
    """What the labels that count decide, to compare them with other labels on the same items.

    Args:
        decisions: one per item.
        counted: the labels that count; votes in the order of the decisions.
        early: ids of items that got labels only until they were decided; alpha leaves them out.
    """
    golds = [verdict.gold is not None for decision in decisions for verdict in decision.verdicts]
    decided = [d.reason != "too_few_labels" and d.item not in early for d in decisions]
    votes = _votes_where(decided, decisions, counted)
    votes = votes[votes.sum(axis=1) > 0]
    return {
        "labels": int((counted.labels["code"] == "").sum()),
        "cats": sum(decision.kept for decision in decisions),
        "gold": 100 * sum(golds) / len(golds) if golds else None,
        "alpha": coefficient("alpha", votes) if len(votes) else None,
    }


def _votes_where(chosen: Sequence[bool], decisions: Sequence[Decision], counted: Counted) -> Counts:
    """The votes of the associations of chosen items."""
    sizes = np.array([len(decision.verdicts) for decision in decisions], dtype=int)
    votes: Counts = counted.votes[np.repeat(np.array(chosen, dtype=bool), sizes)]
    return votes


def without_flagged(
    decisions: Sequence[Decision],
    counted: Counted,
    flagged: Mapping[str, int],
    early: Collection[str] = (),
) -> list[WithoutFlagged]:
    """What is left without the items that one validator or more flagged, two or more, and so on.

    Args:
        decisions: one per item, made as if flags dropped nothing.
        counted: the labels that count; votes in the order of the decisions.
        flagged: how many validators flagged an item, by its id; as from ``filter.flagged``.
        early: as for ``outcome``.

    Returns:
        One row for all items, and one for each number of validators that flagged an item; none if
        nobody flagged one.
    """
    rows: list[WithoutFlagged] = []
    for by in range(max(flagged.values()) + 1 if flagged else 0):
        stays = [not by or flagged.get(d.item, 0) < by for d in decisions]
        left = [decision for decision, here in zip(decisions, stays, strict=True) if here]
        labels = counted.labels[counted.labels["item"].isin([d.item for d in left])]
        own = Counted(labels, _votes_where(stays, decisions, counted))
        rows.append({"by": by, "items": len(left), **outcome(left, own, early)})
    return rows


def about_failed(failed: FailedChecks | None) -> str:
    """What changes without the people who failed instruction checks; empty if there are none."""

    def shown(outcome: Outcome) -> str:
        alpha = "–" if outcome["alpha"] is None else f"{outcome['alpha']:.3f}"
        return f"{amount(outcome['cats'], 'CAT')}, {outcome['gold'] or 0:.1f} % gold, alpha {alpha}"

    if not failed:
        return ""
    people = amount(failed["people"], "person", "people")
    return (
        f"{people} failed two checks of reading in a round, and their labels count. With them: "
        f"{shown(failed['all'])}; without them: {shown(failed['without'])} (gold: associations "
        "that have a gold label; alpha over decided items)."
    )


TIDY = ("by", "group", "scope", "gold", "measure", "value", "low", "high", "items", "labels")


def tidy(report: Agreement, *, measures: Sequence[str], by: Sequence[str] = ()) -> list[Fields]:
    """The agreement report as one long table, unrounded.

    Args:
        report: the report.
        measures: of these measures.
        by: by these groups, besides overall; see ``agreement.GROUPS``.

    Returns:
        One row for each value, with the columns ``TIDY``; None if a column does not apply.
    """
    rows = _rows(report, measures, ("overall", *by))
    return [{name: row.get(name) for name in TIDY} for row in rows]


def _rows(report: Agreement, measures: Sequence[str], groups: Sequence[str]) -> Iterator[Fields]:
    for r in report["measures"]:
        if r["measure"] in measures and r["by"] in groups:
            low, high = r["ci"] or (None, None)
            yield {**r, "gold": r["classes"], "items": r["cats"], "low": low, "high": high}
    for t in report["terms"] if "term" in groups else ():
        for scope, part, items in (
            ("kept", t, t["cats"]),
            ("decided", t["decided"], t["decided"]["items"]),
        ):
            row = {"by": "term", "group": f"{t['domain']}/{t['term']}", "scope": scope}
            for measure, gold, value in (
                ("% votes for gold", "stereotype", part["stereotype"]),
                ("% votes for gold", "all", part["all"]),
                ("% agreement", "stereotype", part["agreement"]),
            ):
                yield row | {"measure": measure, "items": items, "gold": gold, "value": value}
    every: Fields = {"scope": "all", "gold": "all"}
    for a in report["annotators"] if "annotator" in groups else ():
        of_one = every | {"by": "annotator", "group": a["annotator"], "labels": a["labels"]}
        yield of_one | {"measure": "% with others", "value": a["with_others"]}
        yield of_one | {"measure": "% with gold", "value": a["with_gold"]}
    for kept in report["retention"]:
        row = {"by": "domain/kind", "group": f"{kept['domain']}/{kept['kind']}", "scope": "decided"}
        values = {"value": kept["retention"], "items": kept["items"] - kept["open"]}
        yield row | {"measure": "% retained"} | values
    for name, g in report["gold"].items():
        row = {"by": "overall", "group": "overall", **every}
        yield row | {"measure": f"% gold differs from {name}", "value": g["share"]}


def latex(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    show: Callable[[Any], str] = str,
) -> str:
    """A table as LaTeX (booktabs); columns without texts are aligned right.

    Args:
        title: a comment above the table.
        columns: the column headings.
        rows: the cells.
        show: makes a cell a text, for example to round it.
    """

    def safe(cell: Any) -> str:
        text = show(cell).replace("–", "--")
        for char in "%&_#":
            text = text.replace(char, "\\" + char)
        return text

    words = [any(isinstance(row[n], str) for row in rows) for n in range(len(columns))]
    sides = ["l" if word else "r" for word in words]
    lines = [f"% {title}", f"\\begin{{tabular}}{{{''.join(sides)}}}", "\\toprule"]
    lines += [" & ".join(map(safe, columns)) + r" \\", "\\midrule"]
    lines += [" & ".join(map(safe, row)) + r" \\" for row in rows]
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join(lines) + "\n"
