"""Models' results as tables to take elsewhere: one long tidy table, and LaTeX."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from curation.scores.compare import ALL
from curation.scores.differences import BOTH, FIGURES

COLUMNS = (
    *("model", "rule", "variant", "split", "kind", "domain", "term"),
    *("figure", "value", "low", "high", "cats", "terms"),
)
_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def tidy(found: Sequence[dict[str, Any]], *, split: str) -> Iterator[list[Any]]:
    """One row for each figure of each cell of ``compare.run_results``, under ``COLUMNS``.

    Args:
        found: the results of the runs.
        split: of the CATs, as it stands in each row.

    Yields:
        Kind is «both» where a term's CATs of both kinds are pooled, domain «all» where domains
        are taken together, term "" above a term. Values are in points, unrounded; low and high
        are None where there is no interval.
    """
    for one in found:
        cells = [(BOTH, ALL, "", one["overall"])]
        cells += [(BOTH, domain, "", cell) for domain, cell in one["domains"].items()]
        for kind, part in one["kinds"].items():
            cells.append((kind, ALL, "", part["overall"]))
            cells += [(kind, domain, "", cell) for domain, cell in part["domains"].items()]
            cells += [(kind, *parted(key, one), cell) for key, cell in part["terms"].items()]
        for kind, domain, term, cell in cells:
            for figure in FIGURES:
                low, high = cell[f"{figure}_ci"] or (None, None)
                yield [
                    *(one["model"], one["rule"], one["variant"], split, kind, domain, term),
                    *(figure, cell[figure], low, high, cell["cats"], cell["terms"]),
                ]


def parted(key: str, one: dict[str, Any]) -> tuple[str, str]:
    """Domain and target of a term's key; a domain's own name may hold a slash."""
    domain = max((d for d in one["domains"] if key.startswith(f"{d}/")), key=len)
    return domain, key[len(domain) + 1 :]


def way(one: dict[str, Any]) -> str:
    """Rule and variant of a run's results as its folder is named."""
    return f"{one['rule']}+{one['variant']}" if one["variant"] else str(one["rule"])


def escape(text: str) -> str:
    r"""A text as LaTeX prints it.

    >>> escape("a_b & 50 % of {x}~")
    'a\\_b \\& 50 \\% of \\{x\\}\\textasciitilde{}'
    """
    return re.sub(r"[&%$#_{}\\~^<>|]", lambda found: _ESCAPES[found[0]], text)


def latex(
    found: Sequence[dict[str, Any]],
    *,
    caption: str,
    label: str = "tab:models",
    ways: bool = False,
    intervals: bool = False,
    bold: bool = True,
) -> str:
    r"""A booktabs table like StereoSet's tables of models: lms, ss, icat by domain and overall.

    Args:
        found: of ``compare.run_results``, in the order of the rows.
        caption: in plain text.
        label: for references.
        ways: whether each model's rule stands behind its name.
        intervals: whether each value's interval is printed in small type below it.
        bold: whether the best icat of each column is bold, all of them where the printed values
            are equal.

    Returns:
        A ``table`` that needs no more than ``\usepackage{booktabs}``; wide ones also fit with
        ``table*``.
    """
    domains = sorted({domain for one in found for domain in one["domains"]})
    columns = [*domains, ALL]
    cells = [[{**one["domains"], ALL: one["overall"]}.get(c) for c in columns] for one in found]
    best = [
        max((printed(cell["icat"]) for cell in column if cell), key=_number)
        for column in zip(*cells, strict=True)
    ]
    groups = [rf"\multicolumn{{3}}{{c}}{{{'Overall' if c == ALL else escape(c)}}}" for c in columns]
    rules = [rf"\cmidrule(lr){{{2 + 3 * place}-{4 + 3 * place}}}" for place in range(len(columns))]
    lines = [
        "% needs \\usepackage{booktabs}; non-ASCII letters need UTF-8",
        r"\begin{table}",
        r"\centering",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{'rrr' * len(columns)}}}",
        r"\toprule",
        rf" & {' & '.join(groups)} \\",
        " ".join(rules),
        rf"Model & {' & '.join(['lms & ss & icat'] * len(columns))} \\",
        r"\midrule",
    ]
    for one, row in zip(found, cells, strict=True):
        texts = [escape(f"{one['model']} ({way(one)})" if ways else one["model"])]
        below = [""]
        for cell, top in zip(row, best, strict=True):
            if cell is None:
                texts += ["--"] * 3
                below += [""] * 3
                continue
            icat = printed(cell["icat"])
            texts += [printed(cell["lms"]), printed(cell["ss"])]
            texts.append(rf"\textbf{{{icat}}}" if bold and icat == top else icat)
            below += [bracket(cell[f"{figure}_ci"]) for figure in FIGURES]
        lines.append(rf"{' & '.join(texts)} \\")
        if intervals and any(below):
            lines.append(rf"{' & '.join(below)} \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def printed(value: float | None) -> str:
    """A figure as the table shows it.

    >>> printed(61.4836), printed(None)
    ('61.48', '--')
    """
    return "--" if value is None else f"{value:.2f}"


def bracket(bounds: Sequence[float] | None) -> str:
    r"""An interval as the table shows it, in small type; "" where there is none.

    >>> bracket((58.26, 64.71)), bracket(None)
    ('{\\scriptsize [58.3, 64.7]}', '')
    """
    return "" if bounds is None else rf"{{\scriptsize [{bounds[0]:.1f}, {bounds[1]:.1f}]}}"


def _number(text: str) -> float:
    return -math.inf if text == "--" else float(text)
