"""From a campaign to what a release publishes (``Contents``) and says about itself (``Facts``).

Each number is read from the report that has it, or computed by the function that the commands use.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, read_json, read_records
from curation.records import GOLDS, KINDS, Answer, Cat, Comparison, Decision, Item, Rejection, Round
from curation.release.contents import SPLITS, Contents, PublishedTerm, published
from curation.release.facts import (
    Agreement,
    Baseline,
    Facts,
    Interval,
    Lengths,
    Licence,
    PitfallCount,
    Reading,
    Retention,
    RoundFacts,
    ScoreRow,
    SentimentShare,
    Size,
    Statement,
    TermCount,
    TrustFacts,
    TrustRow,
)
from curation.scores import incomplete
from curation.scores import runs as stage
from curation.scores.boards import Board, board
from curation.scores.ensemble import scored_since
from curation.scores.flags import FLAGS, flags_of
from curation.scores.groups import mark_heads
from curation.scores.run_folder import COMPARISONS, RUN, read, read_run, why_no_outcome
from curation.scores.runs import Run
from curation.stats.metrics import results
from curation.steps.decisions import kept_without_votes
from curation.steps.measures import VADER, kept_report
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
from curation.steps.release.versions import Built
from curation.steps.rounds import licences, round_files
from curation.steps.rounds.round_status import own_texts
from curation.steps.scores.runs import baseline_results, read_sentiment
from curation.steps.source import FORM, campaign_source
from curation.steps.step import Reporter
from curation.steps.trust import report as trust_report
from curation.text.item_form import names
from curation.text.wording import amount
from curation.text.words import Sentiment
from curation.work.manifest import read_manifest

if TYPE_CHECKING:
    import pandas as pd


BOTH = "both"
_NAMES = {VADER: "VADER"}
_MEASURED = ("statistics", "sentiment", "pitfalls")


def measured_inputs(campaign: Campaign) -> list[Path]:
    """The reports that are read here."""
    names = ("statistics.json", "sentiment.json", "sentiment_scores.json", "pitfalls.json")
    return [
        campaign.decisions / "agreement.json",
        *(campaign.measures / name for name in names),
        trust_report.place(campaign),
    ]


def package_versions(campaign: Campaign) -> dict[str, str]:
    """The versions of the packages that the measures were computed with."""
    steps = read_manifest(campaign.measures).steps
    versions: dict[str, str] = {}
    for name in _MEASURED:
        known = steps[name].settings.get("versions") if name in steps else None
        for package, version in (known if isinstance(known, Mapping) else {}).items():
            if version is not None:
                versions[str(package)] = str(version)
    return dict(sorted(versions.items()))


@contextmanager
def _of(path: Path) -> Iterator[None]:
    """Raise a CurationError if a report has another form than the step that writes it gives."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise CurationError(
            f"{path}: has another form than this version of curation writes",
            "delete the file, then run «curation run»",
        ) from None


def agreement_facts(campaign: Campaign) -> tuple[tuple[Agreement, ...], tuple[Retention, ...]]:
    """Agreement over all items, and the share of items that were kept.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.decisions / "agreement.json"
    report = read_json(path)
    with _of(path):
        rows = tuple(
            Agreement(
                scope=row["scope"],
                classes=row["classes"],
                measure=row["measure"],
                value=row["value"],
                ci=_ends(row["ci"]),
                cats=row["cats"],
                labels=row["labels"],
                few=row["few_cats"],
                confidence=report["confidence"],
            )
            for row in report["measures"]
            if row["by"] == "overall"
        )
        kept = tuple(
            Retention(
                domain=row["domain"],
                kind=row["kind"],
                items=row["items"] - row["open"],
                kept=row["kept"],
                share=row["retention"],
                open=row["open"],
            )
            for row in report["retention"]
        )
    return rows, kept


def sentiment_facts(campaign: Campaign) -> tuple[tuple[SentimentShare, ...], str, str]:
    """The shares of negative associations, what measured them, and why there are none.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.measures / "sentiment.json"
    report = read_json(path)
    with _of(path):
        if why := report["not_checked"]:
            return (), "", str(why["sentiment"])
        by = report["by"]
        kinds = {row["kind"] for row in report["rows"] if row["domain"] is None and row["kind"]}
        shares = tuple(
            SentimentShare(
                kind=row["kind"] or BOTH,
                label=gold,
                cats=row["cats"],
                share=row["labels"][gold]["negative"]["share"],
                ci=_ends(row["labels"][gold]["negative"]["ci"]),
            )
            for row in report["rows"]
            if row["domain"] is None and (row["kind"] or len(kinds) > 1)
            for gold in GOLDS
        )
        name = _NAMES.get(by["model"], str(by["model"]))
        return shares, name, ""


def pitfall_facts(campaign: Campaign) -> tuple[PitfallCount, ...]:
    """How often each pitfall was found.

    Raises:
        CurationError: the report is damaged.
    """
    from curation.checks.codes import PITFALLS

    path = campaign.measures / "pitfalls.json"
    report = read_json(path)
    accept = campaign.settings.release.accept
    with _of(path):
        return tuple(
            PitfallCount(
                code=row["code"],
                says=PITFALLS[row["code"]].says,
                severity=row["severity"],
                count=row["count"],
                of=row["of"],
                stereoset=row["stereoset"],
                why=row["why"],
                accepted=bool(row["count"]) and row["code"] in accept,
                unit=PITFALLS[row["code"]].unit,
            )
            for row in report["table"]
        )


def length_facts(campaign: Campaign) -> tuple[Lengths, ...]:
    """The mean length of the texts, by kind and over both.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.measures / "statistics.json"
    report = kept_report(campaign, "statistics")
    with _of(path):
        kinds = {kind: report["kinds"][kind]["overall"] for kind in KINDS}
        parts: dict[str, Any] = {kind: cell for kind, cell in kinds.items() if cell["cats"]}
        parts |= {BOTH: report["overall"]} if len(parts) > 1 else {}
        return tuple(
            Lengths(kind=kind, words=cell["mean_words"], characters=cell["mean_characters"])
            for kind, cell in parts.items()
        )


def trust_facts(campaign: Campaign) -> TrustFacts | None:
    """The trust report; None if there is none.

    Raises:
        CurationError: it is not a trust report.
    """
    path = trust_report.place(campaign)
    if not path.exists():
        return None
    found = trust_report.read_report(path)
    return TrustFacts(
        rows=tuple(
            TrustRow.model_validate(row.model_dump(include=set(TrustRow.model_fields)))
            for row in found.rows
        ),
        thresholds=found.thresholds,
        open=found.open,
    )


def _ends(ends: Any) -> Interval:
    return None if ends is None else (float(ends[0]), float(ends[1]))


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
    from curation.rounds import pay

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
    from curation.rounds import pay

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
    from curation.rounds.pages import plain_parts

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
_PAY = {"pay_review", "pay_write", "pay_label", "currency", "per_person", "per_term"}


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
    from curation.rounds.pages import release_warning

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
        baselines=baseline_facts(campaign, cats, reporter),
        scores=score_facts(campaign, cats, reporter),
        unscored=unscored(campaign),
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


_CI = ("lms_ci", "ss_ci", "icat_ci")


def baseline_facts(
    campaign: Campaign, cats: Sequence[Cat], reporter: Reporter
) -> tuple[Baseline, ...]:
    """The baselines on each split, as ``curation scores baselines`` computes them.

    Args:
        campaign: the campaign; its step sentiment is up to date.
        cats: the CATs of all splits.
        reporter: where progress goes.

    Raises:
        CurationError: the sentiment that the step kept is damaged.
    """
    values = None
    *_, why = sentiment_facts(campaign)
    if campaign.settings.measures.sentiment != VADER or not why:
        values = read_sentiment(campaign.measures / "sentiment_scores.json", cats)
    language = campaign.settings.campaign.language
    every: dict[str, Baseline] = {}
    with reporter.tracked("baselines", len(SPLITS)) as advance:
        for split in SPLITS:
            part = [cat for cat in cats if cat.split == split]
            found = _baselines(part, language, values) if part else []
            for result in found:
                name = result["model"]
                known = every.get(name, Baseline(model=name, says=result.get("says", "")))
                every[name] = known.model_copy(
                    update={
                        "why": known.why or result.get("why", ""),
                        "beyond": known.beyond + _beyond(result, split),
                        "rows": known.rows + _rows(result, split),
                    }
                )
            advance()
    return tuple(every.values())


def _baselines(
    cats: Sequence[Cat], language: str, sentiment: Sentiment | None
) -> list[dict[str, Any]]:
    return baseline_results(cats, language=language, sentiment=sentiment, overall=True)


def _beyond(result: Mapping[str, Any], split: str) -> tuple[str, ...]:
    """The values at which a baseline differs clearly from chance, in words."""
    return tuple(
        f"{row['figure']} {row['value']:.1f} ({row['ci'][0]:.1f}–{row['ci'][1]:.1f}), "
        f"{row['kind']}, {split}"
        for row in result.get("beyond_chance", ())
    )


def _rows(result: Mapping[str, Any], split: str) -> tuple[ScoreRow, ...]:
    """A result's rows: of each kind, and of both if it has both."""
    cells = {kind: cells["overall"] for kind, cells in result["kinds"].items()}
    if len(cells) > 1 and result["overall"]:
        cells[BOTH] = result["overall"]
    return tuple(
        _row(cell, model=result["model"], split=split, kind=kind, flags=result["flags"])
        for kind, cell in cells.items()
    )


def _row(
    cell: Mapping[str, Any],
    *,
    model: str,
    split: str,
    kind: str,
    rules: str = "",
    flags: Sequence[str] = (),
) -> ScoreRow:
    """A row of facts; ``flags`` are codes, of which the row has the meaning."""
    ends = {name: cell[name] and (cell[name][0], cell[name][1]) for name in _CI}
    return ScoreRow(
        model=model,
        rules=rules,
        split=split,
        kind=kind,
        cats=cell["cats"],
        terms=cell["terms"],
        lms=cell["lms"],
        ss=cell["ss"],
        icat=cell["icat"],
        few=cell["few_terms"],
        flags=tuple(FLAGS[flag] for flag in flags),
        **ends,
    )


def score_facts(
    campaign: Campaign, cats: Sequence[Cat], reporter: Reporter
) -> tuple[ScoreRow, ...]:
    """lms, ss and icat of each model run, on each split, of each kind and of both.

    Runs that are outdated or not complete are left out. So is a split on which an ensemble was
    fitted, because its values there are too high.

    Args:
        campaign: the campaign.
        cats: the CATs of all splits.
        reporter: receives a warning for each run that is left out.

    Raises:
        CurationError: a run is damaged.
    """
    found = stage.found_runs(campaign.scores, skipped=reporter.warn)
    current, _ = stage.current(found, cats)
    complete = [run for run in current if _is_complete(run, current, cats, reporter)]
    runs = mark_heads(complete, cats)
    rows: list[ScoreRow] = []
    with reporter.tracked("scores of models", len(SPLITS)) as advance:
        for split in SPLITS:
            part = [cat for cat in cats if cat.split == split]
            own = [run for run in runs if _counts(run, part, split, reporter)]
            rows += _of_split(board(part, own), split) if own else []
            advance()
    return tuple(sorted(rows, key=lambda row: (row.model, row.rules)))


def unscored(campaign: Campaign) -> tuple[str, ...]:
    """The chat models that were asked and have no score, each with the reason.

    Raises:
        CurationError: a run is damaged.
    """
    return tuple(
        f"{about['model']} ({path.parent.name}) {why_no_outcome(about)}"
        for path in sorted(campaign.scores.glob(f"*/*/{RUN}"))
        if (about := read_run(path.parent)).get("family") == "chat"
        and about.get("answers")
        and not read(path.with_name(COMPARISONS), Comparison)
    )


def _is_complete(run: Run, runs: Sequence[Run], cats: Sequence[Cat], reporter: Reporter) -> bool:
    """Whether a run has scores of all CATs as they are now; warns if it is left out."""
    again = incomplete.again({"model": run.model, "rules": run.rules, **run.about})
    lacks = incomplete.missing_cats(run, cats)
    if lacks.cats:
        why = (
            f"it has no scores of {len(lacks.cats)} of {amount(lacks.of, 'CAT')}: they were added "
            "or changed after it was scored, or scoring has not ended"
        )
    elif members := scored_since(run, runs):
        why = f"it was made of older scores of {', '.join(members)}"
    else:
        return True
    reporter.warn(f"{run.name} is left out of the release: {why}; score it again: {again}")
    return False


def _counts(run: Run, cats: Sequence[Cat], split: str, reporter: Reporter) -> bool:
    """Whether a run's results on these CATs count: it has scores, and was not fitted on them."""
    if {cat.id for cat in cats} & set(run.about.get("dev_cats") or ()):
        reporter.warn(
            f"{run.name} was fitted on {split}: its values there are too high, and the release "
            "leaves them out"
        )
        return False
    return any(map(run.has, cats))


def _of_split(won: Board, split: str) -> list[ScoreRow]:
    """The rows of all runs of a board."""
    rows = []
    for number, run in enumerate(won.runs):
        table = won.table(number)
        result = results(table, model=run.model, overall=True)
        cells = {kind: part["overall"] for kind, part in result["kinds"].items()}
        if len(cells) > 1:
            cells[BOTH] = result["overall"]
        flags = flags_of(result, run.about)
        rows += [
            _row(cell, model=run.model, rules=run.way, split=split, kind=kind, flags=flags)
            for kind, cell in cells.items()
        ]
    return rows
