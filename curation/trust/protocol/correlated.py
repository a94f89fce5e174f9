"""A rank correlation over targets as a row of the report: convergent and predictive validity."""

from collections.abc import Sequence

from curation.bias import Criterion, CriterionName
from curation.stats.correlations import Correlation
from curation.stats.power import critical_rho, detectable_rho, needed_units, rank_power
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.rows import row
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings


def correlation_row(
    run: MeasureRun,
    criterion: CriterionName,
    check: str,
    found: Correlation,
    *,
    p: float | None,
    threshold: float,
    settings: TrustSettings,
    computed: str,
    tests: int = 1,
    evidence: Sequence[str] = (),
) -> Criterion:
    """The row of a rank correlation that should reach a threshold.

    Args:
        run: the run that is tested.
        criterion: convergent or predictive.
        check: the check's name.
        found: the correlation.
        p: its p, corrected for the number of tests if there are several.
        threshold: the least correlation that passes.
        settings: alpha and the least power.
        computed: what was correlated.
        tests: the number of tests that p is corrected for. The power is that of the strictest of
            them, at alpha / tests.
        evidence: the runs that were used.
    """
    alpha = settings.alpha / max(1, tests)
    power = None
    if threshold > 0:
        power = rank_power(min(threshold, 0.999), found.n, alpha=alpha) if found.n > 3 else 0.0
    else:
        computed += "; power is not defined for a threshold of 0"
    status = verdict(
        found.rho,
        threshold=threshold,
        ci=found.ci,
        p=p,
        power=power,
        limits=Limits(settings.alpha, settings.power),
    )
    if found.r_squared is not None:
        computed = f"{computed}; R² {found.r_squared:.3f}"
    return row(
        run,
        criterion,
        check,
        status,
        statistic="Spearman's rank correlation",
        value=found.rho,
        ci=found.ci,
        n=found.n,
        unit="targets",
        p=p,
        power=power,
        threshold=threshold,
        computed=computed,
        change=_change(status, found, p, tests, threshold, settings),
        evidence=evidence,
    )


def _change(
    status: str,
    found: Correlation,
    p: float | None,
    tests: int,
    threshold: float,
    settings: TrustSettings,
) -> str:
    alpha, power = settings.alpha, settings.power
    if status == "pass":
        # A corrected p is a multiple of p, so alpha is divided by the same factor.
        own = alpha * found.p / p if p and found.p else alpha
        least = max(threshold, critical_rho(found.n, own))
        return f"a correlation below {least:.2f} on as many targets"
    if status == "fail":
        return "another measure: more targets would only make the interval narrower"
    needed = needed_units(threshold, alpha=alpha / tests, power=power)
    if needed is not None and needed > found.n:
        return (
            f"{needed - found.n} more targets ({needed} in all), with which a correlation of "
            f"{threshold:g} is found with power {power:g}"
        )
    least_seen = detectable_rho(found.n, alpha=alpha / tests, power=power)
    if needed is None and least_seen is None:
        return f"more than {found.n} targets: no correlation is found with power {power:g}"
    if needed is None:
        return (
            f"more targets, or a larger threshold: {found.n} targets show a correlation of "
            f"{least_seen:.2f} or more with power {power:g}"
            + (f", if p is corrected for {tests} tests" if tests > 1 else "")
        )
    return "more targets: the interval must be on one side of the threshold"
