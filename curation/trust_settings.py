"""The settings of stage 6: groups, measures of bias, and the thresholds of the trust report."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from pydantic import model_validator as check_model

from curation.setting_types import Few, ListFile, Many, MaybeFile, Name, Section, Words


class GroupSettings(Section):
    """Groups that targets may be associated with, for the measures of bias in 6-trust/."""

    lists: Annotated[
        dict[Name, ListFile],
        Field(
            min_length=2,
            max_length=100,
            description="file of words of each group, in order; in 6-trust/ or included",
        ),
    ]
    domain: Annotated[Words, Field(description="domain whose target terms are measured")] = ""
    targets: Annotated[
        MaybeFile, Field(description="file of targets to measure; empty: the terms of the domain")
    ] = ""
    reference: Annotated[
        Annotated[str, StringConstraints(pattern=r"^(run:.*|[^/\\]+)$", max_length=4000)],
        Field(min_length=1, description="uniform, a CSV file of shares, or a run (run:MEASURE/…)"),
    ] = "uniform"
    anchors: Annotated[
        MaybeFile,
        Field(description="CSV file of targets and the group that each is known to favour"),
    ] = ""
    outcomes: Annotated[
        MaybeFile, Field(description="CSV file of targets and shares of the groups in the world")
    ] = ""
    history: Annotated[
        MaybeFile, Field(description="the same with a column year, for vectors of several years")
    ] = ""
    frequencies: Annotated[
        MaybeFile, Field(description="CSV file of how often targets occur in what is measured")
    ] = ""


class TrustSettings(Section):
    """The measures of bias, and the criteria of the trust report."""

    normalise: Annotated[
        Literal["sum", "softmax"], Field(description="how associations become a distribution")
    ] = "sum"
    negative: Annotated[
        Literal["undefined", "raw", "clip", "shift"],
        Field(
            description="negative associations: undefined, raw, clip (to 0), shift ((1 + x) / 2)"
        ),
    ] = "undefined"
    divergences: Annotated[
        Many[Literal["l2", "linf", "kl", "js", "tv"]],
        Field(description="divergences beside L1: l2, linf, kl, js, tv"),
    ] = ()
    window: Annotated[Few, Field(ge=1, description="sentences of a context in text")] = 3
    confidence: Annotated[
        float, Field(gt=0.5, lt=1, description="confidence of the intervals of bias")
    ] = 0.95
    alpha: Annotated[float, Field(gt=0, lt=0.5, description="p up to which a test counts")] = 0.05
    power: Annotated[
        float, Field(gt=0, lt=1, description="power below which a missing effect is inconclusive")
    ] = 0.8
    face: Annotated[
        float, Field(ge=0.5, le=1, description="share of anchors that must have the expected sign")
    ] = 0.75
    convergent: Annotated[
        float, Field(ge=0, le=1, description="rank correlation that two measures must reach")
    ] = 0.7
    predictive: Annotated[
        float, Field(ge=0, le=1, description="rank correlation with outcomes that must be exceeded")
    ] = 0.0
    agreement: Annotated[
        float, Field(ge=0, le=1, description="alpha that annotators must reach")
    ] = 0.667
    sensitivity: Annotated[
        float, Field(ge=0, le=1, description="rank correlation after a change of a parameter")
    ] = 0.8
    margin: Annotated[
        float, Field(gt=0, le=100, description="points by which a change may move ss")
    ] = 5.0
    reliability: Annotated[
        float, Field(ge=0, le=1, description="reliability of split halves and of a retest")
    ] = 0.7
    samples: Annotated[
        Few, Field(ge=20, description="random draws of word lists, halves and resamples")
    ] = 200
    amplification: Annotated[
        Many[Many[Words]], Field(description='pairs of runs to compare: [["AFTER", "BEFORE"], …]')
    ] = ()
    mitigation: Annotated[
        Many[Many[Words]], Field(description="the same, before and after bias was reduced")
    ] = ()

    @check_model(mode="after")
    def _has_pairs(self) -> "TrustSettings":
        for name in ("amplification", "mitigation"):
            if any(len(pair) != 2 for pair in getattr(self, name)):
                raise ValueError(f'{name} needs pairs of runs, such as [["AFTER", "BEFORE"]]')
        return self
