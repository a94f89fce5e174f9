"""Predictive validity: bias goes with the groups' shares in the world (section 6, Table 5).

The code of Table 5 compares sizes with sizes: L1 from uniform on both sides. That hides the
direction, so the signed values are compared too. All tests on the same groups are corrected
together (Holm).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from curation.bias import Bias, Criterion
from curation.stats.correlations import Correlation, correlate
from curation.stats.tests import holm
from curation.trust.groups import Groups
from curation.trust.protocol.correlated import correlation_row
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.rows import row
from curation.trust_settings import TrustSettings


def predictive_criteria(
    runs: Sequence[MeasureRun],
    groups: Mapping[str, Groups],
    settings: TrustSettings,
    *,
    seed: int,
) -> list[Criterion]:
    """The rows of predictive validity of all runs; p is Holm's, over all runs on the same groups.

    Args:
        runs: all runs.
        groups: the groups by name, with their outcomes.
        settings: the thresholds.
        seed: of the permutations.
    """
    rows: list[Criterion] = []
    for name in dict.fromkeys(run.groups for run in runs):
        own = [run for run in runs if run.groups == name]
        outcomes = groups[name].outcomes if name in groups else {}
        if not outcomes:
            why = "there are no outcomes: the groups' shares in the world"
            todo = f"set outcomes in [groups.{name}]"
            rows += [
                row(run, "predictive", "outcomes", "not_run", computed=why, change=todo)
                for run in own
            ]
            continue
        tests = [(run, *test) for run in own for test in predictions(run, outcomes, settings, seed)]
        corrected = holm([found.p for *_, found in tests])
        rows += [
            _row(run, check, found, p, len(tests), settings)
            for (run, check, found), p in zip(tests, corrected, strict=True)
        ]
    return rows


def _row(
    run: MeasureRun,
    check: str,
    found: Correlation,
    p: float | None,
    tests: int,
    settings: TrustSettings,
) -> Criterion:
    names = run.group_names
    if check == "unsigned":
        size = "the absolute value" if run.prior else "L1 of p"
        what = f"sizes: {size}, and of the shares in the world, from equal shares"
    elif run.prior:
        what = f"directions: the value, and the share of {names[0]} less that of {names[1]}"
    else:
        group = check.removeprefix("signed-") if len(names) > 2 else names[0]
        what = f"directions: p of {group}, and the share of {group} in the world"
    raw = "" if found.p is None else f"; p {found.p:.2g} before Holm's correction of {tests} tests"
    return correlation_row(
        run,
        "predictive",
        check,
        found,
        p=p,
        threshold=settings.predictive,
        settings=settings,
        computed=what + raw,
        tests=tests,
    )


def predictions(
    run: MeasureRun, outcomes: Mapping[str, Sequence[float]], settings: TrustSettings, seed: int
) -> list[tuple[str, Correlation]]:
    """The correlations of a run with outcomes, by check: signed (for each group), and unsigned.

    Shares in the world are divided by their sum, since groups such as three races do not make up
    everybody. A prior measure's value is compared with the first group's share less the second's.
    """
    pairs = [
        (values, shares)
        for bias in run.biases
        if len(outcomes.get(bias.target, ())) == len(bias.groups)
        and (values := _from_uniform(bias)) is not None
        and (shares := normalised(outcomes[bias.target])) is not None
    ]
    names = run.group_names

    def test(first: Sequence[float], second: Sequence[float]) -> Correlation:
        return correlate(first, second, confidence=settings.confidence, seed=seed)

    found: list[tuple[str, Correlation]] = []
    if run.prior and len(names) == 2:
        found.append(("signed", test([v[0] for v, _ in pairs], [s[0] - s[1] for _, s in pairs])))
    elif not run.prior:
        for place, name in enumerate(names if len(names) > 2 else names[:1]):
            check = "signed" if len(names) == 2 else f"signed-{name}"
            found.append((check, test([v[place] for v, _ in pairs], [s[place] for _, s in pairs])))
    # A prior measure for several groups has no direction and may be negative (Table 7).
    plain = run.prior and len(names) > 2
    sizes = [_rounded(v[0] if plain else np.abs(v).sum()) for v, _ in pairs]
    gaps = [_rounded(np.abs(np.array(s) - 1 / len(s)).sum()) for _, s in pairs]
    return [*found, ("unsigned", test(sizes, gaps))]


def _rounded(value: float) -> float:
    """Equal sizes of opposite directions are ties; rounding errors must not order them."""
    return round(float(value), 12)


def normalised(shares: Sequence[float]) -> tuple[float, ...] | None:
    """Shares divided by their sum; None if all are 0.

    >>> normalised((0.5, 0.25, 0.25)), normalised((0.25, 0.25)), normalised((0.0, 0.0))
    ((0.5, 0.25, 0.25), (0.5, 0.5), None)
    """
    total = sum(shares)
    return tuple(share / total for share in shares) if total > 0 else None


def _from_uniform(bias: Bias) -> tuple[float, ...] | None:
    """The shares p less equal shares, whatever the reference; or a prior measure's value."""
    if bias.value is not None:
        return (bias.value,)
    return None if bias.p is None else tuple(share - 1 / len(bias.p) for share in bias.p)
