"""lms, ss and icat of a row, and what of them is shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.board.log import Cell, Values
from curation.campaign.settings import Hide
from curation.records import Cat
from curation.stats.metrics import comparisons, results

_DECIMALS = 1  # of values about hidden labels


def values(cats: Sequence[Cat], scores: Mapping[str, float], *, hide: Hide) -> Values:
    """What a row shows of a model's scores.

    Args:
        cats: all CATs of the test set, with their gold labels.
        scores: by association; a higher score means likelier.
        hide: with «labels», only what releases show of such a test set: overall values, rounded to
            one decimal. With «all», also those of kinds and domains, in full.

    Raises:
        KeyError: an association has no score.
    """
    return of_results(results(comparisons(cats, scores), model=""), hide=hide)


def of_results(result: Mapping[str, Any], *, hide: Hide) -> Values:
    """What a row shows of ``metrics.results``, whose ``overall`` is not None; see ``values``."""
    if hide == "labels":
        return Values(overall=_cell(result["overall"], _DECIMALS), kinds={}, domains={})
    kinds = {kind: _cell(part["overall"]) for kind, part in result["kinds"].items()}
    domains = {name: _cell(cell) for name, cell in result["domains"].items()}
    return Values(overall=_cell(result["overall"]), kinds=kinds, domains=domains)


def _cell(cell: Mapping[str, Any], digits: int | None = None) -> Cell:
    def shown(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(shown, value))
        return value if digits is None or not isinstance(value, float) else round(value, digits)

    return Cell(**{name: shown(cell[name]) for name in Cell.model_fields})
