"""Labels from what people said of items, and the flags beside them."""

from collections.abc import Callable, Collection, Iterable

from curation.reasons import REASONS
from curation.records import Flag, Item, Task
from curation.rounds.answers.parsed import Given, Mark
from curation.rounds.folding.gate import Gate
from curation.rounds.folding.items import Items, Known
from curation.rounds.folding.lines import LabelRow
from curation.rounds.folding.versions import Refuse
from curation.rules import filler, same_text, stable_id


def fold_labels(
    given: Iterable[tuple[str, Given]],
    items: Items,
    *,
    gate: Gate,
    name: Callable[[str], str],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> tuple[list[LabelRow], list[Flag]]:
    """The labels and flags that are let in, in order of submission.

    What stops an answer is refused once; an unusable label of an answer falls alone.

    Args:
        given: (round, labels), in order of submission.
        items: what they can be about.
        gate: what is asked of the people who gave them.
        name: from a person's id on the platform to the pseudonym.
        pseudonym: the same, for ids that nobody may find out by trying; remembers nothing.
        refuse: takes what is not let in.
    """
    labels: dict[str, LabelRow] = {}
    flags: list[Flag] = []
    stale: dict[tuple[str, str], frozenset[str]] = {}
    for round, what in given:
        published, task = what.source == "stereoset", what.task
        who = what.person if published else name(what.person)
        problem = None if published else gate.stops(round, what, who)
        known = items.known.get(what.item)
        # The labels of a published item that was refused are not for the one that has its id.
        if known is None or (published and (round, what.place.position) in items.clashing):
            problem = problem or ("unknown_item", _no_item(what.item, items))
        if problem or known is None or who == known.item.writer:
            code, detail = problem or ("own_item", f"the validator wrote item {what.item}")
            refuse(round, what, code, detail)
            continue
        old: Collection[str] = ()
        if task is not None:
            if (round, task.id) not in stale:
                stale[round, task.id] = _stale(task, known.item)
            old = stale[round, task.id]
            seal = pseudonym("\x1f".join((round, what.id, what.person)))
        elif known.changed:
            old = {a for a, at in known.changed.items() if what.version < at}
        counts, names = False, known.names
        for mark in what.marks:
            association = names.get(mark.association, "")
            if not association or old or mark.problem:
                association, problem = _association(mark, known, old)
                if problem:
                    refuse(round, what, *problem)
                    continue
            if published:
                id = what.id
            elif task is None:
                id = stable_id("label", pseudonym(what.id))
            else:
                id = stable_id("label", seal, association)
            label = LabelRow(
                id,
                what.item,
                association,
                who,
                mark.value,  # type: ignore[arg-type]  # a mark without one has a problem
                round,
                what.place.submitted_at or None,
                what.seconds,
                what.source,
            )
            before = labels.setdefault(id, label)
            if before is label:
                counts = True
            else:
                same = (before.annotator, before.value) == (label.annotator, label.value)
                code = "duplicate_label" if same else "clashing_id"
                refuse(round, what, code, f"label {id} stands already")
        for flag in what.flags:
            if old:
                refuse(round, what, "text_changed", f"item {what.item} has changed; {flag!r} was")
                continue
            counts = True
            flags.append(Flag(item=what.item, annotator=who, flag=flag, round=round))
        if counts:
            gate.let_in(round, what, who)
    return list(labels.values()), flags


def _association(
    mark: Mark, known: Known, old: Collection[str]
) -> tuple[str, tuple[str, str] | None]:
    """The association that a label is for, or why it is for none."""
    item, names = known.item, known.names
    association = names.get(mark.association) or names.get(same_text(mark.association), "")
    if mark.problem is not None:
        return association, mark.problem
    if not association:
        detail = f"item {item.id} has no association {mark.association!r}"
        return "", ("unknown_association", detail)
    if association in old:
        at = known.changed.get(association)
        when = f" at {at}" if at else ""
        return "", ("text_changed", f"the writer changed item {item.id}{when}")
    return association, None


def _stale(task: Task, item: Item) -> frozenset[str]:
    """The associations whose words are no longer those that a task showed."""
    words = {a.id: a.sentence for a in item.associations}
    context = task.context
    if context not in (None, item.context) and same_text(context) != same_text(item.context):
        return frozenset(words)
    found = set()
    for shown in task.shown:
        sentence = words.get(shown.association, "")
        if shown.text == sentence:
            continue
        text = same_text(shown.text)
        if text != same_text(sentence) and text != filler(item.context, sentence):
            found.add(shown.association)
    return frozenset(found)


def _no_item(id: str, items: Items) -> str:
    code = items.gone.get(id)
    return f"no item {id}: {code}, {REASONS[code]}" if code else f"no item {id}"
