"""What people have earned: accepted answers times the pay of their round, in exact decimals."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from curation.records import Answer, Item, Label, Rejection
from curation.rounds.answers.rows import understood
from curation.rounds.folding.gate import AnswerRow, LabelRow

NO_PAY = ("skipped", "superseded")
"""Reason codes of answers that nobody is paid for: no work, or paid as another version."""
ITEMS, LABELS = "items", "labels"
"""What people sent in a round that was not opened here, in place of the round's kind."""
CENTS = Decimal("0.01")


class Job(NamedTuple):
    """Work that has one pay: a round and its kind, or ``ITEMS`` or ``LABELS``."""

    round: str
    kind: str


class Done(NamedTuple):
    """One answer of a person. ``seconds`` is None if the time is not known."""

    job: Job
    person: str
    accepted: bool
    seconds: float | None


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


def in_round(round: str, kind: str, answers: Iterable[Answer | AnswerRow]) -> list[Done]:
    """What people did in a round that was opened here, from what became of its answers."""
    job = Job(round, kind)
    return [
        Done(job, answer.annotator, answer.code is None, answer.seconds)
        for answer in answers
        if answer.code not in NO_PAY
    ]


def imported(
    round: str,
    items: Iterable[Item],
    labels: Iterable[Label | LabelRow],
    refused: Iterable[Rejection],
) -> list[Done]:
    """What people did in a round that was not opened here.

    All labels of a person on one item are one answer, whether they came in one row or in three. Its
    time is the longest that one of them has. Published items and labels are left out.
    """
    done = [
        Done(Job(round, ITEMS), item.writer, accepted=True, seconds=item.seconds)
        for item in items
        if item.writer
    ]
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for label in labels:
        if label.source != "stereoset":
            known = times[label.item, label.annotator]
            known += [] if label.seconds is None else [label.seconds]
    done += [
        Done(Job(round, LABELS), person, accepted=True, seconds=max(known, default=None))
        for (_, person), known in times.items()
    ]
    rows: dict[tuple[str, str, str], None] = {}
    for rejection in refused:
        row = understood(rejection.record)
        if not row.get("annotator") or rejection.code in NO_PAY:
            continue
        has_labels = any(name == "label" or name.startswith("label_") for name in row)
        unit = str(row.get("item_id") or "") if has_labels else rejection.where
        rows[LABELS if has_labels else ITEMS, unit, str(row["annotator"])] = None
    done += [
        Done(Job(round, kind), person, accepted=False, seconds=None)
        for kind, unit, person in rows
        if kind == ITEMS or (unit, person) not in times
    ]
    return done


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
