"""From raw answers to items, labels and reviews: a deterministic fold, recomputed whole each time.

The result depends on what was said and when, not on how it arrived: a late edit, a second
delivery or an answer more is recomputation, not surgery. Answers are taken in order of
(submitted_at, place in the archive); what came without a time keeps the order of its file.

An answer falls for the first of these that applies:

1. it cannot be read, is for an unknown task, or was changed by somebody else; then an earlier
   version stands, as if this one had not been made;
2. a later version superseded it; it is gone from its platform (deleted); it was skipped;
3. its person is excluded or withdrew, has not consented, wrote the item, or had answered the task;
4. it was too fast, or is over the person's caps;
5. what it says: an item's words, its likeness to items before it; a label's item; last the single
   label, which falls alone.

What is refused counts towards nothing: no cap, no second answer, no likeness. Ids are permanent:
a correction changes none. A label counts for the words that its annotator had before them.
"""

import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

from curation.records import Flag, Item, Person, Rejection, Review
from curation.rounds.answers.parsed import (
    Consented,
    Deleted,
    Given,
    ParsedAnswer,
    Refused,
    Reply,
    Reviewed,
    Written,
)
from curation.rounds.answers.rows import masked
from curation.rounds.folding.gate import Gate, Rules
from curation.rounds.folding.items import Checks, Near, fold_items
from curation.rounds.folding.labels import fold_labels
from curation.rounds.folding.lines import AnswerRow, LabelRow, lines
from curation.rounds.folding.versions import Refuse, newest
from curation.rules import stable_id

__all__ = ["ALGORITHM", "AnswerRow", "Folded", "LabelRow", "fold", "lines"]

ALGORITHM = 6
NOBODY: Mapping[str, tuple[str, str]] = {}


class Folded(NamedTuple):
    """What the raw answers of all rounds amount to, in order of submission.

    ``answers`` and ``rejections`` are by round. An answer of several labels whose person or item
    is the reason is one rejection; a single unusable label is one of its own.
    """

    items: list[Item]
    labels: list[LabelRow]
    reviews: list[Review]
    flags: list[Flag]
    people: list[Person]
    rejections: dict[str, list[Rejection]]
    answers: dict[str, list[AnswerRow]]


def fold(
    said: Iterable[tuple[str, ParsedAnswer]],
    *,
    domains: Sequence[str],
    terms: Mapping[tuple[str, str], str],
    pseudonym: Callable[[str], str] = str,
    name_target: bool = True,
    blank_alone: bool = True,
    write_seconds: float = 0,
    label_seconds: float = 0,
    per_person: int = 0,
    per_term: int = 0,
    consent: bool = False,
    keep_deleted: bool = False,
    near: Near | None = None,
    meta: Callable[[str], str | None] | None = None,
    standing: Mapping[str, tuple[str, str]] = NOBODY,
) -> Folded:
    """Fold what was said in all rounds into items, labels, reviews and rejections.

    Args:
        said: (round, what an answer says), in any order.
        domains: the campaign's domains.
        terms: the campaign's terms: the id that a domain and a text name; items on others are
            refused.
        pseudonym: from a person's id on the platform to the one that the records show; applied to
            all but published answers, whose ids are pseudonyms already.
        name_target: a written context must name its target.
        blank_alone: a written BLANK must not touch a letter.
        write_seconds: an item written in less time is refused.
        label_seconds: an answer of labels given in less time is refused.
        per_person: answers to tasks that a person may give in a round; 0 is no limit.
        per_term: answers to tasks on one term that a person may give in a round.
        consent: answers to tasks count only of people who have consented, in any round.
        keep_deleted: count what was deleted on its platform.
        near: the index of the first text that is nearly a new one, or None.
        meta: the phrase that betrays that a text is about the task, or None.
        standing: who is out, by pseudonym: the reason code, and the reason.

    Returns:
        Every answer is in items, labels, flags, reviews or rejections, or only in ``people``:
        where it says consent alone.
    """
    with _uncollected():
        return _fold(
            said,
            Checks(domains, terms, name_target, blank_alone, near, meta),
            Rules(standing, consent, write_seconds, label_seconds, per_person, per_term),
            pseudonym,
            keep_deleted,
        )


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection: nothing in here refers to itself, and to look takes a fifth longer."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _fold(
    said: Iterable[tuple[str, ParsedAnswer]],
    checks: Checks,
    rules: Rules,
    pseudonym: Callable[[str], str],
    keep_deleted: bool,
) -> Folded:
    name = cache(pseudonym)
    rejections: dict[str, list[Rejection]] = defaultdict(list)
    reasons: dict[str, str] = {}  # the first, by the answer's place in the archive

    def refuse(round: str, what: ParsedAnswer, code: str, detail: str) -> None:
        if isinstance(what, Consented | Deleted):
            return
        record = what.record if what.source == "stereoset" else masked(what.record, name)
        refused = Rejection(code=code, detail=detail, where=what.where, record=record)
        rejections[round].append(refused)
        reasons.setdefault(what.where, code)

    sorted_out = _sort_out(said, name)
    written: list[tuple[str, Written]] = []
    given: list[tuple[str, Given]] = []
    reviewed: list[tuple[str, Reviewed]] = []
    last = newest(sorted_out.versions, refuse)
    every = [*sorted(sorted_out.loose, key=lambda pair: pair[1].place), *last]
    for round, what in every:
        gone = None if keep_deleted else sorted_out.deleted.get((round, what.id))
        if isinstance(what, Refused):
            refuse(round, what, what.code, what.detail)
        elif gone is not None and what.version <= gone:
            refuse(round, what, "deleted", f"it was gone at {gone}")
        elif isinstance(what, Given):
            given.append((round, what))
        elif isinstance(what, Written):
            written.append((round, what))
        else:
            reviewed.append((round, what))
    gate, seal = Gate(rules, sorted_out.consents), pseudonym
    items = fold_items(written, checks, gate=gate, name=name, pseudonym=seal, refuse=refuse)
    labels, flags = fold_labels(given, items, gate=gate, name=name, pseudonym=seal, refuse=refuse)
    reviews = _reviews(reviewed, gate, name, seal, refuse)
    answers: dict[str, list[AnswerRow]] = defaultdict(list)
    people: dict[str, str] = {}  # who answered, by the answer's place in the archive
    for round, what in every:
        said_code, seconds = "", None
        if isinstance(what, Refused):
            said_code = what.code
        else:
            seconds = what.seconds
        if what.person is None or what.source == "stereoset" or said_code == "edited_by_other":
            continue
        who = name(what.person)
        if said_code != "skipped":
            people[what.where] = who
        if what.task is not None:
            at = what.place.submitted_at or None
            code = None if what.where in gate.counted else reasons[what.where]
            answers[round].append(AnswerRow(what.task.id, who, at, seconds, code))
    return Folded(
        items=[known.item for known in items.known.values()],
        labels=labels,
        reviews=reviews,
        flags=flags,
        people=_people(people, gate.counted, sorted_out.consents),
        rejections=dict(rejections),
        answers=dict(answers),
    )


class _SortedOut(NamedTuple):
    """What was said: versions of answers, what is none, when an answer was gone, consents.

    ``consents`` has the first and the last time of each version of the text, by person.
    """

    versions: list[tuple[str, Reply]]
    loose: list[tuple[str, Reply]]
    deleted: dict[tuple[str, str], str]
    consents: dict[str, dict[str, tuple[str, str]]]


def _sort_out(said: Iterable[tuple[str, ParsedAnswer]], name: Callable[[str], str]) -> _SortedOut:
    found = _SortedOut([], [], {}, defaultdict(dict))
    for round, what in said:
        if isinstance(what, Consented):
            times = found.consents[name(what.person)]
            first, last = times.get(what.version, (what.at, what.at))
            times[what.version] = (min(first, what.at), max(last, what.at))
        elif isinstance(what, Deleted):
            key = (round, what.id)
            found.deleted[key] = max(found.deleted.get(key, ""), what.at)
        elif not isinstance(what, Refused):
            found.versions.append((round, what))
        # How a person is kept from a task: an answer of nothing, in the person's name.
        elif what.empty and what.task and what.person and what.task.barred == name(what.person):
            continue
        else:
            (found.versions if what.id else found.loose).append((round, what))
    return found


def _reviews(
    reviewed: Iterable[tuple[str, Reviewed]],
    gate: Gate,
    name: Callable[[str], str],
    pseudonym: Callable[[str], str],
    refuse: Refuse,
) -> list[Review]:
    found = []
    for round, what in reviewed:
        who = name(what.person)
        if problem := gate.stops(round, what, who):
            refuse(round, what, *problem)
            continue
        seal = pseudonym("\x1f".join((round, what.id, what.person)))
        found.append(
            Review(
                id=stable_id("review", seal),
                term=what.task.term,
                annotator=who,
                action=what.action,
                into=what.into,
                name=what.name,
                note=what.note,
                round=round,
                submitted_at=what.place.submitted_at or None,
            )
        )
        gate.let_in(round, what, who)
    return found


def _people(
    answered: Mapping[str, str],
    counted: Collection[str],
    consents: Mapping[str, Mapping[str, tuple[str, str]]],
) -> list[Person]:
    """Everybody who answered or consented, with the consent that they gave last."""
    answers = Counter(answered.values())
    refused = Counter(who for where, who in answered.items() if where not in counted)
    found = []
    for who in sorted({*answers, *consents}):
        times = consents.get(who, {})
        version = max(times, key=lambda v: (times[v][1], v), default=None)
        found.append(
            Person(
                id=who,
                consent=version,
                consented_at=(times[version][0] or None) if version else None,
                answers=answers[who],
                refused=refused[who],
            )
        )
    return found
