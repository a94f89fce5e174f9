"""Fit an ensemble on dev CATs, and write it beside the models."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation import __version__
from curation.files import CurationError, dump_json, dump_line, read_json, writing
from curation.records import Cat, Score
from curation.scores import ensemble as ensembles
from curation.scores.ensemble import Ensemble, Objective
from curation.scores.flags import flags_of
from curation.scores.groups import ENSEMBLE, keys
from curation.scores.incomplete import missing_cats, scored_cats
from curation.scores.run_folder import RESULTS, RUN, SCORES, locked_run
from curation.scores.runs import Run, digests, folder_name
from curation.stats.metrics import Ties
from curation.steps.reporter import QUIET, Reporter
from curation.steps.scores.outdated import warn_if_outdated
from curation.steps.scores.runs import current_runs, read_runs, warn_of_older
from curation.steps.source import Source, read_gold
from curation.text.wording import amount


class FittedEnsemble(NamedTuple):
    """An ensemble that was fitted and written.

    Attributes:
        folder: where it was written.
        about: the content of its ``run.json``.
        results: ``metrics.results`` of each split, with ``left_out``.
        weights: of each member, by its name MODEL/RULE.
        flags: of the ensemble and of each member, by name, as in ``flags.flags_of``.
        left_out: how many CATs lack a score of a member.
    """

    folder: Path
    about: dict[str, Any]
    results: dict[str, Any]
    weights: dict[str, float]
    flags: dict[str, list[str]]
    left_out: int


def ensemble_splits(
    source: Source, dev: Sequence[Path] | None = None, *, reporter: Reporter = QUIET
) -> dict[str, list[Cat]]:
    """The CATs to score and the dev CATs to fit the weights on.

    Args:
        source: a campaign, or the gold files to score.
        dev: with gold files: the gold files to fit on. A campaign has its own dev CATs.
        reporter: receives a warning if the campaign's CATs are out of date.

    Returns:
        CATs by the name of their split: test and dev of a campaign, gold and dev of gold files.

    Raises:
        CurationError: a dev file is not a gold file or overlaps another, or a CAT is in both the
            source and a dev file.
    """
    if source.campaign:
        warn_if_outdated(source, reporter)
        return {name: [c for c in source.cats if c.split == name] for name in ("test", "dev")}
    fitted_on = read_gold(dev or ())
    both = {cat.id for cat in source.cats} & {cat.id for cat in fitted_on}
    if both:
        raise CurationError(
            f"CAT {min(both)} is in both --gold and --dev",
            "fit the weights on CATs that are not scored",
        )
    return {"gold": source.cats, "dev": fitted_on}


def fit_ensemble(
    members: Sequence[str],
    splits: Mapping[str, Sequence[Cat]],
    scores: Path,
    *,
    name: str = "ensemble",
    objective: Objective = "lms",
    ties: Ties = "half",
    seed: int = 1,
    reporter: Reporter = QUIET,
) -> FittedEnsemble:
    """Fit the weights of an ensemble on dev, and write its scores of all CATs.

    Args:
        members: two or more runs, as MODEL/RULE or MODEL/RULE+VARIANT.
        splits: CATs by the name of their split. The weights are fitted on ``dev``.
        scores: the folder of the members' scores; the ensemble is written there, too.
        name: the ensemble's name.
        objective: what the weights maximise.
        ties: how ties count, as in ``metrics.comparisons``.
        seed: of the search, with four members or more.
        reporter: receives warnings.

    Raises:
        CurationError: a member is not there, the name is not valid or belongs to another model, or
            the weights cannot be fitted.
    """
    cats = [cat for part in splits.values() for cat in part]
    runs = current_runs(read_runs(scores, reporter=reporter), cats, reporter=reporter)
    chosen = ensembles.choose(runs, members)
    warn_of_older(
        chosen,
        {run.name: lacks for run in chosen if (lacks := missing_cats(run, cats)).cats},
        reporter=reporter,
    )
    home = _home(scores, name, runs)
    if any(run.model == name for run in chosen):
        raise CurationError(
            f"the ensemble «{name}» cannot be its own member", "give another --name"
        )
    fitted = ensembles.fit(splits["dev"], chosen, objective=objective, ties=ties, seed=seed)
    values, left_out = ensembles.apply(fitted, cats, chosen)
    about = ensembles.about(
        name,
        fitted,
        chosen,
        versions={"curation": __version__},
        ties=ties,
        seed=seed,
        left_out=len(left_out),
        left_out_cats=[cat.id for cat in left_out],
    )
    rule = ensembles.folder(about)
    results = ensembles.split_results(splits, values, model=f"{name}, {rule}", ties=ties)
    about = _write(home / rule, about, values, results, cats, ties)
    if not keys(Run(name, rule, about["variant"], {}, about), {}):
        reporter.warn(
            "the members share no profile and no rules, so compare does not rank this ensemble"
        )
    if left_out:
        reporter.warn(
            f"{amount(len(left_out), 'CAT is', 'CATs are')} left out because a member lacks a score"
        )
    flags = {name: _flags(results, about)}
    for run in chosen:
        own = ensembles.split_results(splits, run.scores, model=run.name, ties=ties)
        flags[run.name] = _flags(own, run.about)
    return FittedEnsemble(
        home / rule, about, results, _by_name(chosen, fitted), flags, len(left_out)
    )


def _by_name(members: Sequence[Run], fitted: Ensemble) -> dict[str, float]:
    return {run.name: weight for run, weight in zip(members, fitted.weights, strict=True)}


def _write(
    folder: Path,
    about: Mapping[str, Any],
    values: Mapping[str, float],
    results: Mapping[str, Any],
    cats: Sequence[Cat],
    ties: Ties,
) -> dict[str, Any]:
    """Write an ensemble's files, and return the content of its ``run.json``."""
    asked = digests(cats, variant=about["variant"])
    kinds = {association.id: cat.kind for cat in cats for association in cat.associations}
    lines = [
        dump_line(
            Score(
                model=about["model"],
                rule=about["rules"][kinds[association]],
                association=association,
                value=value,
                asked=asked.get(association, ""),
            )
        )
        for association, value in values.items()
    ]
    scores = b"".join(lines)
    about = {**about, "scores_sha256": hashlib.sha256(scores).hexdigest()}
    report = {"run": about, "ties": ties, "of": scored_cats(cats), "splits": results}
    # The description comes first: if the command is killed in between, the folder is known as this
    # ensemble's, and the digest shows that its scores are still those of an earlier fit.
    files = {RUN: dump_json(about), SCORES: scores, RESULTS: dump_json(report)}
    with locked_run(folder):
        for file_name, content in files.items():
            with writing(folder / file_name) as file:
                file.write(content)
    return about


def _flags(splits: Mapping[str, Any], about: Mapping[str, Any]) -> list[str]:
    """The flags that a model has on any split."""
    return list(dict.fromkeys(f for result in splits.values() for f in flags_of(result, about)))


def _home(scores: Path, name: str, runs: Sequence[Run]) -> Path:
    """The folder of an ensemble of this name.

    Two names may have one folder: ``a/b`` and ``a--b``.

    Raises:
        CurationError: the name is not valid, or the folder or the name belongs to another model.
    """
    if not name.strip() or folder_name(name).startswith("."):
        raise CurationError(
            f"{name!r} cannot be the name of an ensemble", "use letters, for example --name best"
        )
    home = scores / folder_name(name)
    taken = [
        (run.where, run.model, run.about.get("family"))
        for run in runs
        if folder_name(run.model) == home.name
    ]
    for path in sorted(home.glob("*/run.json")):  # also of a model without scores yet
        content = read_json(path)
        about = content if isinstance(content, dict) else {}
        taken.append((str(path.parent), str(about.get("model", home.name)), about.get("family")))
    for where, model, family in taken:
        if family != ENSEMBLE or model != name:
            raise CurationError(
                f"{where}: this folder belongs to the model «{model}»", "give another --name"
            )
    return home
