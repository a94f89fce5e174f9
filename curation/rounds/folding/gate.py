"""Whose answers are let in: standing, consent, own items, second answers, too fast, caps.

The content of an answer is checked after that, in ``items`` and ``labels``.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from curation.rounds.answers.parsed import Given, Reply, Written
from curation.text.rules import Caps, Work
from curation.text.wording import amount


class Rules(NamedTuple):
    """The conditions that every answer must meet, apart from its content.

    Attributes:
        standing: by pseudonym of people who are out, the reason code and the reason.
        consent: whether answers to tasks need consent.
        write_seconds: the least seconds in which an item may be written; 0 is no limit.
        label_seconds: the least seconds in which labels may be given; 0 is no limit.
        caps: how many answers to tasks a person may give, by kind of work.
    """

    standing: Mapping[str, tuple[str, str]]
    consent: bool
    write_seconds: float
    label_seconds: float
    caps: Mapping[Work, Caps]


class Gate:
    """Lets answers in one after the other, and remembers those that it let in."""

    def __init__(self, rules: Rules, consented: Collection[str]) -> None:
        self.rules = rules
        self.consented = consented
        self.counted: set[str] = set()  # answers' places in the archive
        self.answered: set[tuple[str, str, str]] = set()
        self.by_person: Counter[tuple[str, str]] = Counter()
        self.by_term: Counter[tuple[str, str, str]] = Counter()

    def stops(self, round: str, answer: Reply, who: str) -> tuple[str, str] | None:
        """Why an answer is not let in: the first reason code that applies, and a sentence."""
        rules, task = self.rules, answer.task
        if who in rules.standing:
            code, reason = rules.standing[who]
            return code, f"{who}: {reason}"
        if task is not None:
            if rules.consent and who not in self.consented:
                return "no_consent", f"{who} has not consented"
            if task.barred == who:
                return "own_item", f"task {task.id} is about what {who} wrote"
            if (round, task.id, who) in self.answered:
                return "second_answer", f"{who} had answered task {task.id}"
        kind = type(answer)
        least = (
            rules.write_seconds
            if kind is Written
            else rules.label_seconds
            if kind is Given
            else 0.0
        )
        if least:
            seconds = seconds_taken(answer)
            if seconds is not None and seconds < least:
                return "too_fast", f"{seconds:g} seconds, and {least:g} are the least"
        if task is not None:
            cap, on_term = rules.caps.get(_work(answer), Caps())
            if cap and self.by_person[round, who] >= cap:
                given = amount(cap, "answer")
                return "over_person_cap", f"{who} had given {given} in round {round}"
            if on_term and self.by_term[round, who, task.term] >= on_term:
                given = amount(on_term, "answer")
                return "over_term_cap", f"{who} had given {given} on term {task.term}"
        return None

    def admit(self, round: str, answer: Reply, who: str) -> None:
        """Remember an answer that counts; refused answers count towards nothing."""
        self.counted.add(answer.where)
        task = answer.task
        if task is not None:
            self.answered.add((round, task.id, who))
            if self.rules.caps:
                self.by_person[round, who] += 1
                self.by_term[round, who, task.term] += 1


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
