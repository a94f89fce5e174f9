"""What people have earned: accepted answers times the pay of their round, in exact decimals.

And how long they worked for it: their pay for an hour, and what is missing to a floor. Call
``write_pay``, which writes the pay list, only under the campaign's lock.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign.store import Campaign
from curation.files import CurationError, read_records, writing
from curation.formats.tables import csv_text
from curation.kinds import GOLD_COLUMNS
from curation.records import Answer, Item, Label, Rejection
from curation.rounds.answers import archive, people
from curation.rounds.answers.interpret import person_of
from curation.rounds.answers.rows import text_of, understood
from curation.rounds.gate import AnswerRow, LabelRow
from curation.rounds.platforms.opening import open_platform
from curation.rounds.platforms.texts import read_words
from curation.rounds.progress import NO_PAY
from curation.rounds.status import about_waiting
from curation.rounds.steps import fold_answers, folded_answers, raw_is_here
from curation.text.item_form import filler
from curation.text.rules import grouped, same_text, stable_id
from curation.text.times import moment
from curation.text.wording import CENTS, earned, inert, money
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.rounds.fold import Folded


ITEMS, LABELS = "items", "labels"
"""What people sent in a round that was not opened here, in place of the round's kind."""
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


# --- the pay list ---------------------------------------------------------------------------------

HEADS = ("person", "standing", "code")
SUMS = ("accepted", "minutes", "timed", "amount", "currency", "refused", "amount_refused")
TIMES = ("hours", "hourly_wage", "top_up")
"""The columns of the list, before and after the columns of the jobs."""
LONGEST_NAME = 200  # a file name may have 255 characters


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


class JobPay(NamedTuple):
    """A job with its pay, and what all people of the list did in it."""

    job: Job
    pay: float
    people: int
    tally: Tally


class PayList(NamedTuple):
    """What a pay list holds, without any person's id.

    Attributes:
        file: the list.
        jobs: the jobs, in the order of the list's columns.
        people: how many people are in the list.
        amount: the pay for accepted answers.
        amount_refused: the pay for refused answers, if you pay them.
        standing: of people who are excluded or withdrew, how many they are, and their pay for
            answers that would count if nobody were out; ``amount`` includes it.
        erased: answers and other lines of these rounds' archives that were erased, so that nobody
            knows whose they were.
        wages: what people earn for an hour of work.
    """

    file: Path
    jobs: list[JobPay]
    people: int
    amount: Decimal
    amount_refused: Decimal
    standing: dict[str, tuple[int, Decimal]]
    erased: int
    wages: Wages


def write_pay(
    campaign: Campaign, rounds: Sequence[str] = (), *, reporter: Reporter = QUIET
) -> PayList:
    """Write the pay list of some rounds, or of all rounds that have answers.

    Each person has one row. Answers of people who are excluded or withdrew count as if nobody were
    out. The pay of a round is that of its ``round.json``, as in its cost; a round that was not
    opened here has the pay of the present settings.

    Args:
        campaign: the campaign.
        rounds: names of rounds; empty for all.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the campaign's key or its raw answers are not on this machine, there are no
            answers, or a round has none.
    """
    key = people.read_key(campaign.settings.campaign.id)  # nobody has a list without it
    names = _names(campaign, rounds)
    if not raw_is_here(campaign):
        raise CurationError(
            f"{campaign.folder('rounds')}: the raw answers are not here, and they alone have "
            "people's ids",
            "make the list on the machine that has them",
        )
    fold_answers(campaign, reporter=reporter)
    for name in rounds or [each.name for each in campaign.rounds]:
        if text := about_waiting(campaign, name):
            reporter.warn(f"{name}: {text}")
    out = people.out(campaign.standing)
    done = [each for each in _done(campaign, names, None) if each.person not in out]
    if out:  # their answers are all refused: only a fold without that rule says which are right
        folded, _ = folded_answers(campaign, {}, reporter)
        done += [each for each in _done(campaign, names, folded) if each.person in out]
    ids, erased = _ids(campaign, names, people.pseudonyms(key))
    done = [each for each in done if each.person in ids]
    tallies, usual = tallied(done), usual_seconds(done)
    theirs = grouped((each.person, each) for each in done)
    codes = _codes(campaign, names, ids, tallies)
    rates = _rates(campaign)
    jobs = sorted(
        {job for mine in tallies.values() for job in mine},
        key=lambda job: (names.index(job.round), job.kind),
    )
    currency, floor = campaign.settings.rounds.currency, campaign.settings.rounds.wage_floor
    rows = []
    wages: list[Decimal] = []
    top_ups: list[Decimal] = []
    owed = Counter[str]()
    sums: dict[str, Decimal] = {}
    for person in sorted(tallies, key=lambda person: (ids[person], person)):
        mine = tallies[person]
        code = out[person][0] if person in out else ""
        who = (inert(ids[person]), code, " ".join(codes.get(person, ())))
        row, amount = _row(who, mine, jobs, rates, currency)
        seconds = working_seconds(theirs[person], usual)
        wage, lacks = hourly(amount, seconds), top_up(amount, seconds, floor)
        wages += [wage] if wage is not None else []
        top_ups += [lacks] if lacks else []
        hours = "" if seconds is None else f"{seconds / 3600:.2f}"
        rows.append([*row, hours, *("" if each is None else money(each) for each in (wage, lacks))])
        owed[code] += 1
        sums[code] = sums.get(code, Decimal(0)) + amount
    file = campaign.folder("rounds") / _file_name(names if rounds else ())
    heads = [*HEADS, *(f"accepted in {job.round} ({job.kind})" for job in jobs), *SUMS, *TIMES]
    with writing(file, private=True) as stream:
        stream.write(csv_text([heads, *rows]).encode())
    if floor and not wages:
        reporter.warn(
            "[rounds] wage_floor is set, but no answer has a time, so what people earn for an hour "
            "is not known: bring in answers with the column seconds"
        )
    lines = [_job_pay(job, rates[job], tallies) for job in jobs]
    return PayList(
        file=file,
        jobs=lines,
        people=len(tallies),
        amount=sum(sums.values(), Decimal(0)),
        amount_refused=sum((earned(line.pay, line.tally.refused) for line in lines), Decimal(0)),
        standing={code: (n, sums[code]) for code, n in sorted(owed.items()) if code},
        erased=erased,
        wages=Wages(
            median=median(wages).quantize(CENTS) if wages else None,
            known=len(wages),
            below=len(top_ups),
            top_up=sum(top_ups, Decimal(0)),
        ),
    )


def _names(campaign: Campaign, rounds: Sequence[str]) -> list[str]:
    """The rounds of a list: those that were opened here first, oldest first."""
    answered = campaign.round_names()
    opened = [each.name for each in campaign.rounds if each.name in answered]
    known = [*opened, *(name for name in answered if name not in opened)]
    unknown = [name for name in rounds if name not in known]
    if not known or unknown:
        what = f"round {unknown[0]!r} has no answers" if unknown else "there are no answers yet"
        raise CurationError(
            what,
            f"rounds with answers: {', '.join(known)}"
            if known
            else "bring answers in first: «curation rounds pull», or import",
        )
    return [name for name in known if name in (rounds or known)]


def _file_name(names: Sequence[str]) -> str:
    """The file name of the list of some rounds; of all rounds if there are no names."""
    label = "+".join(names)
    if len(label) > LONGEST_NAME:
        label = f"{len(names)}-rounds-{stable_id('pay', *names)[4:12]}"
    return f"pay-{label}.csv" if label else "pay.csv"


def _rates(campaign: Campaign) -> dict[Job, float]:
    """The pay of one answer, by job."""
    settings = campaign.settings.rounds
    rates = {}
    for name in campaign.round_names():
        rates[Job(name, ITEMS)] = settings.pay_write
        rates[Job(name, LABELS)] = settings.pay_label
    return rates | {Job(r.name, r.kind): r.pay for r in campaign.rounds}


def _done(campaign: Campaign, names: Iterable[str], folded: "Folded | None") -> list[Done]:
    """What people did, by a fold; without one, by the results of the step ``answers``."""
    kinds = {round.name: round.kind for round in campaign.rounds}
    done: list[Done] = []
    for name in names:
        if name in kinds:
            on_disk = () if folded else campaign.answers[name]
            answers = folded.answers.get(name, ()) if folded else on_disk
            done += in_round(name, kinds[name], answers)
        elif folded:
            items = [item for item in folded.items if item.round == name]
            labels = [label for label in folded.labels if label.round == name]
            done += imported(name, items, labels, folded.rejections.get(name, []))
        else:
            own_items = [item for item in campaign.items if item.round == name]
            path = campaign.folder("rounds") / name / "labels.jsonl"
            done += imported(name, own_items, read_records(path, Label), campaign.rejected[name])
    return done


def _ids(
    campaign: Campaign, names: Iterable[str], pseudonym: Callable[[str], str]
) -> tuple[dict[str, str], int]:
    """Ids of people on their platforms by pseudonym, and how many lines of archives are erased.

    Of several spellings that are the same person, the first in the order of the alphabet is taken.
    """
    ids: dict[str, str] = {}
    erased = 0
    for name in names:
        words = read_words(campaign, name)
        for _, sent in archive.read(campaign.folder("rounds") / name / "raw"):
            erased += sent.source == "erased"
            if (id := person_of(sent, words)) is not None:
                who = pseudonym(id)
                ids[who] = min(ids.get(who, id), id)
    return ids, erased


def _codes(
    campaign: Campaign,
    names: Sequence[str],
    ids: Mapping[str, str],
    tallies: Mapping[str, Mapping[Job, Tally]],
) -> dict[str, list[str]]:
    """By pseudonym, the codes that a person is shown at the end of the rounds that they worked in.

    Raises:
        CurationError: a platform's own file is damaged.
    """
    codes: dict[str, list[str]] = {}
    for round in campaign.rounds:
        job = Job(round.name, round.kind)
        theirs = {ids[who]: who for who, mine in tallies.items() if job in mine}
        if round.name in names and theirs:
            for id, code in open_platform(campaign, round).codes(theirs).items():
                codes.setdefault(theirs[id], []).append(code)
    return codes


def _row(
    who: Sequence[str],
    mine: Mapping[Job, Tally],
    jobs: Sequence[Job],
    rates: Mapping[Job, float],
    currency: str,
) -> tuple[list[object], Decimal]:
    """A person's row of the list, and their pay."""
    all_ = Tally()
    amount = refused = Decimal(0)
    for job, tally in mine.items():
        all_ = all_.plus(tally)
        amount += earned(rates[job], tally.accepted)
        refused += earned(rates[job], tally.refused)
    minutes = f"{all_.seconds / 60:.1f}" if all_.timed else ""
    by_job = [mine.get(job, Tally()).accepted for job in jobs]
    sums = (all_.accepted, minutes, all_.timed, money(amount), currency, all_.refused)
    return [*who, *by_job, *sums, money(refused)], amount


def _job_pay(job: Job, pay: float, tallies: Mapping[str, Mapping[Job, Tally]]) -> JobPay:
    theirs = [mine[job] for mine in tallies.values() if job in mine]
    all_ = Tally()
    for tally in theirs:
        all_ = all_.plus(tally)
    return JobPay(job, pay, len(theirs), all_)
