"""Predictive validity: the ss of terms beside outcomes in the world."""

import numpy as np

from curation.bias import Status
from curation.stats.correlations import Correlation, correlate
from curation.stats.power import needed_units, rank_power
from curation.stats.tests import holm
from curation.trust.protocol.data import DatasetInput, RuleGroup, Scored
from curation.trust.protocol.dataset.convergent import FEWEST, fields, r_squared
from curation.trust.protocol.dataset.rows import About, Rows
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings


def predictive(
    data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings, *, seed: int
) -> Rows:
    """The ss of terms beside outcomes in the world: their distance from equal shares, and signed.

    If stereotypes follow the world, a model prefers them most for terms whose shares of the groups
    are most unequal. The signed row has the share of the first group.

    Returns:
        Rows, each with the runs whose ss it uses. p has Holm's correction over these rows.
    """
    tests: list[tuple[str, str, Scored, Correlation]] = []
    short: Rows = []
    tables = {name: groups for name, groups in data.tables.items() if groups.outcomes}
    for name, groups in tables.items():
        shares = {target.casefold(): np.array(p) for target, p in groups.outcomes.items()}
        equal = 1 / len(groups.words)
        unequal = [
            float(np.abs(shares[t] - equal).sum()) if t in shares else np.nan for t in data.targets
        ]
        leading = [float(shares[t][0]) if t in shares else np.nan for t in data.targets]
        outcomes = {
            "unequal": (unequal, "the L1 distance of the outcome from equal shares"),
            "signed": (leading, f"the share of {groups.names[0]} in the outcome"),
        }
        for run in (data.runs[number] for number in group.runs):
            ss = data.means(run.ss)
            for check, (values, says) in outcomes.items():
                other = np.array(values)
                both = ~np.isnan(ss) & ~np.isnan(other)
                check = f"{check}:{run.model}:{name}"
                if both.sum() < FEWEST:
                    row = about.not_run(
                        "predictive",
                        check,
                        f"only {int(both.sum())} terms of {run.name} have an outcome in {name}",
                        f"outcomes of about {needed_units(0.5)} of the dataset's terms",
                    )
                    short.append((row, (run,)))
                    continue
                found = correlate(
                    ss[both].tolist(),
                    other[both].tolist(),
                    confidence=settings.confidence,
                    seed=seed,
                )
                tests.append((check, f"ss of terms of {run.name} and {says} ({name})", run, found))
    if not tests and not short:
        row = about.not_run(
            "predictive",
            "outcomes",
            "needs shares of the groups in the world for the dataset's terms, and there are none",
            "in campaign.toml, set outcomes in a [groups.NAME] table to a CSV file with the terms "
            f"as targets, such as a census; about {needed_units(0.5)} terms for a rho of 0.5",
        )
        return [(row, ())]
    corrected = holm([found.p for *_, found in tests])
    rows = short
    for (check, says, run, found), p in zip(tests, corrected, strict=True):
        at = settings.predictive
        strictest = settings.alpha / len(tests)  # of Holm's steps
        power = rank_power(min(at, 0.999), found.n, alpha=strictest) if at > 0 else None
        status: Status = verdict(
            found.rho,
            threshold=settings.predictive,
            ci=found.ci,
            p=1.0 if p is None else p,
            power=power,
            limits=Limits(settings.alpha, settings.power),
        )
        row = about.row(
            "predictive",
            check,
            status,
            **fields(found) | {"p": p},
            threshold=settings.predictive,
            power=power,
            computed=f"{says}; p with Holm's correction over {len(tests)} tests. "
            + r_squared(found)
            + ("" if at > 0 else ". Power is not defined for a threshold of 0"),
            change=_needed_outcomes(found, settings, status, strictest),
        )
        rows.append((row, (run,)))
    return rows


def _needed_outcomes(
    found: Correlation, settings: TrustSettings, status: Status, alpha: float
) -> str:
    if status == "pass":
        return "a rho that does not differ from 0 on other terms"
    rho = settings.predictive or 0.5
    needed = needed_units(rho, alpha=alpha, power=settings.power)
    if needed and needed > found.n:
        return f"about {needed - found.n} more terms with outcomes, to find a rho of {rho:g}"
    return "more CATs per term, or other outcomes"
