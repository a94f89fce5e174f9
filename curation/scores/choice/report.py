"""What is reported about a chat model's answers: ``choice.json``, and the counts of its marks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from curation.records import PAIRS, Cat
from curation.scores.choice.asking import Asked
from curation.scores.choice.counts import (
    answers_by,
    answers_cell,
    both_orders,
    by_cat,
    position,
    questions_table,
)
from curation.scores.choice.spread import prompt_spread, sample_spread
from curation.scores.choice.uneven import group_differences, uneven_groups
from curation.scores.flags import answer_flags
from curation.stats.metrics import Ties

NO_SCORE = {
    "one_letter": "it nearly always answers the same letter",
    "no_answers": "no CAT has answers in both orders to all of its three pairs",
}
"""Why a chat model has no score."""


class Limits(NamedTuple):
    """The settings ``no_answer`` and ``one_letter`` of ``[scores]``, shares from 0 to 1."""

    no_answer: float
    one_letter: float


def choice_report(
    cats: Sequence[Cat],
    asked: Iterable[Asked],
    *,
    limits: Limits,
    tokens: Mapping[str, int] | None = None,
    ties: Ties = "half",
) -> dict[str, Any]:
    """Everything about a chat model's answers except its lms, ss and icat.

    Intervals are 95 % intervals over terms, or over CATs for a single term. Shares are from 0 to 1.

    Args:
        cats: the CATs that were asked about.
        asked: the questions that have a reply, and what the replies say.
        limits: when a model is marked, and when it has no score.
        tokens: of ``replies.read_replies``; None if no reply states them.
        ties: as in ``metrics.comparisons``; only for ``prompts`` and ``samples``.

    Returns:
        ``{"answers", "no_score", "all", "by", "position", "differences", "prompts", "samples"}``:

        - answers: the counts that the marks in tables are made from, for ``run.json``:
          ``{"questions", "answered", "none": {code: n}, "first", "same", "pairs", "split",
          "limits", "prompts", "samples", "tokens", "uneven"}``. ``same`` counts the answers that
          name the commonest letter of their prompt and kind. ``pairs`` counts pairs with an answer
          in both orders, ``split`` those whose answer changed with the order. ``uneven`` are the
          domains and terms that differ from the rest.
        - no_score: a code of ``NO_SCORE``, or "". With ``one_letter``, comparisons say nothing.
        - all, by: ``counts.answers_cell`` of all questions, and by domain, term, kind, pair and
          prompt.
        - position: of ``counts.position``.
        - differences: of ``uneven.group_differences``.
        - prompts, samples: of ``spread.prompt_spread`` and ``spread.sample_spread``; None if the
          model does not have a score.
    """
    table = questions_table(cats, asked)
    counts = by_cat(table)
    pairs = both_orders(table)
    differences = group_differences(counts)
    whole = answers_cell(counts)
    answers = {
        "questions": whole["questions"],
        "answered": whole["answered"],
        "none": {code: part["n"] for code, part in whole["none"].items() if part["n"]},
        "first": int(table["first"].sum()),
        "same": _same(table[table["code"] == ""]),
        "pairs": len(pairs),
        "split": int(pairs["split"].sum()),
        "limits": limits._asdict(),
        "prompts": list(dict.fromkeys(table["prompt"])),
        "samples": int(table["sample"].max()) + 1 if len(table) else 0,
        "tokens": dict(tokens) if tokens else None,
        "uneven": uneven_groups(differences),
    }
    no_score = _no_score(answers, pairs)
    return {
        "answers": answers,
        "no_score": no_score,
        "all": whole,
        "by": answers_by(table, counts),
        "position": position(table),
        "differences": differences,
        "prompts": None if no_score else prompt_spread(table, ties=ties),
        "samples": None if no_score else sample_spread(table, ties=ties),
    }


def _same(answered: pd.DataFrame) -> int:
    """How many answers name the commonest letter of their prompt and kind.

    A model may always say A to one prompt and always B to another.
    """
    return int(
        answered.groupby(["kind", "prompt", "first"]).size().groupby(level=[0, 1]).max().sum()
    )


def _no_score(answers: Mapping[str, Any], pairs: pd.DataFrame) -> str:
    if "one_letter" in answer_flags(answers):
        return "one_letter"
    complete = pairs.groupby("cat")["pair"].nunique()
    return "" if (complete == len(PAIRS)).any() else "no_answers"
