"""``curation trust``: measures of bias, and the trust report."""

import typer

from curation.cli import trust_contextual, trust_probe, trust_text, trust_vectors

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure bias, and report when its values may be trusted.",
)
app.command("text")(trust_text.text)
app.command("vectors")(trust_vectors.vectors)
app.command("contextual")(trust_contextual.contextual)
app.command("probe")(trust_probe.probe)
