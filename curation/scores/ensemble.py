"""A weighted sum of models' standardised scores, fitted on dev (StereoSet, ACL §7: ensemble)."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from curation.campaign.source import Source, read_gold
from curation.files import CurationError, digest, dump_json, dump_line, read_json, writing
from curation.kinds import ITEMS, KINDS, Kind, MetricName
from curation.models.rules import rules_name
from curation.records import Cat, Fields, Score
from curation.scores.boards import missing_cats, scored
from curation.scores.flags import flags_of
from curation.scores.groups import OWN, head_of, keys, member_runs
from curation.scores.results import current_runs, read_runs, warn_if_outdated, warn_of_older
from curation.scores.run_folder import ENSEMBLE, RESULTS, RUN, SCORES, locked_run, scored_cats
from curation.scores.runs import Run, digests, folder_name, ids_of
from curation.stats.intervals import Floats
from curation.stats.metrics import METRICS, Ties, comparisons, results
from curation.text.wording import amount
from curation.version import __version__
from curation.work.reporter import QUIET, Reporter

Objective = Literal["icat", "lms"]
_BLOCK = 8_000_000  # comparisons in memory at once: about 64 MB
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)
_DRAWS, _STARTS, _MOVES = 2000, 5, 100
_EQUAL = 1e-9  # values nearer than this count as equal


def objective_of(
    gaps: Mapping[MetricName, Floats], terms: Sequence[str], *, objective: Objective, half: float
) -> Callable[[Floats], Floats]:
    """The value of weights on dev: a function of rows of weights that returns one value per row.

    Args:
        gaps: for each share that the objective needs, the differences of standardised scores in
            its comparisons, shape (comparisons, CATs, members).
        terms: the term of each CAT.
        objective: lms or icat.
        half: how much a tie counts.
    """
    _, code, count = np.unique(terms, return_inverse=True, return_counts=True)
    share = 1 / (count[code] * len(count))  # of a CAT in the mean over terms

    def won(gap: Floats) -> Floats:
        wins = share @ (gap > 0)
        return np.asarray(wins + half * (share @ (gap == 0)) if half else wins)

    def block(weights: Floats) -> Floats:
        shares = {
            name: METRICS[name].points * np.sum([won(gap @ weights.T) for gap in own], axis=0)
            for name, own in gaps.items()
        }
        return METRICS[objective].value(shares)

    def score(weights: Floats) -> Floats:
        step = max(1, _BLOCK // len(code))
        parts = range(0, len(weights), step)
        return np.concatenate([block(weights[at : at + step]) for at in parts])

    return score


def search(score: Callable[[Floats], Floats], count: int, seed: int) -> Floats:
    """The best weights; of equally good ones, the most even.

    Args:
        score: of ``objective_of``.
        count: how many members.
        seed: of the draws, with four members or more.
    """
    if count <= 3:
        tried = _grid(count, 1000 if count == 2 else 100)
        return np.asarray(_best(tried, score(tried))[0])
    rng = np.random.default_rng(seed)
    tried = np.vstack(
        [
            np.full(count, 1 / count),
            np.eye(count),
            (1 - np.eye(count)) / (count - 1),
            rng.dirichlet(np.ones(count), _DRAWS),
            rng.dirichlet(np.full(count, 0.3), _DRAWS),
        ]
    )
    starts = _best(tried, score(tried))[:_STARTS]
    ends = np.array([_climb(score, start) for start in starts])
    return np.asarray(_best(ends, score(ends))[0])


def _grid(count: int, steps: int) -> Floats:
    """All weights of two or three members that are whole multiples of 1 / steps."""
    first = np.arange(steps + 1)
    if count == 2:
        return np.column_stack([first, steps - first]) / steps
    a, b = (part.ravel() for part in np.meshgrid(first, first, indexing="ij"))
    fits = a + b <= steps
    return np.column_stack([a[fits], b[fits], steps - a[fits] - b[fits]]) / steps


def _best(weights: Floats, values: Floats) -> Floats:
    """The weights, best first; of equal values the most even, then more to earlier members."""
    steps = np.round(values / _EQUAL) * _EQUAL
    uneven = np.round((weights**2).sum(axis=1), 9)
    order = np.lexsort([*(-weights.T[::-1]), uneven, -steps])
    return np.asarray(weights[order])


def _climb(score: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Move weight between members while this is better, or equally good and more even.

    Smaller and smaller steps are tried.
    """
    here, value = start, float(score(start[None])[0])
    for step in _STEPS:
        for _ in range(_MOVES):
            tried = np.array(list(_moves(here, step)))
            values = score(tried)
            top = _best(tried, values)[0]
            high = float(values.max())
            more_even = (top**2).sum() < (here**2).sum() - _EQUAL
            if high < value - _EQUAL or (high <= value + _EQUAL and not more_even):
                break
            here, value = top, high
    return here


def _moves(here: Floats, step: float) -> Iterator[Floats]:
    for giver, has in enumerate(here):
        for taker in range(len(here)):
            if taker != giver and has > 0:
                moved = here.copy()
                moved[giver] -= min(step, has)
                moved[taker] += min(step, has)
                yield moved


MIXED = "mixed"  # the rule of a kind that the members score by different rules


class Ensemble(NamedTuple):
    """Weights in the members' order, and how each member's scores are standardised, by kind.

    ``on_dev`` has the objective's value on the dev CATs: of the ensemble, of even weights, and of
    each member alone. ``dev_cats`` are the ids of these CATs.
    """

    weights: list[float]
    means: dict[Kind, list[float]]
    sds: dict[Kind, list[float]]
    on_dev: Fields
    dev_cats: list[str]


def choose(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """The members by their names, MODEL/RULE[+VARIANT].

    Raises:
        CurationError: fewer than two members, a member twice, one without scores of associations,
            or one that is not there; lists the runs that are.
    """
    if len(names) < 2:
        raise CurationError("an ensemble needs two members or more", "name them as MODEL/RULE")
    there = {run.name: run for run in runs if not run.by_choice}
    by_choice = {run.name for run in runs if run.by_choice}
    for place, name in enumerate(names):
        if name in by_choice:
            raise CurationError(
                f"{name} cannot be in an ensemble: the rule choice gives comparisons, and no "
                "scores that can be summed",
                "leave it out, or score the model by another rule, if its log-probabilities can be "
                "read",
            )
        if name not in there:
            known = ", ".join(sorted(there)) or "none: score models first"
            raise CurationError(f"there are no scores of {name}", f"use two or more of: {known}")
        if name in names[:place]:
            raise CurationError(f"{name} is named twice", "name each member once")
    return [there[name] for name in names]


def stacked(cats: Sequence[Cat], members: Sequence[Run]) -> Floats:
    """Scores of CATs of one kind that all members have, in the order of the kind's roles.

    Returns:
        Shape (CATs, associations, members).
    """
    values = [[[run.scores[name] for name in ids_of(cat)] for cat in cats] for run in members]
    return np.array(values, float).transpose(1, 2, 0)


def by_kind(cats: Sequence[Cat]) -> dict[Kind, list[int]]:
    """The places of the CATs of each kind that there is."""
    places = {kind: [n for n, cat in enumerate(cats) if cat.kind == kind] for kind in KINDS}
    return {kind: own for kind, own in places.items() if own}


def covered(cats: Sequence[Cat], members: Sequence[Run]) -> list[Cat]:
    """The CATs for which every member has all scores."""
    has = np.all([[run.has(cat) for cat in cats] for run in members], axis=0)
    return [cat for cat, there in zip(cats, has, strict=True) if there]


def fit(
    dev: Sequence[Cat],
    members: Sequence[Run],
    *,
    objective: Objective = "lms",
    ties: Ties = "half",
    seed: int = 1,
) -> Ensemble:
    """The weights that do best on the dev CATs; each is 0 or more, and their sum is 1.

    ACL §7 builds «the strongest language model» by a linear weighted combination and does not give
    the weights, so the default objective is lms. An association's score is Σ w · z, where z is a
    member's score less its mean over the dev associations of that kind, divided by their standard
    deviation. Both kinds have the same weights. The objective is lms (or icat) of the dev CATs as
    in ``metrics.results``: from means over terms, kinds pooled. Of equally good weights, the most
    even are chosen. With two or three members, all weights on a grid are tried (steps of 0.001 and
    0.01). With more, the search starts from seeded random draws and may not find the very best.
    The value on dev is too good, since the weights were chosen there.

    Args:
        dev: the dev CATs; those that a member has not scored are left out.
        members: two or more.
        objective: what is maximised.
        ties: how ties count in it.
        seed: of the draws.

    Raises:
        CurationError: there are no dev CATs, none has scores of all members, or the scores of a
            member are all equal.
    """
    if not dev:
        raise CurationError(
            "there are no dev CATs to fit the weights on",
            "set a share for dev and run «curation decisions split», or name a --dev file",
        )
    for run in members:
        if not any(map(run.has, dev)):
            raise CurationError(
                f"{run.where}: has no scores for the {amount(len(dev), 'dev CAT')}",
                "score this model on the dev CATs, too",
            )
    own = covered(dev, members)
    if not own:
        raise CurationError(
            f"no dev CAT has scores of all {len(members)} members",
            "choose members that score the same kind of CAT",
        )
    places = by_kind(own)
    shares = [METRICS[name] for name in METRICS[objective].of or (objective,)]
    if lacking := [k for k in places if not {m.name for m in shares} <= {*ITEMS[k].metrics}]:
        raise CurationError(
            f"{lacking[0]} CATs have no {objective}, so no weights can maximise it",
            "fit the weights on CATs of other kinds",
        )
    gaps = {m.name: np.empty((len(m.pairs), len(own), len(members))) for m in shares}
    means: dict[Kind, list[float]] = {}
    sds: dict[Kind, list[float]] = {}
    for kind, of_kind in places.items():
        values = stacked([own[place] for place in of_kind], members)
        part = np.ascontiguousarray(values.reshape(-1, len(members)))
        means[kind], sds[kind] = part.mean(axis=0).tolist(), part.std(axis=0).tolist()
        for run, low, high in zip(members, part.min(axis=0), part.max(axis=0), strict=True):
            if low == high:
                raise CurationError(
                    f"{run.where}: all scores of {kind} dev CATs are {low:g}, so they cannot be "
                    "standardised",
                    "leave this member out",
                )
        standard, roles = (values - means[kind]) / sds[kind], ITEMS[kind].roles
        for metric in shares:
            for row, (first, second) in enumerate(metric.pairs):
                gap = standard[:, roles.index(first)] - standard[:, roles.index(second)]
                gaps[metric.name][row, of_kind] = gap
    terms = [f"{cat.domain}/{cat.target}" for cat in own]
    score = objective_of(gaps, terms, objective=objective, half=0.5 if ties == "half" else 0.0)
    weights = search(score, len(members), seed)
    even = np.full(len(members), 1 / len(members))
    reached = score(np.vstack([weights, even, np.eye(len(members))])).tolist()
    on_dev = {
        "objective": objective,
        "ensemble": reached[0],
        "even_weights": reached[1],
        "members": reached[2:],
    }
    return Ensemble(weights.tolist(), means, sds, on_dev, [cat.id for cat in own])


def apply(
    ensemble: Ensemble, cats: Sequence[Cat], members: Sequence[Run]
) -> tuple[dict[str, float], list[Cat]]:
    """The ensemble's scores of the CATs' associations.

    Returns:
        The scores by association, and the CATs left out because a member lacks a score of them.

    Raises:
        CurationError: the CATs have a kind that no dev CAT had, so its scores cannot be
            standardised.
    """
    own = covered(cats, members)
    unknown = {cat.kind for cat in own} - set(ensemble.means)
    if unknown:
        raise CurationError(
            f"no dev CAT with scores of all members is {min(unknown)}",
            "score the members on dev CATs of this kind, too",
        )
    by_cat: dict[str, dict[str, float]] = {cat.id: {} for cat in own}
    for kind, places in by_kind(own).items():
        of_kind = [own[place] for place in places]
        values = (stacked(of_kind, members) - ensemble.means[kind]) / ensemble.sds[kind]
        for cat, summed in zip(of_kind, values @ np.array(ensemble.weights), strict=True):
            by_cat[cat.id] = dict(zip(ids_of(cat), summed.tolist(), strict=True))
    scores = {name: value for own_scores in by_cat.values() for name, value in own_scores.items()}
    return scores, [cat for cat in cats if cat.id not in by_cat]


def about(name: str, ensemble: Ensemble, members: Sequence[Run], **settings: Any) -> Fields:
    """The content of an ensemble's ``run.json``.

    ``dev_cats`` includes the CATs that members were fitted on if they are ensembles themselves.

    Args:
        name: of the ensemble.
        ensemble: as fitted.
        members: in the order of the weights.
        settings: further settings of the fit.
    """
    rules, variant = rules_of(members, list(ensemble.means))
    trained = {head_of(run): run.about.get("head_training") for run in members}
    trained.pop(OWN, None)
    fitted = [ensemble.dev_cats, *(run.about.get("dev_cats", ()) for run in members)]
    return {
        "model": name,
        "family": ENSEMBLE,
        "variant": variant,
        "rules": rules,
        "own_head": any(run.about.get("own_head") for run in members),
        "head_training": trained.popitem()[1] if len(trained) == 1 else None,
        "members": [run.name for run in members],
        "member_runs": member_runs(members),
        "weights": by_name(members, ensemble.weights),
        "objective": ensemble.on_dev["objective"],
        "means": {kind: by_name(members, of) for kind, of in ensemble.means.items()},
        "sds": {kind: by_name(members, of) for kind, of in ensemble.sds.items()},
        "dev": {
            "cats": len(ensemble.dev_cats),
            **ensemble.on_dev,
            "members": by_name(members, ensemble.on_dev["members"]),
        },
        "dev_cats": list(dict.fromkeys(cat for cats in fitted for cat in cats)),
        "members_sha256": {run.name: _digest(run) for run in members},
        **settings,
    }


def _digest(run: Run) -> str | None:
    return digest(Path(run.where) / "scores.jsonl")


def scored_since(run: Run, runs: Sequence[Run]) -> list[str]:
    """The members of an ensemble whose scores have changed since it was made."""
    kept = run.about.get("members_sha256", {})
    return [m.name for m in runs if m.name in kept and _digest(m) != kept[m.name]]


def by_name(members: Sequence[Run], values: Sequence[float]) -> dict[str, float]:
    """Values of the members by their names."""
    return {run.name: value for run, value in zip(members, values, strict=True)}


def rules_of(members: Sequence[Run], kinds: Sequence[Kind]) -> tuple[dict[Kind, str], str]:
    """The rule of each kind that all members share, or «mixed»; and the variant, or "".

    A member whose rules are not known counts with the name of its folder.
    """
    variants = {run.variant for run in members}
    rules: dict[Kind, str] = {}
    for kind in kinds:
        own = {run.rules.get(kind, run.rule) for run in members}
        rules[kind] = own.pop() if len(own) == len(variants) == 1 else MIXED
    return rules, variants.pop() if len(variants) == 1 else ""


def folder(about: Mapping[str, Any]) -> str:
    """The name of an ensemble's folder, below that of its name: its rules and its variant."""
    behind = f"+{about['variant']}" if about["variant"] else ""
    return rules_name(about["rules"]) + behind


def split_results(
    splits: Mapping[str, Sequence[Cat]], scores: Mapping[str, float], *, model: str, ties: Ties
) -> Fields:
    """``metrics.results`` of each split that has CATs with scores.

    ``left_out`` counts the CATs that have no scores.
    """
    by_split = {}
    for name, cats in splits.items():
        own = [cat for cat, has in zip(cats, scored(cats, scores), strict=True) if has]
        if own:
            result = results(comparisons(own, scores, ties=ties), model=model)
            by_split[name] = {**result, "left_out": len(cats) - len(own)}
    return by_split


class FittedEnsemble(NamedTuple):
    """An ensemble that was fitted and written.

    Attributes:
        folder: where it was written.
        about: the content of its ``run.json``.
        results: ``metrics.results`` of each split, with ``left_out``.
        weights: of each member, by its name MODEL/RULE.
        flags: of the ensemble and of each member, by name, as in ``flags.flags_of``.
    """

    folder: Path
    about: Fields
    results: Fields
    weights: dict[str, float]
    flags: dict[str, list[str]]


def ensemble_splits(
    source: Source, dev: Sequence[Path] | None = None, *, reporter: Reporter = QUIET
) -> dict[str, Sequence[Cat]]:
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
    chosen = choose(runs, members)
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
    fitted = fit(splits["dev"], chosen, objective=objective, ties=ties, seed=seed)
    values, left_out = apply(fitted, cats, chosen)
    run = about(
        name,
        fitted,
        chosen,
        versions={"curation": __version__},
        ties=ties,
        seed=seed,
        left_out=len(left_out),
        left_out_cats=[cat.id for cat in left_out],
    )
    rule = folder(run)
    by_split = split_results(splits, values, model=f"{name}, {rule}", ties=ties)
    run = _write(home / rule, run, values, by_split, cats, ties)
    if not keys(Run(name, rule, run["variant"], {}, run), {}):
        reporter.warn(
            "the members share no profile and no rules, so compare does not rank this ensemble"
        )
    if left_out:
        reporter.warn(
            f"{amount(len(left_out), 'CAT is', 'CATs are')} left out because a member lacks a score"
        )
    flags = {name: _flags(by_split, run)}
    for member in chosen:
        own = split_results(splits, member.scores, model=member.name, ties=ties)
        flags[member.name] = _flags(own, member.about)
    return FittedEnsemble(home / rule, run, by_split, by_name(chosen, fitted.weights), flags)


def _write(
    folder: Path,
    about: Mapping[str, Any],
    values: Mapping[str, float],
    results: Mapping[str, Any],
    cats: Sequence[Cat],
    ties: Ties,
) -> Fields:
    """Write an ensemble's files, and return the content of its ``run.json``."""
    asked = digests(cats, variant=about["variant"])
    rules = {a.id: about["rules"].get(cat.kind) for cat in cats for a in cat.associations}
    lines = []
    for name, value in values.items():
        score = Score(
            model=about["model"],
            rule=rules[name],
            association=name,
            value=value,
            asked=asked.get(name, ""),
        )
        lines.append(dump_line(score))
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
