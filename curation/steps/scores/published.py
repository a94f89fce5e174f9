"""Runs on StereoSet beside the tables that its papers print."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curation.scores import published as printed
from curation.scores.groups import mark_heads
from curation.scores.incomplete import missing_cats
from curation.scores.published import Printed, models
from curation.stats.metrics import Ties
from curation.steps.reporter import QUIET, Reporter
from curation.steps.scores.runs import current_runs, read_runs, warn_of_older
from curation.steps.source import Source


def beside_printed(
    rows: Sequence[Printed],
    source: Source,
    *,
    scores: Path | None = None,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    split: str = "",
    tier: int | None = None,
    ties: Ties = "official",
    reporter: Reporter = QUIET,
) -> dict[str, Any]:
    """Runs on StereoSet beside the printed rows of the same model, split, kind and domain.

    Args:
        rows: printed rows, from ``printed.choose``.
        source: StereoSet's CATs.
        scores: the folder of your runs.
        predictions: files of predictions, ``NAME=FILE`` or ``NAME@RULES=FILE``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        split: dev or test; by default it is found from the target terms.
        tier: only CATs of this tier or above.
        ties: how ties count; StereoSet's evaluator counts ``official``.
        reporter: receives warnings, and a note about models that are not printed.

    Returns:
        ``{"ties", "tier", "rows", "why"}``: rows of ``published.beside``, and the meaning of the
        codes in their ``why``.

    Raises:
        CurationError: there are no runs, or a target is not one of StereoSet's terms.
    """
    runs = read_runs(scores, predictions, lower_is_likelier=lower_is_likelier, reporter=reporter)
    runs = mark_heads(current_runs(runs, source.cats, reporter=reporter), source.cats)
    older = {
        run.name: lacks
        for part in printed.by_split(source.cats, split=split).values()
        for run in runs
        if (lacks := missing_cats(run, part)).cats
    }
    warn_of_older(runs, older, reporter=reporter)
    cats = source.in_tier(tier, reporter).cats
    pairs = printed.beside(
        rows,
        printed.by_split(cats, split=split),
        runs,
        whole=printed.by_split(source.cats, split=split),
        ties=ties,
        older=older.keys(),
        skipped=reporter.warn,
    )
    others = sorted({run.model for run in runs if printed.printed_name(run) is None})
    if others:
        reporter.note(
            f"These models are not in the printed tables: {', '.join(others)}. The tables have "
            f"{', '.join(models())}; use LABEL=MODEL or NAME=FILE to give a run one of these names."
        )
    return {"ties": ties, "tier": tier, "rows": pairs, "why": printed.WHY}
