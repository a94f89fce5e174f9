"""``curation rounds plan``, ``study``, ``approve`` and ``pay``: what people's work costs."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign.store import Campaign
from curation.records import Round
from curation.rounds import crowd
from curation.rounds.budgeting import MOST, PAPER_TERMS, CampaignPlan, Given, plan_campaign
from curation.rounds.pay import JobPay, PayList, write_pay
from curation.rounds.running import the_round
from curation.terminal import console
from curation.terminal.options import Json, Natural, RoundArgument, Where, locked
from curation.text.wording import amount, earned, money

# --- what a budget buys ---------------------------------------------------------------------------

FIGURES = {
    "retention": "share of items that are kept",
    "agreement": "agreement of two labels",
    "labels": "labels of an item",
    "fewer": 'the same, with labels = "needed"',
    "fee": "fee of the platform",
    "ss": "ss of a model",
    "between": "standard deviation of terms' ss",
    "write_paid": "paid answers for each accepted item",
    "write_seconds": "seconds to write an item",
    "label_paid": "paid answers for each accepted label",
    "label_seconds": "seconds to label an item",
    "pay_write": "pay to write an item",
    "pay_label": "pay to label an item",
    "terms": "terms",
    "items": "items of a kind on a term, at least",
}
HEADS = ("", "terms", "items", "kept CATs", "95 % interval", "ss ±")


def plan(
    budget: Annotated[float, typer.Option(min=0.001, max=MOST)],
    given: Given,
    campaign: Where = Path(),
    pilot: list[str] | None = None,
    as_json: Json = False,
) -> None:
    """Show what a budget buys: terms, items, people, hours, weeks, kept CATs, the interval of ss.

    What you do not give comes from a pilot, else from campaign.toml and the paper; the command
    prints the source of each figure. The pay for a task is that in [rounds]; if you want to pay a
    floor and times are known, it is at least what a person with the median time needs to earn it.

    Options:
        budget (AMOUNT): The money, in the campaign's currency.
        pilot (ROUND): Take the figures of this round; repeatable. Default: all rounds that were
            opened as pilots, with a name that begins with pilot.
    """
    with locked(campaign) as opened:
        made = plan_campaign(opened, budget, given, pilot or (), reporter=console)
    currency = opened.settings.rounds.currency
    if not as_json:
        _show_plan(made, f"{budget:,.2f}", currency)
        return
    console.say_json({"currency": currency, **made._asdict()})


def _show_plan(made: CampaignPlan, money: str, currency: str) -> None:
    plan, of = made.plan, made.figures
    rows = [[FIGURES[name], f"{each.mean:,.4g}", each.source] for name, each in of.items()]
    console.table("The plan is made from", ["", "value", "source"], rows)
    parts = [
        [p.domain, p.terms, f"{p.items:,}", f"{p.kept:,.0f}", _range(p.kept_range), _half(p.ss)]
        for p in (*plan.domains, plan.whole)
    ]
    paper = ["StereoSet", PAPER_TERMS, None, "about 26 a term, kind", None, _half(made.paper_ss)]
    console.table(f"What {money} {currency} buys", HEADS, [*parts, paper])
    known = [work for work, hours in plan.hours.items() if hours is not None]
    low, high = plan.cost_range
    one_more = plan.cost / plan.items * of["terms"].mean / plan.whole.terms  # on every term
    more = "; without --items, it buys more items on each term" if made.left >= one_more else ""
    spread = f", 95 % interval {_range(plan.cost_range, 2)}" if low < high else ""
    takes = [
        ["items", f"{plan.items} of each kind on a term, {plan.whole.items:,} in all"],
        ["cost", f"{plan.cost:,.2f}{spread}"],
        ["left", f"{made.left:,.2f} of {money}{more}"],
        ["pay", ", ".join(f"{of[f'pay_{work}'].mean:g} to {work}" for work in plan.answers)],
        ["pay an hour", ", ".join(f"{wage:,.2f} to {work}" for work, wage in made.wage.items())],
        ["answers", ", ".join(f"{n:,.0f} to {work}" for work, n in plan.answers.items())],
        ["hours", ", ".join(f"{plan.hours[work]:,.0f} to {work}" for work in known)],
        ["people", f"at least {made.people}"],
        ["weeks", str(made.weeks or "give --people and --hours")],
    ]
    console.table("What it takes", ["", ""], [[name, text or "not known"] for name, text in takes])
    changes = [[change, _half(half)] for change, half in made.narrower.items()]
    console.table("The interval of ss after a change of the plan", ["", "ss ±"], changes)
    console.say("Rounds of review are not in the plan: pay_review × reviewers × terms.")


def _range(ends: tuple[float, float], digits: int = 0) -> str:
    return " to ".join(f"{end:,.{digits}f}" for end in ends)


def _half(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


# --- Prolific -------------------------------------------------------------------------------------


def study(
    round: RoundArgument = None,
    campaign: Where = Path(),
    places: Natural = 0,
    id_: Annotated[str, typer.Option("--id")] = "",
    as_json: Json = False,
) -> None:
    """Print the fields of a study on Prolific that brings people to a round on our own pages.

    Paste them into the form of a new study. The command creates nothing on Prolific. The time comes
    from the answers of a pilot, if there are any. Requirements on people are those of [people.KIND]
    when the round was opened.

    With --json, the fields are the body of the API's request that creates a draft. They are also
    printed as text on standard error. The API has numbers of its own for countries and languages,
    so choose these on Prolific.

    Options:
        places (N): How many people; default: people in [people.KIND], or as many as the cap
            per_person_… needs.
        id_ (STUDY): The id that Prolific gave the study. It is kept with its reward: submissions of
            other studies are then refused. Repeat the command for another study of the round.
    """
    with locked(campaign) as opened:
        chosen = the_round(opened, round)
        made = crowd.study(opened, chosen, places=places, id=id_)
    tell = console.note if as_json else console.say
    tell(made.form)
    if id_:
        tell(f"\nkept: study {id_} brings people to {chosen.name}, and pays them this reward")
    if as_json:
        console.say_json(made.fields)


def approve(
    round: RoundArgument = None,
    campaign: Where = Path(),
    yes: bool = False,
    bonus: bool = False,
    as_json: Json = False,
) -> None:
    """Approve submissions on Prolific that are complete in our own records, and list the rest.

    Answers are pulled first. A submission is approved if its id is checked, the person finished, it
    awaits review, and all answers are in the archive. The rest are listed with the reason. Nothing
    is ever rejected. If the command was interrupted, run it again.

    The token is read from PROLIFIC_TOKEN. Without one, nothing is sent: the complete submissions
    are in 2-rounds/approve-ROUND.csv, to be pasted on Prolific.

    Options:
        yes: Approve without asking; needed with --json.
        bonus: Approve nothing. Write what people are owed beyond the study's reward, by the pay
            list, to 2-rounds/bonus-ROUND-N.csv, for Prolific's bulk bonus. What earlier lists have
            is left out.
    """
    with locked(campaign) as opened:
        chosen = the_round(opened, round)
        if bonus:
            _list_bonus(opened, chosen, as_json=as_json)
            return
        found = crowd.review(opened, chosen, reporter=console)
    if not as_json:
        rows = [(one.pseudonym, one.status, crowd.reasons()[why]) for one, why in found.left]
        if rows:
            console.table(f"Not approved in {chosen.name}", ["person", "status", "reason"], rows)
        console.say(f"complete: {amount(len(found.ready), 'submission')} in {chosen.name}")
    became: dict[str, str] = {}
    if found.asked and found.ready and (yes or (not as_json and typer.confirm("Approve them?"))):
        ids = [one.id for one in found.ready]
        became = crowd.crowd_study(opened, chosen, console)[1].approve(ids)
    if as_json:
        left = [{"person": one.pseudonym, "reason": why} for one, why in found.left]
        summary = {"round": chosen.name, "complete": len(found.ready), "became": became}
        console.say_json({**summary, "left": left, "file": found.file})
    elif became:
        console.table("What became of them", ["submission", "status"], list(became.items()))
    elif found.file:
        console.warn("PROLIFIC_TOKEN is not set, so nobody has checked whose ids these are")
        console.say(f"to paste on Prolific: {found.file} (private)")


def _list_bonus(campaign: Campaign, round: Round, *, as_json: bool) -> None:
    made = crowd.list_bonus(campaign, round, reporter=console)
    if as_json:
        console.say_json(made._asdict())
        return
    people = amount(made.people, "person", "people")
    console.say(f"{people}: {made.amount} {campaign.settings.rounds.currency} beyond the reward")
    console.say(f"in earlier lists, and not in this one: {made.before}")
    for why, n in made.left.items():
        console.say(f"not in a list: {amount(n, 'person', 'people')} ({crowd.reasons()[why]})")
    if made.file:
        console.say(f"to paste into Prolific's bulk bonus: {made.file} (private)")


# --- the pay list ---------------------------------------------------------------------------------

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
            line.job.round,
            line.job.kind,
            money(earned(line.pay, 1)),
            line.people,
            line.tally.accepted,
            money(earned(line.pay, line.tally.accepted)),
            _minutes(line),
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
