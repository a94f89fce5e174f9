"""``curation rounds plan``: what a budget buys, before the first person is asked."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, MaybeCount, Where
from curation.files import CurationError
from curation.records import KINDS
from curation.steps.rounds.budget import CampaignPlan, Given, plan_campaign
from curation.text.wording import amount

Positive = Annotated[float | None, typer.Option(min=0.001)]
Share = Annotated[float | None, typer.Option(min=0.01, max=1)]
Percent = Annotated[float, typer.Option(min=1, max=99)]
HEADS = ("", "terms", "items", "kept CATs", "95 % interval", "ss ±")


def plan(
    campaign: Where = Path(),
    *,
    budget: Annotated[float, typer.Option(min=0.001)],
    floor: Positive = None,
    write_seconds: Positive = None,
    label_seconds: Positive = None,
    pilot: list[str] | None = None,
    retention: Share = None,
    agreement: Share = None,
    terms: MaybeCount = None,
    items: MaybeCount = None,
    kind: list[str] | None = None,
    people: MaybeCount = None,
    hours: Positive = None,
    fee: Annotated[float, typer.Option(min=0, max=100)] = 0.0,
    ss: Percent = 60.0,
    between: Annotated[float, typer.Option(min=0, max=30)] = 5.0,
    as_json: Json = False,
) -> None:
    """Show what a budget buys: terms, items, people, hours, weeks, kept CATs, the interval of ss.

    What you do not give comes from a pilot, else from campaign.toml and the paper; the command
    prints the source of each figure. It pays for each task what [rounds] says, or with --floor as
    much as a median person needs to earn the floor.

    Options:
        budget (AMOUNT): The money, in the campaign's currency.
        floor (AMOUNT): The least that people earn an hour; the paper paid 15 USD.
        write_seconds (SECONDS): How long a person needs to write an item.
        label_seconds (SECONDS): How long a person needs to label an item's three texts.
        pilot (ROUND): Take the figures of this round; repeatable. Default: all rounds that were
            opened as pilots, with a name that begins with pilot.
        retention (SHARE): Share of the written items that become CATs; the paper's is 0.83.
        agreement (SHARE): Chance that two labels of a stereotype are the same; the paper's mean is
            0.785. It decides how many labels the setting labels = "needed" saves.
        terms (N): Number of terms; default: the kept terms of the campaign.
        items (N): Items of each kind to write on each term; default: items in [rounds], and more if
            the budget buys more.
        kind: Only this kind, intrasentence or intersentence.
        people (N): How many people work, to compute the weeks.
        hours (HOURS): How many hours each of them works in a week.
        fee (PERCENT): What a platform adds to the pay.
        ss (PERCENT): The ss that you expect of a model.
        between (POINTS): Standard deviation of the terms' true ss.
    """
    if unknown := set(kind or ()) - set(KINDS):
        raise CurationError(
            f"--kind: {min(unknown)!r} is not a kind of CAT", f"kinds: {', '.join(KINDS)}"
        )
    given = Given(
        budget=budget,
        floor=floor,
        write_seconds=write_seconds,
        label_seconds=label_seconds,
        retention=retention,
        agreement=agreement,
        terms=terms,
        items=items,
        kinds=[name for name in KINDS if name in (kind or ())],
        people=people,
        hours=hours,
        fee=fee,
        ss=ss,
        between=between,
        pilots=pilot or (),
    )
    opened = open_campaign(campaign)
    with opened.lock():
        made = plan_campaign(opened, given, reporter=console)
    currency = opened.settings.rounds.currency
    if as_json:
        console.say_json(_as_json(made, currency))
        return
    _show(made, given, currency)


def _show(made: CampaignPlan, given: Given, currency: str) -> None:
    plan, wish = made.plan, made.wish
    rows = [[name, _short(value), source] for name, value, source in made.sources]
    console.table("The plan is made from", ["", "value", "source"], rows)
    parts = [*plan.domains, plan.whole]
    console.table(
        f"What {given.budget:,.2f} {currency} buys",
        HEADS,
        [
            [p.domain, p.terms, p.items, round(p.kept), _range(p.kept_range), _half(p.ss)]
            for p in parts
        ]
        + [made.paper],
    )
    console.say(
        f"{plan.whole.terms} terms × {plan.items} items × {wish.kinds} kinds = {plan.whole.items} "
        f"items; about {plan.label_answers:,.0f} answers with labels"
    )
    console.say(
        f"cost: {plan.cost:,.2f} {currency} (95 % interval {_range(plan.cost_range, 2)}), "
        f"{plan.item_cost:,.2f} for an item with its labels"
    )
    wages = [f"{name} = {pay:.2f}" for name, pay in made.pays.items()]
    earned = [f"{wage:,.2f} for {name}" for name, wage in made.wage.items() if wage]
    console.say(
        f"pay: {', '.join(wages)}"
        + (f"; the median person earns an hour {' and '.join(earned)}" if earned else "")
    )
    if plan.hours is None:
        console.say("hours: not known; give --write-seconds and --label-seconds, or run a pilot")
    else:
        console.say(
            f"hours: {plan.hours:,.0f} ({plan.write_hours:,.0f} of writing, "
            f"{plan.label_hours:,.0f} of labelling)"
        )
        if made.weeks is not None:
            console.say(
                f"calendar: {amount(made.weeks, 'week')} with {given.people} people and "
                f"{given.hours:g} hours a week each"
            )
        else:
            console.say("calendar: give --people, and with --hours their hours a week")
    console.say(f"people: at least {made.least_people}")
    if given.people and given.people < made.least_people:
        console.warn(f"--people {given.people}: the rules of [rounds] need {made.least_people}")
    rows = [[change, _half(half)] for change, half in plan.narrower.items()]
    console.table("What makes the interval of ss narrower", ["change", "ss ±"], rows)
    if not made.has_pilot:
        console.say("next: a pilot, whose own figures then replace these (docs/rounds.md)")


def _short(value: Any) -> Any:
    return f"{value:.3g}" if isinstance(value, float) and value < 1 else value


def _range(ends: tuple[float, float], digits: int = 0) -> str:
    return " to ".join(f"{end:,.{digits}f}" for end in ends)


def _half(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


def _as_json(made: CampaignPlan, currency: str) -> dict[str, Any]:
    return {
        "currency": currency,
        **asdict(made.plan),
        "hours": made.plan.hours,
        "pays": made.pays,
        "wage": made.wage,
        "least_people": made.least_people,
        "weeks": made.weeks,
        "figures": asdict(made.basis),
        "sources": [
            {"name": name, "value": value, "source": source} for name, value, source in made.sources
        ],
    }
