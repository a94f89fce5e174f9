"""Opens, pulls, tops up and closes rounds. Call these only under the campaign's lock."""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from curation.campaign.counted import votes_of
from curation.campaign.dataset import of_round
from curation.campaign.settings import DecisionSettings
from curation.campaign.step import current, run_steps
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_json, read_bytes, read_text, shipped, writing
from curation.formats.table_words import Sections, has_own_headings
from curation.formats.tables import csv_text, find_header, read_csv
from curation.records import (
    Item,
    Kind,
    Pitfall,
    PlatformName,
    Requirements,
    Review,
    Round,
    RoundKind,
    Task,
    Term,
)
from curation.rounds import licences, pages, people, plan, round_files, round_status
from curation.rounds import steps as fold
from curation.rounds.platforms.interface import Demand, Published
from curation.rounds.round_status import DEFAULT, open_platform, platform_name, warn_of_caps
from curation.rounds.steps import fold_answers
from curation.terms import steps as term_files
from curation.terms import steps as terms
from curation.terms.lists import EDIT_ALIASES, EDIT_COLUMNS
from curation.terms.steps import domains_without_terms, no_terms, register_terms
from curation.text.rules import WORK, Votes, decide
from curation.text.times import now
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter


def fresh_name(campaign: Campaign, kind: str, taken: set[str]) -> str:
    """A name for a round without one: that of a half-open round of its kind, or a new name."""
    half_open = [r.name for r in campaign.rounds if (r.kind, r.state) == (kind, "planned")]
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
        of: only items of these rounds; empty for all.
        reporter: where warnings and progress go.

    Raises:
        CurationError: an argument is wrong, there is nothing to work on, or a fact that
            annotators must be given is missing.
    """
    settings = campaign.settings
    unknown = set(domains) - set(settings.domains)
    if unknown:
        raise CurationError(
            f"no domain {min(unknown)!r}", f"domains: {', '.join(settings.domains)}"
        )
    # The form's texts must be complete before anything is written.
    pay = float(getattr(settings.rounds, f"pay_{WORK[kind]}"))
    counts = round_status.counts_typing(campaign, kind, platform)
    texts = round_status.new_texts(campaign, pay, typing=counts)
    _check_study(campaign, pages.missing_facts(texts), reporter)
    _check_pay(campaign, kind, pay, texts["instruction"]["pay"])
    _warn_of_unread(campaign, texts, reporter)
    licences.warn_of_other(campaign, texts["study"]["licence"], reporter)
    people.make_key(settings.campaign.id)
    has_answers = bool(campaign.round_names())
    on_items = kind in ("validation", "neutral")
    run_steps(
        campaign, fold.answers if on_items and has_answers else term_files.select, reporter=reporter
    )
    chosen = _terms(campaign, domains, terms)
    empty = [] if on_items or terms else domains_without_terms(campaign)
    for domain in empty:
        if domain in (domains or settings.domains):
            reporter.warn(no_terms(domain))
    if kind == "review":
        answers, tasks = _review(campaign, name, chosen)
    elif kind == "neutral":
        answers, tasks = _neutral(campaign, name, chosen, of)
    elif not campaign.neutral_rounds.keys().isdisjoint(of):
        answers, tasks = _neutral_validation(campaign, name, chosen, of, reporter)
    elif kind == "validation":
        answers, tasks = _validation(campaign, name, chosen, of, reporter)
    else:
        answers, tasks = _writing(campaign, name, chosen, kind)
    if kind != "review":  # a term that people write about keeps its id, whatever happens later
        pairs = iter([(task.domain, task.target) for task in tasks])
        register_terms(campaign, term_files.selection(campaign), pairs, known_only=True)
        run_steps(
            campaign, fold.item_pitfalls if has_answers else term_files.select, reporter=reporter
        )
    round = Round(
        name=name,
        kind=kind,
        platform=platform,
        state="planned",
        seed=settings.campaign.seed,
        labels=settings.rounds.labels,
        answers=answers,
        consent=pages.consent_version(texts),
        pay=pay,
        domains=tuple(domains),
        terms=tuple(terms),
        of=tuple(of),
        people=Requirements(**dict(settings.people.get(kind, {}))),
        pilot=kind != "review" and round_files.is_pilot(name),
    )
    if round.pilot and not settings.decisions.pilots:
        reporter.note(
            f"{name} is a pilot: its items do not become CATs, unless you set pilots = true in "
            "[decisions]; «curation rounds plan» uses its figures"
        )
    language = settings.campaign.language
    place = open_platform(campaign, round)
    trains = place.can_train and settings.rounds.training_pass > 0
    if trains and not round_status.training(campaign, kind):
        reporter.warn(
            f"no training examples for {kind} in «{language}»: write "
            "2-rounds/training.csv, or people begin without"
        )
    if place.exchanges_tables and not has_own_headings(texts, language):
        reporter.warn(
            f"the tables of this round will have English headings, because there are none for "
            f"«{language}». To have your own, put the sections of "
            f"{shipped('annotation_configs', 'tables', 'en.toml')} into "
            f"{campaign.relative(round_status.own_texts(campaign))}, and open another round"
        )
    round_files.write_tasks(campaign, name, tasks)
    with writing(campaign.folder("rounds") / name / "texts.json") as file:
        file.write(dump_json(texts))
    with writing(campaign.folder("rounds") / name / f"consent-{round.consent}.md") as file:
        file.write(pages.consent_text(texts).encode())
    round_files.write_round(campaign, round)
    return round


def _check_study(campaign: Campaign, empty: Sequence[str], reporter: Reporter) -> None:
    """Check that people learn who asks them, and whom to tell that they withdraw."""
    place = f"{campaign.relative(round_status.own_texts(campaign))}, [study]"
    missing = [name for name in round_status.NEEDED_FACTS if name in empty]
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
    raise CurationError(
        f"{campaign.relative(round_status.own_texts(campaign))}, instruction.pay: says "
        f"{promised[0]!r}, and pay_{WORK[kind]} is 0",
        f"set pay_{WORK[kind]} in [rounds] and write {{amount}} {{currency}} in the text, or take "
        "the text out; that people are not paid can be in instruction.purpose",
    )


def _warn_of_unread(campaign: Campaign, texts: Sections, reporter: Reporter) -> None:
    """Say if no native speaker has read the shipped texts."""
    if language := pages.unread(campaign.settings.campaign.language, texts):
        reporter.warn(
            f"no native speaker has read the shipped texts in «{language}». Have one read "
            f"{shipped('annotation_configs', 'text', f'{language}.toml')}, change what is wrong in "
            f"{campaign.relative(round_status.own_texts(campaign))}, and name them there: [page], "
            'read_by = "…"'
        )


def _terms(campaign: Campaign, domains: Sequence[str], named: Sequence[str]) -> list[Term]:
    """The kept terms to work on: all, or those of these domains, or those that are named."""
    terms = [
        term
        for term in campaign.terms.values()
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
    return people.sealed(people.read_key(campaign.settings.campaign.id))


def _review(campaign: Campaign, name: str, terms: Sequence[Term]) -> tuple[int, list[Task]]:
    """Reviewers of each term, and the tasks of a round of review."""
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
    return 1, plan.writing(
        terms,
        round=name,
        kind=kind,
        items=campaign.settings.rounds.items,
        seed=campaign.settings.campaign.seed,
        sealed=_sealed(campaign),
    )


def _check_of(campaign: Campaign, of: Sequence[str]) -> None:
    """Check that all named rounds have answers."""
    if unknown := set(of) - set(campaign.round_names()):
        known = ", ".join(campaign.round_names()) or "none"
        raise CurationError(f"round {min(unknown)!r} has no items", f"rounds with answers: {known}")


def _validation(
    campaign: Campaign, name: str, terms: Sequence[Term], of: Sequence[str], reporter: Reporter
) -> tuple[int, list[Task]]:
    """Labels that each item needs, and the tasks of a round of validation.

    It takes items that lack labels and are not in another open round of validation.
    """
    settings, decisions = campaign.settings.rounds, campaign.settings.decisions
    _check_of(campaign, of)
    items = campaign.items if campaign.round_names() else []
    votes = votes_of(campaign, items)
    busy, term_ids = _in_other_rounds(campaign, name), {term.id for term in terms}
    pilots, is_pilot = round_files.left_out_pilots(campaign), round_files.is_pilot(name)
    apart = not decisions.pilots  # pilots label the items of pilots, and nothing else does
    if mixed := [round for round in of if apart and (round in pilots) != is_pilot]:
        who = f"{name} is a pilot, and {mixed[0]} is not" if is_pilot else f"{mixed[0]} is a pilot"
        raise CurationError(
            f"{who}: items of pilots do not become CATs, and only pilots label them",
            "begin the names of all rounds of a pilot with «pilot», and no others; or set "
            "pilots = true in [decisions]",
        )
    chosen = [
        item
        for item in items
        if item.term in term_ids
        and not (apart and (item.round in pilots) != is_pilot)
        and item.id not in busy
        and _is_wanted(item, of)
        and _is_undecided(votes[item.id], decisions)
    ]
    if not chosen:
        rounds = campaign.rounds
        running = [r.name for r in rounds if r.kind == "validation" and r.state != "closed"]
        raise CurationError(
            "every item has its labels or is in an open round"
            + (f" ({', '.join(running)})" if running else ""),
            f"open {'a pilot' if is_pilot and apart else 'a round'} of writing first; use --name "
            "ROUND to open a closed round again",
        )
    if decisions.rounds and name not in decisions.rounds:
        reporter.warn(
            f"[decisions] rounds does not name {name}: its labels will not count; add it there"
        )
    ids = [item.id for item in chosen]
    full = set(ids)
    if settings.labels != "all":
        full = plan.sample(ids, share=settings.sample, seed=campaign.settings.campaign.seed)
    wanted = {
        id: max(decisions.of - sum(v) for v in votes[id])
        if id in full
        else plan.further(votes[id], needed=decisions.needed, of=decisions.of)
        for id in ids
    }
    return decisions.of - int(decisions.count_writer), _tasks_on(
        campaign, name, chosen, wanted, full
    )


def _neutral(
    campaign: Campaign, name: str, terms: Sequence[Term], of: Sequence[str]
) -> tuple[int, list[Task]]:
    """Answers to each task (one), and the tasks of a neutral round: an item each.

    It takes the items of which it is known what they mean and that were in no neutral round yet.
    """
    apart, term_ids = campaign.neutral_rounds, {term.id for term in terms}
    _check_of(campaign, of)
    pilots = round_files.left_out_pilots(campaign)
    is_pilot = round_files.is_pilot(name) and not campaign.settings.decisions.pilots
    taken = {
        task.item
        for round, labels in apart.items()
        if round != name and not labels
        for task in campaign.tasks[round]
    }
    chosen = [
        item
        for item in (campaign.items if campaign.round_names() else [])
        if item.term in term_ids
        and item.id not in taken
        and item.id not in campaign.settings.decisions.leave_out
        and (item.round in pilots) == is_pilot
        and _is_wanted(item, of)
        and len(plan.sides(item)) == 2
    ]
    if not chosen:
        raise CurationError(
            "there is no item to write a neutral association beside",
            "open a round of writing first; each item is in one neutral round only",
        )
    return 1, _tasks_on(campaign, name, chosen, dict.fromkeys((i.id for i in chosen), 1))


def _neutral_validation(
    campaign: Campaign, name: str, terms: Sequence[Term], of: Sequence[str], reporter: Reporter
) -> tuple[int, list[Task]]:
    """Labels that each neutral association needs, and the tasks of the round that asks for them."""
    apart, labels = campaign.neutral_rounds, campaign.settings.decisions.of
    if others := [round for round in of if apart.get(round, True)]:
        raise CurationError(
            f"{others[0]} is not a neutral round, and labels on neutral associations are apart",
            "name only neutral rounds with --of, or none of them",
        )
    given = Counter((label.item, label.association) for label in campaign.neutral_labels)
    busy, term_ids = _in_other_rounds(campaign, name), {term.id for term in terms}
    wanted, chosen = {}, []
    for item in campaign.neutral_items:
        wanted[item.id] = labels - given[item.id, item.associations[-1].id]
        is_free = item.round in of and item.term in term_ids and item.id not in busy
        chosen += [item] if is_free and wanted[item.id] > 0 else []
    if not chosen:
        raise CurationError(
            "every neutral association has its labels, or is in an open round",
            f"«curation rounds status {of[0]}» shows whether some were written",
        )
    reporter.note(
        f"labels of {name} count for no gold label; «curation decisions neutral» reports them"
    )
    return labels, _tasks_on(campaign, name, chosen, wanted)


def _tasks_on(
    campaign: Campaign,
    name: str,
    items: Sequence[Item],
    wanted: Mapping[str, int],
    full: Collection[str] = (),
) -> list[Task]:
    """Tasks that show items; nobody gets one with words of their own."""
    tasks = plan.validation(
        items,
        campaign.terms,
        round=name,
        wanted=wanted,
        full=full,
        seed=campaign.settings.campaign.seed,
        sealed=_sealed(campaign),
    )
    wrote = {a.id: item.writer for item in campaign.items for a in item.associations}
    beside = {item.id: wrote[item.associations[0].id] for item in items}
    others = ((task, beside[task.item or ""]) for task in tasks)
    return [
        t if who == t.barred else t.model_copy(update={"also_barred": who}) for t, who in others
    ]


def _is_wanted(item: Item, of: Sequence[str]) -> bool:
    """Whether an item is of the named rounds, or, if none is named, says what its writer meant."""
    return item.round in of if of else any(a.intent for a in item.associations)


def _is_undecided(votes: Sequence[Votes], decisions: DecisionSettings) -> bool:
    outcome = decide(votes, needed=decisions.needed, of=decisions.of)
    return outcome.reason == "too_few_labels"


def _in_other_rounds(campaign: Campaign, name: str) -> set[str]:
    """Items that another open round of validation asks for with the words that they have now."""
    items = set()
    for round in campaign.rounds:
        if round.kind == "validation" and round.name != name and round.state != "closed":
            status = round_status.read_status(campaign, round)
            items |= {t.item for t in status.tasks if t.item and t.id not in status.void}
    return items


REVIEWS = of_round("reviews.jsonl", Review)


def apply_reviews(
    campaign: Campaign, round: Round, *, reporter: Reporter = QUIET
) -> list[dict[str, str]]:
    """Add what most reviewers of a term say to ``edits.csv``; existing lines stay as they are.

    Returns:
        The lines added. A term without a majority gets none. Warnings name such terms, and every
        proposal that is not applied.
    """
    from curation.rounds.reviews import majority

    reviews = campaign[REVIEWS][round.name]
    edits = [edit for edit in campaign[terms.EDITS] if edit.action]
    actions = {(edit.domain, edit.term): edit.action for edit in edits}
    # A renamed term is met under its new name.
    actions |= {(edit.domain, edit.into): edit.action for edit in edits if edit.action == "rename"}
    verdicts, undecided, overruled, suggestions = majority(
        reviews, campaign.terms, reviewers=round.answers, edits=actions
    )
    added = [
        dict.fromkeys(EDIT_COLUMNS, "")
        | {"domain": term.domain, "term": term.text, "action": action, "into": into}
        | {"note": f"{round.name}: proposed by {votes} of {amount(of, 'reviewer')}"}
        for term, action, into, votes, of in verdicts
    ]
    if overruled:
        reporter.warn(
            f"edits.csv has another action, which stays, for: {', '.join(sorted(overruled))}"
        )
    if undecided:
        reporter.warn(
            f"reviewers are divided on {', '.join(sorted(undecided))}; decide in edits.csv"
        )
    if suggestions:
        lines = [
            f"  {each.term}: {' '.join(filter(None, (each.action, each.into)))} "
            f"({each.votes} of {amount(each.of, 'reviewer')})"
            + (f": {'; '.join(each.notes)}" if each.notes else "")
            for each in sorted(suggestions)
        ]
        reporter.warn("\n".join(["proposals of reviewers that are not applied:", *lines]))
    if added:
        _append(campaign, EDIT_COLUMNS, added)
    return added


def _append(campaign: Campaign, columns: tuple[str, ...], lines: list[dict[str, str]]) -> None:
    """Add lines to ``edits.csv`` with the columns and the delimiter that the file has."""
    path = campaign.folder("terms") / "edits.csv"
    text = read_text(path) if path.exists() and read_bytes(path).strip() else ",".join(columns)
    header = find_header(text, path)
    names, _ = read_csv(text, path)
    called = {EDIT_ALIASES.get(name.casefold(), name.casefold()): name for name in names}
    called = {column: called.get(column, column) for column in columns}
    names += [name for name in called.values() if name not in names]
    given = ({called[column]: value for column, value in line.items()} for line in lines)
    cells = ([row.get(name, "") for name in names] for row in given)
    above, (_, _, below) = text[: header.start], text[header.start :].partition("\n")
    body = f"{above}{header.delimiter.join(names)}\n{below}".rstrip("\r\n")
    with writing(path) as file:
        file.write(f"{body}\n{csv_text(cells, delimiter=header.delimiter)}".encode())


class OpenedRound(NamedTuple):
    """A round that was opened: its tasks, the answers asked for, and where annotators enter."""

    round: Round
    tasks: int
    answers: int
    exchanges_tables: bool
    entrance: Published


class NewAnswers(NamedTuple):
    """What came into a round.

    Attributes:
        counts: answers by what they are.
        refused: newly refused answers, by reason code.
        items: how many items the round has now.
        pitfalls: the known pitfalls of these items.
    """

    counts: dict[str, int]
    refused: Counter[str]
    items: int
    pitfalls: Sequence[Pitfall]


def open_round(
    campaign: Campaign,
    kind: str,
    *,
    name: str = "",
    platform: str = "",
    url: str = "",
    domains: Sequence[str] = (),
    terms: Sequence[str] = (),
    of: Sequence[str] = (),
    common_link: bool = False,
    prolific: bool = False,
    reporter: Reporter = QUIET,
) -> OpenedRound:
    """Plan a round and publish its tasks; go on with one that is half open, reopen a closed one.

    Args:
        campaign: the campaign.
        kind: review, intrasentence, intersentence, validation or neutral.
        name: the round's name; empty for KIND-1, KIND-2, ….
        platform: web (our own pages), label_studio or files; empty for web.
        url: address of a Label Studio; empty for the campaign's own.
        domains: only terms or items of these domains; empty for all.
        terms: only these terms, or items on them; empty for all.
        of: only items of these rounds; empty for all. With neutral rounds, a validation labels
            their neutral associations.
        common_link: on our own pages, let people enter a round of validation by one link for all.
            One person may then label an item twice, by using two browsers.
        prolific: on our own pages, let people from Prolific enter by one link, and nobody else.
        reporter: where warnings and progress go.

    Raises:
        CurationError: an argument is wrong, there is nothing to work on, a fact that
            annotators must be given is missing, or the platform cannot be reached.
    """
    known = round_status.round_kind(kind)
    on = platform_name(platform)
    if name and (campaign.folder("rounds") / name / "round.json").exists():
        on = platform_name(platform or campaign.round(name).platform)
    address = round_status.server_address(on, url)
    round_status.check_link(on, common_link=common_link, prolific=prolific)
    taken = set(round_files.planned_rounds(campaign)) | set(campaign.round_names())
    is_named, chosen = bool(name), {"domains": domains, "terms": terms, "of": of}
    begun = None if is_named else _begun(campaign, known, on, address, chosen)
    if begun:
        reporter.note(
            f"round {begun} is open already with the same tasks, and has no answers; to open "
            "another round beside it, give a new --name"
        )
    name = name or begun or fresh_name(campaign, kind, taken)
    round_files.check_name(name)
    if (campaign.folder("rounds") / name / "round.json").exists():
        round = campaign.round(name)
        if round.kind != kind or platform not in ("", round.platform):
            raise CurationError(
                f"round {name} is of kind {round.kind} on {round.platform}",
                f"«{command_to_open(round)}» goes on with it; or choose another --name",
            )
        # With its name alone, a round goes on as it was planned.
        if not is_planned_so(round, chosen) and (any(chosen.values()) or not is_named):
            raise CurationError(
                f"round {name} is planned already, with other terms or items",
                f"«{command_to_open(round)}» goes on with it; or choose another --name",
            )
        address = round_status.server_address(round.platform, url)
    else:
        if name in taken:
            raise CurationError(f"round {name} has imported answers", "choose another --name")
        round = plan_round(
            campaign, name, known, on, domains=domains, terms=terms, of=of, reporter=reporter
        )
    status = round_status.read_status(campaign, round)
    asked = {task: n for task, n in status.asked.items() if task not in status.void}
    warn_of_caps(campaign, status, reporter=reporter)
    if not round.opened_at:  # before anybody can answer, also if this is stopped and repeated
        round = round.model_copy(update={"opened_at": now()})
        round_files.write_round(campaign, round)
    link = {"common_link": common_link, "prolific": prolific}
    place = open_platform(campaign, round, url=address, **link, reporter=reporter)
    if common_link and round.kind == "validation":
        reporter.warn("one person with two browsers can label an item twice")
    entrance = place.publish(status.tasks, asked)
    round = entrance.round
    if round.state != "open":
        round = round.model_copy(update={"state": "open", "closed_at": None})
        round_files.write_round(campaign, round)
    if campaign.round_names():  # a new text of the consent may let answers in
        fold_answers(campaign, reporter=reporter)
    tasks, answers = len(status.tasks), sum(status.asked.values())
    return OpenedRound(round, tasks, answers, place.exchanges_tables, entrance)


def _begun(
    campaign: Campaign, kind: str, platform: str, url: str, chosen: Mapping[str, Sequence[str]]
) -> str | None:
    """The open round that the same command has opened, as long as nothing came of it.

    A command that was stopped at its very end can so be repeated. A round of validation takes only
    items that are in no open round, so it is never opened twice.
    """
    for round in campaign.rounds:
        place = campaign.folder("rounds") / round.name
        untouched = not (place / "raw").exists() and not (place / "dealt.jsonl").exists()
        same = (round.kind, round.platform, round.state) == (kind, platform, "open")
        same = (
            same
            and url.rstrip("/") in ("", (round.server or "").rstrip("/"))
            and is_planned_so(round, chosen)
        )
        if same and untouched and kind != "validation":
            return round.name
    return None


def is_planned_so(round: Round, chosen: Mapping[str, Sequence[str]]) -> bool:
    """Whether a round was planned with these options; their order does not matter.

    Args:
        round: the round.
        chosen: its domains, terms and earlier rounds, by the name of the field.
    """
    planned = {field: getattr(round, field) for field in chosen}
    return all(set(planned[field]) == set(values) for field, values in chosen.items())


def command_to_open(round: Round) -> str:
    """The command that goes on with a round."""
    words = ["curation", "rounds", "open", round.kind, "--name", round.name]
    if round.platform != DEFAULT:
        words += ["--platform", round.platform]
    options = {"--domain": round.domains, "--term": round.terms, "--of": round.of}
    for option, values in options.items():
        for value in values:
            words += [option, value]
    return shlex.join(words)


def rounds_to_pull(campaign: Campaign, name: str | None) -> list[Round]:
    """The named round; else all that are open, and closed ones whose answers wait.

    Answers of tables are imported: such a round is not among them if another is.

    Raises:
        CurationError: the named round does not exist; or none is named, and there is none to pull.
    """
    if name:
        return [round_files.the_round(campaign, name)]
    places = [(each, open_platform(campaign, each)) for each in campaign.rounds]
    chosen = [
        round
        for round, place in places
        if place.waiting() or (round.state != "closed" and not place.exchanges_tables)
    ]
    return chosen or round_files.open_rounds(campaign, None)


def pull_round(
    campaign: Campaign, round: Round, *, full: bool = False, reporter: Reporter = QUIET
) -> NewAnswers:
    """Fetch new answers from a round's platform, and fold them into items and labels.

    Args:
        campaign: the campaign.
        round: the round.
        full: fetch everything again, and not only what changed.
        reporter: where warnings and progress go.

    Raises:
        CurationError: the round's answers are imported and not pulled, or the platform cannot be
            reached.
    """
    before = round_files.refusals(campaign)
    pulled = open_platform(campaign, round, reporter=reporter).pull(full=full)
    fold_answers(campaign, reporter=reporter)
    return new_answers(campaign, round, pulled._asdict(), before)


def new_answers(
    campaign: Campaign, round: Round, counts: dict[str, int], before: round_files.Refusals
) -> NewAnswers:
    """What came into a round, once its answers are folded.

    Args:
        campaign: the campaign.
        round: the round.
        counts: answers by what they are.
        before: ``round_files.refusals`` before the answers came in.
    """
    every = (*campaign.items, *campaign.neutral_items)
    items = sum(item.round == round.name for item in every)
    refused = round_files.new_refusals(campaign, before)
    return NewAnswers(counts, refused, items, campaign.pitfalls[round.name])


def refresh_round(campaign: Campaign, round: Round, *, reporter: Reporter = QUIET) -> None:
    """Bring a round up to date: pull if it is open and its platform can be pulled, then fold."""
    platform = open_platform(campaign, round, reporter=reporter)
    if platform.can_pull and round.state == "open":
        platform.pull()
    fold_answers(campaign, reporter=reporter)


def refresh_status(campaign: Campaign, *, reporter: Reporter = QUIET) -> None:
    """Bring items and labels up to date if settings, terms or answers have changed.

    Takes the campaign's lock, if there is something to do. If it cannot be done, a warning says so.
    """
    steps = [term_files.select, fold.answers] if campaign.round_names() else [term_files.select]
    try:
        if all(current(campaign, step) for step in steps):
            return
        with campaign.lock():
            run_steps(campaign, term_files.select, reporter=reporter)
            fold_answers(campaign, reporter=reporter)
    except CurationError as error:
        reporter.warn(
            f"settings, terms or answers have changed, and the values below are older: {error.what}"
        )
        if error.fix:
            reporter.warn(f"to show the present values: {error.fix}")


def top_up_round(
    campaign: Campaign, round: Round, *, recall: Sequence[str] = (), reporter: Reporter = QUIET
) -> dict[str, int]:
    """Ask for the answers that a round lacks and that are not on their way.

    Answers that people hold in tables, or correct in sheets of refused answers, are on their way.

    Args:
        campaign: the campaign.
        round: an open round.
        recall: people (ids or pseudonyms), tables or sheets. What they have not answered is taken
            back.
        reporter: where warnings and progress go.

    Returns:
        By task id, how many answers are asked for in addition.

    Raises:
        CurationError: the round is not open, nothing is out under a name to recall, or the platform
            cannot be reached.
    """
    if round.state != "open":
        raise CurationError(
            f"round {round.name} is {round.state}",
            f"«curation rounds open {round.kind} --name {round.name}» opens it",
        )
    refresh_round(campaign, round, reporter=reporter)  # do not ask again for what just came in
    status = round_status.read_status(campaign, round)
    if recall:
        place = open_platform(campaign, round)
        names = [place.named(name) or name for name in recall]
        taken = round_files.recalls(campaign, status.tables, names, {})
        lines = [*campaign[round_files.LEDGER][round.name], *taken]
        round_files.write_ledger(campaign, round.name, lines)
        status = round_status.read_status(campaign, round)
    received = round_status.received(status)
    demand = Demand(
        *(status.tasks, status.asked, received, status.to_find, status.void, status.held or {})
    )
    more, totals = open_platform(campaign, round, reporter=reporter).top_up(demand)
    round_files.write_asked(campaign, round.name, {**status.asked, **totals})
    return more


def close_round(
    campaign: Campaign, round: Round, *, offline: bool = False, reporter: Reporter = QUIET
) -> tuple[Round, list[dict[str, str]]]:
    """Bring in a round's last answers and stop it; a review's majorities become edits.

    Args:
        campaign: the campaign.
        round: the round; a closed one is only folded again.
        offline: do not reach its platform, because it is gone.
        reporter: where warnings and progress go.

    Returns:
        The closed round, and the lines that were added to ``edits.csv``.

    Raises:
        CurationError: the platform cannot be reached.
    """
    platform = open_platform(campaign, round, reporter=reporter)
    reach = not offline and round.state != "closed"
    if reach:
        platform.stop()
    pulls = reach and platform.can_pull
    if pulls:
        platform.pull(full=True)
    fold_answers(campaign, reporter=reporter)
    # People finish the task that they have. The first pull has said what there is to say.
    if pulls and any(open_platform(campaign, round).pull()):
        fold_answers(campaign, reporter=reporter)
    added = apply_reviews(campaign, round, reporter=reporter) if round.kind == "review" else []
    if reach:
        platform.stop()  # on some servers an answer, or a pull, makes its task wait again
    if round.state != "closed":
        round = round.model_copy(update={"state": "closed", "closed_at": now()})
        round_files.write_round(campaign, round)
    return round, added


def check_takes_tables(campaign: Campaign, round: Round, verb: str, *, back: bool = False) -> None:
    """Check that a round is open, and that its platform exchanges tables.

    Args:
        campaign: the campaign.
        round: the round.
        verb: what only such a round can do, for the error.
        back: whether it is enough that answers may come back as tables.

    Raises:
        CurationError: it is not such a round.
    """
    platform = open_platform(campaign, round)
    takes_tables = platform.takes_tables if back else platform.exchanges_tables
    if takes_tables and round.state == "closed":
        raise CurationError(
            f"round {round.name} is closed", f"«{command_to_open(round)}» opens it again"
        )
    if not takes_tables or round.state != "open":
        names = "web or files" if back else "files"
        raise CurationError(
            f"round {round.name} runs on {round.platform} and is {round.state}",
            f"only an open round of platform {names} can {verb}",
        )
