"""What the criteria of a dataset and its scores need, from a campaign or from gold files."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from curation.campaign.counted import stopped_early
from curation.campaign.datasets import LABELS
from curation.campaign.source import Source
from curation.campaign.store import Campaign
from curation.catsets.entries import sentences_of
from curation.catsets.stereoset import read_cat_entries, votes
from curation.files import CurationError
from curation.formats.table_words import read_label
from curation.measures.steps import PITFALL_REPORT, VADER, pitfall_table, pitfalls_of
from curation.records import VALUES, Cat
from curation.scores.boards import board
from curation.scores.groups import groups as comparable
from curation.scores.results import current_runs, read_runs, read_sentiment
from curation.scores.runs import Run, find_runs
from curation.stats.agreement import Counts
from curation.stats.artefacts import artefacts, unigram
from curation.stats.metrics import METRICS
from curation.text.wording import amount
from curation.text.words import NotCheckedError, Sentiment
from curation.trust.measure.again import directed
from curation.trust.measure.groups import Groups
from curation.trust.protocol.cases import (
    DatasetInput,
    MeasureValues,
    PitfallCount,
    Retest,
    RuleGroup,
    Scored,
)
from curation.trust.runs.files import DIRECTED, TrustRun
from curation.work.reporter import QUIET, Reporter

_ALL = "all"
_LONGEST = 200  # characters of a dataset's name
SAME, ROUNDS = "the same annotator", "another round"
"""How second labels came about."""
Answers = dict[str, list[tuple[str, str, int]]]
"""Annotator, round and code of the labels of each association, by time."""
_NO_TIMES = ". The files have no times: the second label may be the same answer, sent twice"


def dataset_input(
    source: Source,
    *,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    groups: Mapping[str, Groups] | None = None,
    measures: Sequence[MeasureValues] = (),
    pitfalls: bool = True,
    reporter: Reporter = QUIET,
) -> DatasetInput:
    """Collect a dataset, its labels, and the runs on it.

    A run may have scores of some of the CATs only; two runs are compared on those that both have.

    Args:
        source: the CATs, and the folder of their models' runs, which need not exist.
        predictions: files of predictions, ``NAME=FILE`` or ``NAME@RULES=FILE``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        groups: tables of groups, for outcomes.
        measures: values of bias measures, to compare ss with.
        pitfalls: whether to look for pitfalls in gold files, which may take long; a campaign's are
            those that its step pitfalls found.
        reporter: receives warnings.

    Raises:
        CurationError: a file is not valid.
    """
    campaign, cats = source.campaign, source.cats
    runs, rule_groups = _scores(source, predictions, lower_is_likelier, reporter)
    votes, retests = _of_campaign(campaign, cats) if campaign else _of_gold(source)
    total = None
    with suppress(NotCheckedError):  # then UnigramLM, below, has the reason
        total = unigram(cats, language=source.language, total=True) if cats else None
    name = (campaign.settings.campaign.name if campaign else source.split)[:_LONGEST] or _ALL
    return DatasetInput(
        name,
        cats,
        source.language,
        votes=votes,
        retests=retests,
        runs=runs,
        groups=rule_groups,
        artefacts=artefacts(cats, language=source.language, sentiment=_sentiment(source, reporter)),
        unigram=total,
        pitfalls=_pitfalls(source, reporter) if campaign or pitfalls else None,
        tables=groups or {},
        directions=campaign[DIRECTED] if campaign else {},
        measures=measures,
        evidence=_evidence(source),
    )


def _evidence(source: Source) -> dict[str, tuple[str, ...]]:
    """The files with the numbers, by criterion."""
    campaign = source.campaign
    if campaign is None:
        return {"": tuple(path.name for path in source.gold)}
    files = {
        "": [campaign.folder("decisions") / "cats.jsonl"],
        "agreement": [
            campaign.folder("decisions") / name for name in ("decisions.jsonl", "agreement.json")
        ],
        "content": [campaign.folder("measures") / "pitfalls.json"],
        "retest": LABELS.files(campaign),
    }
    return {
        name: tuple(campaign.relative(path) for path in paths if path.exists())
        for name, paths in files.items()
    }


def measure_values(runs: Sequence[TrustRun]) -> list[MeasureValues]:
    """The values of runs of bias measures, to compare the ss of terms with.

    They are L1 from equal shares, which says how strong a bias is, as ss does from 50.
    The reference of the groups plays no part. Prior measures are left out: they are not known to be
    credible, so they cannot judge other values (Bommasani & Liang 2022, section 6).
    """
    found = []
    for run in runs:
        own = {b.target: directed(b) for b in run.biases if b.p is not None}
        sizes = {target: round(sum(map(abs, each)), 12) for target, each in own.items() if each}
        if sizes:
            found.append(MeasureValues(run.name, sizes))
    return found


# --- scores -------------------------------------------------------------------------------------


def _scores(
    source: Source, predictions: Sequence[str], lower_is_likelier: Sequence[str], reporter: Reporter
) -> tuple[list[Scored], list[RuleGroup]]:
    """The runs on the CATs, and the groups in which they may be compared."""
    runs = list(read_runs(None, predictions, lower_is_likelier=lower_is_likelier, partial=True))
    if source.scores.exists():
        runs = [*find_runs(source.scores, skipped=reporter.warn), *runs]
    runs = current_runs(runs, source.cats, reporter=reporter)
    known: list[Run] = []
    parts: dict[int, list[str]] = {}  # names of runs by how many CATs they have scores of
    for run in runs:
        count = sum(map(run.has, source.cats))
        if not count:
            reporter.warn(f"{run.name} is not in the trust report: it has no scores of these CATs")
            continue
        known.append(run)
        if count < len(source.cats):
            parts.setdefault(count, []).append(run.name)
    for count, names in parts.items():
        reporter.note(
            f"{count:,} of {amount(len(source.cats), 'CAT')} have scores of {', '.join(names)}; "
            "the rows of a run are about the CATs it has"
        )
    if not known:
        return [], []
    judged = board(source.cats, known)
    found = [
        Scored(
            run.name,
            run.model,
            run.rules or ({"profile": run.profile} if run.profile else {}),
            run.variant,
            judged.points(METRICS["lms"])[number],
            judged.points(METRICS["ss"])[number],
            _where(run, source),
        )
        for number, run in enumerate(judged.runs)
    ]
    groups = comparable(judged.runs, skipped=reporter.warn)
    return found, [RuleGroup(group.name, group.runs) for group in groups]


def _where(run: Run, source: Source) -> str:
    """The folder or file of a run, without folders that only this machine has."""
    path = Path(run.where)
    if source.campaign:
        return source.campaign.relative(path)
    return "/".join(path.parts[-2:]) if run.about else path.name


# --- labels -------------------------------------------------------------------------------------


def _of_campaign(campaign: Campaign, cats: Sequence[Cat]) -> tuple[Counts | None, list[Retest]]:
    """Counted votes and second labels of a campaign's CATs.

    Items that got labels only until they were decided agree too well, so they have no votes here;
    a random sample of items got all labels (docs/decisions.md).
    """
    early = stopped_early(campaign)
    decided = (decision for decision in campaign.decisions if decision.item not in early)
    verdicts = (verdict for decision in decided for verdict in decision.verdicts)
    by_id = {verdict.id: verdict.votes for verdict in verdicts}
    ids = {a.id for cat in cats for a in cat.associations}
    table = campaign.labels
    table = table[table["association"].isin(ids)]
    times = table["submitted_at"].astype(object).fillna("").to_numpy(str)
    table = table.iloc[np.argsort(times, kind="stable")]
    columns = (table[name].tolist() for name in ("association", "annotator", "round", "value"))
    answers: Answers = defaultdict(list)
    for association, annotator, round, value in zip(*columns, strict=True):
        answers[association].append((str(annotator), str(round), VALUES.index(value)))
    return _table(cats, by_id), _retests(cats, answers)


def _of_gold(source: Source) -> tuple[Counts | None, list[Retest]]:
    """The votes and second labels in gold files; None if there are no labels."""
    entries = (entry for path in source.gold for entry in read_cat_entries(path))
    every = (sentence for entry in entries for sentence in sentences_of(entry.item))
    sentences = {str(sentence["id"]): sentence for sentence in every}
    table = _table(source.cats, {name: votes(sentence) for name, sentence in sentences.items()})
    answers = {name: _answers(sentence) for name, sentence in sentences.items()}
    retests = [again._replace(note=_NO_TIMES) for again in _retests(source.cats, answers)]
    return (table if table.sum() else None), retests


def _table(cats: Sequence[Cat], by_id: Mapping[str, tuple[int, ...]]) -> Counts:
    """How many annotators chose each value, a row for each association; 0 if it is not known."""
    none = (0,) * len(VALUES)
    rows = [by_id.get(a.id, none) for cat in cats for a in cat.associations]
    return np.array(rows, np.int64).reshape(-1, len(VALUES))


def _answers(sentence: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """Annotator, round (always "") and label of a sentence's labels that name an annotator."""
    given = sentence.get("labels")
    return [
        (str(label["human_id"]), "", VALUES.index(value))
        for label in (given if isinstance(given, list) else ())
        if isinstance(label, dict) and label.get("human_id")
        if (value := read_label(str(label.get("label")))) in VALUES
    ]


def _retests(cats: Sequence[Cat], answers: Answers) -> list[Retest]:
    """Second labels by the same annotator, and majorities of the first two rounds."""
    found: dict[str, list[tuple[int, int, int]]] = {SAME: [], ROUNDS: []}
    for number, cat in enumerate(cats):
        for association in cat.associations:
            by_person: dict[str, list[int]] = defaultdict(list)
            by_round: dict[str, list[int]] = defaultdict(list)
            for annotator, round, value in answers.get(association.id, ()):
                by_person[annotator].append(value)
                by_round[round].append(value)
            for values in by_person.values():
                if len(values) > 1:
                    found[SAME].append((number, values[0], values[1]))
            first, second, *_ = (*map(_majority, by_round.values()), None, None)
            if first is not None and second is not None:
                found[ROUNDS].append((number, first, second))
    return [
        Retest(name, np.array([row[0] for row in rows]), np.array([row[1:] for row in rows]))
        for name, rows in found.items()
        if rows
    ]


def _majority(values: Sequence[int]) -> int | None:
    """The label of more than half of the annotators.

    >>> _majority([0, 0, 1]), _majority([0, 1])
    (0, None)
    """
    best = max(set(values), key=values.count)
    return best if 2 * values.count(best) > len(values) else None


# --- pitfalls, sentiment ------------------------------------------------------------------------


def _pitfalls(source: Source, reporter: Reporter) -> list[PitfallCount] | None:
    """A campaign's pitfalls as its step found them; those of gold files are looked for now."""
    campaign = source.campaign
    path = campaign and campaign.folder("measures") / PITFALL_REPORT.name
    if path and not path.exists():
        return None
    table = (
        campaign[PITFALL_REPORT]
        if campaign
        else pitfall_table(pitfalls_of(source, reporter=reporter))
    )
    return [
        PitfallCount(r["code"], r["severity"], r["unit"], r["count"], r["of"], r["why"] or "")
        for r in table["table"]
    ]


def _sentiment(source: Source, reporter: Reporter) -> Sentiment | None:
    """The sentiment that the campaign's classifier gave; None for VADER, and for gold files."""
    campaign = source.campaign
    if campaign and campaign.settings.measures.sentiment != VADER:
        path = campaign.folder("measures") / "sentiment_scores.json"
        try:
            return read_sentiment(path, source.cats) if path.exists() else None
        except CurationError as error:  # it is older than the CATs
            reporter.warn(f"{error.what}; run «curation measures sentiment» for SentimentLM")
    return None
