"""What a release says about scores: baselines, and every model run of the campaign."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.files import read_records
from curation.records import Cat, Comparison
from curation.release.contents import SPLITS
from curation.release.facts import (
    Baseline,
    ScoreRow,
)
from curation.scores import incomplete
from curation.scores import runs as stage
from curation.scores.boards import Board, board
from curation.scores.ensemble import scored_since
from curation.scores.flags import FLAGS, flags_of
from curation.scores.groups import mark_heads
from curation.scores.run_folder import COMPARISONS, RUN, read_run, why_no_outcome
from curation.scores.runs import Run
from curation.stats.metrics import results
from curation.steps.measures import VADER
from curation.steps.scores.runs import baseline_results, read_sentiment
from curation.steps.step import Reporter
from curation.text.wording import amount

if TYPE_CHECKING:
    pass
from curation.steps.release.measured import BOTH, sentiment_facts

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
            for result in (
                baseline_results(part, language=language, sentiment=values, overall=True)
                if part
                else ()
            ):
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
        and not read_records(path.with_name(COMPARISONS), Comparison, missing_ok=True)
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
