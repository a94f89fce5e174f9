"""What a model is held against: StereoSet's baselines, computed, and artefact baselines, measured.

IdealLM, StereotypedLM and RandomLM are those of StereoSet, ACL §5.3.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from curation.records import KINDS, Cat
from curation.stats.artefacts import MIRRORED, Artefact
from curation.stats.metrics import Ties, comparisons, results

EXPECTED: dict[str, tuple[float | None, float]] = {
    "IdealLM": (1.0, 0.5),
    "StereotypedLM": (None, 1.0),
    "RandomLM": (0.5, 0.5),
}
"""Probability of preferring the meaningful, and the stereotype; None where it is not defined."""


def baselines(cats: Sequence[Cat]) -> list[dict[str, Any]]:
    """What the three baselines score on these CATs, in the form of ``metrics.results``.

    Every comparison enters with the probability that the baseline wins it, so the figures are
    expectations and have no interval. StereotypedLM says nothing of unrelated associations: its
    lms is None, and its icat is 0 whatever that would be.
    """
    found = []
    for model, (meaningful, stereotype) in EXPECTED.items():
        table = pd.DataFrame(
            [
                {
                    "kind": cat.kind,
                    "domain": cat.domain,
                    "term": f"{cat.domain}/{cat.target}",
                    "meaningful": 2 * (meaningful or 0.0),
                    "stereotype": stereotype,
                    "ties": 0,
                }
                for cat in cats
            ]
        )
        result = results(table, model=model)
        for cell in _cells(result):
            cell.update(lms_ci=None, ss_ci=None, icat_ci=None, too_wide=[])
            if meaningful is None:
                cell.update(lms=None)
        found.append(result)
    return found


def _cells(result: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [result, *result["kinds"].values()]
    return [
        cell
        for part in parts
        for cell in (part["overall"], *part["domains"].values(), *part["terms"].values())
    ]


CHANCE = 50.0  # the ss of who does not tell stereotype from anti-stereotype
CLEAR_LMS = 60.0  # who is surely above it tells the meaningful by its surface


def measured(
    cats: Sequence[Cat],
    found: Sequence[Artefact],
    *,
    ties: Ties = "half",
) -> list[dict[str, Any]]:
    """What artefact baselines score on these CATs.

    Args:
        cats: the CATs.
        found: of ``artefacts.artefacts`` on the same CATs.
        ties: as in ``metrics.comparisons``.

    Returns:
        One an artefact, in the form of ``metrics.results``, with ``says`` (its rule), ``why`` (why
        it was not checked, or "") and ``beyond_chance`` (as that function has it, with ties half
        won; an ss that only mirrors another artefact's is not told twice). Of what was not checked
        ``kinds`` is empty and ``overall`` None. ``overall`` is None, too, where a rule leaves a
        kind out: beside figures of both kinds it would compare what is not alike.
    """
    told = []
    for artefact in found:
        result: dict[str, Any] = {"model": artefact.name, "kinds": {}, "overall": None}
        beyond: list[dict[str, Any]] = []
        if artefact.scores is not None:
            scores = artefact.scores
            own = [cat for cat in cats if cat.associations[0].id in scores]
            result = results(comparisons(own, scores, ties=ties), model=artefact.name)
            fair = result
            if ties != "half":
                # Lost ties push coarse scores away from 50, which is no artefact of the texts.
                fair = results(comparisons(own, scores), model=artefact.name)
            beyond = [
                one
                for one in beyond_chance(fair)
                if one["figure"] == "lms" or artefact.name not in MIRRORED  # ss was told already
            ]
            if len(own) < len(cats):
                result["overall"] = None
        told.append({**result, "says": artefact.says, "why": artefact.why, "beyond_chance": beyond})
    return told


def beyond_chance(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Where a baseline that understands nothing is clearly better or other than chance.

    That is, by kind: an lms whose interval lies above 60, and an ss whose interval leaves out 50.
    Cells with fewer than five terms, and figures without an interval, are passed over.

    Args:
        result: of ``metrics.results``, ties counted half.

    Returns:
        ``{"kind", "figure", "value", "ci"}`` each; figure is lms or ss.
    """
    found = []
    for kind in KINDS:
        cell = result["kinds"].get(kind, {}).get("overall", {"few_terms": True})
        if cell["few_terms"]:
            continue
        for figure in ("lms", "ss"):
            bounds = cell[f"{figure}_ci"]
            if bounds is None:
                continue
            low, high = bounds
            if low > CLEAR_LMS if figure == "lms" else not low <= CHANCE <= high:
                found.append({"kind": kind, "figure": figure, "value": cell[figure], "ci": bounds})
    return found
