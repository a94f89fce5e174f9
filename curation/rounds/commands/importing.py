"""``curation import``: answers from files into a round's archive.

Options:
    round (NAME): The round that the answers belong to.
"""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from curation.campaign.store import open_campaign
from curation.reasons import REASONS
from curation.rounds.importing import Import, import_answers, import_stereoset
from curation.rounds.steps import describe_pitfalls
from curation.terminal import console
from curation.terminal.options import Json, Where, command_group
from curation.text.times import Order
from curation.text.wording import amount, some

SHOWN = 10  # new terms named in a line
app = command_group()
Round = Annotated[str, typer.Option("--round", "-r")]


@app.command("stereoset")
def stereoset(
    file: Path, campaign: Where = Path(), round: Round = "published", as_json: Json = False
) -> None:
    """Import a dataset like StereoSet: items and labels, with their ids.

    Many layouts are read: StereoSet's JSON, Hugging Face's Parquet and JSONL, tables with a column
    for each option or a row for each sentence, and others. A mapping file (TOML) describes other
    columns, labels and domains; docs/datasets.md has examples.

    Texts are kept as they were published. Items without exactly three sentences, ids that are
    used twice and unknown labels are refused with a reason, in 2-rounds/ROUND/rejected.jsonl.

    Options:
        file (FILE): A dataset like StereoSet, or a mapping file.
    """
    opened = open_campaign(campaign)
    _show(import_stereoset(opened, file, round=round, reporter=console), as_json=as_json)


@app.command("answers")
def answers(
    file: Path,
    campaign: Where = Path(),
    round: Round = "main",
    known_terms: bool = False,
    dates: Order | None = None,
    as_json: Json = False,
) -> None:
    """Import writers' or validators' answers from a table.

    Columns for writers: domain, target, context, stereotype, anti_stereotype, unrelated. Optional:
    item_id, kind, annotator, submitted_at, updated_at, seconds. The three texts are sentences, or
    the words that fill BLANK.

    Columns for validators: item_id, annotator, association (its id or its text), label. Or all
    three labels in one row: association_1, label_1 to association_3, label_3. Optional: answer_id,
    submitted_at, updated_at, seconds.

    Headings and labels in any shipped language are read. Columns of a CSV are separated by commas,
    semicolons, tabs or bars. If you import a file again, only new rows are added. docs/tables.md
    has the details.

    Options:
        file (FILE): An .xlsx workbook, a CSV or a JSONL file; or a file that names the raters'
            columns.
        known_terms: Refuse items on terms that are not in the campaign.
    """
    opened = open_campaign(campaign)
    done = import_answers(
        opened, file, round=round, known_terms=known_terms, dates=dates, reporter=console
    )
    _show(done, as_json=as_json)


def _show(done: Import, *, as_json: bool) -> None:
    if as_json:
        names = ("round", "rows", "added", "known", "items", "unlabelled", "labels")
        console.say_json(
            {
                **{name: getattr(done, name) for name in names},
                "new_terms": done.new_terms,
                "rejected": dict(sorted(done.rejected.items())),
                "pitfalls": dict(sorted(Counter(p.code for p in done.pitfalls).items())),
            }
        )
        return
    console.say(
        f"{amount(done.added, 'row')} added to round {done.round}; {done.known:,} already there. "
        f"The round has {amount(done.items, 'item')} and {amount(done.labels, 'label')}; "
        f"the campaign has {done.all_items:,} and {done.all_labels:,}."
    )
    if done.new_terms:
        console.say(
            f"{amount(len(done.new_terms), 'new term')}: {some(done.new_terms, SHOWN)}. To merge, "
            "rename or drop a term, edit 1-terms/edits.csv."
        )
    if done.rejected:
        show_refused(done.rejected)
    wrong = done.rejected.total() - done.rejected["superseded"]  # these were corrected
    if wrong > done.rows / 2:
        console.warn(
            f"{amount(wrong, 'answer was', 'answers were')} refused, and the file "
            f"has {amount(done.rows, 'row')}; rejected.jsonl has the reason for each"
        )
    if line := describe_pitfalls(done.pitfalls, done.round, done.items):
        console.say(line)
    if done.items and done.unlabelled:
        console.say(f"{amount(done.unlabelled, 'item has', 'items have')} no label yet.")


def show_refused(refused: Counter[str]) -> None:
    """Print how many answers were newly refused for each reason."""
    rows = [(code, n, REASONS[code]) for code, n in refused.most_common()]
    title = f"Newly refused: {refused.total():,}, in 2-rounds/*/rejected.jsonl"
    console.table(title, ["reason", "count", "meaning"], rows)
    if refused["time_impossible"]:
        console.say(
            "if you know why these times are wrong, write the round's name into accept_times of "
            "[rounds] in campaign.toml; see docs/rounds.md"
        )
