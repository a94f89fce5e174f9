"""Ways of scoring compared over models (ACL §7, "Impact of scoring mechanism")."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from curation.records import KINDS
from curation.scores.groups import ENSEMBLE, Group
from curation.stats.metrics import BOTH, METRICS


def mechanisms(found: Sequence[Mapping[str, Any]], groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Mean lms, ss and icat over the models that were scored under two profiles or rules.

    A kind is averaged over the models whose rules for that kind differ between the two: where they
    are the same there is nothing to compare. This is how the paper averages: its intrasentence
    means leave out GPT-2, which has one rule there (6 of its 9 models), its intersentence and
    overall means are over all 9. Ensembles are left out, as in the paper.

    Args:
        found: of ``compare.run_results``, by number of run; the keys ``model``, ``family``,
            ``rules``, ``kinds`` and ``overall`` are read.
        groups: of ``groups.groups``; those of a variant and runs alone are left out.

    Returns:
        For each pair of groups that share two models or more, a row overall (kind «both») and for
        each kind: ``{"a", "b", "kind", "models", "lms": [of a, of b], "ss": [...], "icat":
        [...]}``. Kinds that fewer than two models share are left out.
    """
    rows = []
    plain = [group for group in groups if group.sort != "alone" and not group.variant]
    for first, second in combinations(plain, 2):
        by_model = [
            {found[n]["model"]: found[n] for n in group.runs if found[n]["family"] != ENSEMBLE}
            for group in (first, second)
        ]
        shared = [name for name in by_model[0] if name in by_model[1]]
        pairs = [(by_model[0][name], by_model[1][name]) for name in shared]
        for kind in (BOTH, *KINDS):
            own = [pair for pair in pairs if _differ(*pair, kind)]
            if len(own) < 2:
                continue
            row: dict[str, Any] = {"a": first.name, "b": second.name, "kind": kind}
            row["models"] = [a["model"] for a, _ in own]
            for figure in METRICS:
                row[figure] = [
                    sum(_cell(pair[side], kind)[figure] for pair in own) / len(own)
                    for side in (0, 1)
                ]
            rows.append(row)
    return rows


def _differ(a: Mapping[str, Any], b: Mapping[str, Any], kind: str) -> bool:
    """Whether two runs both have figures of a kind, by rules that are known and different."""
    if kind == BOTH:
        same_kinds = a["kinds"].keys() == b["kinds"].keys() and len(a["kinds"]) == len(KINDS)
        return same_kinds and any(_differ(a, b, k) for k in a["kinds"])
    known = kind in a["rules"] and kind in b["rules"]
    both = known and kind in a["kinds"] and kind in b["kinds"]
    return both and a["rules"][kind] != b["rules"][kind]


def _cell(run: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    cell: Mapping[str, Any] = (run if kind == BOTH else run["kinds"][kind])["overall"]
    return cell
