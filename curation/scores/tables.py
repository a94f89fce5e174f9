"""Models' results as one long tidy table and as LaTeX, and what titles say."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from curation.catsets.stereoset import tier_text
from curation.kinds import KINDS
from curation.records import Fields
from curation.scores.flags import LATEX, marked, notes
from curation.scores.groups import Comparison, Ranking
from curation.scores.terms import domain_and_target
from curation.stats.metrics import (
    ALL,
    BOTH,
    Metric,
    list_metrics,
    metrics_in,
    pooled_kinds,
    ranking_metric,
    shared_metrics,
)
from curation.text.wording import amount

COLUMNS = (
    "run", "model", "rule", "variant", "profiles", "own_head", "other_head", "lower_is_likelier",
    "flags", "parameters", "corpus_gb", "split", "tier", "targets", "missing", "kind", "domain",
    "term", "figure", "value", "low", "high", "too_wide", "cats", "terms", "few_terms",
)  # fmt: skip
SIZES = {"parameters": "parameters", "corpus_gb": "corpus, GB"}  # as tables head them


_NO_RUN: Fields = {
    "variant": "", "profiles": [], "own_head": False, "other_head": "", "lower_is_likelier": False,
    "flags": [], "parameters": None, "corpus_gb": None, "missing": 0, "declared": "",
}  # fmt: skip


def as_runs(baselines: Sequence[Fields]) -> list[Fields]:
    """Baselines (of ``results.pair_baselines``) that have values, in the form of runs."""
    return [
        {**_NO_RUN, **result, "run": result["model"], "rules": dict.fromkeys(KINDS, "baseline")}
        for result in baselines
        if result["kinds"]
    ]


def columns(results: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """``COLUMNS``, and ``direction`` if a result has values by direction."""
    parts = [part for result in results for part in result["kinds"].values()]
    return (*COLUMNS, "direction") if any("directions" in part for part in parts) else COLUMNS


def tidy(
    results: Sequence[Mapping[str, Any]],
    *,
    split: str,
    tier: int | None = None,
    original_targets: bool = False,
) -> Iterator[list[Any]]:
    """One row for each metric of each cell of ``compare.run_results``.

    Args:
        results: the results of the runs.
        split: the split of the CATs, which each row repeats.
        tier: the lowest tier of the CATs, or None.
        original_targets: whether terms are original targets, as in ``Source.by_original``.

    Yields:
        Rows with the columns of ``columns``. ``figure`` names the metric. Kind is «both» if a
        term's CATs of both kinds are pooled; a run of one kind has no such rows. Domain is «all» if
        all domains are taken together, and term is "" for more than one term. The rule is that of
        the row's kind. Values are in points and unrounded; low and high are None if there is no
        interval.
    """
    width = len(columns(results))
    for result in results:
        of_run = [result["variant"], " ".join(result["profiles"])]
        of_run += [result[key] for key in ("own_head", "other_head", "lower_is_likelier")]
        of_run += [" ".join(result["flags"]), result["parameters"], result["corpus_gb"]]
        of_run += [split, tier, "original" if original_targets else "own", result["missing"]]
        both = {BOTH: result} if len(pooled_kinds(result["kinds"])) > 1 else {}
        for kind, part in {**both, **result["kinds"]}.items():
            cells = [(ALL, "", "", part["overall"])]
            cells += [(ALL, "", name, c) for name, c in part.get("directions", {}).items()]
            cells += [(domain, "", "", cell) for domain, cell in part["domains"].items()]
            for key, cell in part["terms"].items():
                cells.append((*domain_and_target(key, part), "", cell))
            for domain, term, direction, cell in cells:
                for metric in (each.name for each in metrics_in([cell])):
                    low, high = cell[f"{metric}_ci"] or (None, None)
                    yield [
                        result["run"],
                        result["model"],
                        rule_text(result, kind),
                        *of_run,
                        kind,
                        domain,
                        term,
                        metric,
                        cell[metric],
                        low,
                        high,
                        metric in cell["too_wide"],
                        cell["cats"],
                        cell["terms"],
                        cell.get("few_terms", False),
                        *([direction] if width > len(COLUMNS) else []),
                    ]


def compact(report: Comparison) -> Fields:
    """A report of ``compare`` as its JSON file has it: far smaller, and with the same content.

    The tables of pairs and of terms are objects of columns, which ``pandas.DataFrame`` reads. They
    lack what follows from the rest (docs/formats.md says how). Numbers have six significant digits.
    """
    runs, baselines = (
        [
            {**run, "terms": _by_term(run, pooled_kinds(run["kinds"]))}
            | {"kinds": {k: {**p, "terms": _by_term(p, [k])} for k, p in run["kinds"].items()}}
            for run in results
        ]
        for results in (report.runs, report.baselines)
    )
    groups = [{**group._asdict(), "differences": _by_kind(group)} for group in report.groups]
    shifts = [row._asdict() for row in report.shifts]
    for row in shifts:
        del row["p_holm"]
    whole = report._asdict() | {"runs": runs, "groups": groups, "shifts": shifts}
    del whole["baselines"]
    whole |= {"baselines": baselines} if baselines else {}
    small: Fields = rounded(whole)
    return small


def _by_term(part: Mapping[str, Any], kinds: Iterable[str]) -> dict[str, list[Any]]:
    cells = part["terms"]
    there = shared_metrics(kinds)
    names = [metric.name for metric in there if metric.pairs]  # the others follow from these
    columns = [*names, *(f"{metric.name}_ci" for metric in there), "cats", "ties"]
    return {"term": [*cells]} | {name: [c[name] for c in cells.values()] for name in columns}


def _by_kind(group: Ranking) -> list[Fields]:
    """The differences of a group: for each kind the columns of pairs; runs by their place."""
    place = {run: number for number, run in enumerate(group.models)}
    tables: list[Fields] = []
    for kind in dict.fromkeys(row.kind for row in group.differences):
        own = [row for row in group.differences if row.kind == kind]
        table: Fields = {"kind": kind}
        for metric in dict.fromkeys(row.figure for row in own):
            rows = [row for row in own if row.figure == metric]
            table["a"] = [place[row.a] for row in rows]
            table["b"] = [place[row.b] for row in rows]
            table["cats"] = [row.cats for row in rows]
            table["terms"] = [row.terms for row in rows]
            table[f"{metric}_a"] = [row.a_value for row in rows]
            table[f"{metric}_b"] = [row.b_value for row in rows]
            table[f"{metric}_margin"] = [row.ci and row.ci[1] - row.difference for row in rows]
            table[f"{metric}_p"] = [row.p for row in rows]
            table[f"{metric}_unsure"] = [int(row.unsure) for row in rows]
        tables.append(table)
    return tables


def rounded(value: Any) -> Any:
    """Named tuples as objects, and numbers with six significant digits, at any depth."""
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [*map(rounded, value)]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def rule_text(result: Mapping[str, Any], kind: str = BOTH) -> str:
    """The rule of a kind as tables show it, or the rules of both kinds.

    If nsp was computed with the model's own head, «own head» follows it (ACL §6.1 trains one for
    every model), and «trained head» if it is BERT's under a profile that uses its own.

    >>> run = {"rules": {"intrasentence": "ll-acl", "intersentence": "nsp"}, "own_head": True}
    >>> rule_text(run), rule_text(run, "intrasentence")
    ('ll-acl, nsp (own head)', 'll-acl')
    """
    rules = result["rules"]
    if not rules:
        return f"{result['declared']}, as declared" if result["declared"] else "not declared"
    head = "trained head" if "trained_head" in result.get("flags", ()) else ""
    head = "own head" if result["own_head"] else head
    nsp = f"nsp ({head})" if head else "nsp"
    shown = [nsp if rule == "nsp" else rule for k, rule in rules.items() if kind in (BOTH, k)]
    return ", ".join(dict.fromkeys(shown))


FEW, WIDE = "*", r"\textasciitilde{}"
_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def latex_report(report: Comparison, *, intervals: bool) -> str:
    """All LaTeX tables of a comparison: one per group, and one per run of ``model_terms``.

    Args:
        report: of ``comparing.compare_runs``.
        intervals: whether each value's interval is printed below it.
    """
    runs = {result["run"]: result for result in report.runs}
    conditions = ties_and_tier(report.ties, report.tier)
    conditions += "; by original target" if report.original_targets else ""
    if report.left_out:
        conditions += f"; {report.cats} CATs, without {report.left_out} that a run lacks"
    texts = []
    for group in report.groups:
        name = group.models[0] if group.sort == "alone" else group.title
        only = len(report.groups) == 1
        label = "tab:models" + ("" if only else f"-{_slug(name)}")
        models = [runs[run] for run in group.models if run not in group.one_kind_only]
        if not models:
            continue
        kind = ""
        if len(group.kinds) == 1:
            kind = f"{group.kinds[0]} CATs; "
            models = [{**run, **run["kinds"][group.kinds[0]]} for run in models]
        shown = list_metrics(metrics_in(model["overall"] for model in models))
        caption = f"{shown} by domain and overall ({report.split}; {kind}"
        caption += f"{group.title}; {conditions})."
        texts.append(latex(models, caption=caption, label=label, intervals=intervals))
    for kind in dict.fromkeys(kind for run in report.baselines for kind in run["kinds"]):
        models = [run for run in (*report.runs, *as_runs(report.baselines)) if kind in run["kinds"]]
        parts = [run["kinds"][kind] for run in models]
        models = [
            {**run, "overall": part["overall"], "domains": part.get("directions", {})}
            for run, part in zip(models, parts, strict=True)
        ]
        caption = f"Models and baselines that know nothing: {kind} CATs by direction and overall "
        caption += f"({report.split}; {conditions})."
        texts.append(
            latex(models, caption=caption, label="tab:directions", intervals=intervals, bold=False)
        )
    for part in report.model_terms:
        result = runs[part.run]
        caption = f"{result['model']} by domain, with its most and least stereotyped terms "
        kind = f"{next(iter(result['kinds']))} CATs; " if len(result["kinds"]) == 1 else ""
        caption += f"({report.split}; {kind}{rule_text(result)}; {conditions})."
        label = f"tab:terms-{_slug(part.run)}"
        texts.append(latex_terms(result, part.rows, caption=caption, label=label))
    return "\n".join(texts)


def latex_baselines(
    results: Sequence[Mapping[str, Any]],
    *,
    split: str,
    tier: int | None,
    ties: str,
    intervals: bool,
    original_targets: bool = False,
) -> tuple[str, list[str]]:
    """A LaTeX table of the baselines that score both kinds, with the columns of ``latex``.

    Args:
        results: of ``results.compute_baselines``.
        split: the name of the CATs, for the caption.
        tier: the lowest tier of the CATs, for the caption.
        ties: how ties count, for the caption.
        intervals: whether each value's interval is printed below it.
        original_targets: whether terms are original targets, for the caption.

    Returns:
        The table, and the names of the baselines that it leaves out because they score one kind
        only.
    """
    both_kinds = [result for result in results if result["overall"]]
    shown = list_metrics(metrics_in(result["overall"] for result in both_kinds))
    caption = f"Baselines: {shown} by domain and overall "
    targets = "; by original target" if original_targets else ""
    caption += f"({split}; {ties_and_tier(ties, tier)}{targets})."
    text = latex(
        both_kinds, caption=caption, label="tab:baselines", intervals=intervals, bold=False
    )
    return text, [r["model"] for r in results if r["kinds"] and not r["overall"]]


def ties_and_tier(ties: str, tier: int | None) -> str:
    """How ties count and the lowest tier, for captions."""
    return f"ties {ties}" + (f"; {tier_text(tier)}" if tier else "")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def escape(text: str) -> str:
    r"""A text with LaTeX's special characters escaped.

    >>> escape("a_b & 50 % of {x}~")
    'a\\_b \\& 50 \\% of \\{x\\}\\textasciitilde{}'
    """
    return re.sub(r"[&%$#_{}\\~^<>|]", lambda match: _ESCAPES[match[0]], text)


def latex(
    results: Sequence[Mapping[str, Any]],
    *,
    caption: str,
    label: str = "tab:models",
    intervals: bool = False,
    bold: bool = True,
) -> str:
    r"""A booktabs table like StereoSet's tables of models: each metric by domain and overall.

    Args:
        results: of ``compare.run_results``, in the order of the rows.
        caption: in plain text; the meaning of the models' marks is added.
        label: for references.
        intervals: whether each value's interval is printed in small type below it.
        bold: whether the best value of each domain, by icat if the kinds have it, is bold; if
            several printed values are the best, all of them are.

    Returns:
        A ``table`` that only needs ``\usepackage{booktabs}``; use ``table*`` for wide ones. Each
        model's rules, and the sizes that are known, have columns of their own.
    """
    domains = sorted({domain for result in results for domain in result["domains"]})
    columns = [*domains, ALL]
    cells = [[{**r["domains"], ALL: r["overall"]}.get(c) for c in columns] for r in results]
    metrics, ranked = (
        metrics_in(c for row in cells for c in row),
        ranking_metric(c for row in cells for c in row),
    )
    best = [
        max((printed(cell[ranked.name]) for cell in column if cell), key=partial(_goodness, ranked))
        for column in zip(*cells, strict=True)
    ]
    bold = bold and len(results) > 1
    width = len(metrics)
    known = [size for size in SIZES if any(r.get(size) is not None for r in results)]
    has_rules = any("rules" in result for result in results)
    first = ["Model", *(["Rules"] if has_rules else []), *(SIZES[size] for size in known)]
    titles = ["Overall" if domain == ALL else escape(domain) for domain in columns]
    groups = [rf"\multicolumn{{{width}}}{{c}}{{{title}}}" for title in titles]
    left = [len(first) + 1 + width * place for place in range(len(columns))]
    heads = [
        rf"{' &' * len(first)} {' & '.join(groups)} \\",
        " ".join(rf"\cmidrule(lr){{{place}-{place + width - 1}}}" for place in left),
        " & ".join([*first, *[metric.name for metric in metrics] * len(columns)]) + r" \\",
    ]
    rows = []
    for result, row in zip(results, cells, strict=True):
        texts = [_model(result), *([escape(rule_text(result))] if has_rules else [])]
        texts += [_size(result[size], size) for size in known]
        below = [""] * len(first)
        for cell, top in zip(row, best, strict=True):
            if cell is None:
                texts += ["--"] * width
                below += [""] * width
                continue
            for metric in metrics:
                value = printed(cell[metric.name])
                is_best = bold and metric is ranked and value == top
                shown = rf"\textbf{{{value}}}" if is_best else value
                texts.append(shown + _few(cell, metric.name))
                below.append(bracket(cell[f"{metric.name}_ci"]) + _wide(cell, metric.name))
        rows.append(rf"{' & '.join(texts)} \\")
        if intervals and any(below):
            rows.append(rf"{' & '.join(below)} \\")
    shown_cells = [cell for row in cells for cell in row if cell]
    return _table(
        "l" * (1 + has_rules) + "r" * (len(known) + width * len(columns)),
        heads,
        rows,
        _caption(caption, results, shown_cells, intervals, bold=ranked if bold else None),
        label,
    )


def latex_terms(
    result: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    caption: str,
    label: str = "tab:terms",
) -> str:
    r"""A booktabs table like ACL Table 8: a model by domain, with its most and least biased terms.

    In addition to the values of Table 8 it has their intervals, CATs and the annotators' agreement.

    Args:
        result: the model's ``compare.run_results``.
        rows: of ``terms.model_terms``.
        caption: in plain text; the meaning of the model's marks is added.
        label: for references.
    """
    metrics = [metric.name for metric in metrics_in(rows)]
    shown = " & ".join(rf"{metric} & 95\,\%" for metric in metrics)
    heads = [rf"Domain & Term & {shown} & CATs & agreement \\"]
    texts: list[str] = []
    for row in rows:
        if not row["term"] and texts:
            texts.append(r"\midrule")
        name = rf"\quad {escape(row['term'])} ({row['end']})" if row["term"] else "all terms"
        domain = "" if row["term"] else escape(row["domain"])
        cells = [domain, name]
        for metric in metrics:
            span = _span(row[f"{metric}_ci"]) + _wide(row, metric)
            cells += [printed(row[metric]) + _few(row, metric), span]
        cells += [str(row["cats"]), printed(row["agreement"])]
        texts.append(rf"{' & '.join(cells)} \\")
    return _table(
        "ll" + "r" * (2 * len(metrics) + 2), heads, texts, _caption(caption, [result], rows), label
    )


def _size(value: float | None, size: str) -> str:
    if value is None:
        return "--"
    return size_text(value) if size == "parameters" else f"{value:g}"


def _model(result: Mapping[str, Any]) -> str:
    return marked(escape(result["model"]), result.get("flags", ()), marks=LATEX)


def _caption(
    text: str,
    results: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    intervals: bool = True,
    *,
    bold: Metric | None = None,
) -> str:
    """The caption with the meaning of the marks in the table."""
    meanings = notes(result.get("flags", ()) for result in results)
    marks = [f" {LATEX[flag]}: {escape(meaning)}." for flag, meaning in meanings.items()]
    if bold:
        marks.append(f" Bold: {bold.best}.")
    if any(cell.get("few_terms") for cell in cells):
        marks.append(f" {FEW}: fewer than five terms.")
    if intervals and any(cell["too_wide"] for cell in cells):
        marks.append(rf" {WIDE}: an interval that covers more than 98\,\%.")
    return escape(text) + "".join(marks)


def _few(cell: Mapping[str, Any], metric: str) -> str:
    return FEW if cell.get("few_terms") and cell[metric] is not None else ""


def _wide(cell: Mapping[str, Any], metric: str) -> str:
    return WIDE if metric in cell["too_wide"] and cell[f"{metric}_ci"] else ""


def _table(
    columns: str, heads: Sequence[str], rows: Sequence[str], caption: str, label: str
) -> str:
    lines = [
        "% needs \\usepackage{booktabs}; non-ASCII letters need UTF-8",
        r"\begin{table}",
        r"\centering",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *heads,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def printed(value: float | None) -> str:
    """A value as the table shows it.

    >>> printed(61.4836), printed(None)
    ('61.48', '--')
    """
    return "--" if value is None else f"{value:.2f}"


def _span(bounds: Sequence[float] | None) -> str:
    return "--" if bounds is None else "--".join(f"{bound:.1f}" for bound in bounds)


def bracket(bounds: Sequence[float] | None) -> str:
    r"""An interval as the table shows it, in small type; "" if there is none.

    >>> bracket((58.26, 64.71)), bracket(None)
    ('{\\scriptsize [58.3, 64.7]}', '')
    """
    return "" if bounds is None else rf"{{\scriptsize [{bounds[0]:.1f}, {bounds[1]:.1f}]}}"


def _goodness(metric: Metric, text: str) -> float:
    return -math.inf if text == "--" else metric.goodness(float(text))


def suffix(report: Mapping[str, Any], kind: str = BOTH) -> str:
    """The conditions under which results were computed, as the end of a title.

    Args:
        report: what a command of scores writes to the file of ``--json``: ``tier``,
            ``original_targets`` and ``partial``, or ``cats`` and ``left_out``, are read.
        kind: of the table's CATs.

    >>> suffix({"tier": 4, "original_targets": {"cats": 9, "own": 0}, "partial": None})
    ', CATs of tier 4 or more, by original target'
    >>> suffix({"cats": 1199, "left_out": 1})
    ', 1,199 of 1,200 CATs'
    """
    texts = [tier_text(report.get("tier"))]
    texts.append("by original target" if report.get("original_targets") else "")
    left_out = of = 0
    if partial := report.get("partial"):  # of predictions
        counts = partial if kind == BOTH else partial["kinds"][kind]
        left_out, of = counts["left_out"], counts["of"]
    elif "cats" in report:  # of a comparison
        left_out, of = report["left_out"], report["cats"] + report["left_out"]
    texts.append(f"{of - left_out:,} of {amount(of, 'CAT')}" if left_out else "")
    return "".join(f", {text}" for text in texts if text)


def size_text(count: float | None) -> str:
    """A number of parameters as tables show it.

    >>> size_text(124_439_808), size_text(1_557_611_200), size_text(4100), size_text(None)
    ('124M', '1.56B', '4.1K', '–')
    """
    if count is None:
        return "–"
    unit, letter = next(((u, x) for u, x in ((1e9, "B"), (1e6, "M")) if count >= u), (1e3, "K"))
    return f"{count / unit:.3g}{letter}"
