"""Terms: how strongly one model, and models on average, stereotype each (ACL Table 8)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.catsets.entries import Entry
from curation.catsets.stereoset import votes
from curation.formats.table_words import read_label
from curation.records import VALUES, Fields
from curation.scores.boards import Board
from curation.stats.metrics import METRICS, percent_interval, shared_metrics
from curation.text.rules import chance_of_agreement


class Agreement(NamedTuple):
    """How far annotators agree on a term's stereotypes, in per cent.

    ``agreement`` is our reading of ACL Table 10 (``rules.chance_of_agreement``). ``votes`` is the
    plain share of votes for stereotype. Either is None if it is not known.
    """

    agreement: float | None = None
    votes: float | None = None


EVEN = METRICS["ss"].ideal  # the ss of a model that prefers neither


def _term_sums(board: Board, chosen: Sequence[int]) -> pd.DataFrame:
    """Each CAT's mean over the chosen runs that scored it, in points; others are left out."""
    has = board.has[list(chosen)].any(axis=0) & board.pooled
    cats = board.cats[has]
    shares = [metric for metric in shared_metrics(cats["kind"].unique()) if metric.pairs]
    means: Fields = {}
    for metric in shares:
        means[metric.name] = np.nanmean(board.points(metric)[list(chosen)][:, has], axis=0)
    return cats.assign(**means)


def by_term(
    board: Board, chosen: Sequence[int], *, agreement: Mapping[str, Agreement] | None = None
) -> list[Fields]:
    """How strongly models stereotype each term, and how far annotators agree on it.

    Args:
        board: what the runs won.
        chosen: numbers of the runs, one per model.
        agreement: of annotators, by term (``domain/target``).

    Returns:
        ``{"domain", "term", "ss", "ss_ci", "lms", "cats", "agreement", "votes"}``. ss and lms are
        means over the models, all kinds pooled; lms is absent if a kind has none. In each domain
        the most stereotyped term comes first; of equal terms, the one with more CATs. ss_ci is None
        for a single CAT. Without runs there are no rows.
    """
    if not chosen:
        return []
    rows = []
    sums = _term_sums(board, chosen)
    others: list[str] = [name for name in METRICS if name in sums and name != "ss"]
    for (domain, term), part in sums.groupby(["domain", "term"], sort=True):
        rows.append(
            {
                "domain": str(domain),
                "term": str(term)[len(str(domain)) + 1 :],
                "ss": float(part["ss"].mean()),
                "ss_ci": percent_interval(part["ss"].to_numpy(), observations=len(part)),
                **{name: float(part[name].mean()) for name in others},
                "cats": len(part),
                **(agreement or {}).get(str(term), Agreement())._asdict(),
            }
        )
    return sorted(rows, key=lambda row: (row["domain"], -row["ss"], -row["cats"], row["term"]))


def most_and_least(rows: Sequence[Fields], *, count: int = 3) -> list[Fields]:
    """The most and the least stereotyped terms of each domain, each once, with ``"end"``.

    The most stereotyped terms have the highest ss above 50, highest first. The least stereotyped
    have an ss nearest to 50 on either side, nearest first. ACL §7 calls these the most and least
    biased terms and does not define them; in its Table 8, religion's least biased term is below 50.
    A term far below 50 is neither. No term is in both lists. Of equal terms, the one with more CATs
    comes first.

    Args:
        rows: of ``by_term`` or ``model_terms``: domain, term, ss, cats.
        count: of each end.
    """
    chosen = []
    for domain in dict.fromkeys(row["domain"] for row in rows):
        own = [row for row in rows if row["domain"] == domain]
        own.sort(key=lambda row: (-row["ss"], -row["cats"], row["term"]))
        above = sum(row["ss"] > EVEN for row in own)
        most = min(count, above, (len(own) + 1) // 2)
        rest = sorted(
            own[most:], key=lambda row: (abs(row["ss"] - EVEN), -row["cats"], row["term"])
        )
        chosen += [row | {"end": "most"} for row in own[:most]]
        chosen += [row | {"end": "least"} for row in rest[:count]]
    return chosen


def model_terms(
    result: Mapping[str, Any],
    *,
    count: int = 1,
    means: Sequence[Mapping[str, Any]] = (),
    agreement: Mapping[str, Agreement] | None = None,
) -> list[Fields]:
    """One model's domains, with the most and least stereotyped terms of each (ACL Table 8).

    Table 8 has the paper's ensemble, both kinds pooled, with one term for each end.

    Args:
        result: of ``compare.run_results``.
        count: terms of each end.
        means: of ``by_term``, over the models that this one is compared with.
        agreement: as for ``by_term``.

    Returns:
        For each domain a row with ``end`` and ``term`` "", then one row for each of its terms from
        ``most_and_least``. Each is a cell of ``metrics.results`` with ``domain``, ``term``,
        ``end``, ``agreement``, ``votes`` (None for a domain) and ``mean_ss``, the term's mean over
        the models (None for a domain, and without ``means``).
    """
    mean = {f"{row['domain']}/{row['term']}": row["ss"] for row in means}
    terms: list[Fields] = []
    for key, cell in result["terms"].items():
        domain, term = domain_and_target(key, result)
        known = (agreement or {}).get(key, Agreement())
        others = {"mean_ss": mean.get(key), **known._asdict()}
        terms.append({"domain": domain, "term": term, **cell, **others})
    rows = []
    for domain, cell in result["domains"].items():
        rows.append(
            {"domain": domain, "term": "", "end": "", **cell, "mean_ss": None}
            | Agreement()._asdict()
        )
        rows += most_and_least([row for row in terms if row["domain"] == domain], count=count)
    return rows


def domain_and_target(key: str, result: Mapping[str, Any]) -> tuple[str, str]:
    """Domain and target of a term's key ``domain/target``; the domain may contain a slash."""
    domain = max((d for d in result["domains"] if key.startswith(f"{d}/")), key=len)
    return domain, key[len(domain) + 1 :]


def published_agreement(
    entries: Sequence[Entry], *, original: bool = False
) -> dict[str, Agreement]:
    """Agreement on each term, computed from the labels in a gold file (ACL §4.3, Table 10).

    Values are means over the stereotypes of the term's CATs, both kinds pooled. Terms without
    labels are left out.

    Args:
        entries: the items of the gold files.
        original: group by the original target of items that have one.

    Returns:
        By term (``domain/target``).
    """
    by_term: dict[str, list[tuple[float, float]]] = {}
    for entry in entries:
        for sentence in entry.item["sentences"]:
            counted = votes(sentence)
            total = sum(counted)
            if total and read_label(str(sentence["gold_label"])) == "stereotype":
                share = counted[VALUES.index("stereotype")] / total
                target = (original and entry.item.get("target_original")) or entry.item["target"]
                name = f"{entry.item['bias_type']}/{target}"
                by_term.setdefault(name, []).append((chance_of_agreement(counted), share))
    means = {term: 100 * np.mean(pairs, axis=0) for term, pairs in by_term.items()}
    return {term: Agreement(*mean.tolist()) for term, mean in means.items()}
