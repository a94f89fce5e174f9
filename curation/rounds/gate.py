"""Which answers count: whose are let in, which version, and how they are written."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import orjson
from msgspec.structs import replace

from curation.kinds import Work
from curation.records import Correction, Rejection, Value
from curation.rounds.answers.archive import delivered_at
from curation.rounds.answers.parsed import Given, Reply, Written
from curation.rounds.answers.rows import masked, text_of, understood
from curation.text.rules import Caps
from curation.text.times import is_exact, moment, timestamp
from curation.text.wording import amount

CLOCKS = timedelta(minutes=5)
"""How far clocks may differ before a time is impossible."""

Near = Callable[[Sequence[str], str], int | None]
Consents = dict[str, dict[str, tuple[str, str]]]


class Rules(NamedTuple):
    """What lets answers in: what items may be about, how they must be written, and by whom.

    Attributes:
        domains: the campaign's domains.
        terms: ids of the campaign's terms by (domain, text); items on other terms are refused.
        name_target: a written context must name its target.
        blank_alone: a written BLANK must not touch a letter.
        near: gives the index of the first text that is nearly the same as a new one, or None.
        meta: gives the phrase which shows that a text is about the task, or None.
        standing: by pseudonym of people who are out, the reason code and the reason.
        consent: answers to tasks only count if their person has consented, in any round.
        write_seconds: the least seconds in which an item may be written; 0 is no limit.
        label_seconds: the least seconds in which labels may be given; 0 is no limit.
        caps: how many answers to tasks a person may give in a round, and on one term in it, by
            kind of work; work that is not in it has no limits.
        keep_deleted: count answers that were deleted on their platform.
        opened: by round, when it was opened, as a ``Timestamp``; a round that was not opened here
            is not in it.
        accept_times: the rounds whose answers may have any time.
        corrections: by item id, the texts that the team has changed, in order.
    """

    domains: Sequence[str]
    terms: Mapping[tuple[str, str], str]
    name_target: bool = True
    blank_alone: bool = True
    near: Near | None = None
    meta: Callable[[str], str | None] | None = None
    standing: Mapping[str, tuple[str, str]] = {}
    consent: bool = False
    write_seconds: float = 0
    label_seconds: float = 0
    caps: Mapping[Work, Caps] = {}
    keep_deleted: bool = False
    opened: Mapping[str, str] = {}
    accept_times: Collection[str] = ()
    corrections: Mapping[str, Sequence[Correction]] = {}


class Gate:
    """Lets answers in one after the other, and remembers those that it let in or refused.

    Attributes:
        rules: what lets answers in.
        name: gives the pseudonym of a person's id on the platform.
        consents: by person and version of the consent text, the first and the last time.
        counted: the answers that were let in, by their places in the archive.
        reasons: by the place of an answer that was refused, the first reason code.
        rejections: what was refused, by round.
    """

    def __init__(self, rules: Rules, pseudonym: Callable[[str], str]) -> None:
        self.rules = rules
        self.name = cache(pseudonym)
        self.consents: Consents = defaultdict(dict)
        self.counted: set[str] = set()
        self.reasons: dict[str, str] = {}
        self.rejections: dict[str, list[Rejection]] = defaultdict(list)
        self._pseudonym = pseudonym
        self._least: dict[Work, float] = {
            "write": rules.write_seconds,
            "label": rules.label_seconds,
        }
        self._answered: set[tuple[str, str, str]] = set()
        self._by_person: Counter[tuple[str, str]] = Counter()
        self._by_term: Counter[tuple[str, str, str]] = Counter()

    def seal(self, *parts: str) -> str:
        """A text from which ids are made, so that nobody can find them out by trying."""
        return self._pseudonym("\x1f".join(parts))

    def stops(self, round: str, answer: Reply, who: str) -> tuple[str, str] | None:
        """Why an answer is not let in: the first reason code that applies, and a sentence."""
        rules, task = self.rules, answer.task
        if who in rules.standing:
            code, reason = rules.standing[who]
            return code, f"{who}: {reason}"
        if task is not None:
            if rules.consent and who not in self.consents:
                return "no_consent", f"{who} has not consented"
            if who in task.writers:
                return "own_item", f"task {task.id} is about what {who} wrote"
            if (round, task.id, who) in self._answered:
                return "second_answer", f"{who} had answered task {task.id}"
        if round not in rules.accept_times and (problem := self._wrong_time(round, answer)):
            return "time_impossible", problem
        work = _work(answer)
        if least := self._least.get(work):
            seconds = seconds_taken(answer)
            if seconds is not None and seconds < least:
                return "too_fast", f"{seconds:g} seconds, and {least:g} are the least"
        if task is not None:
            cap, on_term = rules.caps.get(work, Caps())
            if cap and self._by_person[round, who] >= cap:
                given = amount(cap, "answer")
                return "over_person_cap", f"{who} had given {given} in round {round}"
            if on_term and self._by_term[round, who, task.term] >= on_term:
                given = amount(on_term, "answer")
                return "over_term_cap", f"{who} had given {given} on term {task.term}"
        return None

    def _wrong_time(self, round: str, answer: Reply) -> str | None:
        """What is wrong if an answer is dated before its round was opened, or after it came in.

        Clocks differ by some minutes. A time without a zone or a clock can be a day off.
        """
        came = delivered_at(answer.where.rpartition("/")[2].partition(" ")[0])
        latest = came and timestamp(came + CLOCKS)
        opened = self.rules.opened.get(round)
        earliest = opened and timestamp(moment(opened) - CLOCKS)
        for name, at in (
            ("submitted_at", answer.place.submitted_at),
            ("updated_at", answer.version),
        ):
            if not at or not ((latest and at > latest) or (earliest and at < earliest)):
                continue
            row = understood(answer.record) if isinstance(answer.record, dict) else {}
            day = timedelta() if is_exact(text_of(row, name)) else timedelta(days=1)
            if came and moment(at) > came + CLOCKS + day:
                return f"it is of {at}, and came in at {timestamp(came)}"
            if opened and moment(at) < moment(opened) - CLOCKS - day:
                return f"it is of {at}, and round {round} was opened at {opened}"
        return None

    def admit(self, round: str, answer: Reply, who: str) -> None:
        """Remember an answer that counts; refused answers count towards nothing."""
        self.counted.add(answer.where)
        task = answer.task
        if task is not None:
            self._answered.add((round, task.id, who))
            if self.rules.caps:
                self._by_person[round, who] += 1
                self._by_term[round, who, task.term] += 1

    def refuse(self, round: str, answer: Reply, code: str, detail: str) -> None:
        """Keep a rejection of an answer, or of a part of it."""
        record = self._shown(answer)
        refused = Rejection(code=code, detail=detail, where=answer.where, record=record)
        self.rejections[round].append(refused)
        self.reasons.setdefault(answer.where, code)

    def leave_out(self, correction: Correction, code: str, detail: str) -> None:
        """Keep a rejection of a correction, which changes nothing any more."""
        record = correction.model_dump(mode="json")
        where = f"correction of {correction.at}"
        refused = Rejection(code=code, detail=detail, where=where, record=record)
        self.rejections[correction.round].append(refused)

    def _shown(self, answer: Reply) -> dict[str, Any]:
        """What a rejection shows of an answer: its fields, if it has any that can be written."""
        record = orjson.loads(answer.record) if isinstance(answer.record, bytes) else answer.record
        if not isinstance(record, dict):
            return {}
        shown = record if answer.is_published else masked(record, self.name)
        try:
            orjson.dumps({"record": shown})
        except orjson.JSONEncodeError:  # it is nested too deeply
            return {}
        return shown


def _work(answer: Reply) -> Work:
    kind = type(answer)
    return "write" if kind is Written else "label" if kind is Given else "review"


def seconds_taken(answer: Reply) -> float | None:
    """The seconds that an answer took: the longest of its versions, as corrections may be quick."""
    if not isinstance(answer, Written | Given):
        return None
    if not answer.earlier:
        return answer.seconds
    known = [v.seconds for v in (*answer.earlier, answer) if v.seconds is not None]
    return max(known, default=None)


def newest(replies: Iterable[tuple[str, Reply]], gate: Gate) -> list[tuple[str, Reply]]:
    """The last version of each answer, in order of submission; earlier versions are superseded.

    The last version keeps the place of the first: it is a correction, not a second answer. If an
    answer to a task has ``updated_at`` and no ``submitted_at``, it is a later version of the
    person's answers to that task that have no time.

    Args:
        replies: pairs of round and version of an answer.
        gate: refuses each superseded version.
    """
    newest_of: dict[tuple[object, ...], tuple[str, Reply]] = {}
    several: dict[tuple[object, ...], list[Reply]] = defaultdict(list)
    pairs = list(replies)
    updated = {
        (round, answer.id, answer.person)
        for round, answer in pairs
        if answer.task is not None and answer.version and not answer.place.submitted_at
    }
    for pair in pairs:
        round, answer = pair
        # Without a time, or from somebody else, an answer with the same id is not a new version.
        timed = answer.version or (
            bool(updated)
            and answer.task is not None
            and (round, answer.id, answer.person) in updated
        )
        whose = answer.person if timed and answer.person else answer.place
        kind = Written if type(answer) is Written else Given
        key: tuple[object, ...] = (round, answer.id, whose, answer.task is None and kind)
        first = newest_of.setdefault(key, pair)
        if first is not pair:
            several[key].append(answer)
    more: list[tuple[str, Reply]] = []
    for key, versions in several.items():
        round, answer = newest_of.pop(key)
        more += [(round, last) for last in _last(round, [answer, *versions], gate)]
    return sorted((*newest_of.values(), *more), key=lambda pair: pair[1].place)


def _last(round: str, versions: list[Reply], gate: Gate) -> list[Reply]:
    """The last version, then the versions of a table that have exactly the same time."""
    ordered = sorted(versions, key=lambda answer: (answer.version, answer.place))
    last = ordered[-1]
    # An answer on a platform has one content at a time: one that came twice counts once.
    begin = (
        len(ordered) - 1
        if last.task is not None and last.version
        else next(n for n, answer in enumerate(ordered) if answer.version == last.version)
    )
    for answer in ordered[:begin]:
        gate.refuse(round, answer, "superseded", f"a later version came at {last.version}")
    current = ordered[begin]
    earlier = tuple(answer for answer in ordered[:begin] if type(answer) is type(current))
    first = min(answer.place for answer in versions)
    return [replace(current, place=first, earlier=earlier), *ordered[begin + 1 :]]


CHUNK = 10_000  # lines made at once


class LabelRow(msgspec.Struct, gc=False, frozen=True):
    """A ``records.Label``."""

    id: str
    item: str
    association: str
    annotator: str
    value: Value
    round: str
    submitted_at: str | None
    seconds: float | None
    source: str


class AnswerRow(msgspec.Struct, gc=False, frozen=True):
    """A ``records.Answer``."""

    task: str
    annotator: str
    submitted_at: str | None
    seconds: float | None
    code: str | None


def lines(rows: Iterable[LabelRow] | Iterable[AnswerRow]) -> Iterator[bytes]:
    """Rows as JSON lines, in chunks of many lines."""
    encode = msgspec.json.Encoder().encode_lines
    rest = iter(rows)
    while chunk := list(islice(rest, CHUNK)):
        yield encode(chunk)
