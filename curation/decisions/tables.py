"""The agreement report as one long table, and tables as LaTeX."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

TIDY = ("by", "group", "scope", "gold", "measure", "value", "low", "high", "items", "labels")


def tidy(
    report: Mapping[str, Any], *, measures: Sequence[str], by: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The agreement report as one long table, unrounded.

    Args:
        report: the content of ``3-decisions/agreement.json``.
        measures: of these measures.
        by: by these groups, besides overall; see ``agreement.GROUPS``.

    Returns:
        One row for each value, with the columns ``TIDY``; None if a column does not apply.
    """
    rows = [
        *_measures(report, measures, ("overall", *by)),
        *(_terms(report) if "term" in by else ()),
        *(_annotators(report) if "annotator" in by else ()),
        *_retention(report),
        *_gold(report),
    ]
    return [{name: row.get(name) for name in TIDY} for row in rows]


def _measures(
    report: Mapping[str, Any], measures: Sequence[str], groups: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for r in report["measures"]:
        if r["measure"] in measures and r["by"] in groups:
            low, high = r["ci"] or (None, None)
            yield {**r, "gold": r["classes"], "items": r["cats"], "low": low, "high": high}


def _terms(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for t in report["terms"]:
        for scope, part, items in (
            ("kept", t, t["cats"]),
            ("decided", t["decided"], t["decided"]["items"]),
        ):
            row = {"by": "term", "group": f"{t['domain']}/{t['term']}", "scope": scope}
            row |= {"measure": "% votes for gold", "items": items}
            for gold in ("stereotype", "all"):
                yield row | {"gold": gold, "value": part[gold]}
            chance = {"gold": "stereotype", "measure": "% agreement", "value": part["agreement"]}
            yield row | chance


def _annotators(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for a in report["annotators"]:
        row = {"by": "annotator", "group": a["annotator"], "labels": a["labels"]}
        row |= {"scope": "all", "gold": "all"}
        for key in ("with_others", "with_gold"):
            yield row | {"measure": "% " + key.replace("_", " "), "value": a[key]}


def _retention(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for r in report["retention"]:
        row = {"by": "domain/kind", "group": f"{r['domain']}/{r['kind']}", "scope": "decided"}
        row |= {"measure": "% retained", "value": r["retention"], "items": r["items"] - r["open"]}
        yield row


def _gold(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, g in report["gold"].items():
        row = {"by": "overall", "group": "overall", "scope": "all", "gold": "all"}
        yield row | {"measure": f"% gold differs from {name}", "value": g["share"]}


def latex(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    show: Callable[[Any], str] = str,
) -> str:
    """A table as LaTeX (booktabs); columns without texts are aligned right.

    Args:
        title: a comment above the table.
        columns: the column headings.
        rows: the cells.
        show: makes a cell a text, for example to round it.
    """

    def safe(cell: Any) -> str:
        text = show(cell).replace("–", "--")
        for char in "%&_#":
            text = text.replace(char, "\\" + char)
        return text

    words = [any(isinstance(row[n], str) for row in rows) for n in range(len(columns))]
    sides = ["l" if word else "r" for word in words]
    lines = [f"% {title}", f"\\begin{{tabular}}{{{''.join(sides)}}}", "\\toprule"]
    lines += [" & ".join(map(safe, columns)) + r" \\", "\\midrule"]
    lines += [" & ".join(map(safe, row)) + r" \\" for row in rows]
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join(lines) + "\n"
