"""What is reported about a chat model's answers: ``choice.json``, and the counts of its marks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import pandas as pd
from pydantic import BaseModel, Field

from curation.kinds import MetricName
from curation.models.chat_reading import NO_ANSWER
from curation.records import Cat, Fields
from curation.scores.answers import (
    NONE,
    REFUSED,
    answers_by,
    answers_cell,
    both_orders,
    by_cat,
    differs,
    group_differences,
    has_whole_cat,
    position,
    prompt_spread,
    questions_table,
    sample_spread,
    second_questions,
    uneven_groups,
)
from curation.scores.asking import Asked
from curation.scores.flags import answer_flags
from curation.stats.metrics import Ties

NO_SCORE = {
    "one_letter": "it nearly always answers the same letter",
    "no_answers": "no CAT has answers in both orders to all of its pairs",
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
) -> Fields:
    """Everything about a chat model's answers except its metrics.

    Intervals are 95 % intervals over terms, or over CATs for a single term. Shares are from 0 to 1.

    Args:
        cats: the CATs that were asked about.
        asked: the questions that have a reply, and what the replies say.
        limits: when a model is marked, and when it has no score.
        tokens: of ``asking.read_replies``; None if no reply states them.
        ties: as in ``metrics.comparisons``; only for ``prompts`` and ``samples``.

    Returns:
        ``{"answers", "no_score", "all", "by", "position", "differences", "second", "prompts",
        "samples"}``:

        - answers: the counts that the marks in tables are made from, for ``run.json``:
          ``{"questions", "answered", "none": {code: n}, "second", "named", "first", "same",
          "pairs", "split", "limits", "prompts", "samples", "tokens", "uneven", "moved"}``.
          ``second`` counts the questions that were asked twice, ``named`` those of them with an
          answer. ``same`` counts the answers that name the commonest letter of their prompt and
          kind. ``pairs`` counts pairs with an answer in both orders, ``split`` those whose answer
          changed with the order. ``uneven`` are the domains and terms that differ from the rest,
          ``moved`` the metrics of ``answers.second_questions``.
        - no_score: a code of ``NO_SCORE``, or "". With ``one_letter``, comparisons say nothing.
        - all, by: ``answers.answers_cell`` of all questions, and by domain, term, kind, pair and
          prompt.
        - position: of ``answers.position``.
        - differences: of ``answers.group_differences``.
        - second: of ``answers.second_questions``, without ``metrics`` if the model has no score.
        - prompts, samples: of ``answers.prompt_spread`` and ``answers.sample_spread``; None if the
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
        "second": int(table["second"].sum()),
        "named": int(table["named"].sum()),
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
    no_score = "" if has_whole_cat(pairs) else "no_answers"
    no_score = "one_letter" if "one_letter" in answer_flags(answers) else no_score
    second = second_questions(table, ties=ties)
    if second and no_score:
        second |= {"metrics": None, "moved": []}
    answers["moved"] = second["moved"] if second else []
    return {
        "answers": answers,
        "no_score": no_score,
        "all": whole,
        "by": answers_by(table, counts),
        "position": position(table),
        "differences": differences,
        "second": second,
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


Ends = Annotated[list[float], Field(min_length=2, max_length=2)] | None


class _Share(BaseModel):
    n: int
    share: float | None
    ci: Ends


class _Group(BaseModel):
    group: str
    terms: int
    cats: int
    share: float
    ci: Ends
    rest: float
    difference: float
    ci_difference: Ends
    p_holm: float | None


class _Metric(BaseModel):
    low: float
    high: float
    sd: float


class _Cell(BaseModel, extra="allow"):
    __pydantic_extra__: dict[str, _Metric]
    n: int


class _Cells(BaseModel):
    overall: _Cell | None
    kinds: dict[str, _Cell | None]


class _Spread(BaseModel):
    spread: _Cells
    changed: _Share | None = None


class _Value(BaseModel):
    value: float
    ci: Ends
    without: float | None


class _Second(BaseModel):
    asked: _Share
    named: _Share
    metrics: dict[MetricName, _Value] | None


class _Row(BaseModel):
    """What tables rely on."""

    no_score: str
    prompts: int
    samples: int
    questions: int
    answered: int
    no_answer: _Share
    none: dict[str, _Share]
    first: _Share
    split: _Share
    domains: list[_Group]
    differ: list[_Group]
    second: _Second | None
    spread: dict[str, _Spread | None]


def answers_row(report: Mapping[str, Any], *, run: str, model: str) -> Fields:
    """What tables show about a model's answers.

    Args:
        report: of ``choice_report``, as it is or from a file.
        run: the run's name, MODEL/RULE.
        model: the model's name.

    Returns:
        ``{"run", "model", "flags", "no_score", "why", "prompts", "samples", "questions",
        "answered", "no_answer", "none", "first", "split", "domains", "differ", "second", "spread",
        "tokens"}``:

        - flags: of ``flags.answer_flags``.
        - no_score, why: the code and the text of ``NO_SCORE``, or "".
        - prompts, samples: how many there are.
        - no_answer, none, first, split: shares with intervals, as in ``answers.share``; ``none`` by
          code, of all codes.
        - domains: the rows of ``answers.group_differences`` about domains.
        - differ: its rows about terms that differ from the rest, the largest difference first.
        - second: of ``answers.second_questions``.
        - spread: ``{"prompts", "samples"}``, each of ``answers.prompt_spread`` and
          ``answers.sample_spread`` without the rows, or None.

    Raises:
        ValueError: the report has another form.
    """
    try:
        row = _row(report) | {"run": run, "model": model}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a report of answers: {error!r}") from error
    _Row.model_validate(row, strict=True)
    return row


def _row(report: Mapping[str, Any]) -> Fields:
    answers, whole = report["answers"], report["all"]
    absent = {"n": 0, "share": 0.0 if answers["questions"] else None, "ci": None}
    rows = _without_repeats(report["differences"])
    differ = [row for row in rows if row["of"] == "term" and differs(row)]
    spread = {
        name: report[name] and {key: report[name][key] for key in report[name] if key != "rows"}
        for name in ("prompts", "samples")
    }
    return {
        "flags": answer_flags(answers),
        "no_score": report["no_score"],
        "why": NO_SCORE.get(report["no_score"], ""),
        "prompts": len(answers["prompts"]),
        **{name: answers[name] for name in ("samples", "questions", "answered")},
        NONE: whole[NONE],
        "none": {code: whole["none"].get(code, absent) for code in NO_ANSWER},
        "first": report["position"]["first"],
        "split": report["position"]["split"],
        "domains": [row for row in rows if row["of"] == "domain"],
        "differ": sorted(differ, key=lambda row: -abs(row["difference"])),
        "second": report["second"],
        "spread": spread,
        "tokens": answers["tokens"],
    }


def _without_repeats(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows without those of all missing answers that only repeat the refusals."""
    refused = {
        (row["of"], row["group"]): (row["share"], row["rest"])
        for row in rows
        if row["outcome"] == REFUSED
    }
    return [
        row
        for row in rows
        if row["outcome"] == REFUSED
        or refused.get((row["of"], row["group"])) != (row["share"], row["rest"])
    ]
