"""Face validity of scores: items and terms whose direction is known, and reversed scores."""

import numpy as np

from curation.bias import Criterion, Pair
from curation.trust.protocol.dataset.data import DatasetInput, RuleGroup, Scored
from curation.trust.protocol.dataset.rows import CHANCE, About, Rows, more_terms, share_of_terms
from curation.trust.protocol.signs import EITHER, VALID, judge_signs, signs_change
from curation.trust.protocol.verdicts import of_control, verdict
from curation.trust_settings import TrustSettings


def informative(data: DatasetInput, run: Scored, settings: TrustSettings) -> bool:
    """Whether a model surely tells meaningful from unrelated associations, so that ss says much."""
    _, ci, _ = _lms(data, run, settings)
    return ci is not None and ci[0] > CHANCE


def _lms(
    data: DatasetInput, run: Scored, settings: TrustSettings
) -> tuple[float | None, Pair | None, int]:
    cats = int((~np.isnan(run.lms)).sum())
    return share_of_terms(data.means(run.lms), cats=cats, confidence=settings.confidence)


def face(data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings) -> Rows:
    """Whether models prefer associations that annotators called meaningful to unrelated ones."""
    rows: Rows = []
    best: tuple[float, Scored] | None = None
    for number in group.runs:
        run = data.runs[number]
        value, ci, terms = _lms(data, run, settings)
        status = verdict(value, threshold=CHANCE, ci=ci)
        cats = int((~np.isnan(run.lms)).sum())
        if value is not None and (best is None or value > best[0]):
            best = value, run
        row = about.row(
            "face",
            f"meaningful:{run.model}",
            status,
            statistic="lms, mean over terms",
            value=value,
            ci=ci,
            n=terms,
            unit="terms",
            threshold=CHANCE,
            computed=f"{run.name}: how often associations that annotators called stereotype or "
            f"anti-stereotype are preferred to unrelated ones, over {cats} CATs; chance is 50",
            change=more_terms(value or 0, ci, CHANCE, terms)
            if status == "inconclusive"
            else "an interval that contains 50, on other CATs",
        )
        rows += [(each, (run,)) for each in (row, *_directions(data, run, about, settings))]
    if not data.directions:
        row = about.not_run(
            "face",
            "known-directions",
            "needs terms for which it is known what models prefer, and none are given",
            "in a campaign, list such terms in 6-trust/directions.csv, with the columns target and "
            "prefers (stereotype or anti-stereotype); at least 8 terms",
        )
        rows.append((row, ()))
    if best is not None:
        rows.append((_reversed(data, best[1], about, settings), (best[1],)))
    return rows


def _reversed(data: DatasetInput, run: Scored, about: About, settings: TrustSettings) -> Criterion:
    """The negative control: a model whose scores have the other sign must fail."""
    value, ci, terms = _lms(data, run._replace(lms=100 - run.lms), settings)
    status = verdict(value, threshold=CHANCE, ci=ci)
    if not informative(data, run, settings):
        return about.row(
            "face",
            f"reversed:{run.model}",
            "not_applicable",
            control=True,
            computed="negative control: needs a model whose lms is surely above 50, to reverse its "
            "scores",
            change="a model whose lms is surely above 50",
        )
    return about.row(
        "face",
        f"reversed:{run.model}",
        of_control(status),
        control=True,
        statistic="lms − 50 of reversed scores (signed)",
        value=None if value is None else value - CHANCE,
        ci=None if ci is None else (ci[0] - CHANCE, ci[1] - CHANCE),
        n=terms,
        unit="terms",
        threshold=0.0,
        computed=f"negative control: the scores of {run.name} with the other sign, which prefer "
        "the unrelated where the model does not, must fail face validity",
        change="nothing",
    )


def _directions(
    data: DatasetInput, run: Scored, about: About, settings: TrustSettings
) -> list[Criterion]:
    """The exact sign test over terms whose direction is known."""
    signs, wrong = [], []
    for target, ss in zip(data.targets, data.means(run.ss), strict=True):
        prefers = data.directions.get(target)
        if prefers is None or np.isnan(ss) or ss == CHANCE:
            continue
        right = (ss > CHANCE) == (prefers == "stereotype")
        signs.append(right)
        if not right:
            wrong.append(target)
    if not data.directions:
        return []
    if not signs:
        return [
            about.not_run(
                "face",
                f"known-directions:{run.model}",
                f"{run.name} has no scores of the terms in directions.csv",
                "list targets of this dataset",
            )
        ]
    found = judge_signs(sum(signs), len(signs), settings)
    return [
        about.row(
            "face",
            f"known-directions:{run.model}",
            found.status,
            statistic="share of terms with the known direction",
            value=found.share,
            ci=found.ci,
            n=len(signs),
            unit="terms",
            p=found.p,
            power=found.power,
            threshold=EITHER,
            computed=f"exact one-sided sign test over terms whose direction is known; power is "
            f"that at a share of {VALID:g}. Other direction: {', '.join(wrong) or 'none'}",
            change=signs_change(found.status, sum(signs), len(signs), settings, unit="term"),
        )
    ]
