"""``curation trust``: measures of bias, and the report that says when they may be trusted."""

import typer

from curation.cli import (
    trust_contextual,
    trust_probe,
    trust_report,
    trust_text,
    trust_vectors,
)

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


app.command("text")(trust_text.text)
app.command("vectors")(trust_vectors.vectors)
app.command("contextual")(trust_contextual.contextual)
app.command("probe")(trust_probe.probe)
app.command("prior")(trust_vectors.prior)
app.command("debias")(trust_vectors.debias)
app.command("report")(trust_report.report)
