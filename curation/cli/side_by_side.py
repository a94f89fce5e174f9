"""What «curation scores compare» shows: models, differences, terms, kinds, rules, power."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from curation.cli import console

if TYPE_CHECKING:
    from curation.records import Cat
    from curation.scores.runs import Board, Run

_MANY = 45  # with more pairs than this, only neighbours in the table are shown


def show(report: dict[str, Any], found: Sequence[dict[str, Any]]) -> None:
    """Print a comparison.

    Args:
        report: all of it, as ``--json`` writes it.
        found: the results of the models that are compared, in the order of the table.
    """
    _show_models(found)
    _show_differences(report)
    _show_correlations(report, found)
    _show_terms(report)
    _show_shifts(report)
    if report["power"]:
        _show_power(report["power"])


def warn(
    board: "Board", chosen: Sequence[int], cats: "Sequence[Cat]", runs: "Sequence[Run]"
) -> None:
    """Say which runs lack scores, are flattered or out of date, or stand under other rules.

    Args:
        board: of the runs that have scores.
        chosen: the runs that speak for their models.
        cats: those that are compared.
        runs: all that were read.
    """
    from curation.scores.ensemble import scored_since

    some = []
    for number, run in enumerate(board.runs):
        kinds, less = board.lacking(number)
        some += [f"{run.name} {less}"] if less else []
        if kinds:
            console.warn(f"{run.name} has no {kinds[0]} CATs: its «both kinds» are of the others")
    if some:
        console.warn(
            f"of {len(board.cats)} CATs these lack a score and are left out: {', '.join(some)}; "
            "two models are compared on the CATs that both have"
        )
    for run in board.runs:
        known = set(run.about.get("dev_cats", ())) & {cat.id for cat in cats}
        if known:
            console.warn(
                f"{run.name} was fitted on {len(known)} of these {len(cats)} CATs: "
                "its figures are flattered"
            )
        if other := scored_since(run, runs):
            console.warn(
                f"{run.name} is made of older scores of {', '.join(other)}: fit the ensemble again"
            )
    if different := _different_rules(board, chosen):
        console.warn(
            f"the models are scored under different rules ({different}): "
            "a difference may be that of the rules"
            + ("; --rule takes one" if len({board.runs[n].way for n in chosen}) > 1 else "")
        )


def _different_rules(board: "Board", chosen: Sequence[int]) -> str:
    """The rules of each kind that not all models share; of models that have CATs of the kind."""
    from curation.records import KINDS

    lacks = {number: board.lacking(number)[0] for number in chosen}
    there = [kind for kind in KINDS if (board.cats["kind"] == kind).any()]
    ways = {
        kind: sorted({board.runs[n].way_of(kind) for n in chosen if kind not in lacks[n]})
        for kind in there
    }
    return "; ".join(f"{kind}: {', '.join(of)}" for kind, of in ways.items() if len(of) > 1)


def _show_models(found: Sequence[dict[str, Any]]) -> None:
    from curation.cli.scores import HEADS, cells
    from curation.records import KINDS
    from curation.scores.compare import few

    heads = ["model", "rule", *HEADS]
    there = [kind for kind in KINDS if any(kind in one["kinds"] for one in found)]
    if len(there) > 1:
        rows = [[*_named(one), *cells(one["overall"])] for one in found]
        console.table("Models, both kinds", heads, rows)
    for kind in there:
        own = [
            (_named(one), one["kinds"][kind]["overall"]) for one in found if kind in one["kinds"]
        ]
        own.sort(key=lambda pair: -pair[1]["icat"])
        if own:
            console.table(f"Models, {kind}", heads, [[*name, *cells(cell)] for name, cell in own])
    if few(found):
        console.say("* fewer than five terms: the interval says little")


def _named(one: dict[str, Any]) -> list[str]:
    from curation.scores.tables import way

    return [one["model"], way(one)]


def _by_pair(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows a figure as lists a pair, in their order."""
    pairs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["a"], row["b"]), []).append(row)
    return list(pairs.values())


def _show_differences(report: dict[str, Any]) -> None:
    from curation.scores.differences import BOTH, ENOUGH
    from curation.scores.tables import way

    pairs = _by_pair([row for row in report["differences"] if row["kind"] == BOTH])
    if not pairs:
        return
    models = {f"{one['model']}/{way(one)}": one["model"] for one in report["runs"]}
    names = report["models"]
    shown = pairs
    if len(pairs) > _MANY:
        next_to = set(pairwise(names))
        shown = [three for three in pairs if (three[0]["a"], three[0]["b"]) in next_to]
    rows = []
    for three in shown:
        first = three[0]
        row = [f"{models[first['a']]} − {models[first['b']]}", first["cats"], _terms(first)]
        for one in three:
            row += [f"{one['difference']:+.2f}", _span(one["ci"]), _p(one["p_holm"])]
        rows.append(row)
    heads = ["models", "CATs", "terms"]
    for figure in ("lms", "ss", "icat"):
        heads += [f"Δ {figure}", "95 %", "p"]
    console.table("Differences between models", heads, rows)
    if any(three[0]["terms"] < ENOUGH for three in shown):
        console.say(f"with fewer than {ENOUGH} terms intervals are too narrow and p too small")
    console.say(
        f"p: Holm's correction over {len(pairs)} pairs, "
        f"{report['resamples_of_differences']} resamples"
        + (f"; {len(shown)} neighbours are shown, all pairs by --json" if shown != pairs else "")
    )


def _terms(row: dict[str, Any]) -> str:
    return f"{row['terms']}{'*' if row['few_terms'] else ''}"


def _span(bounds: Sequence[float] | None) -> str:
    """An interval that may hold numbers below 0."""
    return "–" if bounds is None else " to ".join(f"{bound:+.1f}" for bound in bounds)


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _show_correlations(report: dict[str, Any], found: Sequence[dict[str, Any]]) -> None:
    from curation.records import KINDS

    rows = []
    for one in found:
        if len(one["kinds"]) == len(KINDS):
            cells = [one["kinds"][kind]["overall"] for kind in KINDS]
            rows.append(
                [*_named(one), *(cell["lms"] for cell in cells), *(cell["ss"] for cell in cells)]
            )
    if rows:
        heads = ["model", "rule", "lms intra", "lms inter", "ss intra", "ss inter"]
        console.table("Kinds beside one another", heads, rows)
    told = [
        [f"{row['of']} with {row['with']}", row["rho"], _p(row["p"]), row["models"]]
        for row in report["correlations"]
        if row["models"] > 2
    ]
    if told:
        console.table("Spearman's rank correlation over models", ["of", "ρ", "p", "models"], told)


def _show_terms(report: dict[str, Any]) -> None:
    from curation.scores.compare import most_and_least

    rows = [
        [
            *(row["domain"], row["end"], row["term"], row["ss"], row["ss_ci"], row["lms"]),
            *(row["cats"], row["agreement"]),
        ]
        for row in most_and_least(report["terms"])
    ]
    if not rows:
        return
    heads = ["domain", "", "term", "mean ss", "95 %", "mean lms", "CATs", "agreement"]
    console.table("Most and least stereotyped terms, mean over models", heads, rows)
    console.say(
        "agreement: of annotators on the term's stereotypes, as in ACL Table 10, in per cent; "
        "a term with few CATs stands here by chance easily"
    )


def _show_shifts(report: dict[str, Any]) -> None:
    rows = []
    for three in _by_pair(report["shifts"]):
        first = three[0]
        row = [first["what"], f"{first['a']} − {first['b']}", first["cats"], _terms(first)]
        for one in three:
            row += [f"{one['difference']:+.2f}", _span(one["ci"])]
        rows.append(row)
    if rows:
        heads = [
            "other",
            "runs",
            "CATs",
            "terms",
            "Δ lms",
            "95 %",
            "Δ ss",
            "95 %",
            "Δ icat",
            "95 %",
        ]
        console.table("The same model under another rule or variant", heads, rows)


def _show_power(power: dict[str, Any]) -> None:
    against = "two models" if power["against"] == "each other" else "one model's ss and 50"
    for part in power["figures"]:
        hardest = part["pairs"] > 1
        heads = ["CATs a term", "terms", "CATs", *(["terms, hardest pair"] if hardest else [])]
        rows = [
            [one["cats_a_term"], one["terms"], one["cats"], *([one["terms_hardest"]] * hardest)]
            for one in part["needed"]
        ]
        title = (
            f"Needed for a difference of {power['difference']:g} points of {part['figure']} "
            f"between {against} (alpha {power['alpha']:g}, power {power['power']:g})"
        )
        console.table(title, heads, rows)
        if part["detectable"] is None:
            console.say("No term differs from another: nothing can be said")
            continue
        console.say(
            f"{part['terms']} terms and {part['cats']} CATs as they are show "
            f"{part['detectable']:.2f} points"
            + (f" ({part['detectable_hardest']:.2f} for the hardest pair)" if hardest else "")
        )
    if not power["figures"]:
        console.say("With fewer than two terms nothing can be said of power.")
