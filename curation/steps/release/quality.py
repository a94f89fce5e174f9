"""What a release says about its quality: reports, baselines and the scores of models."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from curation.campaign import Campaign
from curation.checks.codes import PITFALLS
from curation.files import CurationError, read_json, read_records
from curation.records import GOLDS, KINDS, Cat, Comparison
from curation.release.contents import SPLITS
from curation.release.facts import (
    Agreement,
    Baseline,
    Interval,
    Lengths,
    PitfallCount,
    Retention,
    ScoreRow,
    SentimentShare,
    TrustFacts,
    TrustRow,
)
from curation.scores import incomplete
from curation.scores import runs as stage
from curation.scores.boards import Board, board
from curation.scores.ensemble import scored_since
from curation.scores.flags import FLAGS, flags_of
from curation.scores.groups import mark_heads
from curation.scores.run_folder import COMPARISONS, RUN, read_run, why_no_outcome
from curation.scores.runs import Run
from curation.stats.metrics import BOTH, results
from curation.steps.measures import VADER
from curation.steps.scores.runs import baseline_results, read_sentiment
from curation.steps.step import Reporter
from curation.steps.trust import report as trust_report
from curation.text.wording import amount
from curation.text.words import Sentiment
from curation.work.manifest import read_manifest

if TYPE_CHECKING:
    from curation.decisions.agreement import Agreement as Reported
    from curation.measures.statistics import Cell, Statistics

_NAMES = {VADER: "VADER"}
T = TypeVar("T")
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


class Measured(NamedTuple):
    """The parts of ``Facts`` that come from reports, under their names there."""

    agreement: tuple[Agreement, ...]
    retention: tuple[Retention, ...]
    sentiment: tuple[SentimentShare, ...]
    sentiment_by: str
    sentiment_why: str
    pitfalls: tuple[PitfallCount, ...]
    lengths: tuple[Lengths, ...]
    trust: TrustFacts | None


def read_measured(campaign: Campaign) -> Measured:
    """What the reports say: agreement over all items, retention, sentiment, pitfalls, lengths.

    There are no shares of sentiment if ``sentiment_why`` says why; ``trust`` is None without a
    trust report.

    Raises:
        CurationError: a report is damaged.
    """
    decisions, measures = campaign.decisions, campaign.measures
    agreement, retention = _read(decisions / "agreement.json", _agreement)
    sentiment, by, why = _read(measures / "sentiment.json", _sentiment)
    accept = campaign.settings.release.accept
    pitfalls = _read(measures / "pitfalls.json", partial(_pitfalls, accept))
    lengths = _read(measures / "statistics.json", _lengths)
    trust = _trust(trust_report.place(campaign))
    return Measured(agreement, retention, sentiment, by, why, pitfalls, lengths, trust)


def _read(path: Path, parts: Callable[[Any], T]) -> T:
    """What a report says; its error if it has another form than the step that writes it gives."""
    report = read_json(path)
    try:
        return parts(report)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise CurationError(
            f"{path}: has another form than this version of curation writes",
            "delete the file, then run «curation run»",
        ) from None


def _agreement(report: "Reported") -> tuple[tuple[Agreement, ...], tuple[Retention, ...]]:
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


def _sentiment(report: Any) -> tuple[tuple[SentimentShare, ...], str, str]:
    """The shares of negative associations, what measured them, and why there are none."""
    if why := report["not_checked"]:
        return (), "", str(why["sentiment"])
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
    model = report["by"]["model"]
    return shares, _NAMES.get(model, str(model)), ""


def _pitfalls(accept: Collection[str], report: Any) -> tuple[PitfallCount, ...]:
    names = ("code", "severity", "count", "of", "stereoset", "why")
    return tuple(
        PitfallCount(
            **{name: row[name] for name in names},
            says=PITFALLS[row["code"]].says,
            accepted=bool(row["count"]) and row["code"] in accept,
            unit=PITFALLS[row["code"]].unit,
        )
        for row in report["table"]
    )


def _lengths(report: "Statistics") -> tuple[Lengths, ...]:
    """The mean length of the texts, by kind and over both."""
    kinds = {kind: report["kinds"][kind]["overall"] for kind in KINDS}
    parts: dict[str, Cell] = {kind: cell for kind, cell in kinds.items() if cell["cats"]}
    parts |= {BOTH: report["overall"]} if len(parts) > 1 else {}
    return tuple(
        Lengths(kind=kind, words=cell["mean_words"], characters=cell["mean_characters"])
        for kind, cell in parts.items()
    )


def _trust(path: Path) -> TrustFacts | None:
    if not path.exists():
        return None
    report = trust_report.read_report(path)
    own = set(TrustRow.model_fields)
    rows = tuple(TrustRow.model_validate(row.model_dump(include=own)) for row in report.rows)
    return TrustFacts(rows=rows, thresholds=report.thresholds, open=report.open)


def _ends(ends: Any) -> Interval:
    return None if ends is None else (float(ends[0]), float(ends[1]))


# --- baselines and scores ------------------------------------------------------------------------

_NUMBERS = ("cats", "terms", "lms", "ss", "icat")
_CI = ("lms_ci", "ss_ci", "icat_ci")


class Scores(NamedTuple):
    """What is read for the scores of a release.

    Attributes:
        sentiment: the sentiment of each association, if the step kept it.
        runs: the runs of models.
        unscored: the chat models that were asked and have no score, each with the reason.
    """

    sentiment: Sentiment | None
    runs: list[Run]
    unscored: tuple[str, ...]


def read_scores(
    campaign: Campaign, cats: Sequence[Cat], sentiment_why: str, reporter: Reporter
) -> Scores:
    """Read the sentiment of associations and the runs of models.

    Args:
        campaign: the campaign; its step sentiment is up to date.
        cats: the CATs of all splits.
        sentiment_why: why no sentiment was measured; empty if it was.
        reporter: receives a warning for each run that is left out.

    Raises:
        CurationError: the sentiment that the step kept, or a run, is damaged.
    """
    kept = campaign.settings.measures.sentiment != VADER or not sentiment_why
    path = campaign.measures / "sentiment_scores.json"
    return Scores(
        read_sentiment(path, cats) if kept else None,
        stage.found_runs(campaign.scores, skipped=reporter.warn),
        tuple(
            f"{about['model']} ({path.parent.name}) {why_no_outcome(about)}"
            for path in sorted(campaign.scores.glob(f"*/*/{RUN}"))
            if (about := read_run(path.parent)).get("family") == "chat"
            and about.get("answers")
            and not read_records(path.with_name(COMPARISONS), Comparison, missing_ok=True)
        ),
    )


def baseline_facts(
    cats: Sequence[Cat], sentiment: Sentiment | None, *, language: str, reporter: Reporter
) -> tuple[Baseline, ...]:
    """The baselines on each split, as ``curation scores baselines`` computes them.

    Args:
        cats: the CATs of all splits.
        sentiment: the sentiment of each association, if it is known.
        language: language code of the texts.
        reporter: where progress goes.
    """
    every: dict[str, Baseline] = {}
    with reporter.tracked("baselines", len(SPLITS)) as advance:
        for split in SPLITS:
            part = [cat for cat in cats if cat.split == split]
            for result in (
                baseline_results(part, language=language, sentiment=sentiment, overall=True)
                if part
                else ()
            ):
                name = result["model"]
                known = every.get(name, Baseline(model=name, says=result.get("says", "")))
                every[name] = known.model_copy(
                    update={
                        "why": known.why or result.get("why", ""),
                        "beyond": known.beyond + _beyond(result, split),
                        "rows": known.rows + _rows(result, split, flags=result["flags"]),
                    }
                )
            advance()
    return tuple(every.values())


def _beyond(result: Mapping[str, Any], split: str) -> tuple[str, ...]:
    """The values at which a baseline differs clearly from chance, in words."""
    return tuple(
        f"{row['figure']} {row['value']:.1f} ({row['ci'][0]:.1f}–{row['ci'][1]:.1f}), "
        f"{row['kind']}, {split}"
        for row in result.get("beyond_chance", ())
    )


def _rows(
    result: Mapping[str, Any], split: str, *, rules: str = "", flags: Sequence[str]
) -> tuple[ScoreRow, ...]:
    """A result's rows: of each kind, and of both if it has both; ``flags`` are codes."""
    cells = {kind: cells["overall"] for kind, cells in result["kinds"].items()}
    if len(cells) > 1 and result["overall"]:
        cells[BOTH] = result["overall"]
    about: dict[str, Any] = {"model": result["model"], "rules": rules, "split": split}
    about |= {"flags": tuple(FLAGS[flag] for flag in flags)}
    rows = []
    for kind, cell in cells.items():
        numbers: dict[str, Any] = {name: cell[name] for name in _NUMBERS}
        numbers |= {name: _ends(cell[name]) for name in _CI}
        rows.append(ScoreRow(**about, kind=kind, few=cell["few_terms"], **numbers))
    return tuple(rows)


def score_facts(
    runs: Sequence[Run], cats: Sequence[Cat], reporter: Reporter
) -> tuple[ScoreRow, ...]:
    """lms, ss and icat of each model run, on each split, of each kind and of both.

    Runs that are outdated or not complete are left out. So is a split on which an ensemble was
    fitted, because its values there are too high.

    Args:
        runs: the runs.
        cats: the CATs of all splits.
        reporter: receives a warning for each run that is left out.
    """
    current, _ = stage.current(runs, cats)
    complete = [run for run in current if _is_complete(run, current, cats, reporter)]
    marked = mark_heads(complete, cats)
    rows: list[ScoreRow] = []
    with reporter.tracked("scores of models", len(SPLITS)) as advance:
        for split in SPLITS:
            part = [cat for cat in cats if cat.split == split]
            own = [run for run in marked if _counts(run, part, split, reporter)]
            rows += _of_split(board(part, own), split) if own else []
            advance()
    return tuple(sorted(rows, key=lambda row: (row.model, row.rules)))


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
    rows: list[ScoreRow] = []
    for number, run in enumerate(won.runs):
        result = results(won.table(number), model=run.model, overall=True)
        rows += _rows(result, split, rules=run.way, flags=flags_of(result, run.about))
    return rows
