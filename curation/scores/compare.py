"""Models side by side: a run's results, a group of models compared, other rules and variants."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf
from statistics import median
from typing import Any

import numpy as np

from curation.files import CurationError
from curation.kinds import KINDS
from curation.models.rules import rules_name
from curation.records import Cat, Fields
from curation.scores.boards import Board
from curation.scores.flags import flags_of
from curation.scores.groups import (
    Difference,
    Group,
    MetricPower,
    ModelTerms,
    Power,
    Ranking,
    Result,
    overall_cell,
    single,
)
from curation.scores.published import choose, printed_kinds, printed_name
from curation.scores.run_folder import ENSEMBLE
from curation.scores.tables import SIZES
from curation.scores.terms import EVEN, Agreement, by_term, model_terms
from curation.stats.correlations import spearman
from curation.stats.intervals import FEW
from curation.stats.metrics import (
    BOTH,
    METRICS,
    SHARES,
    Metric,
    is_per_item,
    metrics_in,
    over_terms,
    ranking_metric,
    results,
    shared_metrics,
)
from curation.stats.tests import (
    CATS_A_TERM,
    Spread,
    detectable,
    holm,
    needed_by_pairs,
    paired_tests,
    spread,
    term_means,
)

Pair = tuple[int, int]
Sizes = dict[str, Any]


def paired(board: Board, pairs: Sequence[Pair], *, kind: str = BOTH) -> list[Difference]:
    """Differences of pairs of runs, the first run less the second, with tests over terms.

    Both runs are computed on the CATs that both have. ``stats.tests.paired_tests`` has the tests.

    Args:
        board: what the runs won.
        pairs: numbers of runs.
        kind: of CATs, or "both". If the common CATs of a pair are of one kind only, its rows have
            that kind.

    Returns:
        One row for each pair and metric, without ``p_holm``. Pairs without common CATs have none.
    """
    chosen = board.pooled if kind == BOTH else board.cats["kind"] == kind
    codes, _ = board.cats["term"].factorize(sort=True)
    has = board.has & np.asarray(chosen)
    kind_of = np.asarray(board.cats["kind"], str)
    rows = []
    for a, b in pairs:
        common = has[a] & has[b]
        if not common.any():
            continue
        _, terms = np.unique(codes[common], return_inverse=True)
        kinds = np.unique(kind_of[common])
        shares = [metric for metric in shared_metrics(kinds) if metric.pairs]
        means = [
            term_means(terms, np.stack([board.points(m)[run, common] for m in shares]))
            for run in (a, b)
        ]
        units = [{m.name: own[:, n] for n, m in enumerate(shares)} for own in means]
        sizes = np.bincount(terms).astype(np.float64) if is_per_item(kinds) else None
        first, second = board.runs[a].name, board.runs[b].name
        of, cats = str(kinds[0]) if len(kinds) == 1 else kind, int(common.sum())
        rows += [
            Difference(first, second, of, *test, cats, len(means[0]), len(means[0]) < FEW)
            for test in paired_tests(*units, cats=cats, sizes=sizes)
        ]
    return rows


def differences(board: Board, chosen: Sequence[int]) -> list[Difference]:
    """Every pair of runs: the rows of ``paired``, of both kinds and by kind, with ``p_holm``.

    Holm's correction is over all pairs of one metric and one kind. If a run lacks a kind of CAT
    that another run has, it is in no pair of both kinds. If no run has CATs of both kinds, there
    are no such pairs.

    Args:
        board: what the runs won.
        chosen: numbers of the runs; the runs of each pair are in this order.
    """
    rows = []
    whole = board.whole(chosen)
    scored = board.has[list(whole)].any(axis=0)
    both = len(np.unique(np.asarray(board.cats["kind"], str)[scored & board.pooled])) > 1
    for kind in (*([BOTH] if both else []), *(k for k in KINDS if (board.cats["kind"] == k).any())):
        tests = paired(board, [*combinations(whole if kind == BOTH else chosen, 2)], kind=kind)
        corrected = {m: iter(holm([row.p for row in tests if row.figure == m])) for m in METRICS}
        rows += [row._replace(p_holm=next(corrected[row.figure])) for row in tests]
    return rows


def mechanisms(results: Sequence[Result], groups: Sequence[Group]) -> list[Fields]:
    """The mean of each metric over the models that were scored under two profiles or rules.

    A kind is averaged over the models whose rules for that kind differ between the two profiles; if
    the rules are the same, there is nothing to compare. The paper averages in this way. Its
    intrasentence means leave out GPT-2, which has one rule there, and are over 6 of its 9 models;
    its intersentence and overall means are over all 9. Ensembles are left out, as in the paper.

    Args:
        results: of ``compare.run_results``, by number of run; the keys ``model``, ``family``,
            ``rules``, ``kinds`` and ``overall`` are read.
        groups: of ``groups.groups``; groups of a variant and of a single run are left out.

    Returns:
        For each pair of groups that share two models or more, the means overall (kind «both») and
        of each kind: ``{"a", "b", "kind", "models", metric: [of a, of b]}``. Kinds that fewer than
        two models share are left out.
    """
    rows = []
    plain = [group for group in groups if group.sort != "alone" and not group.variant]
    for first, second in combinations(plain, 2):
        by_model = [
            {
                results[n]["model"]: results[n]
                for n in group.runs
                if results[n]["family"] != ENSEMBLE
            }
            for group in (first, second)
        ]
        shared = [name for name in by_model[0] if name in by_model[1]]
        pairs = [(by_model[0][name], by_model[1][name]) for name in shared]
        for kind in (BOTH, *KINDS):
            own = [pair for pair in pairs if _differ(*pair, kind)]
            if len(own) < 2:
                continue
            cells = [[overall_cell(pair[side], kind) for pair in own] for side in (0, 1)]
            about = {"a": first.name, "b": second.name, "kind": kind}
            means: Fields = {
                metric.name: [sum(cell[metric.name] for cell in side) / len(own) for side in cells]
                for metric in metrics_in(cells[0])
            }
            rows.append({**about, "models": [a["model"] for a, _ in own], **means})
    return rows


def _differ(a: Result, b: Result, kind: str) -> bool:
    """Whether two runs both have results of a kind, by rules that are known and different."""
    if kind == BOTH:
        same_kinds = a["kinds"].keys() == b["kinds"].keys() and len(a["kinds"]) > 1
        return same_kinds and any(_differ(a, b, k) for k in a["kinds"])
    known = kind in a["rules"] and kind in b["rules"]
    both = known and kind in a["kinds"] and kind in b["kinds"]
    return both and a["rules"][kind] != b["rules"][kind]


def pair_spread(board: Board, pair: Pair | tuple[int, None], metric: Metric) -> Spread | None:
    """The spread of one pair's differences, on CATs that both have, kinds pooled.

    Args:
        board: what the runs won.
        pair: numbers of two runs; or of one run and None, to compare its ss with 50.
        metric: a share.

    Returns:
        None with fewer than two terms.
    """
    values = board.points(metric)
    first, second = pair
    differences = values[first] - (EVEN if second is None else values[second])
    has = ~np.isnan(differences) & board.pooled
    codes, terms = board.cats["term"][has].factorize(sort=True)
    return spread(codes, differences[has]) if len(terms) > 1 else None


def power_report(
    board: Board,
    chosen: Sequence[int],
    difference: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> Power:
    """What it takes to show a difference of ``difference`` points of a share between two models.

    Every pair of models has a spread of its own; the report has the median pair and the hardest
    pair. With one model, its ss is tested against 50. The test is the paired t test of
    ``stats.tests.paired_tests``.

    Args:
        board: what the runs won.
        chosen: numbers of the runs, one per model.
        difference: in points.
        alpha: two-sided error of the first kind.
        power: the probability with which the difference is to be found.

    Returns:
        The power of each metric; one with fewer than two terms is left out.

    Raises:
        CurationError: the values are shares of items, for which the test has no terms of equal
            weight.
    """
    if is_per_item(board.cats["kind"]):
        raise CurationError(
            f"--power {difference:g}: it is computed for means over terms, and the ss of pairs is "
            "the share of all pairs",
            "leave --power out: the intervals of differences show what these pairs can tell",
        )
    alone = len(chosen) == 1
    pairs: list[Pair | tuple[int, None]] = [*combinations(chosen, 2)]
    if alone:
        pairs = [(chosen[0], None)]
    parts = []
    for metric in [METRICS["ss"]] if alone else SHARES:
        spreads = [s for s in (pair_spread(board, pair, metric) for pair in pairs) if s]
        if not spreads:
            continue
        least = [detectable(of, alpha=alpha, power=power) for of in spreads if of.of_means > 0]
        within = [of.within for of in spreads if of.within is not None]
        parts.append(
            MetricPower(
                figure=metric.name,
                pairs=len(spreads),
                detectable=median(least) if least else None,
                detectable_hardest=max(least) if least else None,
                terms=min(of.terms for of in spreads),
                cats=min(of.cats for of in spreads),
                between=median(of.between for of in spreads),
                within=median(within) if within else None,
                needed=[
                    needed_by_pairs(spreads, difference, cats, alpha=alpha, power=power)
                    for cats in CATS_A_TERM
                ],
            )
        )
    return Power(difference, alpha, power, "50" if alone else "each other", parts)


def run_results(
    board: Board,
    number: int,
    *,
    profiles: Sequence[str] = (),
    sizes: Mapping[str, Sizes] | None = None,
    missing: int = 0,
) -> Fields:
    """A run's ``metrics.results``, with everything that tables show about the run.

    Args:
        board: what the runs won.
        number: of the run.
        profiles: the profiles that it fits, from ``groups.profiles_in``.
        sizes: of ``comparing.read_sizes``, by model.
        missing: how many CATs the run lacks, as in ``boards.missing_cats``.

    Returns:
        ``metrics.results`` and ``{"run", "family", "rule", "variant", "rules", "own_head",
        "other_head", "declared", "lower_is_likelier", "profiles", "flags", "parameters",
        "corpus_gb", "architecture", "left_out", "missing"}``:

        - run: its name, MODEL/RULE.
        - rules: by kind, for the kinds that it has CATs of; empty if they are not known.
        - own_head: whether nsp was computed with the model's own head.
        - other_head: of ``groups.mark_heads``.
        - declared: the profile that a file of predictions was declared to be under.
        - lower_is_likelier: whether the sign of a predictions file's scores was changed.
        - flags: of ``flags.flags_of``.
        - left_out: how many CATs of the run's kinds lack a score.
        - missing: how many CATs the run lacks; they are left out for all runs.
    """
    run, (lacks, left_out) = board.runs[number], board.lacking(number)
    own = results(board.table(number), model=run.model)
    return {
        "run": run.name,
        "model": run.model,
        "family": run.family,
        "rule": run.rule,
        "variant": run.variant,
        "rules": {kind: rule for kind, rule in run.rules.items() if kind not in lacks},
        "own_head": bool(run.about.get("own_head")),
        "other_head": str(run.about.get("other_head", "")),
        "declared": run.profile,
        "lower_is_likelier": run.lower_is_likelier,
        "profiles": list(profiles),
        "flags": flags_of(own, run.about, older=missing > 0),
        **sizes_of(run.model, run.about, sizes or {}),
        "left_out": left_out,
        "missing": missing,
        **own,
    }


def without_flagged(
    board: Board, cats: Sequence[Cat], flagged: Mapping[str, int]
) -> list[dict[str, Any]]:
    """The metrics of each run without the CATs that validators flagged (ACL §9).

    Args:
        board: what the runs won in the CATs.
        cats: the CATs, in the board's order.
        flagged: how many validators flagged a CAT, by its id.

    Returns:
        For each run a row without CATs that one validator or more flagged, two or more, and so on;
        before them one of all CATs (``by`` 0). A row is ``{"run", "by", **metrics.over_terms}``,
        over the CATs that the run has. Empty if no CAT was flagged.
    """
    people = np.array([flagged.get(cat.id, 0) for cat in cats], dtype=int)
    most = int(people.max(initial=0))
    rows = []
    for number, run in enumerate(board.runs if most else ()):
        has = board.has[number]
        for by in range(most + 1):
            left = board.table(number)[(people[has] < by) | (by == 0)]
            if len(left):
                rows.append({"run": run.name, "by": by, **over_terms(left)})
    return rows


def compare_group(
    board: Board,
    group: Group,
    every: Sequence[Result],
    *,
    agreement: Mapping[str, Agreement] | None = None,
    power: float | None = None,
) -> Ranking:
    """One group's ranking, and what is computed over its models.

    Args:
        board: what the runs won.
        group: which of them are compared.
        every: ``run_results`` of every run of the board.
        agreement: as for ``terms.by_term``.
        power: a difference in points, for ``power_report``.
    """
    cells = {number: every[number]["overall"] for number in group.runs}
    metric = ranking_metric(cells.values())
    chosen = sorted(group.runs, key=lambda n: -metric.goodness(cells[n].get(metric.name, -inf)))
    whole = board.whole(chosen)
    alone = single(board.runs, whole)
    single_models = [every[number] for number in alone]
    return Ranking(
        group=group.name,
        sort=group.sort,
        title=group.title,
        kinds=[k for k in KINDS if any(k in every[n]["kinds"] for n in whole or chosen)],
        models=[board.runs[number].name for number in chosen],
        one_kind_only=[board.runs[n].name for n in chosen if n not in whole],
        differences=differences(board, chosen),
        correlations=[*correlations(single_models), *size_correlations(single_models)],
        sizes=_by_size(single_models, board),
        terms=by_term(board, alone, agreement=agreement),
        power=power_report(board, whole, power) if power else None,
    )


def _by_size(models: Sequence[Result], board: Board) -> list[Fields]:
    """The models of each architecture by size, beside the values of ACL Table 4.

    The printed values are None if the table does not have the model, or if the model lacks one of
    the table's kinds.
    """
    table = {row.model: row for row in choose(["acl 4"])}
    printed = {run.name: table.get(printed_name(run) or "") for run in board.runs}
    rows = []
    for model in by_architecture(models):
        beside = printed[model["run"]] if {*model["kinds"]} == printed_kinds() else None
        there = beside.values if beside else {}
        own = [metric.name for metric in metrics_in([model["overall"]])]
        about = {name: model[name] for name in ("architecture", "run", "parameters")}
        values = {name: model["overall"][name] for name in own}
        rows.append(about | values | {f"{name}_printed": there.get(name) for name in own})
    return rows


def correlations(models: Sequence[Result]) -> list[Fields]:
    """Spearman's correlations over models: of lms with ss, and of each of them across kinds.

    ACL §7, "Relation between lms and ss".

    Args:
        models: of ``run_results``, one per model.

    Returns:
        ``{"of", "with", "rho", "p", "models", "exact"}``; correlations across two kinds are over
        the models that have both.
    """
    rows: list[Fields] = []
    overall = [model["overall"] for model in models]
    for first, second in combinations(SHARES, 2):
        own = [cell for cell in overall if first.name in cell and second.name in cell]
        if overall and not own:
            continue
        sides = ([cell[metric.name] for cell in own] for metric in (first, second))
        rows.append({"of": first.name, "with": second.name, **spearman(*sides)})
    for one, other in combinations(KINDS, 2):
        both = [m["kinds"] for m in models if one in m["kinds"] and other in m["kinds"]]
        for metric in shared_metrics((one, other)) if both else ():
            if metric.pairs:
                name = metric.name
                across = ([kinds[k]["overall"][name] for kinds in both] for k in (one, other))
                named = {"of": f"{name}, {one}", "with": f"{name}, {other}"}
                rows.append({**named, **spearman(*across)})
    return rows


def shifts(board: Board, groups: Sequence[Group]) -> list[Difference]:
    """How much a model's values change under other rules, or under a variant of its rules.

    Args:
        board: what the runs won.
        groups: a model's main run is its run in the first group that has the model. Models that are
            in no group are left out.

    Returns:
        Rows of ``paired``, overall, with ``what``. a is the other run. b is the model's main run;
        for a variant it is the run by the same rules without the variant, if there is one. Runs
        whose rules are not known are left out.
    """
    own: dict[str, int] = {}
    known: dict[int, tuple[str, str, str]] = {}
    for group in groups:
        for number in group.runs if group.sort != "alone" else ():
            own.setdefault(board.runs[number].model, number)
    for number, run in enumerate(board.runs):
        if run.model in own and (run.rules or run.profile):
            known[number] = (run.model, rules_name(run.rules) or run.rule, run.variant)
    at = {key: number for number, key in reversed(known.items())}
    changes: dict[tuple[int, int], str] = {}
    for number, (model, rule, variant) in known.items():
        base, change = own[model], "rule"
        if variant:
            base, change = at.get((model, rule, ""), base), "variant"
        if known[base] != known[number]:
            changes[number, base] = change
    names = {(board.runs[a].name, board.runs[b].name): c for (a, b), c in changes.items()}
    rows = paired(board, list(changes), kind=BOTH)
    return [row._replace(what=names[row.a, row.b]) for row in rows]


def terms_of(
    name: str,
    every: Sequence[Result],
    reports: Sequence[Ranking],
    *,
    count: int = 1,
    agreement: Mapping[str, Agreement] | None = None,
) -> list[ModelTerms]:
    """``terms.model_terms`` of each run of one model, beside the means of its group.

    Args:
        name: of the model, or of one of its runs (MODEL/RULE); "" for none.
        every: ``run_results`` of every run.
        reports: of ``compare_group``; a run that is in none of them is left out.
        count: how many most and least stereotyped terms per domain.
        agreement: as for ``terms.by_term``.

    Returns:
        The means are those of the first group that has the run, and None if it is the only model
        there.

    Raises:
        CurationError: no such model is compared; lists the models that are.
    """
    tables = []
    for result in every if name else ():
        if name not in (result["run"], result["model"]):
            continue
        report = next((report for report in reports if result["run"] in report.models), None)
        if report:
            means = report.terms if len(report.models) > 1 else ()
            rows = model_terms(result, count=count, means=means, agreement=agreement)
            tables.append(ModelTerms(result["run"], report.group, rows))
    if name and not tables:
        known = sorted({run for report in reports for run in report.models})
        raise CurationError(
            f"--terms-of {name}: no such model is compared", f"use one of: {', '.join(known)}"
        )
    return tables


def sizes_of(model: str, about: Mapping[str, Any], given: Mapping[str, Sizes]) -> Fields:
    """A model's parameters, the size of its corpus, and its architecture; None if not known.

    The architecture is the class of transformers that opened the model, if none is given.

    Args:
        model: its name.
        about: its ``run.json``; parameters and architecture are in its ``opened``.
        given: of ``read_sizes``, which takes precedence.
    """
    opened = about.get("opened")
    opened = opened if isinstance(opened, Mapping) else {}
    counted = opened.get("parameters")
    counted = counted if type(counted) is int else None
    known = {"parameters": counted, "corpus_gb": None, "architecture": opened.get("architecture")}
    return known | given.get(model, {})


def by_architecture(results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The models of which another one has the same architecture, if their sizes are known.

    Args:
        results: of ``compare.run_results``, one per model.

    Returns:
        Those of one architecture are together, the smallest first.
    """
    known = [result for result in results if result["architecture"] and result["parameters"]]
    count = Counter(str(result["architecture"]) for result in known)
    own = [result for result in known if count[str(result["architecture"])] > 1]
    return sorted(own, key=lambda result: (str(result["architecture"]), result["parameters"]))


def size_correlations(results: Sequence[Mapping[str, Any]]) -> list[Fields]:
    """Spearman's correlations over models of each metric with the size of the corpus.

    The papers relate the number of parameters within an architecture only: ``by_architecture``.

    Args:
        results: of ``compare.run_results``, one per model.

    Returns:
        Rows as in ``compare.correlations``, over the models whose corpus is known; none if these
        are fewer than three.
    """
    rows: list[Fields] = []
    known = [result for result in results if result["corpus_gb"] is not None]
    for metric in metrics_in(r["overall"] for r in known) if len(known) > 2 else ():
        own = [result for result in known if metric.name in result["overall"]]
        values = [result["overall"][metric.name] for result in own]
        sizes = [result["corpus_gb"] for result in own]
        rows.append({"of": metric.name, "with": SIZES["corpus_gb"], **spearman(values, sizes)})
    return rows
