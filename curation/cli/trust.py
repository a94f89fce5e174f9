"""``curation trust``: measures of bias, and the trust report."""

import typer

from curation.cli import trust_text

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure bias, and report when its values may be trusted.",
)
app.command("text")(trust_text.text)
