"""``curation scores compare``: models side by side."""

from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console, side_by_side
from curation.cli.options import FILE, Where
from curation.cli.score_options import (
    GoldFiles,
    Intervals,
    JsonFile,
    KindOption,
    LowerIsLikelier,
    OfCampaign,
    OriginalTargets,
    Scores,
    Tier,
    TieRule,
    Ties,
    write_csv,
    write_json,
    write_text,
)


def compare(
    campaign: Where = Path(),
    gold: GoldFiles = None,
    scores: Scores = Path("scores"),
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions", metavar="NAME[@RULES]=FILE",
            help="Also compare a model's predictions file; @RULES declares the profile or rule it "
            "was scored by. Repeatable.",
        ),
    ] = None,
    lower_is_likelier: LowerIsLikelier = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Accept predictions without scores for some CATs; all models are then compared "
            "on the CATs that all of them have.",
        ),
    ] = False,
    split: OfCampaign = None,
    kind: KindOption = None,
    original_targets: OriginalTargets = False,
    profile: Annotated[
        str, typer.Option(help="Only the models scored under this profile.")
    ] = "",
    rule: Annotated[
        str,
        typer.Option(
            help="Only the models scored by this rule; INTRA_INTER names a rule for each kind."
        ),
    ] = "",
    tier: Tier = None,
    ties: Ties = TieRule.half,
    about: Annotated[
        Path | None,
        typer.Option(
            "--about",
            help="A CSV file with the columns model, parameters, corpus_gb, architecture: sizes "
            "to show and to correlate with.",
            **FILE,
        ),
    ] = None,
    terms_of: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Also show this model's domains and its most and least stereotyped terms; use "
            "MODEL/RULE for one of its runs.",
        ),
    ] = "",
    terms: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Show the N most and N least stereotyped terms per domain."
        ),
    ] = 3,
    power: Annotated[
        float | None,
        typer.Option(
            metavar="D", show_default=False,
            help="Show how many terms you need to detect a difference of D points.",
        ),
    ] = None,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", help="Also write all values to one long table.", **FILE),
    ] = None,
    latex: Annotated[
        Path | None,
        typer.Option("--latex", help="Also write the tables of models as LaTeX.", **FILE),
    ] = None,
    intervals: Intervals = False,
    json_file: JsonFile = None,
) -> None:  # fmt: skip
    """Compare models: lms, ss, icat with intervals, tests of differences, terms, kinds, rules.

    Models are ranked within a profile: each profile has its own tables, and each row names its
    rules. Models under different profiles are never ranked together, and neither are predictions
    whose rule is not declared. Differences are tested with paired tests over target terms, with
    Holm's correction over the pairs of a profile.
    """
    from curation.scores import tables
    from curation.scores.tables import latex_report
    from curation.steps.scores.compare import compare as compute
    from curation.steps.source import open_source

    source = open_source(campaign, gold=gold, scores=scores, reporter=console)
    source = source.by_original(console) if original_targets else source
    source = source.in_split(split.value if split else None).of_kind(kind.value if kind else None)
    report = compute(
        source.in_tier(tier, console),
        predictions=predictions or [],
        lower_is_likelier=lower_is_likelier or [],
        partial=partial,
        profile=profile,
        rule=rule,
        tier=tier,
        ties=ties.value,
        sizes=about,
        terms_of=terms_of,
        terms=terms,
        power=power,
        reporter=console,
    )
    if csv_file:
        rows = tables.tidy(
            report["runs"],
            split=report["split"],
            tier=tier,
            original_targets=original_targets,
        )
        write_csv(csv_file, [tables.COLUMNS, *rows])
    if latex:
        write_text(latex, latex_report(report, intervals=intervals))
    if json_file:
        write_json(json_file, tables.compact(report), indent=False)
    side_by_side.show(report, terms=terms, all_tables=bool(profile or rule))
