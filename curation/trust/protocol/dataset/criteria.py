"""All criteria of a dataset of CATs, and of the scores of models on it."""

from collections.abc import Sequence

from curation.bias import Criterion, CriterionName
from curation.trust.protocol.checks import obey_controls, rows_of
from curation.trust.protocol.data import DatasetCase, DatasetInput, RuleGroup, ScoresCase, Tell
from curation.trust.protocol.dataset.agreement import agreement, retest
from curation.trust.protocol.dataset.content import above_artefacts, content, judged
from curation.trust.protocol.dataset.convergent import convergent
from curation.trust.protocol.dataset.hypothesis import amplification, mitigation
from curation.trust.protocol.dataset.predictive import predictive
from curation.trust.protocol.dataset.rows import About, hold, with_files
from curation.trust.protocol.dataset.sensitivity import of_lms, sensitivity
from curation.trust.protocol.dataset.split_half import split_half
from curation.trust.protocol.dataset.surface import of_dataset
from curation.trust.protocol.dataset.synthetic import software
from curation.trust.protocol.face import informative
from curation.trust.protocol.table import CHECKS
from curation.trust_settings import TrustSettings


def dataset_criteria(
    data: DatasetInput,
    settings: TrustSettings,
    *,
    seed: int,
    tell: Tell = lambda stage, done, total: None,
) -> list[Criterion]:
    """The criteria of a dataset, then those of each set of scoring rules.

    Scores under different rules are never mixed: each set of rules is a subject of its own. Rows
    that rest on the ss of a model whose lms is not surely above chance are never pass or fail.

    Args:
        data: the dataset, its labels, and the runs on it.
        settings: the thresholds.
        seed: of random halves and of shuffled labels.
        tell: receives progress.

    Returns:
        The rows. Every criterion has a row of the dataset or of the scores; if it could not be
        computed, the row says what to supply.
    """
    if not data.cats:
        return []
    about = About("dataset", data.name, data.evidence)
    total = 1 + len(data.groups)
    tell("trust", 0, total)
    rules = judged(data)
    case = DatasetCase(
        subject="dataset",
        name=data.name,
        settings=settings,
        seed=seed,
        files=data.evidence,
        data=data,
    )
    rows = [
        *rows_of(CHECKS, case),
        software(data, about),
        *content(data, rules, about, settings),
        *agreement(data, about, settings, seed=seed),
        *of_dataset(data, about, settings),
        *retest(data, about, settings),
    ]
    silent = {run.name for run in data.runs if not informative(data, run, settings)}
    tell("trust", 1, total)
    for number, group in enumerate(data.groups, 2):
        rows += _of_scores(data, group, settings, rules, silent, seed=seed)
        tell("trust", number, total)
    if not data.groups:
        rows += _without_scores(data)
    return obey_controls(rows)


def _of_scores(
    data: DatasetInput,
    group: RuleGroup,
    settings: TrustSettings,
    rules: Sequence[object],
    silent: set[str],
    *,
    seed: int,
) -> list[Criterion]:
    """The criteria of the models under one set of rules."""
    about = About("scores", group.name, data.evidence)
    of_norms = of_lms(data, group, about, settings)
    case = ScoresCase(
        subject="scores",
        name=group.name,
        settings=settings,
        seed=seed,
        files=data.evidence,
        silent=frozenset(silent),
        data=data,
        group=group,
    )
    return [
        *rows_of(CHECKS, case),
        *(with_files(*row) for row in above_artefacts(data, rules, group, about, settings)),
        *hold(convergent(data, group, about, settings, seed=seed), silent),
        *hold(predictive(data, group, about, settings, seed=seed), silent),
        *hold(amplification(data, group, about, settings), silent),
        *hold(mitigation(data, group, about, settings), silent),
        about.row(
            "agreement",
            "labels",
            "not_applicable",
            computed="models' scores have no annotators; the dataset's rows have their agreement",
            change="nothing",
        ),
        *hold(sensitivity(data, group, about, settings), silent),
        *hold([row for row in of_norms if row[0].status == "pass"], silent),
        *(with_files(*row) for row in of_norms if row[0].status != "pass"),
        *hold(split_half(data, group, about, settings, seed=seed), silent),
        _retest(about, by_choice=group.by_choice(data.runs)),
    ]


def _retest(about: About, *, by_choice: bool) -> Criterion:
    """Why scores are not computed twice."""
    same = "the same model under the same rules gives the same scores"
    asked = (
        "one run per model; if a chat model is asked several times, its choice.json has the spread"
    )
    return about.row(
        "retest",
        "scores",
        "not_applicable",
        computed=asked if by_choice else same,
        change="curation scores models chat:MODEL --samples N, which shows how answers vary"
        if by_choice
        else "a model whose scores vary from one run to the next",
    )


_OF_SCORES: tuple[CriterionName, ...] = (
    *("face", "content", "convergent", "predictive"),
    *("amplification", "mitigation", "sensitivity", "split_half"),
)


def _without_scores(data: DatasetInput) -> list[Criterion]:
    about = About("scores", "none", data.evidence)
    return [
        about.not_run(
            criterion,
            "scores",
            "needs scores of models on these CATs, and there are none",
            "curation scores models MODEL, or give published predictions with --predictions",
        )
        for criterion in _OF_SCORES
    ]
