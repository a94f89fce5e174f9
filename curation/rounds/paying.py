"""The pay list: what each person has earned, by their id on the platform.

Call ``write_pay`` only under the campaign's lock.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from curation.campaign.store import Campaign
from curation.files import CurationError, read_records, writing
from curation.formats.tables import csv_text
from curation.records import Label
from curation.rounds import raw_answers, round_files
from curation.rounds.answers import archive
from curation.rounds.pay import CENTS, ITEMS, LABELS, Done, Job, Tally, Wages, earned, money
from curation.rounds.round_status import about_waiting, open_platform
from curation.rounds.steps import fold_answers, folded_answers
from curation.text.rules import grouped, stable_id
from curation.text.wording import inert
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.rounds.fold import Folded

HEADS = ("person", "standing", "code")
SUMS = ("accepted", "minutes", "timed", "amount", "currency", "refused", "amount_refused")
TIMES = ("hours", "hourly_wage", "top_up")
"""The columns of the list, before and after the columns of the jobs."""
LONGEST = 200  # a file name may have 255 characters


class JobPay(NamedTuple):
    """A job with its pay, and what all people of the list did in it."""

    job: "Job"
    pay: float
    people: int
    tally: "Tally"


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
    from curation.rounds import pay, people

    key = people.read_key(campaign.settings.campaign.id)  # nobody has a list without it
    names = _names(campaign, rounds)
    if not raw_answers.raw_is_here(campaign):
        raise CurationError(
            f"{campaign.folder('rounds')}: the raw answers are not here, and they alone have "
            "people's ids",
            "make the list on the machine that has them",
        )
    fold_answers(campaign, reporter=reporter)
    for name in rounds or round_files.planned_rounds(campaign):
        if text := about_waiting(campaign, name):
            reporter.warn(f"{name}: {text}")
    out = people.out(campaign.standing)
    done = [each for each in _done(campaign, names, None) if each.person not in out]
    if out:  # their answers are all refused: only a fold without that rule says which are right
        folded, _ = folded_answers(campaign, {}, reporter)
        done += [each for each in _done(campaign, names, folded) if each.person in out]
    ids, erased = _ids(campaign, names, people.pseudonyms(key))
    done = [each for each in done if each.person in ids]
    tallies, usual = pay.tallied(done), pay.usual_seconds(done)
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
        seconds = pay.working_seconds(theirs[person], usual)
        wage, lacks = pay.hourly(amount, seconds), pay.top_up(amount, seconds, floor)
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
        amount_refused=sum(
            (pay.earned(line.pay, line.tally.refused) for line in lines), Decimal(0)
        ),
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
    opened = [name for name in round_files.planned_rounds(campaign) if name in answered]
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
    if len(label) > LONGEST:
        label = f"{len(names)}-rounds-{stable_id('pay', *names)[4:12]}"
    return f"pay-{label}.csv" if label else "pay.csv"


def _rates(campaign: Campaign) -> "dict[Job, float]":
    """The pay of one answer, by job."""
    settings = campaign.settings.rounds
    rates = {}
    for name in campaign.round_names():
        rates[Job(name, ITEMS)] = settings.pay_write
        rates[Job(name, LABELS)] = settings.pay_label
    return rates | {Job(r.name, r.kind): r.pay for r in campaign.rounds}


def _done(campaign: Campaign, names: Iterable[str], folded: "Folded | None") -> "list[Done]":
    """What people did, by a fold; without one, by the results of the step ``answers``."""
    from curation.rounds import pay

    kinds = {round.name: round.kind for round in campaign.rounds}
    done: list[Done] = []
    for name in names:
        if name in kinds:
            on_disk = () if folded else campaign.answers[name]
            answers = folded.answers.get(name, ()) if folded else on_disk
            done += pay.in_round(name, kinds[name], answers)
        elif folded:
            items = [item for item in folded.items if item.round == name]
            labels = [label for label in folded.labels if label.round == name]
            done += pay.imported(name, items, labels, folded.rejections.get(name, []))
        else:
            own_items = [item for item in campaign.items if item.round == name]
            path = campaign.folder("rounds") / name / "labels.jsonl"
            done += pay.imported(
                name, own_items, read_records(path, Label), campaign.rejected[name]
            )
    return done


def _ids(
    campaign: Campaign, names: Iterable[str], pseudonym: Callable[[str], str]
) -> tuple[dict[str, str], int]:
    """Ids of people on their platforms by pseudonym, and how many lines of archives are erased.

    Of several spellings that are the same person, the first in the order of the alphabet is taken.
    """
    from curation.rounds.answers.interpret import person_of

    ids: dict[str, str] = {}
    erased = 0
    for name in names:
        words = round_files.read_words(campaign, name)
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
    tallies: "Mapping[str, Mapping[Job, Tally]]",
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
    mine: "Mapping[Job, Tally]",
    jobs: "Sequence[Job]",
    rates: "Mapping[Job, float]",
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


def _job_pay(job: "Job", pay: float, tallies: "Mapping[str, Mapping[Job, Tally]]") -> JobPay:
    theirs = [mine[job] for mine in tallies.values() if job in mine]
    all_ = Tally()
    for tally in theirs:
        all_ = all_.plus(tally)
    return JobPay(job, pay, len(theirs), all_)
