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
