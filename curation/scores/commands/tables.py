"""Tables of results: each metric, models side by side, and what chat models answered."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from curation.kinds import KINDS
from curation.records import Fields
from curation.scores import tables
from curation.scores.answer_report import answers_row
from curation.scores.answers import differs
from curation.scores.flags import MARKS, flags_of, marked, notes
from curation.scores.groups import (
    Comparison,
    Difference,
    ModelTerms,
    Power,
    Ranking,
    Result,
    overall_cell,
)
from curation.scores.tables import SIZES, rule_text, size_text
from curation.scores.terms import most_and_least
from curation.stats.intervals import FEW_CLUSTERS
from curation.stats.metrics import (
    ALL,
    BOTH,
    DIRECTIONS,
    METRICS,
    Metric,
    is_per_item,
    metrics_in,
    pooled_kinds,
    ranking_metric,
    shared_metrics,
)
from curation.terminal import console
from curation.text.rules import grouped
from curation.text.wording import amount

_LEAST = ["parameters", "corpus, GB", "rules", "ties", "prompts × samples", "questions", "rest %"]
_LEAST += ["agreement", "mean ss", "terms", "CATs", "pairs", "clusters", "p"]


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    console.table(title, columns, rows, least=_LEAST)


def show_cells(
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
    *,
    kind: str = BOTH,
) -> None:
    """Print a table with a column for each metric of its cells, with its interval.

    Args:
        title: of the table.
        columns: its first columns.
        rows: what is in these columns, and a cell of ``metrics.results``.
        kind: of the table's CATs.
    """
    if not rows:
        return
    metrics = metrics_in(cell for _, cell in rows)
    texts = []
    for first, cell in rows:
        flag = "*" if cell.get("few_terms") else ""
        size = [cell["cats"], f"{cell['terms']}{flag}", cell["ties"]]
        texts.append([*first, *size, *values(cell, metrics)])
    per_item = kind != BOTH and is_per_item([kind])
    units = ["pairs", "clusters"] if per_item else ["CATs", "terms"]
    _table(title, [*columns, *units, "ties", *metric_heads(metrics)], texts)
    if per_item and any(cell["terms"] < FEW_CLUSTERS for _, cell in rows):
        console.say(
            f"with fewer than {FEW_CLUSTERS} clusters, an interval covers 96 to 100 %; there is "
            "none if one cluster has most of the pairs"
        )


def show_directions(
    results: Sequence[Mapping[str, Any]], baselines: Sequence[Mapping[str, Any]], suffix: str = ""
) -> None:
    """Print the ss of pairs by direction, of models and of baselines that know nothing.

    Args:
        results: of ``metrics.results``, with ``flags`` for the marks of models.
        baselines: of ``results.pair_baselines``.
        suffix: the end of the title.
    """
    every = [*results, *baselines]
    for kind in filter(lambda kind: is_per_item([kind]), KINDS):
        rows = []
        for direction in (ALL, *DIRECTIONS):
            for result in every:
                part = result["kinds"].get(kind, {})
                cells = {ALL: part.get("overall"), **part.get("directions", {})}
                if cell := cells.get(direction):
                    name = marked(result["model"], result.get("flags", ()))
                    rows.append(([direction, name], cell))
        title = f"Models and baselines by direction, {kind}{suffix}"
        show_cells(title, ["direction", "model"], rows, kind=kind)
    for result in baselines:
        why = f" (not checked: {result['why']})" if result["why"] else ""
        console.say(f"{result['model']}: knows nothing; {result['says']}{why}")


def metric_heads(metrics: Sequence[Metric]) -> list[str]:
    """The heads of the columns of ``values``."""
    return [head for metric in metrics for head in (metric.name, "95 %")]


def values(cell: Mapping[str, Any], metrics: Sequence[Metric]) -> list[Any]:
    """Each metric with its interval; ``~`` marks one that is wider than necessary."""
    row: list[Any] = []
    for metric in metrics:
        ends = cell.get(f"{metric.name}_ci")
        is_wide = metric.name in cell["too_wide"]
        row += [cell.get(metric.name), f"{console.show(ends)}~" if is_wide else ends]
    return row


def kinds_text(kinds: Collection[str]) -> str:
    """What the title of a table says of the kinds of its CATs."""
    several = "both kinds" if len(kinds) == 2 else "all kinds"
    return next(iter(kinds)) if len(kinds) == 1 else several


def show_notes(cells: Iterable[Mapping[str, Any]]) -> None:
    """Print what the marks of these cells mean."""
    shown = list(cells)
    if any(cell.get("few_terms") for cell in shown):
        console.say(
            "* fewer than five terms: look at the single terms, and do not compare models by this"
        )
    if any(cell["too_wide"] for cell in shown):
        console.say("~ an interval that covers more than 98 %: it could be narrower")


def show_marks(flagged: Iterable[Sequence[str]]) -> None:
    """Print what the marks of models with these flags mean."""
    for flag, text in notes(flagged).items():
        console.say(f"{MARKS[flag]} {text}")


def show_turned(results: Iterable[Mapping[str, Any]], name: str = "run") -> None:
    """Print the names of predictions whose sign was changed, if only for a kind, with this kind."""
    lower = {result[name]: result.get("lower_is_likelier") for result in results}
    named = [f"{run} ({k} only)" if k is not True else run for run, k in lower.items() if k]
    if turned := ", ".join(named):
        console.say(f"lower scores are likelier, so their sign was changed: {turned}")


_NO_CATS: Fields = {"cats": 0, "terms": 0, "ties": None, "too_wide": []}


def show_results(
    result: Mapping[str, Any],
    *,
    run: Mapping[str, Any] | None = None,
    tier: int | None = None,
    explain: bool = True,
    split: str = "",
    of: Mapping[str, int] | None = None,
) -> list[str]:
    """Print a model's results by kind and domain.

    Args:
        result: of ``metrics.results``; also the fields of ``results.score_predictions``.
        run: the run's ``run.json``, for the model's flags.
        tier: the lowest tier of the CATs.
        explain: print what the marks of the model mean.
        split: the split of the CATs, for the titles.
        of: with a split: how many CATs of each kind were scored, in all splits.

    Returns:
        The model's flags.
    """
    partial = result.get("partial") or {"left_out": 0, "kinds": {}}
    about = {"tier": tier, **result}
    flags = flags_of(result, run, older=partial["left_out"] > 0)
    name = marked(result["model"], flags)

    def end(kind: str, part: Mapping[str, Any]) -> str:
        if not of:
            return tables.suffix(about, kind)
        scored = sum(of.values()) if kind == BOTH else of[kind]
        cats = f"{part['overall']['cats']:,} of {amount(scored, 'CAT')}"
        return f"{tables.suffix(about, kind)}, {split} split: {cats}"

    for kind, part in result["kinds"].items():
        missing = partial["kinds"].get(kind, {"domains": {}})["domains"]
        rows = []
        for domain in sorted({*part["domains"], *missing}):
            cell = dict(part["domains"].get(domain, _NO_CATS))
            if missing.get(domain, {"left_out": 0})["left_out"]:
                cell["cats"] = f"{cell['cats']} of {missing[domain]['of']}"
            rows.append(([domain], cell))
        rows.append((["all"], part["overall"]))
        show_cells(f"{name}, {kind}{end(kind, part)}", ["domain"], rows, kind=kind)
    if len(pooled_kinds(result["kinds"])) > 1:
        title = f"{name}, both kinds{end(BOTH, result)}"
        show_cells(title, ["domain"], [(["all"], result["overall"])])
    if baselines := result.get("baselines"):
        show_directions([{**result, "flags": flags}], baselines)
    parts = [cell for part in result["kinds"].values() for cell in part["domains"].values()]
    overall = [part["overall"] for part in (*result["kinds"].values(), result) if part["overall"]]
    show_notes([*parts, *overall])
    if explain:
        show_marks([flags])
    show_turned([result], "model")
    if partial["left_out"]:
        _show_left_out(partial)
    return flags


def _show_left_out(partial: Mapping[str, Any]) -> None:
    """Print why CATs of partial predictions are left out, and how many terms lose CATs."""
    without = sum(term["left_out"] == term["of"] for term in partial["terms"].values())
    number = f"{partial['left_out']:,} of {amount(partial['of'], 'CAT')}"
    texts = [f"left out because a sentence has no score: {number}"]
    if partial["bad"]:
        texts.append(f"with a score that is not a finite number: {partial['bad']:,}")
    texts.append(f"terms with fewer CATs: {len(partial['terms']) - without:,}")
    texts.append(f"terms without CATs: {without:,}")
    console.say("; ".join(texts))


def show_baselines(results: Sequence[Fields]) -> None:
    """Print baselines by kind and which were not checked, and warn of those beyond chance.

    Args:
        results: of ``results.compute_baselines``.
    """
    suffix = tables.suffix(results[0])
    named = [(marked(result["model"], result["flags"]), result) for result in results]
    for kind in KINDS:
        rows = [
            ([name], result["kinds"][kind]["overall"])
            for name, result in named
            if kind in result["kinds"]
        ]
        show_cells(f"Baselines, {kind}{suffix}", ["model"], rows, kind=kind)
    if len(pooled_kinds(kind for result in results for kind in result["kinds"])) > 1:
        rows = [([name], result["overall"]) for name, result in named if result["overall"]]
        show_cells(f"Baselines, both kinds{suffix}", ["model"], rows)
    overall = [result["overall"] for result in results if result["overall"]]
    if any("directions" in part for result in results for part in result["kinds"].values()):
        show_directions(results, ())
    by_kind = [part["overall"] for result in results for part in result["kinds"].values()]
    show_notes([*overall, *by_kind])
    show_marks(result["flags"] for result in results)
    for result in results:
        if result.get("why"):
            console.say(f"{result['model']} was not checked: {result['why']}")
    beyond = [(result, far) for result in results for far in result.get("beyond_chance", ())]
    for result, far in beyond:
        low, high = far["ci"]
        direction = f" of the direction {far['direction']}" if "direction" in far else ""
        console.warn(
            f"{result['model']} uses the surface only and has {far['figure']} {far['value']:.1f} "
            f"({low:.1f}–{high:.1f}) on {far['kind']} CATs{direction}: {result['says']}"
        )
    if beyond:
        console.note(
            "A release should report this. One in twenty intervals of ss excludes 50 by chance."
        )


_CODES = {
    "answer_refused": "refused %",
    "answer_off_format": "off format %",
    "answer_empty": "empty %",
    "answer_cut": "cut %",
    "answer_too_long": "too long %",
}
_MOST_GROUPS = 10  # terms of a model that differ from the rest; --json has all
ChoiceRow = Mapping[str, Any]  # of answer_report.answers_row


def show_answers(rows: Sequence[ChoiceRow]) -> None:
    """Print the tables of chat models' answers.

    Args:
        rows: of ``answer_report.answers_row``, one per run.
    """
    if not rows:
        return
    _show_shares(rows)
    _show_second(rows)
    _show_groups(rows)
    _show_spread(rows, "prompts")
    _show_spread(rows, "samples")
    for row in rows:
        if row["no_score"]:
            console.say(f"{row['run']} has no score: {row['why']}")


def show_report(
    report: Mapping[str, Any], *, run: str, model: str, flags: Iterable[Sequence[str]] = ()
) -> None:
    """Print the tables of one model, with each prompt and each sample, and what its marks mean.

    Args:
        report: of ``answer_report.choice_report``.
        run: the run's name, MODEL/RULE.
        model: the model's name.
        flags: the model's flags in tables before these.
    """
    row = answers_row(report, run=run, model=model)
    show_answers([row])
    shown = [cell for name in ("prompt", "sample") for cell in _show_each(report, name, run)]
    show_notes(shown)
    show_marks([row["flags"], *flags])


def _choice_name(row: ChoiceRow) -> str:
    return marked(row["run"], row["flags"])


def _percent(cell: Mapping[str, Any]) -> float | None:
    return None if cell["share"] is None else 100 * cell["share"]


def _share_span(ends: Iterable[float] | None, *, signed: bool = False) -> str:
    """An interval of shares, in per cent."""
    if ends is None:
        return "–"
    low, high = (100 * end for end in ends)
    return f"{low:+.1f} to {high:+.1f}" if signed else f"{low:.1f}–{high:.1f}"


def _show_shares(rows: Sequence[ChoiceRow]) -> None:
    codes = [
        code
        for code in _CODES
        if code == "answer_refused" or any(row["none"][code]["n"] for row in rows)
    ]
    table = [
        [
            _choice_name(row),
            f"{row['prompts']} × {row['samples']}",
            row["questions"],
            100 * row["answered"] / row["questions"] if row["questions"] else None,
            *(_percent(row["none"][code]) for code in codes),
            _percent(row["no_answer"]),
            _share_span(row["no_answer"]["ci"]),
            _percent(row["first"]),
            _share_span(row["first"]["ci"]),
            _percent(row["split"]),
        ]
        for row in rows
    ]
    heads = [
        "model",
        "prompts × samples",
        "questions",
        "answered %",
        *(_CODES[code] for code in codes),
        "no answer %",
        "95 %",
        "first letter %",
        "95 %",
        "split %",
    ]
    _table("Answers of chat models, all CATs of the run", heads, table)
    console.say(
        "no answer: left out of lms and ss, and not a preference; first letter: of the answers, 50 "
        "if only the content decides; split: pairs whose answer changed with the order"
    )


def _show_second(rows: Sequence[ChoiceRow]) -> None:
    table = []
    known = [row["second"]["metrics"] for row in rows if row["second"]]
    names = [metric.name for metric in metrics_in(known)] or [*METRICS]
    for row in rows:
        if second := row["second"]:
            metrics = second["metrics"] or {}
            values = [metrics.get(name, {}) for name in names]
            table.append(
                [
                    _choice_name(row),
                    _percent(second["asked"]),
                    _share_span(second["asked"]["ci"]),
                    _percent(second["named"]),
                    *(value.get(part) for value in values for part in ("value", "without")),
                ]
            )
    if not table:
        return
    heads = [part for name in names for part in (name, "without")]
    heads = ["model", "asked again %", "95 %", "named %", *heads]
    _table("Second questions, all CATs of the run", heads, table)
    console.say(
        "asked again: the reply named no letter; named: of these, the second reply named one; "
        "without: the value if the letters of second replies are left out"
    )


def _show_groups(rows: Sequence[ChoiceRow]) -> None:
    table, more = [], 0
    for row in rows:
        if row["none"]["answer_refused"]["n"] == row["questions"]:
            continue  # all groups alike
        more += max(0, len(row["differ"]) - _MOST_GROUPS)
        for group in [*row["domains"], *row["differ"][:_MOST_GROUPS]]:
            table.append(
                [
                    _choice_name(row),
                    group["group"],
                    "refused" if group["outcome"] == "answer_refused" else "no answer",
                    group["terms"],
                    group["cats"],
                    100 * group["share"],
                    _share_span(group["ci"]),
                    100 * group["rest"],
                    f"{100 * group['difference']:+.2f}",
                    _share_span(group["ci_difference"], signed=True),
                    _p(group["p_holm"]),
                    "differs" if differs(group) else "",
                ]
            )
    if not table:
        return
    heads = ["model", "group", "share of", "terms", "CATs", "%", "95 %", "rest %", "Δ", "95 %"]
    _table("Refusals by domain, and terms that differ", [*heads, "p", ""], table)
    console.say(
        "rest: all other domains, or all other terms; p: exact test with Holm's correction over "
        "all domains and terms; –: too few terms or CATs for a test, or all are alike"
        + (f"; {more} more terms differ, --json has all" if more else "")
    )


def _show_spread(rows: Sequence[ChoiceRow], of: str) -> None:
    changed = of == "samples"
    parts = [(row, row["spread"][of]) for row in rows if row["spread"][of]]
    cells = [(row, part, *each) for row, part in parts for each in _cells(part["spread"])]
    metrics = [metric.name for metric in metrics_in(cell for *_, cell in cells)]
    table = []
    for row, part, kind, cell in cells:
        line = [_choice_name(row), kind, cell["n"]]
        for metric in metrics:
            own = cell.get(metric)
            line += [f"{own['low']:.1f}–{own['high']:.1f}", own["sd"]] if own else [None, None]
        if changed:
            line.append(_percent(part["changed"]))
        table.append(line)
    if table:
        heads = ["model", "kind", of]
        for metric in metrics:
            heads += [f"{metric}, lowest–highest", "sd"]
        _table(f"Spread over {of}", [*heads, *["changed %"] * changed], table)
        if changed:
            console.say("changed: questions whose answer is not the same in all samples")


def _cells(spread: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The spread of both kinds if there are two, and of each kind."""
    kinds = [(kind, cell) for kind, cell in spread["kinds"].items() if cell]
    both = [("both kinds", spread["overall"])] if len(kinds) > 1 and spread["overall"] else []
    return [*both, *kinds]


def _show_each(report: Mapping[str, Any], name: str, run: str) -> list[Mapping[str, Any]]:
    """Print the results of each prompt or sample; they are returned."""
    part: Any = report[f"{name}s"] or {"spread": {"kinds": ()}}
    shown: list[Mapping[str, Any]] = []
    for kind in part["spread"]["kinds"]:
        rows = [([str(r["name"])], r["kinds"][kind]) for r in part["rows"] if kind in r["kinds"]]
        show_cells(f"{run}, {kind}, by {name}", [name], rows)
        shown += [cell for _, cell in rows]
    return shown


_ABOUT_TERMS = (
    "most: the highest ss above 50; least: the ss nearest to 50; agreement: of annotators on all "
    "stereotypes of the term, as in ACL Table 10, in per cent; a term with few CATs can be here by "
    "chance"
)
_MANY = 45  # with more pairs than this, only neighbours in the ranking are shown
Runs = Mapping[str, Result]  # results by run, MODEL/RULE


def show_comparison(report: Comparison, *, terms: int = 3, all_tables: bool = False) -> None:
    """Print a comparison.

    Args:
        report: of ``comparing.compare_runs``.
        terms: how many most and least stereotyped terms of each domain to show.
        all_tables: show all tables also for groups of one model. The only group always has all.
    """
    runs = {result["run"]: result for result in report.runs}
    tier = tables.suffix(report._asdict())
    all_tables = all_tables or len(report.groups) == 1
    for group in report.groups:
        _show_models(group, runs, tier)
        if all_tables or len(group.models) > 1:
            kind = f", {group.kinds[0]}" if len(group.kinds) == 1 else ""
            suffix = f", {group.title}{kind}{tier}"
            _show_differences(group, runs, suffix)
            _show_kinds(group, runs, suffix)
            _show_correlations(group, suffix)
            _show_by_size(group, runs, suffix)
            _show_terms(group, terms, suffix)
            if group.power:
                _show_power(group.power, suffix)
    if report.baselines:
        shown = [runs[run] for run in dict.fromkeys(r for g in report.groups for r in g.models)]
        show_directions(shown, report.baselines, tier)
    _show_mechanisms(report.mechanisms, runs, tier)
    _show_shifts(report.shifts, runs, tier)
    _show_flagged(report.flagged, runs, tier)
    for part in report.model_terms:
        _show_model_terms(part, runs, tier)
    shown = [runs[run] for group in report.groups for run in group.models]
    cells = (overall_cell(result, kind) for result in shown for kind in (BOTH, *result["kinds"]))
    show_notes(cell for cell in cells if cell)
    show_answers(report.answers)
    others = [runs[name] for row in report.shifts for name in (row.a, row.b)]
    show_marks(result["flags"] for result in (*shown, *others, *report.answers))
    show_turned(shown)


def _show_models(group: Ranking, runs: Runs, tier: str) -> None:
    """The ranking of a group, of both kinds and of each; a single model has one table of kinds."""
    results = [runs[run] for run in group.models]
    there = [kind for kind in KINDS if any(kind in result["kinds"] for result in results)]
    kinds = [BOTH, *there] if len(pooled_kinds(there)) > 1 else there
    sizes = [size for size in SIZES if any(result[size] is not None for result in results)]
    heads = ["rules", *(SIZES[size] for size in sizes)]

    def row(name: str, result: Result, kind: str) -> tuple[list[Any], Mapping[str, Any]]:
        known = (size_text(result[s]) if s == "parameters" else result[s] for s in sizes)
        return [name, rule_text(result, kind), *known], overall_cell(result, kind)

    if len(results) == 1:
        only = results[0]
        title = f"{_named(only, group)}, {group.title}{tier}"
        rows = [row(_kind_name(kind), only, kind) for kind in kinds]
        show_cells(title, ["CATs of", *heads], rows, kind=kinds[0])
        return
    for kind in kinds:
        own = [result for result in results if kind in result["kinds"]]
        if kind == BOTH:
            own = [result for result in results if result["run"] not in group.one_kind_only]
        rows = [row(_named(result), result, kind) for result in own]
        if rows:
            metric = ranking_metric(cell for _, cell in rows)
            rows.sort(key=lambda each: -metric.goodness(each[1][metric.name]))
        title = f"Models, {group.title}, {_kind_name(kind)}{tier}"
        show_cells(title, ["model", *heads], rows, kind=kind)


def _kind_name(kind: str) -> str:
    return "both kinds" if kind == BOTH else kind


def _show_flagged(rows: Sequence[Fields], runs: Runs, tier: str) -> None:
    """Each run with all CATs, and without those that this many validators or more flagged."""
    table = [([_named(runs[row["run"]]), row["by"] or "none"], row) for row in rows]
    show_cells(f"Without flagged CATs{tier}", ["model", "flagged by"], table)


def _named(result: Result, group: Ranking | None = None) -> str:
    """A model's name with its marks; the run's name if the run is a group of its own."""
    alone = group is not None and group.sort == "alone"
    return marked(result["run"] if alone else result["model"], result["flags"])


def _by_pair(rows: Sequence[Difference]) -> list[list[Difference]]:
    """The rows of all metrics, collected by pair, in their order."""
    return list(grouped(((row.a, row.b), row) for row in rows).values())


def _show_differences(group: Ranking, runs: Runs, suffix: str) -> None:
    together = pooled_kinds(group.kinds)
    _show_differences_of(BOTH if len(together) > 1 else together[0], group, runs, suffix)
    for kind in group.kinds:
        if kind not in together:
            _show_differences_of(kind, group, runs, f"{suffix}, {kind}")


def _show_differences_of(kind: str, group: Ranking, runs: Runs, suffix: str) -> None:
    pairs = _by_pair([row for row in group.differences if row.kind == kind])
    if not pairs:
        return
    shown = pairs
    if len(pairs) > _MANY:
        next_to = set(pairwise(group.models))
        shown = [three for three in pairs if (three[0].a, three[0].b) in next_to]
    rows = []
    for three in shown:
        first = three[0]
        row = [f"{_named(runs[first.a])} − {_named(runs[first.b])}", first.cats, _terms(first)]
        for test in three:
            unsure = "~" if test.unsure else ""
            row += [f"{test.difference:+.2f}", _span(test.ci), _p(test.p_holm) + unsure]
        rows.append(row)
    heads = ["models", "CATs", "terms"]
    for test in shown[0]:
        heads += [f"Δ {test.figure}", "95 %", "p"]
    _table(f"Differences between models{suffix}", heads, rows)
    if any(test.unsure for three in shown for test in three):
        names = [test.figure for test in shown[0]]
        where = [METRICS[name].unsure for name in reversed(names) if METRICS[name].unsure]
        console.say(f"~ this p may be wrong: {', '.join(where)}")
    console.say(
        f"p: Holm's correction over {len(pairs)} pair{'s' if len(pairs) > 1 else ''}; intervals: "
        "not corrected"
        + (f"; {len(shown)} neighbours are shown, --json has all pairs" if shown != pairs else "")
    )


def _terms(row: Difference) -> str:
    return f"{row.terms}{'*' if row.few_terms else ''}"


def _span(bounds: Sequence[float] | None) -> str:
    """An interval that may include negative numbers."""
    return "–" if bounds is None else " to ".join(f"{bound:+.1f}" for bound in bounds)


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _show_kinds(group: Ranking, runs: Runs, suffix: str) -> None:
    rows = []
    shares = [metric for metric in shared_metrics(group.kinds) if metric.pairs]
    for result in (runs[run] for run in group.models):
        if len(result["kinds"]) == len(group.kinds) > 1:
            cells = [result["kinds"][kind]["overall"] for kind in group.kinds]
            columns = [cell[metric.name] for metric in shares for cell in cells]
            rows.append([_named(result), rule_text(result), *columns])
    if rows:
        short = [kind.removesuffix("sentence") for kind in group.kinds]
        heads = ["model", "rules", *(f"{m.name} {kind}" for m in shares for kind in short)]
        _table(f"Kinds side by side{suffix}", heads, rows)


def _show_correlations(group: Ranking, suffix: str) -> None:
    rows = [
        [f"{row['of']} with {row['with']}", row["rho"], _p(row["p"]), row["models"]]
        for row in group.correlations
        if row["models"] > 2
    ]
    if rows:
        heads = ["correlation", "ρ", "p", "models"]
        _table(f"Spearman's rank correlation over models{suffix}", heads, rows)


def _show_by_size(group: Ranking, runs: Runs, suffix: str) -> None:
    """The models of each architecture by size (ACL §7), beside the values of ACL Table 4."""
    names = [metric.name for metric in metrics_in(group.sizes)]
    columns = [*names, *(f"{name}_printed" for name in names)]
    rows = []
    for row in group.sizes:
        first = [row["architecture"], _named(runs[row["run"]]), size_text(row["parameters"])]
        rows.append([*first, *(row.get(column) for column in columns)])
    if rows:
        heads = [column.replace("_printed", ", ACL Table 4") for column in columns]
        title = f"Models of one architecture by size{suffix}"
        _table(title, ["architecture", "model", "parameters", *heads], rows)


def _show_terms(group: Ranking, count: int, suffix: str) -> None:
    terms = most_and_least(group.terms, count=count)
    if not terms:
        return
    others = [metric.name for metric in metrics_in(terms) if metric.name != "ss"]
    columns = ["domain", "end", "term", "ss", "ss_ci", *others, "cats", "agreement"]
    heads = ["domain", "", "term", "mean ss", "95 %", *(f"mean {name}" for name in others)]
    rows = [[row[column] for column in columns] for row in terms]
    _table(f"Terms, mean over models{suffix}", [*heads, "CATs", "agreement"], rows)
    console.say(_ABOUT_TERMS)


def _show_model_terms(part: ModelTerms, runs: Runs, tier: str) -> None:
    """One model by domain, with its most and least stereotyped terms (ACL Table 8)."""
    metrics = metrics_in(part.rows)
    rows = [
        [
            row["domain"],
            row["end"],
            row["term"] or _all_terms(row),
            *values(row, metrics),
            row["cats"],
            row["mean_ss"],
            row["agreement"],
        ]
        for row in part.rows
    ]
    heads = ["domain", "", "term", *metric_heads(metrics), "CATs"]
    result = runs[part.run]
    kind = f", {next(iter(result['kinds']))}" if len(result["kinds"]) == 1 else ""
    title = f"Terms of {_named(result)}, {rule_text(result)}{kind}{tier}"
    _table(title, [*heads, "mean ss", "agreement"], rows)
    show_notes(part.rows)
    console.say(_ABOUT_TERMS)


def _all_terms(row: Mapping[str, Any]) -> str:
    return f"all {amount(row['terms'], 'term')}{'*' if row['few_terms'] else ''}"


def _show_mechanisms(rows: Sequence[Fields], runs: Runs, tier: str) -> None:
    """Means over the models that two profiles share (ACL §7)."""
    flags: dict[str, list[str]] = {}
    for result in runs.values():
        name = result["model"]
        flags[name] = [*dict.fromkeys([*flags.get(name, ()), *result["flags"]])]
    for pair in dict.fromkeys((row["a"], row["b"]) for row in rows):
        own = [row for row in rows if (row["a"], row["b"]) == pair]
        metrics = [metric.name for metric in metrics_in(own)]
        table = [
            [row["kind"], len(row["models"]), *(v for m in metrics for v in row.get(m, [None] * 2))]
            for row in own
        ]
        heads = [f"{metric} {name}" for metric in metrics for name in pair]
        title = f"Means over the models of both {pair[0]} and {pair[1]}{tier}"
        _table(title, ["kind", "models", *heads], table)
        for models in dict.fromkeys(tuple(row["models"]) for row in own):
            kinds = ", ".join(row["kind"] for row in own if tuple(row["models"]) == models)
            named = [marked(name, flags.get(name, ())) for name in models]
            console.say(f"{kinds}: {', '.join(named)}")
    if rows:
        console.say("each kind is averaged over the models whose rules for it differ")


def _show_shifts(shifts: Sequence[Difference], runs: Runs, tier: str) -> None:
    rows = []
    for three in _by_pair(shifts):
        first = three[0]
        other, base = runs[first.a], runs[first.b]
        ways = [result["run"].removeprefix(f"{result['model']}/") for result in (other, base)]
        name = marked(other["model"], [*dict.fromkeys([*other["flags"], *base["flags"]])])
        row = [name, *ways, first.kind, first.cats, _terms(first)]
        for test in three:
            row += [f"{test.difference:+.2f}", _span(test.ci)]
        rows.append(row)
    if rows:
        heads = ["model", "other", "minus", "kind", "CATs", "terms"]
        for metric in dict.fromkeys(row.figure for row in shifts):
            heads += [f"Δ {metric}", "95 %"]
        _table(f"The same model under another rule or variant{tier}", heads, rows)


def _show_power(power: Power, suffix: str) -> None:
    against = "two models" if power.against == "each other" else "one model's ss and 50"
    for part in power.figures:
        hardest = part.pairs > 1
        heads = ["CATs per term", "terms", "CATs", "power", *(["terms, hardest pair"] * hardest)]
        rows = [need[: len(heads)] for need in part.needed]
        title = (
            f"Needed for a difference of {power.difference:g} points of {part.figure} "
            f"between {against} (alpha {power.alpha:g}, power {power.power:g}){suffix}"
        )
        _table(title, heads, rows)
        if part.detectable is None:
            console.say("No term differs from another, so the power cannot be computed.")
            continue
        console.say(
            f"With the present {amount(part.terms, 'term')} and {amount(part.cats, 'CAT')}, you "
            f"can detect {part.detectable:.2f} points"
            + (f" ({part.detectable_hardest:.2f} for the hardest pair)" if hardest else "")
        )
    if not power.figures:
        console.say("With fewer than two terms the power cannot be computed.")
