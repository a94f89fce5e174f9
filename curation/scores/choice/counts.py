"""Counts of what a chat model answered: shares of questions without an answer, first letters."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.models.chat.reading import NO_ANSWER
from curation.records import PAIRS, Cat
from curation.scores.choice.asking import Asked
from curation.scores.choice.comparing import preferred
from curation.stats.intervals import Floats, share_interval

OF_CAT = ["kind", "domain", "term"]
ORDERS = ["cat", "pair", "prompt", "sample"]  # what the two orders of a question have in common
REFUSED, NONE = "answer_refused", "no_answer"


def questions_table(cats: Sequence[Cat], asked: Iterable[Asked]) -> pd.DataFrame:
    """One row per question that has a reply; questions about other CATs are left out.

    Returns:
        The fields of ``Asked`` but the reading, and ``kind``, ``domain``, ``term``
        (``domain/target``), ``code`` ("" for an answer), ``p`` (the probability of the first
        letter; NaN without an answer) and ``first`` (whether the first letter was chosen).
    """
    about = {cat.id: (cat.kind, cat.domain, f"{cat.domain}/{cat.target}") for cat in cats}
    rows = [
        (
            *about[each.cat],
            *(each.cat, each.pair, each.swapped, each.prompt, each.sample, each.reading.code),
            np.nan if each.reading.first is None else each.reading.first,
            each.reading.letter,
        )
        for each in asked
        if each.cat in about
    ]
    columns = [*OF_CAT, *("cat", "pair", "swapped", "prompt", "sample", "code", "p", "letter")]
    table = pd.DataFrame(rows, columns=columns)
    chosen = (table["letter"] == "first") | ((table["letter"] == "") & (table["p"] > 0.5))
    return table.assign(first=(table["code"] == "") & chosen).drop(columns="letter")


def by_cat(table: pd.DataFrame) -> pd.DataFrame:
    """Counts of each CAT: ``questions``, ``first``, ``no_answer``, and one column per code.

    Args:
        table: rows of ``questions_table``.

    Returns:
        One row per CAT, with its kind, domain and term.
    """
    columns = table[["cat", *OF_CAT, "first"]].assign(questions=1)
    columns[NONE] = table["code"] != ""
    for code in NO_ANSWER:
        columns[code] = table["code"] == code
    return columns.groupby(["cat", *OF_CAT], sort=False, as_index=False).sum()


def share(counts: pd.DataFrame, column: str, *, of: str = "questions") -> dict[str, Any]:
    """A share with its 95 % interval: over terms, or over CATs if there is only one term.

    Args:
        counts: one row per CAT, as in ``by_cat``.
        column: what is counted.
        of: out of what.

    Returns:
        ``{"n", "share", "ci"}``. The share is None if there is nothing to count, and the interval
        with fewer than two units.
    """
    terms = pd.factorize(counts["term"], sort=True)[0]
    return share_of(np.asarray(counts[column], float), np.asarray(counts[of], float), terms)


def share_of(n: Floats, of: Floats, terms: NDArray[np.intp]) -> dict[str, Any]:
    """As ``share``.

    Args:
        n: shape (CATs,), what is counted.
        of: shape (CATs,), out of what.
        terms: shape (CATs,), each CAT's term as a number from 0 on.
    """
    there = of > 0
    n, of, terms = n[there], of[there], terms[there]
    cats, count = len(n), int(n.sum())
    if cats and (terms != terms[0]).any():
        sums = np.bincount(terms, of)
        n = np.asarray(np.bincount(terms, n)[sums > 0], float)
        of = np.asarray(sums[sums > 0], float)
    return {
        "n": count,
        "share": count / int(of.sum()) if cats else None,
        "ci": share_interval(n, of, observations=cats),
    }


def answers_cell(counts: pd.DataFrame) -> dict[str, Any]:
    """The questions of some CATs, and how many of them have no answer, by code.

    Args:
        counts: one row per CAT, as in ``by_cat``.

    Returns:
        ``{"cats", "terms", "questions", "answered", "no_answer", "none": {code: share}}``; shares
        are those of ``share``. ``none`` has refusals, and every code that occurs.
    """
    codes = [code for code in NO_ANSWER if code == REFUSED or counts[code].any()]
    none = share(counts, NONE)
    questions = int(counts["questions"].sum())
    return {
        "cats": len(counts),
        "terms": int(counts["term"].nunique()),
        "questions": questions,
        "answered": questions - none["n"],
        NONE: none,
        "none": {str(code): share(counts, code) for code in codes},
    }


def answers_by(table: pd.DataFrame, counts: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """``answers_cell`` by domain, term, kind, pair and prompt.

    Args:
        table: of ``questions_table``.
        counts: of ``by_cat`` for the same table.
    """
    cells = {
        name: {str(value): answers_cell(part) for value, part in counts.groupby(name, sort=True)}
        for name in ("domain", "term", "kind")
    }
    for name, order in (("pair", PAIRS), ("prompt", tuple(dict.fromkeys(table["prompt"])))):
        parts = {value: table[table[name] == value] for value in order}
        cells[name] = {
            str(value): answers_cell(by_cat(part)) for value, part in parts.items() if len(part)
        }
    return cells


def both_orders(table: pd.DataFrame) -> pd.DataFrame:
    """The pairs that were answered in both orders, one row per prompt and sample.

    Args:
        table: of ``questions_table``.

    Returns:
        ``ORDERS`` and ``OF_CAT``; ``value``: 1 if the first association of the pair is preferred, 0
        if the second is, 0.5 if neither is; ``split``: whether the answer changed with the order.
    """
    answered = table[table["code"] == ""]
    plain = answered[~answered["swapped"].astype(bool)]
    turned = answered[answered["swapped"].astype(bool)]
    pairs = plain.merge(turned[[*ORDERS, "p", "first"]], on=ORDERS, suffixes=("", "_turned"))
    return pairs[[*ORDERS, *OF_CAT]].assign(
        value=preferred(np.asarray(pairs["p"], float), np.asarray(pairs["p_turned"], float)),
        split=pairs["first"] == pairs["first_turned"],
    )


def position(table: pd.DataFrame) -> dict[str, Any]:
    """How much the answers depend on the order.

    Args:
        table: of ``questions_table``.

    Returns:
        ``{"first", "split", "by_prompt": {prompt: {"first", "split"}}}``, shares as in ``share``:
        of first letters among answers, and of pairs (answered in both orders) whose answer changed
        with the order.
    """
    by_prompt = table.groupby("prompt", sort=False)
    return {
        **_position(table),
        "by_prompt": {str(name): _position(part) for name, part in by_prompt},
    }


def _position(table: pd.DataFrame) -> dict[str, Any]:
    answered = by_cat(table[table["code"] == ""])
    pairs = both_orders(table).assign(pairs=1)
    columns = ["cat", "term", "split", "pairs"]
    split = pairs[columns].groupby(["cat", "term"], sort=False, as_index=False).sum()
    return {"first": share(answered, "first"), "split": share(split, "split", of="pairs")}
