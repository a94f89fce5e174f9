"""Planning a round: which terms or items, how many answers, what the forms show."""

from collections.abc import Callable, Sequence

from curation.campaign import Campaign
from curation.files import CurationError, dump_json, shipped, writing
from curation.records import Item, Kind, PlatformName, Round, RoundKind, Task, Term
from curation.settings import DecisionSettings
from curation.steps import read, term_files
from curation.steps.registering import register_terms
from curation.steps.release import licences
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files, round_status, shown
from curation.steps.rounds.fold import ANSWERS, ITEM_PITFALLS
from curation.steps.rounds.platform import open_platform
from curation.steps.step import run_steps
from curation.steps.terms import SELECT, domains_without_terms, no_terms
from curation.text.rules import Votes, decide
from curation.text.table_words import has_own_headings


def fresh_name(campaign: Campaign, kind: str, taken: set[str]) -> str:
    """A name for a round without one: that of a half-open round of its kind, or a new name."""
    half_open = [
        r.name for r in round_files.map_rounds(campaign) if (r.kind, r.state) == (kind, "planned")
    ]
    free = (f"{kind}-{n}" for n in range(1, len(taken) + 2) if f"{kind}-{n}" not in taken)
    return half_open[0] if half_open else next(free)


def plan_round(
    campaign: Campaign,
    name: str,
    kind: RoundKind,
    platform: PlatformName,
    *,
    domains: Sequence[str] = (),
    terms: Sequence[str] = (),
    of: Sequence[str] = (),
    reporter: Reporter = QUIET,
) -> Round:
    """Plan a round and write it to disk. A round whose state was not written is planned again.

    Args:
        campaign: the campaign.
        name: the round's name.
        kind: the round's kind.
        platform: where it is to run.
        domains: only terms or items of these domains; empty for all.
        terms: only these terms (any name, or id), or items on them; empty for all.
        of: validate the items of these rounds; empty for all rounds.
        reporter: where warnings and progress go.

    Raises:
        CurationError: an argument is wrong, there is nothing to work on, or a fact that
            annotators must be given is missing.
    """
    from curation.rounds import pages, people

    settings = campaign.settings
    unknown = set(domains) - set(settings.domains)
    if unknown:
        raise CurationError(
            f"no domain {min(unknown)!r}", f"domains: {', '.join(settings.domains)}"
        )
    # The form's texts must be complete before anything is written.
    texts = shown.texts(campaign)
    _check_study(campaign, pages.missing_facts(texts), reporter)
    licences.warn_of_other(campaign, texts["study"]["licence"], reporter)
    people.make_key(settings.campaign.id)
    has_answers = bool(campaign.round_names())
    first = ANSWERS if kind == "validation" and has_answers else SELECT
    run_steps(campaign, first, reporter=reporter)
    chosen = _terms(campaign, domains, terms)
    empty = [] if kind == "validation" or terms else domains_without_terms(campaign)
    for domain in empty:
        if domain in (domains or settings.domains):
            reporter.warn(no_terms(domain))
    pay = {"review": settings.rounds.pay_review, "validation": settings.rounds.pay_label}
    if kind == "review":
        answers, tasks = _review(campaign, name, chosen)
    elif kind == "validation":
        answers, tasks = _validation(campaign, name, chosen, of, reporter)
    else:
        answers, tasks = _writing(campaign, name, chosen, kind)
    if kind != "review":  # a term that people write about keeps its id, whatever happens later
        pairs = iter([(task.domain, task.target) for task in tasks])
        register_terms(campaign, term_files.selection(campaign), pairs, known_only=True)
        run_steps(campaign, ITEM_PITFALLS if has_answers else SELECT, reporter=reporter)
    round = Round(
        name=name,
        kind=kind,
        platform=platform,
        state="planned",
        seed=settings.campaign.seed,
        labels=settings.rounds.labels,
        answers=answers,
        consent=pages.consent_version(texts),
        pay=pay.get(kind, settings.rounds.pay_write),
        domains=tuple(domains),
        terms=tuple(terms),
        of=tuple(of),
    )
    language = settings.campaign.language
    if open_platform(campaign, round).exchanges_tables and not has_own_headings(texts, language):
        reporter.warn(
            f"the tables of this round will have English headings, because there are none for "
            f"«{language}». To have your own, put the sections of "
            f"{shipped('annotation_configs', 'tables', 'en.toml')} into "
            f"{campaign.relative(shown.own_texts(campaign))}, and open another round"
        )
    round_files.write_tasks(campaign, name, tasks)
    with writing(campaign.rounds / name / "texts.json") as file:
        file.write(dump_json(texts))
    with writing(campaign.rounds / name / f"consent-{round.consent}.md") as file:
        file.write(pages.consent_text(texts).encode())
    round_files.write_round(campaign, round)
    return round


def _check_study(campaign: Campaign, empty: Sequence[str], reporter: Reporter) -> None:
    """Check that people learn who asks them, and whom to tell that they withdraw."""
    place = f"{campaign.relative(shown.own_texts(campaign))}, [study]"
    missing = [name for name in ("institution", "contact") if name in empty]
    if missing and campaign.settings.rounds.consent:
        raise CurationError(
            f"{place}: the texts for annotators do not name {' and '.join(missing)}, so nobody can "
            "consent",
            f'write the file: [study], then {missing[0]} = "…"; see docs/rounds.md',
        )
    if empty:
        reporter.warn(f"{place}: the texts for annotators do not name {', '.join(empty)}")


def _terms(campaign: Campaign, domains: Sequence[str], named: Sequence[str]) -> list[Term]:
    """The kept terms to work on: all, or those of these domains, or those that are named."""
    terms = [
        term
        for term in read.read_terms(campaign).values()
        if term.status == "kept" and term.domain in (domains or campaign.settings.domains)
    ]
    chosen: dict[str, Term] = {}
    for name in named:
        meant = term_files.terms_named(terms, name)
        if not meant:
            raise CurationError(
                f"no kept term {name!r}",
                f"«curation terms explain {name!r}» says what became of it; 1-terms/targets.jsonl "
                "lists the kept terms",
            )
        if len(meant) > 1:
            candidates = ", ".join(f"{t.text} ({t.domain}, {t.id})" for t in meant)
            raise CurationError(
                f"{name!r} is a name of several terms: {candidates}",
                "give --domain too, or use the id of the term that you mean",
            )
        chosen[meant[0].id] = meant[0]
    terms = [term for term in terms if not named or term.id in chosen]
    if not terms:
        raise CurationError(
            "there is no kept term to work on",
            "«curation terms select» chooses terms; «add» in 1-terms/edits.csv adds one by hand",
        )
    return terms


def _sealed(campaign: Campaign) -> Callable[..., str]:
    from curation.rounds import people

    return people.sealed(people.read_key(campaign.settings.campaign.id))


def _review(campaign: Campaign, name: str, terms: Sequence[Term]) -> tuple[int, list[Task]]:
    """Reviewers of each term, and the tasks of a round of review."""
    from curation.rounds import plan

    reviewers = campaign.settings.rounds.reviewers
    return reviewers, plan.review(
        terms,
        among=_terms(campaign, (), ()),
        round=name,
        reviewers=reviewers,
        seed=campaign.settings.campaign.seed,
        sealed=_sealed(campaign),
    )


def _writing(
    campaign: Campaign, name: str, terms: Sequence[Term], kind: Kind
) -> tuple[int, list[Task]]:
    """Answers to each task (one), and the tasks of a round of writing."""
    from curation.rounds import plan

    return 1, plan.writing(
        terms,
        round=name,
        kind=kind,
        items=campaign.settings.rounds.items,
        seed=campaign.settings.campaign.seed,
        sealed=_sealed(campaign),
    )


def _validation(
    campaign: Campaign, name: str, terms: Sequence[Term], of: Sequence[str], reporter: Reporter
) -> tuple[int, list[Task]]:
    """Labels that each item needs, and the tasks of a round of validation.

    It takes items that lack labels and are not in another open round of validation.
    """
    from curation.rounds import plan

    settings, decisions = campaign.settings.rounds, campaign.settings.decisions
    unknown = set(of) - set(campaign.round_names())
    if unknown:
        known = ", ".join(campaign.round_names()) or "none"
        raise CurationError(f"round {min(unknown)!r} has no items", f"rounds with answers: {known}")
    items = read.read_items(campaign) if campaign.round_names() else []
    votes = read.votes(campaign, items)
    busy, term_ids = _in_other_rounds(campaign, name), {term.id for term in terms}
    chosen = [
        item
        for item in items
        if item.term in term_ids
        and item.id not in busy
        and _is_wanted(item, of)
        and _is_undecided(votes[item.id], decisions)
    ]
    if not chosen:
        rounds = round_files.map_rounds(campaign)
        running = [r.name for r in rounds if r.kind == "validation" and r.state != "closed"]
        raise CurationError(
            "every item has its labels or is in an open round"
            + (f" ({', '.join(running)})" if running else ""),
            "open a round of writing first; use --name ROUND to open a closed round again",
        )
    if decisions.rounds and name not in decisions.rounds:
        reporter.warn(
            f"[decisions] rounds does not name {name}: its labels will not count; add it there"
        )
    ids = [item.id for item in chosen]
    seed = campaign.settings.campaign.seed
    full = set(ids)
    if settings.labels != "all":
        full = plan.sample(ids, share=settings.sample, seed=seed)
    wanted = {
        id: max(decisions.of - sum(v) for v in votes[id])
        if id in full
        else plan.further(votes[id], needed=decisions.needed, of=decisions.of)
        for id in ids
    }
    tasks = plan.validation(
        chosen,
        read.read_terms(campaign),
        round=name,
        wanted=wanted,
        full=full,
        seed=seed,
        sealed=_sealed(campaign),
    )
    return decisions.of - int(decisions.count_writer), tasks


def _is_wanted(item: Item, of: Sequence[str]) -> bool:
    """Whether an item is of the named rounds, or, if none is named, says what its writer meant."""
    return item.round in of if of else any(a.intent for a in item.associations)


def _is_undecided(votes: Sequence[Votes], decisions: DecisionSettings) -> bool:
    outcome = decide(votes, needed=decisions.needed, of=decisions.of)
    return outcome.reason == "too_few_labels"


def _in_other_rounds(campaign: Campaign, name: str) -> set[str]:
    """Items that another open round of validation asks for with the words that they have now."""
    items = set()
    for round in round_files.map_rounds(campaign):
        if round.kind == "validation" and round.name != name and round.state != "closed":
            status = round_status.read_status(campaign, round)
            items |= {t.item for t in status.tasks if t.item and t.id not in status.void}
    return items
