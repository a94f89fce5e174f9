"""Models' results as tables to take elsewhere: one long tidy table, and LaTeX."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from curation.scores.flags import LATEX, marked, notes
from curation.scores.sizes import SIZES, size_text
from curation.scores.terms import parted
from curation.stats.metrics import ALL, BOTH, METRICS

COLUMNS = (
    *("run", "model", "rule", "variant", "profiles", "own_head", "flags"),
    *("parameters", "corpus_gb", "split", "tier", "kind", "domain", "term"),
    *("figure", "value", "low", "high", "too_wide", "cats", "terms", "few_terms"),
)
_FEW, _WIDE = "*", r"\textasciitilde{}"
_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def tidy(
    found: Sequence[dict[str, Any]], *, split: str, tier: int | None = None
) -> Iterator[list[Any]]:
    """One row for each figure of each cell of ``compare.run_results``, under ``COLUMNS``.

    Args:
        found: the results of the runs.
        split: of the CATs, as it stands in each row.
        tier: the least tier of the CATs, or None.

    Yields:
        Kind is «both» where a term's CATs of both kinds are pooled, domain «all» where domains
        are taken together, term "" above a term. The rule is that of the row's kind. Values are in
        points, unrounded; low and high are None where there is no interval.
    """
    for one in found:
        of_run = [one["variant"], " ".join(one["profiles"]), one["own_head"]]
        of_run += [" ".join(one["flags"]), one["parameters"], one["corpus_gb"], split, tier]
        parts = {BOTH: one, **one["kinds"]}
        for kind, part in parts.items():
            cells = [(ALL, "", part["overall"])]
            cells += [(domain, "", cell) for domain, cell in part["domains"].items()]
            cells += [(*parted(key, one), cell) for key, cell in part["terms"].items()]
            for domain, term, cell in cells:
                for figure in METRICS:
                    low, high = cell[f"{figure}_ci"] or (None, None)
                    yield [
                        *(one["run"], one["model"], rule_text(one, kind), *of_run),
                        *(kind, domain, term, figure, cell[figure], low, high),
                        *(figure in cell["too_wide"], cell["cats"], cell["terms"]),
                        cell.get("few_terms", False),
                    ]


def rule_text(one: Mapping[str, Any], kind: str = BOTH) -> str:
    """The rule of a kind as tables show it, or the rules of both.

    «own head» is behind nsp where it was read with the model's own head (ACL §6.1 trains one for
    every model).

    >>> run = {"rules": {"intrasentence": "ll-acl", "intersentence": "nsp"}, "own_head": True}
    >>> rule_text(run), rule_text(run, "intrasentence")
    ('ll-acl, nsp (own head)', 'll-acl')
    """
    rules = one["rules"]
    if not rules:
        return f"{one['declared']}, as declared" if one["declared"] else "not declared"
    nsp = "nsp (own head)" if one["own_head"] else "nsp"
    shown = [nsp if rule == "nsp" else rule for k, rule in rules.items() if kind in (BOTH, k)]
    return ", ".join(dict.fromkeys(shown))


def escape(text: str) -> str:
    r"""A text as LaTeX prints it.

    >>> escape("a_b & 50 % of {x}~")
    'a\\_b \\& 50 \\% of \\{x\\}\\textasciitilde{}'
    """
    return re.sub(r"[&%$#_{}\\~^<>|]", lambda found: _ESCAPES[found[0]], text)


def latex(
    found: Sequence[Mapping[str, Any]],
    *,
    caption: str,
    label: str = "tab:models",
    intervals: bool = False,
    bold: bool = True,
) -> str:
    r"""A booktabs table like StereoSet's tables of models: lms, ss, icat by domain and overall.

    Args:
        found: of ``compare.run_results``, in the order of the rows.
        caption: in plain text; what the marks of models mean is added.
        label: for references.
        intervals: whether each value's interval is printed in small type below it.
        bold: whether the best icat of each column is bold, all of them where the printed values
            are equal.

    Returns:
        A ``table`` that needs no more than ``\usepackage{booktabs}``; wide ones also fit with
        ``table*``. Each model's rules, and the sizes that are known, have columns of their own.
    """
    domains = sorted({domain for one in found for domain in one["domains"]})
    columns = [*domains, ALL]
    cells = [[{**one["domains"], ALL: one["overall"]}.get(c) for c in columns] for one in found]
    best = [
        max((printed(cell["icat"]) for cell in column if cell), key=_number)
        for column in zip(*cells, strict=True)
    ]
    bold = bold and len(found) > 1
    known = [size for size in SIZES if any(one.get(size) is not None for one in found)]
    ruled = any("rules" in one for one in found)
    first = ["Model", *(["Rules"] if ruled else []), *(SIZES[size] for size in known)]
    groups = [rf"\multicolumn{{3}}{{c}}{{{'Overall' if c == ALL else escape(c)}}}" for c in columns]
    left = [len(first) + 1 + 3 * place for place in range(len(columns))]
    heads = [
        rf"{' &' * len(first)} {' & '.join(groups)} \\",
        " ".join(rf"\cmidrule(lr){{{place}-{place + 2}}}" for place in left),
        rf"{' & '.join(first)} & {' & '.join(['lms & ss & icat'] * len(columns))} \\",
    ]
    rows = []
    for one, row in zip(found, cells, strict=True):
        texts = [_model(one), *([escape(rule_text(one))] if ruled else [])]
        texts += [_size(one[size], size) for size in known]
        below = [""] * len(first)
        for cell, top in zip(row, best, strict=True):
            if cell is None:
                texts += ["--"] * 3
                below += [""] * 3
                continue
            icat = printed(cell["icat"])
            shown = rf"\textbf{{{icat}}}" if bold and icat == top else icat
            texts += [printed(cell["lms"]) + _few(cell, "lms"), printed(cell["ss"]) + _few(cell)]
            texts.append(shown + _few(cell))
            below += [bracket(cell[f"{f}_ci"]) + _wide(cell, f) for f in METRICS]
        rows.append(rf"{' & '.join(texts)} \\")
        if intervals and any(below):
            rows.append(rf"{' & '.join(below)} \\")
    return _table(
        "l" * (1 + ruled) + "r" * len(known) + "rrr" * len(columns),
        heads,
        rows,
        _caption(caption, found, [c for row in cells for c in row if c], intervals, bold=bold),
        label,
    )


def latex_terms(
    one: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    caption: str,
    label: str = "tab:terms",
) -> str:
    r"""A booktabs table like ACL Table 8: a model by domain, with its most and least biased terms.

    Beside the figures of Table 8 it has their intervals, CATs and the annotators' agreement.

    Args:
        one: the model's ``compare.run_results``.
        rows: of ``terms.model_terms``.
        caption: in plain text; what the marks of the model mean is added.
        label: for references.
    """
    figures = " & ".join(rf"{figure} & 95\,\%" for figure in METRICS)
    heads = [rf"Domain & Term & {figures} & CATs & agreement \\"]
    texts: list[str] = []
    for row in rows:
        if not row["term"] and texts:
            texts.append(r"\midrule")
        name = rf"\quad {escape(row['term'])} ({row['end']})" if row["term"] else "all terms"
        domain = "" if row["term"] else escape(row["domain"])
        cells = [domain, name]
        for figure in METRICS:
            span = _span(row[f"{figure}_ci"]) + _wide(row, figure)
            cells += [printed(row[figure]) + _few(row, figure), span]
        cells += [str(row["cats"]), printed(row["agreement"])]
        texts.append(rf"{' & '.join(cells)} \\")
    return _table("ll" + "r" * 8, heads, texts, _caption(caption, [one], rows), label)


def _size(value: float | None, size: str) -> str:
    if value is None:
        return "--"
    return size_text(value) if size == "parameters" else f"{value:g}"


def _model(one: Mapping[str, Any]) -> str:
    return marked(escape(one["model"]), one.get("flags", ()), marks=LATEX)


def _caption(
    text: str,
    found: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    intervals: bool = True,
    *,
    bold: bool = False,
) -> str:
    """The caption, and what the marks of models and cells in the table mean."""
    meant = notes(one.get("flags", ()) for one in found)
    marks = [f" {LATEX[flag]}: {escape(why)}." for flag, why in meant.items()]
    if bold:
        marks.append(" Bold: the highest icat.")
    if any(cell.get("few_terms") for cell in cells):
        marks.append(f" {_FEW}: fewer than five terms.")
    if intervals and any(cell["too_wide"] for cell in cells):
        marks.append(rf" {_WIDE}: an interval that covers more than 98\,\%.")
    return escape(text) + "".join(marks)


def _few(cell: Mapping[str, Any], figure: str = "icat") -> str:
    return _FEW if cell.get("few_terms") and cell[figure] is not None else ""


def _wide(cell: Mapping[str, Any], figure: str) -> str:
    return _WIDE if figure in cell["too_wide"] and cell[f"{figure}_ci"] else ""


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
    """A figure as the table shows it.

    >>> printed(61.4836), printed(None)
    ('61.48', '--')
    """
    return "--" if value is None else f"{value:.2f}"


def _span(bounds: Sequence[float] | None) -> str:
    return "--" if bounds is None else "--".join(f"{bound:.1f}" for bound in bounds)


def bracket(bounds: Sequence[float] | None) -> str:
    r"""An interval as the table shows it, in small type; "" where there is none.

    >>> bracket((58.26, 64.71)), bracket(None)
    ('{\\scriptsize [58.3, 64.7]}', '')
    """
    return "" if bounds is None else rf"{{\scriptsize [{bounds[0]:.1f}, {bounds[1]:.1f}]}}"


def _number(text: str) -> float:
    return -math.inf if text == "--" else float(text)
