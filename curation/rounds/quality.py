"""How each person works, while rounds run: figures from labels and times, and marks with evidence.

A mark is a reason to look at a person's answers. Nobody is excluded by it: most people who differ
from others are careful and see it differently, and beyond about 5 % of people removed for
disagreement the labels became worse with every method that was tested (arXiv 2509.08217).

``data/rounds/marks.toml`` has the marks with their thresholds. docs/quality.md defines the figures,
and says how often the marks are right.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.campaign.store import Campaign
from curation.files import CurationError, read_table, read_text
from curation.formats.tables import read_csv
from curation.formats.toml_files import shipped_table
from curation.kinds import GOLDS
from curation.records import Answer, Fields, Label, Typing
from curation.rounds.answers import people
from curation.rounds.answers.archive import IN_TASKS
from curation.rounds.answers.rows import column
from curation.rounds.platforms.opening import open_platform
from curation.rounds.steps import no_answers
from curation.stats.intervals import Interval, share_interval
from curation.text.rules import grouped
from curation.text.wording import amount

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
WRITERS = "the writers"
SHOWN = 8  # items that the evidence of a mark names
CLASSES = len(GOLDS)
LEAST = 1e-10  # of a probability in a logarithm


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
        pasted: the share of pasted characters among those of written texts; never a mark.
        window_changes: how often they left the window while they wrote; never a mark.
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
    window_changes: int | None = None
    competence: float | None = None
    marks: tuple[Mark, ...] = ()


@lru_cache(maxsize=1)
def thresholds() -> dict[str, Fields]:
    """By mark, its meaning, thresholds and evidence: ``data/rounds/marks.toml``."""
    return shipped_table("rounds", "marks.toml")


def people_figures(
    labels: pd.DataFrame,
    answers: pd.DataFrame | None = None,
    *,
    groups: Mapping[str, str] = MappingProxyType({}),
    typing: Iterable[Typing] = (),
    intents: pd.DataFrame | None = None,
    marks: Mapping[str, Fields] | None = None,
) -> list[PersonQuality]:
    """Every person's figures and marks.

    Args:
        labels: one row for each label, in the order in which each person gave them; the three of an
            answer in the order in which the person saw the texts. Columns item, association,
            annotator, value, round, source, seconds. It may be empty.
        answers: one row for each answer, with the columns annotator, round and seconds. None: one
            answer for each item that a person labelled in a round.
        groups: by person, the group that they belong to.
        typing: how the texts of answers came about.
        intents: what the writers of items meant, as labels with the columns item, association and
            value. They are only used to see who copies the writers.
        marks: thresholds, in the form of ``thresholds()``; None for these.

    Returns:
        One for each annotator of both tables: first people with marks, then by agreement.
    """
    limits = thresholds() if marks is None else marks
    answers = answers_of(labels) if answers is None else answers
    people = sorted({*labels["annotator"].unique(), *answers["annotator"].unique()})
    meant = None if intents is None else intents.assign(annotator=WRITERS, source="")
    everything = _given(pd.concat([labels, meant]), [*people, WRITERS])
    own = everything.who < len(people)  # associations without labels have the highest numbers
    given = _Given(*(column[own] for column in everything))  # type: ignore[arg-type]
    known = sorted({groups[person] for person in people if person in groups})
    teams = np.array([known.index(groups[p]) if p in groups else -1 for p in people], np.int64)
    overall, within = _agreement(given, teams * 0), _agreement(given, teams)
    counts = _count(given.who * CLASSES + given.value, len(people) * CLASSES).reshape(-1, CLASSES)
    runs = _runs(given.who, given.value, given.item, len(people))
    position_runs = _position_runs(given, len(people))
    copying = _copying(everything, [*people, WRITERS], np.append(teams, -1), limits)
    _, share, errors = dawid_skene(given.unit, given.who, given.value)
    times = _times(answers, people, limits)
    typed = grouped((row.annotator, field) for row in typing for field in row.fields.values())
    figures = []
    for n, person in enumerate(people):
        figure = PersonQuality(person, groups.get(person, ""), int(counts[n].sum()), **times[n][0])
        found, fields = times[n][1], typed[person]
        if sent := sum(field.characters for field in fields):
            pasted = min(1.0, sum(field.pasted for field in fields) / sent)
            left = sum(field.left for field in fields)
            figure = figure._replace(pasted=pasted, window_changes=left)
        if figure.labels:
            shares = counts[n] / figure.labels
            some = shares[shares > 0]
            figure = figure._replace(
                agreement=overall[n].share,
                agreement_ci=overall[n].ends,
                group_agreement=within[n].share,
                group_agreement_ci=within[n].ends,
                shares=(float(shares[0]), float(shares[1]), float(shares[2])),
                entropy=abs(float(some @ np.log2(some))),
                label_run=len(runs[n]),
                position_run=len(position_runs[n]) or None,
                competence=float(share @ np.diagonal(errors[n])),
            )
            facts = {
                "labels": figure.labels,
                "share": shares.max(),
                "value": GOLDS[shares.argmax()],
            }
            if len(runs[n]) >= limits["same_label"]["run"]:
                found.append(_mark(limits, "same_label", facts | {"run": len(runs[n])}, runs[n]))
            elif (run := len(position_runs[n])) >= limits["same_position"]["run"]:
                found.append(_mark(limits, "same_position", {"run": run}, position_runs[n]))
            else:
                found += _guesses([overall[n], within[n]], limits)
            found += copying.get(n, [])
        figures.append(figure._replace(marks=tuple(found)))
    return sorted(
        figures, key=lambda q: (not q.marks, 2.0 if q.agreement is None else q.agreement, q.person)
    )


def answers_of(labels: pd.DataFrame) -> pd.DataFrame:
    """One row for each item that a person labelled in a round, with its longest time."""
    keys = ["annotator", "round", "item"]
    return labels.groupby(keys, observed=True)["seconds"].max().reset_index()


class _Given(NamedTuple):
    """Labels as arrays, each person's together, in the order in which they gave them.

    ``who`` and ``unit`` number people and associations, ``value`` is an index into ``GOLDS``, and
    ``asked`` says whether the label is from a task, which shows its texts in random order.
    """

    who: Ints
    unit: Ints
    value: Ints
    item: NDArray[np.object_]
    asked: NDArray[np.bool_]


def _given(labels: pd.DataFrame, people: list[str]) -> _Given:
    """The labels that are compared: the first of each person and association, without «related»."""
    who = pd.Index(people, dtype=object).get_indexer(pd.Index(labels["annotator"]))
    unit = pd.factorize(labels["association"])[0].astype(np.int64)
    value = pd.Index(GOLDS).get_indexer(pd.Index(labels["value"])).astype(np.int64)
    again = pd.Series(unit * len(people) + who).where(value >= 0).duplicated().to_numpy()
    rows = np.flatnonzero((value >= 0) & ~again)
    rows = rows[np.argsort(who[rows], kind="stable")]
    item = labels["item"].to_numpy(dtype=object)[rows]
    asked = labels["source"].isin(IN_TASKS).to_numpy()[rows]
    return _Given(who[rows].astype(np.int64), unit[rows], value[rows], item, asked)


def _count(cells: Ints, size: int) -> Ints:
    return np.bincount(cells, minlength=size).astype(np.int64)


def _others(given: _Given, teams: Ints) -> Ints:
    """The others' votes on each label's association, by class; of the person's own team only.

    People with the team -1 have none.
    """
    team, units = teams[given.who], int(given.unit.max(initial=-1)) + 1
    cells = (team + 1) * units + given.unit
    size = (int(team.max(initial=0)) + 2) * units * CLASSES
    votes = _count(cells * CLASSES + given.value, size).reshape(-1, CLASSES)[cells]
    votes[np.arange(len(votes)), given.value] -= 1
    votes[team < 0] = 0
    return np.asarray(votes)


class _Agreement(NamedTuple):
    """Leave-one-out agreement, its interval, the number of labels, and items with the lowest."""

    share: float | None
    ends: Interval | None
    labels: int
    lowest: list[str]


def _agreement(given: _Given, teams: Ints) -> list[_Agreement]:
    """Every person's agreement with the others of their team."""
    others = _others(given, teams)
    total = others.sum(axis=1)
    rows = np.flatnonzero(total > 0)
    same = others[rows, given.value[rows]] / total[rows]
    who, (item, names) = given.who[rows], pd.factorize(given.item[rows])
    width = int(item.max(initial=0)) + 1
    pairs, at = np.unique(who * width + item, return_inverse=True)
    won, of = _sums(at, np.stack([same, same * 0 + 1], axis=1), len(pairs)).T
    ends = np.searchsorted(pairs, np.arange(len(teams) + 1) * width)
    agreements = []
    for begin, end in pairwise(ends.tolist()):
        mine, labels = won[begin:end], of[begin:end]
        n = int(labels.sum())
        share = float(mine.sum() / n) if n else None
        lowest = np.argsort(mine / labels, kind="stable")[:SHOWN]
        items = [str(names[pairs[begin + k] % width]) for k in lowest]
        interval = share_interval(mine, labels, observations=n)
        agreements.append(_Agreement(share, interval, n, items))
    return agreements


def _runs(who: Ints, what: Ints, item: NDArray[np.object_], people: int) -> list[list[str]]:
    """By person, the items of the longest run of equal values in consecutive rows of theirs."""
    longest: list[list[str]] = [[] for _ in range(people)]
    if len(who):
        begins = np.flatnonzero(np.r_[True, (who[1:] != who[:-1]) | (what[1:] != what[:-1])])
        for begin, end in pairwise([*begins.tolist(), len(who)]):
            if end - begin > len(longest[who[begin]]):
                longest[who[begin]] = item[begin:end].tolist()
    return longest


def _position_runs(given: _Given, people: int) -> list[list[str]]:
    """By person, the items of the most tasks in a row with the same labels in the order shown."""
    who, value, item = given.who[given.asked], given.value[given.asked], given.item[given.asked]
    if not len(who):
        return [[] for _ in range(people)]
    first = np.flatnonzero(np.r_[True, (who[1:] != who[:-1]) | (item[1:] != item[:-1])])
    first = first[np.diff(np.r_[first, len(who)]) == CLASSES]
    three = (value[first] * CLASSES + value[first + 1]) * CLASSES + value[first + 2]
    return _runs(who[first], three, item[first], people)


def _guesses(agreements: list[_Agreement], limits: Mapping[str, Fields]) -> list[Mark]:
    """The mark of somebody whose agreement is low with everybody and with their own group."""
    least, below = limits["random"]["least"], limits["random"]["below"]
    known = [(a.ends[1], a) for a in agreements if a.ends and a.labels >= least]
    high, best = max(known, default=(1.0, agreements[0]))
    facts = {"agreement": best.share, "high": high, "compared": best.labels}
    return [_mark(limits, "random", facts, best.lowest)] if high < below else []


def _mark(
    limits: Mapping[str, Fields], code: str, facts: Mapping[str, Any], items: Iterable[str] = ()
) -> Mark:
    evidence = limits[code]["says"].format_map({**limits[code], **facts})
    return Mark(code, evidence, tuple(dict.fromkeys(items))[:SHOWN])


def dawid_skene(
    unit: Ints, who: Ints, value: Ints, *, iterations: int = 100, tolerance: float = 1e-5
) -> tuple[Floats, Floats, Floats]:
    """Dawid and Skene's model (1979), fitted by EM from the shares of votes.

    Args:
        unit: each label's association, as a number; shape (labels,).
        who: each label's person, as a number.
        value: each label's class, as an index into ``GOLDS``.
        iterations: the most steps.
        tolerance: stop if the log likelihood for each label rises by less.

    Returns:
        The chance of each class of each association, shape (units, classes); the share of each
        class, shape (classes,); and of each person, the chance of each label given the true class,
        shape (people, label, class).
    """
    units, people = int(unit.max(initial=-1)) + 1, int(who.max(initial=-1)) + 1
    votes = _count(unit * CLASSES + value, units * CLASSES).reshape(units, CLASSES)
    chance, before = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1), -np.inf
    while True:
        share = np.maximum(chance.sum(axis=0) / max(units, 1), LEAST)
        sums = _sums(who * CLASSES + value, chance[unit], people * CLASSES)
        errors = np.maximum(sums.reshape(people, CLASSES, CLASSES), LEAST)
        errors /= errors.sum(axis=1, keepdims=True)
        if not iterations:
            return chance, share, errors
        logs = np.log(share) + _sums(unit, np.log(errors)[who, value], units)
        top = logs.max(axis=1, keepdims=True)
        total = np.exp(logs - top).sum(axis=1, keepdims=True)
        chance = np.exp(logs - top) / total
        likelihood = float((top + np.log(total)).sum()) / max(len(unit), 1)
        iterations = 0 if likelihood - before < tolerance else iterations - 1
        before = likelihood


def _sums(index: Ints, rows: Floats, size: int) -> Floats:
    """Sums of the rows with the same index; shape (size, columns)."""
    return np.column_stack([np.bincount(index, column, minlength=size) for column in rows.T])


def _times(
    answers: pd.DataFrame, people: list[str], limits: Mapping[str, Fields]
) -> list[tuple[dict[str, Any], list[Mark]]]:
    """By person, tasks, seconds and pace, and the marks fast and slow."""
    answers = answers.reset_index(drop=True)
    done = answers.groupby("annotator").size()
    table = pd.DataFrame({"tasks": done}).reindex(people, fill_value=0)
    timed = answers[answers["seconds"] > 0]
    own = timed.groupby(["round", "annotator"])["seconds"].agg(["median", "size"])
    usual = own[own["size"] >= limits["fast"]["least"]].groupby("round")["median"]
    enough = usual.median()[usual.size() >= limits["fast"]["people"]]
    pace = (timed["seconds"] / timed["round"].map(enough).astype(float)).dropna()
    paces = pace.groupby(timed["annotator"])
    seconds = timed.groupby("annotator")["seconds"].median()
    table["seconds"], table["pace"], table["timed"] = seconds, paces.median(), paces.size()
    rows = []
    for tasks, seconds, pace, n in table.itertuples(index=False, name=None):
        found = []
        for code in ("fast", "slow"):
            limit = limits[code]
            if n >= limit["least"] and not limit.get("below", 0) <= pace <= limit.get("above", 1e9):
                facts = {"pace": pace, "seconds": seconds, "timed": int(n)}
                found.append(_mark(limits, code, facts))
        figures = {"seconds": seconds, "pace": pace}
        figures = {name: None if np.isnan(value) else value for name, value in figures.items()}
        rows.append(({"tasks": int(tasks), **figures}, found))
    return rows


def _copying(
    given: _Given, people: list[str], teams: Ints, limits: Mapping[str, Fields]
) -> dict[int, list[Mark]]:
    """Marks of pairs who differ from the others in the same labels, and in the same way.

    Others are those of the person's own team, if it is known.
    """
    from scipy.sparse import csr_array  # here, so that commands without figures start fast

    who, unit, value, limit = given.who, given.unit, given.value, limits["copying"]
    others, within = _others(given, teams * 0), _others(given, teams)
    others = np.where((teams >= 0)[who, None], within, others)
    total, top = others.sum(axis=1), others.max(axis=1, initial=0)
    differs = (total >= 2) & (2 * top > total) & (others[np.arange(len(who)), value] < top)

    def table(columns: Ints, rows: NDArray[np.bool_]) -> Any:
        shape = (len(people), CLASSES * (int(unit.max(initial=-1)) + 1))
        return csr_array((np.ones(int(rows.sum())), (who[rows], columns[rows])), shape=shape)

    exact, differing = table(unit * CLASSES + value, differs), table(unit, differs)
    labelled = table(unit, np.ones(len(who), np.bool_))
    same, both = (exact @ exact.T).tocoo(), (differing @ differing.T).tocsr()
    one = (differing @ labelled.T).tocsr()
    marks: dict[int, list[Mark]] = {}
    for at in np.flatnonzero((same.data >= limit["same"]) & (same.row != same.col)):
        p, q, n = int(same.row[at]), int(same.col[at]), int(same.data[at])
        differ = int(one[p, q] + one[q, p] - both[p, q])
        if n >= limit["share"] * differ:
            theirs = np.isin(unit, unit[(who == q) & differs]) & (who == p) & differs
            facts = {"same": n, "differ": differ, "other": people[q]}
            marks.setdefault(p, []).append(_mark(limits, "copying", facts, given.item[theirs]))
    return marks


# --- the people of a campaign ---------------------------------------------------------------------

WITHDRAWN = ("CONSENT_REVOKED", "DATA_EXPIRED")
"""What Prolific writes in the place of a person's data that it does not give."""


class Quality(NamedTuple):
    """The people of a round, or of all rounds.

    Attributes:
        people: each person's figures and marks.
        excluded: how many people are excluded from the campaign.
        met: how many people have answered in the campaign.
    """

    people: list[PersonQuality]
    excluded: int
    met: int

    @property
    def marked(self) -> list[PersonQuality]:
        """The people who have marks."""
        return [person for person in self.people if person.marks]


def read_quality(campaign: Campaign, round: str | None = None) -> Quality:
    """Everybody's figures and marks, from items, labels and answers as they are on disk.

    People who are excluded have no labels that count, so they are not in it. Needs no lock.

    Args:
        campaign: the campaign.
        round: the name of the round; None for all rounds.

    Raises:
        CurationError: there are no answers, the round has none, or the team's list of groups is
            damaged.
    """
    if error := no_answers(campaign):
        raise error
    names = campaign.round_names()
    if round and round not in names:
        raise CurationError(
            f"round {round!r} has no answers", f"rounds with answers: {', '.join(names)}"
        )
    names = [round] if round else names
    labels = campaign.labels
    if round:  # also of a round that labels neutral associations, which count nowhere else
        path = campaign.folder("rounds") / round / "labels.jsonl"
        labels = read_table([path] if path.exists() else [], Label)
    planned = {each.name for each in campaign.rounds}
    tables = [answers_of(labels[~labels["round"].isin(list(planned))])]
    for path in (
        campaign.folder("rounds") / name / "answers.jsonl" for name in names if name in planned
    ):
        if path.exists():
            answers = read_table([path], Answer)
            counts = answers["code"].isna() | (answers["code"] == "too_fast")
            tables.append(answers[counts].assign(round=path.parent.name))
    meant = [
        (item.id, association.id, association.intent)
        for item in campaign.items
        if item.writer
        for association in item.associations
    ]
    figures = people_figures(
        labels,
        pd.concat(tables),
        groups=read_groups(campaign),
        typing=[row for name in names for row in campaign.typing[name]],
        intents=pd.DataFrame(meant, columns=["item", "association", "value"]),
    )
    return Quality(figures, *_excluded(campaign))


def _excluded(campaign: Campaign) -> tuple[int, int]:
    """How many people who have answered are excluded, and how many have answered."""
    out = people.out(campaign.standing)
    met = people.who_answered(campaign.people, out)
    return sum(out.get(person, ("",))[0] == "excluded" for person in met), len(met)


def about_removed(campaign: Campaign) -> str:
    """A warning if more people are excluded than marks.toml allows; else empty."""
    excluded, met = _excluded(campaign)
    if excluded <= thresholds()["removed"]["above"] * met:
        return ""
    return (
        f"people excluded: {excluded} of {met}; beyond about 5 %, labels became worse with every "
        "method that was tested (arXiv 2509.08217)"
    )


def read_groups(campaign: Campaign) -> dict[str, str]:
    """The group of each person by pseudonym, from ``2-rounds/annotators.csv``; empty without it.

    Its columns are ``annotator``, a pseudonym or an id on the platform, and ``group``.

    Raises:
        CurationError: the file lacks a column, a line lacks a cell, a person is in two groups, or
            an id is given and the campaign's key is not on this machine.
    """
    path = campaign.folder("rounds") / "annotators.csv"
    if not path.exists():
        return {}
    columns, rows = read_csv(read_text(path), path)
    heads = {"group" if name.casefold() == "group" else column(name): name for name in columns}
    if missing := [name for name in ("annotator", "group") if name not in heads]:
        raise CurationError(f"{path}: no column {missing[0]!r}", "use the columns annotator, group")
    known = {person.id for person in campaign.people} | set(campaign.labels["annotator"].unique())
    platforms = [open_platform(campaign, each) for each in campaign.rounds]
    groups: dict[str, tuple[str, int]] = {}
    for line, row in rows:
        who, group = (str(row.get(heads[name]) or "").strip() for name in ("annotator", "group"))
        if not who or not group:
            raise CurationError(f"{path} line {line}: annotator or group is empty", "fill in both")
        if group.upper() in WITHDRAWN:
            continue
        if who not in known:
            name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))(who)
            others = (platform.named(who) for platform in platforms if name not in known)
            who = next(filter(None, others), name)
        before, first = groups.setdefault(who, (group, line))
        if before != group:
            raise CurationError(
                f"{path} line {line}: this person is in group {before!r} in line {first}, and in "
                f"{group!r} here",
                "keep one of the lines",
            )
    return {who: group for who, (group, _) in groups.items()}


def about_marked(campaign: Campaign, rounds: list[str]) -> str:
    """How many people are marked, and the command that shows why; empty if nobody is.

    Args:
        campaign: the campaign.
        rounds: the rounds whose status is shown; with one, its people are meant.

    Raises:
        CurationError: the team's list of groups is damaged.
    """
    name = rounds[0] if len(rounds) == 1 else None
    if no_answers(campaign) or (name and name not in campaign.round_names()):
        return ""
    quality = read_quality(campaign, name)
    marked, everybody = len(quality.marked), amount(len(quality.people), "person", "people")
    command = f"curation rounds quality {name or ''}".strip()
    return f"marked: {marked} of {everybody}; {command}" if marked else ""
