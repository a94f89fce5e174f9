"""``curation rounds pay``: what people have earned."""

from pathlib import Path
from typing import Annotated

import typer

from curation.rounds.pay import earned, money
from curation.rounds.paying import JobPay, PayList, write_pay
from curation.terminal import console
from curation.terminal.options import Json, Where, locked
from curation.text.wording import amount

PAY_HEADS = ("round", "kind", "pay", "people", "accepted", "amount", "minutes", "refused")


def pay(
    rounds: Annotated[list[str] | None, typer.Argument()] = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write a pay list: one row per person, by their id on the platform, with what they earned.

    The amount is the number of accepted answers times the pay of the round. Refused answers have
    columns of their own. People who withdrew or are excluded are marked, and their answers count
    like those of others. People of our own pages have the codes that they are shown at the end.
    If times are known, the list says what each person earned for an hour of work, and what brings
    them to wage_floor in [rounds].

    The list is 2-rounds/pay.csv, or pay-ROUND.csv for some rounds. It is private: only your account
    can read it, and .gitignore excludes it. The command needs the campaign's key, and prints no ids
    of people.

    Options:
        rounds (ROUND): The rounds; default: all that have answers.
    """
    with locked(campaign) as opened:
        made = write_pay(opened, rounds or (), reporter=console)
    currency = opened.settings.rounds.currency
    if as_json:
        console.say_json(_as_json(made, currency))
        return
    rows = [
        [
            *(line.job.round, line.job.kind, money(earned(line.pay, 1)), line.people),
            *(line.tally.accepted, money(earned(line.pay, line.tally.accepted)), _minutes(line)),
            line.tally.refused,
        ]
        for line in made.jobs
    ]
    console.table(f"Pay in {currency}", PAY_HEADS, rows)
    console.say(
        f"{amount(made.people, 'person', 'people')}: {money(made.amount)} {currency} for accepted "
        f"answers; refused answers would be {money(made.amount_refused)} {currency} more"
    )
    for code, (people, sum_) in made.standing.items():
        console.say(
            f"  of these, {code}: {amount(people, 'person', 'people')}, {money(sum_)} {currency}; "
            "decide whether you pay them"
        )
    if made.erased:
        console.warn(
            f"{amount(made.erased, 'line')} of the archive {'is' if made.erased == 1 else 'are'} "
            "erased. Nobody knows any more whose they were, so they are not in the list. If you "
            "still owe these people money, use an earlier list"
        )
    _show_wages(made, opened.settings.rounds.wage_floor, currency)
    console.say(f"who gets what: {made.file} (private: give it only to the person who pays)")


def _show_wages(made: PayList, floor: float, currency: str) -> None:
    wages = made.wages
    if wages.median is None:
        return
    console.say(
        f"an hour of work: {money(wages.median)} {currency} (the median of "
        f"{amount(wages.known, 'person', 'people')} whose time is known)"
    )
    if not floor:
        console.say(
            "set [rounds] wage_floor to see who earns less than you want to pay for an hour"
        )
        return
    if not wages.below:
        console.say(f"  nobody earns less than {money(earned(floor, 1))} {currency}")
        return
    below = f"{wages.below} earn" if wages.below != 1 else "1 earns"
    console.say(
        f"  {below} less than {money(earned(floor, 1))} {currency}; "
        f"{money(wages.top_up)} {currency} would bring them up to it (column top_up)"
    )


def _minutes(line: JobPay) -> str:
    """The time that is known, and for how many answers."""
    tally = line.tally
    return f"{tally.seconds / 60:.1f} ({tally.timed} timed)" if tally.timed else "-"


def _as_json(made: PayList, currency: str) -> dict[str, object]:
    return {
        "file": made.file,
        "currency": currency,
        "people": made.people,
        "amount": money(made.amount),
        "amount_refused": money(made.amount_refused),
        "rounds": [
            {
                "round": line.job.round,
                "kind": line.job.kind,
                "pay": money(earned(line.pay, 1)),
                "people": line.people,
                "accepted": line.tally.accepted,
                "amount": money(earned(line.pay, line.tally.accepted)),
                "minutes": line.tally.seconds / 60 if line.tally.timed else None,
                "timed": line.tally.timed,
                "refused": line.tally.refused,
                "amount_refused": money(earned(line.pay, line.tally.refused)),
            }
            for line in made.jobs
        ],
        "standing": {
            code: {"people": people, "amount": money(sum_)}
            for code, (people, sum_) in made.standing.items()
        },
        "erased": made.erased,
        "hourly_wage": {
            "median": money(made.wages.median) if made.wages.median is not None else None,
            "people": made.wages.known,
            "below_floor": made.wages.below,
            "top_up": money(made.wages.top_up),
        },
    }
