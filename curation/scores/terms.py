"""Terms: how far one model, and models on average, stereotype each (ACL Table 8)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.records import VALUES
from curation.rules import chance_of_agreement, read_label
from curation.scores.runs import Board
from curation.stats.metrics import percent_interval
from curation.stereoset import Entry, votes


class Agreement(NamedTuple):
    """How far annotators agree on a term's stereotypes, in per cent.

    ``agreement`` is our reading of ACL Table 10 (``rules.chance_of_agreement``), ``votes`` the
    plain share of the votes that say stereotype. Either is None where it is not known.
    """

    agreement: float | None = None
    votes: float | None = None


EVEN = 50.0  # the ss of a term on which a model prefers neither


def _term_sums(board: Board, chosen: Sequence[int]) -> pd.DataFrame:
    """Each CAT's mean over the chosen runs that have it, in points; without CATs that none has."""
    ss, lms = 100 * board.stereotype[list(chosen)], 50 * board.meaningful[list(chosen)]
    has = ~np.isnan(ss).all(axis=0)
    means = {"ss": np.nanmean(ss[:, has], axis=0), "lms": np.nanmean(lms[:, has], axis=0)}
    return board.cats[has].assign(**means)


def by_term(
    board: Board,
    chosen: Sequence[int],
    *,
    agreement: Mapping[str, Agreement] | None = None,
) -> list[dict[str, Any]]:
    """How far models stereotype each term, beside how far annotators agreed on it.

    Args:
        board: what the runs won.
        chosen: numbers of the runs, one a model.
        agreement: of annotators, by term (``domain/target``).

    Returns:
        ``{"domain", "term", "ss", "ss_ci", "lms", "cats", "agreement", "votes"}``: ss and lms are
        means over the models, both kinds pooled; the most stereotyped of each domain first, of
        equal ones that with more CATs. ss_ci is None for a single CAT. Without runs there is no
        row.
    """
    if not chosen:
        return []
    rows = []
    for (domain, term), part in _term_sums(board, chosen).groupby(["domain", "term"], sort=True):
        rows.append(
            {
                "domain": str(domain),
                "term": str(term)[len(str(domain)) + 1 :],
                "ss": float(part["ss"].mean()),
                "ss_ci": percent_interval(part["ss"].to_numpy(), observations=len(part)),
                "lms": float(part["lms"].mean()),
                "cats": len(part),
                **(agreement or {}).get(str(term), Agreement())._asdict(),
            }
        )
    return sorted(rows, key=lambda row: (row["domain"], -row["ss"], -row["cats"], row["term"]))


def most_and_least(rows: Sequence[dict[str, Any]], *, count: int = 3) -> list[dict[str, Any]]:
    """The most and the least stereotyped terms of each domain, each once, with ``"end"``.

    Most stereotyped are the terms of the highest ss above 50, the highest first; least stereotyped
    those whose ss is nearest to 50 on either side, the nearest first. ACL §7 calls these the most
    and least biased and does not define them; its Table 8 has religion's least biased term below
    50. A term far below 50 is neither, and a term stands in one list only. Of equal terms, those
    with more CATs come first.

    Args:
        rows: of ``by_term`` or ``model_terms``: domain, term, ss, cats.
        count: of each end.
    """
    found = []
    for domain in dict.fromkeys(row["domain"] for row in rows):
        own = [row for row in rows if row["domain"] == domain]
        own.sort(key=lambda row: (-row["ss"], -row["cats"], row["term"]))
        above = sum(row["ss"] > EVEN for row in own)
        most = min(count, above, (len(own) + 1) // 2)
        rest = sorted(
            own[most:], key=lambda row: (abs(row["ss"] - EVEN), -row["cats"], row["term"])
        )
        found += [row | {"end": "most"} for row in own[:most]]
        found += [row | {"end": "least"} for row in rest[:count]]
    return found


def model_terms(
    result: Mapping[str, Any],
    *,
    count: int = 1,
    means: Sequence[Mapping[str, Any]] = (),
    agreement: Mapping[str, Agreement] | None = None,
) -> list[dict[str, Any]]:
    """One model's domains, with the most and least stereotyped terms of each (ACL Table 8).

    Table 8 has the paper's ensemble, both kinds pooled, one term an end.

    Args:
        result: of ``compare.run_results``.
        count: terms of each end.
        means: of ``by_term``, over the models that this one is compared with.
        agreement: as for ``by_term``.

    Returns:
        Of each domain a row with ``end`` and ``term`` "", then a row for each of its terms as
        ``most_and_least`` has them. Each is a cell of ``metrics.results`` with ``domain``,
        ``term``, ``end``, ``agreement``, ``votes`` (None for a domain) and ``mean_ss``, the term's
        mean over the models (None for a domain, and without ``means``).
    """
    mean = {f"{row['domain']}/{row['term']}": row["ss"] for row in means}
    terms: list[dict[str, Any]] = []
    for key, cell in result["terms"].items():
        domain, term = domain_and_target(key, result)
        known = (agreement or {}).get(key, Agreement())
        beside = {"mean_ss": mean.get(key), **known._asdict()}
        terms.append({"domain": domain, "term": term, **cell, **beside})
    found = []
    for domain, cell in result["domains"].items():
        found.append(
            {"domain": domain, "term": "", "end": "", **cell, "mean_ss": None}
            | Agreement()._asdict()
        )
        found += most_and_least([row for row in terms if row["domain"] == domain], count=count)
    return found


def domain_and_target(key: str, result: Mapping[str, Any]) -> tuple[str, str]:
    """Domain and target of a term's key; a domain's own name may hold a slash."""
    domain = max((d for d in result["domains"] if key.startswith(f"{d}/")), key=len)
    return domain, key[len(domain) + 1 :]


def published_agreement(entries: Sequence[Entry]) -> dict[str, Agreement]:
    """Agreement on each term by the labels that a gold file carries (ACL §4.3, Table 10).

    Means over the stereotypes of the term's CATs, both kinds pooled; a term without labels is left
    out.

    Returns:
        By term (``domain/target``).
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for entry in entries:
        for sentence in entry.item["sentences"]:
            counted = votes(sentence)
            total = sum(counted)
            if total and read_label(str(sentence["gold_label"])) == "stereotype":
                share = counted[VALUES.index("stereotype")] / total
                name = f"{entry.item['bias_type']}/{entry.item['target']}"
                found.setdefault(name, []).append((chance_of_agreement(counted), share))
    means = {term: 100 * np.mean(pairs, axis=0) for term, pairs in found.items()}
    return {term: Agreement(*mean.tolist()) for term, mean in means.items()}
