"""Models' results as one long tidy table, and rules as tables show them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from curation.scores.terms import domain_and_target
from curation.stats.metrics import ALL, BOTH, METRICS

COLUMNS = (
    *("run", "model", "rule", "variant", "profiles", "own_head", "other_head"),
    *("lower_is_likelier", "flags", "parameters", "corpus_gb", "split", "tier", "targets"),
    *("missing", "kind", "domain", "term", "figure", "value", "low", "high", "too_wide"),
    *("cats", "terms", "few_terms"),
)


def tidy(
    results: Sequence[Mapping[str, Any]],
    *,
    split: str,
    tier: int | None = None,
    original_targets: bool = False,
) -> Iterator[list[Any]]:
    """One row for each of lms, ss and icat of each cell of ``compare.run_results``.

    Args:
        results: the results of the runs.
        split: the split of the CATs, which each row repeats.
        tier: the lowest tier of the CATs, or None.
        original_targets: whether terms are original targets, as in ``Source.by_original``.

    Yields:
        Rows with the columns ``COLUMNS``. ``figure`` names the metric. Kind is «both» if a term's
        CATs of both kinds are pooled; a run of one kind has no such rows. Domain is «all» if all
        domains are taken together, and term is "" for more than one term. The rule is that of the
        row's kind. Values are in points and unrounded; low and high are None if there is no
        interval.
    """
    for result in results:
        of_run = [result["variant"], " ".join(result["profiles"])]
        of_run += [result[key] for key in ("own_head", "other_head", "lower_is_likelier")]
        of_run += [" ".join(result["flags"]), result["parameters"], result["corpus_gb"]]
        of_run += [split, tier, "original" if original_targets else "own", result["missing"]]
        both = {BOTH: result} if len(result["kinds"]) > 1 else {}
        for kind, part in {**both, **result["kinds"]}.items():
            cells = [(ALL, "", part["overall"])]
            cells += [(domain, "", cell) for domain, cell in part["domains"].items()]
            cells += [(*domain_and_target(key, part), cell) for key, cell in part["terms"].items()]
            for domain, term, cell in cells:
                for metric in METRICS:
                    low, high = cell[f"{metric}_ci"] or (None, None)
                    yield [
                        *(result["run"], result["model"], rule_text(result, kind), *of_run),
                        *(kind, domain, term, metric, cell[metric], low, high),
                        *(metric in cell["too_wide"], cell["cats"], cell["terms"]),
                        cell.get("few_terms", False),
                    ]


def compact(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report of ``compare`` as its JSON file has it: far smaller, and with the same content.

    The tables of pairs and of terms are objects of columns, which ``pandas.DataFrame`` reads. They
    lack what follows from the rest (docs/formats.md says how). Numbers have six significant digits.
    """
    runs = [
        {**run, "terms": _by_term(run)}
        | {"kinds": {k: {**part, "terms": _by_term(part)} for k, part in run["kinds"].items()}}
        for run in report["runs"]
    ]
    groups = [{**group, "differences": _by_kind(group)} for group in report["groups"]]
    small: dict[str, Any] = _rounded({**report, "runs": runs, "groups": groups})
    return small


def _by_term(part: Mapping[str, Any]) -> dict[str, list[Any]]:
    cells = part["terms"]
    names = ("lms", "ss", "lms_ci", "ss_ci", "icat_ci", "cats", "ties")
    return {"term": [*cells]} | {name: [c[name] for c in cells.values()] for name in names}


def _by_kind(group: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The differences of a group: for each kind the columns of pairs; runs by their place."""
    place = {run: number for number, run in enumerate(group["models"])}
    tables: list[dict[str, Any]] = []
    for kind in dict.fromkeys(row["kind"] for row in group["differences"]):
        own = [row for row in group["differences"] if row["kind"] == kind]
        table: dict[str, Any] = {"kind": kind}
        for metric in METRICS:
            rows = [row for row in own if row["figure"] == metric]
            table |= {side: [place[row[side]] for row in rows] for side in ("a", "b")}
            table |= {name: [row[name] for row in rows] for name in ("cats", "terms")}
            table |= {f"{metric}_{side}": [row[f"{side}_value"] for row in rows] for side in "ab"}
            table[f"{metric}_margin"] = [r["ci"] and r["ci"][1] - r["difference"] for r in rows]
            table[f"{metric}_p"] = [row["p"] for row in rows]
            table[f"{metric}_unsure"] = [int(row["unsure"]) for row in rows]
        tables.append(table)
    return tables


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [*map(_rounded, value)]
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
