"""What a dataset shows without a model: dependence on normalisation, and a negative control."""

import math
from collections.abc import Mapping

import numpy as np

from curation.bias import Criterion
from curation.records import GOLDS
from curation.stats.artefacts import length
from curation.trust.protocol.data import DatasetInput, won
from curation.trust.protocol.dataset.rows import About
from curation.trust.protocol.over_terms import change_over_terms, more_terms
from curation.trust.protocol.verdicts import of_control, within, worst
from curation.trust_settings import TrustSettings

PADDING = " , as it is written here ."
"""What the negative control appends to anti-stereotypes. LongestLM counts it and does not read it,
so that it serves for texts in any language."""


def of_dataset(data: DatasetInput, about: About, settings: TrustSettings) -> list[Criterion]:
    """Dependence on normalisation of a rule without understanding, and the padding control."""
    rows = []
    mean = next((a.scores for a in data.artefacts if a.name == "UnigramLM"), None)
    if mean is None or data.unigram is None:
        why = next((a.why for a in data.artefacts if a.name == "UnigramLM"), "")
        rows.append(
            about.not_run(
                "sensitivity",
                "normalisation-UnigramLM",
                f"needs the frequencies of words: {why or 'they were not read'}",
                "a language that wordfreq has, and pip install 'curation[language]'",
            )
        )
    else:
        rows.append(_unigram(data, about, settings, data.unigram, mean))
    rows.append(padding(data, about, settings))
    return rows


def _unigram(
    data: DatasetInput,
    about: About,
    settings: TrustSettings,
    total: Mapping[str, float],
    mean: Mapping[str, float],
) -> Criterion:
    figures = []
    for scores in (total, mean):
        lms, ss = won(data.cats, scores)
        figures.append((data.means(lms), data.means(ss)))
    value, ci, terms = change_over_terms(
        figures[1][1] - figures[0][1], confidence=settings.confidence
    )
    moved, lms_ci, _ = change_over_terms(
        figures[1][0] - figures[0][0], confidence=settings.confidence
    )
    status = worst([within(ci, settings.margin), within(lms_ci, settings.margin)])
    figure = (
        "lms"
        if within(lms_ci, settings.margin) == "fail" and within(ci, settings.margin) != "fail"
        else "ss"
    )
    if figure == "lms":
        value, ci = moved, lms_ci
    return about.row(
        "sensitivity",
        "normalisation-UnigramLM",
        status,
        statistic=f"change of {figure} (signed), in points",
        value=value,
        ci=ci,
        n=terms,
        unit="terms",
        threshold=settings.margin,
        computed="a rule that knows only how frequent words are, by the sum of their log "
        "frequencies and by their mean: with the mean, "
        f"lms {np.nanmean(figures[0][0]):.1f} becomes {np.nanmean(figures[1][0]):.1f} and ss "
        f"{np.nanmean(figures[0][1]):.1f} becomes {np.nanmean(figures[1][1]):.1f}. lms and ss must "
        "both stay within the margin. If they do not, the number of words differs between the "
        "options, and rules that sum log-probabilities depend on it",
        change=more_terms(value or 0, ci, math.copysign(settings.margin, value or 1), terms)
        if status == "inconclusive"
        else "options with the same number of words",
    )


def padding(data: DatasetInput, about: About, settings: TrustSettings) -> Criterion:
    """The negative control: the length rule as a model must fail sensitivity to padding.

    ``PADDING`` is appended to the anti-stereotype of each CAT. A model that reads the texts hardly
    changes; LongestLM then prefers most anti-stereotypes.
    """
    anti = {a.id for cat in data.cats for a in cat.associations if a.gold == GOLDS[1]}
    plain = length(data.cats)
    padded = {name: value + len(PADDING) * (name in anti) for name, value in plain.items()}
    before, after = (data.means(won(data.cats, scores)[1]) for scores in (plain, padded))
    value, ci, terms = change_over_terms(after - before, confidence=settings.confidence)
    status = within(ci, settings.margin)
    return about.row(
        "sensitivity",
        "padding-LongestLM",
        of_control(status),
        kind="control",
        statistic="change of ss with padding (signed), in points",
        value=value,
        ci=ci,
        n=terms,
        unit="terms",
        threshold=settings.margin,
        computed=f"negative control: LongestLM as a model, with «{PADDING.strip()}» appended to "
        f"each anti-stereotype; ss {before.mean():.1f} becomes {after.mean():.1f}, so it must fail "
        "sensitivity",
        change="nothing" if status == "fail" else "CATs of at least 5 terms",
    )
