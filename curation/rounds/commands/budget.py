"""``curation rounds plan``: what a budget buys, before the first person is asked."""

from pathlib import Path
from typing import Annotated

import typer

from curation.rounds.budgeting import MOST, PAPER_TERMS, CampaignPlan, Given, plan_campaign
from curation.terminal import console
from curation.terminal.options import Json, Where, locked

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
        _show(made, f"{budget:,.2f}", currency)
        return
    console.say_json({"currency": currency, **made._asdict()})


def _show(made: CampaignPlan, money: str, currency: str) -> None:
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
