"""``curation rounds item`` and ``correct``: show items, and change a text."""

from pathlib import Path
from typing import Annotated

import typer

from curation.across.corrections import Planned, correct_item
from curation.across.people import changed
from curation.campaign.store import open_campaign
from curation.decisions.steps import find_items
from curation.files import CurationError
from curation.reasons import REASONS
from curation.records import VALUES
from curation.rounds import round_files, running
from curation.rounds.progress import ItemFacts
from curation.terminal import console
from curation.terminal.options import Json, Where, locked
from curation.text.wording import amount


def show_items(
    items: Annotated[list[str], typer.Argument()], campaign: Where = Path(), as_json: Json = False
) -> None:
    """Show items with their texts, the votes on each, who gave which label, flags, and pitfalls.

    If settings, terms or answers have changed, items and labels are first computed again.

    Options:
        items (ITEM): The ids of items, as reports and other commands name them; or words in their
            texts, to search.
    """
    opened = open_campaign(campaign)
    running.refresh_status(opened, reporter=console)
    found = {each.item.id: each for name in items for each in find_items(opened, name)}
    if not found:
        raise CurationError(
            f"no item has the id or the words {', '.join(items)}",
            "2-rounds/*/items.jsonl lists the items that passed the checks",
        )
    if as_json:
        console.say_json([each.model_dump() for each in found.values()])
        return
    for each in found.values():
        _show_item(each)
    console.say("next: curation rounds correct ITEM; or name it in leave_out in [decisions]")


def _show_item(shown: ItemFacts) -> None:
    item, decision = shown.item, shown.decision
    about = filter(None, [shown.target, item.kind, item.round, item.writer])
    console.heading(f"{item.id}: {', '.join(about)}")
    console.say(item.context)
    rows = [
        [association.sentence, association.intent, verdict.gold, *verdict.votes]
        for association, verdict in zip(item.associations, decision.verdicts, strict=True)
    ]
    console.table("Votes that count", ["text", "meant", "gold label", *VALUES], rows)
    console.table("Labels", ["person", "text", "label"], [[*label] for label in shown.labels])
    for flag in shown.flags:
        console.say(f"flagged {flag.flag} by {flag.annotator}")
    if shown.pitfalls:
        console.say(f"known pitfalls: {', '.join(shown.pitfalls)}")
    console.say(f"no CAT: {REASONS[decision.reason]}" if decision.reason else "it is a CAT")


def correct(
    item: str,
    campaign: Where = Path(),
    *,
    field: str,
    text: str,
    by: str,
    why: str,
    yes: bool = False,
    as_json: Json = False,
) -> None:
    """Change a text of an item, show what that changes, and ask for labels of the new words.

    The raw answer stays. The correction, who made it (under a pseudonym) and why are saved in
    2-rounds/corrections.jsonl. Labels that people gave for the old words no longer count. An open
    round of validation that has the item asks for new ones at once; otherwise the next «curation
    rounds open validation» does. A built version of the release is never changed; the command names
    the versions that hold the item.

    Options:
        item (ITEM): The item's id, as in 2-rounds/ROUND/items.jsonl.
        field: context, stereotype, anti_stereotype, unrelated, or the id of an association.
        text: The new text. For an intrasentence association, the words in the gap are enough.
        by (NAME): Who makes the correction.
        why (TEXT): Why.
        yes: Do not ask.
    """

    def agree(planned: Planned) -> None:
        if not as_json:
            _show(planned)
        console.confirm("Correct it?", yes=yes)

    with locked(campaign) as opened:
        done = correct_item(
            opened, item, field, text, by=by, why=why, agree=agree, reporter=console
        )
    planned = done.planned
    counts = changed(done.before, done.after)
    if as_json:
        console.say_json(
            {
                "item": item,
                "by": planned.correction.by,
                "texts": [{"before": old, "after": new} for old, new in planned.texts],
                "labels_lost": planned.labels,
                "was_cat": planned.is_cat,
                "items_refused": planned.refused,
                "neutral_refused": planned.neutral,
                "changed": counts,
                "released_in": planned.versions,
                "asked_in": done.asked,
            }
        )
        return
    console.say(f"{item} is corrected, by {planned.correction.by}.")
    if counts:
        rows = [[name.replace("_", " "), *pair] for name, pair in counts.items()]
        console.table("Changes", ["", "before", "now"], rows)
    for name in done.asked:
        console.say(f"{name} asks for labels of the new words")
    if planned.labels and not done.asked:
        round = planned.correction.round
        name = " --name pilot-again" if round in round_files.left_out_pilots(opened) else ""
        console.say(f"next: curation rounds open validation --of {round}{name}")


def _show(planned: Planned) -> None:
    """What a correction will change."""
    for old, new in planned.texts:
        console.say(f"- {old}")
        console.say(f"+ {new}")
    labels, people = planned.labels, amount(planned.people, "person", "people")
    if labels:
        verb = "no longer counts" if labels == 1 else "no longer count"
        console.say(f"{amount(labels, 'label')} by {people} {verb}")
    else:
        console.say("every label still counts")
    if planned.is_cat and labels:
        console.say("it is a CAT now, and is not one until it has new labels")
    if planned.refused:
        console.say(f"too like the new text, and so refused: {', '.join(planned.refused)}")
    if planned.neutral:
        many = amount(len(planned.neutral), "neutral association")
        console.say(f"written beside the old text, and so refused: {many}")
    for version in planned.versions:
        console.warn(
            f"7-release/{version} holds the item as it was: raise version in [release], build and "
            "publish a new version"
        )
