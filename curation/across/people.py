"""Decides that a person's answers no longer count, and computes all results again."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from curation.campaign.manifest import MANIFEST, SEGMENTS
from curation.campaign.step import current, delete_files, last_run, run_steps
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_json, dump_line, read_json, refuse_links, writing
from curation.formats.table_words import Words
from curation.pipeline import ON_DEMAND, PAGES, STEPS, made_steps, recompute
from curation.records import Correction, Fields, Manifest, Standing, Task
from curation.release import versions
from curation.rounds.answers import archive, people
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.rows import column, file_row, text_of
from curation.rounds.held import forget_holder
from curation.rounds.planning import write_tasks
from curation.rounds.platforms.opening import erased as erased_answers
from curation.rounds.platforms.opening import open_platform
from curation.rounds.platforms.texts import read_words
from curation.rounds.steps import KNOWN_SEGMENTS, answers
from curation.text.times import now
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.decisions.agreement import Agreement

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
    manifest = campaign.manifest(campaign.folder("rounds"))
    # Before the first archive changes: the results of the step answers are no longer up to date,
    # and segments will have another content.
    known = campaign[KNOWN_SEGMENTS]
    content_open = dict.fromkeys(known, "")
    with writing(campaign.folder("rounds") / SEGMENTS) as file:
        file.write(dump_json(content_open))
    steps = dict(manifest.steps)
    steps.pop("answers", None)
    with writing(campaign.folder("rounds") / MANIFEST) as file:
        file.write(dump_json(Manifest(steps=steps).model_dump()))
    forget_holder(campaign, person, people.erased(campaign.standing))
    writers = people.erased(campaign.standing)
    corrections = campaign.corrections
    if any(each.writer in writers for each in corrections):  # they have words of the writer
        kept_ones = [each for each in corrections if each.writer not in writers]
        write_corrections(campaign, kept_ones)
    for round in (each.name for each in campaign.rounds):
        tasks = campaign.tasks[round]
        if any(task.writers & writers for task in tasks):
            kept = [_without_words(task) if task.writers & writers else task for task in tasks]
            write_tasks(campaign, round, kept)
    erased = 0
    for raw in sorted(campaign.folder("rounds").glob("*/raw")):
        round = raw.parent.name
        planned = (raw.parent / "tasks.jsonl").exists()
        tasks = campaign.tasks[round] if planned else ()
        theirs = {task.id for task in tasks if task.writers & writers}
        gone, words = erased_answers(campaign, round), read_words(campaign, round)
        blank = partial(_without_quotes, theirs=theirs, words=words)
        erased += archive.erase(raw, gone, blank=blank)
    for planned_round in campaign.rounds:
        try:
            open_platform(campaign, planned_round, reporter=reporter).erase(person)
        except CurationError as error:
            reporter.warn(f"{planned_round.name}: not erased on its server: {error.what}")
            reporter.warn("repeat this when the server can be reached, or erase it there")
    return erased


def write_corrections(campaign: Campaign, corrections: Iterable[Correction]) -> None:
    """Write the list of corrections, all at once."""
    with writing(campaign.folder("rounds") / "corrections.jsonl", private=True) as file:
        file.writelines(map(dump_line, corrections))


def _without_words(task: Task) -> Task:
    """A task without the words of the item's writer."""
    shown = tuple(text.model_copy(update={"text": ERASED}) for text in task.shown)
    return task.model_copy(update={"context": ERASED, "shown": shown})


def _without_quotes(sent: "Sent", *, theirs: set[str], words: Words) -> Fields | None:
    """Somebody else's row of a table without the words that its task showed.

    None if the row has no such words.
    """
    if sent.source != "forms" or not theirs:
        return None
    if text_of(file_row(sent.payload, words), "task_id") not in theirs:
        return None
    plain = {key: column(key, words).replace("_", "") for key in sent.payload}
    quotes = {key for key, name in plain.items() if name in QUOTED}
    return {key: ERASED if key in quotes else value for key, value in sent.payload.items()}


Action = Literal["exclude", "readmit", "withdraw", "erase"]


class Foreseen(NamedTuple):
    """What a decision about a person will change, before anything is written.

    Attributes:
        person: the pseudonym.
        answers: how many answers they gave.
        items: items that they wrote.
        labels: their labels that count now, on items of others.
        others: labels of other people on their items.
        cats: CATs among their items, which are lost.
        touched: other CATs with a label of theirs, which may be lost.
        versions: built versions of the release that hold items or labels of theirs.
    """

    person: str
    answers: int
    items: int
    labels: int
    others: int
    cats: int
    touched: int
    versions: list[str]


class Change(NamedTuple):
    """What a decision about a person changed.

    Attributes:
        person: the pseudonym.
        action: what was decided.
        erased: how many answers were erased.
        before: the campaign's counts before, by name.
        after: the campaign's counts after; a count is missing if it can no longer be computed.
        cats_lost: ids of the items that were CATs before and no longer are.
        cats_won: ids of the items that are CATs now and were not before.
        released_in: built versions of the release that held something of what is lost: CATs, or
            labels by the person.
        theirs: those of them that hold items or labels of the person.
        deleted: those of them that were deleted.
    """

    person: str
    action: Action
    erased: int
    before: Fields
    after: Fields
    cats_lost: list[str]
    cats_won: list[str]
    released_in: dict[str, versions.Held]
    theirs: list[str]
    deleted: list[str]

    @property
    def to_delete(self) -> list[str]:
        """After an erasure, the built versions that still hold something of the person."""
        erased = self.action == "erase"
        return [version for version in self.theirs if erased and version not in self.deleted]


def decide_on_person(
    campaign: Campaign,
    who: str,
    action: Action,
    reason: str,
    *,
    releases: bool = False,
    agree: Callable[[Foreseen], None] = lambda foreseen: None,
    reporter: Reporter = QUIET,
) -> Change:
    """Exclude, readmit, withdraw or erase a person, and compute all results again.

    Results that cannot be computed again are left as they were, with a warning; after an erasure
    they are deleted. No version of a release is built or rewritten. Call this only under the
    campaign's lock.

    Args:
        campaign: the campaign.
        who: the person's pseudonym, or their id on the platform.
        action: what is decided. A withdrawal or an erasure cannot be taken back.
        reason: why; it is kept.
        releases: after an erasure, also delete the built versions that hold something of the
            person.
        agree: is called with what will change before anything is written; raises to stop it.
        reporter: where warnings and progress go.

    Raises:
        CurationError: there are no answers, nobody has answered under that name, or the action
            does not fit what was decided before.
    """
    if not campaign.round_names():
        raise CurationError(
            "there are no answers yet, and so nobody to name",
            "bring answers in first: «curation rounds pull», or import",
        )
    computed = made_steps(campaign)
    run_steps(campaign, answers, reporter=reporter)
    recompute(campaign, computed, reporter)  # goes on if a release is blocked, for example
    person = _pseudonym(campaign, who)
    decisions = [*campaign.standing]
    _check_action(person, action, people.out(decisions).get(person, ("", ""))[0])
    before, cats = count_all(campaign), cats_of(campaign)
    items = _items_of(campaign, person)
    held = _held_before(campaign, person, items, decisions)
    delete = releases and action == "erase"
    agree(_foresee(campaign, person, items, cats, sorted(held)))
    decisions.append(
        Standing(
            person=person,
            action=action,
            reason=reason,
            at=now(),
            released=held,
            delete_releases=delete,
            called=_names(campaign)(who) if action == "erase" and who != person else "",
        )
    )
    with writing(campaign.folder("rounds") / "standing.jsonl", private=True) as file:
        file.writelines(map(dump_line, decisions))
    for folder in (step.folder(campaign) for step in ON_DEMAND if not step.lasting):
        refuse_links(folder, below=campaign.root)
        if folder.is_dir():
            shutil.rmtree(folder)
            where = campaign.relative(folder)
            reporter.note(f"{where}/ is deleted: build it again if you need it")
    erased = erase(campaign, person, reporter=reporter) if action == "erase" else 0
    failure = recompute(campaign, computed, reporter)
    if failure and action == "erase":  # old results come from answers that must not be kept
        _delete_old(campaign)
    after, cats_now = count_all(campaign), cats_of(campaign)
    if failure:
        old = "deleted" if action == "erase" else "left as they were"
        reporter.warn(f"not all results could be computed again: {failure}; the old ones are {old}")
    from curation.rounds.quality import about_removed  # numpy and pandas

    if action == "exclude" and (warning := about_removed(campaign)):
        reporter.warn(warning)
    lost = cats - cats_now
    if action == "readmit":
        released_in = versions.holding(campaign, lost)
    else:
        released_in = {version: versions.Held(0, 0) for version in held}
        released_in |= versions.holding(campaign, lost | items, person)
    kept = set[str]() if failure or not delete else {item.id for item in campaign.items}
    deleted = versions.delete_versions(campaign, held, kept) if delete else []
    if deleted and PAGES in computed:  # it has facts of the last version
        recompute(campaign, [PAGES], reporter)
    return Change(
        person=person,
        action=action,
        erased=erased,
        before=before,
        after=after,
        cats_lost=sorted(lost),
        cats_won=sorted(cats_now - cats),
        released_in=dict(sorted(released_in.items())),
        theirs=[] if action == "readmit" else list(held),
        deleted=deleted,
    )


def changed(before: Fields, after: Fields) -> Fields:
    """The counts that changed, each as it was and as it is; None if it cannot be computed now."""
    return {k: [n, after.get(k)] for k, n in before.items() if n != after.get(k)}


def _foresee(
    campaign: Campaign, person: str, items: set[str], cats: set[str], versions: list[str]
) -> Foreseen:
    met = campaign.people
    labels = campaign.labels
    on_theirs, by_them = labels["item"].isin(list(items)), labels["annotator"] == person
    return Foreseen(
        person=person,
        answers=next((each.answers for each in met if each.id == person), 0),
        items=len(items),
        labels=int((by_them & ~on_theirs).sum()),
        others=int((on_theirs & ~by_them).sum()),
        cats=len(cats & items),
        touched=len((cats - items) & set(labels.loc[by_them, "item"])),
        versions=versions,
    )


def _check_action(person: str, action: Action, state: str) -> None:
    """Check that an action fits somebody who is "", "excluded" or "withdrawn"."""
    if action == "erase":
        return  # also for people who withdrew, and again after it was stopped half-way
    if state == "withdrawn":
        raise CurationError(f"{person} withdrew", "a withdrawal cannot be taken back or repeated")
    if action == "readmit" and state != "excluded":
        raise CurationError(f"{person} is not excluded", "there is nothing to take back")
    if action == "exclude" and state == "excluded":
        raise CurationError(f"{person} is excluded already", "--undo lets the person in again")


def _delete_old(campaign: Campaign) -> None:
    """Delete results that could not be computed again, unless their step leaves them."""
    for step in STEPS:
        run = last_run(campaign, step)
        if run and not step.lasting and not current(campaign, step):
            delete_files(campaign, [step.folder(campaign) / name for name in run.outputs])


def _names(campaign: Campaign) -> Callable[[str], str]:
    """The function that gives the pseudonym of a name."""
    return people.pseudonyms(people.read_key(campaign.settings.campaign.id))


def _pseudonym(campaign: Campaign, who: str) -> str:
    """The pseudonym of a person who is named by it, or by their id or name on the platform.

    Raises:
        CurationError: nobody here has answered under that name, or several people have.
    """
    name, standing = _names(campaign), campaign.standing
    known = {person.id for person in campaign.people}
    known |= {line.person for line in standing}
    known |= set(campaign.labels["annotator"].unique())  # published pseudonyms, too
    if who in known:
        return who
    meant = {each for each in (name(who), name(who.lower())) if each in known}
    meant |= {open_platform(campaign, round).named(who) for round in campaign.rounds}
    meant |= {line.person for line in standing if line.called == name(who)}
    meant -= {""}
    if len(meant) == 1:
        return meant.pop()
    if meant:
        raise CurationError(
            f"{who!r} is the name of several people: {', '.join(sorted(meant))}",
            "give the pseudonym of the one that you mean; repeat this if you mean each",
        )
    raise CurationError(
        f"nobody here has answered under the name {who!r}",
        "«curation decisions agreement --by annotator» and people.jsonl list the pseudonyms; "
        "2-rounds/links-N.csv has the names and links of people on our own pages",
    )


def count_all(campaign: Campaign) -> Fields:
    """The campaign's counts that are compared before and after a decision."""
    runs = {step.name: last_run(campaign, step) for step in STEPS}
    fold, decided = runs["answers"], runs["filter"]
    counts: Fields = {
        "items": fold.counts["items"] if fold else 0,
        "labels": fold.counts["labels"] if fold else 0,
        "CATs": decided.counts["items_kept"] if decided else 0,
        "items_without_enough_labels": decided.counts.get("too_few_labels", 0) if decided else 0,
    }
    path = campaign.folder("decisions") / "agreement.json"
    if runs["agreement"] and path.exists():  # it may have been deleted after an erasure
        report: Agreement = read_json(path)
        for row in report["measures"]:
            if row["by"] == "overall" and row["measure"] == "alpha":
                counts[f"alpha, {row['scope']}, {row['classes']}"] = row["value"]
    return counts


def cats_of(campaign: Campaign) -> set[str]:
    """The ids of the items that are CATs."""
    return {decision.item for decision in campaign.decisions if decision.kept}


def _items_of(campaign: Campaign, person: str) -> set[str]:
    """The ids of a person's items, as far as the campaign still knows them."""
    items = {
        item.id for item in (*campaign.items, *campaign.neutral_items) if item.writer == person
    }
    for round in (each.name for each in campaign.rounds):
        tasks = campaign.tasks[round]
        items |= {task.item for task in tasks if task.item and task.barred == person}
    return items


def _held_before(
    campaign: Campaign, person: str, items: set[str], decisions: Sequence[Standing]
) -> dict[str, str]:
    """The built versions that hold items or labels of a person, each with its fingerprint.

    A campaign does not know the items of somebody who is out already. So each decision keeps the
    versions, for the decisions after it.
    """
    held = versions.holding(campaign, items, person)
    found = {version: versions.fingerprint(campaign, version) for version in held}
    earlier = {
        version: sha
        for line in decisions
        if line.person == person
        for version, sha in line.released.items()
    }
    built = {
        name: versions.fingerprint(campaign, name) for name in versions.version_names(campaign)
    }
    same = {version: sha for version, sha in earlier.items() if built.get(version) == sha}
    return dict(sorted((same | found).items()))
