"""What a release says about its quality: reports, baselines and the scores of models."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from curation.campaign.dataset import Dataset
from curation.campaign.store import Campaign
from curation.checks.codes import PITFALLS
from curation.decisions.steps import AGREEMENT_REPORT
from curation.files import CurationError, read_records
from curation.kinds import CAT_KINDS, GOLDS
from curation.measures.steps import PITFALL_REPORT, SENTIMENT_REPORT, STATISTICS_REPORT, VADER
from curation.records import Cat, Comparison, Fields
from curation.released.contents import SPLITS
from curation.released.facts import (
    Agreement,
    Baseline,
    Lengths,
    Part,
    PitfallCount,
    Retention,
    ScoreRow,
    SentimentShare,
    TrustFacts,
    TrustRow,
)
from curation.scores import boards, run_folder
from curation.scores.boards import board
from curation.scores.ensemble import scored_since
from curation.scores.flags import FLAGS, flags_of
from curation.scores.groups import mark_heads
from curation.scores.results import baseline_results, read_sentiment
from curation.scores.run_folder import COMPARISONS, RUN, read_run, why_no_outcome
from curation.scores.runs import Run, drop_outdated, find_runs
from curation.stats.metrics import BOTH, results
from curation.text.wording import amount
from curation.text.words import Sentiment
from curation.trust import steps as trust_report
from curation.trust.protocol.report import shown, threshold
from curation.work.reporter import Reporter

if TYPE_CHECKING:
    from curation.decisions.agreement import Agreement as Reported
    from curation.measures.statistics import Cell, Statistics

_NAMES = {VADER: "VADER"}
P = TypeVar("P", bound=Part)
T = TypeVar("T")


def read_measured(campaign: Campaign) -> dict[str, Any]:
    """The fields of ``Facts`` that come from reports.

    They are agreement over all items, retention, sentiment, pitfalls, lengths. There are no shares
    of sentiment if ``sentiment_why`` says why; ``trust`` is None without a trust report.

    Raises:
        CurationError: a report is damaged.
    """
    pitfalls = partial(_pitfalls, campaign.settings.release.accept)
    return {
        **_read(campaign, AGREEMENT_REPORT, _agreement),
        **_read(campaign, SENTIMENT_REPORT, _sentiment),
        "pitfalls": _read(campaign, PITFALL_REPORT, pitfalls),
        "lengths": _read(campaign, STATISTICS_REPORT, _lengths),
        "trust": _trust(trust_report.place(campaign)),
    }


def _read(campaign: Campaign, dataset: Dataset[Fields], parts: Callable[[Any], T]) -> T:
    """What a report says; its error if it has another form than the step that writes it gives."""
    report, path = campaign[dataset], dataset.files(campaign)[0]
    try:
        return parts(report)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise CurationError(
            f"{path}: has another form than this version of curation writes",
            "delete the file, then run «curation run»",
        ) from None


def _part(part: type[P], row: Mapping[str, Any], /, **others: Any) -> P:
    """A part of the facts that has the values of a report's row, but for ``others``."""
    return part(**{name: row[name] for name in part.model_fields if name in row} | others)


def _agreement(report: "Reported") -> dict[str, Any]:
    from curation.decisions.agreement import about_failed

    rows = (row for row in report["measures"] if row["by"] == "overall")
    about, kept = {"confidence": report["confidence"]}, report["retention"]
    return {
        "agreement": tuple(_part(Agreement, r, few=r["few_cats"], **about) for r in rows),
        "retention": tuple(
            _part(Retention, r, items=r["items"] - r["open"], share=r["retention"]) for r in kept
        ),
        "failed_checks": about_failed(report["failed_checks"]),
    }


def _sentiment(report: Any) -> dict[str, Any]:
    """The shares of negative associations, what measured them, and why there are none."""
    if why := report["not_checked"]:
        return {"sentiment_why": str(why["sentiment"])}
    rows, model = [row for row in report["rows"] if row["domain"] is None], report["by"]["model"]
    kinds = {row["kind"] for row in rows if row["kind"]}
    shares = tuple(
        _part(
            SentimentShare,
            row["labels"][gold]["negative"],
            kind=row["kind"] or BOTH,
            label=gold,
            cats=row["cats"],
        )
        for row in rows
        if row["kind"] or len(kinds) > 1
        for gold in GOLDS
        if gold in row["labels"]
    )
    return {"sentiment": shares, "sentiment_by": _NAMES.get(model, str(model))}


def _pitfalls(accept: Collection[str], report: Any) -> tuple[PitfallCount, ...]:
    rows = ({**PITFALLS[row["code"]]._asdict(), **row} for row in report["table"])
    return tuple(
        _part(PitfallCount, row, accepted=bool(row["count"]) and row["code"] in accept)
        for row in rows
    )


def _lengths(report: "Statistics") -> tuple[Lengths, ...]:
    """The mean length of the texts, by kind and over both."""
    kinds = {kind: report["kinds"][kind]["overall"] for kind in CAT_KINDS}
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
    rows = tuple(
        _part(TrustRow, {**dict(row), "verdict": shown(row), "limit": threshold(row)})
        for row in report.rows
    )
    return TrustFacts(rows=rows, thresholds=report.thresholds, open=report.open)


# --- baselines and scores ------------------------------------------------------------------------


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
    path = campaign.folder("measures") / "sentiment_scores.json"
    return Scores(
        read_sentiment(path, cats) if kept else None,
        find_runs(campaign.folder("scores"), skipped=reporter.warn),
        tuple(
            f"{about['model']} ({path.parent.name}) {why_no_outcome(about)}"
            for path in sorted(campaign.folder("scores").glob(f"*/*/{RUN}"))
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
    options: dict[str, Any] = {"language": language, "sentiment": sentiment, "overall": True}
    with reporter.tracked("baselines", len(SPLITS)) as advance:
        for split in SPLITS:
            part = [cat for cat in cats if cat.split == split]
            for result in baseline_results(part, **options) if part else ():
                name = result["model"]
                known = every.get(name, Baseline(model=name, says=result.get("says", "")))
                more = {
                    "why": known.why or result.get("why", ""),
                    "beyond": known.beyond + _beyond(result, split),
                    "rows": known.rows + _rows(result, split, flags=result["flags"]),
                }
                every[name] = known.model_copy(update=more)
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
    return tuple(
        _part(ScoreRow, cell, kind=kind, few=cell["few_terms"], **about)
        for kind, cell in cells.items()
    )


def score_facts(
    runs: Sequence[Run], cats: Sequence[Cat], reporter: Reporter
) -> tuple[ScoreRow, ...]:
    """The metrics of each model run, on each split, of each kind and of both.

    Runs that are outdated or not complete are left out. So is a split on which an ensemble was
    fitted, because its values there are too high.

    Args:
        runs: the runs.
        cats: the CATs of all splits.
        reporter: receives a warning for each run that is left out.
    """
    current, _ = drop_outdated(runs, cats)
    complete = [run for run in current if _is_complete(run, current, cats, reporter)]
    marked = mark_heads(complete, cats)
    rows: list[ScoreRow] = []
    with reporter.tracked("scores of models", len(SPLITS)) as advance:
        for split in SPLITS:
            part = [cat for cat in cats if cat.split == split]
            if own := [run for run in marked if _counts(run, part, split, reporter)]:
                won = board(part, own)
                for number, run in enumerate(won.runs):
                    result = results(won.table(number), model=run.model, overall=True)
                    flags = flags_of(result, run.about)
                    rows += _rows(result, split, rules=run.way, flags=flags)
            advance()
    return tuple(sorted(rows, key=lambda row: (row.model, row.rules)))


def _is_complete(run: Run, runs: Sequence[Run], cats: Sequence[Cat], reporter: Reporter) -> bool:
    """Whether a run has scores of all CATs as they are now; warns if it is left out."""
    again = run_folder.again({"model": run.model, "rules": run.rules, **run.about})
    lacks = boards.missing_cats(run, cats)
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
