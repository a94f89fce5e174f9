"""The parts of a chat model's report that tables show, beside those of other models."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field

from curation.models.chat.reading import NO_ANSWER
from curation.scores.choice.counts import NONE, REFUSED
from curation.scores.choice.report import NO_SCORE
from curation.scores.choice.uneven import differs
from curation.scores.flags import answer_flags

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


class _Cell(BaseModel):
    n: int
    lms: _Metric
    ss: _Metric
    icat: _Metric


class _Cells(BaseModel):
    overall: _Cell | None
    kinds: dict[str, _Cell | None]


class _Spread(BaseModel):
    spread: _Cells
    changed: _Share | None = None


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
    spread: dict[str, _Spread | None]


def answers_row(report: Mapping[str, Any], *, run: str, model: str) -> dict[str, Any]:
    """What tables show about a model's answers.

    Args:
        report: of ``report.choice_report``, as it is or from a file.
        run: the run's name, MODEL/RULE.
        model: the model's name.

    Returns:
        ``{"run", "model", "flags", "no_score", "why", "prompts", "samples", "questions",
        "answered", "no_answer", "none", "first", "split", "domains", "differ", "spread",
        "tokens"}``:

        - flags: of ``flags.answer_flags``.
        - no_score, why: the code and the text of ``NO_SCORE``, or "".
        - prompts, samples: how many there are.
        - no_answer, none, first, split: shares with intervals, as in ``counts.share``; ``none`` by
          code, of all codes.
        - domains: the rows of ``uneven.group_differences`` about domains.
        - differ: its rows about terms that differ from the rest, the largest difference first.
        - spread: ``{"prompts", "samples"}``, each of ``spread.prompt_spread`` and
          ``spread.sample_spread`` without the rows, or None.

    Raises:
        ValueError: the report has another form.
    """
    try:
        row = _row(report) | {"run": run, "model": model}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a report of answers: {error!r}") from error
    _Row.model_validate(row, strict=True)
    return row


def _row(report: Mapping[str, Any]) -> dict[str, Any]:
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
        "samples": answers["samples"],
        "questions": answers["questions"],
        "answered": answers["answered"],
        NONE: whole[NONE],
        "none": {code: whole["none"].get(code, absent) for code in NO_ANSWER},
        "first": report["position"]["first"],
        "split": report["position"]["split"],
        "domains": [row for row in rows if row["of"] == "domain"],
        "differ": sorted(differ, key=lambda row: -abs(row["difference"])),
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
