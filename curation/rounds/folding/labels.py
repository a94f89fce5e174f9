"""Labels and flags from validators' answers."""

from collections.abc import Collection, Iterable

from curation.reasons import REASONS
from curation.records import Flag, Item, Task
from curation.rounds.answers.parsed import Given, Mark, unexpected
from curation.rounds.folding.gate import Gate, LabelRow
from curation.rounds.folding.items import Items, Known
from curation.text.item_form import filler
from curation.text.rules import same_text, stable_id


def fold_labels(
    given: Iterable[tuple[str, Given]], items: Items, gate: Gate
) -> tuple[list[LabelRow], list[Flag]]:
    """The labels and flags that are let in, in order of submission.

    An answer that is not let in is refused once. If only one label of an answer is unusable, only
    that label is refused.

    Args:
        given: pairs of round and labels, in order of submission.
        items: the items that labels can be about.
        gate: checks the people who gave the labels, and refuses answers and single labels.
    """
    labels: dict[str, LabelRow] = {}
    flags: list[Flag] = []
    stale: dict[tuple[str, str], frozenset[str]] = {}
    for round, answer in given:
        try:
            fresh, remarks, problems = _read(round, answer, items, gate, stale)
        except MemoryError:
            raise
        except Exception as error:  # a campaign goes on, whatever an answer holds
            gate.refuse(round, answer, "bad_value", unexpected(error))
            continue
        for problem in problems:
            gate.refuse(round, answer, *problem)
        counts = bool(remarks)
        flags += remarks
        for label in fresh:
            before = labels.setdefault(label.id, label)
            if before is label:
                counts = True
            else:
                same = (before.annotator, before.value) == (label.annotator, label.value)
                code = "duplicate_label" if same else "clashing_id"
                gate.refuse(round, answer, code, f"there is already a label {label.id}")
        if counts:
            who = answer.person if answer.source == "stereoset" else gate.name(answer.person)
            gate.admit(round, answer, who)
    return list(labels.values()), flags


def _read(
    round: str,
    answer: Given,
    items: Items,
    gate: Gate,
    stale: dict[tuple[str, str], frozenset[str]],
) -> tuple[list[LabelRow], list[Flag], list[tuple[str, str]]]:
    """The labels and flags of an answer, and the problems of those that are refused."""
    labels: list[LabelRow] = []
    published, task = answer.source == "stereoset", answer.task
    who = answer.person if published else gate.name(answer.person)
    problem = None if published else gate.stops(round, answer, who)
    known = items.known.get(answer.item)
    # Labels of a refused published item are not for another item that has the same id.
    if known is None or (published and (round, answer.place.position) in items.clashing):
        problem = problem or ("unknown_item", no_item(answer.item, items))
    if problem or known is None or who == known.item.writer:
        return [], [], [problem or ("own_item", f"the validator wrote item {answer.item}")]
    old: Collection[str] = ()
    if task is not None:
        if (round, task.id) not in stale:
            stale[round, task.id] = outdated(task, known.item)
        old = stale[round, task.id]
        seal = gate.seal(round, answer.id, answer.person)
    elif known.changed:
        old = {a for a, at in known.changed.items() if answer.version < at}
    problems: list[tuple[str, str]] = []
    names = known.names
    for mark in answer.marks:
        association = names.get(mark.association, "")
        if not association or old or mark.problem:
            association, problem = _association(mark, known, old)
            if problem:
                problems.append(problem)
                continue
        if published:
            id = answer.id
        elif task is None:
            id = stable_id("label", gate.seal(answer.id))
        else:
            id = stable_id("label", seal, association)
        label = LabelRow(
            id,
            answer.item,
            association,
            who,
            mark.value,  # type: ignore[arg-type]  # a mark without a value has a problem
            round,
            answer.place.submitted_at or None,
            answer.seconds,
            answer.source,
        )
        labels.append(label)
    if old:
        changed = f"item {answer.item} has changed"
        problems += [("text_changed", f"{changed}; {flag!r} was") for flag in answer.flags]
        return labels, [], problems
    flags = [Flag(item=answer.item, annotator=who, flag=f, round=round) for f in answer.flags]
    return labels, flags, problems


def _association(
    mark: Mark, known: Known, old: Collection[str]
) -> tuple[str, tuple[str, str] | None]:
    """The id of the association that a label is for, and why the label is refused, if it is."""
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
        return "", ("text_changed", f"item {item.id} was changed{when}")
    return association, None


def outdated(task: Task, item: Item) -> frozenset[str]:
    """Ids of the associations whose words are no longer those that a task showed."""
    words = {a.id: a.sentence for a in item.associations}
    context = task.context
    if context not in (None, item.context) and same_text(context) != same_text(item.context):
        return frozenset(words)
    changed = set()
    for shown in task.shown:
        sentence = words.get(shown.association, "")
        if shown.text == sentence:
            continue
        text = same_text(shown.text)
        if text != same_text(sentence) and text != filler(item.context, sentence):
            changed.add(shown.association)
    return frozenset(changed)


def no_item(id: str, items: Items) -> str:
    """That there is no item with this id, and why, if it was refused."""
    code = items.gone.get(id)
    return f"no item {id}: {code}, {REASONS[code]}" if code else f"no item {id}"
