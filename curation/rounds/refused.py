"""Which refused answers go back to people, and why the others do not."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.records import Answer, Task
from curation.text.rules import Caps

REPAIRABLE = (
    *("missing_field", "bad_value", "unknown_label", "empty_text"),
    *("blank_missing", "blank_twice", "blank_glued", "blank_left"),
    *("target_missing", "template_not_reproduced", "same_text_twice"),
    *("duplicate_item", "near_duplicate", "meta_text", "no_consent"),
)
"""Reason codes of answers that their person can correct. The others cannot be corrected by them:
it is not the answer that is wrong, it is not theirs, or it was not meant to be one."""

NO_ANSWER = frozenset(("skipped", "superseded"))
"""Reason codes of what is not an answer that was refused: no work, or an earlier version."""

Left = Counter[str]
"""Why refused answers do not go back, and how many: ``ACCEPTED``, ``UNNEEDED``, ``OTHER``."""
ACCEPTED = "accepted since"
UNNEEDED = "no longer needed"
OTHER = "not correctable"


class RefusedAnswer(NamedTuple):
    """A refused answer to a task, as it came.

    Attributes:
        task: the task's id.
        person: the pseudonym of the person who gave it.
        codes: the reason codes, the first one first; an answer of three labels can have three.
        details: the sentence of each code.
        row: its values by column.
        sent: when it was sent, as a ``Timestamp``; empty if that is not known.
        updated: when it was changed, as a ``Timestamp``; empty if that is not known.
        seconds: how long it took; None if that is not known.
        position: its position in the archive.
    """

    task: str
    person: str
    codes: tuple[str, ...]
    details: tuple[str, ...]
    row: Mapping[str, Any]
    sent: str
    updated: str
    seconds: float | None
    position: int


def to_correct(
    refused: Iterable[RefusedAnswer],
    tasks: Sequence[Task],
    answers: Sequence[Answer],
    *,
    complete: Collection[tuple[str, str]],
    needed: Mapping[str, int],
    caps: Caps,
    least: float,
    out: Collection[str],
) -> tuple[dict[str, list[RefusedAnswer]], Left]:
    """The answers that go back, by person; and how many do not, by why.

    If several answers of a person to a task were refused, the last one goes back. For each task, no
    more people are asked than it needs answers; those who answered first go first.

    Args:
        refused: the refused answers of a round.
        tasks: the round's tasks.
        answers: what became of each answer to them.
        complete: pairs of task and pseudonym for which nothing is missing in what was accepted.
        needed: by task id, how many answers are still needed and not on their way.
        caps: how many answers of a person count.
        least: the least seconds that an answer takes; 0 is no limit.
        out: pseudonyms of people whose answers do not count.

    Returns:
        People's answers in the order of the tasks, and the counts.
    """
    by_id = {task.id: task for task in tasks}
    admitted = {(answer.task, answer.annotator) for answer in answers if answer.code is None}
    given, on_term = Counter[str](), Counter[tuple[str, str]]()
    for task_id, person in admitted:
        given[person] += 1
        if task_id in by_id:
            on_term[person, by_id[task_id].term] += 1
    left: Left = Counter()
    last: dict[tuple[str, str], RefusedAnswer] = {}
    for answer in sorted(refused, key=lambda each: (each.sent, each.position)):
        if not NO_ANSWER.isdisjoint(answer.codes):
            continue
        pair = (answer.task, answer.person)
        task = by_id.get(answer.task)
        too_fast = answer.seconds is not None and answer.seconds < least
        can_correct = set(answer.codes) <= set(REPAIRABLE) and not too_fast
        if not can_correct or answer.person in out or task is None or task.barred == answer.person:
            left[OTHER] += 1
        elif pair in complete:
            left[ACCEPTED] += 1
        # If a part of an answer is accepted, a correction must be a version of that answer.
        elif pair not in admitted or _refused_labels(answer) < len(task.shown):
            last.pop(pair, None)
            last[pair] = answer
    room = dict(needed)
    chosen: dict[str, list[RefusedAnswer]] = {}
    for (task_id, person), answer in last.items():
        term = by_id[task_id].term
        is_new = (task_id, person) not in admitted
        full = (caps.person and given[person] >= caps.person) or (
            caps.term and on_term[person, term] >= caps.term
        )
        if room.get(task_id, 0) < 1:
            left[UNNEEDED] += 1
        elif is_new and full:
            left[OTHER] += 1
        else:
            room[task_id] -= 1
            given[person] += is_new
            on_term[person, term] += is_new
            chosen.setdefault(person, []).append(answer)
    order = {id: number for number, id in enumerate(by_id)}
    for theirs in chosen.values():
        theirs.sort(key=lambda answer: order[answer.task])
    return dict(sorted(chosen.items())), left


def _refused_labels(answer: RefusedAnswer) -> int:
    """How many labels of an answer were refused; a flag that cannot be read is ``bad_value``."""
    return sum(code != "bad_value" for code in answer.codes)
