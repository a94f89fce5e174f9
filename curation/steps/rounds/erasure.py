"""Erases what a person sent: from archives, from tasks, and from the platforms of rounds."""

from functools import partial
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.files import CurationError, dump_json, writing
from curation.records import Manifest, Task
from curation.steps import read
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import ledger, round_files
from curation.steps.rounds.platform import open_platform
from curation.text.table_words import Words
from curation.work.manifest import MANIFEST, SEGMENTS, read_manifest

if TYPE_CHECKING:
    from curation.rounds.answers.archive import Sent

ERASED = "(erased)"
QUOTED = {"context", "text1", "text2", "text3"}  # columns that a platform gives back


def erase(campaign: Campaign, person: str, *, reporter: Reporter = QUIET) -> int:
    """Erase what all people sent whose erasure was decided, and a person's data on platforms.

    A call that was stopped half-way can be repeated. A platform that cannot be reached is named in
    a warning. Call this only under the campaign's lock.

    Args:
        campaign: the campaign.
        person: the pseudonym of the person whose data is erased on platforms.
        reporter: where warnings go.

    Returns:
        How many answers were erased from archives.
    """
    from curation.rounds import people
    from curation.rounds.answers import archive

    manifest = read_manifest(campaign.rounds)
    # Before the first archive changes: the results of the step answers are no longer up to date,
    # and segments will have another content.
    content_open = dict.fromkeys(read.known_segments(campaign), "")
    with writing(campaign.rounds / SEGMENTS) as file:
        file.write(dump_json(content_open))
    steps = dict(manifest.steps)
    steps.pop("answers", None)
    with writing(campaign.rounds / MANIFEST) as file:
        file.write(dump_json(Manifest(steps=steps).model_dump()))
    ledger.forget(campaign, person, people.erased(round_files.read_standing(campaign)))
    writers = people.erased(round_files.read_standing(campaign))
    for round in round_files.planned_rounds(campaign):
        tasks = round_files.read_tasks(campaign, round)
        if any(task.barred in writers for task in tasks):
            kept = [_without_words(task) if task.barred in writers else task for task in tasks]
            round_files.rewrite_tasks(campaign, round, kept)
    erased = 0
    for raw in sorted(campaign.rounds.glob("*/raw")):
        round = raw.parent.name
        planned = (raw.parent / "tasks.jsonl").exists()
        tasks = round_files.read_tasks(campaign, round) if planned else []
        theirs = {task.id for task in tasks if task.barred in writers}
        gone, words = round_files.erased(campaign, round), round_files.read_words(campaign, round)
        blank = partial(_without_quotes, theirs=theirs, words=words)
        erased += archive.erase(raw, gone, blank=blank)
    for planned_round in round_files.map_rounds(campaign):
        try:
            open_platform(campaign, planned_round, reporter=reporter).erase(person)
        except CurationError as error:
            reporter.warn(f"{planned_round.name}: not erased on its server: {error.what}")
            reporter.warn("repeat this when the server can be reached, or erase it there")
    return erased


def _without_words(task: Task) -> Task:
    """A task without the words of the item's writer."""
    shown = tuple(text.model_copy(update={"text": ERASED}) for text in task.shown)
    return task.model_copy(update={"context": ERASED, "shown": shown})


def _without_quotes(sent: "Sent", *, theirs: set[str], words: Words) -> dict[str, Any] | None:
    """Somebody else's row of a table without the words that its task showed.

    None if the row has no such words.
    """
    from curation.rounds.answers.forms import file_row
    from curation.rounds.answers.rows import column, text_of

    if sent.source != "forms" or not theirs:
        return None
    if text_of(file_row(sent.payload, words), "task_id") not in theirs:
        return None
    plain = {
        key: column(key, words).removeprefix("input.").replace("_", "") for key in sent.payload
    }
    quotes = {key for key, name in plain.items() if name in QUOTED}
    return {key: ERASED if key in quotes else value for key, value in sent.payload.items()}
