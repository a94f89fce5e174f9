"""``curation board score``: every submission ends with a score, a place in the queue, or a reason.

All is settled in memory first. Then a plan is written to the owner's folder: the new lines of the
log, and those of the ledger of values about hidden gold labels. The ledger is written first, then
the log. A command that is killed before its plan is there has changed nothing. One that is killed
later is completed by the next one, with the same lines. So nothing is lost or counted twice.
"""

import re
import shlex
from collections.abc import Iterable
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from curation.campaign import Campaign
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, dump_line, printable, read_bytes, sweep, writing
from curation.pages.board import log
from curation.pages.board import submission as files
from curation.pages.board.submission import REASONS, Submission, SubmissionError
from curation.pages.board.values import of_results, values
from curation.records import Fields, Record
from curation.release.hidden import numbers
from curation.scores.boards import comparisons
from curation.scores.run_folder import COMPARISONS, SCORES
from curation.scores.runs import Run, folder_name, found_runs
from curation.stats.metrics import results
from curation.steps.board.folder import Board, keep_head, owner_folder
from curation.steps.release.history import LEDGER, History, gold_file
from curation.steps.step import QUIET, Reporter
from curation.text.wording import amount

PLAN, RUNS, ROWS = "plan.json", "scores", "rows"
_ROTATE = "close the test set and open the next with «curation board rotate»"
_EXACT = re.compile(r"[0-9a-f]{40}|sha256:.*")  # revisions that name weights, unlike tags


class Outcome(NamedTuple):
    """What became of a submission.

    Attributes:
        file: its name in ``submissions/``.
        model: its model; "" if the file could not be read.
        outcome: ``changed`` if it is no longer as it was when it came into the log.
        why: what is wrong, or what it waits for.
        fix: what to do; for a model that is not scored yet the command that scores it.
        place: its place in the queue, from 1; None if it does not wait.
        values: its row; None if it has none.
    """

    file: str
    model: str
    outcome: Literal["scored", "waits", "refused", "not_approved", "changed"]
    why: str = ""
    fix: str = ""
    place: int | None = None
    values: log.Values | None = None


class Plan(Record):
    """What is to be written: lines of the log after the line ``head``, and lines of the ledger."""

    head: log.Hash
    entries: tuple[log.Entry, ...]
    given: tuple[numbers.GivenOut, ...]


class _WaitsError(CurationError):
    """Why a submission waits, and what the owner can do."""


def score(
    board: Board, campaign: Campaign, *, today: date | None = None, reporter: Reporter = QUIET
) -> list[Outcome]:
    """Score what is new and approved, and what waited and has its turn. Call it under the lock.

    Args:
        board: the board.
        campaign: its owner's.
        today: the day of the new lines of the log; by default today in UTC.
        reporter: receives progress and warnings.

    Returns:
        What became of each submission that was new or waited, and of those that were changed since
        they came into the log.

    Raises:
        CurationError: the board is not of this campaign or is an older copy, no test set is open,
            or the log, the gold file or the ledger is damaged. An error in a submission does not
            stop the others.
    """
    done = [_outcome(e) for e in finish_plan(board, campaign) if not isinstance(e, log.Waits)]
    work = _Work(board, campaign, today or datetime.now(UTC).date(), reporter)
    changed, queue = work.look()
    with reporter.tracked("submissions", len(queue)) as advance:
        for name in queue:
            done.append(work.settle(name))
            advance()
    if work.new:
        head = log.head(log.read_log(board.log)[1])
        plan = Plan(head=head, entries=tuple(work.new), given=tuple(work.given))
        _write(work.owner / PLAN, [dump_line(plan)])
        finish_plan(board, campaign)
    return done + changed


def finish_plan(board: Board, campaign: Campaign) -> tuple[log.Entry, ...]:
    """Write what a killed ``score`` was about to write. Call it under the campaign's lock.

    Returns:
        The lines that came into the log; none if there was no plan, or they were there already.

    Raises:
        CurationError: the log has not the head that was noted last.
    """
    owner, done = owner_folder(board, campaign), tuple[log.Entry, ...]()
    path = owner / PLAN
    sweep(board.log.parent, below=False)
    keep_head(board, owner)
    if path.exists():
        plan = Plan.model_validate_json(read_bytes(path))
        if log.head(log.read_log(board.log)[1]) == plan.head:
            ledger, done = History(campaign).ledger, plan.entries
            if new := [value for value in plan.given if value not in ledger]:
                _write(campaign.releases / LEDGER, map(dump_line, [*ledger, *new]))
            board.append(done)
            keep_head(board, owner)
        path.unlink()
    return done


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with writing(path, private=True) as file:
        file.writelines(lines)


def _outcome(entry: log.Entry, model: str = "") -> Outcome:
    """What a line of the log says, a score or a refusal."""
    if isinstance(entry, log.Scored):
        return Outcome(entry.file, entry.model, "scored", values=entry.values)
    assert isinstance(entry, log.Refused)
    return Outcome(entry.file, model, "refused", entry.detail, REASONS[entry.code]["fix"])


class _Work:
    """The submissions of one ``score``.

    Attributes:
        known: the last line of the log about each submission.
        rows: of the open test set, old and new ones, but for those that a recheck found to differ.
        shown: how many rows the open test set has.
        room: how many more rows the ledger allows; None if the release is gone.
        closed: why nothing is scored any more; "" as long as submissions are.
        new: the lines for the log.
        given: the lines for the ledger.
    """

    def __init__(self, board: Board, campaign: Campaign, day: date, reporter: Reporter) -> None:
        self.board, self.day, self.reporter = board, day, reporter
        self.owner, self.facts = owner_folder(board, campaign), board.open_set.facts
        self.version = version = self.facts.version
        self.gold, self.history = gold_file(campaign, version), History(campaign)
        self.cats, entries = read_cats(self.gold), board.entries()
        own = log.Waits | log.Refused | log.Scored
        self.known = {e.file: e for e in entries if isinstance(e, own)}
        agrees = {e.file: e.agrees for e in entries if isinstance(e, log.Rechecked)}
        rows = [e for e in entries if isinstance(e, log.Scored) and e.version == version]
        self.rows, self.shown = [row for row in rows if agrees.get(row.file, True)], len(rows)
        self.new, self.given = list[log.Entry](), list[numbers.GivenOut]()
        self.places, self.room, self.closed = 0, None, ""
        last = min(board.settings.rotates, board.settings.expires)
        if self.history.revealed(version):
            self.closed = f"the gold labels of {version} are revealed"
        elif day > last:
            self.closed = f"nothing is scored after {last}, as board.toml says"
        elif facts := next((p.facts for p in self.history.built if p.version == version), None):
            given, dev = self.history.given(self.history.hidden), numbers.dev_cats(facts)
            self.room = numbers.rows(version, self.history.hidden, given, dev=dev)

    def read(self, name: str) -> tuple[log.Hash, bytes | SubmissionError]:
        """The sha256 of a submission and its content; or zeros, and why it is not read."""
        try:
            data = files.read_file(self.board.submissions / name, f"submissions/{name}")
        except SubmissionError as error:
            return log.NONE, error
        return sha256(data).hexdigest(), data

    def look(self) -> tuple[list[Outcome], list[str]]:
        """The submissions that were changed, and those that are to be settled, in their order."""
        paths = sorted(self.board.submissions.iterdir())
        there = [printable(path.name) for path in paths if not path.name.startswith(".")]
        changed, queue = [], []
        for name, line in self.known.items():
            gone = name not in there and isinstance(line, log.Refused)
            if not gone and self.read(name)[0] != line.submission:
                why, fix = REASONS["changed"]["says"], REASONS["changed"]["fix"]
                changed.append(Outcome(name, getattr(line, "model", ""), "changed", why, fix))
                self.reporter.warn(f"submissions/{name}: {why}")
            elif isinstance(line, log.Waits):
                queue.append(name)
        queue += [name for name in there if name not in self.known]
        if self.closed and queue:
            self.reporter.warn(f"{self.closed}: submissions wait; {_ROTATE}")
        return changed, queue

    def settle(self, name: str) -> Outcome:
        """Decide what becomes of a submission, and note the lines for it."""
        (digest, data), model = self.read(name), ""
        about: Fields = {"date": self.day.isoformat(), "version": self.version, "file": name}
        about["submission"] = digest
        new: log.Entry
        try:
            if isinstance(data, SubmissionError):
                raise data
            sent = files.read_submission(data, f"submissions/{name}")
            model = sent.model
            if sent.by not in self.board.settings.submitters:
                why = REASONS["not_approved"]
                return Outcome(name, model, "not_approved", why["says"], why["fix"])
            ids = (
                ()
                if self.facts.hide == "all"
                else [a.id for c in self.cats for a in c.associations]
            )
            files.check(sent, self.board.settings, self.facts, frozenset(ids))
            kept = ("model", "revision", "profile", "rules", "by", "link", "how", "format")
            row = about | {key: getattr(sent, key) for key in kept}
            new = log.Scored(**row | (self.by_run(sent) if not ids else self.by_file(sent, digest)))
            self.rows.append(new)
            self.shown += 1
        except SubmissionError as error:
            new = log.Refused(**about, code=error.code, detail=error.what)
        except _WaitsError as error:
            self.places += 1
            if name not in self.known:
                self.new.append(log.Waits(**about))
            return Outcome(name, model, "waits", error.what, error.fix, self.places)
        self.new.append(new)
        return _outcome(new, model)

    def check_turn(self, sent: Submission, revision: str) -> None:
        """Check that a model has no row yet, and that submissions are still scored."""
        key = (sent.model, revision, sent.profile)
        for row in self.rows:
            if key == (row.model, row.revision, row.profile):
                raise SubmissionError("already_scored", f"the row is that of {row.file}")
        if self.closed:
            raise _WaitsError(self.closed, _ROTATE)

    def by_file(self, sent: Submission, digest: log.Hash) -> Fields:
        """The row of a submission with scores, if the budget has room for it."""
        self.check_turn(sent, sent.revision)
        most = min(n for n in (self.board.settings.rows, self.facts.rows) if n is not None)
        if self.shown >= most:
            raise _WaitsError(f"the {amount(most, 'row')} of the test set are used up", _ROTATE)
        shown = values(self.cats, sent.scores or {}, hide="labels")
        cell, cats = shown.overall, numbers.fingerprint(self.history.hidden[self.version])
        name = f"board {sent.board}: {sent.model} {sent.revision} ({sent.profile})"
        value = f"ss {cell.ss} {cell.ss_ci}, icat {cell.icat} {cell.icat_ci}"
        given = numbers.GivenOut(version=self.version, cats=cats, name=name, value=value)
        if given.content not in {each.content for each in self.history.ledger}:
            if self.room is not None and len(self.given) >= self.room:
                why = "no more values about these hidden labels may be given out"
                raise _WaitsError(f"{why}: {LEDGER} has those that were", _ROTATE)
            self.given.append(given)
        return {"scores": digest, "values": shown}

    def by_run(self, sent: Submission) -> Fields:
        """The row of a model that the owner has scored; a copy of its scores is kept.

        A tag counts as the revision that the owner's run has found for it.
        """
        folder = folder_name(sent.model)
        try:
            found = found_runs(self.owner / RUNS, model=folder, skipped=self.reporter.warn)
        except CurationError as error:
            raise _WaitsError(error.what, error.fix) from None
        for run in (run for run in found if _fits(run, sent)):
            lacks = sum(not run.has(cat) for cat in self.cats)
            if lacks and all(map(run.was_asked, self.cats)):
                what = f"{lacks:,} of {amount(len(self.cats), 'CAT')} have no score"
                raise SubmissionError("not_scorable", what)
            if not lacks:
                row = {"revision": str(run.about.get("revision") or sent.revision)}
                self.check_turn(sent, row["revision"])
                data = read_bytes(Path(run.where) / (COMPARISONS if run.by_choice else SCORES))
                row |= {"scores": sha256(data).hexdigest()}
                row |= {"format": str(run.about.get("dtype") or sent.format)}
                _write(self.owner / ROWS / f"{row['scores']}.jsonl", [data])
                table = results(comparisons(self.cats, run), model="")
                return row | {"values": of_results(table, hide="all")}
        self.check_turn(sent, sent.revision)
        raise _WaitsError("the model is not scored yet", self.command(sent))

    def command(self, sent: Submission) -> str:
        """The command that scores a model for its submission."""
        local = sent.revision.startswith("sha256:")
        name = "chat:" * ("choice" in sent.rules.values()) + ("FOLDER" if local else sent.model)
        model = [f"{sent.model}={name}"] if local else [name, f"--revision={sent.revision}"]
        where = ["--gold", str(self.gold), "--scores", str(self.owner / RUNS)]
        words = ["curation", "scores", "models", *model, "--profile", sent.profile, *where]
        return shlex.join(words)


def _fits(run: Run, sent: Submission) -> bool:
    """Whether a run is of the model and rules of a submission, and not of other weights."""
    known, named = str(run.about.get("revision") or ""), sent.revision
    same = known == named if known and _EXACT.fullmatch(named) else True
    own = run.model == sent.model and run.rules == sent.rules
    return same and own and not (run.variant or run.about.get("own_head"))
