"""What «curation scores compare» shows: each group's models, differences and terms; power."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from curation.cli import console

if TYPE_CHECKING:
    from curation.records import Cat
    from curation.scores.runs import Board, Run

_ABOUT_TERMS = (
    "most: the highest ss above 50; least: the ss nearest to 50; agreement: of annotators on all "
    "stereotypes of the term, as in ACL Table 10, in per cent; a term with few CATs can be here by "
    "chance"
)
_MANY = 45  # with more pairs than this, only neighbours in the table are shown
Runs = Mapping[str, Mapping[str, Any]]  # results by run, MODEL/RULE


def show(report: Mapping[str, Any], *, terms: int = 3, all_tables: bool = False) -> None:
    """Print a comparison.

    Args:
        report: all of it, as ``--json`` writes it.
        terms: how many most and least stereotyped terms of a domain.
        all_tables: whether a group of one model has all tables, too; it has where it is alone.
    """
    from curation.cli.scores import show_marks, show_notes
    from curation.scores.tiers import tier_text
    from curation.stats.metrics import BOTH

    runs = {one["run"]: one for one in report["runs"]}
    tier = f", {tier_text(report['tier'])}" if report["tier"] else ""
    all_tables = all_tables or len(report["groups"]) == 1
    for group in report["groups"]:
        _show_models(group, runs, tier)
        if all_tables or len(group["models"]) > 1:
            of = f", {group['title']}{tier}"
            _show_differences(group, runs, of)
            _show_kinds(group, runs, of)
            _show_correlations(group, of)
            _show_terms(group, terms, of)
            if group["power"]:
                _show_power(group["power"], of)
    _show_mechanisms(report["mechanisms"], runs, tier)
    _show_shifts(report["shifts"], runs, tier)
    for part in report["model_terms"]:
        _show_model_terms(part, runs, tier)
    shown = [runs[run] for group in report["groups"] for run in group["models"]]
    show_notes(_cell(one, kind) for one in shown for kind in (BOTH, *one["kinds"]))
    others = [runs[row[side]] for row in report["shifts"] for side in "ab"]
    show_marks(one["flags"] for one in (*shown, *others))


def warn(
    board: "Board",
    cats: "Sequence[Cat]",
    runs: "Sequence[Run]",
    groups: Sequence[Mapping[str, Any]],
) -> None:
    """Say which of the runs shown lack scores, declare no rules, are flattered or out of date.

    Args:
        board: of the runs that have scores.
        cats: those that are compared.
        runs: all that were read.
        groups: the groups that are shown, as in the report.
    """
    from curation.scores.ensemble import scored_since

    shown = {name for group in groups for name in group["models"]}
    there = [(number, run) for number, run in enumerate(board.runs) if run.name in shown]
    for group in groups:
        if group["one_kind_only"]:
            console.warn(
                f"{group['title']}: these have CATs of one kind only, and are in no table of both "
                f"kinds: {', '.join(group['one_kind_only'])}"
            )
    some = [f"{run.name} {less}" for n, run in there if (less := board.lacking(n)[1])]
    if some:
        console.warn(
            f"of {len(board.cats)} CATs these lack a score and are left out: {', '.join(some)}; "
            "two models are compared on the CATs that both have"
        )
    for _, run in there:
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
    if unknown := [run.name for _, run in there if not (run.rules or run.profile)]:
        console.warn(
            f"the rule of these is not declared, so they are not ranked: {', '.join(unknown)}; "
            "--predictions NAME@PROFILE=FILE declares it"
        )


def _show_models(group: Mapping[str, Any], runs: Runs, tier: str) -> None:
    """The ranking of a group, of both kinds and of each; of one model its kinds in one table."""
    from curation.cli.scores import HEADS, cells
    from curation.records import KINDS
    from curation.scores.tables import rule_text
    from curation.stats.metrics import BOTH

    found = [runs[run] for run in group["models"]]
    there = [kind for kind in KINDS if any(kind in one["kinds"] for one in found)]
    kinds = [BOTH, *there] if len(there) > 1 else there
    heads, sizes = _sizes(found)
    if len(found) == 1:
        one = found[0]
        rows = []
        for kind in kinds:
            of = "both kinds" if kind == BOTH else kind
            rows.append([of, rule_text(one, kind), *sizes[one["run"]], *cells(_cell(one, kind))])
        title = f"{_named(one, group)}, {group['title']}{tier}"
        console.table(title, ["CATs of", "rules", *heads, *HEADS], rows)
        return
    for kind in kinds:
        own = [one for one in found if kind in one["kinds"]]
        if kind == BOTH:
            own = [one for one in found if one["run"] not in group["one_kind_only"]]
        own.sort(key=lambda one: -_cell(one, kind)["icat"])
        rows = [
            [_named(one), rule_text(one, kind), *sizes[one["run"]], *cells(_cell(one, kind))]
            for one in own
        ]
        title = f"Models, {group['title']}, {'both kinds' if kind == BOTH else kind}{tier}"
        console.table(title, ["model", "rules", *heads, *HEADS], rows)


def _cell(one: Mapping[str, Any], kind: str) -> Any:
    from curation.stats.metrics import BOTH

    return (one if kind == BOTH else one["kinds"][kind])["overall"]


def _named(one: Mapping[str, Any], group: Mapping[str, Any] | None = None) -> str:
    """A model's name with its marks; of a run alone that of the run."""
    from curation.scores.flags import marked

    alone = group is not None and group["sort"] == "alone"
    return marked(one["run"] if alone else one["model"], one["flags"])


def _sizes(found: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, list[Any]]]:
    """Heads of the sizes that any of these models has, and each run's cells under them."""
    from curation.scores.sizes import SIZES, size_text

    known = [size for size in SIZES if any(one[size] is not None for one in found)]
    cells = {
        one["run"]: [size_text(one[s]) if s == "parameters" else one[s] for s in known]
        for one in found
    }
    return [SIZES[size] for size in known], cells


def _by_pair(rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Rows a figure as lists a pair, in their order."""
    pairs: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["a"], row["b"]), []).append(row)
    return list(pairs.values())


def _show_differences(group: Mapping[str, Any], runs: Runs, of: str) -> None:
    from curation.stats.metrics import BOTH

    pairs = _by_pair([row for row in group["differences"] if row["kind"] == BOTH])
    if not pairs:
        return
    shown = pairs
    if len(pairs) > _MANY:
        next_to = set(pairwise(group["models"]))
        shown = [three for three in pairs if (three[0]["a"], three[0]["b"]) in next_to]
    rows = []
    for three in shown:
        first = three[0]
        row = [
            f"{_named(runs[first['a']])} − {_named(runs[first['b']])}",
            first["cats"],
            _terms(first),
        ]
        for one in three:
            unsure = "~" if one["unsure"] else ""
            row += [f"{one['difference']:+.2f}", _span(one["ci"]), _p(one["p_holm"]) + unsure]
        rows.append(row)
    heads = ["models", "CATs", "terms"]
    for figure in ("lms", "ss", "icat"):
        heads += [f"Δ {figure}", "95 %", "p"]
    console.table(f"Differences between models{of}", heads, rows)
    if any(one["unsure"] for three in shown for one in three):
        console.say(
            "~ this p may be wrong: of icat, where an ss may be 50; of lms, near 0 or 100 over few "
            "terms"
        )
    console.say(
        f"p: Holm's correction over {len(pairs)} pair{'s' if len(pairs) > 1 else ''}; intervals: "
        "each pair by itself"
        + (f"; {len(shown)} neighbours are shown, all pairs by --json" if shown != pairs else "")
    )


def _terms(row: Mapping[str, Any]) -> str:
    return f"{row['terms']}{'*' if row['few_terms'] else ''}"


def _span(bounds: Sequence[float] | None) -> str:
    """An interval that may hold numbers below 0."""
    return "–" if bounds is None else " to ".join(f"{bound:+.1f}" for bound in bounds)


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _show_kinds(group: Mapping[str, Any], runs: Runs, of: str) -> None:
    from curation.records import KINDS
    from curation.scores.tables import rule_text

    rows = []
    for one in (runs[run] for run in group["models"]):
        if len(one["kinds"]) == len(KINDS):
            cells = [one["kinds"][kind]["overall"] for kind in KINDS]
            row = [_named(one), rule_text(one)]
            rows.append([*row, *(cell["lms"] for cell in cells), *(cell["ss"] for cell in cells)])
    if rows:
        heads = ["model", "rules", "lms intra", "lms inter", "ss intra", "ss inter"]
        console.table(f"Kinds beside one another{of}", heads, rows)


def _show_correlations(group: Mapping[str, Any], of: str) -> None:
    rows = [
        [f"{row['of']} with {row['with']}", row["rho"], _p(row["p"]), row["models"]]
        for row in group["correlations"]
        if row["models"] > 2
    ]
    if rows:
        heads = ["of", "ρ", "p", "models"]
        console.table(f"Spearman's rank correlation over models{of}", heads, rows)


def _show_terms(group: Mapping[str, Any], count: int, of: str) -> None:
    from curation.scores.terms import most_and_least

    rows = [
        [
            *(row["domain"], row["end"], row["term"], row["ss"], row["ss_ci"], row["lms"]),
            *(row["cats"], row["agreement"]),
        ]
        for row in most_and_least(group["terms"], count=count)
    ]
    if not rows:
        return
    heads = ["domain", "", "term", "mean ss", "95 %", "mean lms", "CATs", "agreement"]
    console.table(f"Terms, mean over models{of}", heads, rows)
    console.say(_ABOUT_TERMS)


def _show_model_terms(part: Mapping[str, Any], runs: Runs, tier: str) -> None:
    """One model by domain, with its most and least stereotyped terms (ACL Table 8)."""
    from curation.cli.scores import show_notes, values
    from curation.scores.tables import rule_text

    rows = [
        [
            *(row["domain"], row["end"], row["term"] or _all_terms(row), *values(row)),
            *(row["cats"], row["mean_ss"], row["agreement"]),
        ]
        for row in part["rows"]
    ]
    heads = ["domain", "", "term", "lms", "95 %", "ss", "95 %", "icat", "95 %", "CATs"]
    one = runs[part["run"]]
    title = f"Terms of {_named(one)}, {rule_text(one)}{tier}"
    console.table(title, [*heads, "mean ss", "agreement"], rows)
    show_notes(part["rows"])
    console.say(_ABOUT_TERMS)


def _all_terms(row: Mapping[str, Any]) -> str:
    return f"all {row['terms']} terms{'*' if row['few_terms'] else ''}"


def _show_mechanisms(rows: Sequence[Mapping[str, Any]], runs: Runs, tier: str) -> None:
    """Means over the models that two profiles share (ACL §7)."""
    from curation.scores.flags import marked

    flags: dict[str, list[str]] = {}
    for one in runs.values():
        flags[one["model"]] = [*dict.fromkeys([*flags.get(one["model"], ()), *one["flags"]])]
    for pair in dict.fromkeys((row["a"], row["b"]) for row in rows):
        own = [row for row in rows if (row["a"], row["b"]) == pair]
        table = [
            [row["kind"], len(row["models"]), *row["lms"], *row["ss"], *row["icat"]] for row in own
        ]
        heads = [f"{figure} {name}" for figure in ("lms", "ss", "icat") for name in pair]
        title = f"Means over the models of both {pair[0]} and {pair[1]}{tier}"
        console.table(title, ["kind", "models", *heads], table)
        for models in dict.fromkeys(tuple(row["models"]) for row in own):
            kinds = ", ".join(row["kind"] for row in own if tuple(row["models"]) == models)
            named = [marked(name, flags.get(name, ())) for name in models]
            console.say(f"{kinds}: {', '.join(named)}")
    if rows:
        console.say("a kind is averaged over the models whose rules for it differ")


def _show_shifts(shifts: Sequence[Mapping[str, Any]], runs: Runs, tier: str) -> None:
    from curation.scores.flags import marked

    rows = []
    for three in _by_pair(shifts):
        first = three[0]
        one, base = runs[first["a"]], runs[first["b"]]
        ways = [run["run"].removeprefix(f"{run['model']}/") for run in (one, base)]
        name = marked(one["model"], [*dict.fromkeys([*one["flags"], *base["flags"]])])
        row = [name, *ways, first["cats"], _terms(first)]
        for one in three:
            row += [f"{one['difference']:+.2f}", _span(one["ci"])]
        rows.append(row)
    if rows:
        heads = ["model", "other", "less", "CATs", "terms"]
        for figure in ("lms", "ss", "icat"):
            heads += [f"Δ {figure}", "95 %"]
        console.table(f"The same model under another rule or variant{tier}", heads, rows)


def _show_power(power: Mapping[str, Any], of: str) -> None:
    against = "two models" if power["against"] == "each other" else "one model's ss and 50"
    for part in power["figures"]:
        hardest = part["pairs"] > 1
        heads = ["CATs a term", "terms", "CATs", "power", *(["terms, hardest pair"] * hardest)]
        rows = [
            [one[key] for key in ("cats_a_term", "terms", "cats", "power")]
            + [one["terms_hardest"]] * hardest
            for one in part["needed"]
        ]
        title = (
            f"Needed for a difference of {power['difference']:g} points of {part['figure']} "
            f"between {against} (alpha {power['alpha']:g}, power {power['power']:g}){of}"
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
