"""From a campaign to what a release publishes (``Contents``) and says about itself (``Facts``).

Each number is read from the report that has it, or computed by the function that the commands use.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, read_records
from curation.records import KINDS, Answer, Cat, Decision, Item, Rejection, Round
from curation.release.contents import SPLITS, Contents, PublishedTerm, published
from curation.release.facts import (
    Facts,
    Licence,
    Reading,
    RoundFacts,
    Size,
    Statement,
    TermCount,
)
from curation.rounds import pay
from curation.rounds.pages import plain_parts, release_warning
from curation.steps.decisions import kept_without_votes
from curation.steps.read import (
    forget_answers,
    item_files,
    label_files,
    read_counted,
    read_items,
    read_labels,
    read_terms,
    run_files,
)
from curation.steps.release.measured import (
    agreement_facts,
    length_facts,
    measured_inputs,
    package_versions,
    pitfall_facts,
    sentiment_facts,
    trust_facts,
)
from curation.steps.release.versions import Built
from curation.steps.rounds import licences, round_files
from curation.steps.rounds.round_status import own_texts
from curation.steps.source import FORM, campaign_source
from curation.steps.step import Reporter
from curation.text.item_form import names

if TYPE_CHECKING:
    import pandas as pd


IMPORT = "import"
VALIDATION = "validation"
_DAY = len("2026-01-31")
_FILES = ("round.json", "texts.json", "answers.jsonl", "rejected.jsonl")


class _Answered(NamedTuple):
    """An accepted answer: who did what, and the day, if it is known."""

    person: str
    kind: str
    day: str | None


def people_inputs(campaign: Campaign) -> list[Path]:
    """The rounds' own files that are read here, besides items and labels."""
    folders = [campaign.rounds / name for name in campaign.round_names()]
    return [path for folder in folders for name in _FILES if (path := folder / name).exists()]


def round_facts(
    campaign: Campaign, items: Sequence[Item], labels: "pd.DataFrame"
) -> tuple[tuple[RoundFacts, ...], dict[str, int]]:
    """The facts about each round that has answers, and the number of people by what they did.

    Args:
        campaign: the campaign.
        items: its items.
        labels: its labels.

    Returns:
        The rounds, those that were opened here first, oldest first. And numbers of different people
        with an accepted answer: for "review", each kind of CAT (its writers) and "validation".

    Raises:
        CurationError: a file of a round is damaged.
    """
    answered_in = set(campaign.round_names())
    planned = {round.name: round for round in round_files.map_rounds(campaign)}
    names = [name for name in planned if name in answered_in]
    names += sorted(answered_in - planned.keys())
    written: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        written[item.round].append(item)
    given = dict(iter(labels.groupby("round", observed=True))) if len(labels) else {}
    people: dict[str, set[str]] = defaultdict(set)
    rounds = []
    for name in names:
        if name in planned:
            answers = round_files.read_answers(campaign, name)
            accepted, refused = _planned(planned[name], answers)
        else:
            accepted, refused = _imported(campaign, name, written[name], given.get(name))
        for answer in accepted:
            people[answer.kind].add(answer.person)
        published = any(a.intent is None for item in written[name] for a in item.associations)
        facts = _round(campaign, name, planned.get(name), accepted, refused)
        rounds.append(facts.model_copy(update={"published": published}))
    return tuple(rounds), {kind: len(those) for kind, those in sorted(people.items())}


def _planned(round: Round, answers: Iterable[Answer]) -> tuple[list[_Answered], int]:
    """The accepted answers to a round that was opened here, and how many were refused."""
    answers = list(answers)
    accepted = [
        _Answered(answer.annotator, round.kind, _day(answer.submitted_at))
        for answer in answers
        if answer.code is None
    ]
    done = pay.in_round(round.name, round.kind, answers)
    return accepted, sum(not each.accepted for each in done)


def _imported(
    campaign: Campaign, name: str, items: Sequence[Item], labels: "pd.DataFrame | None"
) -> tuple[list[_Answered], int]:
    """The accepted answers of a round that was imported, and how many were refused.

    An answer is an item, or a person's labels on one item. Items whose writer is not known are
    nobody's answers.
    """
    accepted = [
        _Answered(item.writer, item.kind, _day(item.submitted_at)) for item in items if item.writer
    ]
    days: dict[tuple[str, str], str | None] = {}
    if labels is not None:
        columns = (labels[column] for column in ("item", "annotator", "submitted_at"))
        for item, person, time in zip(*columns, strict=True):
            day, before = _day(time), days.get((item, person))
            days[item, person] = min(day, before) if day and before else day or before
    accepted += [_Answered(person, VALIDATION, day) for (_, person), day in days.items()]
    path = campaign.rounds / name / "rejected.jsonl"
    rejections = read_records(path, Rejection) if path.exists() else []
    rows: Any = () if labels is None else labels.itertuples(index=False)
    done = pay.imported(name, (), rows, rejections)
    return accepted, sum(not each.accepted for each in done)


def _day(time: object) -> str | None:
    return time[:_DAY] if isinstance(time, str) else None


def _round(
    campaign: Campaign,
    name: str,
    round: Round | None,
    accepted: Sequence[_Answered],
    refused: int,
) -> RoundFacts:
    days = sorted(answer.day for answer in accepted if answer.day)
    counted = RoundFacts(
        name=name,
        kind=round.kind if round else IMPORT,
        people=len({answer.person for answer in accepted}),
        answers=len(accepted),
        refused=refused,
        first=days[0] if days else None,
        last=days[-1] if days else None,
    )
    if round is None:
        return counted
    read, consent = _read_by_people(campaign, round)
    return counted.model_copy(
        update={
            "platform": round.platform,
            "consent": round.consent,
            "pay": round.pay or None,
            "currency": campaign.settings.rounds.currency if round.pay else "",
            "read": read,
            "consent_text": consent,
        }
    )


def _read_by_people(
    campaign: Campaign, round: Round
) -> tuple[tuple[Reading, ...], tuple[str, ...]]:
    """What the people of a round read, and the lines of the consent text."""
    texts = round_files.read_texts(campaign, round.name)
    if texts is None:
        return (), ()
    try:
        *parts, (_, consent) = plain_parts(round.kind, texts)
        read = tuple(Reading(heading=heading, lines=tuple(lines)) for heading, lines in parts)
        return read, (*consent, texts["consent"]["box"])
    except (KeyError, TypeError, ValueError):
        path = campaign.rounds / round.name / "texts.json"
        raise CurationError(
            f"{path}: not the texts of a round", "put the file back as it was"
        ) from None


_UNKNOWN = "unknown"
_PAY = {"pay_review", "pay_write", "pay_label", "currency"}


class Collected(NamedTuple):
    """What a campaign gives for a release.

    Attributes:
        cats: the CATs, in the order of the files.
        contents: what is published if nothing is hidden.
        answered: person and round of the answers in the release.
        rounds: the facts about each round, and the numbers of people: of ``people.round_facts``.
        labels_in: the number of labels of the campaign.
        labels_of_dropped_items: how many of them are about items that are not CATs.
        not_counted: how many of them do not count, by reason code.
    """

    cats: list[Cat]
    contents: Contents
    answered: set[tuple[str, str]]
    rounds: tuple[tuple[RoundFacts, ...], dict[str, int]]
    labels_in: int
    labels_of_dropped_items: int
    not_counted: dict[str, int]


def inputs(campaign: Campaign) -> list[Path]:
    """Every file of the campaign that contents and facts are read from."""
    paths = [
        *item_files(campaign),
        *label_files(campaign),
        campaign.terms / "targets.jsonl",
        campaign.decisions / "cats.jsonl",
        campaign.decisions / "decisions.jsonl",
        *measured_inputs(campaign),
        *people_inputs(campaign),
        *licences.inputs(campaign),
        *run_files(campaign),
    ]
    return list(dict.fromkeys(paths))


def warning(campaign: Campaign) -> str:
    """The content warning of the release."""
    return release_warning(campaign.settings.campaign.language, own_texts(campaign))


def contents(campaign: Campaign, reporter: Reporter) -> Collected:
    """What a release publishes.

    Args:
        campaign: the campaign; its steps up to the split are up to date.
        reporter: receives a warning about contexts that name their target by an old name.

    Raises:
        CurationError: there are no CATs.
    """
    from curation.release import data_files

    # Items, all labels and CATs are never in memory together.
    items = read_items(campaign)
    rounds = round_facts(campaign, items, read_labels(campaign))
    labels = read_counted(campaign, items).labels
    written = {(i.id, i.writer, i.round) for i in items if i.writer}
    del items
    forget_answers()
    cats = campaign_source(campaign).cats
    if not cats:
        raise CurationError(
            "no CAT was kept, so there is nothing to release",
            "«curation decisions filter» shows why items are dropped; check that labels are in, or "
            "set trust_gold in [decisions] if published gold labels are to decide",
        )
    made = Contents(
        version=campaign.settings.release.version,
        cats=tuple(map(published, cats)),
        annotations=data_files.annotations(cats, labels),
        terms=_terms(campaign, cats),
        settings=file_settings(campaign, cats, reporter),
        without_votes=frozenset(kept_without_votes(campaign)),
    )
    ids = {cat.id for cat in cats}
    dropped = ~labels["item"].isin(list(ids))
    codes = Counter(code for code in labels["code"] if code)
    answered = {(writer, round) for item, writer, round in written if item in ids}
    answered |= set(zip(made.annotations["annotator"], made.annotations["round"], strict=True))
    numbers = len(labels), int(dropped.sum()), dict(sorted(codes.items()))
    return Collected(cats, made, answered, rounds, *numbers)


def _terms(campaign: Campaign, cats: Iterable[Cat]) -> tuple[PublishedTerm, ...]:
    """The terms that have CATs, in the order of their domain and text."""
    every = read_terms(campaign)
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    splits = {}
    for cat in cats:
        tally[cat.term][cat.kind] += 1
        splits[cat.term] = cat.split
    terms = (
        PublishedTerm(every[id], splits[id], *(tally[id][kind] for kind in KINDS)) for id in tally
    )
    return tuple(sorted(terms, key=lambda p: (p.term.domain, p.term.text, p.term.id)))


def file_settings(campaign: Campaign, cats: Iterable[Cat], reporter: Reporter) -> FileSettings:
    """How the CATs were checked; warns of contexts that name their target by an old name."""
    terms = read_terms(campaign)
    old: dict[str, dict[str, list[str]]] = defaultdict(dict)
    count = 0
    for cat in cats:
        if not names(cat.context, cat.target):
            used = [name for name in terms[cat.term].names if names(cat.context, name)]
            known = old[cat.domain].setdefault(cat.target, []) if used else []
            known += [name for name in used if name not in known]
            count += bool(used)
    form = campaign.settings.rounds.model_dump(include=set(FORM.values()))
    if count and form["name_target"]:
        reporter.warn(
            "CATs whose context names the target only by an old name or another spelling: "
            f"{count}; «curation measures pitfalls --show target_renamed» shows them"
        )
    return FileSettings(language=campaign.settings.campaign.language, names=dict(old), **form)


# --- facts ------------------------------------------------------------------------------------


def facts(
    campaign: Campaign,
    collected: Collected,
    build: Built,
    *,
    licence: Licence,
    statement: Statement,
    open_questions: Sequence[str],
    reporter: Reporter,
) -> Facts:
    """Everything that a release says about itself, apart from what other versions have to do with.

    ``changes``, ``near``, ``hidden`` and ``canonical`` are empty. If CATs are to be hidden,
    ``release.hidden`` takes out what would say too much of them.

    Args:
        campaign: the campaign; its steps up to the pitfalls are up to date.
        collected: as from ``contents``.
        build: the first build of this version.
        licence: the licence of the data.
        statement: what the team says.
        open_questions: the keys of the questions that the team has not answered.
        reporter: receives warnings and progress.

    Raises:
        CurationError: annotators agreed to another licence, or a file of the campaign is damaged.
    """
    from curation.steps.release import scored

    settings, cats = campaign.settings, collected.cats
    table = collected.contents.annotations
    rounds, by_kind = collected.rounds
    agreement, retention = agreement_facts(campaign)
    sentiment, sentiment_by, sentiment_why = sentiment_facts(campaign)
    translated, in_both = _translated(cats)
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    not_kept = Counter(str(decision.reason) for decision in decisions if not decision.kept)
    return Facts(
        name=settings.campaign.name,
        version=settings.release.version,
        language=settings.campaign.language,
        date=build.date,
        canary=build.canary,
        warning=warning(campaign),
        licence=licence,
        other_licences=licences.others(campaign, collected.answered, reporter),
        statement=statement,
        open=tuple(open_questions),
        sizes=_sizes(cats),
        terms=_term_counts(collected.contents.terms),
        lengths=length_facts(campaign),
        tiers=_tiers(cats),
        without_votes=len(collected.contents.without_votes),
        translated=translated,
        originals_in_both=in_both,
        annotations=len(table),
        annotators=int(table["annotator"].nunique()),
        counted=int(table["counted"].sum()),
        people=by_kind,
        not_counted=collected.not_counted,
        not_kept=dict(sorted(not_kept.items())),
        rounds=rounds,
        decisions=_decisions(campaign),
        rounds_settings=settings.rounds.model_dump(mode="json", exclude=_PAY),
        agreement=agreement,
        retention=retention,
        sentiment=sentiment,
        sentiment_by=sentiment_by,
        sentiment_why=sentiment_why,
        pitfalls=pitfall_facts(campaign),
        baselines=scored.baseline_facts(campaign, cats, reporter),
        scores=scored.score_facts(campaign, cats, reporter),
        unscored=scored.unscored(campaign),
        seed=settings.campaign.seed,
        dev=settings.split.dev,
        keep=settings.split.keep,
        versions={"curation": build.curation, **package_versions(campaign)},
        trust=trust_facts(campaign),
        anonymous=build.anonymous,
    )


def _sizes(cats: Iterable[Cat]) -> tuple[Size, ...]:
    """CATs and terms by domain, kind and split, for those that have CATs."""
    tally: Counter[tuple[str, str, str]] = Counter()
    terms: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for cat in cats:
        key = cat.domain, cat.split, cat.kind
        tally[key] += 1
        terms[key].add(cat.term)
    order = [
        (domain, split, kind)
        for domain in sorted({domain for domain, *_ in tally})
        for split in SPLITS
        for kind in KINDS
    ]
    return tuple(
        Size(domain=key[0], split=key[1], kind=key[2], terms=len(terms[key]), cats=tally[key])
        for key in order
        if key in tally
    )


def _term_counts(terms: Iterable[PublishedTerm]) -> tuple[TermCount, ...]:
    tally = Counter((term.term.domain, term.split) for term in terms)
    return tuple(
        TermCount(domain=domain, split=split, terms=count)
        for (domain, split), count in sorted(tally.items())
    )


def _tiers(cats: Iterable[Cat]) -> dict[str, int]:
    tally = Counter(_UNKNOWN if cat.tier is None else str(cat.tier) for cat in cats)
    return {tier: tally[tier] for tier in ("3", "4", "5", _UNKNOWN)}


def _translated(cats: Iterable[Cat]) -> tuple[int, int]:
    """How many CATs were translated, and how many original targets are in both splits."""
    splits: dict[tuple[str, str], set[str]] = defaultdict(set)
    count = 0
    for cat in cats:
        count += cat.target_original is not None
        splits[cat.domain, cat.target_original or cat.target].add(cat.split)
    return count, sum(len(of) > 1 for of in splits.values()) if count else 0


def _decisions(campaign: Campaign) -> dict[str, Any]:
    """The rules of [decisions]; of the items that were left out, only how many there are."""
    rules = campaign.settings.decisions.model_dump(mode="json", exclude={"leave_out"})
    return {**rules, "left_out": len(campaign.settings.decisions.leave_out)}
