"""``curation rounds exclude`` and ``withdraw``: people whose answers do not count any more."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.files import (
    CurationError,
    dump_json,
    dump_line,
    now,
    read_json,
    read_records,
    writing,
)
from curation.manifest import MANIFEST, read_manifest
from curation.records import Decision, Manifest, Person, Standing, Task
from curation.rounds import people, standing
from curation.steps.pipeline import STEPS, bring_up_to_date, current, last_run
from curation.steps.read import read_labels
from curation.steps.rounds import platform, round_files

if TYPE_CHECKING:
    from curation.rounds.answers.archive import Sent

Who = Annotated[
    str,
    typer.Argument(help="A pseudonym, or the person's id on the platform.", metavar="PERSON"),
]
ERASED = "(erased)"
Word = Literal["exclude", "readmit", "withdraw", "erase"]


def exclude(
    person: Who,
    campaign: Where = Path(),
    reason: Annotated[str, typer.Option(help="Why; it is kept.", metavar="TEXT")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Let the person in again.")] = False,
    as_json: Json = False,
) -> None:
    """Count a person's answers no more, and say what that changes. --undo takes it back.

    Everything is computed anew: the person's labels, the items that they wrote and the labels on
    these, decisions, agreement, split and release. The raw answers stay.
    """
    if not undo and not reason.strip():
        raise CurationError("an exclusion needs a reason", "say it with --reason")
    word: Word = "readmit" if undo else "exclude"
    _decide(campaign, person, word, reason.strip() or "taken back", as_json=as_json)


def withdraw(
    person: Who,
    campaign: Where = Path(),
    erase: Annotated[
        bool, typer.Option("--erase", help="Erase the answers from the raw archive, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Take a person out who wishes it, and say what that changes. It cannot be taken back.

    With --erase their answers are erased from the raw archive, their words from tasks, and both
    from the rounds' Label Studio where it can be reached: a tombstone stays in the place of each
    answer, so that a later pull does not bring it in again. What stands elsewhere, such as in
    backups and in releases that are out, is named at the end.
    """
    word: Word = "erase" if erase else "withdraw"
    _decide(campaign, person, word, "the person's own wish", as_json=as_json)


def _decide(root: Path, who: str, word: Word, reason: str, *, as_json: bool) -> None:
    opened = open_campaign(root)
    with opened.lock():
        if not opened.round_names():
            raise CurationError(
                "there are no answers yet, and so nobody to name",
                "bring answers in first: «curation rounds pull», or import",
            )
        made = _made(opened)
        bring_up_to_date(opened, "fold", reporter=console)
        _bring(opened, made)  # what cannot be made, such as a release that is blocked, stops nobody
        person = _pseudonym(opened, who)
        lines = round_files.read_standing(opened)
        _check_word(person, word, standing.out(lines).get(person, ("", ""))[0])
        before, cats = _figures(opened), _cats(opened)
        lines.append(Standing(person=person, action=word, reason=reason, at=now()))
        with writing(round_files.standing_file(opened)) as file:
            file.writelines(map(dump_line, lines))
        erased = _erase(opened, person) if word == "erase" else 0
        unmade = _bring(opened, made)  # with nothing left there is no release; it is said, below
        if unmade and word == "erase":  # what there is, is of answers that may not be kept
            _delete_old(opened)
        after, lost = _figures(opened), cats - _cats(opened)
        won = _cats(opened) - cats
    if unmade:
        old = "deleted" if word == "erase" else "left as they were"
        console.warn(f"not all could be made anew: {unmade}; the old results of that are {old}")
    summary = {
        "person": person,
        "action": word,
        "erased": erased,
        "changed": {k: [before[k], after.get(k)] for k in before if before[k] != after.get(k)},
        "cats_lost": sorted(lost),
        "cats_won": sorted(won),
        "released_in": _releases_with(opened, lost),
    }
    if as_json:
        console.say_json(summary)
        return
    _tell(opened, summary, before, after)


def _check_word(person: str, word: Word, state: str) -> None:
    """Whether a word can be said of somebody who is "", "excluded" or "withdrawn"."""
    if word == "erase":
        return  # also of who withdrew, and again where it was broken off
    if state == "withdrawn":
        raise CurationError(f"{person} withdrew", "that cannot be taken back, or said again")
    if word == "readmit" and state != "excluded":
        raise CurationError(f"{person} is not excluded", "there is nothing to take back")
    if word == "exclude" and state == "excluded":
        raise CurationError(f"{person} is excluded already", "--undo lets the person in again")


def _tell(
    campaign: Campaign, summary: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    done = {
        "exclude": "is excluded",
        "readmit": "counts again",
        "withdraw": "has withdrawn",
        "erase": "has withdrawn and is erased",
    }
    console.say(f"{summary['person']} {done[summary['action']]}.")
    rows = [[name.replace("_", " "), before[name], after.get(name)] for name in before]
    console.table("What it changes", ["", "before", "now"], rows)
    if summary["cats_lost"]:
        console.say(f"CATs lost: {', '.join(summary['cats_lost'])}")
    if summary["cats_won"]:
        console.say(f"CATs won: {', '.join(summary['cats_won'])}")
    for version in summary["released_in"]:
        console.warn(f"7-release/{version} still holds CATs that are lost; publish a new version")
    if summary["action"] == "erase":
        console.say(f"{summary['erased']} answers were erased. Yours to do, if it is there:")
        console.say("  the account on the platform, backups, tables in tasks/ and where they went,")
        console.say("  what others quote of the person's words in answers of their own")


def _made(campaign: Campaign) -> list[str]:
    """The steps that have results, of those that lead to others the last: all is computed anew."""
    made = [step for step in STEPS if last_run(campaign, step)]
    along = [step.name for step in made if not step.aside]
    last = along[-1] if along and along[-1] != "select" else "fold"
    return [*(step.name for step in made if step.aside), last]


def _bring(campaign: Campaign, steps: list[str]) -> str:
    """Make steps anew, each even where another cannot be made; what is wrong with the first."""
    wrong = []
    for name in steps:
        try:
            bring_up_to_date(campaign, name, reporter=console)
        except CurationError as error:
            wrong.append(error.what)
    return wrong[0] if wrong else ""


def _delete_old(campaign: Campaign) -> None:
    """Delete the results of steps that could not be made anew, and the last release with them."""
    version = campaign.settings.release.version
    for step in STEPS:
        run = last_run(campaign, step)
        if step.name in ("select", "fold") or not run or current(campaign, step):
            continue
        for name in run.outputs:
            (step.folder(campaign) / name).unlink(missing_ok=True)
        if step.name == "release":
            shutil.rmtree(campaign.releases / version, ignore_errors=True)


def _pseudonym(campaign: Campaign, who: str) -> str:
    """Whom a pseudonym or a platform's id names.

    Raises:
        CurationError: nobody here has answered under that name.
    """
    name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    met = campaign.rounds / "people.jsonl"
    known = {person.id for person in read_records(met, Person)} if met.exists() else set()
    known |= {line.person for line in round_files.read_standing(campaign)}
    known |= set(read_labels(campaign)["annotator"].unique())  # published ones, too
    for candidate in (who, name(who), name(who.lower())):
        if candidate in known:
            return candidate
    raise CurationError(
        f"nobody here has answered under the name {who!r}",
        "pseudonyms stand in «curation decisions agreement --by annotator» and in people.jsonl",
    )


def _figures(campaign: Campaign) -> dict[str, Any]:
    """What is counted of a campaign: to be compared before and after."""
    runs = {step.name: last_run(campaign, step) for step in STEPS}
    fold, decided = runs["fold"], runs["filter"]
    found: dict[str, Any] = {
        "items": fold.counts["items"] if fold else 0,
        "labels": fold.counts["labels"] if fold else 0,
        "CATs": decided.counts["items_kept"] if decided else 0,
        "items_without_enough_labels": decided.counts.get("too_few_labels", 0) if decided else 0,
    }
    if runs["agreement"]:
        report = read_json(campaign.decisions / "agreement.json")
        for row in report["measures"]:
            if row["by"] == "overall" and row["measure"] == "alpha":
                found[f"alpha, {row['scope']}, {row['classes']}"] = row["value"]
    return found


def _cats(campaign: Campaign) -> set[str]:
    path = campaign.decisions / "decisions.jsonl"
    decisions: Sequence[Decision] = read_records(path, Decision) if path.exists() else []
    return {decision.item for decision in decisions if decision.kept}


def _releases_with(campaign: Campaign, lost: set[str]) -> list[str]:
    """Released versions that still hold one of these CATs."""
    found = []
    for folder in sorted(path for path in campaign.releases.glob("*") if path.is_dir()):
        files = [folder / name for name in ("dev.json", "test.json")]
        text = "".join(file.read_text("utf-8") for file in files if file.exists())
        if any(f'"{id}"' in text for id in lost):
            found.append(folder.name)
    return found


def _erase(campaign: Campaign, person: str) -> int:
    """Erase what erased people sent: archives, tasks, servers. Killed, it can be said again."""
    from curation.rounds.answers import archive

    gone = platform.erased(campaign)
    manifest = read_manifest(campaign.rounds)
    # Before the first segment changes: the step that made items of it is no longer vouched for.
    steps = {name: run for name, run in manifest.steps.items() if name != "fold"}
    with writing(campaign.rounds / MANIFEST) as file:
        file.write(dump_json(Manifest(steps=steps).model_dump()))
    writers = standing.erased(round_files.read_standing(campaign))
    for round in round_files.planned_rounds(campaign):
        tasks = round_files.read_tasks(campaign, round)
        if any(task.barred in writers for task in tasks):
            kept = [_emptied(task) if task.barred in writers else task for task in tasks]
            round_files.rewrite_tasks(campaign, round, kept)
    erased = 0
    for raw in sorted(campaign.rounds.glob("*/raw")):
        round = raw.parent.name
        planned = (raw.parent / "tasks.jsonl").exists()
        tasks = round_files.read_tasks(campaign, round) if planned else []
        theirs = {task.id for task in tasks if task.barred in writers}
        erased += archive.erase(raw, gone, blank=partial(_unquoted, theirs=theirs))
    for one in round_files.map_rounds(campaign):
        try:
            if one.platform == "label_studio":
                platform.erase(campaign, one, person)
        except CurationError as error:
            console.warn(f"{one.name}: not erased on its server: {error.what}")
            console.warn("say it again when the server can be reached, or erase it there")
    return erased


def _emptied(task: Task) -> Task:
    """A task without the words of the item's writer."""
    shown = tuple(text.model_copy(update={"text": ERASED}) for text in task.shown)
    return task.model_copy(update={"context": ERASED, "shown": shown})


QUOTED = {"context", "text_1", "text_2", "text_3"}  # columns that a platform gives back


def _unquoted(sent: "Sent", *, theirs: set[str]) -> dict[str, Any] | None:
    """Another's row of a table without the words that its task showed; None where it has none."""
    from curation.rounds.answers.forms import file_row

    if sent.source != "forms" or not theirs or file_row(sent.payload).get("task_id") not in theirs:
        return None
    shows = {k for k in sent.payload if k.casefold().removeprefix("input.") in QUOTED}
    return {key: ERASED if key in shows else value for key, value in sent.payload.items()}
