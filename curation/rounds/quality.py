"""How each person works, while rounds run: figures from labels and times, and marks with evidence.

A mark is a reason to look at a person's answers. Nobody is excluded by it: most people who differ
from others are careful and see it differently, and beyond about 5 % of people removed for
disagreement the labels became worse with every method that was tested (arXiv 2509.08217).

``data/rounds/marks.toml`` has the marks with their thresholds. docs/quality.md defines the figures,
and says how often the marks are right.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import GOLDS, Fields
from curation.stats.intervals import Interval, share_interval

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
IN_TASKS = ("web", "forms", "label_studio")
"""Sources of labels whose three texts were shown in random order."""
SHOWN = 8  # items that the evidence of a mark names
_CLASSES = len(GOLDS)
_LEAST = 1e-10  # of a probability in a logarithm


class Mark(NamedTuple):
    """Why somebody should look at a person's answers.

    Attributes:
        code: a section of ``data/rounds/marks.toml``.
        evidence: the figures that led to it, in a sentence.
        items: ids of some items that show it; empty if it is about all.
    """

    code: str
    evidence: str
    items: tuple[str, ...] = ()


class PersonQuality(NamedTuple):
    """A person's figures and marks; a figure is None where there is nothing to compute it from.

    Attributes:
        person: the pseudonym.
        group: the group that the team gave them; "" if none.
        labels: labels that are compared: no «related», and one for each association.
        tasks: answers.
        agreement: mean share of others' labels of the same association that are the same
            (leave-one-out), from 0 to 1.
        agreement_ci: its 95 % interval over items.
        group_agreement: the same with the others of the person's own group.
        group_agreement_ci: its 95 % interval.
        shares: the share of each label among their own, in the order of ``GOLDS``.
        entropy: of these shares, in bits: 0 if all labels are the same, at most log2(3) = 1.58.
        label_run: the most labels in a row that are the same.
        position_run: the most tasks in a row with the same three labels in the order shown.
        seconds: the median time of a task.
        pace: the median time relative to the usual time of the round: 1 is usual.
        pasted: the share of characters that were pasted, of written texts.
        competence: the chance of a right label by Dawid and Skene's model.
        marks: why to look at their answers; empty for most people.
    """

    person: str
    group: str = ""
    labels: int = 0
    tasks: int = 0
    agreement: float | None = None
    agreement_ci: Interval | None = None
    group_agreement: float | None = None
    group_agreement_ci: Interval | None = None
    shares: tuple[float, float, float] | None = None
    entropy: float | None = None
    label_run: int | None = None
    position_run: int | None = None
    seconds: float | None = None
    pace: float | None = None
    pasted: float | None = None
    competence: float | None = None
    marks: tuple[Mark, ...] = ()


@lru_cache(maxsize=1)
def thresholds() -> dict[str, Fields]:
    """By mark, its meaning, thresholds and evidence: ``data/rounds/marks.toml``."""
    path = shipped("data", "rounds", "marks.toml")
    return read_toml(path, fix="put the file back as it came with curation")


def people_figures(
    labels: pd.DataFrame,
    answers: pd.DataFrame | None = None,
    *,
    groups: Mapping[str, str] | None = None,
    intents: pd.DataFrame | None = None,
    marks: Mapping[str, Fields] | None = None,
) -> list[PersonQuality]:
    """Every person's figures and marks.

    Args:
        labels: one row for each label, in the order in which each person gave them; the three of an
            answer in the order in which the person saw the texts. Columns item, association,
            annotator, value, and as far as known round, source, seconds. It may be empty.
        answers: one row for each answer, with the columns annotator, round, seconds, and where
            known ``pasted`` and ``typed``, numbers of characters. None: one answer for each item
            that a person labelled in a round.
        groups: by person, the group that they belong to.
        intents: what the writers of items meant, as labels: item, association, annotator (the
            writer), value. They are only used to see who copies them.
        marks: thresholds, in the form of ``thresholds()``; None for these.

    Returns:
        One for each annotator of both tables: first people with marks, then by agreement.
    """
    limits = thresholds() if marks is None else marks
    labels = labels[labels["value"].isin(GOLDS)].drop_duplicates(["association", "annotator"])
    if answers is None:
        answers = _answers_of(labels)
    people = sorted({*labels["annotator"].astype(str), *answers["annotator"].astype(str)})
    if not people:
        return []
    view = _View(labels, people, groups or {})
    of_people: list[dict[str, Any]] = [
        {"person": person, "group": (groups or {}).get(person, "")} for person in people
    ]
    found: list[list[Mark]] = [[] for _ in people]
    _add_times(of_people, found, answers, limits)
    _add_labels(of_people, found, view, limits)
    _add_copying(found, view, intents, limits)
    figures = [
        PersonQuality(**each, marks=tuple(mine))
        for each, mine in zip(of_people, found, strict=True)
    ]
    return sorted(
        figures, key=lambda q: (not q.marks, 2.0 if q.agreement is None else q.agreement, q.person)
    )


def _answers_of(labels: pd.DataFrame) -> pd.DataFrame:
    known = labels.assign(
        round=labels.get("round", ""),
        seconds=labels.get("seconds", np.nan),
    )
    keys = ["annotator", "round", "item"]
    return known.groupby(keys, observed=True, sort=False)["seconds"].max().reset_index()


class _View:
    """The labels as arrays, each person's together.

    Attributes:
        people: all people, sorted.
        items: each label's item.
        who: each label's person, as an index into ``people``.
        unit: each label's association, as a number below ``units``.
        value: each label's value, as an index into ``GOLDS``.
        group: each person's group, as a number; -1 for none.
    """

    def __init__(self, labels: pd.DataFrame, people: list[str], groups: Mapping[str, str]) -> None:
        who = pd.Categorical(labels["annotator"].astype(str), categories=people).codes
        order = np.argsort(who, kind="stable")
        self.people = people
        self.table = labels.iloc[order]
        self.items = self.table["item"].to_numpy()
        self.who = who[order].astype(np.int64)
        codes, names = pd.factorize(self.table["association"])
        self.unit, self.associations = codes.astype(np.int64), names
        values = pd.Categorical(self.table["value"].astype(str), categories=list(GOLDS)).codes
        self.value = values.astype(np.int64)
        known = {
            name: n for n, name in enumerate(sorted({groups.get(p, "") for p in people} - {""}))
        }
        self.group = np.array([known.get(groups.get(p, ""), -1) for p in people])

    def others(self, *, within: bool = False) -> Ints:
        """The others' votes on each label's association, shape (labels, classes).

        Args:
            within: only votes of the person's own group; none for people without a group.
        """
        team = self.group[self.who] if within else np.zeros(len(self.who), np.int64)
        units = len(self.associations)
        cells = ((team + 1) * units + self.unit) * _CLASSES + self.value
        size = (int(team.max(initial=0)) + 2) * units * _CLASSES
        votes = np.bincount(cells, minlength=size).reshape(-1, _CLASSES)
        mine = votes[(team + 1) * units + self.unit]
        mine[np.arange(len(mine)), self.value] -= 1
        mine[team < 0] = 0
        return mine


def _agreement(
    view: _View, *, within: bool = False
) -> tuple[list[float | None], list[Interval | None], Ints]:
    """By person, leave-one-out agreement with its interval, and how many labels it is from."""
    others = view.others(within=within)
    total = others.sum(axis=1)
    rows = np.flatnonzero(total > 0)
    same = others[rows, view.value[rows]] / total[rows]
    count = len(view.people)
    compared = np.bincount(view.who[rows], minlength=count)
    items = pd.factorize(view.items[rows])[0].astype(np.int64)
    pairs, at = np.unique(view.who[rows] * (items.max(initial=0) + 1) + items, return_inverse=True)
    won: Floats = np.bincount(at, weights=same, minlength=len(pairs)).astype(float)
    of = np.bincount(at, minlength=len(pairs)).astype(float)
    ends = np.searchsorted(pairs, np.arange(count + 1) * (items.max(initial=0) + 1))
    shares: list[float | None] = [None] * count
    intervals: list[Interval | None] = [None] * count
    for n in range(count):
        mine = slice(ends[n], ends[n + 1])
        if compared[n]:
            shares[n] = float(won[mine].sum() / of[mine].sum())
            intervals[n] = share_interval(won[mine], of[mine], observations=float(compared[n]))
    return shares, intervals, compared


def _runs(who: Ints, what: Ints, people: int) -> tuple[Ints, Ints]:
    """By person, the longest run of equal values in rows of theirs, and the row of its begin."""
    longest, at = np.zeros(people, np.int64), np.zeros(people, np.int64)
    if len(who):
        begins = np.flatnonzero(np.r_[True, (who[1:] != who[:-1]) | (what[1:] != what[:-1])])
        lengths = np.diff(np.r_[begins, len(who)])
        order = np.argsort(lengths, kind="stable")  # the longest is written last
        longest[who[begins[order]]] = lengths[order]
        at[who[begins[order]]] = begins[order]
    return longest, at


def _patterns(view: _View) -> tuple[Ints, Ints, list[str]]:
    """Tasks with three labels: whose they are, the three labels in one number, and the item."""
    table = view.table
    if "source" not in table or not len(table):
        return np.zeros(0, np.int64), np.zeros(0, np.int64), []
    rows = np.flatnonzero(table["source"].isin(IN_TASKS).to_numpy())
    who, value = view.who[rows], view.value[rows]
    item = pd.factorize(view.items[rows])[0]
    first = np.flatnonzero(np.r_[True, (who[1:] != who[:-1]) | (item[1:] != item[:-1])])
    first = first[np.diff(np.r_[first, len(rows)]) == _CLASSES]
    three = (value[first] * _CLASSES + value[first + 1]) * _CLASSES + value[first + 2]
    return who[first], three, [str(view.items[rows[n]]) for n in first]


def dawid_skene(
    unit: Ints, who: Ints, value: Ints, *, iterations: int = 100, tolerance: float = 1e-5
) -> tuple[Floats, Floats, Floats]:
    """Dawid and Skene's model (1979), fitted by EM from the shares of votes.

    Args:
        unit: each label's association, as a number; shape (labels,).
        who: each label's person, as a number.
        value: each label's class, as an index into ``GOLDS``.
        iterations: at most so many.
        tolerance: stop when the log likelihood of a label rises by less.

    Returns:
        The chance of each class of each association, shape (units, classes); the share of each
        class, shape (classes,); and of each person, the chance of each label given the true class,
        shape (people, label, class).
    """
    units, people = int(unit.max(initial=-1)) + 1, int(who.max(initial=-1)) + 1
    cells = unit * _CLASSES + value
    votes = np.bincount(cells, minlength=units * _CLASSES).reshape(units, _CLASSES)
    chance = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    before = -np.inf
    for step in range(iterations + 1):
        share = np.maximum(chance.mean(axis=0), _LEAST)
        errors = _sums(who * _CLASSES + value, chance[unit], people * _CLASSES)
        errors = np.maximum(errors.reshape(people, _CLASSES, _CLASSES), _LEAST)
        errors /= errors.sum(axis=1, keepdims=True)
        if step == iterations:
            break
        logs = np.log(share) + _sums(unit, np.log(errors)[who, value], units)
        top = logs.max(axis=1, keepdims=True)
        chance = np.exp(logs - top)
        total = chance.sum(axis=1, keepdims=True)
        chance /= total
        likelihood = float((top + np.log(total)).sum()) / max(len(unit), 1)
        if likelihood - before < tolerance:
            iterations = step + 1
        before = likelihood
    return chance, share, errors


def _sums(index: Ints, rows: Floats, size: int) -> Floats:
    """Sums of the rows with the same index; shape (size, classes)."""
    columns = [np.bincount(index, column, minlength=size) for column in rows.T]
    return np.column_stack(columns)


def _add_labels(
    of_people: list[dict[str, Any]],
    found: list[list[Mark]],
    view: _View,
    limits: Mapping[str, Fields],
) -> None:
    """The figures that come from labels, and the marks random, same_label and same_position."""
    count = len(view.people)
    overall, within = _agreement(view), _agreement(view, within=True)
    counts = np.bincount(view.who * _CLASSES + view.value, minlength=count * _CLASSES)
    counts = counts.reshape(count, _CLASSES)
    runs, begins = _runs(view.who, view.value, count)
    askers, threes, items = _patterns(view)
    position_runs, position_begins = _runs(askers, threes, count)
    has_positions = np.bincount(askers, minlength=count) > 0
    _, share, errors = dawid_skene(view.unit, view.who, view.value)
    for n, each in enumerate(of_people):
        labels = int(counts[n].sum())
        if not labels:
            continue
        shares = counts[n] / labels
        some = shares[shares > 0]
        run, position_run = int(runs[n]), int(position_runs[n])
        each |= {
            "labels": labels,
            **{"agreement": overall[0][n], "agreement_ci": overall[1][n]},
            **{"group_agreement": within[0][n], "group_agreement_ci": within[1][n]},
            "shares": tuple(map(float, shares)),
            "entropy": abs(float(-(some * np.log2(some)).sum())),
            "label_run": run,
            "position_run": position_run if has_positions[n] else None,
            "competence": float(share @ np.diagonal(errors[n])),
        }
        if run >= limits["same_label"]["run"]:
            value = int(view.value[begins[n]])
            shown = dict.fromkeys(map(str, view.items[begins[n] : begins[n] + run]))
            facts = {"run": run, "value": GOLDS[value], "share": shares[value], "labels": labels}
            found[n].append(_mark(limits, "same_label", facts, tuple(shown)))
        elif position_run >= limits["same_position"]["run"]:
            shown_items = items[position_begins[n] : position_begins[n] + position_run]
            found[n].append(
                _mark(limits, "same_position", {"run": position_run}, tuple(shown_items))
            )
        else:
            _add_random(found[n], [overall, within], n, limits)


def _add_random(
    mine: list[Mark],
    agreements: list[tuple[list[float | None], list[Interval | None], Ints]],
    n: int,
    limits: Mapping[str, Fields],
) -> None:
    """Mark somebody whose agreement is low with everybody and with their own group."""
    limit = limits["random"]
    known = []
    for shares, intervals, compared in agreements:
        ends, share = intervals[n], shares[n]
        if ends is not None and share is not None and compared[n] >= limit["least"]:
            known.append((ends[1], share, int(compared[n])))
    if known:
        high, agreement, compared_labels = max(known)
        if high < limit["below"]:
            facts = {"agreement": agreement, "high": high, "compared": compared_labels}
            mine.append(_mark(limits, "random", facts))


def _mark(
    limits: Mapping[str, Fields], code: str, facts: Mapping[str, Any], items: tuple[str, ...] = ()
) -> Mark:
    return Mark(code, limits[code]["says"].format(**{**limits[code], **facts}), items[:SHOWN])


def _add_times(
    of_people: list[dict[str, Any]],
    found: list[list[Mark]],
    answers: pd.DataFrame,
    limits: Mapping[str, Fields],
) -> None:
    """Numbers of answers, times and pasted text, and the marks fast and slow."""
    answers = answers.assign(annotator=answers["annotator"].astype(str))
    done = answers["annotator"].value_counts()
    timed = answers[answers["seconds"] > 0]
    own = timed.groupby(["round", "annotator"], observed=True)["seconds"].agg(["median", "size"])
    enough = own[own["size"] >= limits["fast"]["least"]]
    usual = enough.groupby("round")["median"].agg(["median", "size"])
    pace = timed["seconds"] / timed["round"].map(usual["median"]).astype(float)
    comparable = timed["round"].map(usual["size"]).fillna(0) >= limits["fast"]["people"]
    paces = pace[comparable].groupby(timed["annotator"]).agg(["median", "size"])
    seconds = timed.groupby("annotator")["seconds"].median()
    pasted = pd.Series(dtype=float)
    if {"pasted", "typed"} <= set(answers.columns):
        sums = answers.groupby("annotator")[["pasted", "typed"]].sum()
        pasted = (sums["pasted"] / sums.sum(axis=1)).dropna()
    for each, mine in zip(of_people, found, strict=True):
        person = each["person"]
        each["tasks"] = int(done.get(person, 0))
        each["seconds"] = float(seconds[person]) if person in seconds else None
        each["pasted"] = float(pasted[person]) if person in pasted else None
        if person not in paces.index:
            continue
        median, size = float(paces.at[person, "median"]), int(paces.at[person, "size"])
        each["pace"] = median
        facts = {"pace": median, "seconds": each["seconds"], "timed": size}
        for code, beyond in (
            ("fast", median < limits["fast"]["below"]),
            ("slow", median > limits["slow"]["above"]),
        ):
            if beyond and size >= limits[code]["least"]:
                mine.append(_mark(limits, code, facts))


def _add_copying(
    found: list[list[Mark]],
    view: _View,
    intents: pd.DataFrame | None,
    limits: Mapping[str, Fields],
) -> None:
    """Mark pairs of people who differ from others in the same labels, and in the same way."""
    from scipy.sparse import csr_array

    limit = limits["copying"]
    if not len(view.who):
        return
    labels = view.table[["item", "association", "annotator", "value"]]
    validators = len(view.people)
    everybody = view
    if intents is not None and len(intents):
        intents = intents[intents["association"].isin(view.associations)]
        meant = intents.assign(annotator="writer " + intents["annotator"].astype(str))
        names = [*view.people, *sorted(set(meant["annotator"]))]
        groups = {p: str(g) for p, g in zip(view.people, view.group, strict=True) if g >= 0}
        both = pd.concat([labels, meant[list(labels)]], ignore_index=True)
        everybody = _View(both, names, groups)
    who, unit, value = everybody.who, everybody.unit, everybody.value
    others = everybody.others()
    if (everybody.group >= 0).any():
        own = everybody.group[who] >= 0
        others[own] = everybody.others(within=True)[own]
    total, top = others.sum(axis=1), others.max(axis=1)
    differs = (total >= 2) & (2 * top > total) & (others[np.arange(len(who)), value] < top)

    def people_by(columns: Ints, rows: NDArray[np.bool_], width: int) -> Any:
        ones = np.ones(int(rows.sum()), np.int64)
        shape = (len(everybody.people), width)
        return csr_array((ones, (who[rows], columns[rows])), shape=shape)

    units = len(everybody.associations)
    anything = np.ones(len(who), np.bool_)
    exact = people_by(unit * _CLASSES + value, differs, units * _CLASSES)
    differing, labelled = people_by(unit, differs, units), people_by(unit, anything, units)
    same = (exact @ exact.T).tocoo()
    either, both_differ = (differing @ labelled.T).tocsr(), (differing @ differing.T).tocsr()
    best: dict[int, tuple[int, int, int]] = {}
    pairs = np.flatnonzero((same.data >= limit["same"]) & (same.row != same.col))
    for at in pairs:
        p, q, k = int(same.row[at]), int(same.col[at]), int(same.data[at])
        differ = int(either[p, q] + either[q, p] - both_differ[p, q])
        if p < validators and k >= limit["share"] * differ:
            best[p] = max(best.get(p, (0, 0, 0)), (k, differ, q))
    for p, (k, differ, q) in sorted(best.items()):
        mine = unit[differs & (who == p)]
        theirs = set(unit[differs & (who == q)].tolist())
        rows = np.flatnonzero(np.isin(unit, [u for u in mine.tolist() if u in theirs]) & (who == p))
        items = dict.fromkeys(map(str, everybody.items[rows]))
        facts = {"same": k, "differ": differ, "other": everybody.people[q]}
        found[p].append(_mark(limits, "copying", facts, tuple(items)))


def too_many_removed(removed: int, people: int) -> bool:
    """Whether so many people are excluded that a warning is due (arXiv 2509.08217: about 5 %).

    >>> too_many_removed(1, 20), too_many_removed(2, 20)
    (False, True)
    """
    return removed > float(thresholds()["removed"]["above"]) * people
