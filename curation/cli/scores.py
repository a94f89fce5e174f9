"""``curation scores``: lms, ss, icat of models and baselines."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from typer.core import TyperCommand

from curation.cli import comparing, console, ensembling, published, scoring, training
from curation.cli.options import FILE, Where
from curation.cli.results import show_baselines, show_results
from curation.cli.score_options import (
    GoldFiles,
    Intervals,
    JsonFile,
    KindOption,
    LatexFile,
    OfCampaign,
    OriginalTargets,
    Tier,
    TieRule,
    Ties,
    write_json,
    write_text,
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Score models on a benchmark: lms, ss, icat.",
)
Gold = Annotated[
    list[Path],
    typer.Option(
        "--gold",
        help="A dataset like StereoSet with gold labels, or a mapping file; repeatable.",
        **FILE,
    ),
]


LowerKind = Literal["both", "intrasentence", "intersentence"]


class OptionalKind(TyperCommand):
    """A command in which --lower-is-likelier may have no KIND, and then means both kinds."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with the kind that is meant."""
        kinds = [[kind] for kind in get_args(LowerKind)]
        for n, word in enumerate(args):
            if word == "--lower-is-likelier" and args[n + 1 : n + 2] not in kinds:
                args[n] = f"{word}=both"
        return super().parse_args(ctx, args)


@app.command("predictions", cls=OptionalKind)
def predictions(
    gold: Gold,
    predictions: Annotated[
        Path, typer.Option("--predictions", help="A model's score of each sentence, by id.", **FILE)
    ],
    kind: KindOption = None,
    lower_is_likelier: Annotated[
        LowerKind | None,
        typer.Option(
            "--lower-is-likelier",
            metavar="[KIND]",
            help="The scores, or those of this kind of CAT, are perplexities or losses: change "
            "their sign.",
            show_default=False,
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Leave out CATs if a sentence has no score, or one that is not a finite number.",
        ),
    ] = False,
    original_targets: OriginalTargets = False,
    tier: Tier = None,
    ties: Ties = TieRule.half,
    model: Annotated[
        str, typer.Option(help="The model's name; default: taken from the file's name.")
    ] = "",
    json_file: JsonFile = None,
) -> None:
    """Score a file of predictions: lms, ss, icat by kind, domain, term and overall.

    The file is {"intrasentence": [{"id", "score"}], "intersentence": [...]}, JSON Lines with id and
    score, or a CSV table with these columns. A higher score means likelier. Intervals are 95 %
    intervals over target terms.
    """
    from curation.steps.scores.predictions import score_predictions
    from curation.steps.source import gold_source

    source = gold_source(gold, reporter=console)
    source.of_kind(kind.value if kind else None).warn_before_scoring(console)
    result = score_predictions(
        predictions,
        source.by_original(console) if original_targets else source,
        kind=kind.value if kind else None,
        tier=tier,
        ties=ties.value,
        lower_is_likelier=lower_is_likelier == "both" or lower_is_likelier or False,
        partial=partial,
        model=model,
        reporter=console,
    )
    write_json(json_file, result)
    show_results(result)


@app.command("baselines")
def baselines(
    gold: GoldFiles = None,
    campaign: Where = Path(),
    split: OfCampaign = None,
    language: Annotated[
        str,
        typer.Option(
            help="Language code of the texts; default: that of the campaign or release, or en.",
            show_default=False,
        ),
    ] = "",
    original_targets: OriginalTargets = False,
    tier: Tier = None,
    ties: Ties = TieRule.half,
    sentiment: Annotated[
        Path | None,
        typer.Option(
            "--sentiment",
            help="A predictions file with a classifier's sentiment of each sentence, higher being "
            "more positive. Default: the scores of «measures sentiment» if the campaign has a "
            "classifier, otherwise VADER's, for English.",
            **FILE,
        ),
    ] = None,
    latex: LatexFile = None,
    intervals: Intervals = False,
    json_file: JsonFile = None,
) -> None:
    """Show what baselines score: ideal, stereotyped, random, and rules that use the surface only.

    IdealLM, StereotypedLM and RandomLM are computed. The other baselines understand nothing. They
    use only how frequent the words are, how long the sentence is, its place in the file, how much
    it shares with its context, and how negative it sounds. If one of these beats chance, a warning
    is printed, and a release should report it.
    """
    from curation.scores.tables import latex_baselines
    from curation.steps.scores.baselines import baselines as compute
    from curation.steps.source import open_source

    source = open_source(campaign, gold=gold, language=language, reporter=console)
    source.warn_of_language(console)
    source.in_split(split.value if split else None).warn_before_scoring(console)
    source = source.by_original(console) if original_targets else source
    source = source.in_split(split.value if split else None).in_tier(tier, console)
    results = compute(source, tier=tier, ties=ties.value, sentiment=sentiment, reporter=console)
    if latex:
        text, left_out = latex_baselines(
            results,
            split=source.split,
            tier=tier,
            ties=ties.value,
            intervals=intervals,
            original_targets=original_targets,
        )
        write_text(latex, text)
        if left_out:
            console.note(
                "These are not in the LaTeX table because they score one kind only: "
                f"{', '.join(left_out)}"
            )
    write_json(json_file, results)
    show_baselines(results)


app.command("models")(scoring.models)
app.command("rules")(scoring.rules)
app.command("prompts")(scoring.prompts)
app.command("train-nsp")(training.train_nsp)
app.command("compare")(comparing.compare)
app.command("ensemble")(ensembling.ensemble)
app.command("published")(published.published)
