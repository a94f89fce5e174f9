"""How much lms, ss and icat of a chat model differ between prompts, and between samples."""

from typing import Any

import numpy as np
import pandas as pd

from curation.records import KINDS, PAIRS
from curation.scores.choice.counts import OF_CAT, both_orders, share
from curation.stats.metrics import METRICS, Ties, results

_QUESTION = ["cat", *OF_CAT, "pair", "prompt", "swapped"]


def prompt_spread(table: pd.DataFrame, *, ties: Ties = "half") -> dict[str, Any] | None:
    """lms, ss and icat by prompt, on the CATs for which every prompt has all three comparisons.

    Args:
        table: of ``counts.questions_table``.
        ties: as in ``metrics.comparisons``.

    Returns:
        ``{"rows", "spread"}``, or None if every kind has one prompt. Rows are ``{"name", "overall",
        "kinds"}`` with cells of ``metrics.results``; ``overall`` is None for a prompt that not
        every kind has. ``spread`` is that of ``_spread``.
    """
    prompts = table.groupby("kind")["prompt"].nunique()
    return _by(table, "prompt", ties) if (prompts > 1).any() else None


def sample_spread(table: pd.DataFrame, *, ties: Ties = "half") -> dict[str, Any] | None:
    """lms, ss and icat by sample, and how many questions have different answers.

    Args:
        table: of ``counts.questions_table``.
        ties: as in ``metrics.comparisons``.

    Returns:
        As ``prompt_spread``, with ``changed``: the share of questions, asked more than once, whose
        answer was not always the same letter or not always an answer (``counts.share``). None if
        there is one sample.
    """
    if table["sample"].nunique() < 2:
        return None
    outcome = np.where(table["code"] != "", "", np.where(table["first"], "first", "second"))
    each = table.assign(outcome=outcome).groupby(_QUESTION, sort=False)["outcome"]
    questions = each.agg(["nunique", "size"]).reset_index()
    several = questions[questions["size"] > 1]
    counts = several.assign(changed=several["nunique"] > 1, questions=1)
    sums = counts.groupby(["cat", "term"], as_index=False, sort=False)[["changed", "questions"]]
    return {**_by(table, "sample", ties), "changed": share(sums.sum(), "changed")}


def _by(table: pd.DataFrame, column: str, ties: Ties) -> dict[str, Any]:
    tables = _tables(table, column, ties)
    kinds = [str(kind) for kind in KINDS if any(kind in set(t["kind"]) for t in tables.values())]
    rows: list[dict[str, Any]] = []
    for name, own in tables.items():
        result = results(own, model=name, overall=True)
        cells = {kind: part["overall"] for kind, part in result["kinds"].items()}
        whole = result["overall"] if set(cells) == set(kinds) else None
        rows.append({"name": name, "overall": whole, "kinds": cells})
    overall = [row["overall"] for row in rows if row["overall"]]
    by_kind = {kind: [row["kinds"][kind] for row in rows if kind in row["kinds"]] for kind in kinds}
    spread = {"overall": _spread(overall), "kinds": {k: _spread(c) for k, c in by_kind.items()}}
    return {"rows": rows, "spread": spread}


def _tables(table: pd.DataFrame, column: str, ties: Ties) -> dict[str, pd.DataFrame]:
    """``metrics.comparisons`` of each prompt or sample, on the CATs that all of them have."""
    pairs = both_orders(table)
    pairs = pairs.assign(tied=pairs["value"] == 0.5)
    if ties == "official":
        pairs["value"] = (pairs["value"] == 1).astype(float)
    keys = [column, "cat", *OF_CAT, "pair"]
    means = pairs.groupby(keys, sort=False, as_index=False)[["value", "tied"]].mean()
    index = [column, "cat", *OF_CAT]
    wide = means.pivot(index=index, columns="pair", values="value").reindex(columns=list(PAIRS))
    ties_of = means.assign(tied=means["tied"] == 1).groupby(index, sort=False)["tied"].sum()
    whole = wide.dropna()
    meaningful, stereotype = whole[PAIRS[0]] + whole[PAIRS[1]], whole[PAIRS[2]]
    rows = whole.index.to_frame(index=False).assign(
        meaningful=meaningful.to_numpy(),
        stereotype=stereotype.to_numpy(),
        ties=ties_of.reindex(whole.index).astype(int).to_numpy(),
    )
    asked = table.groupby("kind")[column].nunique()
    have = rows.groupby("cat")[column].nunique()
    common = rows[have.loc[rows["cat"]].to_numpy() == asked.loc[rows["kind"]].to_numpy()]
    return {
        str(name): common[common[column] == name].drop(columns=[column, "cat"])
        for name in dict.fromkeys(table[column])
        if (common[column] == name).any()
    }


def _spread(cells: list[dict[str, Any]]) -> dict[str, Any] | None:
    """For each metric the lowest and highest value, their range, the variance and its square root.

    None with fewer than two cells. Values are in points. The variance divides by n − 1.
    """
    if len(cells) < 2:
        return None
    spread = {}
    for metric in METRICS:
        values = np.array([cell[metric] for cell in cells])
        variance = float(values.var(ddof=1))
        spread[metric] = {
            "low": float(values.min()),
            "high": float(values.max()),
            "range": float(values.max() - values.min()),
            "mean": float(values.mean()),
            "variance": variance,
            "sd": variance**0.5,
        }
    return {"n": len(cells), **spread}
