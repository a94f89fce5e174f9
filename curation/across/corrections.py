"""Changes a text of an item: who and why, what it costs, and the request for new labels."""

from collections.abc import Callable
from typing import NamedTuple

from curation.across.people import cats_of, count_all, write_corrections
from curation.campaign.counted import votes_of
from curation.campaign.step import run_steps
from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.kinds import GOLD_COLUMNS, VALIDATION
from curation.pipeline import made_steps, recompute
from curation.records import Association, Correction, Fields, Item
from curation.release import versions
from curation.rounds import planning
from curation.rounds.answers import people
from curation.rounds.answers.parsed import LONGEST_TEXT
from curation.rounds.platforms.texts import read_words
from curation.rounds.running import open_round
from curation.rounds.status import read_status, write_asked
from curation.rounds.steps import answers, folded_answers, raw_is_here, refusals
from curation.text.item_form import read_blank
from curation.text.rules import stable_id
from curation.text.times import now
from curation.work.reporter import QUIET, Reporter

CONTEXT = "context"
FIELDS = (CONTEXT, *GOLD_COLUMNS)


class Planned(NamedTuple):
    """A correction before it is written, and what it will change.

    Attributes:
        correction: the correction.
        texts: the texts of the item that will change, each as it is and as it will be.
        labels: how many labels will no longer count.
        people: how many people gave them.
        is_cat: whether the item is a CAT now.
        refused: other items that are refused then, because they are too like it.
        neutral: ids of the items with a neutral association beside its old words, refused then.
        versions: built versions of the release that hold the item.
    """

    correction: Correction
    texts: list[tuple[str, str]]
    labels: int
    people: int
    is_cat: bool
    refused: list[str]
    neutral: list[str]
    versions: list[str]


class Corrected(NamedTuple):
    """A correction that was written.

    Attributes:
        planned: what it changed.
        before: the campaign's counts before, by name.
        after: the campaign's counts after; a count is missing if it can no longer be computed.
        asked: the open rounds of validation that now ask for labels of the new words.
    """

    planned: Planned
    before: Fields
    after: Fields
    asked: list[str]


def correct_item(
    campaign: Campaign,
    item: str,
    field: str,
    text: str,
    *,
    by: str,
    why: str,
    agree: Callable[[Planned], None] = lambda planned: None,
    reporter: Reporter = QUIET,
) -> Corrected:
    """Change a text of an item, compute all results again, and ask for labels of the new words.

    The raw answer stays as it is: the correction is a line of ``2-rounds/corrections.jsonl``, which
    is applied whenever items are computed. If the words change, labels that were given before no
    longer count (``text_changed``). An open round of validation that has the item gets a new task
    with the new words. Call this only under the campaign's lock.

    Args:
        campaign: the campaign.
        item: the item's id.
        field: ``context``, ``stereotype``, ``anti_stereotype``, ``unrelated``, or the id of an
            association.
        text: the new text. For an association of an intrasentence item, the words that fill the gap
            are enough; a new context is filled with the words that are there.
        by: who changes it. A pseudonym is kept.
        why: why; it is kept.
        agree: is called with what will change before anything is written; raises to stop it.
        reporter: where warnings and progress go.

    Raises:
        CurationError: there is no such item, its term is not kept any more, it has no such text,
            the item would be refused with the new one, or the raw answers or the key are not here.
    """
    if not raw_is_here(campaign):
        raise CurationError(
            f"{campaign.folder('rounds')}: the raw answers are not here, and items are computed "
            "from them",
            "correct the text on the machine that has them",
        )
    computed = made_steps(campaign)
    run_steps(campaign, answers, reporter=reporter)
    recompute(campaign, computed, reporter)
    planned = _plan(campaign, item, field, text, by.strip(), why.strip(), reporter)
    before = count_all(campaign)
    if planned.texts:
        agree(planned)
        lines = [*campaign.corrections, planned.correction]
        write_corrections(campaign, lines)
        run_steps(campaign, answers, reporter=reporter)
    asked = _ask_again(campaign, item, reporter)
    if not planned.texts and not asked:  # if a call was stopped half-way, the next one asks
        raise CurationError(f"item {item} has this text already", "nothing is to be changed")
    if failure := recompute(campaign, computed, reporter):
        reporter.warn(f"not all results could be computed again: {failure}; the old ones stay")
    return Corrected(planned, before, count_all(campaign), asked)


def _plan(
    campaign: Campaign, id: str, field: str, text: str, by: str, why: str, reporter: Reporter
) -> Planned:
    """The correction, checked, and what it will change. Nothing is written."""
    for name, given in (("by", by), ("why", why), ("text", text.strip())):
        if not given:
            raise CurationError(f"--{name} is empty", "say who changes what, and why")
    if len(text) > LONGEST_TEXT:
        raise CurationError(f"the text has more than {LONGEST_TEXT:,} characters", "shorten it")
    item = _item(campaign, id)
    association = _association(item, field)
    words = read_words(campaign, item.round)
    text = read_blank(" ".join(text.split()), words.blank)
    key = people.read_key(campaign.settings.campaign.id)
    correction = Correction(
        item=item.id,
        round=item.round,
        association=association.id if association else None,
        text=text,
        by=people.pseudonyms(key)(by),
        why=why,
        at=now(),
        writer=item.writer,
    )
    out = people.out(campaign.standing)
    folded, _ = folded_answers(campaign, out, reporter, more=[correction])
    new = next((each for each in folded.items if each.id == id), None)
    if new is None:
        before = refusals(campaign)
        refused = (r for r in folded.rejections[item.round] if (r.code, r.where) not in before)
        reason = next(refused)
        raise CurationError(
            f"with this text, item {id} would be refused ({reason.code}): {reason.detail}",
            "give a text that fits the item's others",
        )
    both = zip(_texts(item), _texts(new), strict=True)
    texts = [pair for pair in both if pair[0] != pair[1]]
    labels = campaign.labels
    labels = labels[labels["item"] == id]
    kept = {label.id for label in folded.labels if label.item == id}
    known = {each.id for each in folded.items}
    lost = labels[~labels["id"].isin(list(kept))]
    return Planned(
        correction,
        texts,
        len(lost),
        lost["annotator"].nunique(),
        id in cats_of(campaign),
        sorted({each.id for each in campaign.items} - known),
        sorted({each.id for each in campaign.neutral_items} - known),
        list(versions.holding(campaign, {id})),
    )


def _item(campaign: Campaign, id: str) -> Item:
    """The item, if it exists; one whose term is not kept any more does not."""
    for item in campaign.items:
        if item.id == id:
            return item
    kept = campaign.terms
    for name in (each.name for each in campaign.rounds):
        for task in campaign.tasks[name]:
            if task.item == id and task.term not in kept:
                raise CurationError(
                    f"item {id} is about {task.target!r}, which is not a term of the campaign",
                    "if you want the item, take back the line that drops the term in "
                    "1-terms/edits.csv, or put its domain back into campaign.toml",
                )
    raise CurationError(
        f"no item {id!r}",
        "2-rounds/ROUND/items.jsonl lists the items; rejected.jsonl there has what was refused, "
        "also because its term was dropped (unknown_target)",
    )


def _association(item: Item, field: str) -> Association | None:
    """The association that a field names; None for the context."""
    if field == CONTEXT:
        return None
    for each in item.associations:
        if field == each.id or (each.intent and GOLD_COLUMNS.get(field) == each.intent):
            return each
    known = any(each.intent for each in item.associations)
    names = FIELDS if known else (CONTEXT, *(each.id for each in item.associations))
    raise CurationError(
        f"item {item.id} has no text {field!r}", f"--field is one of {', '.join(names)}"
    )


def _texts(item: Item) -> list[str]:
    return [item.context, *(each.sentence for each in item.associations)]


def _ask_again(campaign: Campaign, id: str, reporter: Reporter) -> list[str]:
    """Put a changed item into the open rounds of validation that have it; gives their names."""
    items, names = campaign.items, list[str]()
    item = next(each for each in items if each.id == id)
    lacks = max(campaign.settings.decisions.of - sum(v) for v in votes_of(campaign, items)[id])
    for round in campaign.rounds:
        if round.kind != VALIDATION.name or round.state != "open" or lacks < 1:
            continue
        status = read_status(campaign, round)
        mine = [task.id for task in status.tasks if task.item == id]
        if not mine or not status.void.issuperset(mine):
            continue
        (task,) = planning.validation_tasks(
            [item],
            campaign.terms,
            round=stable_id(round.name, *_texts(item)),  # not the task with the old words
            wanted={id: lacks},
            full={id},
            seed=campaign.settings.campaign.seed,
            sealed=people.sealed(people.read_key(campaign.settings.campaign.id)),
        )
        asked = {**status.asked, task.id: task.wanted}
        write_asked(campaign, round.name, asked)
        planning.write_tasks(campaign, round.name, [*status.tasks, task])
        try:
            open_round(campaign, round.kind, name=round.name, reporter=reporter)
        except CurationError as error:
            reporter.warn(
                f"{round.name}: the server does not have the new words yet: {error.what}; to put "
                f"them there: curation rounds open {round.kind} --name {round.name}"
            )
        names.append(round.name)
    return names
