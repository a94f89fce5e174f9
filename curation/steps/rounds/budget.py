"""A plan of a campaign: what its settings, a pilot and the user say, and what the paper says."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError
from curation.records import KINDS, VALUES, Kind, Round
from curation.rounds.pay import NO_PAY
from curation.settings import PAPER
from curation.steps import read
from curation.steps.rounds import round_files
from curation.steps.rounds.fold import fold_answers
from curation.steps.rounds.round_status import caps_of
from curation.steps.step import QUIET, Reporter
from curation.text.rules import WORK, grouped

if TYPE_CHECKING:
    from curation.rounds.budget import Basis, Plan, Times, Wish

PAPER_PLACES = {"gender": 40, **{d: s["top"] for d, s in PAPER.items() if "top" in s}}
"""The paper's terms by domain (ACL Table 1)."""


@dataclass(frozen=True)
class Given:
    """What the user says; None for what settings, a pilot or the paper say."""

    budget: float
    floor: float | None = None
    write_seconds: float | None = None
    label_seconds: float | None = None
    retention: float | None = None
    agreement: float | None = None
    terms: int | None = None
    items: int | None = None
    kinds: Sequence[Kind] = ()
    people: int | None = None
    hours: float | None = None
    fee: float = 0.0
    ss: float = 60.0
    between: float = 5.0
    pilots: Sequence[str] = ()


class CampaignPlan(NamedTuple):
    """A plan, with what it was made from.

    Attributes:
        plan: the plan.
        wish: what the team has and wants.
        basis: the figures.
        sources: rows of name, value and source, for everything that the plan is made from.
        pays: the pay for a task, by setting.
        paper: the paper's row: name, terms, items, kept CATs, their interval and half the width of
            the interval of ss.
        has_pilot: whether a pilot's items are among the sources.
        least_people: how many people the rules need at least.
        weeks: calendar weeks; None if people, hours or times are not known.
        wage: by pay setting, what the median person earns an hour; None if times are not known.
    """

    plan: "Plan"
    wish: "Wish"
    basis: "Basis"
    sources: list[tuple[str, Any, str]]
    least_people: int
    weeks: int | None
    pays: dict[str, float]
    paper: list[Any]
    has_pilot: bool
    wage: dict[str, float | None]


def plan_campaign(campaign: Campaign, given: Given, *, reporter: Reporter = QUIET) -> CampaignPlan:
    """Plan a campaign from what is given, from its settings, a pilot and the paper.

    Args:
        campaign: the campaign; if it has answers, call this under its lock.
        given: what the user says.
        reporter: where warnings go.

    Raises:
        CurationError: the budget buys less than one item; a floor is given and no times are known;
            nothing says what people are paid; or a pilot is not one.
    """
    from curation.rounds.budget import Wish, make_plan

    settings = campaign.settings
    basis = _basis(campaign, given, reporter)
    pays: dict[str, float] = {}
    pay_sources: dict[str, str] = {}
    for name, time in (("write", basis.write), ("label", basis.label)):
        set_pay = float(getattr(settings.rounds, f"pay_{name}"))
        least = _least_pay(given.floor, time, name)
        pays[name] = max(set_pay, least)
        pay_sources[name] = "campaign.toml"
        if least > set_pay:
            pay_sources[name] = f"floor of {given.floor:,.2f} an hour, median time"
            if set_pay:
                pay_sources[name] += f"; campaign.toml has {set_pay:,.2f}, which is below it"
    if not any(pays.values()):
        raise CurationError(
            "nothing says what people are paid",
            "give --floor with --write-seconds and --label-seconds, or set pay_write and pay_label "
            "in [rounds]",
        )
    terms, terms_source = _terms(campaign, given.terms)
    wish = Wish(
        budget=given.budget,
        pay_write=pays["write"],
        pay_label=pays["label"],
        terms=terms,
        fee=given.fee / 100,
        items=given.items or settings.rounds.items,
        kinds=len(set(given.kinds or KINDS)),
        more=given.items is None,
        ss=given.ss,
        between=given.between,
    )
    plan = make_plan(wish, basis)
    weeks = None
    if plan.hours is not None and given.people and given.hours:
        weeks = math.ceil(plan.hours / (given.people * given.hours) - 1e-9)
    return CampaignPlan(
        plan=plan,
        wish=wish,
        basis=basis,
        sources=_sources(campaign, given, wish, basis, pay_sources, terms_source),
        least_people=_least_people(campaign, plan),
        weeks=weeks,
        pays={f"pay_{name}": pay for name, pay in pays.items()},
        paper=_paper(wish),
        has_pilot=basis.retention.is_measured,
        wage={
            f"pay_{name}": time and 3600 * pays[name] / time.median
            for name, time in (("write", basis.write), ("label", basis.label))
        },
    )


def _least_pay(floor: float | None, time: "Times | None", name: str) -> float:
    """The pay for a task with which the median person earns the floor, in whole cents."""
    if floor is None:
        return 0.0
    if time is None:
        raise CurationError(
            f"--floor needs the time of a task, and nothing says how long people {name}",
            f"give --{name}-seconds, or run a pilot first: «curation rounds open KIND --name "
            "pilot-…» (docs/rounds.md, «A small pilot»)",
        )
    return math.ceil(floor * time.median / 36 - 1e-9) / 100


def _terms(campaign: Campaign, wanted: int | None) -> tuple[Mapping[str, int], str]:
    """How many terms there are to write about, by domain, and who says so."""
    from curation.rounds.budget import shared

    domains = campaign.settings.domains
    path = campaign.terms / "targets.jsonl"
    known = read.read_terms(campaign).values() if path.exists() else ()
    counts = Counter(t.domain for t in known if t.status == "kept" and t.domain in domains)
    source = "kept terms of this campaign"
    if not counts:
        counts = Counter({name: PAPER_PLACES.get(name, 0) for name in domains})
        source = "the paper's (ACL Table 1); this campaign has selected none yet"
    if wanted is None and not counts.total():
        raise CurationError(
            "this campaign has no terms yet, and the paper has none of its domains",
            "give --terms N, or select terms first: «curation terms select»",
        )
    if wanted is None:
        return {name: n for name, n in counts.items() if n}, source
    even = counts if counts.total() else Counter(dict.fromkeys(domains, 1))
    return shared(wanted, even), "given, domains in proportion"


def _paper(wish: "Wish") -> list[Any]:
    """StereoSet's row (ACL Table 1), for as many kinds."""
    from curation.rounds.budget import PAPER_CATS, PAPER_TERMS, ss_half_width

    each = PAPER_CATS * wish.kinds
    half = ss_half_width(PAPER_TERMS, each, 1.0, ss=wish.ss, between=wish.between)
    kept = PAPER_TERMS * each
    return ["StereoSet", PAPER_TERMS, None, f"about {kept:,}", None, half and f"{half:.1f}"]


def _least_people(campaign: Campaign, plan: "Plan") -> int:
    """How many people the caps need, and the rule that nobody labels an item of their own."""
    settings, decisions = campaign.settings.rounds, campaign.settings.decisions
    labels = decisions.of - int(decisions.count_writer)
    each = plan.whole.items / plan.whole.terms
    least = [labels + 1.0]
    for work, answers, on_term in (
        ("write", plan.write_answers, each),
        ("label", plan.label_answers, each * labels),
    ):
        caps = caps_of(settings, work)  # type: ignore[arg-type]
        least += [n / cap for n, cap in ((answers, caps.person), (on_term, caps.term)) if cap]
    return math.ceil(max(least) - 1e-9)


# --- the figures ----------------------------------------------------------------------------------


def _basis(campaign: Campaign, given: Given, reporter: Reporter) -> "Basis":
    """The figures: those that are given, else those of pilots, else the paper's."""
    from curation.rounds import budget

    settings, decisions = campaign.settings.rounds, campaign.settings.decisions
    rule = {"needed": decisions.needed, "of": decisions.of}
    free = int(decisions.count_writer)  # labels that nobody is asked for
    pilots = _pilots(campaign, given.pilots, reporter)
    items, writes, seconds = _pilot_answers(campaign, pilots)
    named = " and ".join(pilot.name for pilot in pilots)
    on = len({item.term for item in items})
    source = f"{named}: {len(items)} items on {on} terms"
    agreement = budget.Figure(budget.AGREEMENT, "StereoSet (ACL Table 10, mean)")
    drawn = budget.drawn_items(given.agreement or budget.AGREEMENT, decisions.of, free=free)
    if given.agreement is not None:
        agreement = budget.Figure(given.agreement, "given")
    elif items:
        agreement = budget.agreement_of(items, source)
    if given.retention is not None:
        kept = budget.expected(given.retention, "given; may be 10 points wrong")
    elif items:
        kept = budget.retention(items, **rule, source=source)
    elif (decisions.needed, decisions.of) == (3, 5) and given.agreement is None:
        kept = budget.expected(budget.KEPT, "StereoSet (ACL §4.3); may be 10 points wrong")
    else:
        share = budget.retention(drawn, **rule, source="").mean
        kept = budget.expected(share, "from the agreement; may be 10 points wrong")
    paid = "nothing refused is assumed before a pilot"
    all_, fewer = budget.label_figures(
        items or drawn,
        **rule,
        sample=settings.sample,
        free=free,
        source=source if items else paid,
    )
    labels = fewer if settings.labels == "needed" else all_
    on_terms, counts = [term for term, _ in writes], [n for _, n in writes]
    write = budget.measured(on_terms, counts, named) if len(writes) > 1 else None

    def time(said: float | None, found: Sequence[float]) -> "Times | None":
        return budget.Times(said, said, "given") if said else budget.times_of(found, named)

    return budget.Basis(
        retention=kept,
        agreement=agreement,
        writes=write or budget.Figure(1.0, paid),
        labels=labels,
        fewer=fewer,
        write=time(given.write_seconds, seconds["write"]),
        label=time(given.label_seconds, seconds["label"]),
    )


def _pilots(campaign: Campaign, named: Sequence[str], reporter: Reporter) -> list[Round]:
    """The rounds that are named, or the pilots of the campaign that have answers."""
    if named:
        rounds = [round_files.read_round(campaign, name) for name in named]
    else:
        rounds = [round for round in round_files.map_rounds(campaign) if round.pilot]
    rounds = [round for round in rounds if round.kind != "review"]
    answered = set(campaign.round_names())
    lacks = [round.name for round in rounds if round.name not in answered]
    if named and lacks:
        raise CurationError(
            f"round {lacks[0]} has no answers yet", f"«curation rounds pull {lacks[0]}»"
        )
    if pilots := [round for round in rounds if round.name in answered]:
        fold_answers(campaign, reporter=reporter)
    return pilots


def _pilot_answers(
    campaign: Campaign, pilots: Sequence[Round]
) -> tuple[list[Any], list[tuple[str, float]], dict[str, list[float]]]:
    """What pilots showed.

    Returns:
        Their labelled items; by finished writing task its term and how many answers were paid; and
        by kind of work the times of accepted answers.
    """
    from curation.decisions.filter import count
    from curation.rounds.budget import PilotItem

    decisions = campaign.settings.decisions
    writes: list[tuple[str, float]] = []
    seconds: dict[str, list[float]] = {"write": [], "label": []}
    paid = Counter[str]()
    for pilot in pilots:
        tasks = {task.id: task for task in round_files.read_tasks(campaign, pilot.name)}
        answers = round_files.read_answers(campaign, pilot.name)
        work = WORK[pilot.kind]
        accepted = [a for a in answers if a.code is None and a.task in tasks]
        seconds[work] += [a.seconds for a in accepted if a.seconds]
        by_task = Counter(a.task for a in answers if a.code not in NO_PAY and a.task in tasks)
        if work == "label":
            paid.update({tasks[task].item or "": n for task, n in by_task.items()})
        else:
            writes += [(tasks[t].term, by_task[t]) for t in dict.fromkeys(a.task for a in accepted)]
    items = [item for item in read.read_items(campaign) if item.id in paid] if paid else []
    if not items:
        return [], writes, seconds
    labels = read.read_labels(campaign)
    own = labels["item"].isin([item.id for item in items])
    counted = count(
        items,
        labels[own & labels["round"].isin([pilot.name for pilot in pilots])],
        of=decisions.of,
        count_repeats=decisions.count_repeats,
    ).labels
    live = counted[counted["code"] == ""]
    by_row = grouped(zip(live["row"].tolist(), live["value"].tolist(), strict=True))
    found = []
    for number, item in enumerate(items):
        intents = tuple(a.intent for a in item.associations)
        said = [by_row[3 * number + place] for place in range(3)]
        if decisions.count_writer and all(intents):
            said = [[intent, *values] for intent, values in zip(intents, said, strict=True)]
        people = [tuple(map(VALUES.index, three)) for three in zip(*said, strict=False)]
        meant = intents if decisions.match_intent else None
        found.append(PilotItem(item.term, people[: decisions.of], paid[item.id], meant))  # type: ignore[arg-type]
    return found, writes, seconds


def _sources(
    campaign: Campaign,
    given: Given,
    wish: "Wish",
    basis: "Basis",
    pay_sources: Mapping[str, str],
    terms_source: str,
) -> list[tuple[str, Any, str]]:
    """Rows of name, value and source."""
    said = "campaign.toml"
    rows: list[tuple[str, Any, str]] = [
        ("terms", sum(wish.terms.values()), terms_source),
        ("items a term and kind", wish.items, "given" if given.items else said),
        ("kinds", wish.kinds, "given" if given.kinds else "the paper's"),
        ("retention", basis.retention.mean, basis.retention.source),
        ("agreement", basis.agreement.mean, basis.agreement.source),
        ("answers for an item", basis.writes.mean, basis.writes.source),
        ("answers with its labels", basis.labels.mean, basis.labels.source),
        ("pay_write", wish.pay_write, pay_sources["write"]),
        ("pay_label", wish.pay_label, pay_sources["label"]),
    ]
    for name, time in (("write_seconds", basis.write), ("label_seconds", basis.label)):
        rows.append((name, time and time.median, time.source if time else "not known"))
    rows += [
        ("fee, %", given.fee, "given" if given.fee else "default"),
        ("ss of a model", wish.ss, "default: near those of ACL Table 4"),
        ("sd of terms' ss", wish.between, "default: docs/rounds.md"),
    ]
    return rows
