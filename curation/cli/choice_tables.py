"""Tables of what chat models answered: shares without an answer, groups, prompts and samples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.cli import console

_CODES = {
    "answer_refused": "refused %",
    "answer_undecided": "undecided %",
    "answer_off_format": "off format %",
    "answer_empty": "empty %",
    "answer_cut": "cut %",
    "answer_too_long": "too long %",
}
_MANY = 10  # terms of a model that differ from the rest; --json has all
Row = Mapping[str, Any]  # of choice.summary.answers_row


def show_answers(rows: Sequence[Row]) -> None:
    """Print the tables of chat models' answers.

    Args:
        rows: of ``choice.summary.answers_row``, one per run.
    """
    if not rows:
        return
    _show_shares(rows)
    _show_groups(rows)
    _show_spread(rows, "prompts")
    _show_spread(rows, "samples")
    for row in rows:
        if row["no_score"]:
            console.say(f"{row['run']} has no score: {row['why']}")


def show_report(
    report: Mapping[str, Any], *, run: str, model: str, flags: Iterable[Sequence[str]] = ()
) -> None:
    """Print the tables of one model, with each prompt and each sample, and what its marks mean.

    Args:
        report: of ``choice.report.choice_report``.
        run: the run's name, MODEL/RULE.
        model: the model's name.
        flags: the model's flags in tables before these.
    """
    from curation.cli.results import show_marks, show_notes
    from curation.scores.choice.report import answers_row

    row = answers_row(report, run=run, model=model)
    show_answers([row])
    shown = [cell for name in ("prompt", "sample") for cell in _show_each(report, name, run)]
    show_notes(shown)
    show_marks([row["flags"], *flags])


def _named(row: Row) -> str:
    from curation.scores.flags import marked

    return marked(row["run"], row["flags"])


def _percent(cell: Mapping[str, Any]) -> float | None:
    return None if cell["share"] is None else 100 * cell["share"]


def _span(ends: Iterable[float] | None, *, signed: bool = False) -> str:
    """An interval of shares, in per cent."""
    if ends is None:
        return "–"
    low, high = (100 * end for end in ends)
    return f"{low:+.1f} to {high:+.1f}" if signed else f"{low:.1f}–{high:.1f}"


def _show_shares(rows: Sequence[Row]) -> None:
    codes = [
        code
        for code in _CODES
        if code == "answer_refused" or any(row["none"][code]["n"] for row in rows)
    ]
    table = [
        [
            _named(row),
            f"{row['prompts']} × {row['samples']}",
            row["questions"],
            100 * row["answered"] / row["questions"] if row["questions"] else None,
            *(_percent(row["none"][code]) for code in codes),
            *(_percent(row["no_answer"]), _span(row["no_answer"]["ci"])),
            *(_percent(row["first"]), _span(row["first"]["ci"]), _percent(row["split"])),
        ]
        for row in rows
    ]
    heads = [
        *("model", "prompts × samples", "questions", "answered %"),
        *(_CODES[code] for code in codes),
        *("no answer %", "95 %", "first letter %", "95 %", "split %"),
    ]
    console.table("Answers of chat models, all CATs of the run", heads, table)
    console.say(
        "no answer: left out of lms and ss, and not a preference; first letter: of the answers, 50 "
        "if only the content decides; split: pairs whose answer changed with the order"
    )


def _show_groups(rows: Sequence[Row]) -> None:
    from curation.scores.choice.answers import differs

    table, more = [], 0
    for row in rows:
        if row["none"]["answer_refused"]["n"] == row["questions"]:
            continue  # all groups alike
        more += max(0, len(row["differ"]) - _MANY)
        for group in [*row["domains"], *row["differ"][:_MANY]]:
            p = group["p_holm"]
            table.append(
                [
                    *(_named(row), group["group"]),
                    "refused" if group["outcome"] == "answer_refused" else "no answer",
                    *(group["terms"], group["cats"]),
                    *(100 * group["share"], _span(group["ci"]), 100 * group["rest"]),
                    f"{100 * group['difference']:+.2f}",
                    _span(group["ci_difference"], signed=True),
                    "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}",
                    "differs" if differs(group) else "",
                ]
            )
    if not table:
        return
    heads = ["model", "group", "share of", "terms", "CATs", "%", "95 %", "rest %", "Δ", "95 %"]
    console.table("Refusals by domain, and terms that differ", [*heads, "p", ""], table)
    console.say(
        "rest: all other domains, or all other terms; p: exact test with Holm's correction over "
        "all domains and terms; –: too few terms or CATs for a test, or all are alike"
        + (f"; {more} more terms differ, --json has all" if more else "")
    )


def _show_spread(rows: Sequence[Row], of: str) -> None:
    changed = of == "samples"
    table = []
    for row in rows:
        part = row["spread"][of]
        for kind, cell in _cells(part["spread"]) if part else ():
            line = [_named(row), kind, cell["n"]]
            for metric in ("lms", "ss", "icat"):
                own = cell[metric]
                line += [f"{own['low']:.1f}–{own['high']:.1f}", own["sd"]]
            if changed:
                line.append(_percent(part["changed"]))
            table.append(line)
    if table:
        heads = ["model", "kind", of]
        for metric in ("lms", "ss", "icat"):
            heads += [f"{metric}, lowest–highest", "sd"]
        console.table(f"Spread over {of}", [*heads, *["changed %"] * changed], table)
        if changed:
            console.say("changed: questions whose answer is not the same in all samples")


def _cells(spread: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The spread of both kinds if there are two, and of each kind."""
    kinds = [(kind, cell) for kind, cell in spread["kinds"].items() if cell]
    both = [("both kinds", spread["overall"])] if len(kinds) > 1 and spread["overall"] else []
    return [*both, *kinds]


def _show_each(report: Mapping[str, Any], name: str, run: str) -> list[Mapping[str, Any]]:
    """Print the results of each prompt or sample; they are returned."""
    from curation.cli.results import HEADS, cells

    part: Mapping[str, Any] | None = report[f"{name}s"]
    shown: list[Mapping[str, Any]] = []
    for kind in part["spread"]["kinds"] if part else ():
        rows = [row for row in (part or {})["rows"] if kind in row["kinds"]]
        table = [[str(row["name"]), *cells(row["kinds"][kind])] for row in rows]
        console.table(f"{run}, {kind}, by {name}", [name, *HEADS], table)
        shown += [row["kinds"][kind] for row in rows]
    return shown
