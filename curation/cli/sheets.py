"""``curation rounds export`` and ``import``: rounds on platforms that take and give tables."""

import csv
import io
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.importing import refusals
from curation.cli.options import FILE, Json, RoundArgument, Where
from curation.files import CurationError, read_text, writing
from curation.records import Round, Task
from curation.steps.pipeline import fold_answers
from curation.steps.rounds import platform, round_files, round_status


def export(
    round: RoundArgument = None,
    campaign: Where = Path(),
    to: Annotated[
        Path | None,
        typer.Option(help="The folder to write to; else tasks/ in the campaign.", metavar="DIR"),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(help="A file with a person's id a line: deal the tasks out to them.", **FILE),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a round's tasks as tables, with the instructions, for people on another platform.

    One row a task with the answers that it still waits for in the column answers. With --people
    there is one table a person instead: nobody gets an item of their own or one that they have
    answered, the caps of [rounds] hold, and everybody gets about the same number.

    Send the tables out, and bring what comes back in with «curation rounds import».
    """
    opened = open_campaign(campaign)
    with opened.lock():
        one = round_files.the_round(opened, round)
        if one.platform != "files" or one.state != "open":
            raise CurationError(
                f"round {one.name} runs on {one.platform} and is {one.state}",
                "only an open round of platform files is exported",
            )
        fold_answers(opened, reporter=console)
        stands = round_status.read_status(opened, one)
        tasks, waiting = stands.tasks, round_status.waiting(stands)
        if not waiting:
            raise CurationError(
                f"round {one.name} waits for no answer", "«curation rounds top-up» asks for more"
            )
        shares: dict[str, list[tuple[Task, int]]]
        if people:
            shares = _dealt(opened, one, tasks, waiting, _people(people))
        else:
            shares = {"tasks": [(task, waiting[task.id]) for task in tasks if task.id in waiting]}
        made = _write(opened, one, shares, to or opened.root / "tasks")
    if as_json:
        console.say_json({"round": one.name, "files": [str(path) for path in made]})
        return
    rows = [[str(path), len(share)] for path, share in zip(made[1:], shares.values(), strict=True)]
    console.table("Tables", ["file", "tasks"], rows)
    console.say(f"instructions: {made[0]}")
    console.say(f"next: curation rounds import {one.name} FILE")


def _people(path: Path) -> list[str]:
    lines = [line.strip() for line in read_text(path).splitlines()]
    named = [line for line in lines if line and not line.startswith("#")]
    twice = [name for name, times in Counter(named).items() if times > 1]
    if twice:
        raise CurationError(f"{path}: {twice[0]!r} stands twice", "name each person once")
    return named


def _dealt(
    campaign: Campaign,
    round: Round,
    tasks: Sequence[Task],
    waiting: Mapping[str, int],
    named: Sequence[str],
) -> dict[str, list[tuple[Task, int]]]:
    """Each person's tasks, by the id under which they are named."""
    from curation.rounds import people, standing
    from curation.rounds.allocation import assign

    name = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    out = standing.out(round_files.read_standing(campaign))
    of = {name(person): person for person in named}
    barred = [of[p] for p in of if p in out]
    if barred:
        raise CurationError(
            f"{barred[0]!r} is out of the campaign ({out[name(barred[0])][0]})",
            "take them out of the file",
        )
    given: dict[str, set[str]] = defaultdict(set)
    for answer in round_files.read_answers(campaign, round.name):
        given[answer.task].add(answer.annotator)
    knobs = campaign.settings.rounds
    found = assign(
        tasks,  # those that wait for nobody, too: who answered them has had as much work
        list(of),
        answers=waiting,
        per_person=knobs.per_person,
        per_term=knobs.per_term,
        given=given,
        seed=campaign.settings.campaign.seed,
    )
    by_id = {task.id: task for task in tasks}
    return {of[p]: [(by_id[id], 1) for id in ids] for p, ids in found.items() if ids}


def _write(
    campaign: Campaign, round: Round, shares: Mapping[str, Sequence[tuple[Task, int]]], to: Path
) -> list[Path]:
    from curation.rounds import pages

    texts = platform.texts(campaign, round)
    tasks = list({task.id: task for share in shares.values() for task, _ in share}.values())
    sent = {row["task_id"]: row for row in platform.sent(campaign, round, tasks, texts)}
    made = [to / f"{round.name}-instructions.html"]
    for old in to.glob(f"{round.name}*.csv"):  # dealt before; what is still to be done is below
        if re.fullmatch(re.escape(round.name) + r"(-\d{3}|-who-gets-which)?\.csv", old.name):
            old.unlink()
    with writing(made[0]) as file:
        file.write(pages.instruction(round.kind, texts).encode())
    for number, share in enumerate(shares.values(), 1):
        # A person's id is no file name: it may hold anything, and lie about in folders.
        part = f"-{number:03d}" if len(shares) > 1 else ""
        made.append(to / f"{round.name}{part}.csv")
        with writing(made[-1]) as file:
            file.write(_table([{**sent[task.id], "answers": n} for task, n in share]).encode())
    if len(shares) > 1:
        rows = [[path.name, person] for path, person in zip(made[1:], shares, strict=True)]
        with writing(to / f"{round.name}-who-gets-which.csv") as file:
            os.fchmod(file.fileno(), 0o600)  # it names people
            file.write(_csv([["file", "person"], *rows]).encode())
    return made


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    flat: list[dict[str, Any]] = []
    for row in rows:
        plain = {k: v for k, v in row.items() if not isinstance(v, list)}
        if "choices" in row:
            plain["choices"] = " | ".join(f"{c['alias']}: {c['value']}" for c in row["choices"])
        plain["answers"] = plain.pop("answers")  # last, and so after the choices
        flat.append(plain)
    heads = list(flat[0])
    return _csv([heads, *([row[head] for head in heads] for row in flat)])


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def import_(
    round: Annotated[str, typer.Argument(help="The round.", metavar="ROUND")],
    file: Annotated[Path, typer.Argument(help="A CSV or JSONL file.", **FILE)],
    campaign: Where = Path(),
    consent: Annotated[
        str,
        typer.Option(
            help="All people in the file agreed, on their platform, to this version of the "
            "consent text.",
            metavar="VERSION",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Import answers to a round's tasks from a table, as the platform gave it.

    Columns: task_id and annotator; for review decision, merge_into, rename; for intrasentence
    template, stereotype, anti_stereotype, unrelated; for intersentence context and the same
    three; for validation label_1, label_2, label_3 and flags; and, where there, consent,
    answer_id, submitted_at, updated_at, seconds. Result files of MTurk are read as they are.

    Every rule is proven again here: own items, second answers, caps, consent, content. Importing a
    file again adds only what is new.
    """
    from curation.cli.rounds import tell_delivery
    from curation.rounds.answers import archive
    from curation.rounds.answers.forms import file_row
    from curation.rounds.tables import read_rows

    opened = open_campaign(campaign)
    payloads = [row for _, row in read_rows(file)]
    first = file_row(payloads[0]) if payloads else {}
    missing = [name for name in ("task_id", "annotator") if name not in first]
    if missing:
        raise CurationError(
            f"{file}: no column {missing[0]}; it has {', '.join(payloads[0]) if payloads else ''}",
            "keep the columns of the exported table, and add annotator: who answered",
        )
    with opened.lock():
        one = round_files.read_round(opened, round)
        if one.platform != "files" or one.state != "open":
            raise CurationError(
                f"round {one.name} runs on {one.platform} and is {one.state}",
                "only an open round of platform files takes tables",
            )
        shown = round_files.consents(opened)
        if consent and consent not in shown:
            raise CurationError(
                f"no round here has shown a consent text of version {consent!r}",
                f"versions: {', '.join(sorted(shown))}; in the export it is consent_version",
            )
        before = refusals(opened)
        raw, gone = opened.rounds / one.name / "raw", platform.erased(opened)
        if consent:
            everybody = dict.fromkeys(str(file_row(row).get("annotator") or "") for row in payloads)
            agreed = [{"annotator": p, "consent": consent} for p in everybody if p.strip()]
            archive.deliver(raw, "forms", agreed, gone=gone)
        delivery = archive.deliver(raw, "forms", payloads, gone=gone)
        fold_answers(opened, reporter=console)
        refused = Counter(code for code, *_ in (refusals(opened) - before).elements())
    counts = {"new": delivery.added, "known": delivery.known}
    tell_delivery(opened, one, counts, refused, as_json=as_json)
