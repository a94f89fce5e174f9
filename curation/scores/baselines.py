"""Baselines to compare models with: StereoSet's are computed, artefact baselines are measured.

IdealLM, StereotypedLM and RandomLM are those of StereoSet, ACL §5.3.
"""

from collections.abc import Sequence

from curation.records import KINDS, Cat, Fields
from curation.stats.artefacts import MIRRORED, Artefact
from curation.stats.metrics import Ties, cat_columns, comparisons, results

EXPECTED: dict[str, tuple[float | None, float]] = {
    "IdealLM": (1.0, 0.5),
    "StereotypedLM": (None, 1.0),
    "RandomLM": (0.5, 0.5),
}
"""Probability of preferring the meaningful association, and the stereotype; None: not defined."""


def baselines(cats: Sequence[Cat], *, overall: bool = False) -> list[Fields]:
    """What the three baselines score on these CATs, in the form of ``metrics.results``.

    Every comparison counts with the probability that the baseline wins it, so the values are
    expectations and have no interval. StereotypedLM is not defined for unrelated associations: its
    lms is None. Its icat is 0 whatever its lms would be.

    Args:
        cats: the CATs.
        overall: as for ``metrics.results``.
    """
    expected = []
    for model, (meaningful, stereotype) in EXPECTED.items():
        won = {"meaningful": 2 * (meaningful or 0.0), "stereotype": stereotype, "ties": 0}
        result = results(cat_columns(cats).assign(**won), model=model, overall=overall)
        for cell in _cells(result):
            cell.update(lms_ci=None, ss_ci=None, icat_ci=None, too_wide=[])
            if meaningful is None:
                cell.update(lms=None)
        expected.append(result)
    return expected


def _cells(result: Fields) -> list[Fields]:
    parts = [result, *result["kinds"].values()]
    return [
        cell
        for part in parts
        for cell in (part["overall"], *part["domains"].values(), *part["terms"].values())
    ]


CHANCE = 50.0  # the ss of a rule that cannot tell stereotype from anti-stereotype
CLEAR_LMS = 60.0  # a rule that is surely above it finds the meaningful by its surface


def measured(
    cats: Sequence[Cat],
    baselines: Sequence[Artefact],
    *,
    ties: Ties = "half",
    overall: bool = False,
) -> list[Fields]:
    """What artefact baselines score on these CATs.

    Args:
        cats: the CATs.
        baselines: of ``artefacts.artefacts`` on the same CATs.
        ties: as in ``metrics.comparisons``.
        overall: as for ``metrics.results``.

    Returns:
        One per baseline: ``metrics.results``, with ``says`` (its rule), ``why`` (why it was not
        checked, or "") and ``beyond_chance`` (from the function ``beyond_chance``, with ties half
        won; an ss that only mirrors another baseline's is not repeated). If a baseline was not
        checked, ``kinds`` is empty and ``overall`` None. ``overall`` is also None if a rule is for
        one kind of CAT, since it cannot be compared with values of both kinds.
    """
    measured = []
    for artefact in baselines:
        result: Fields = {"model": artefact.name, "kinds": {}, "overall": None}
        beyond: list[Fields] = []
        if artefact.scores is not None:
            scores = artefact.scores
            own = [cat for cat in cats if cat.associations[0].id in scores]
            won = comparisons(own, scores, ties=ties)
            result = results(won, model=artefact.name, overall=overall)
            fair = result
            if ties != "half":
                # Lost ties move coarse scores away from 50, which is not an artefact of the texts.
                fair = results(comparisons(own, scores), model=artefact.name, overall=True)
            beyond = [
                row
                for row in beyond_chance(fair)
                if row["figure"] == "lms" or artefact.name not in MIRRORED  # ss is listed already
            ]
            if len(own) < len(cats):
                result["overall"] = None
        about = {"says": artefact.says, "why": artefact.why, "beyond_chance": beyond}
        measured.append({**result, **about})
    return measured


def beyond_chance(result: Fields) -> list[Fields]:
    """The values at which a baseline that understands nothing differs clearly from chance.

    For each kind of CAT these are an lms whose interval is above 60, and an ss whose interval does
    not contain 50. Cells with fewer than five terms and values without an interval are skipped.

    Args:
        result: of ``metrics.results``, with ties half won.

    Returns:
        Rows ``{"kind", "figure", "value", "ci"}``; ``figure`` is lms or ss.
    """
    rows = []
    for kind in KINDS:
        cell = result["kinds"].get(kind, {}).get("overall", {"few_terms": True})
        if cell["few_terms"]:
            continue
        for metric in ("lms", "ss"):
            bounds = cell[f"{metric}_ci"]
            if bounds is None:
                continue
            low, high = bounds
            if low > CLEAR_LMS if metric == "lms" else not low <= CHANCE <= high:
                rows.append({"kind": kind, "figure": metric, "value": cell[metric], "ci": bounds})
    return rows
