"""The criteria of all bias measures of a campaign (Bommasani & Liang 2022, sections 5 to 7)."""

from collections.abc import Mapping, Sequence

from curation.bias import CRITERIA, Criterion, CriterionName, Status
from curation.trust.groups import Groups
from curation.trust.protocol.agreement import agreement_criteria, retest_criteria
from curation.trust.protocol.amplification import amplification_criteria
from curation.trust.protocol.checks import KINDS, obey_controls, rows_of
from curation.trust.protocol.content import content_criteria
from curation.trust.protocol.convergent import convergent_criteria
from curation.trust.protocol.measured import MeasureCase, MeasureRun, Measures
from curation.trust.protocol.mitigation import mitigation_criteria
from curation.trust.protocol.predictive import predictive_criteria
from curation.trust.protocol.rows import row
from curation.trust.protocol.sensitivity import sensitivity_criteria
from curation.trust.protocol.split_half import split_half_criteria
from curation.trust.protocol.table import CHECKS
from curation.trust_settings import TrustSettings

__all__ = ["MeasureRun", "measure_criteria"]


def measure_criteria(
    runs: Sequence[MeasureRun],
    groups: Mapping[str, Groups],
    settings: TrustSettings,
    *,
    seed: int,
) -> list[Criterion]:
    """The rows of the trust report about bias measures.

    Each run has at least one row for each criterion but consequential validity, which people
    attest. Negative controls follow the rows that they belong to.

    Args:
        runs: all runs.
        groups: the groups by name, with anchors and outcomes.
        settings: ``[trust]``: thresholds, and the pairs of runs to compare.
        seed: of the permutation tests.

    Returns:
        Rows in the order of the runs, and of the criteria within a run.
    """
    rows = predictive_criteria(runs, groups, settings, seed=seed)
    rows += amplification_criteria(runs, settings)
    rows += mitigation_criteria(runs, settings)
    every = Measures(tuple(runs), groups)
    for run in runs:
        case = MeasureCase(
            subject="measure",
            name=run.name,
            settings=settings,
            seed=seed,
            files={"": (run.name,)},
            run=run,
            all=every,
        )
        rows += rows_of(CHECKS, case)
        rows += content_criteria(run)
        rows += convergent_criteria(run, runs, settings, seed=seed)
        rows += agreement_criteria(run, settings)
        rows += sensitivity_criteria(run, runs, settings)
        rows += split_half_criteria(run, settings)
        rows += retest_criteria(run, settings)
    rows += _missing(runs, rows)
    places = {run.name: place for place, run in enumerate(runs)}
    rows.sort(
        key=lambda row: (places[row.name], CRITERIA.index(row.criterion), KINDS.index(row.kind))
    )
    return obey_controls(rows)


_NO_EVIDENCE = (
    "the run has no evidence: the measure was not computed again with changed inputs",
    "measure again with this version of curation",
)
_IF_MISSING: dict[CriterionName, tuple[str, str]] = {
    **dict.fromkeys(("content", "sensitivity", "split_half"), _NO_EVIDENCE),
    "amplification": (
        "the run is not in a pair of runs",
        "name this run and one of what it was made from in [trust] amplification",
    ),
    "mitigation": (
        "the run is not in a pair of runs",
        "reduce the bias («curation trust debias»), measure again, and name both runs in [trust] "
        "mitigation",
    ),
}
"""Why a run has no row of a criterion, and what would give it one."""


def _missing(runs: Sequence[MeasureRun], rows: Sequence[Criterion]) -> list[Criterion]:
    """A row for each criterion of which a run has none: it was not run, or does not apply."""
    known = {(row.name, row.criterion) for row in rows}
    before = {(name, row.criterion) for row in rows for name in row.evidence}
    found = []
    for run in runs:
        for name, (why, change) in _IF_MISSING.items():
            if (run.name, name) in known:
                continue
            if (run.name, name) in before:
                why, change = "the run is what another run is compared with", ""
            elif name == "amplification" and run.prior:
                why, change = "a prior measure has no distribution to compare", ""
            status: Status = "not_run" if change else "not_applicable"
            found.append(row(run, name, name, status, computed=why, change=change))
    return found
