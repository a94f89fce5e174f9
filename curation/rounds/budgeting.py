"""A plan of a campaign: from what the user says, a pilot, the settings and the paper."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from curation.campaign.counted import read_counted
from curation.campaign.settings import PAPER, caps_of
from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.kinds import ROUNDS, Kind, Work
from curation.records import VALUES, Round
from curation.rounds.pay import LONGEST, in_round
from curation.rounds.steps import fold_answers
from curation.text.rules import grouped
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.rounds.budget import Figure, PilotItem, Plan

MOST = 1_000_000_000  # the largest number that a plan is made from
PAPER_KEPT, PAPER_AGREEMENT = 0.83, 0.785  # ACL §4.3; the mean of Table 10
PAPER_TERMS, PAPER_CATS = 321, 26  # ACL Table 1: terms; kept CATs of a term and kind
BY_DOMAIN = {"gender": 40, **{name: of["top"] for name, of in PAPER.items() if "top" in of}}
"""The paper's terms by domain (ACL Table 1)."""

Positive = Annotated[float | None, Field(ge=0.001, le=MOST)]
Share = Annotated[float | None, Field(ge=0.01, le=1)]
Number = Annotated[int | None, Field(ge=1, le=MOST)]


@dataclass(frozen=True)
class Given:
    """What the user says; None for what a pilot, the settings or the paper say.

    Attributes:
        floor (AMOUNT): The least that people earn an hour; default: wage_floor in [rounds]. The
            paper paid 15 USD.
        write_seconds (SECONDS): How long a person needs to write an item.
        label_seconds (SECONDS): How long a person needs to label an item's three texts.
        retention (SHARE): Share of the written items that become CATs; the paper's is 0.83.
        agreement (SHARE): Chance that two labels of a stereotype are the same; the paper's mean is
            0.785. It decides how many labels are saved by labels = "needed".
        terms (N): Number of terms; default: the kept terms of the campaign.
        items (N): Items of each kind to write on each term; default: items in [rounds], and more if
            the budget buys more.
        kind: Only this kind of CAT: intrasentence or intersentence.
        people (N): How many people work, to compute the weeks.
        hours (HOURS): How many hours each of them works in a week.
        fee (PERCENT): What a platform adds to the pay.
        ss (PERCENT): The ss that you expect of a model.
        between (POINTS): Standard deviation of the terms' true ss.
    """

    floor: Positive = None
    write_seconds: Positive = None
    label_seconds: Positive = None
    retention: Share = None
    agreement: Share = None
    terms: Number = None
    items: Number = None
    kind: Kind | None = None
    people: Number = None
    hours: Positive = None
    fee: Annotated[float, Field(ge=0, le=100)] = 0.0
    ss: Annotated[float, Field(ge=1, le=99)] = 60.0
    between: Annotated[float, Field(ge=0, le=30)] = 5.0


class CampaignPlan(NamedTuple):
    """A plan, with what it was made from.

    Attributes:
        plan: the plan.
        left: what is left of the budget.
        figures: what it is made from, each with its source.
        wage: what a person with the median time earns an hour, by kind of work, if it is known.
        people: how many people the rules need at least.
        weeks: calendar weeks; None if people, hours or times are not known.
        narrower: half the width of the interval of ss after each change.
        paper_ss: the same for as many terms and CATs as StereoSet has.
    """

    plan: "Plan"
    left: float
    figures: "dict[str, Figure]"
    wage: dict[Work, float]
    people: int
    weeks: int | None
    narrower: dict[str, float | None]
    paper_ss: float | None


def plan_campaign(
    campaign: Campaign,
    budget: float,
    given: Given,
    pilots: Sequence[str] = (),
    *,
    reporter: Reporter = QUIET,
) -> CampaignPlan:
    """Plan a campaign. Call this only under its lock.

    Args:
        campaign: the campaign.
        budget: the money, in the campaign's currency.
        given: what the user says.
        pilots: rounds whose figures are used; by default all that were opened as pilots.
        reporter: where warnings go.

    Raises:
        CurationError: the budget buys less than one item; a floor is given and no times are known;
            nothing says what people are paid; or a round that is named has no answers.
    """
    from curation.rounds.budget import DONE_FOR, Figure, make_plan, narrower, ss_half_width

    settings = campaign.settings.rounds
    figures, medians = _figures(campaign, given, _pilots(campaign, pilots, reporter))
    floor = given.floor or settings.wage_floor
    for work in DONE_FOR:
        pay, source = float(getattr(settings, f"pay_{work}")), "campaign.toml"
        if given.floor and work not in medians:
            raise CurationError(
                f"--floor needs times, and nothing says how long it takes to {work} an item",
                f"give --{work}-seconds, or run a pilot (docs/rounds.md, «A small pilot»)",
            )
        least = math.ceil(floor * medians.get(work, 0) / 36 - 1e-9) / 100
        if least > pay:
            pay, source = least, f"the floor, {floor:,.2f} an hour (campaign.toml: {pay:g})"
        figures[f"pay_{work}"] = Figure(pay, source)
    if not figures["pay_write"].mean + figures["pay_label"].mean:
        raise CurationError(
            "nothing says what people are paid",
            "give --floor with --write-seconds and --label-seconds; or set pay_write and pay_label",
        )
    terms, source = _terms(campaign, given.terms)
    items, kinds = given.items or settings.items, 1 if given.kind else 2
    figures["terms"] = Figure(sum(terms.values()), source)
    figures["items"] = Figure(items, "given" if given.items else "campaign.toml")
    more = given.items is None
    plan = make_plan(budget, terms, figures, items=items, kinds=kinds, more=more)
    week = (given.people or 0) * (given.hours or 0)
    hours = [n for n in plan.hours.values() if n is not None]
    whole = {**figures, "retention": Figure(1.0, "")}
    return CampaignPlan(
        plan,
        budget - plan.cost,
        figures,
        {work: 3600 * figures[f"pay_{work}"].mean / time for work, time in medians.items()},
        _least_people(campaign, plan),
        math.ceil(sum(hours) / week - 1e-9) if week and len(hours) == len(DONE_FOR) else None,
        narrower(plan, terms, figures, kinds=kinds),
        ss_half_width(PAPER_TERMS, PAPER_CATS * kinds, whole),
    )


def _terms(campaign: Campaign, wanted: int | None) -> tuple[Mapping[str, int], str]:
    """How many terms there are to write about, by domain, and who says so."""
    from curation.rounds.budget import shared

    domains, selected = campaign.settings.domains, campaign.folder("terms") / "targets.jsonl"
    known = campaign.terms.values() if selected.exists() else ()
    counts = Counter(t.domain for t in known if t.status == "kept" and t.domain in domains)
    source = "the kept terms of this campaign"
    if not counts:
        counts = Counter({name: BY_DOMAIN[name] for name in domains if name in BY_DOMAIN})
        source = "StereoSet (ACL Table 1); no terms are selected here"
    if wanted:
        return shared(wanted, counts or dict.fromkeys(domains, 1)), "given"
    if not counts:
        raise CurationError(
            "no terms are selected, and the paper has none of these domains",
            "give --terms N, or select terms: «curation terms select»",
        )
    return counts, source


def _least_people(campaign: Campaign, plan: "Plan") -> int:
    """How many people the caps need, and the rule that nobody labels an item of their own."""
    labels = campaign.settings.decisions.of - int(campaign.settings.decisions.count_writer)
    each = plan.whole.items / plan.whole.terms
    on_term = {"write": each, "label": each * labels}
    least = [labels + 1.0]
    for work, answers in plan.answers.items():
        caps = caps_of(campaign.settings.rounds, work)
        needs = zip((answers, on_term[work]), caps, strict=True)
        least += [n / cap for n, cap in needs if cap]
    return math.ceil(max(least) - 1e-9)


# --- the figures ----------------------------------------------------------------------------------


def _figures(
    campaign: Campaign, given: Given, pilots: Sequence[Round]
) -> tuple["dict[str, Figure]", dict[Work, float]]:
    """The figures, but for the pay; and the median times by kind of work."""
    from curation.rounds.budget import (
        DONE_FOR,
        Figure,
        drawn_items,
        expected,
        label_figures,
        paid_figure,
    )

    settings, decisions = campaign.settings.rounds, campaign.settings.decisions
    items = _pilot_items(campaign, pilots)
    pilot, before = " and ".join(each.name for each in pilots), "assumed before a pilot"
    free, agreement = int(decisions.count_writer), given.agreement or PAPER_AGREEMENT
    figures = label_figures(
        items or drawn_items(agreement, decisions.of),
        needed=decisions.needed,
        of=decisions.of,
        sample=settings.sample,
        free=free,
        source=f"{pilot} ({len(items)} items)" if items else before,
    )
    if not items:
        paper = (decisions.needed, decisions.of, agreement) == (3, 5, PAPER_AGREEMENT)
        kept = PAPER_KEPT if paper else figures["retention"].mean
        figures["retention"] = expected(
            kept, f"{'ACL §4.3' if paper else 'from the agreement'}, ± 10 points"
        )
        figures["agreement"] = Figure(PAPER_AGREEMENT, "mean of ACL Table 10")
    for name in ("retention", "agreement"):
        if share := getattr(given, name):
            figures[name] = expected(
                share, "given, ± 10 points" if name == "retention" else "given"
            )
    if settings.labels == "needed":
        figures["labels"] = figures["fewer"]
    for name, value in (("fee", given.fee / 100), ("ss", given.ss), ("between", given.between)):
        figures[name] = Figure(value, "option, or its default")
    medians: dict[Work, float] = {}
    for work in DONE_FOR:
        done = [
            answer
            for each in pilots
            if ROUNDS[each.kind].work == work
            for answer in in_round(each.name, each.kind, campaign.answers[each.name])
        ]
        theirs = grouped((answer.person, answer.accepted) for answer in done).values()
        figures[f"{work}_paid"] = Figure(1.0, before)
        if len(theirs) > 1 and any(map(any, theirs)):
            figures[f"{work}_paid"] = paid_figure([*map(len, theirs)], [*map(sum, theirs)], pilot)
        said = getattr(given, f"{work}_seconds", None)
        if times := [said] if said else [d.seconds for d in done if d.accepted and d.seconds]:
            medians[work] = median(times)
            mean = sum(min(time, LONGEST * medians[work]) for time in times) / len(times)
            source = "given" if said else f"{pilot}; median {medians[work]:.0f}"
            figures[f"{work}_seconds"] = Figure(mean, source)
    return figures, medians


def _pilots(campaign: Campaign, named: Sequence[str], reporter: Reporter) -> list[Round]:
    """The rounds that are named, or the campaign's pilots that have answers."""
    answered = set(campaign.round_names())
    rounds = [campaign.round(name) for name in named]
    if lacks := [name for name in named if name not in answered]:
        raise CurationError(
            f"round {lacks[0]} has no answers", f"«curation rounds pull {lacks[0]}»"
        )
    rounds = rounds or [each for each in campaign.rounds if each.pilot]
    if rounds:
        fold_answers(campaign, reporter=reporter)
    answered -= campaign.neutral_rounds.keys()
    return [each for each in rounds if each.name in answered and ROUNDS[each.kind].work != "review"]


def _pilot_items(campaign: Campaign, pilots: Sequence[Round]) -> "list[PilotItem]":
    """The items that pilots labelled."""
    from curation.rounds.budget import PilotItem

    decisions, shown = campaign.settings.decisions, []
    tasks = [task for each in pilots for task in campaign.tasks[each.name]]
    ids = {task.item for task in tasks if task.item}
    if not ids:
        return []
    items = [item for item in campaign.items if item.id in ids]
    labels = read_counted(campaign, items, alone=True).labels
    labels = labels[labels["code"] == ""]
    rows = zip(labels["row"], labels["value"], labels["annotator"], strict=True)
    given = grouped((int(row), (VALUES.index(value), str(who))) for row, value, who in rows)
    for number, item in enumerate(items):
        three = [given[3 * number + place] for place in range(3)]
        said = [(a, b, c) for (a, _), (b, _), (c, _) in zip(*three, strict=False)]
        intents = tuple(association.intent for association in item.associations)
        if decisions.count_writer and all(intents):
            a, b, c = (VALUES.index(intent) for intent in intents if intent)
            said = [(a, b, c), *said]
        meant = intents if decisions.match_intent else None
        people = [who for _, who in three[0]]
        shown.append(PilotItem(item.term, item.writer or "", people, said, meant))
    return shown
