"""Planning a round: which terms or items, how many answers, what the forms say."""

from collections.abc import Sequence
from typing import Any

from curation.campaign import Campaign
from curation.cli.console import warn
from curation.cli.importing import register_terms
from curation.files import CurationError, dump_json, writing
from curation.records import Round, RoundKind, Task, Term
from curation.rules import decide
from curation.settings import DecisionSettings
from curation.steps import read
from curation.steps.pipeline import bring_up_to_date
from curation.steps.rounds import platform, round_files, round_status


def fresh_name(campaign: Campaign, kind: str, taken: set[str]) -> str:
    """The name of a round that is not named: one of the kind that is half open, or a new one."""
    half_open = [
        r.name for r in round_files.map_rounds(campaign) if (r.kind, r.state) == (kind, "planned")
    ]
    free = (f"{kind}-{n}" for n in range(1, len(taken) + 2) if f"{kind}-{n}" not in taken)
    return half_open[0] if half_open else next(free)


def plan_round(
    campaign: Campaign,
    name: str,
    kind: RoundKind,
    on: str,
    domains: Sequence[str],
    wanted: Sequence[str],
    of: Sequence[str],
) -> Round:
    """Plan a round and write it down. The state is written last: what has none is planned anew."""
    from curation.rounds import pages, people, plan

    settings = campaign.settings
    unknown = set(domains) - set(settings.domains)
    if unknown:
        raise CurationError(
            f"no domain {min(unknown)!r}", f"domains: {', '.join(settings.domains)}"
        )
    # What the form says must be whole before anything is written.
    texts = platform.texts(campaign)
    _check_study(campaign, pages.unsaid(texts))
    people.make_key(settings.campaign.id)
    has_answers = bool(campaign.round_names())
    bring_up_to_date(campaign, "fold" if kind == "validation" and has_answers else "select")
    sealed = people.sealed(people.read_key(settings.campaign.id))
    found = _terms(campaign, domains, wanted)
    knobs, seed = settings.rounds, settings.campaign.seed
    pay = {"review": knobs.pay_review, "validation": knobs.pay_label}.get(kind, knobs.pay_write)
    answers = 1
    if kind == "review":
        answers = knobs.reviewers
        everybody = _terms(campaign, (), ())
        tasks = plan.review(
            found, among=everybody, round=name, reviewers=answers, seed=seed, sealed=sealed
        )
    elif kind == "validation":
        answers, tasks = _validation(campaign, name, found, of, sealed)
    else:
        tasks = plan.writing(
            found, round=name, kind=kind, items=knobs.items, seed=seed, sealed=sealed
        )
    if kind != "review":  # what people write about keeps its id, whatever becomes of the list
        named = iter([(task.domain, task.target) for task in tasks])
        register_terms(campaign, read.selection(campaign), named, known_only=True)
        bring_up_to_date(campaign, "check" if has_answers else "select")
    round = Round(
        name=name,
        kind=kind,
        platform="files" if on == "files" else "label_studio",
        state="planned",
        seed=seed,
        labels=knobs.labels,
        answers=answers,
        consent=pages.consent_version(texts),
        pay=pay,
    )
    round_files.write_tasks(campaign, name, tasks)
    with writing(campaign.rounds / name / "texts.json") as file:
        file.write(dump_json(texts))
    with writing(campaign.rounds / name / f"consent-{round.consent}.md") as file:
        file.write(pages.consent_text(texts).encode())
    round_files.write_round(campaign, round)
    return round


def _check_study(campaign: Campaign, empty: Sequence[str]) -> None:
    """People must be told who asks them, and whom they tell that they withdraw."""
    place = f"{campaign.relative(platform.own_texts(campaign))}, [study]"
    missing = [name for name in ("institution", "contact") if name in empty]
    if missing and campaign.settings.rounds.consent:
        raise CurationError(
            f"{place}: annotators are not told {' and '.join(missing)}, and cannot consent",
            f'write the file: [study], then {missing[0]} = "…"; docs/rounds.md tells more',
        )
    if empty:
        warn(f"{place}: annotators are not told {', '.join(empty)}")


def _terms(campaign: Campaign, domains: Sequence[str], wanted: Sequence[str]) -> list[Term]:
    """The terms to work on: all, or those of these domains, or those that are named."""
    terms = [
        term
        for term in read.read_terms(campaign).values()
        if term.status == "kept" and term.domain in (domains or campaign.settings.domains)
    ]
    missing = set(wanted) - {term.text for term in terms} - {term.id for term in terms}
    if missing:
        raise CurationError(
            f"no kept term {min(missing)!r}", "1-terms/candidates.csv lists them with their status"
        )
    terms = [term for term in terms if not wanted or {term.text, term.id} & set(wanted)]
    if not terms:
        raise CurationError(
            "there is no kept term to work on",
            "«curation terms select» chooses them; «add» in 1-terms/edits.csv adds one by hand",
        )
    return terms


def _validation(
    campaign: Campaign, name: str, terms: Sequence[Term], of: Sequence[str], sealed: Any
) -> tuple[int, list[Task]]:
    """The tasks of a round of validation: items that lack labels and are in no other such round."""
    from curation.rounds import needed, plan

    knobs, decisions = campaign.settings.rounds, campaign.settings.decisions
    unknown = set(of) - set(campaign.round_names())
    if unknown:
        known = ", ".join(campaign.round_names()) or "none"
        raise CurationError(f"round {min(unknown)!r} has no items", f"rounds with answers: {known}")
    items = read.read_items(campaign) if campaign.round_names() else []
    votes = read.votes(campaign, items)
    busy = _in_other_rounds(campaign, name)
    mine = {term.id for term in terms}
    chosen = [
        item
        for item in items
        if item.term in mine
        and item.id not in busy
        and (item.round in of if of else any(a.intent for a in item.associations))
        and _is_undecided(votes[item.id], decisions)
    ]
    if not chosen:
        raise CurationError(
            "there is no item that lacks labels and is in no open round",
            "open a round of writing first; a closed round goes on with --name ROUND",
        )
    if decisions.rounds and name not in decisions.rounds:
        warn(f"[decisions] rounds does not name {name}: its labels will not count; add it there")
    ids = [item.id for item in chosen]
    share, seed = knobs.sample, campaign.settings.campaign.seed
    full = ids if knobs.labels == "all" else needed.sample(ids, share=share, seed=seed)
    wanted = {
        id: max(decisions.of - sum(v) for v in votes[id])
        if id in full
        else needed.further(votes[id], needed=decisions.needed, of=decisions.of)
        for id in ids
    }
    tasks = plan.validation(
        chosen,
        read.read_terms(campaign),
        round=name,
        wanted=wanted,
        full=full,
        seed=seed,
        sealed=sealed,
    )
    return decisions.of - int(decisions.count_writer), tasks


def _is_undecided(votes: Any, decisions: DecisionSettings) -> bool:
    outcome = decide(votes, needed=decisions.needed, of=decisions.of)
    return outcome.reason == "too_few_labels"


def _in_other_rounds(campaign: Campaign, name: str) -> set[str]:
    """The items that another round of validation is asking for, with the words they have now."""
    found = set()
    for round in round_files.map_rounds(campaign):
        if round.kind == "validation" and round.name != name and round.state != "closed":
            stands = round_status.read_status(campaign, round)
            found |= {t.item for t in stands.tasks if t.item and t.id not in stands.void}
    return found
