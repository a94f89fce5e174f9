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
4. it was too fast, or exceeds the person's caps;
5. its content: an item's words, its likeness to earlier items, or a label's item. A single label
   that is unusable is refused alone.

Refused answers count towards nothing: no cap, no second answer, no likeness. Ids are permanent: a
correction does not change them. A label counts for the words that its annotator saw.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from heapq import merge
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from curation.records import Flag, Item, Person, Rejection, Review
from curation.rounds.answers.interpret import labels as published_labels
from curation.rounds.answers.parsed import (
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
from curation.rounds.answers.rows import masked
from curation.rounds.folding.gate import AnswerRow, Gate, LabelRow, Refuse, Rules, lines, newest
from curation.rounds.folding.items import Checks, Near, fold_items
from curation.rounds.folding.labels import fold_labels
from curation.text.rules import Caps, Work, same_text, stable_id
from curation.work.engine import uncollected

__all__ = ["ALGORITHM", "AnswerRow", "Folded", "LabelRow", "fold", "lines"]

ALGORITHM = 9
NOBODY: Mapping[str, tuple[str, str]] = {}
NO_CAPS: Mapping[Work, Caps] = {}


class Folded(NamedTuple):
    """The result of a fold, in order of submission.

    ``answers`` and ``rejections`` are by round. An answer of several labels that is refused because
    of its person or item is one rejection; a single unusable label is a rejection of its own.
    """

    items: list[Item]
    labels: list[LabelRow]
    reviews: list[Review]
    flags: list[Flag]
    people: list[Person]
    rejections: dict[str, list[Rejection]]
    answers: dict[str, list[AnswerRow]]


def fold(
    parsed: Iterable[tuple[str, ParsedAnswer]],
    *,
    domains: Sequence[str],
    terms: Mapping[tuple[str, str], str],
    pseudonym: Callable[[str], str] = str,
    name_target: bool = True,
    blank_alone: bool = True,
    write_seconds: float = 0,
    label_seconds: float = 0,
    caps: Mapping[Work, Caps] = NO_CAPS,
    consent: bool = False,
    keep_deleted: bool = False,
    near: Near | None = None,
    meta: Callable[[str], str | None] | None = None,
    standing: Mapping[str, tuple[str, str]] = NOBODY,
) -> Folded:
    """Fold the answers of all rounds into items, labels, reviews and rejections.

    Args:
        parsed: pairs of round and parsed answer, in any order.
        domains: the campaign's domains.
        terms: ids of the campaign's terms by (domain, text); items on other terms are refused.
        pseudonym: gives the pseudonym of a person's id on the platform. It is not applied to
            published answers, whose ids are pseudonyms already.
        name_target: a written context must name its target.
        blank_alone: a written BLANK must not touch a letter.
        write_seconds: an item that was written faster is refused.
        label_seconds: labels that were given faster are refused.
        caps: how many answers to tasks a person may give in a round, and on one term in it, by
            kind of work; work that is not in it has no limits.
        consent: answers to tasks only count if their person has consented, in any round.
        keep_deleted: count answers that were deleted on their platform.
        near: gives the index of the first text that is nearly the same as a new one, or None.
        meta: gives the phrase which shows that a text is about the task, or None.
        standing: by pseudonym of people who are out, the reason code and the reason.

    Returns:
        Every answer is in items, labels, flags, reviews or rejections. An answer that only says
        consent is in ``people`` alone.
    """
    with uncollected():
        return _fold(
            parsed,
            Checks(domains, terms, name_target, blank_alone, near, meta),
            Rules(standing, consent, write_seconds, label_seconds, caps),
            pseudonym,
            keep_deleted,
        )


def _keepable(record: dict[str, Any]) -> dict[str, Any]:
    """A record, or nothing of it if it is nested too deeply to be written."""
    try:
        orjson.dumps({"record": record})
    except orjson.JSONEncodeError:
        return {}
    return record


def _fold(
    parsed: Iterable[tuple[str, ParsedAnswer]],
    checks: Checks,
    rules: Rules,
    pseudonym: Callable[[str], str],
    keep_deleted: bool,
) -> Folded:
    name = cache(pseudonym)
    rejections: dict[str, list[Rejection]] = defaultdict(list)
    reasons: dict[str, str] = {}  # the first reason, by the answer's place in the archive

    def refuse(round: str, answer: ParsedAnswer, code: str, detail: str) -> None:
        if isinstance(answer, Consented | Deleted):
            return
        refused = Rejection(
            code=code, detail=detail, where=answer.where, record=_keepable(_shown(answer, name))
        )
        rejections[round].append(refused)
        reasons.setdefault(answer.where, code)

    sorted_out = _sort_out(parsed, name)
    written: list[tuple[str, Written]] = []
    given: list[tuple[str, Given]] = []
    reviewed: list[tuple[str, Reviewed]] = []
    last = newest(sorted_out.versions, refuse)
    replies = [*sorted(sorted_out.loose, key=lambda pair: pair[1].place), *last]
    for round, answer in replies:
        gone = None if keep_deleted else sorted_out.deleted.get((round, answer.id))
        if isinstance(answer, Refused):
            refuse(round, answer, answer.code, answer.detail)
        elif gone is not None and answer.version <= gone:
            refuse(round, answer, "deleted", f"it was gone at {gone}")
        elif isinstance(answer, Given):
            given.append((round, answer))
        elif isinstance(answer, Written):
            written.append((round, answer))
        else:
            reviewed.append((round, answer))
    gate, seal = Gate(rules, sorted_out.consents), pseudonym
    items = fold_items(written, checks, gate=gate, name=name, pseudonym=seal, refuse=refuse)
    published = (
        (round, label)
        for round, answer in written
        if answer.source == "stereoset"
        for label in published_labels(answer)
    )
    every = merge(given, published, key=lambda pair: pair[1].place)
    labels, flags = fold_labels(every, items, gate=gate, name=name, pseudonym=seal, refuse=refuse)
    reviews = _reviews(reviewed, checks.terms, gate, name, seal, refuse)
    answers: dict[str, list[AnswerRow]] = defaultdict(list)
    people: dict[str, str] = {}  # who answered, by the answer's place in the archive
    for round, answer in replies:
        refused_code, seconds = "", None
        if isinstance(answer, Refused):
            refused_code = answer.code
        else:
            seconds = answer.seconds
        if (
            answer.person is None
            or answer.source == "stereoset"
            or refused_code == "edited_by_other"
        ):
            continue
        who = name(answer.person)
        if refused_code != "skipped":
            people[answer.where] = who
        if answer.task is not None:
            at = answer.place.submitted_at or None
            code = None if answer.where in gate.counted else reasons.get(answer.where, "bad_value")
            answers[round].append(AnswerRow(answer.task.id, who, at, seconds, code))
    return Folded(
        items=[known.item for known in items.known.values()],
        labels=labels,
        reviews=reviews,
        flags=flags,
        people=_people(people, gate.counted, sorted_out.consents),
        rejections=dict(rejections),
        answers=dict(answers),
    )


def _shown(answer: Reply, name: Callable[[str], str]) -> dict[str, Any]:
    """What a rejection shows of an answer: its fields, if it has fields."""
    record = orjson.loads(answer.record) if isinstance(answer.record, bytes) else answer.record
    if not isinstance(record, dict):
        return {}
    return record if answer.source == "stereoset" else masked(record, name)


class _SortedOut(NamedTuple):
    """Parsed answers by what they are.

    Attributes:
        versions: versions of answers, with their rounds.
        loose: answers that cannot be versions of another, with their rounds.
        deleted: by (round, answer id), when an answer was last found deleted.
        consents: by person and version of the consent text, the first and the last time.
    """

    versions: list[tuple[str, Reply]]
    loose: list[tuple[str, Reply]]
    deleted: dict[tuple[str, str], str]
    consents: dict[str, dict[str, tuple[str, str]]]


def _sort_out(parsed: Iterable[tuple[str, ParsedAnswer]], name: Callable[[str], str]) -> _SortedOut:
    sorted_out = _SortedOut([], [], {}, defaultdict(dict))
    for round, answer in parsed:
        if isinstance(answer, Consented):
            times = sorted_out.consents[name(answer.person)]
            first, last = times.get(answer.version, (answer.at, answer.at))
            times[answer.version] = (min(first, answer.at), max(last, answer.at))
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
            and answer.task.barred == name(answer.person)
        ):
            continue
        else:
            (sorted_out.versions if answer.id else sorted_out.loose).append((round, answer))
    return sorted_out


def _reviews(
    reviewed: Iterable[tuple[str, Reviewed]],
    terms: Mapping[tuple[str, str], str],
    gate: Gate,
    name: Callable[[str], str],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> list[Review]:
    reviews = []
    known = {(domain, same_text(text)): id for (domain, text), id in terms.items()}
    for round, answer in reviewed:
        who, task, into = name(answer.person), answer.task, answer.into
        problem = gate.stops(round, answer, who)
        if answer.into_text:
            into = known.get((task.domain, same_text(answer.into_text)))
            into = None if into == task.term else into
        if problem is None and into is None and answer.must_name:
            problem = "bad_value", f"{answer.into_text!r} is not another term of {task.domain!r}"
        if problem:
            refuse(round, answer, *problem)
            continue
        seal = pseudonym("\x1f".join((round, answer.id, answer.person)))
        try:
            review = Review(
                id=stable_id("review", seal),
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
            refuse(round, answer, "bad_value", unexpected(error))
            continue
        for part in answer.problems:
            refuse(round, answer, *part)
        reviews.append(review)
        gate.admit(round, answer, who)
    return reviews


def _people(
    answered: Mapping[str, str],
    counted: Collection[str],
    consents: Mapping[str, Mapping[str, tuple[str, str]]],
) -> list[Person]:
    """Everybody who answered or consented, with the last version that they consented to."""
    answers = Counter(answered.values())
    refused = Counter(who for where, who in answered.items() if where not in counted)
    people = []
    for who in sorted({*answers, *consents}):
        times = consents.get(who, {})
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
