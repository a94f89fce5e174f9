"""Tables of results: lms, ss and icat with intervals, and what their marks mean."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from curation.cli import console
from curation.records import KINDS
from curation.text.wording import amount

HEADS = ["CATs", "terms", "ties", "lms", "95 %", "ss", "95 %", "icat", "95 %"]


def cells(cell: Mapping[str, Any]) -> list[Any]:
    """A cell of ``metrics.results`` as a row under ``HEADS``."""
    flag = "*" if cell.get("few_terms") else ""
    return [cell["cats"], f"{cell['terms']}{flag}", cell["ties"], *values(cell)]


def values(cell: Mapping[str, Any]) -> list[Any]:
    """lms, ss and icat, each with its interval; ``~`` marks one that is wider than necessary."""
    row: list[Any] = []
    for metric in ("lms", "ss", "icat"):
        ends = cell[f"{metric}_ci"]
        row += [cell[metric], f"{console.show(ends)}~" if metric in cell["too_wide"] else ends]
    return row


def kinds_text(kinds: Collection[str]) -> str:
    """What the title of a table says of the kinds of its CATs."""
    return next(iter(kinds)) if len(kinds) == 1 else "both kinds"


def show_notes(cells: Iterable[Mapping[str, Any]]) -> None:
    """Print what the marks of these cells mean."""
    shown = list(cells)
    if any(cell.get("few_terms") for cell in shown):
        console.say(
            "* fewer than five terms: look at the single terms, and do not compare models by this"
        )
    if any(cell["too_wide"] for cell in shown):
        console.say("~ an interval that covers more than 98 %: it could be narrower")


def show_marks(flagged: Iterable[Sequence[str]]) -> None:
    """Print what the marks of models with these flags mean."""
    from curation.scores.flags import MARKS, notes

    for flag, text in notes(flagged).items():
        console.say(f"{MARKS[flag]} {text}")


def show_turned(results: Iterable[Mapping[str, Any]], name: str = "run") -> None:
    """Print the names of predictions whose sign was changed, if only for a kind, with this kind."""
    lower = {result[name]: result.get("lower_is_likelier") for result in results}
    named = [f"{run} ({k} only)" if k is not True else run for run, k in lower.items() if k]
    if turned := ", ".join(named):
        console.say(f"lower scores are likelier, so their sign was changed: {turned}")


def show_results(
    result: Mapping[str, Any],
    *,
    run: Mapping[str, Any] | None = None,
    tier: int | None = None,
    explain: bool = True,
) -> list[str]:
    """Print a model's results by kind and domain.

    Args:
        result: of ``metrics.results``; also the fields of ``predictions.score_predictions``.
        run: the run's ``run.json``, for the model's flags.
        tier: the lowest tier of the CATs.
        explain: print what the marks of the model mean.

    Returns:
        The model's flags.
    """
    from curation.scores.flags import flags_of, marked
    from curation.scores.tables import suffix

    partial = result.get("partial") or {"left_out": 0, "kinds": {}}
    about = {"tier": tier, **result}
    flags = flags_of(result, run, older=partial["left_out"] > 0)
    name = marked(result["model"], flags)
    for kind, part in result["kinds"].items():
        missing = partial["kinds"].get(kind, {"domains": {}})["domains"]
        rows = []
        for domain in sorted({*part["domains"], *missing}):
            row = (
                cells(part["domains"][domain]) if domain in part["domains"] else [0, 0, *"–––––––"]
            )
            rows.append([domain, *row])
            if missing.get(domain, {"left_out": 0})["left_out"]:
                rows[-1][1] = f"{rows[-1][1]} of {missing[domain]['of']}"
        rows.append(["all", *cells(part["overall"])])
        console.table(f"{name}, {kind}{suffix(about, kind)}", ["domain", *HEADS], rows)
    if len(result["kinds"]) > 1:
        rows = [["all", *cells(result["overall"])]]
        console.table(f"{name}, both kinds{suffix(about)}", ["domain", *HEADS], rows)
    parts = [cell for part in result["kinds"].values() for cell in part["domains"].values()]
    overall = [part["overall"] for part in (*result["kinds"].values(), result) if part["overall"]]
    show_notes([*parts, *overall])
    if explain:
        show_marks([flags])
    show_turned([result], "model")
    if partial["left_out"]:
        _show_left_out(partial)
    return flags


def _show_left_out(partial: Mapping[str, Any]) -> None:
    """Print why CATs of partial predictions are left out, and how many terms lose CATs."""
    without = sum(term["left_out"] == term["of"] for term in partial["terms"].values())
    number = f"{partial['left_out']:,} of {amount(partial['of'], 'CAT')}"
    texts = [f"left out because a sentence has no score: {number}"]
    if partial["bad"]:
        texts.append(f"with a score that is not a finite number: {partial['bad']:,}")
    texts.append(f"terms with fewer CATs: {len(partial['terms']) - without:,}")
    texts.append(f"terms without CATs: {without:,}")
    console.say("; ".join(texts))


def show_baselines(results: Sequence[dict[str, Any]]) -> None:
    """Print baselines by kind and which were not checked, and warn of those beyond chance.

    Args:
        results: of ``steps.scores.baselines.baselines``.
    """
    from curation.scores.flags import marked
    from curation.scores.tables import suffix as conditions

    suffix = conditions(results[0])
    named = [(marked(result["model"], result["flags"]), result) for result in results]
    for kind in KINDS:
        rows = [
            [name, *cells(result["kinds"][kind]["overall"])]
            for name, result in named
            if kind in result["kinds"]
        ]
        if rows:
            console.table(f"Baselines, {kind}{suffix}", ["model", *HEADS], rows)
    if len({kind for result in results for kind in result["kinds"]}) > 1:
        rows = [[name, *cells(result["overall"])] for name, result in named if result["overall"]]
        console.table(f"Baselines, both kinds{suffix}", ["model", *HEADS], rows)
    overall = [result["overall"] for result in results if result["overall"]]
    by_kind = [part["overall"] for result in results for part in result["kinds"].values()]
    show_notes([*overall, *by_kind])
    show_marks(result["flags"] for result in results)
    for result in results:
        if result.get("why"):
            console.say(f"{result['model']} was not checked: {result['why']}")
    beyond = [(result, far) for result in results for far in result.get("beyond_chance", ())]
    for result, far in beyond:
        low, high = far["ci"]
        console.warn(
            f"{result['model']} uses the surface only and has {far['figure']} {far['value']:.1f} "
            f"({low:.1f}–{high:.1f}) on {far['kind']} CATs: {result['says']}"
        )
    if beyond:
        console.note(
            "A release should report this. One in twenty intervals of ss excludes 50 by chance."
        )
