"""Agreement of annotators, its negative control, and retest: labels that were collected twice."""

import numpy as np
from numpy.typing import NDArray

from curation.bias import Criterion, Pair, Status
from curation.records import VALUES
from curation.stats.agreement import coefficient, shuffled
from curation.trust.protocol.agreement import MUST_FAIL, SHUFFLES, alpha_with_interval
from curation.trust.protocol.data import DatasetInput
from curation.trust.protocol.dataset.rows import About
from curation.trust.protocol.over_terms import span
from curation.trust.protocol.verdicts import verdict
from curation.trust_settings import TrustSettings

ALL, HARD = "all-labels", "stereotype-or-anti"
_SAYS = {
    ALL: "all associations",
    HARD: "associations with gold stereotype or anti-stereotype",
}
_CHANCE = 0.0
_STRICT = 4  # the tier of CATs on which more annotators agree


def agreement(
    data: DatasetInput, about: About, settings: TrustSettings, *, seed: int
) -> list[Criterion]:
    """Krippendorff's alpha of the labels of the CATs, and of shuffled labels.

    Each row names its set: all associations, or those with gold stereotype or anti-stereotype,
    which is the harder choice; of both kinds, and of each.
    """
    if data.votes is None or not data.votes.sum():
        return [
            about.not_run(
                "agreement",
                ALL,
                "alpha needs the labels of annotators, and there are none",
                "give the labels: a campaign with a validation round, or gold files with labels",
            )
        ]
    kinds = data.kinds_there
    rows = []
    for name in (ALL, HARD):
        for kind in [None, *kinds] if len(kinds) > 1 else [None]:
            rows.append(_row(data, about, settings, name, kind))
    rows.append(_shuffled(data, about, settings, seed=seed))
    return rows


def _chosen(data: DatasetInput, name: str, kind: str | None) -> NDArray[np.bool_]:
    """Which associations belong to a set."""
    chosen = np.ones(data.golds.size, bool)
    if name == HARD:
        chosen &= data.golds.ravel() < 2  # codes in GOLDS: stereotype, anti-stereotype
    if kind is not None:
        chosen &= np.repeat(data.kinds == kind, 3)
    assert data.votes is not None
    return np.asarray(chosen & (data.votes.sum(axis=1) > 0))


def _row(
    data: DatasetInput, about: About, settings: TrustSettings, name: str, kind: str | None
) -> Criterion:
    assert data.votes is not None
    cats = np.arange(data.golds.size) // 3
    chosen = _chosen(data, name, kind)
    value, ci = alpha_with_interval(
        data.votes[chosen], cats[chosen], confidence=settings.confidence
    )
    status = verdict(value, threshold=settings.agreement, ci=ci)
    domains = np.repeat(data.domains[data.codes], 3)
    parts = []
    for domain in sorted(set(data.domains)):
        own = coefficient("alpha", data.votes[chosen & (domains == domain)])
        parts.append(f"{domain} {'not defined' if own is None else f'{own:.3f}'}")
    of_kind = (
        f" of {kind} CATs"
        if kind
        else (f" of {data.kinds_there[0]} CATs" if len(data.kinds_there) == 1 else " of both kinds")
    )
    return about.row(
        "agreement",
        f"{name}:{kind}" if kind else name,
        status,
        statistic="Krippendorff's alpha (nominal)",
        value=value,
        ci=ci,
        n=len(set(cats[chosen])),
        unit="CATs",
        threshold=settings.agreement,
        computed=f"alpha over the counted labels of {_SAYS[name]}{of_kind}; {int(chosen.sum())} "
        f"associations, {int(data.votes[chosen].sum())} labels. By domain: {', '.join(parts)}",
        change=_change(data, settings, name, kind, value, ci),
    )


def _change(
    data: DatasetInput,
    settings: TrustSettings,
    name: str,
    kind: str | None,
    value: float | None,
    ci: Pair | None,
) -> str:
    """What would change the verdict: a stricter tier, or more CATs."""
    if value is None or ci is None:
        return "label more CATs with two or more annotators each"
    if verdict(value, threshold=settings.agreement, ci=ci) == "inconclusive":
        return (
            f"more labelled CATs: the interval {span(ci, 3)} includes the threshold "
            f"{settings.agreement:g}"
        )
    assert data.votes is not None
    chosen = _chosen(data, name, kind)
    if value >= settings.agreement:
        return f"an interval that contains {settings.agreement:g}, in new labels"
    gold_votes = data.votes[np.arange(len(data.votes)), data.golds.ravel()]
    least = np.repeat(gold_votes.reshape(-1, 3).min(axis=1), 3)
    strict = chosen & (least >= _STRICT)
    own = coefficient("alpha", data.votes[strict])
    return "labels after clearer instructions, on CATs that were not chosen by their votes" + (
        ""
        if own is None
        else f". The {int(strict.sum())} of {int(chosen.sum())} associations in CATs of tier "
        f"{_STRICT} or above have an alpha of {own:.3f}, but they were chosen by their votes"
    )


def _shuffled(data: DatasetInput, about: About, settings: TrustSettings, *, seed: int) -> Criterion:
    """The negative control: the same labels, given to associations at random."""
    assert data.votes is not None
    chosen = _chosen(data, ALL, None)
    votes, cats = data.votes[chosen], (np.arange(data.golds.size) // 3)[chosen]
    rng = np.random.default_rng(seed)
    values, verdicts = [], []
    for _ in range(SHUFFLES):
        mixed = shuffled(votes, rng)
        value, ci = alpha_with_interval(mixed, cats, confidence=settings.confidence)
        values.append(_CHANCE if value is None else value)
        verdicts.append(verdict(value, threshold=settings.agreement, ci=ci))
    failed, passed = verdicts.count("fail"), verdicts.count("pass")
    status: Status = "pass" if failed >= MUST_FAIL * SHUFFLES else "inconclusive"
    if passed > (1 - MUST_FAIL) * SHUFFLES:
        status = "fail"
    low, high = np.quantile(values, [0.025, 0.975])
    return about.row(
        "agreement",
        "shuffled-labels",
        status,
        kind="control",
        statistic="Krippendorff's alpha (signed), median of the shuffles",
        value=float(np.median(values)),
        ci=(low, high),
        n=SHUFFLES,
        unit="shuffles",
        threshold=settings.agreement,
        computed=f"negative control: the labels were given to associations at random {SHUFFLES} "
        f"times; {failed} of them fail agreement, as expected, and {passed} pass. The interval "
        "has 95 % of the shuffles",
        change="more labelled CATs" if status == "inconclusive" else "nothing that you can supply",
    )


def retest(data: DatasetInput, about: About, settings: TrustSettings) -> list[Criterion]:
    """Agreement of labels with labels of the same associations at another time."""
    if not data.retests:
        return [
            about.not_run(
                "retest",
                "labels",
                "needs labels of the same associations at two times, and there are none",
                "let annotators label about 100 associations a second time (count_repeats in "
                "[decisions] must stay false), or open a second validation round of the same items",
            )
        ]
    rows = []
    for again in data.retests:
        votes = np.zeros((len(again.labels), len(VALUES)), np.int64)
        np.add.at(votes, (np.arange(len(votes)), again.labels[:, 0]), 1)
        np.add.at(votes, (np.arange(len(votes)), again.labels[:, 1]), 1)
        value, ci = alpha_with_interval(votes, again.cats, confidence=settings.confidence)
        same = int((again.labels[:, 0] == again.labels[:, 1]).sum())
        status = verdict(value, threshold=settings.reliability, ci=ci)
        rows.append(
            about.row(
                "retest",
                again.name.replace(" ", "-"),
                status,
                statistic="Krippendorff's alpha of first and second label",
                value=value,
                ci=ci,
                n=len(again.labels),
                unit="associations",
                threshold=settings.reliability,
                computed=f"agreement of the first with the second label, by {again.name}; {same} "
                f"of {len(again.labels)} are the same{again.note}",
                change="more associations with a second label"
                if status == "inconclusive"
                else "other second labels, for example after clearer instructions",
            )
        )
    return rows
