"""``curation pages``: the report that everybody can read."""

from pathlib import Path

from curation.campaign.store import open_campaign
from curation.pages.steps import build_gold
from curation.pipeline import build_pages
from curation.terminal import console
from curation.terminal.options import Where, command_group
from curation.text.wording import amount

app = command_group()


@app.command()
def build(
    gold: list[Path] | None = None,
    scores: Path = Path("scores"),
    to: Path = Path("pages"),
    private: bool = False,
    campaign: Where = Path(),
) -> None:
    """Write the report: what was made, what it measures, how far it may be trusted.

    It is 8-pages/report.html of a campaign, with tables and numbers beside it. What cannot be
    brought up to date is marked.

    Options:
        to (DIR): With --gold: the folder to write to.
        private: Also show what is hidden and what writers meant: write 8-pages/private/.
    """
    if gold:
        made = build_gold(gold, to, scores=scores, private=private, reporter=console)
    else:
        opened = open_campaign(campaign)
        with opened.lock():
            made = build_pages(opened, private=private, reporter=console)
    console.say(f"{made.page} ({amount(len(made.files), 'file')} in its folder)")
