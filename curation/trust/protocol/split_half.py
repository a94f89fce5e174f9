"""Split half: do two halves of the groups' words give the same results?

The paper's criteria lack it. Each list of words is divided at random in two halves. The measure is
computed with each half, and the halves' correlation over targets gives the reliability of the whole
lists (Spearman-Brown).
"""

from collections.abc import Sequence

import numpy as np

from curation.bias import Bias, Criterion, Evidence
from curation.stats.correlations import Correlation, correlate, spearman_brown
from curation.stats.power import needed_units, rank_power
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.changes import Again, attempt, with_words
from curation.trust.protocol.lists import UsedWords
from curation.trust.protocol.measured import MeasureRun, alike, paired
from curation.trust.protocol.rows import evidence_row, own_evidence
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings
from curation.wording import amount

CHECK, STATISTIC = "words", "reliability of the word lists (Spearman-Brown)"


def split_half_evidence(
    again: Again,
    groups: Groups,
    policies: Policies,
    base: Sequence[Bias],
    *,
    used: UsedWords,
    draws: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> list[Evidence]:
    """Evidence of reliability, from the measure computed with halves of the lists.

    Of all draws, the one with the median correlation is reported; with more than two groups, the
    group whose halves correlate least. Interval and p are over targets.
    """
    if used.why or used.shortest < 2:
        why = used.why or "a list has fewer than two words that are used"
        return [_evidence(None, None, 0, why)]
    found = []
    for _ in range(draws):
        first, second = (
            attempt(again, with_words(groups, half), policies)[0] for half in used.halves(rng)
        )
        both = paired(first, second)
        found.append((alike(both).rho, both))
    # Rounded: equal values keep the order of the draws, whatever the processor.
    known = sorted(
        (each for each in found if each[0] is not None), key=lambda each: round(each[0] or 0, 9)
    )
    if len(known) <= draws // 2:
        return [_evidence(None, None, len(base), "most halves have no result")]
    both = known[len(known) // 2][1]
    columns = [
        correlate(both.first[:, at].tolist(), both.second[:, at].tolist(), confidence=confidence)
        for at in range(both.first.shape[1])
    ]
    least = min(columns, key=lambda found: round(found.rho or 0.0, 9))
    whole = spearman_brown(least.rho or 0.0)
    detail = (
        f"{draws} random divisions of each list in two halves; the median rank correlation of the "
        f"halves is {least.rho:.3f}, which gives {whole:.3f} for whole lists"
    )
    if len(columns) > 1:
        detail += f"; they are those of «{groups.names[columns.index(least)]}», the lowest"
    return [_evidence(whole, least, len(both.targets), detail)]


def _evidence(value: float | None, found: Correlation | None, n: int, detail: str) -> Evidence:
    ci = found.ci if found else None
    return Evidence(
        criterion="split_half",
        check=CHECK,
        statistic=STATISTIC,
        value=value,
        ci=None if ci is None else (spearman_brown(ci[0]), spearman_brown(ci[1])),
        p=found.p if found else None,
        n=n,
        detail=detail,
    )


def split_half_criteria(run: MeasureRun, settings: TrustSettings) -> list[Criterion]:
    """The rows of split half; power is at the halves' correlation that gives the threshold."""
    rows = []
    for evidence in own_evidence(run, "split_half"):
        threshold = settings.reliability
        halves = threshold / (2 - threshold)  # Spearman-Brown gives the threshold
        power = rank_power(min(halves, 0.999), evidence.n, alpha=settings.alpha)
        status = verdict(
            evidence.value,
            threshold=threshold,
            ci=evidence.ci,
            p=evidence.p,
            power=power,
            limits=Limits(settings.alpha, settings.power),
        )
        needed = needed_units(halves, alpha=settings.alpha, power=settings.power)
        more = (needed or 0) - evidence.n
        change = "longer lists, or lists of words that are more alike"
        if status == "pass":
            change = f"a reliability below {threshold:g}"
        elif status == "inconclusive" and more > 0:
            change = f"{amount(more, 'more target')} (power {settings.power:g}), or longer lists"
        rows.append(
            evidence_row(run, evidence, status, threshold=threshold, power=power, change=change)
        )
    return rows
