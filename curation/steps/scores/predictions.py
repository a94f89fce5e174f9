"""The results of a file of predictions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.files import CurationError
from curation.formats.predictions import check_complete, read_predictions, scores_of, turned
from curation.records import KINDS, Kind
from curation.scores.boards import scored
from curation.scores.flags import flags_of
from curation.scores.incomplete import left_out
from curation.stats.metrics import Ties, comparisons, of_one_kind, results
from curation.steps.reporter import QUIET, Reporter
from curation.steps.source import Source
from curation.text.wording import amount

HINT_BELOW = 45.0
"""Scores of a kind of CAT may be turned around if the interval of its lms is below this.

Of 54 public files of predictions none is so for every kind, as published. With the opposite sign 39
are. Below 50 these would be 1 and 44.
"""

_OTHER_IDS = (
    "give the gold file that these predictions are for; if a gold file has no ids, they are made "
    "from its texts, and only predictions made with it have them"
)


def score_predictions(
    path: Path,
    source: Source,
    *,
    kind: Kind | None = None,
    tier: int | None = None,
    ties: Ties = "half",
    lower_is_likelier: bool | Kind = False,
    partial: bool = False,
    model: str = "",
    reporter: Reporter = QUIET,
) -> dict[str, Any]:
    """lms, ss and icat of a file of predictions.

    Args:
        path: the predictions.
        source: the CATs that the predictions are for.
        kind: only the CATs of this kind; needed if the file has scores of one kind only.
        tier: only CATs of this tier or above. All CATs need a score, also those of lower tiers.
        ties: how ties count, as in ``metrics.comparisons``.
        lower_is_likelier: the scores, or those of this kind, are perplexities or losses.
        partial: leave out CATs if a sentence has no score, or one that is not a finite number.
        model: the model's name; by default the file's name without «predictions_».
        reporter: receives warnings.

    Returns:
        ``metrics.results`` with ``flags``, ``tier``, ``kind``, ``lower_is_likelier``, ``partial``
        (of ``partial.left_out``; None without the argument ``partial``) and ``original_targets``
        (of the source). With ``kind``, ``overall`` is None, and ``domains`` and ``terms`` are
        empty.

    Raises:
        CurationError: a prediction is repeated, missing or not a finite number; the file has no
            score of a kind; no CAT is of the tier. The message names the id or the kind.
    """
    pairs = list(read_predictions(path))
    asked = source.of_kind(kind)
    known = {a.id for cat in source.cats for a in cat.associations}
    wanted = {a.id for cat in asked.cats for a in cat.associations}
    unknown = sum(name not in known for name, _ in pairs)
    if unknown:
        number = amount(unknown, "prediction has an id that is", "predictions have ids that are")
        reporter.warn(f"{path}: {number} not in the gold file")
    scores = scores_of(
        pairs,
        where=str(path),
        wanted=wanted,
        lower_is_likelier=lower_is_likelier is True,
        partial=partial,
    )
    if not isinstance(lower_is_likelier, bool):
        scores = scores._replace(values=turned(scores.values, source.cats, lower_is_likelier))
    _check_kinds(path, asked, source, {name for name, _ in pairs})
    has_all = scored(asked.cats, scores.values)
    whole = [cat for cat, has in zip(asked.cats, has_all, strict=True) if has]
    if not partial:
        fix = (
            "score every sentence of the gold file, give the gold file that these predictions are "
            f"for, or give --partial to use the {len(whole):,} of "
            f"{amount(len(asked.cats), 'CAT')} that have all their scores"
            if whole
            else _OTHER_IDS
        )
        check_complete(asked.cats, scores, where=str(path), fix=fix)
    shown = asked.in_tier(tier, reporter)
    there = {cat.id for cat in whole}
    cats = [cat for cat in shown.cats if cat.id in there]
    if not cats:
        raise CurationError(
            f"{path}: none of the {amount(len(shown.cats), 'CAT')} has a score of each sentence",
            _OTHER_IDS,
        )
    result = results(
        comparisons(cats, scores.values, ties=ties),
        model=model or path.stem.removeprefix("predictions_"),
    )
    if kind:
        result = of_one_kind(result)
    gone = left_out(shown.cats, cats, bad=scores.bad) if partial else None
    warn_of_turned(str(path), result, lower=lower_is_likelier, reporter=reporter)
    return {
        **result,
        "flags": flags_of(result, older=bool(gone and gone["left_out"])),
        "tier": tier,
        "kind": kind,
        "lower_is_likelier": lower_is_likelier,
        "partial": gone,
        "original_targets": shown.original_targets,
    }


def _check_kinds(path: Path, asked: Source, source: Source, ids: set[str]) -> None:
    """Raise if a file has no score of a kind that was asked for, and has scores of the other."""
    of_kind = {kind: [cat for cat in source.cats if cat.kind == kind] for kind in KINDS}
    there = [
        k for k, own in of_kind.items() if any(a.id in ids for c in own for a in c.associations)
    ]
    for kind in dict.fromkeys(cat.kind for cat in asked.cats):
        if kind not in there and there:
            raise CurationError(
                f"{path}: has no score of the {amount(len(of_kind[kind]), f'{kind} CAT')}",
                f"give --kind {there[0]} to show the results of {there[0]} CATs alone",
            )


def warn_of_turned(
    name: str, result: Mapping[str, Any], *, lower: bool | Kind, reporter: Reporter, run: str = ""
) -> None:
    """Warn if the scores of predictions, or of one kind of CAT, seem to have the opposite sign.

    Args:
        name: the file or the run.
        result: of ``metrics.results``.
        lower: whether the sign was changed, or the kind for which it was.
        reporter: receives the warning.
        run: the NAME that the option needs, if there are several files.
    """
    cells = {kind: part["overall"] for kind, part in result["kinds"].items()}
    low = {k for k, cell in cells.items() if cell["lms_ci"] and cell["lms_ci"][1] < HINT_BELOW}
    if not low:
        return
    shown = " and ".join(f"{cells[kind]['lms']:.1f} ({kind})" for kind in cells if kind in low)
    now = {kind for kind in cells if lower in (True, kind)}
    right = now ^ low  # the kinds whose sign is to be changed
    only = "" if right == set(cells) else "".join(right)
    option = f"--lower-is-likelier {'@'.join(filter(None, (run, only)))}".rstrip()
    fix = f"give {option}" if right else "leave --lower-is-likelier out"
    likelier = "lower" if low - now else "higher"
    reporter.warn(
        f"{name}: lms is {shown}, far below the 50 of chance. Are {likelier} scores likelier? "
        f"Then {fix}"
    )
