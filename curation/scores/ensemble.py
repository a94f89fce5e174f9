"""A weighted sum of models' standardised scores, fitted on dev (StereoSet, ACL §6: ensemble)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.files import CurationError, digest
from curation.intervals import Floats
from curation.records import GOLDS, KINDS, Cat, Kind
from curation.scores.metrics import Ties, comparisons, icat, results
from curation.scores.runs import Run, scored

Objective = Literal["icat", "lms"]
FAMILY = "ensemble"
MIXED = "mixed"  # the rule's name where the members' rules differ
_PAIRS = ((0, 2), (1, 2), (0, 1))  # the three comparisons of a CAT, places in GOLDS
_BLOCK = 8_000_000  # comparisons held at once: about 64 MB
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01)
_DRAWS, _STARTS, _MOVES = 2000, 5, 100
_EQUAL = 1e-9  # figures nearer than this are the same


class Ensemble(NamedTuple):
    """Weights in the members' order, and how each member's scores are standardised, by kind.

    ``figures`` are of the dev CATs: the objective of the ensemble, of even weights, and of each
    member alone; ``dev_cats`` the ids of these CATs.
    """

    weights: list[float]
    means: dict[Kind, list[float]]
    sds: dict[Kind, list[float]]
    figures: dict[str, Any]
    dev_cats: list[str]


def choose(runs: Sequence[Run], names: Sequence[str]) -> list[Run]:
    """The members by their names, MODEL/RULE[+VARIANT].

    Raises:
        CurationError: fewer than two, one twice, or one that is not there; names those that are.
    """
    if len(names) < 2:
        raise CurationError("an ensemble needs two members or more", "name them as MODEL/RULE")
    there = {run.name: run for run in runs}
    for place, name in enumerate(names):
        if name not in there:
            known = ", ".join(sorted(there))
            raise CurationError(f"there are no scores of {name}", f"name members of {known}")
        if name in names[:place]:
            raise CurationError(f"{name} is named twice", "name each member once")
    return [there[name] for name in names]


def stacked(cats: Sequence[Cat], members: Sequence[Run]) -> Floats:
    """Scores of CATs that all members have, shape (CATs, 3, members), in the order of GOLDS."""
    three = [
        [next(a.id for a in cat.associations if a.gold == gold) for gold in GOLDS] for cat in cats
    ]
    values = [[[run.scores[name] for name in names] for names in three] for run in members]
    return np.array(values, float).reshape(len(members), len(cats), 3).transpose(1, 2, 0)


def covered(cats: Sequence[Cat], members: Sequence[Run]) -> list[Cat]:
    """The CATs of which every member has all scores."""
    has = np.all([scored(cats, run.scores) for run in members], axis=0)
    return [cat for cat, there in zip(cats, has, strict=True) if there]


def fit(
    dev: Sequence[Cat],
    members: Sequence[Run],
    *,
    objective: Objective = "icat",
    ties: Ties = "half",
    seed: int = 1,
) -> Ensemble:
    """Weights, none below 0 and 1 together, that do best on the dev CATs.

    The paper tells neither weights nor objective. Here an association's score is Σ w · z, where z
    is a member's score less its mean over the dev associations of that kind, by their standard
    deviation; the same weights serve both kinds. What is maximised is icat (or lms) of the dev
    CATs as ``metrics.results`` has it: from means over terms, kinds pooled. Of equally good
    weights the most even ones are taken. With two or three members all weights on a grid are
    tried (steps of 0.001 and 0.01); with more the search is from seeded draws, and need not find
    the very best. The figure on dev is flattered by the choice.

    Args:
        dev: the dev CATs; those that a member lacks are left out.
        members: two or more.
        objective: what is maximised.
        ties: how ties count in it.
        seed: of the draws.

    Raises:
        CurationError: no dev CATs, none that all members have, or a member whose scores are all
            equal.
    """
    if not dev:
        raise CurationError(
            "there are no dev CATs to fit the weights on",
            "run «curation decisions split» with a share for dev, or name a --dev file",
        )
    for run in members:
        if not any(scored(dev, run.scores)):
            raise CurationError(
                f"{run.where}: no scores at all for the {len(dev)} dev CATs",
                "score this model on the dev CATs, too",
            )
    own = covered(dev, members)
    if not own:
        raise CurationError(
            f"no dev CAT has scores of all {len(members)} members",
            "take members that serve the same kind of CAT",
        )
    values = stacked(own, members)
    kinds = np.array([cat.kind for cat in own])
    means: dict[Kind, list[float]] = {}
    sds: dict[Kind, list[float]] = {}
    for kind in KINDS:
        part = values[kinds == kind].reshape(-1, len(members))
        if not len(part):
            continue
        means[kind], sds[kind] = part.mean(axis=0).tolist(), part.std(axis=0).tolist()
        for run, low, high in zip(members, part.min(axis=0), part.max(axis=0), strict=True):
            if low == high:
                raise CurationError(
                    f"{run.where}: all its scores of {kind} dev CATs are {low:g}",
                    "an ensemble standardises scores: leave this member out",
                )
    standard = _standardised(values, kinds, means, sds)
    gaps = np.stack([standard[:, a] - standard[:, b] for a, b in _PAIRS])
    terms = [f"{cat.domain}/{cat.target}" for cat in own]
    score = _objective(gaps, terms, objective=objective, half=0.5 if ties == "half" else 0.0)
    weights = _search(score, len(members), seed)
    even = np.full(len(members), 1 / len(members))
    told = score(np.vstack([weights, even, np.eye(len(members))])).tolist()
    figures = {
        "objective": objective,
        "ensemble": told[0],
        "even_weights": told[1],
        "members": told[2:],
    }
    return Ensemble(weights.tolist(), means, sds, figures, [cat.id for cat in own])


def _standardised(
    values: Floats,
    kinds: NDArray[np.str_],
    means: dict[Kind, list[float]],
    sds: dict[Kind, list[float]],
) -> Floats:
    found = np.empty_like(values)
    for kind in means:
        of = kinds == kind
        found[of] = (values[of] - means[kind]) / sds[kind]
    return found


def _objective(
    gaps: Floats, terms: Sequence[str], *, objective: Objective, half: float
) -> Callable[[Floats], Floats]:
    """What weights give on dev: a function of rows of weights that returns a figure each.

    Args:
        gaps: standardised score less score of each of a CAT's three comparisons, shape
            (3, CATs, members).
        terms: of each CAT.
        objective: the figure.
        half: what a tie counts.
    """
    _, code, count = np.unique(terms, return_inverse=True, return_counts=True)
    share = 1 / (count[code] * len(count))  # of a CAT in the mean over terms

    def won(gap: Floats) -> Floats:
        found = share @ (gap > 0)
        return np.asarray(found + half * (share @ (gap == 0)) if half else found)

    def block(weights: Floats) -> Floats:
        lms = 50 * (won(gaps[0] @ weights.T) + won(gaps[1] @ weights.T))
        if objective == "lms":
            return lms
        return icat(lms, 100 * won(gaps[2] @ weights.T))

    def score(weights: Floats) -> Floats:
        step = max(1, _BLOCK // gaps.shape[1])
        parts = range(0, len(weights), step)
        return np.concatenate([block(weights[at : at + step]) for at in parts])

    return score


def _search(score: Callable[[Floats], Floats], count: int, seed: int) -> Floats:
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


def _best(weights: Floats, figures: Floats) -> Floats:
    """The weights, best first; of equal figures the most even, then more to earlier members."""
    steps = np.round(figures / _EQUAL) * _EQUAL
    uneven = np.round((weights**2).sum(axis=1), 9)
    order = np.lexsort([*(-weights.T[::-1]), uneven, -steps])
    return np.asarray(weights[order])


def _climb(score: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Move weight from one member to another for as long as that is better, or as good and evener.

    Ever smaller steps are tried.
    """
    here, figure = start, float(score(start[None])[0])
    for step in _STEPS:
        for _ in range(_MOVES):
            tried = np.array(list(_moves(here, step)))
            found = score(tried)
            top = _best(tried, found)[0]
            high = float(found.max())
            evener = (top**2).sum() < (here**2).sum() - _EQUAL
            if high < figure - _EQUAL or (high <= figure + _EQUAL and not evener):
                break
            here, figure = top, high
    return here


def _moves(here: Floats, step: float) -> Iterator[Floats]:
    for giver, has in enumerate(here):
        for taker in range(len(here)):
            if taker != giver and has > 0:
                moved = here.copy()
                moved[giver] -= min(step, has)
                moved[taker] += min(step, has)
                yield moved


def apply(
    ensemble: Ensemble, cats: Sequence[Cat], members: Sequence[Run]
) -> tuple[dict[str, float], list[Cat]]:
    """The ensemble's scores of the CATs' associations.

    Returns:
        The scores by association, and the CATs left out because a member lacks a score of them.

    Raises:
        CurationError: a kind that no dev CAT had, so that nothing says how to standardise it.
    """
    own = covered(cats, members)
    unknown = {cat.kind for cat in own} - set(ensemble.means)
    if unknown:
        raise CurationError(
            f"no dev CAT that all members have is {min(unknown)}",
            "score the members on dev CATs of this kind, too",
        )
    kinds = np.array([cat.kind for cat in own])
    standard = _standardised(stacked(own, members), kinds, ensemble.means, ensemble.sds)
    values = standard @ np.array(ensemble.weights)
    scores = {
        next(a.id for a in cat.associations if a.gold == gold): float(value)
        for cat, three in zip(own, values, strict=True)
        for gold, value in zip(GOLDS, three, strict=True)
    }
    kept = {cat.id for cat in own}
    return scores, [cat for cat in cats if cat.id not in kept]


def about(name: str, ensemble: Ensemble, members: Sequence[Run], **knobs: Any) -> dict[str, Any]:
    """What ``run.json`` holds of an ensemble.

    ``dev_cats`` has also what members that are ensembles were fitted on: that flatters them, too.

    Args:
        name: of the ensemble.
        ensemble: as fitted.
        members: in the order of the weights.
        knobs: what else it was fitted with.
    """
    variant = way(members).partition("+")[2]
    fitted = [ensemble.dev_cats, *(run.about.get("dev_cats", ()) for run in members)]
    return {
        "model": name,
        "family": FAMILY,
        "variant": variant,
        "rules": {
            kind: _shared(run.way_of(kind) for run in members).removesuffix(f"+{variant}")
            for kind in ensemble.means
        },
        "members": [run.name for run in members],
        "weights": dict(zip([run.name for run in members], ensemble.weights, strict=True)),
        "objective": ensemble.figures["objective"],
        "means": _by_member(ensemble.means, members),
        "sds": _by_member(ensemble.sds, members),
        "dev": {
            "cats": len(ensemble.dev_cats),
            **{name: value for name, value in ensemble.figures.items() if name != "members"},
            "members": dict(
                zip([run.name for run in members], ensemble.figures["members"], strict=True)
            ),
        },
        "dev_cats": list(dict.fromkeys(cat for cats in fitted for cat in cats)),
        "members_sha256": {run.name: _digest(run) for run in members},
        **knobs,
    }


def _digest(run: Run) -> str | None:
    return digest(Path(run.where) / "scores.jsonl")


def scored_since(run: Run, runs: Sequence[Run]) -> list[str]:
    """An ensemble's members whose file of scores is another than that which it was made of."""
    kept = run.about.get("members_sha256", {})
    return [one.name for one in runs if one.name in kept and _digest(one) != kept[one.name]]


def _by_member(
    values: dict[Kind, list[float]], members: Sequence[Run]
) -> dict[str, dict[str, float]]:
    return {
        kind: dict(zip([run.name for run in members], of, strict=True))
        for kind, of in values.items()
    }


def way(members: Sequence[Run]) -> str:
    """The rule that all members share, with its variant, or «mixed»."""
    return _shared(run.way for run in members)


def _shared(ways: Iterable[str]) -> str:
    found = set(ways)
    return found.pop() if len(found) == 1 else MIXED


def split_results(
    splits: Mapping[str, Sequence[Cat]], scores: Mapping[str, float], *, model: str, ties: Ties
) -> dict[str, Any]:
    """``metrics.results`` of each split that has CATs with scores, and how many had none."""
    found = {}
    for name, cats in splits.items():
        own = [cat for cat, has in zip(cats, scored(cats, scores), strict=True) if has]
        if own:
            figures = results(comparisons(own, scores, ties=ties), model=model)
            found[name] = {**figures, "left_out": len(cats) - len(own)}
    return found
