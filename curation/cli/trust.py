"""``curation trust``: measures of bias, and the report that says when they may be trusted."""

import typer

from curation.cli import trust_report

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help=(
        "Measure bias towards groups, and report what is known about whether it may be trusted.\n\n"
        "Name your groups in [groups.NAME] of campaign.toml. Each measure writes a run to "
        "6-trust/runs/. «curation trust report» then tests measures, the dataset and scores "
        "against one criterion after another."
    ),
)


# In this order: text, vectors, contextual, probe, prior, debias, report.
app.command("report")(trust_report.report)
