"""``curation scores compare``: models side by side."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import console, side_by_side
from curation.cli.gold import (
    GoldFiles,
    Intervals,
    JsonFile,
    OfCampaign,
    Scores,
    Tier,
    TieRule,
    Ties,
    campaign_cats,
    current_runs,
    of_split,
    read_gold,
    take_tier,
    write_csv,
    write_json,
    write_text,
)
from curation.cli.options import FILE, Where
from curation.files import CurationError, read_json
from curation.records import Cat

if TYPE_CHECKING:
    from curation.scores.runs import Run
    from curation.scores.terms import Agreement


def compare(
    campaign: Where = Path(),
    gold: GoldFiles = None,
    scores: Scores = Path("scores"),
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions", metavar="NAME[@RULES]=FILE",
            help="Also a model's file of predictions, and by which profile or rule it was scored; "
            "may be repeated.",
        ),
    ] = None,
    split: OfCampaign = None,
    profile: Annotated[
        str, typer.Option(help="Only the models scored under this profile.")
    ] = "",
    rule: Annotated[
        str, typer.Option(help="Only the models scored by this rule, or by INTRA_INTER.")
    ] = "",
    tier: Tier = None,
    ties: Ties = TieRule.half,
    about: Annotated[
        Path | None,
        typer.Option(
            "--about",
            help="A CSV file with the columns model, parameters, corpus_gb: sizes to show and to "
            "correlate with.",
            **FILE,
        ),
    ] = None,
    terms_of: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Also this model's domains and its most and least stereotyped terms; MODEL/RULE "
            "for one of its runs.",
        ),
    ] = "",
    terms: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Show so many most and least stereotyped terms."),
    ] = 3,
    power: Annotated[
        float | None,
        typer.Option(
            metavar="D", show_default=False,
            help="Say how many terms a difference of D points between two models needs.",
        ),
    ] = None,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", help="Also write all figures to one long table.", **FILE),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option("--latex", help="Also write the models as LaTeX.", **FILE)
    ] = None,
    intervals: Intervals = False,
    json_file: JsonFile = None,
) -> None:  # fmt: skip
    """Compare models: figures with intervals, which differences hold, terms, kinds, rules.

    Models are ranked within a profile: each profile that a model was scored under has its own
    tables, and each row names its rules. Models under different profiles, and predictions whose
    rule is not declared, are never ranked together. Differences have paired tests over target
    terms, with Holm's correction over the pairs of a profile.
    """
    from curation.scores import compare as stage
    from curation.scores import tables
    from curation.scores.groups import groups, profiles_in
    from curation.scores.mechanisms import mechanisms
    from curation.scores.runs import board as lay_out
    from curation.scores.sizes import read_sizes

    if power is not None and not power > 0:
        raise CurationError(f"--power {power:g}: no difference", "give points above 0, such as 2")
    sizes = read_sizes(about) if about else {}
    cats, root, agreement = _read(campaign, gold, scores)
    cats, of = of_split(cats, split, gold)
    cats = take_tier(cats, tier)
    runs = current_runs(_read_runs(root, predictions or [], bool(gold)), cats)
    board = lay_out(cats, runs, ties=ties.value, skipped=console.warn)
    whole = groups(board.runs, every=runs)
    shown = groups(board.runs, profile=profile, rule=rule, every=runs, skipped=console.warn)
    with console.tracked("models", len(board.runs)) as advance:
        every = []
        for number in range(len(board.runs)):
            profiles = profiles_in(whole, number)
            every.append(stage.run_results(board, number, profiles=profiles, sizes=sizes))
            advance()
    reports = [
        stage.compare_group(board, group, every, agreement=agreement, power=power)
        for group in shown
    ]
    names = {group.name for group in shown}
    report: dict[str, Any] = {
        "split": of,
        "tier": tier,
        "ties": ties.value,
        "cats": len(cats),
        "runs": every,
        "groups": reports,
        "mechanisms": [row for row in mechanisms(every, whole) if names & {row["a"], row["b"]}],
        "shifts": stage.shifts(board, shown),
        "model_terms": stage.terms_of(terms_of, every, reports, count=terms, agreement=agreement),
    }
    if csv_file:
        write_csv(csv_file, [tables.COLUMNS, *tables.tidy(every, split=of, tier=tier)])
    if latex:
        write_text(latex, _latex(report, intervals=intervals))
    write_json(json_file, report)
    if others := sorted(set(sizes) - {one["model"] for one in every}):
        console.warn(f"{about}: not among the models that are compared: {', '.join(others)}")
    side_by_side.warn(board, cats, runs, reports)
    side_by_side.show(report, terms=terms, all_tables=bool(profile or rule))


def _read(
    campaign: Path, gold: Sequence[Path] | None, scores: Path
) -> "tuple[list[Cat], Path, dict[str, Agreement]]":
    """The CATs, the folder of their scores, and the agreement on each term."""
    from curation.scores.terms import Agreement, published_agreement
    from curation.stereoset import read_entries

    if gold:
        cats = read_gold(gold)
        entries = [entry for path in gold for entry in read_entries(path)]
        return cats, scores, published_agreement(entries)
    opened = open_campaign(campaign)
    path = opened.decisions / "agreement.json"
    rows = read_json(path)["terms"] if path.exists() else []
    agreement = {
        # Without «agreement» the report is of an earlier version, which had another formula.
        f"{row['domain']}/{row['term']}": Agreement(row.get("agreement"), row["stereotype"])
        for row in rows
    }
    return campaign_cats(opened), opened.scores, agreement


def _read_runs(root: Path, predictions: Sequence[str], free: bool) -> "list[Run]":
    """All runs; with predictions of gold files the folder of scores need not be there."""
    from curation.scores.runs import read_predictions_run, read_runs

    given = [read_predictions_run(named) for named in predictions]
    if given and not root.exists():
        return given
    if free and not root.exists():
        raise CurationError(f"{root}: no such folder", "name the folder of scores with --scores")
    return [*read_runs(root, skipped=console.warn), *given]


def _latex(report: Mapping[str, Any], *, intervals: bool) -> str:
    """A table for each group, and one for each run of --terms-of."""
    from curation.scores.tables import latex, latex_terms, rule_text
    from curation.scores.tiers import tier_text

    runs = {one["run"]: one for one in report["runs"]}
    tier = f"; {tier_text(report['tier'])}" if report["tier"] else ""
    how = f"ties {report['ties']}{tier}"
    found = []
    for group in report["groups"]:
        name = group["models"][0] if group["sort"] == "alone" else group["title"]
        alone = len(report["groups"]) == 1
        label = "tab:models" + ("" if alone else f"-{re.sub(r'[^a-z0-9]+', '-', name.lower())}")
        caption = f"lms, ss and icat by domain and overall ({report['split']}; "
        caption += f"{group['title']}; {how})."
        models = [runs[run] for run in group["models"] if run not in group["one_kind_only"]]
        found.append(latex(models, caption=caption, label=label, intervals=intervals))
    for part in report["model_terms"]:
        one = runs[part["run"]]
        caption = f"{one['model']} by domain, with its most and least stereotyped terms "
        caption += f"({report['split']}; {rule_text(one)}; {how})."
        label = f"tab:terms-{re.sub(r'[^a-z0-9]+', '-', part['run'].lower())}"
        found.append(latex_terms(one, part["rows"], caption=caption, label=label))
    return "\n".join(found)
