"""Models side by side: a run's results, a group of models compared, other rules and variants."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.files import CurationError
from curation.models.rules import rules_name
from curation.records import KINDS
from curation.scores.boards import Board
from curation.scores.differences import differences, paired
from curation.scores.flags import flags_of
from curation.scores.groups import Group, single
from curation.scores.power import power_report
from curation.scores.printed import choose
from curation.scores.published import printed_name
from curation.scores.sizes import Sizes, by_architecture, size_correlations, sizes_of
from curation.scores.terms import Agreement, by_term, model_terms
from curation.stats.correlations import spearman
from curation.stats.metrics import BOTH, METRICS, results


def run_results(
    board: Board,
    number: int,
    *,
    profiles: Sequence[str] = (),
    sizes: Mapping[str, Sizes] | None = None,
    missing: int = 0,
) -> dict[str, Any]:
    """A run's ``metrics.results``, with everything that tables show about the run.

    Args:
        board: what the runs won.
        number: of the run.
        profiles: the profiles that it fits, from ``groups.profiles_in``.
        sizes: of ``sizes.read_sizes``, by model.
        missing: how many CATs the run lacks, as in ``older.missing_cats``.

    Returns:
        ``metrics.results`` and ``{"run", "family", "rule", "variant", "rules", "own_head",
        "other_head", "declared", "lower_is_likelier", "profiles", "flags", "parameters",
        "corpus_gb", "architecture", "left_out", "missing"}``:

        - run: its name, MODEL/RULE.
        - rules: by kind, for the kinds that it has CATs of; empty if they are not known.
        - own_head: whether nsp was computed with the model's own head.
        - other_head: of ``heads.mark_heads``.
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


def compare_group(
    board: Board,
    group: Group,
    every: Sequence[Mapping[str, Any]],
    *,
    agreement: Mapping[str, Agreement] | None = None,
    power: float | None = None,
) -> dict[str, Any]:
    """One group's ranking, and what is computed over its models.

    Args:
        board: what the runs won.
        group: which of them are compared.
        every: ``run_results`` of every run of the board.
        agreement: as for ``terms.by_term``.
        power: a difference in points, for ``power.power_report``.

    Returns:
        ``{"group", "sort", "title", "kinds", "models", "one_kind_only", "differences",
        "correlations", "sizes", "terms", "power"}``. ``kinds`` are those of the CATs that the
        models which are compared have scored. ``models`` are names of runs, the highest icat first.
        ``one_kind_only`` are those that lack a kind of CAT which others have; they are in no result
        of both kinds. Holm's correction is over the pairs of this group. Correlations, sizes and
        terms are over the models that are not ensembles. ``sizes`` are those of ``_by_size``.
    """
    chosen = sorted(group.runs, key=lambda number: -every[number]["overall"]["icat"])
    whole = board.whole(chosen)
    alone = single(board.runs, whole)
    single_models = [every[number] for number in alone]
    return {
        "group": group.name,
        "sort": group.sort,
        "title": group.title,
        "kinds": [k for k in KINDS if any(k in every[n]["kinds"] for n in whole or chosen)],
        "models": [board.runs[number].name for number in chosen],
        "one_kind_only": [board.runs[n].name for n in chosen if n not in whole],
        "differences": differences(board, chosen),
        "correlations": [*correlations(single_models), *size_correlations(single_models)],
        "sizes": _by_size(single_models, board),
        "terms": by_term(board, alone, agreement=agreement),
        "power": power_report(board, whole, power) if power else None,
    }


def _by_size(models: Sequence[Mapping[str, Any]], board: Board) -> list[dict[str, Any]]:
    """The models of each architecture by size, beside the values of ACL Table 4.

    Returns:
        ``{"architecture", "run", "parameters", "lms", "ss", "icat", "lms_printed", "ss_printed",
        "icat_printed"}``. The printed ones are None if the table does not have the model, or if it
        has CATs of one kind only.
    """
    table = {row.model: row for row in choose(["acl 4"])}
    printed = {run.name: table.get(printed_name(run) or "") for run in board.runs}
    rows = []
    for model in by_architecture(models):
        known = {**model["overall"], **model}
        row = {key: known[key] for key in ("architecture", "run", "parameters", *METRICS)}
        beside = printed[model["run"]] if len(model["kinds"]) == len(KINDS) else None
        rows.append(row | {f"{m}_printed": getattr(beside, m, None) for m in METRICS})
    return rows


def correlations(models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Spearman's correlations over models: lms with ss, and each of them across the kinds.

    ACL §7, "Relation between lms and ss".

    Args:
        models: of ``run_results``, one per model.

    Returns:
        ``{"of", "with", "rho", "p", "models", "exact"}``; correlations across kinds are over the
        models that have both kinds.
    """
    lms, ss = ([model["overall"][metric] for model in models] for metric in ("lms", "ss"))
    rows = [{"of": "lms", "with": "ss", **spearman(lms, ss)}]
    both = [model["kinds"] for model in models if len(model["kinds"]) == len(KINDS)]
    for metric in ("lms", "ss") if both else ():
        across = [[kinds[kind]["overall"][metric] for kinds in both] for kind in KINDS]
        rows.append(
            {"of": f"{metric}, {KINDS[0]}", "with": f"{metric}, {KINDS[1]}", **spearman(*across)}
        )
    return rows


def shifts(board: Board, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """How much a model's values change under other rules, or under a variant of its rules.

    Args:
        board: what the runs won.
        groups: a model's main run is its run in the first group that has the model. Models that are
            in no group are left out.

    Returns:
        Rows of ``differences.paired``, overall, with ``"what"`` («rule» or «variant»). a is the
        other run. b is the model's main run; for a variant it is the run by the same rules without
        the variant, if there is one. Runs whose rules are not known are left out.
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
    return [row | {"what": names[row["a"], row["b"]]} for row in rows]


def terms_of(
    name: str,
    every: Sequence[Mapping[str, Any]],
    reports: Sequence[Mapping[str, Any]],
    *,
    count: int = 1,
    agreement: Mapping[str, Agreement] | None = None,
) -> list[dict[str, Any]]:
    """``terms.model_terms`` of each run of one model, beside the means of its group.

    Args:
        name: of the model, or of one of its runs (MODEL/RULE); "" for none.
        every: ``run_results`` of every run.
        reports: of ``compare_group``; a run that is in none of them is left out.
        count: how many most and least stereotyped terms per domain.
        agreement: as for ``terms.by_term``.

    Returns:
        ``{"run", "group", "rows"}``. The means are those of the first group that has the run, and
        None if it is the only model there.

    Raises:
        CurationError: no such model is compared; lists the models that are.
    """
    tables = []
    for result in every if name else ():
        if name not in (result["run"], result["model"]):
            continue
        report = next((report for report in reports if result["run"] in report["models"]), None)
        if report:
            means = report["terms"] if len(report["models"]) > 1 else ()
            rows = model_terms(result, count=count, means=means, agreement=agreement)
            tables.append({"run": result["run"], "group": report["group"], "rows": rows})
    if name and not tables:
        known = sorted({run for report in reports for run in report["models"]})
        raise CurationError(
            f"--terms-of {name}: no such model is compared", f"use one of: {', '.join(known)}"
        )
    return tables
