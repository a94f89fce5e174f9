"""``curation pages``: the report that everybody can read."""

from pathlib import Path

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Where, command_group
from curation.steps.pipeline import bring_up_to_date

app = command_group("The report: pages that everybody can read.")


@app.command()
def build(campaign: Where = Path()) -> None:
    """Write 8-pages/report.html: what was made, what it measures, how far it may be trusted."""
    opened = open_campaign(campaign)
    with opened.lock():
        bring_up_to_date(opened, "pages", reporter=console)
    console.say(str(opened.pages / "report.html"))
