"""Applies manual edits to a domain's candidates. No line of ``edits.csv`` stops a command."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from curation.records import Rejection
from curation.terms.candidates import Candidate
from curation.terms.edits import Edit
from curation.terms.merging import end
from curation.terms.pool import Pool

Meant = tuple[Edit, Candidate, Candidate | None]
"""A line, the candidate that it is about, and the one that it is merged into."""


class Editor:
    """Applies edits to the candidates of a domain.

    Attributes:
        pool: the candidates.
        where: the path of the edits, for messages.
        edited: the edits that were applied, each with its candidate.
        rejections: the edits that were not applied, with the reason.
        notes: what users should check, although it was applied.
    """

    def __init__(self, pool: Pool, where: str) -> None:
        self.pool, self.where = pool, where
        self.edited: list[tuple[Edit, Candidate]] = []
        self.rejections: list[Rejection] = []
        self.notes: list[str] = []
        self._acted: dict[Candidate, tuple[Edit, Candidate | None]] = {}
        self._not_renamed: set[Candidate] = set()

    def edit(self, edits: Iterable[Edit]) -> None:
        """Apply manual edits: additions and renames first, then the edits that refer to them.

        A line that names an unknown term, or that contradicts another line or a term, is not
        applied: it becomes one of ``rejections``.
        """
        rank = {"add": 1, "keep": 1, "drop": 2, "rename": 3, "merge": 4, "": 5}
        edits = list(edits)

        def order(edit: Edit) -> int:
            # After an item is dropped by its id, its text refers to another candidate.
            by_id = edit.action == "drop" and re.fullmatch(r"[Qq]\d+", edit.term)
            return 0 if by_id else rank[edit.action]

        for _, group in groupby(sorted(edits, key=order), key=order):
            # Rows of one kind refer to the names before any of them, so names may be passed on.
            meant: list[Meant] = []
            for edit in group:
                candidate, goal = self._meant(edit), self._named(edit.into)
                if candidate is None or (edit.action == "merge" and goal is None):
                    missing = edit.term if candidate is None else edit.into
                    self._refuse(edit, "unknown_term", self._unknown(missing, edits))
                else:
                    meant.append((edit, candidate, goal))
            self._apply(meant)

    def _meant(self, edit: Edit) -> Candidate | None:
        """The candidate that a line is about; a term that it adds is made."""
        if edit.action not in ("add", "keep"):
            return self._named(edit.term)
        if (owner := self.pool.spellings.get(edit.term)) and edit.term != owner.text:
            # A second spelling is to be a term of its own.
            del self.pool.spellings[edit.term]
            owner.names = [name for name in owner.names if name != edit.term]
            texts = (c for c in self.pool.by_name[edit.term] if c.text == edit.term)
            return next(texts, None) or self.pool.new(edit.term, "edits")
        if edit.action == "add":
            return self.pool.find(edit.term) or self.pool.new(edit.term, "edits")
        return self.pool.find(edit.term)

    def _named(self, name: str) -> Candidate | None:
        """The candidate that a line names: for a second spelling, the term that it belongs to."""
        return self.pool.spellings.get(name) or self.pool.find(name)

    def _apply(self, meant: Sequence[Meant]) -> None:
        """Apply lines of one kind, without those that contradict other lines or terms."""
        fitting: list[Meant] = []
        for edit, candidate, goal in meant:
            before = self._acted.get(candidate)
            if edit.action and before and self._contradicts(edit, goal, *before):
                first = before[0]
                self._refuse(
                    edit,
                    "edit_conflict",
                    f"{edit.action} for {edit.term!r}, but line {first.line} has {_said(first)} "
                    "for it; delete one of the lines",
                )
                continue
            if edit.action and (before is None or before[0].action != edit.action):
                self._acted[candidate] = (edit, goal)
            fitting.append((edit, candidate, goal))
        fitting = self._without_taken_names(fitting)
        for edit, candidate, goal in fitting:
            if problem := self._problem(edit, candidate, goal):
                self._forget(edit)
                self._refuse(edit, "edit_conflict", problem)
            else:
                self._act(edit, candidate, goal)
        renamed = [(edit, candidate) for edit, candidate, _ in fitting if edit.action == "rename"]
        for edit, candidate in renamed:  # when all have ids, which are made of their texts before
            self._rename(edit, candidate)
        for edit, candidate in renamed:
            self._make_one(edit, candidate)

    def _forget(self, edit: Edit) -> None:
        """Forget a line that is not applied: it contradicts no other line."""
        self._acted = {c: pair for c, pair in self._acted.items() if pair[0] is not edit}

    def _contradicts(
        self, edit: Edit, goal: Candidate | None, before: Edit, goal_before: Candidate | None
    ) -> bool:
        """Whether a line says something else on a candidate than an earlier one."""
        if before.action == "rename" and edit.action == "merge" and edit.term == before.into:
            return False  # the renamed term is merged under its new name
        if "merge" in (edit.action, before.action):
            return edit.action != before.action or goal is not goal_before
        return (_action(edit), edit.into) != (_action(before), before.into)

    def _problem(self, edit: Edit, candidate: Candidate, goal: Candidate | None) -> str:
        """Why a line cannot be applied, and what to do; empty if it can."""
        if edit.action in ("add", "keep") and candidate.reason == "no_label":
            return (
                f"{edit.term!r} has no label in the language; use the action rename, and write its "
                "name into «into»"
            )
        if edit.action != "merge" or goal is None:
            return ""
        if end(goal) is candidate:
            return (
                f"merging {edit.term!r} into {edit.into!r} makes a circle: {edit.into!r} is "
                f"already merged into {edit.term!r}, directly or through other terms; delete this "
                "line, or another line of the circle"
            )
        if end(goal).status == "dropped" and end(goal).reason == "edited":
            return (
                f"merges into {edit.into!r}, which another line drops; merge into a term that is "
                "kept"
            )
        if goal.reason == "no_label":
            return (
                f"merges into {edit.into!r}, which has no label in the language; rename that item "
                "in a line of its own"
            )
        return ""

    def _without_taken_names(self, meant: list[Meant]) -> list[Meant]:
        """Refuse renames to a text that people gave to another term; the upper line comes first."""
        while True:
            moving = {candidate: edit for edit, candidate, _ in meant if edit.action == "rename"}
            named = defaultdict(list)
            for candidate, edit in moving.items():
                named[edit.into].append(candidate)
            taken = next(
                (
                    (edit, other)
                    for candidate, edit in sorted(moving.items(), key=lambda pair: -pair[1].line)
                    for other in (*named[edit.into], *self.pool.by_name[edit.into])
                    if other is not candidate and self._holds(other, edit, candidate, moving)
                ),
                None,
            )
            if taken is None:
                return meant
            edit, other = taken
            self._forget(edit)
            self._not_renamed |= {c for each, c, _ in meant if each is edit}
            also = f" (line {moving[other].line})" if other in moving else ""
            self._refuse(
                edit,
                "edit_conflict",
                f"renames {edit.term!r} to {edit.into!r}, which is another term already{also}; "
                "choose another name, or use the action merge",
            )
            meant = [each for each in meant if each[0] is not edit]

    def _holds(
        self, other: Candidate, edit: Edit, candidate: Candidate, moving: Mapping[Candidate, Edit]
    ) -> bool:
        """Whether another candidate has the text to which a line renames a candidate."""
        if self._same_thing(other, candidate):
            return False
        if other in moving:
            return moving[other].into == edit.into and moving[other].line < edit.line
        named = other.fixed or other in self._not_renamed
        return other.alive and named and other.text == edit.into

    def _same_thing(self, one: Candidate, other: Candidate) -> bool:
        """Whether two candidates are names of one Wikidata item."""
        items = [{c.item, *self.pool.met_items.get(c, ())} - {""} for c in (one, other)]
        return not items[0].isdisjoint(items[1])

    def _make_one(self, edit: Edit, candidate: Candidate) -> None:
        """Make one term of a renamed candidate and the others that have its new text."""
        for other in list(self.pool.by_name[edit.into]):
            if other is candidate or not (other.alive and candidate.alive):
                continue
            if other.text != edit.into:
                continue
            if not other.fixed:
                other.join(candidate, "same_label")
                if not self._same_thing(other, candidate):
                    self.notes.append(
                        f"{self.where} line {edit.line}: {edit.into!r} is also the text of "
                        f"{other.item or 'another candidate'}; both are one term now. If they are "
                        "different groups, choose another name"
                    )
                continue
            # The one that answers named first keeps its id.
            first = min(
                candidate, other, key=lambda c: self.pool.met_order.get(c, len(self.pool.met_order))
            )
            last = other if first is candidate else candidate
            last.join(first, "edited")
            last.fixed = True
            first.reason = "edited"
            first.names += [name for name in last.names if name != first.text]

    def _act(self, edit: Edit, candidate: Candidate, goal: Candidate | None) -> None:
        self.edited.append((edit, candidate))
        candidate.note = edit.note or candidate.note
        nameless = candidate.reason == "no_label"
        if edit.action == "merge" and goal is not None:
            self.pool.keep(end(goal), "edited")  # before variants of the merged term are gathered
        if edit.action:
            candidate.revive()
            self.pool.gather(candidate, edit.term)
        if edit.action in ("add", "keep"):
            self.pool.keep(candidate, "edited")
        elif edit.action == "drop":
            candidate.drop("edited", edit.note or "dropped")
            candidate.fixed = True
        elif edit.action == "rename":
            # Without a label, its text is only a placeholder.
            text = edit.into if nameless else candidate.text
            self.pool.keep(candidate, "edited")
            candidate.id = candidate.id or self.pool.fresh_id(candidate, text)
        elif goal is not None:
            self._merge(edit, candidate, goal, nameless=nameless)

    def _rename(self, edit: Edit, candidate: Candidate) -> None:
        if candidate.text != candidate.item:
            candidate.names.append(candidate.text)
        candidate.text = edit.into
        self.pool.by_name[edit.into].append(candidate)

    def _merge(self, edit: Edit, candidate: Candidate, goal: Candidate, *, nameless: bool) -> None:
        named = [] if nameless else [candidate.text]
        candidate.fixed = True
        candidate.merge(end(goal), "edited", edit.note or "merged")
        candidate.into = goal
        end(goal).names += [*named, *candidate.names]

    def _unknown(self, name: str, edits: Iterable[Edit]) -> str:
        """Why a name is unknown, and what to do."""
        problem = f"no term {name!r} in domain {self.pool.domain!r}"
        giving = next((e for e in edits if e.action == "rename" and e.into == name), None)
        if giving:
            return f"{problem}; line {giving.line} gives {giving.term!r} this name: write that name"
        return f"{problem}; copy the term from candidates.csv, or add it with the action «add»"

    def _refuse(self, edit: Edit, code: str, detail: str) -> None:
        self.rejections.append(
            Rejection(
                code=code,
                detail=detail,
                where=f"{self.where} line {edit.line}",
                record=edit._asdict(),
            )
        )

    def families(self) -> dict[str, str]:
        """The families from edits, by term id; the second of two for one term is not applied."""
        by_term: dict[str, Edit] = {}

        # A merged term passes its family on, but the family of the remaining term comes first.
        def order(pair: tuple[Edit, Candidate]) -> tuple[bool, int]:
            return pair[1].into is not None, pair[0].line

        for edit, candidate in sorted(self.edited, key=order):
            last = end(candidate)
            if not edit.family or not last.alive:
                continue
            before = by_term.setdefault(last.id, edit)
            if before.family != edit.family and last is candidate:
                self._refuse(
                    edit,
                    "edit_conflict",
                    f"family {edit.family!r} for {candidate.text!r}, but line {before.line} has "
                    f"{before.family!r}; delete one of the two families",
                )
        return {name: edit.family for name, edit in by_term.items()}


def _action(edit: Edit) -> str:
    """The action of a line; add and keep are the same."""
    return "keep" if edit.action == "add" else edit.action


def _said(edit: Edit) -> str:
    """A line's action with the term or name in «into»."""
    return f"{edit.action} into {edit.into!r}" if edit.into else edit.action
