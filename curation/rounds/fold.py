"""From raw answers to items, labels and reviews: a deterministic fold, run from scratch each time.

The result depends on what people answered and when, not on how the answers arrived. After a late
edit, a second delivery or a new answer, everything is computed again. Answers are taken in order
of (submitted_at, place in the archive); answers without a time keep the order of their file.

An answer is refused for the first of these reasons that applies:

1. it cannot be read, is for an unknown task, or was changed by somebody else; an earlier version
   of it then counts instead;
2. a later version superseded it, it was deleted on its platform, or it was skipped;
3. its person is excluded or withdrew, has not consented, wrote the item, or has answered the task
   before;
4. its time is impossible, it was too fast, or it exceeds the person's caps;
5. its content: an item's words, its likeness to earlier items, or a label's item. A single label
   that is unusable is refused alone.

Refused answers count towards nothing: no cap, no second answer, no likeness. Ids are permanent: a
correction does not change them. A label counts for the words that its annotator saw.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from heapq import merge
from typing import NamedTuple

from pydantic import ValidationError

from curation.records import Flag, InstructionChecks, Item, Person, Rejection, Review, Typing
from curation.rounds.answers.interpret import labels as published_labels
from curation.rounds.answers.parsed import (
    Checked,
    Consented,
    Deleted,
    Given,
    ParsedAnswer,
    Refused,
    Reply,
    Reviewed,
    Written,
    unexpected,
)
from curation.rounds.gate import AnswerRow, Gate, LabelRow, Rules, newest
from curation.rounds.items import fold_items, fold_labels, fold_neutral, is_neutral
from curation.text.rules import same_text, stable_id
from curation.work.engine import uncollected


class Folded(NamedTuple):
    """The result of a fold, in order of submission.

    ``items`` and ``labels`` also have those of neutral rounds, see ``fold_neutral``.
    ``answers``, ``typing``, ``checks`` and ``rejections`` are by round. An answer of several labels
    that is refused because of its person or item is one rejection; a single unusable label is a
    rejection of its own.
    """

    items: list[Item]
    labels: list[LabelRow]
    reviews: list[Review]
    flags: list[Flag]
    people: list[Person]
    rejections: dict[str, list[Rejection]]
    answers: dict[str, list[AnswerRow]]
    typing: dict[str, list[Typing]]
    checks: dict[str, list[InstructionChecks]]


def fold(
    parsed: Iterable[tuple[str, ParsedAnswer]], rules: Rules, pseudonym: Callable[[str], str] = str
) -> Folded:
    """Fold the answers of all rounds into items, labels, reviews and rejections.

    Args:
        parsed: pairs of round and parsed answer, in any order.
        rules: what lets answers in.
        pseudonym: gives the pseudonym of a person's id on the platform. It is not applied to
            published answers, whose ids are pseudonyms already.

    Returns:
        Every answer is in items, labels, flags, reviews or rejections. An answer that only says
        consent is in ``people`` alone, and an instruction check in ``checks``.
    """
    with uncollected():
        return _fold(parsed, Gate(rules, pseudonym))


def _fold(parsed: Iterable[tuple[str, ParsedAnswer]], gate: Gate) -> Folded:
    sorted_out = _sort_out(parsed, gate)
    written: list[tuple[str, Written]] = []
    given: list[tuple[str, Given]] = []
    reviewed: list[tuple[str, Reviewed]] = []
    last = newest(sorted_out.versions, gate)
    replies = [*sorted(sorted_out.loose, key=lambda pair: pair[1].place), *last]
    for round, answer in replies:
        gone = None if gate.rules.keep_deleted else sorted_out.deleted.get((round, answer.id))
        if isinstance(answer, Refused):
            gate.refuse(round, answer, answer.code, answer.detail)
        elif gone is not None and answer.version <= gone:
            gate.refuse(round, answer, "deleted", f"it was gone at {gone}")
        elif isinstance(answer, Given):
            given.append((round, answer))
        elif isinstance(answer, Written):
            written.append((round, answer))
        else:
            reviewed.append((round, answer))
    items = fold_items([pair for pair in written if not is_neutral(pair[1])], gate)
    fold_neutral([pair for pair in written if is_neutral(pair[1])], items, gate)
    published = (
        (round, label)
        for round, answer in written
        if answer.is_published
        for label in published_labels(answer)
    )
    for id, corrections in gate.rules.corrections.items():
        for correction in corrections if id not in items.known else ():
            gate.leave_out(correction, "unknown_item", f"there is no item {id} any more")
    every = merge(given, published, key=lambda pair: pair[1].place)
    labels, flags = fold_labels(every, items, gate)
    reviews = _reviews(reviewed, gate)
    answers, people, typing = _answered(replies, gate)
    return Folded(
        items=[known.item for known in items.known.values()],
        labels=labels,
        reviews=reviews,
        flags=flags,
        people=_people(people, gate),
        rejections=dict(gate.rejections),
        answers=answers,
        typing=typing,
        checks={
            round: [
                InstructionChecks(
                    annotator=who, shown=len(passed), failed=[*passed.values()].count(False)
                )
                for who, passed in sorted(people.items())
            ]
            for round, people in sorted_out.checks.items()
        },
    )


def _answered(
    replies: Iterable[tuple[str, Reply]], gate: Gate
) -> tuple[dict[str, list[AnswerRow]], dict[str, str], dict[str, list[Typing]]]:
    """The answers to tasks by round; by an answer's place in the archive, who gave it; and by
    round, how texts came about, also those of refused answers.
    """
    answers: dict[str, list[AnswerRow]] = defaultdict(list)
    people: dict[str, str] = {}
    typing: dict[str, list[Typing]] = defaultdict(list)
    for round, answer in replies:
        refused_code = answer.code if isinstance(answer, Refused) else ""
        seconds = None if isinstance(answer, Refused) else answer.seconds
        if answer.person is None or answer.is_published or refused_code == "edited_by_other":
            continue
        who = gate.name(answer.person)
        if refused_code != "skipped":
            people[answer.where] = who
        if answer.task is not None:
            at, reason = answer.place.submitted_at or None, gate.reasons.get(answer.where)
            code = None if answer.where in gate.counted else reason or "bad_value"
            answers[round].append(AnswerRow(answer.task.id, who, at, seconds, code))
            if isinstance(answer, Written) and (fields := answer.typing):
                row = {"task": answer.task.id, "annotator": who, "submitted_at": at}
                typing[round].append(Typing.model_validate(row | {"fields": fields}))
    return dict(answers), people, dict(typing)


class _SortedOut(NamedTuple):
    """Parsed answers by what they are; who consented is in the gate.

    Attributes:
        versions: versions of answers, with their rounds.
        loose: answers that cannot be versions of another, with their rounds.
        deleted: by (round, answer id), when an answer was last found deleted.
        checks: by round, pseudonym and id, whether an instruction check was passed.
    """

    versions: list[tuple[str, Reply]]
    loose: list[tuple[str, Reply]]
    deleted: dict[tuple[str, str], str]
    checks: dict[str, dict[str, dict[str, bool]]]


def _sort_out(parsed: Iterable[tuple[str, ParsedAnswer]], gate: Gate) -> _SortedOut:
    sorted_out = _SortedOut([], [], {}, defaultdict(lambda: defaultdict(dict)))
    for round, answer in parsed:
        if isinstance(answer, Consented):
            times = gate.consents[gate.name(answer.person)]
            first, last = times.get(answer.version, (answer.at, answer.at))
            times[answer.version] = (min(first, answer.at), max(last, answer.at))
        elif isinstance(answer, Checked):
            sorted_out.checks[round][gate.name(answer.person)][answer.id] = answer.passed
        elif isinstance(answer, Deleted):
            key = (round, answer.id)
            sorted_out.deleted[key] = max(sorted_out.deleted.get(key, ""), answer.at)
        elif not isinstance(answer, Refused):
            sorted_out.versions.append((round, answer))
        # People are kept from their own items by an empty answer in their name: not an answer.
        elif (
            answer.empty
            and answer.task
            and answer.person
            and gate.name(answer.person) in answer.task.writers
        ):
            continue
        else:
            (sorted_out.versions if answer.id else sorted_out.loose).append((round, answer))
    return sorted_out


def _reviews(reviewed: Iterable[tuple[str, Reviewed]], gate: Gate) -> list[Review]:
    reviews = []
    known = {(domain, same_text(text)): id for (domain, text), id in gate.rules.terms.items()}
    for round, answer in reviewed:
        who, task, into = gate.name(answer.person), answer.task, answer.into
        problem = gate.stops(round, answer, who)
        if answer.into_text:
            into = known.get((task.domain, same_text(answer.into_text)))
            into = None if into == task.term else into
        if problem is None and into is None and answer.must_name:
            problem = "bad_value", f"{answer.into_text!r} is not another term of {task.domain!r}"
        if problem:
            gate.refuse(round, answer, *problem)
            continue
        try:
            review = Review(
                id=stable_id("review", gate.seal(round, answer.id, answer.person)),
                term=answer.task.term,
                annotator=who,
                action=answer.action,
                into=into,
                name=answer.name,
                note=answer.note,
                round=round,
                submitted_at=answer.place.submitted_at or None,
            )
        except ValidationError as error:
            gate.refuse(round, answer, "bad_value", unexpected(error))
            continue
        for part in answer.problems:
            gate.refuse(round, answer, *part)
        reviews.append(review)
        gate.admit(round, answer, who)
    return reviews


def _people(answered: Mapping[str, str], gate: Gate) -> list[Person]:
    """Everybody who answered or consented, with the last version that they consented to."""
    answers = Counter(answered.values())
    refused = Counter(who for where, who in answered.items() if where not in gate.counted)
    people = []
    for who in sorted({*answers, *gate.consents}):
        times = gate.consents.get(who, {})
        version = max(times, key=lambda v: (times[v][1], v), default=None)
        people.append(
            Person(
                id=who,
                consent=version,
                consented_at=(times[version][0] or None) if version else None,
                answers=answers[who],
                refused=refused[who],
            )
        )
    return people
