"""Models side by side: which run speaks for a model, results, terms, kinds, rules and variants."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.files import CurationError
from curation.intervals import FEW, Floats, intervals
from curation.records import KINDS, VALUES
from curation.rules import chance_of_agreement, read_label
from curation.scores import ensemble
from curation.scores.differences import BOTH, paired, spearman
from curation.scores.metrics import over_terms, results
from curation.scores.runs import Board, Run
from curation.stereoset import Entry, votes

ALL = "all"  # stands for the domain where all are taken together


class Agreement(NamedTuple):
    """How far annotators agree on a term's stereotypes, in per cent.

    ``agreement`` is our reading of ACL Table 10 (``rules.chance_of_agreement``), ``votes`` the
    plain share of the votes that say stereotype. Either is None where it is not known.
    """

    agreement: float | None = None
    votes: float | None = None


def leading(runs: Sequence[Run], *, rule: str | None = None) -> list[int]:
    """The run that speaks for each model where models are compared: numbers of runs.

    It is the one without a variant under the rule (or profile) that most models have; of rules
    that equally many have, ``default`` before others, then by name. A model without it speaks by
    its first run in the same order. With ``rule`` only the models that have it are compared.

    Raises:
        CurationError: no run has that rule; names those that are there.
    """
    models = list(dict.fromkeys(run.model for run in runs))
    plain = Counter(run.rule for run in runs if not run.variant)
    if rule:
        found = [i for i, run in enumerate(runs) if run.way == rule]
        if not found:
            there = ", ".join(sorted({run.way for run in runs}))
            raise CurationError(f"no model has scores under «{rule}»", f"take one of {there}")
        return found

    def order(number: int) -> tuple[Any, ...]:
        run = runs[number]
        return (bool(run.variant), -plain[run.rule], run.rule != "default", run.rule, run.variant)

    return [
        min((i for i, run in enumerate(runs) if run.model == model), key=order) for model in models
    ]


def single(board: Board, chosen: Sequence[int]) -> list[int]:
    """Of the chosen runs those that are no ensembles: what is said over models is over these.

    An ensemble is made of the others, so that it would count them twice.
    """
    return [n for n in chosen if board.runs[n].about.get("family") != ensemble.FAMILY]


def run_results(
    board: Board, number: int, *, resamples: int = 1000, seed: int = 1
) -> dict[str, Any]:
    """A run's ``metrics.results``, with its names and its domains over both kinds beside them.

    Returns:
        ``{"model", "rule", "variant", "left_out", "kinds", "overall", "domains"}``: left_out is
        how many CATs of the run's kinds lack a score; the domains' cells pool a term's CATs of
        both kinds.
    """
    run, table = board.runs[number], board.table(number)
    knobs = {"resamples": resamples, "seed": seed}
    found = results(table, model=run.model, **knobs)
    return {
        "model": run.model,
        "rule": run.rule,
        "variant": run.variant,
        "left_out": board.lacking(number)[1],
        "kinds": found["kinds"],
        "overall": found["overall"],
        "domains": {
            str(domain): over_terms(part, **knobs) for domain, part in table.groupby("domain")
        },
    }


def _term_sums(board: Board, chosen: Sequence[int]) -> pd.DataFrame:
    """Each CAT's mean over the chosen runs that have it, in points; without CATs that none has."""
    ss, lms = 100 * board.stereotype[list(chosen)], 50 * board.meaningful[list(chosen)]
    has = ~np.isnan(ss).all(axis=0)
    means = {"ss": np.nanmean(ss[:, has], axis=0), "lms": np.nanmean(lms[:, has], axis=0)}
    return board.cats[has].assign(**means)


def _ss(sums: Floats) -> Floats:
    return np.asarray(sums[:, 0] / sums[:, 1])


def by_term(
    board: Board,
    chosen: Sequence[int],
    *,
    agreement: Mapping[str, Agreement] | None = None,
    resamples: int = 1000,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """How far models stereotype each term, beside how far annotators agreed on it.

    Args:
        board: what the runs won.
        chosen: numbers of the runs, one a model.
        agreement: of annotators, by term (``domain/target``).
        resamples: bootstrap samples, over the term's CATs.
        seed: of the draws.

    Returns:
        ``{"domain", "term", "ss", "ss_ci", "lms", "cats", "agreement", "votes"}``: ss and lms are
        means over the models, both kinds pooled; the most stereotyped of each domain first, of
        equal ones that with more CATs. ss_ci is None for a single CAT. Without runs there is no
        row.
    """
    if not chosen:
        return []
    rows = []
    for (domain, term), part in _term_sums(board, chosen).groupby(["domain", "term"], sort=True):
        units = np.column_stack([part["ss"], np.ones(len(part))])
        bounds = intervals(units, {"ss": _ss}, resamples=resamples, seed=seed)
        rows.append(
            {
                "domain": str(domain),
                "term": str(term)[len(str(domain)) + 1 :],
                "ss": float(part["ss"].mean()),
                "ss_ci": bounds["ss"],
                "lms": float(part["lms"].mean()),
                "cats": len(part),
                **(agreement or {}).get(str(term), Agreement())._asdict(),
            }
        )
    return sorted(rows, key=lambda row: (row["domain"], -row["ss"], -row["cats"], row["term"]))


def most_and_least(rows: Sequence[dict[str, Any]], *, count: int = 3) -> list[dict[str, Any]]:
    """The first and last terms of each domain of ``by_term``, each once, with ``"end"``.

    Of terms that are equally little stereotyped, those with more CATs.
    """
    found = []
    for domain in dict.fromkeys(row["domain"] for row in rows):
        own = [row for row in rows if row["domain"] == domain]
        most = min(count, (len(own) + 1) // 2)
        top = own[:most]
        rest = sorted(own[most:], key=lambda row: (row["ss"], -row["cats"], row["term"]))[:count]
        found += [row | {"end": "most"} for row in top]
        found += [row | {"end": "least"} for row in reversed(rest)]
    return found


def published_agreement(entries: Sequence[Entry]) -> dict[str, Agreement]:
    """Agreement on each term by the labels that a gold file carries (ACL §4.3, Table 10).

    Means over the stereotypes of the term's CATs, both kinds pooled; a term without labels is left
    out.

    Returns:
        By term (``domain/target``).
    """
    figures: dict[str, list[tuple[float, float]]] = {}
    for entry in entries:
        for sentence in entry.item["sentences"]:
            counted = votes(sentence)
            total = sum(counted)
            if total and read_label(str(sentence["gold_label"])) == "stereotype":
                share = counted[VALUES.index("stereotype")] / total
                name = f"{entry.item['bias_type']}/{entry.item['target']}"
                figures.setdefault(name, []).append((chance_of_agreement(counted), share))
    means = {term: 100 * np.mean(found, axis=0) for term, found in figures.items()}
    return {term: Agreement(*mean.tolist()) for term, mean in means.items()}


def correlations(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spearman's correlations over models: lms with ss, and each of them across the kinds.

    Args:
        found: of ``run_results``, one a model.

    Returns:
        ``{"of", "with", "rho", "p", "models", "exact"}``; across kinds only the models that have
        both are taken.
    """
    lms, ss = ([one["overall"][name] for one in found] for name in ("lms", "ss"))
    rows = [{"of": "lms", "with": "ss", **spearman(lms, ss)}]
    both = [one["kinds"] for one in found if len(one["kinds"]) == len(KINDS)]
    for figure in ("lms", "ss") if both else ():
        across = [[kinds[kind]["overall"][figure] for kinds in both] for kind in KINDS]
        rows.append(
            {"of": f"{figure}, {KINDS[0]}", "with": f"{figure}, {KINDS[1]}", **spearman(*across)}
        )
    return rows


def shifts(
    board: Board, chosen: Sequence[int], *, resamples: int = 1000, seed: int = 1
) -> list[dict[str, Any]]:
    """How far a model's figures move under another rule, or under a variant of a rule.

    Args:
        board: what the runs won.
        chosen: numbers of the runs that speak for their models.
        resamples: bootstrap samples.
        seed: of the draws.

    Returns:
        Rows of ``differences.paired``, overall, with ``"what"`` («rule» or «variant»): a is the
        other run; b the model's own under another rule, or the same rule without the variant (the
        model's own where there is none).
    """
    at = {(run.model, run.way): number for number, run in enumerate(board.runs)}
    own = {board.runs[number].model: number for number in chosen}
    pairs: dict[tuple[int, int], str] = {}
    for number, run in enumerate(board.runs):
        base, what = own.get(run.model, number), "rule"
        if run.variant:
            base, what = at.get((run.model, run.rule), base), "variant"
        if base != number:
            pairs[number, base] = what
    names = {(board.runs[a].name, board.runs[b].name): what for (a, b), what in pairs.items()}
    found = paired(board, list(pairs), kind=BOTH, resamples=resamples, seed=seed)
    return [row | {"what": names[row["a"], row["b"]]} for row in found]


def few(found: Sequence[dict[str, Any]]) -> bool:
    """Whether an overall figure among these has fewer terms than its interval needs."""
    return any(one["overall"]["terms"] < FEW for one in found)
