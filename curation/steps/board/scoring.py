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
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from curation.campaign import Campaign
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, dump_line, printable, read_bytes, sweep, writing
from curation.pages.board.log import (
    NONE,
    Entry,
    Hash,
    Rechecked,
    Refused,
    Scored,
    Values,
    Waits,
    head,
    read_log,
)
from curation.pages.board.submission import (
    REASONS,
    Submission,
    SubmissionError,
    check,
    read_file,
    read_submission,
)
from curation.pages.board.values import of_results, values
from curation.records import Cat, Fields, Record
from curation.release.hidden import numbers
from curation.release.hidden.numbers import GivenOut, fingerprint
from curation.scores.boards import comparisons
from curation.scores.run_folder import COMPARISONS, SCORES
from curation.scores.runs import Run, folder_name, found_runs
from curation.stats.metrics import results
from curation.steps.board.folder import Board, owner_folder
from curation.steps.release.history import LEDGER, History, gold_file
from curation.steps.step import QUIET, Reporter
from curation.text.wording import amount

PLAN, HEAD, RUNS, ROWS = "plan.json", "head.txt", "scores", "rows"
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
    values: Values | None = None


class Plan(Record):
    """What is to be written: lines of the log after the line ``head``, and lines of the ledger."""

    head: Hash
    entries: tuple[Entry, ...]
    given: tuple[GivenOut, ...]


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
    done = finish_plan(board, campaign)
    work = _Work(board, campaign, today or datetime.now(UTC).date(), reporter)
    changed = work.look()
    with reporter.tracked("submissions", len(work.queue)) as advance:
        outcomes = []
        for name in work.queue:
            outcomes.append(work.settle(name))
            advance()
    if work.new:
        before = head(read_log(board.log)[1])
        plan = Plan(head=before, entries=tuple(work.new), given=tuple(work.given))
        _write(work.owner / PLAN, [dump_line(plan)])
        finish_plan(board, campaign)
    return [*(_outcome(e) for e in done if not isinstance(e, Waits)), *outcomes, *changed]


def finish_plan(board: Board, campaign: Campaign) -> tuple[Entry, ...]:
    """Write what a killed ``score`` was about to write. Call it under the campaign's lock.

    Returns:
        The lines that came into the log; none if there was no plan, or they were there already.
    """
    owner, done = owner_folder(board, campaign), tuple[Entry, ...]()
    path = owner / PLAN
    sweep(board.log.parent, below=False)
    _keep_head(board, owner)
    if path.exists():
        plan = Plan.model_validate_json(read_bytes(path))
        if head(read_log(board.log)[1]) == plan.head:
            ledger = History(campaign).ledger
            if new := [value for value in plan.given if value not in ledger]:
                _write(campaign.releases / LEDGER, map(dump_line, [*ledger, *new]))
            done = plan.entries
            board.append(done)
            _keep_head(board, owner)
        path.unlink()
    return done


def _keep_head(board: Board, owner: Path) -> None:
    """Note the head of the log, and check that the log still has the head that was noted.

    Without this, an older copy of the board's folder would be scored again, into another log.
    """
    path, lines = owner / HEAD, read_log(board.log)[1]
    known = read_bytes(path).decode() if path.exists() else NONE
    if known not in (NONE, *(head([line]) for line in lines)):
        raise CurationError(
            f"{board.log}: lacks lines that you have written: it is an older copy",
            "get the newest version of the board's folder, and run the command again",
        )
    if known != head(lines):
        _write(path, [head(lines).encode()])


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with writing(path, private=True) as file:
        file.writelines(lines)


def _outcome(entry: Entry, model: str = "") -> Outcome:
    """What a line of the log says, a score or a refusal."""
    if isinstance(entry, Scored):
        return Outcome(entry.file, entry.model, "scored", values=entry.values)
    assert isinstance(entry, Refused)
    return Outcome(entry.file, model, "refused", entry.detail, REASONS[entry.code]["fix"])


class _Work:
    """The submissions of one ``score``.

    Attributes:
        queue: the files that are to be settled, in their order: those that waited, then new ones.
        known: the last line of the log about each submission.
        agrees: what the last recheck of each row found.
        rows: of the open test set, old and new ones.
        new: the lines for the log.
        given: the lines for the ledger.
    """

    def __init__(self, board: Board, campaign: Campaign, day: date, reporter: Reporter) -> None:
        self.board, self.day, self.reporter = board, day, reporter
        self.owner = owner_folder(board, campaign)
        self.facts = board.open_set.facts
        self.gold = gold_file(campaign, self.facts.version)
        self.history = History(campaign)
        entries = board.entries()
        self.known = {e.file: e for e in entries if isinstance(e, Waits | Refused | Scored)}
        self.agrees = {e.file: e.agrees for e in entries if isinstance(e, Rechecked)}
        version = self.facts.version
        self.rows = [e for e in entries if isinstance(e, Scored) and e.version == version]
        self.queue: list[str] = []
        self.new: list[Entry] = []
        self.given: list[GivenOut] = []
        self.places = 0

    @cached_property
    def cats(self) -> list[Cat]:
        """The CATs of the open test set with their gold labels."""
        return read_cats(self.gold)

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of their associations."""
        return frozenset(a.id for cat in self.cats for a in cat.associations)

    @cached_property
    def closed(self) -> str:
        """Why nothing is scored any more; "" as long as submissions are."""
        last = min(self.board.settings.rotates, self.board.settings.expires)
        if self.history.revealed(self.facts.version):
            return f"the gold labels of {self.facts.version} are revealed"
        return f"nothing is scored after {last}, as board.toml says" if self.day > last else ""

    @cached_property
    def room(self) -> int | None:
        """How many more rows the values that were given out allow; None if the release is gone."""
        version, golds = self.facts.version, self.history.hidden
        facts = next((p.facts for p in self.history.built if p.version == version), None)
        if facts is None:
            return None
        given, dev = self.history.given(golds), numbers.dev_cats(facts)
        return numbers.rows(version, golds, given, dev=dev)

    def read(self, name: str) -> tuple[Hash, bytes | SubmissionError]:
        """The sha256 of a submission and its content; or zeros, and why it is not read."""
        try:
            data = read_file(self.board.submissions / name, f"submissions/{name}")
        except SubmissionError as error:
            return NONE, error
        return sha256(data).hexdigest(), data

    def look(self) -> list[Outcome]:
        """Fill the queue; returns the submissions that are not as they were, which have no turn."""
        there = []
        for path in sorted(self.board.submissions.iterdir()):
            if path.suffix == ".json":
                there.append(printable(path.name))
            elif not path.name.startswith("."):
                self.reporter.warn(f"submissions/{printable(path.name)}: left out: not NAME.json")
        changed = []
        for name, line in self.known.items():
            if name in there:
                same = self.read(name)[0] == line.submission
            else:
                same = isinstance(line, Refused)
            if not same:
                model = line.model if isinstance(line, Scored) else ""
                changed.append(Outcome(name, model, "changed", *_reason("changed")))
                self.reporter.warn(f"submissions/{name}: {REASONS['changed']['says']}")
            elif isinstance(line, Waits):
                self.queue.append(name)
        self.queue += [name for name in there if name not in self.known]
        if self.closed and self.queue:
            self.reporter.warn(f"{self.closed}: submissions wait; {_ROTATE}")
        return changed

    def settle(self, name: str) -> Outcome:
        """Decide what becomes of a submission, and note the lines for it."""
        digest, data = self.read(name)
        where, model = f"submissions/{name}", ""
        about: Fields = {"date": self.day.isoformat(), "version": self.facts.version}
        about |= {"file": name, "submission": digest}
        new: Entry
        try:
            if isinstance(data, SubmissionError):
                raise data
            submission = read_submission(data, where)
            model = submission.model
            if submission.by not in self.board.settings.submitters:
                return Outcome(name, model, "not_approved", *_reason("not_approved"))
            sealed = self.facts.hide == "all"
            check(submission, self.board.settings, self.facts, () if sealed else self.ids)
            row = self.by_run(submission) if sealed else self.by_file(submission, digest)
            kept = ("model", "profile", "rules", "by", "link", "how")
            new = Scored(
                **about, **{key: getattr(submission, key) for key in kept}, **row._asdict()
            )
            self.rows.append(new)
        except SubmissionError as error:
            new = Refused(**about, code=error.code, detail=error.what)
        except _WaitsError as error:
            self.places += 1
            if name not in self.known:
                self.new.append(Waits(**about))
            return Outcome(name, model, "waits", error.what, error.fix, self.places)
        self.new.append(new)
        return _outcome(new, model)

    def check_new(self, submission: Submission, revision: str) -> None:
        """Check that a model has no row yet; a row whose last recheck differs does not count."""
        key = (submission.model, revision, submission.profile)
        for row in self.rows:
            if key == (row.model, row.revision, row.profile) and self.agrees.get(row.file, True):
                raise SubmissionError("already_scored", f"the row is that of {row.file}")

    def check_open(self) -> None:
        """Check that submissions are still scored."""
        if self.closed:
            raise _WaitsError(self.closed, _ROTATE)

    def by_file(self, submission: Submission, digest: Hash) -> "_Row":
        """The row of a submission with scores, if the budget has room for it."""
        self.check_new(submission, submission.revision)
        self.check_open()
        most = min(n for n in (self.board.settings.rows, self.facts.rows) if n is not None)
        if len(self.rows) >= most:
            raise _WaitsError(f"the {amount(most, 'row')} of the test set are used up", _ROTATE)
        shown = values(self.cats, submission.scores or {}, hide="labels")
        cell, version = shown.overall, self.facts.version
        given = GivenOut(
            version=version,
            cats=fingerprint(self.history.hidden[version]),
            name=f"board {self.board.settings.id}: {submission.model} {submission.revision} "
            f"({submission.profile})",
            value=f"ss {cell.ss} {cell.ss_ci}, icat {cell.icat} {cell.icat_ci}",
        )
        if given.content not in {value.content for value in (*self.history.ledger, *self.given)}:
            if self.room is not None and len(self.given) >= self.room:
                why = "no more values about these hidden labels may be given out"
                raise _WaitsError(f"{why}: {LEDGER} has those that were", _ROTATE)
            self.given.append(given)
        return _Row(submission.revision, submission.format, digest, shown)

    def by_run(self, submission: Submission) -> "_Row":
        """The row of a model that the owner has scored; keeps a copy of its scores.

        A tag counts as the revision that the owner's run has found for it.
        """
        own = folder_name(submission.model)
        try:
            found = found_runs(self.owner / RUNS, model=own, skipped=self.reporter.warn)
        except CurationError as error:
            raise _WaitsError(error.what, error.fix) from None
        fit = [run for run in found if _fits(run, submission)]
        for run in fit:
            if all(map(run.has, self.cats)):
                revision = str(run.about.get("revision") or submission.revision)
                self.check_new(submission, revision)
                self.check_open()
                table = results(comparisons(self.cats, run), model="")
                precision = str(run.about.get("dtype") or submission.format)
                return _Row(revision, precision, self.keep(run), of_results(table, hide="all"))
            if all(map(run.was_asked, self.cats)):
                lacks = sum(not run.has(cat) for cat in self.cats)
                what = f"{lacks:,} of {amount(len(self.cats), 'CAT')} have no score"
                raise SubmissionError("not_scorable", what)
        self.check_open()
        raise _WaitsError("the model is not scored yet", self.command(submission))

    def keep(self, run: Run) -> Hash:
        """Keep a copy of a run's scores of these CATs; returns its sha256."""
        name, key = (COMPARISONS, "cat") if run.by_choice else (SCORES, "association")
        own = self.ids | {cat.id for cat in self.cats}
        lines = read_bytes(Path(run.where) / name).splitlines(keepends=True)
        data = b"".join(line for line in lines if orjson.loads(line)[key] in own)
        digest = sha256(data).hexdigest()
        if not (path := self.owner / ROWS / f"{digest}.jsonl").exists():
            _write(path, [data])
        return digest

    def command(self, submission: Submission) -> str:
        """The command that scores a model for its submission."""
        name, model = submission.model, submission.model
        how = [f"--revision={submission.revision}"]
        if submission.revision.startswith("sha256:"):
            model, how = "FOLDER", []
        model = f"chat:{model}" if "choice" in submission.rules.values() else model
        model = model if how else f"{name}={model}"
        where = ["--gold", str(self.gold), "--scores", str(self.owner / RUNS)]
        words = [model, *how, "--profile", submission.profile, *where]
        return shlex.join(["curation", "scores", "models", *words])


class _Row(NamedTuple):
    """What a row has besides what its submission says."""

    revision: str
    format: str
    scores: Hash
    values: Values


def _fits(run: Run, submission: Submission) -> bool:
    """Whether a run is of the model and rules of a submission, and not of other weights."""
    known, named = str(run.about.get("revision") or ""), submission.revision
    same = known == named if known and _EXACT.fullmatch(named) else True
    own_head = bool(run.about.get("own_head"))
    rules = run.rules == submission.rules
    return run.model == submission.model and rules and same and not run.variant and not own_head


def _reason(code: str) -> tuple[str, str]:
    return REASONS[code]["says"], REASONS[code]["fix"]
