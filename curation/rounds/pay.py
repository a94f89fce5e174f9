"""What people have earned: accepted answers times the pay of their round, in exact decimals.

And how long they worked for it: their pay for an hour, and what is missing to a floor.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

from curation.records import GOLD_COLUMNS, Answer, Item, Label, Rejection
from curation.rounds.answers.rows import text_of, understood
from curation.rounds.gate import AnswerRow, LabelRow
from curation.text.item_form import filler
from curation.text.rules import grouped, same_text
from curation.text.times import moment

NO_PAY = ("skipped", "superseded")
"""Reason codes of answers that nobody is paid for: no work, or paid as another version."""
ITEMS, LABELS = "items", "labels"
"""What people sent in a round that was not opened here, in place of the round's kind."""
CENTS = Decimal("0.01")
LONGEST = 5.0
"""An answer's time is cut at this many times the median time of its job: the page was left open."""
PAUSE = 120.0
"""Up to this many seconds between two answers belong to the work; a longer gap is a pause."""


class Job(NamedTuple):
    """Work that has one pay: a round and its kind, or ``ITEMS`` or ``LABELS``."""

    round: str
    kind: str


class Done(NamedTuple):
    """One answer of a person, however often it was sent.

    ``seconds`` is None if nobody knows how long it took; ``at``, a ``Timestamp``, if nobody knows
    when it was sent.
    """

    job: Job
    person: str
    accepted: bool
    seconds: float | None
    at: str | None = None


class Tally(NamedTuple):
    """A person's answers in a job.

    Attributes:
        accepted: answers that count.
        timed: how many of the accepted answers have a known time.
        seconds: the sum of these times.
        refused: answers that were refused, without those that nobody is paid for (``NO_PAY``).
    """

    accepted: int = 0
    timed: int = 0
    seconds: float = 0.0
    refused: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """The sum of two tallies."""
        return Tally(
            self.accepted + other.accepted,
            self.timed + other.timed,
            self.seconds + other.seconds,
            self.refused + other.refused,
        )


def earned(pay: float, answers: int) -> Decimal:
    """The pay for some answers, exact: the pay of one answer is the decimal that was written.

    >>> str(earned(0.1, 3)), str(earned(1e-05, 2))
    ('0.3', '0.00002')
    """
    return Decimal(format(Decimal(repr(float(pay))), "f")) * answers


def money(sum_: Decimal) -> str:
    """An amount of money, with at least two decimals and no more than it needs.

    >>> money(Decimal("1.2")), money(Decimal("0.3750")), money(Decimal("1E+3"))
    ('1.20', '0.375', '1000.00')
    """
    rounded = sum_.quantize(CENTS) if sum_ == round(sum_, 2) else sum_.normalize()
    return format(rounded, "f")


class Wages(NamedTuple):
    """What people earn for an hour of work.

    Attributes:
        median: the median of their hourly wages; None if no time is known.
        known: for how many people a wage is known.
        below: how many of them earn less than the floor.
        top_up: what brings all of them to the floor.
    """

    median: Decimal | None
    known: int
    below: int
    top_up: Decimal


def in_round(round: str, kind: str, answers: Iterable[Answer | AnswerRow]) -> list[Done]:
    """What people did in a round that was opened here, from what became of its answers.

    All that a person sent for one task is one answer: it is accepted if one version was, and its
    time is the longest.
    """
    job = Job(round, kind)
    done: dict[tuple[str, str], Done] = {}
    for answer in answers:
        if answer.code in NO_PAY:
            continue
        key = answer.task, answer.annotator
        new = Done(job, answer.annotator, answer.code is None, answer.seconds, answer.submitted_at)
        old = done.get(key, new)
        times = [each.seconds for each in (old, new) if each.seconds is not None]
        last = old if old.accepted else new
        done[key] = last._replace(seconds=max(times, default=None))
    return list(done.values())


def imported(
    round: str,
    items: Iterable[Item],
    labels: Iterable[Label | LabelRow],
    refused: Iterable[Rejection],
) -> list[Done]:
    """What people did in a round that was not opened here.

    All labels of a person on one item are one answer, whether they came in one row or in three. Its
    time is the longest that one of them has. A refused item is a version of another of the same
    person if it has the same ``item_id`` or, without one, three of the same four texts. Published
    items and labels are left out.
    """
    done: list[Done] = []
    seen: set[tuple[str, ...]] = set()
    for item in items:
        if item.writer:
            done.append(Done(Job(round, ITEMS), item.writer, True, item.seconds, item.submitted_at))
            texts = [a.sentence for a in item.associations]
            seen |= _versions(item.writer, item.context, texts) | {(item.writer, item.id)}
    marks: dict[tuple[str, str], list[Label | LabelRow]] = defaultdict(list)
    for label in labels:
        if label.source != "stereoset":
            marks[label.item, label.annotator].append(label)
    for (_, person), theirs in marks.items():
        seconds = max((m.seconds for m in theirs if m.seconds is not None), default=None)
        at = max((m.submitted_at for m in theirs if m.submitted_at), default=None)
        done.append(Done(Job(round, LABELS), person, True, seconds, at))
    labelled = set(marks)
    for rejection in refused:
        row = understood(rejection.record)
        if not row.get("annotator") or rejection.code in NO_PAY:
            continue
        id, person = text_of(row, "item_id"), str(row["annotator"])
        if any(name == "label" or name.startswith("label_") for name in row):
            if (id, person) not in labelled:
                done.append(Done(Job(round, LABELS), person, accepted=False, seconds=None))
            labelled.add((id, person))
            continue
        texts = [text_of(row, name) for name in GOLD_COLUMNS]
        versions = {(person, id)} if id else _versions(person, text_of(row, "context"), texts)
        versions = versions or {(person, rejection.where)}
        if versions.isdisjoint(seen):
            done.append(Done(Job(round, ITEMS), person, accepted=False, seconds=None))
        seen |= versions
    return done


def _versions(person: str, context: str, texts: Iterable[str]) -> set[tuple[str, ...]]:
    """What another version of a person's item shares with it: three of its four texts."""
    words = [filler(context, text) or same_text(text) for text in texts]
    written = [text for text in (same_text(context), *words) if text]
    return {(person, *three) for three in combinations(written, 3)}


def tallied(done: Sequence[Done]) -> dict[str, dict[Job, Tally]]:
    """By person and job, what was accepted and what was refused."""
    tallies: dict[str, dict[Job, Tally]] = defaultdict(dict)
    for each in done:
        timed = each.accepted and each.seconds is not None
        one = Tally(
            accepted=int(each.accepted),
            timed=int(timed),
            seconds=(each.seconds or 0.0) if timed else 0.0,
            refused=int(not each.accepted),
        )
        mine = tallies[each.person]
        mine[each.job] = mine.get(each.job, Tally()).plus(one)
    return dict(tallies)


def usual_seconds(done: Iterable[Done]) -> dict[Job, float]:
    """By job, the median of the times that are known; a job without any is not in it."""
    known = grouped((each.job, each.seconds) for each in done if each.seconds is not None)
    return {job: median(times) for job, times in known.items()}


def working_seconds(done: Iterable[Done], usual: Mapping[Job, float]) -> float | None:
    """How long a person worked for their answers, accepted or not.

    It is the time of each answer, at most ``LONGEST`` times the usual one of its job, and the gaps
    between answers of at most ``PAUSE``. An answer without a time has the usual one.

    Args:
        done: the person's answers.
        usual: the result of ``usual_seconds`` for the answers of all people.

    Returns:
        Seconds; None if no time is known of one of the person's jobs.

    >>> job = Job("w", "intrasentence")
    >>> at = ["2026-03-14T10:00:00.000Z", "2026-03-14T10:02:00.000Z", "2026-03-14T11:00:00.000Z"]
    >>> working_seconds([Done(job, "p", True, 60, time) for time in at], {job: 60})  # one gap of 60
    240.0
    """
    total, spans = 0.0, []
    for each in done:
        if each.job not in usual:
            return None
        most = LONGEST * usual[each.job]
        seconds = usual[each.job] if each.seconds is None else min(each.seconds, most)
        total += seconds
        if each.at:
            end = moment(each.at).timestamp()
            spans.append((end, end - seconds))
    gaps = (start - before for (before, _), (_, start) in pairwise(sorted(spans)))
    return total + sum(gap for gap in gaps if 0 < gap <= PAUSE)


def hourly(amount: Decimal, seconds: float | None) -> Decimal | None:
    """The pay for an hour of work, in cents; None if the time is not known, or under a second.

    >>> str(hourly(Decimal("5.00"), 1200)), hourly(Decimal("5.00"), 1e-30)
    ('15.00', None)
    """
    if seconds is None or seconds < 1:
        return None
    return (amount * 3600 / Decimal(seconds)).quantize(CENTS)


def top_up(amount: Decimal, seconds: float | None, floor: float) -> Decimal | None:
    """What brings a person to the floor, in whole cents, rounded up; None if no time is known.

    >>> str(top_up(Decimal("2.00"), 1800, 15)), str(top_up(Decimal("9.00"), 1800, 15))
    ('5.50', '0.00')
    """
    if seconds is None:
        return None
    lacks = earned(floor, 1) * Decimal(seconds) / 3600 - amount
    return max(lacks, Decimal(0)).quantize(CENTS, ROUND_CEILING)
