"""Plans a round: its texts, its terms or items, and its tasks.

Call ``plan_round`` only under the campaign's lock.

Tasks are deterministic, given seed and key. The ids of tasks and of the texts that they show are
keyed. So nobody who sees a task can find out by trying which item it is made from, and what its
writer meant.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from curation.campaign.counted import votes_of
from curation.campaign.settings import Settings
from curation.campaign.step import run_steps
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_json, dump_line, shipped, writing
from curation.formats.table_words import Sections, has_own_headings
from curation.kinds import NEUTRAL, REVIEW, ROUNDS, VALIDATION, Kind, RoundKind, RoundKindName
from curation.records import Item, PlatformName, Requirements, Round, Shown, Task, Term
from curation.rounds import steps
from curation.rounds.answers import people
from curation.rounds.items import sides
from curation.rounds.platforms import pages
from curation.rounds.platforms.opening import counts_typing, open_platform, write_round
from curation.rounds.platforms.texts import (
    NEEDED_FACTS,
    new_texts,
    own_texts,
    training,
    warn_of_other,
)
from curation.rounds.progress import further
from curation.rounds.status import left_out_pilots, read_status, write_asked
from curation.terms.steps import (
    domains_without_terms,
    no_terms,
    register_terms,
    select,
    selection,
    terms_named,
)
from curation.text.rules import decide, stable_id
from curation.work.reporter import QUIET, Reporter


class Scope(NamedTuple):
    """Which terms or items a round is about; empty means all.

    Attributes:
        domains: only terms or items of these domains.
        terms: only these terms (any name, or id), or items on them.
        of: only items of these rounds.
    """

    domains: Sequence[str] = ()
    terms: Sequence[str] = ()
    of: Sequence[str] = ()

    def fits(self, round: Round) -> bool:
        """Whether a round was planned with this scope; the order does not matter."""
        return all(set(getattr(round, name)) == set(of) for name, of in self._asdict().items())


class Request(NamedTuple):
    """A round that is planned.

    Attributes:
        campaign: the campaign.
        plan: how rounds of its kind are planned.
        name: its name.
        terms: the kept terms that it is about, or whose items it is about.
        of: the rounds whose items it is about; empty for all.
        reporter: where warnings and notes go.
    """

    campaign: Campaign
    plan: "KindPlan"
    name: str
    terms: Sequence[Term]
    of: Sequence[str]
    reporter: Reporter

    @property
    def keyed(self) -> dict[str, Any]:
        """What the ids and the order of the tasks follow from."""
        own = self.campaign.settings.campaign
        sealed = people.sealed(people.read_key(own.id))
        return {"round": self.name, "seed": own.seed, "sealed": sealed}


class Chosen(NamedTuple):
    """What a round is about.

    Attributes:
        subjects: terms or items.
        first: by item id, how many answers are asked for at first; empty for all answers.
        full: ids of the items that get all answers in any case.
    """

    subjects: Sequence[Any]
    first: Mapping[str, int] = MappingProxyType({})
    full: Collection[str] = ()


@dataclass(frozen=True)
class KindPlan:
    """How rounds of a kind are planned.

    Attributes:
        kind: the kind of the round.
        choose: gives what a round is about; raises CurationError if there is nothing.
        answers: the most answers of a task.
        make_tasks: makes the tasks.
    """

    kind: RoundKind
    choose: Callable[[Request], Chosen]
    answers: Callable[[Settings], int]
    make_tasks: Callable[[Request, Chosen], list[Task]]


def plan_round(
    campaign: Campaign,
    name: str,
    kind: RoundKind,
    platform: PlatformName,
    scope: Scope,
    *,
    reporter: Reporter = QUIET,
) -> Round:
    """Plan a round and write it to disk. A round whose state was not written is planned again.

    Args:
        campaign: the campaign.
        name: the round's name.
        kind: the round's kind.
        platform: where it is to run.
        scope: which terms or items it is about.
        reporter: where warnings and progress go.

    Raises:
        CurationError: an argument is wrong, there is nothing to work on, or a fact that
            annotators must be given is missing.
    """
    settings, domains = campaign.settings, scope.domains
    unknown = set(domains) - set(settings.domains)
    if unknown:
        raise CurationError(
            f"no domain {min(unknown)!r}", f"domains: {', '.join(settings.domains)}"
        )
    # The form's texts must be complete before anything is written.
    pay = float(getattr(settings.rounds, f"pay_{kind.work}"))
    counts = counts_typing(campaign, kind.name, platform)
    texts = new_texts(campaign, pay, typing=counts)
    _check_study(campaign, pages.missing_facts(texts), reporter)
    _check_pay(campaign, kind, pay, texts["instruction"]["pay"])
    _warn_of_unread(campaign, texts, reporter)
    warn_of_other(campaign, texts["study"]["licence"], reporter)
    people.make_key(settings.campaign.id)
    has_answers = bool(campaign.round_names())
    reads_items = kind.shows_items and has_answers
    run_steps(campaign, steps.answers if reads_items else select, reporter=reporter)
    terms = _kept_terms(campaign, domains, scope.terms)
    empty = [] if kind.shows_items or scope.terms else domains_without_terms(campaign)
    for domain in empty:
        if domain in (domains or settings.domains):
            reporter.warn(no_terms(domain))
    plan = KIND_PLANS[kind.name]
    if kind.work == "label" and not campaign.neutral_rounds.keys().isdisjoint(scope.of):
        plan = NEUTRAL_VALIDATION
    request = Request(campaign, plan, name, terms, scope.of, reporter)
    tasks = plan.make_tasks(request, plan.choose(request))
    if kind.keeps_terms:
        pairs = iter([(task.domain, task.target) for task in tasks])
        register_terms(campaign, selection(campaign), pairs, known_only=True)
        run_steps(campaign, steps.item_pitfalls if has_answers else select, reporter=reporter)
    round = Round(
        name=name,
        kind=kind.name,
        platform=platform,
        state="planned",
        seed=settings.campaign.seed,
        labels=settings.rounds.labels,
        answers=plan.answers(settings),
        consent=pages.consent_version(texts),
        pay=pay,
        domains=tuple(domains),
        terms=tuple(scope.terms),
        of=tuple(scope.of),
        people=Requirements(**dict(settings.people.get(kind.name, {}))),
        pilot=kind.keeps_terms and is_pilot(name),
    )
    if round.pilot and not settings.decisions.pilots:
        reporter.note(
            f"{name} is a pilot: its items do not become CATs, unless you set pilots = true in "
            "[decisions]; «curation rounds plan» uses its figures"
        )
    language = settings.campaign.language
    place = open_platform(campaign, round)
    trains = place.can_train and settings.rounds.training_pass > 0
    if trains and not training(campaign, kind.name):
        reporter.warn(
            f"no training examples for {kind.name} in «{language}»: write "
            "2-rounds/training.csv, or people begin without"
        )
    if place.exchanges_tables and not has_own_headings(texts, language):
        reporter.warn(
            f"the tables of this round will have English headings, because there are none for "
            f"«{language}». To have your own, put the sections of "
            f"{shipped('annotation_configs', 'tables', 'en.toml')} into "
            f"{campaign.relative(own_texts(campaign))}, and open another round"
        )
    write_tasks(campaign, name, tasks)
    write_asked(campaign, name, {task.id: task.wanted for task in tasks})
    folder = campaign.folder("rounds") / name
    with writing(folder / "texts.json") as file:
        file.write(dump_json(texts))
    with writing(folder / f"consent-{round.consent}.md") as file:
        file.write(pages.consent_text(texts).encode())
    write_round(campaign, round)
    return round


def _check_study(campaign: Campaign, empty: Sequence[str], reporter: Reporter) -> None:
    """Check that people learn who asks them, and whom to tell that they withdraw."""
    place = f"{campaign.relative(own_texts(campaign))}, [study]"
    missing = [name for name in NEEDED_FACTS if name in empty]
    if missing and campaign.settings.rounds.consent:
        raise CurationError(
            f"{place}: the texts for annotators do not name {' and '.join(missing)}, so nobody can "
            "consent",
            f'write the file: [study], then {missing[0]} = "…"; see docs/rounds.md',
        )
    if empty:
        reporter.warn(f"{place}: the texts for annotators do not name {', '.join(empty)}")


def _check_pay(campaign: Campaign, kind: RoundKind, pay: float, promised: Sequence[str]) -> None:
    """Check that the texts of a round without pay do not promise any."""
    if pay or not promised:
        return
    setting = f"pay_{kind.work}"
    raise CurationError(
        f"{campaign.relative(own_texts(campaign))}, instruction.pay: says "
        f"{promised[0]!r}, and {setting} is 0",
        f"set {setting} in [rounds] and write {{amount}} {{currency}} in the text, or take "
        "the text out; that people are not paid can be in instruction.purpose",
    )


def _warn_of_unread(campaign: Campaign, texts: Sections, reporter: Reporter) -> None:
    """Say if no native speaker has read the shipped texts."""
    if language := pages.unread(campaign.settings.campaign.language, texts):
        reporter.warn(
            f"no native speaker has read the shipped texts in «{language}». Have one read "
            f"{shipped('annotation_configs', 'text', f'{language}.toml')}, change what is wrong in "
            f"{campaign.relative(own_texts(campaign))}, and name them there: [page], "
            'read_by = "…"'
        )


def _kept_terms(campaign: Campaign, domains: Sequence[str], named: Sequence[str]) -> list[Term]:
    """The kept terms to work on: all, or those of these domains, or those that are named."""
    terms = [
        term
        for term in campaign.terms.values()
        if term.status == "kept" and term.domain in (domains or campaign.settings.domains)
    ]
    chosen: dict[str, Term] = {}
    for name in named:
        meant = terms_named(terms, name)
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


def is_pilot(name: str) -> bool:
    """Whether a round of this name is opened as a pilot: pilot, pilot-write and so on."""
    return name.casefold().startswith("pilot")


def write_tasks(campaign: Campaign, name: str, tasks: list[Task]) -> None:
    """Write a round's tasks; what was asked for stays as it is."""
    with writing(campaign.folder("rounds") / name / "tasks.jsonl", private=True) as file:
        file.writelines(map(dump_line, tasks))


# --- which terms or items -------------------------------------------------------------------------


def _choose_terms(request: Request) -> Chosen:
    return Chosen(request.terms)


def _written_items(request: Request) -> list[Item]:
    """Items on the request's terms, of its rounds; pilots take those of pilots, and no others.

    If no round is named, these are the items of which it is known what their writers meant.
    """
    campaign, of = request.campaign, request.of
    if unknown := set(of) - set(campaign.round_names()):
        known = ", ".join(campaign.round_names()) or "none"
        raise CurationError(f"round {min(unknown)!r} has no items", f"rounds with answers: {known}")
    pilots, ids = left_out_pilots(campaign), {term.id for term in request.terms}
    pilot = is_pilot(request.name) and not campaign.settings.decisions.pilots
    return [
        item
        for item in (campaign.items if campaign.round_names() else [])
        if item.term in ids
        and (item.round in pilots) == pilot
        and (item.round in of if of else any(a.intent for a in item.associations))
    ]


def _lacking_labels(request: Request) -> Chosen:
    """Items that lack labels and are in no other open round of validation."""
    campaign, name = request.campaign, request.name
    settings, decisions = campaign.settings.rounds, campaign.settings.decisions
    items, busy = _written_items(request), _in_other_rounds(campaign, name)
    pilots, pilot = left_out_pilots(campaign), is_pilot(name) and not decisions.pilots
    if mixed := [round for round in request.of if (round in pilots) != pilot]:
        who = f"{name} is a pilot, and {mixed[0]} is not" if pilot else f"{mixed[0]} is a pilot"
        raise CurationError(
            f"{who}: items of pilots do not become CATs, and only pilots label them",
            "begin the names of all rounds of a pilot with «pilot», and no others; or set "
            "pilots = true in [decisions]",
        )
    votes = votes_of(campaign, campaign.items) if items else {}
    needed, of = decisions.needed, decisions.of
    chosen = [
        item
        for item in items
        if item.id not in busy
        and decide(votes[item.id], needed=needed, of=of).reason == "too_few_labels"
    ]
    if not chosen:
        kind = request.plan.kind.name
        running = [r.name for r in campaign.rounds if r.kind == kind and r.state != "closed"]
        raise CurationError(
            "every item has its labels or is in an open round"
            + (f" ({', '.join(running)})" if running else ""),
            f"open {'a pilot' if pilot else 'a round'} of writing first; use --name "
            "ROUND to open a closed round again",
        )
    if decisions.rounds and name not in decisions.rounds:
        request.reporter.warn(
            f"[decisions] rounds does not name {name}: its labels will not count; add it there"
        )
    ids = {item.id for item in chosen}
    full = ids
    if settings.labels != "all":
        full = sample(ids, share=settings.sample, seed=campaign.settings.campaign.seed)
    first = {
        id: max(of - sum(v) for v in votes[id])
        if id in full
        else further(votes[id], needed=needed, of=of)
        for id in ids
    }
    return Chosen(chosen, first, full)


def _without_neutral(request: Request) -> Chosen:
    """Items of which it is known what they mean and that were in no neutral round yet."""
    campaign = request.campaign
    taken = {
        task.item
        for round, labels in campaign.neutral_rounds.items()
        if round != request.name and not labels
        for task in campaign.tasks[round]
    }
    taken.update(campaign.settings.decisions.leave_out)
    items = _written_items(request)
    chosen = [item for item in items if item.id not in taken and len(sides(item)) == 2]
    if not chosen:
        raise CurationError(
            "there is no item to write a neutral association beside",
            "open a round of writing first; each item is in one neutral round only",
        )
    return Chosen(chosen)


def _lacking_neutral_labels(request: Request) -> Chosen:
    """Neutral associations that lack labels and are in no other open round of validation."""
    campaign, of = request.campaign, request.of
    apart, labels = campaign.neutral_rounds, campaign.settings.decisions.of
    if others := [round for round in of if apart.get(round, True)]:
        raise CurationError(
            f"{others[0]} is not a neutral round, and labels on neutral associations are apart",
            "name only neutral rounds with --of, or none of them",
        )
    given = Counter((label.item, label.association) for label in campaign.neutral_labels)
    busy, ids = _in_other_rounds(campaign, request.name), {term.id for term in request.terms}
    items = campaign.neutral_items
    lack = {i.id: labels - given[i.id, i.associations[-1].id] for i in items}
    chosen = [
        item
        for item in items
        if item.round in of and item.term in ids and item.id not in busy and lack[item.id] > 0
    ]
    if not chosen:
        raise CurationError(
            "every neutral association has its labels, or is in an open round",
            f"«curation rounds status {of[0]}» shows whether some were written",
        )
    request.reporter.note(
        f"labels of {request.name} count for no gold label; «curation decisions neutral» reports "
        "them"
    )
    return Chosen(chosen, lack)


def _in_other_rounds(campaign: Campaign, name: str) -> set[str]:
    """Items that another open round of validation asks for with the words that they have now."""
    items = set()
    for round in campaign.rounds:
        is_open = round.name != name and round.state != "closed"
        if ROUNDS[round.kind].work == "label" and is_open:
            status = read_status(campaign, round)
            items |= {t.item for t in status.tasks if t.item and t.id not in status.void}
    return items


# --- their tasks ----------------------------------------------------------------------------------

T = TypeVar("T")
Sealed = Callable[..., str]
CHOICES = 8  # terms offered to merge into: not more than people read


def writing_tasks(
    terms: Sequence[Term], *, round: str, kind: Kind, items: int, seed: int, sealed: Sealed
) -> list[Task]:
    """One task for each item to write. Terms take turns, so that none comes twice in a row.

    Args:
        terms: the terms to write about.
        round: the round's name.
        kind: intrasentence or intersentence.
        items: how many items to write on each term.
        seed: the seed of the shuffling.
        sealed: makes an opaque id from a prefix and parts; see ``people.sealed``.
    """
    tasks = []
    for turn in range(items):
        for term in _shuffled(terms, f"{seed}/{round}/{turn}"):
            tasks.append(
                Task(
                    id=sealed("t", round, kind, term.id, str(turn)),
                    term=term.id,
                    domain=term.domain,
                    target=term.text,
                    wanted=1,
                )
            )
    return tasks


def review_tasks(
    terms: Sequence[Term],
    *,
    among: Sequence[Term],
    round: str,
    reviewers: int,
    seed: int,
    sealed: Sealed,
) -> list[Task]:
    """One task for each term; it offers the most similar terms of its domain to merge into.

    Args:
        terms: the terms under review.
        among: the terms into which they may merge.
        round: the round's name.
        reviewers: how many people review each term.
        seed: the seed of the shuffling.
        sealed: makes an opaque id from a prefix and parts.
    """
    from rapidfuzz import fuzz, process

    tasks = []
    for term in _shuffled(terms, f"{seed}/{round}"):
        others = {t.id: t.text for t in among if t.domain == term.domain and t.id != term.id}
        near = process.extract(term.text, others, scorer=fuzz.WRatio, limit=CHOICES)
        kin = [t.id for t in among if term.family and t.family == term.family and t.id in others]
        tasks.append(
            Task(
                id=sealed("t", round, REVIEW.name, term.id),
                term=term.id,
                domain=term.domain,
                target=term.text,
                choices=tuple(dict.fromkeys([*kin, *(id for _, _, id in near)]))[:CHOICES],
                wanted=reviewers,
            )
        )
    return tasks


def validation_tasks(
    items: Sequence[Item],
    terms: Mapping[str, Term],
    *,
    round: str,
    wanted: Mapping[str, int],
    full: Collection[str],
    seed: int,
    sealed: Sealed,
) -> list[Task]:
    """One task for each item: its associations, shuffled, without what the writer meant.

    Args:
        items: the items to label.
        terms: the campaign's terms by id.
        round: the round's name.
        wanted: by item id, how many answers are asked for at first.
        full: ids of the items that get all labels in any case.
        seed: the seed of the shuffling; the order within a task also depends on its keyed id.
        sealed: makes an opaque id from a prefix and parts.
    """
    tasks = []
    for item in _shuffled(items, f"{seed}/{round}"):
        id, term = sealed("t", round, VALIDATION.name, item.id), terms[item.term]
        shown = [
            Shown(id=sealed("a", round, a.id), text=a.sentence, association=a.id)
            for a in item.associations
        ]
        tasks.append(
            Task(
                id=id,
                term=term.id,
                domain=term.domain,
                target=term.text,
                item=item.id,
                context=item.context,
                shown=tuple(_shuffled(shown, f"{seed}/{id}")),
                wanted=wanted[item.id],
                full=item.id in full,
                barred=item.writer,
            )
        )
    return tasks


def _shuffled(items: Sequence[T], seed: str) -> list[T]:
    return Random(seed).sample(list(items), len(items))  # noqa: S311


def sample(ids: Collection[str], *, share: float, seed: int) -> set[str]:
    """The random sample of a round's items that always get all labels, to compute agreement.

    Args:
        ids: the items' ids; their order does not matter.
        share: the share of the items, between 0 and 1; at least one item is drawn.
        seed: the round's seed.

    >>> sorted(sample(["a", "b", "c", "d"], share=0.5, seed=1))
    ['b', 'c']
    """
    drawn = sorted(set(ids), key=lambda item: stable_id("sample", str(seed), item))
    return set(drawn[: max(round(share * len(drawn)), 1)])


# --- the kinds ------------------------------------------------------------------------------------


def _review(request: Request, chosen: Chosen) -> list[Task]:
    campaign = request.campaign
    among, reviewers = _kept_terms(campaign, (), ()), campaign.settings.rounds.reviewers
    return review_tasks(chosen.subjects, among=among, reviewers=reviewers, **request.keyed)


def _write(request: Request, chosen: Chosen) -> list[Task]:
    kind, items = request.plan.kind.writes, request.campaign.settings.rounds.items
    assert kind is not None
    return writing_tasks(chosen.subjects, kind=kind.name, items=items, **request.keyed)


def _show_items(request: Request, chosen: Chosen) -> list[Task]:
    """Tasks that show items; nobody gets one with words of their own."""
    campaign = request.campaign
    answers = request.plan.answers(campaign.settings)
    tasks = validation_tasks(
        chosen.subjects,
        campaign.terms,
        wanted={item.id: chosen.first.get(item.id, answers) for item in chosen.subjects},
        full=chosen.full,
        **request.keyed,
    )
    wrote = {a.id: item.writer for item in campaign.items for a in item.associations}
    beside = {item.id: wrote[item.associations[0].id] for item in chosen.subjects}
    others = ((task, beside[task.item or ""]) for task in tasks)
    return [
        t if who == t.barred else t.model_copy(update={"also_barred": who}) for t, who in others
    ]


def _one(settings: Settings) -> int:
    return 1


def _labels_of_others(settings: Settings) -> int:
    return settings.decisions.of - int(settings.decisions.count_writer)


KIND_PLANS: dict[RoundKindName, KindPlan] = {
    plan.kind.name: plan
    for plan in (
        KindPlan(REVIEW, _choose_terms, lambda settings: settings.rounds.reviewers, _review),
        *(KindPlan(kind, _choose_terms, _one, _write) for kind in ROUNDS.values() if kind.writes),
        KindPlan(VALIDATION, _lacking_labels, _labels_of_others, _show_items),
        KindPlan(NEUTRAL, _without_neutral, _one, _show_items),
    )
}
"""How each kind of rounds is planned."""
NEUTRAL_VALIDATION = KindPlan(
    VALIDATION, _lacking_neutral_labels, lambda settings: settings.decisions.of, _show_items
)
"""How a validation of what people wrote in neutral rounds is planned."""
