"""From a campaign to what a release publishes (``Contents``) and says about itself (``Facts``).

``read_inputs`` reads all but the runs of models into one record; what follows are functions of it.
Each number is read from the report that has it, or computed by the function that the commands use.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign.counted import read_counted
from curation.campaign.dataset import Dataset
from curation.campaign.datasets import CATS, DECISIONS, ITEMS, LABELS, PLANNED
from curation.campaign.manifest import MANIFEST
from curation.campaign.settings import FIELDS, Settings, describe_people
from curation.campaign.source import FORM, campaign_source
from curation.campaign.store import Campaign
from curation.campaign.versions import Built
from curation.catsets.stereoset import FileSettings
from curation.decisions.steps import kept_without_votes
from curation.files import CurationError, read_text
from curation.kinds import CAT_KINDS, Kind
from curation.records import Answer, Cat, Item, Round, Term
from curation.release.statement import read_statement, secrets
from curation.release.texts.licences import OWN, licence
from curation.release.texts.questions import open_keys
from curation.released.contents import SPLITS, Contents, PublishedTerm, published
from curation.released.facts import Facts, Licence, Reading, RoundFacts, Size, TermCount
from curation.rounds.pay import imported
from curation.rounds.platforms.pages import plain_parts, release_warning
from curation.rounds.platforms.texts import OWN_TEXTS, other_licences
from curation.rounds.progress import NO_PAY
from curation.text.item_form import names_target
from curation.work.reporter import Reporter

if TYPE_CHECKING:
    import pandas as pd

    from curation.release.quality import Scores


class _Answered(NamedTuple):
    """An accepted answer: who did what, and the day, if it is known."""

    person: str
    kind: str
    day: str | None


def round_facts(
    campaign: Campaign, items: Sequence[Item], labels: "pd.DataFrame"
) -> tuple[tuple[RoundFacts, ...], dict[str, int]]:
    """The facts about each round that has answers, and the number of people by what they did.

    Args:
        campaign: the campaign.
        items: its items.
        labels: its labels.

    Returns:
        The rounds but neutral ones, those that were opened here first, oldest first. And numbers of
        different people with an accepted answer: for "review", each kind of CAT (its writers) and
        "validation".

    Raises:
        CurationError: a file of a round is damaged.
    """
    answered_in = set(campaign.round_names()) - campaign.neutral_rounds.keys()
    planned = {each.name: each for each in campaign[PLANNED] if each.name in answered_in}
    names = [*planned]
    names += sorted(answered_in - planned.keys())
    written: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        written[item.round].append(item)
    given = dict(iter(labels.groupby("round", observed=True))) if len(labels) else {}
    people: dict[str, set[str]] = defaultdict(set)
    rounds = []
    for name in names:
        if name in planned:
            answers = campaign.answers[name]
            accepted, refused = _planned(planned[name], answers)
        else:
            accepted, refused = _imported(campaign, name, written[name], given.get(name))
        for answer in accepted:
            people[answer.kind].add(answer.person)
        days = sorted(answer.day for answer in accepted if answer.day)
        rounds.append(
            RoundFacts(
                name=name,
                people=len({answer.person for answer in accepted}),
                answers=len(accepted),
                refused=refused,
                first=days[0] if days else None,
                last=days[-1] if days else None,
                published=any(a.intent is None for i in written[name] for a in i.associations),
                **(_plan(campaign, planned[name]) if name in planned else {"kind": "import"}),
            )
        )
    return tuple(rounds), {kind: len(those) for kind, those in sorted(people.items())}


def _planned(round: Round, answers: Iterable[Answer]) -> tuple[list[_Answered], int]:
    """The accepted answers to a round that was opened here, and how many were refused."""
    answers = list(answers)
    accepted = [
        _Answered(answer.annotator, round.kind, _day(answer.submitted_at))
        for answer in answers
        if answer.code is None
    ]
    return accepted, sum(answer.code not in (None, *NO_PAY) for answer in answers)


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
    first: dict[tuple[str, str], str | None] = {}
    if labels is not None:
        columns = (labels[column] for column in ("item", "annotator", "submitted_at"))
        for item, person, time in zip(*columns, strict=True):
            days = filter(None, (first.get((item, person)), _day(time)))
            first[item, person] = min(days, default=None)
    accepted += [_Answered(person, "validation", day) for (_, person), day in first.items()]
    del first
    rows: Any = () if labels is None else labels.itertuples(index=False)
    done = imported(name, items, rows, campaign.rejected[name])
    return accepted, sum(not each.accepted for each in done)


def _day(time: object) -> str | None:
    return time[: len("2026-01-31")] if isinstance(time, str) else None


def _plan(campaign: Campaign, round: Round) -> dict[str, Any]:
    """The fields of ``RoundFacts`` about a round that was opened here: also what people read."""
    about: dict[str, Any] = {name: getattr(round, name) for name in ("kind", "platform", "consent")}
    about["required"] = tuple(describe_people(round.people))
    if round.pay:
        about |= {"pay": round.pay, "currency": campaign.settings.rounds.currency}
    texts = campaign.texts[round.name]
    if texts is None:
        return about
    try:
        *parts, (_, consent) = plain_parts(round.kind, texts)
        read = tuple(Reading(heading=heading, lines=tuple(lines)) for heading, lines in parts)
        return {**about, "read": read, "consent_text": (*consent, texts["consent"]["box"])}
    except (KeyError, TypeError, ValueError):
        path = campaign.folder("rounds") / round.name / "texts.json"
        raise CurationError(
            f"{path}: not the texts of a round", "put the file back as it was"
        ) from None


_UNKNOWN = "unknown"


@dataclass(frozen=True)
class ReleaseInputs:
    """What a campaign gives for a release, read once.

    Attributes:
        settings: the campaign's settings.
        cats: the CATs, in the order of the files.
        contents: what is published if nothing is hidden.
        facts: what is known of it without its first build, baselines and scores.
        labels_in: the number of labels of the campaign.
        labels_of_dropped_items: how many of them are about items that are not CATs.
        secrets: names and addresses that a release for review must not have; empty of others.
        own_licence: the text of the team's own licence; empty if there is none.
    """

    settings: Settings
    cats: Sequence[Cat]
    contents: Contents
    facts: Facts
    labels_in: int
    labels_of_dropped_items: int
    secrets: list[str]
    own_licence: str


def _own_licence(campaign: Campaign) -> Path:
    return campaign.folder("release") / OWN


OWN_LICENCE = Dataset(
    "own licence",
    lambda campaign: [_own_licence(campaign)],
    lambda c: read_text(_own_licence(c)) if _own_licence(c).exists() else "",
)
"""The text of the team's own licence; empty if there is none."""


_MEASURED = ("statistics", "sentiment", "pitfalls")


def _package_versions(campaign: Campaign) -> Mapping[str, str]:
    steps = campaign.manifest(campaign.folder("measures")).steps
    versions: dict[str, str] = {}
    for name in _MEASURED:
        known = steps[name].settings.get("versions") if name in steps else None
        for package, version in (known if isinstance(known, Mapping) else {}).items():
            if version is not None:
                versions[str(package)] = str(version)
    return MappingProxyType(dict(sorted(versions.items())))


MEASURED_WITH: Dataset[Mapping[str, str]] = Dataset(
    "packages of measures",
    lambda campaign: [campaign.folder("measures") / MANIFEST],
    _package_versions,
    by_value=True,
)
"""The versions of the packages that the measures were computed with."""


def warning(campaign: Campaign) -> str:
    """The content warning of the release."""
    return release_warning(campaign.settings.campaign.language, campaign[OWN_TEXTS])


def read_inputs(campaign: Campaign, reporter: Reporter, *, anonymous: bool) -> ReleaseInputs:
    """Read everything that a release is made from.

    Args:
        campaign: the campaign; its steps up to the pitfalls are up to date.
        reporter: receives warnings, such as of contexts that name their target by an old name.
        anonymous: whether the release is for review.

    Raises:
        CurationError: there are no CATs; annotators agreed to another licence, and ``accept`` does
            not allow it; or a file of the campaign is damaged.
    """
    from curation.release import data_files
    from curation.release.quality import read_measured

    # Items, all labels and CATs are never in memory together.
    campaign.forget(CATS, DECISIONS)
    items = campaign.items
    rounds, people = round_facts(campaign, items, campaign.labels)
    labels = read_counted(campaign, items).labels
    written = {(i.id, i.writer, i.round) for i in items if i.writer}
    del items
    campaign.forget(ITEMS, LABELS)
    cats = campaign_source(campaign).cats
    if not cats:
        raise CurationError(
            "no CAT was kept, so there is nothing to release",
            "«curation decisions filter» shows why items are dropped; check that labels are in, or "
            "set trust_gold in [decisions] if published gold labels are to decide",
        )
    terms = campaign.terms
    made = Contents(
        version=campaign.settings.release.version,
        cats=tuple(map(published, cats)),
        annotations=data_files.annotations(cats, labels),
        terms=_terms(terms, cats),
        settings=file_settings(campaign.settings, terms, cats, reporter),
        without_votes=frozenset(kept_without_votes(campaign)),
    )
    ids = {cat.id for cat in cats}
    labels_in = len(labels)
    labels_of_dropped_items = int((~labels["item"].isin(list(ids))).sum())
    codes = Counter(code for code in labels["code"] if code)
    del labels
    table, settings, splits = made.annotations, campaign.settings, _original_splits(cats)
    answered = {(writer, round) for item, writer, round in written if item in ids}
    answered |= set(zip(table["annotator"], table["round"], strict=True))
    decisions = campaign.decisions
    not_kept = Counter(str(decision.reason) for decision in decisions if not decision.kept)
    del decisions
    campaign.forget(DECISIONS)
    statement = read_statement(campaign)
    tiers = Counter(str(cat.tier or _UNKNOWN) for cat in cats)
    translated = sum(cat.target_original is not None for cat in cats)
    rules = settings.decisions.model_dump(mode="json", exclude={"leave_out"})
    known = Facts(
        name=settings.campaign.name,
        version=settings.release.version,
        language=settings.campaign.language,
        date="",
        canary="",
        warning=warning(campaign),
        licence=Licence(name=settings.release.licence),
        other_licences=other_licences(campaign, answered, reporter),
        statement=statement,
        open=open_keys(statement),
        sizes=_sizes(cats),
        terms=_term_counts(made.terms),
        tiers={tier: tiers[tier] for tier in ("3", "4", "5", _UNKNOWN)},
        without_votes=len(made.without_votes),
        translated=translated,
        originals_in_both=sum(len(of) > 1 for of in splits.values()) if translated else 0,
        annotations=len(table),
        annotators=int(table["annotator"].nunique()),
        counted=int(table["counted"].sum()),
        people=people,
        not_counted=dict(sorted(codes.items())),
        not_kept=dict(sorted(not_kept.items())),
        rounds=rounds,
        decisions={**rules, "left_out": len(settings.decisions.leave_out)},
        rounds_settings=settings.rounds.model_dump(
            mode="json", include={*FIELDS["rounds.published"]} - {"currency"}
        ),
        seed=settings.campaign.seed,
        dev=settings.split.dev,
        keep=settings.split.keep,
        versions=dict(campaign[MEASURED_WITH]),
        **read_measured(campaign),
    )
    return ReleaseInputs(
        settings=settings,
        cats=cats,
        contents=made,
        facts=known,
        labels_in=labels_in,
        labels_of_dropped_items=labels_of_dropped_items,
        secrets=secrets(campaign, statement) if anonymous else [],
        own_licence=campaign[OWN_LICENCE],
    )


def _terms(every: Mapping[str, Term], cats: Iterable[Cat]) -> tuple[PublishedTerm, ...]:
    """The terms that have CATs, in the order of their domain and text."""
    tally: dict[str, Counter[Kind]] = defaultdict(Counter)
    splits = {}
    for cat in cats:
        tally[cat.term][cat.kind] += 1
        splits[cat.term] = cat.split
    terms = (
        PublishedTerm(term=every[id], split=splits[id], cats=kinds) for id, kinds in tally.items()
    )
    return tuple(sorted(terms, key=lambda p: (p.term.domain, p.term.text, p.term.id)))


def file_settings(
    settings: Settings, terms: Mapping[str, Term], cats: Iterable[Cat], reporter: Reporter
) -> FileSettings:
    """How the CATs were checked; warns of contexts that name their target by an old name."""
    old: dict[str, dict[str, list[str]]] = defaultdict(dict)
    count = 0
    for cat in cats:
        if not names_target(cat.context, cat.target):
            used = [name for name in terms[cat.term].names if names_target(cat.context, name)]
            known = old[cat.domain].setdefault(cat.target, []) if used else []
            known += [name for name in used if name not in known]
            count += bool(used)
    form = settings.rounds.model_dump(include=set(FORM.values()))
    if count and form["name_target"]:
        reporter.warn(
            "CATs whose context names the target only by an old name or another spelling: "
            f"{count}; «curation measures pitfalls --show target_renamed» shows them"
        )
    return FileSettings(language=settings.campaign.language, names=dict(old), **form)


# --- facts ------------------------------------------------------------------------------------


def facts(inputs: ReleaseInputs, scores: "Scores", build: Built, reporter: Reporter) -> Facts:
    """Everything that a release says about itself, apart from what other versions have to do with.

    ``changes``, ``near``, ``hidden`` and ``canonical`` are empty. If CATs are to be hidden,
    ``release.hidden`` takes out what would say too much of them.

    Args:
        inputs: what the campaign gives.
        scores: what baselines and scores are computed from.
        build: the first build of this version.
        reporter: receives warnings and progress.

    Raises:
        CurationError: the licence is not known, and there is no text of it.
    """
    from curation.release.quality import baseline_facts, score_facts

    cats, known, sentiment = inputs.cats, inputs.facts, scores.sentiment
    more = {
        "date": build.date,
        "canary": build.canary,
        "licence": release_licence(inputs, build.date),
        "baselines": baseline_facts(cats, sentiment, language=known.language, reporter=reporter),
        "scores": score_facts(scores.runs, cats, reporter),
        "unscored": scores.unscored,
        "versions": {"curation": build.curation, **known.versions},
        "anonymous": build.anonymous,
    }
    return known.model_copy(update=more)


def release_licence(inputs: ReleaseInputs, date: str) -> Licence:
    """The licence of a release that is first built on a day.

    Raises:
        CurationError: the licence is not known, and there is no text of it.
    """
    holders = [author.name for author in inputs.facts.statement.authors]
    return licence(inputs.facts.licence.name, inputs.own_licence, holders=holders, year=date[:4])


def _sizes(cats: Iterable[Cat]) -> tuple[Size, ...]:
    """CATs and terms by domain, kind and split, for those that have CATs."""
    tally: Counter[tuple[str, str, str]] = Counter()
    terms: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for cat in cats:
        key = cat.domain, cat.split, cat.kind
        tally[key] += 1
        terms[key].add(cat.term)
    return tuple(
        Size(domain=key[0], split=key[1], kind=key[2], terms=len(terms[key]), cats=tally[key])
        for key in product(sorted({domain for domain, *_ in tally}), SPLITS, CAT_KINDS)
        if key in tally
    )


def _term_counts(terms: Iterable[PublishedTerm]) -> tuple[TermCount, ...]:
    tally = Counter((term.term.domain, term.split) for term in terms)
    return tuple(
        TermCount(domain=domain, split=split, terms=count)
        for (domain, split), count in sorted(tally.items())
    )


def _original_splits(cats: Iterable[Cat]) -> dict[tuple[str, str], set[str]]:
    """The splits of each original target."""
    splits: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cat in cats:
        splits[cat.domain, cat.target_original or cat.target].add(cat.split)
    return splits
