"""``curation board score``: every submission ends with a score, a place in the queue, or a reason.

All is settled in memory first. Then the ledger of values about hidden gold labels is written, and
then the log. A value that is in the ledger already costs nothing. So a command that was killed can
be run again: it writes the same lines, and nothing is lost or counted twice.
"""

import re
import shlex
from collections.abc import Iterable
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from curation.board.folder import Board, keep_head, owner_folder
from curation.board.log import (
    NONE,
    Entry,
    Refused,
    Scored,
    Values,
    Waits,
    of_results,
    read_day,
    rows_of,
    values,
)
from curation.board.submission import Submission, SubmissionError, problems, read_file
from curation.board.submitting import association_ids
from curation.campaign.store import Campaign
from curation.campaign.versions import (
    LEDGER,
    History,
    gold_file,
)
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, dump_line, read_bytes, sweep, writing
from curation.kinds import CAT_KINDS
from curation.models.rules import PROFILES, rules_of
from curation.records import Fields
from curation.released import numbers
from curation.scores.boards import comparisons
from curation.scores.run_folder import COMPARISONS, SCORES
from curation.scores.runs import Run, find_runs, folder_name
from curation.stats.metrics import results
from curation.text.wording import amount
from curation.work.reporter import QUIET, Reporter

RUNS, ROWS = "scores", "rows"
_ROTATE = "close the test set and open the next with «curation board rotate»"
_UNLOGGED = ("changed", "not_approved")
_EXACT = re.compile(r"[0-9a-f]{40}|sha256:.*")  # revisions that name weights, unlike tags


class Outcome(NamedTuple):
    """What became of a submission.

    Attributes:
        file: its name in ``submissions/``.
        model: its model; "" if the file could not be read.
        outcome: ``scored``, ``waits``, ``refused``, ``not_approved``, or ``changed`` if it is no
            longer as it was when it came into the log.
        why: what is wrong, or what it waits for.
        fix: what to do; for a model that is not scored yet the command that scores it.
        place: its place in the queue, from 1; None if it does not wait.
        values: its row; None if it has none.
    """

    file: str
    model: str
    outcome: str
    why: str = ""
    fix: str = ""
    place: int | None = None
    values: Values | None = None


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
            or the log, the test set, the gold file or the ledger is damaged. An error in a
            submission, or in the run of its model, does not stop the others.
    """
    owner = owner_folder(board, campaign)
    sweep(board.log.parent, below=False)
    keep_head(board, owner)
    work = _Work(board, campaign, today or read_day(), reporter)
    names = (path.name for path in board.submissions.iterdir() if not path.name.startswith("."))
    there = sorted(name if name.isprintable() else ascii(name) for name in names)
    queue = dict.fromkeys([*work.known, *there])
    with reporter.tracked("submissions", len(queue)) as advance:
        for name in queue:
            work.settle(name)
            advance()
    if work.given:  # before the log, so that no row is shown whose value the ledger lacks
        _write(
            campaign.folder("release") / LEDGER, map(dump_line, [*work.history.ledger, *work.given])
        )
    if work.new:
        board.append(work.new)
        keep_head(board, owner)
    return work.done


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with writing(path, private=True) as file:
        file.writelines(lines)


class _Work:
    """The submissions of one ``score``.

    Attributes:
        ids: of all associations; none if the test set is sealed.
        known: the last line of the log about each submission.
        rows: of the open test set, old and new ones, but for those that a recheck found to differ.
        shown: the files of all rows of the open test set, by the sha256 of the submission.
        ledger: the values that were given out.
        hidden: the CATs of the test set whose gold labels nobody knows.
        room: how many more rows the ledger allows.
        closed: why nothing is scored any more; "" as long as submissions are.
        done: what became of the submissions.
        new: the lines for the log.
        given: the lines for the ledger.
    """

    def __init__(self, board: Board, campaign: Campaign, day: date, reporter: Reporter) -> None:
        self.board, self.day, self.reporter = board, day, reporter
        self.owner, self.facts = owner_folder(board, campaign), board.open_set.facts
        self.gold, self.history = gold_file(campaign, self.facts.version), History(campaign)
        self.cats, self.ids = read_cats(self.gold), association_ids(board.open_set)
        version, entries = self.facts.version, board.entries()
        self.ledger = {value.content for value in self.history.ledger}
        self.hidden = self.history.hidden.get(version, ())
        self.known = {e.file: e for e in entries if isinstance(e, Waits | Refused | Scored)}
        rows = rows_of(entries, version)
        self.rows = [row for row, agrees in rows if agrees]
        self.shown = {row.submission: row.file for row, _ in rows}
        self.done, self.new, self.given = list[Outcome](), list[Entry](), list[numbers.GivenOut]()
        self.room, self.closed = self.facts.rows or 0, ""
        last = min(board.settings.rotates, board.settings.expires)
        if self.history.revealed(version):
            self.closed = f"the gold labels of {version} are revealed"
        elif day > last:
            self.closed = f"nothing is scored after {last}, as board.toml says"
        elif facts := next((p.facts for p in self.history.built if p.version == version), None):
            given, dev = self.history.given(self.history.hidden), numbers.dev_cats(facts)
            self.room = numbers.board_rows_left(version, self.history.hidden, given, dev=dev)

    def settle(self, file: str) -> None:
        """Decide what becomes of a submission, and note the lines for it."""
        line, where, sent = self.known.get(file), f"submissions/{file}", None
        about: Fields = {"date": str(self.day), "version": self.facts.version, "file": file}
        about["submission"] = NONE
        try:
            data = read_file(self.board.submissions / file, where)
            about["submission"] = sha256(data).hexdigest()
            if line and about["submission"] != line.submission:
                raise SubmissionError("changed", where)
            if isinstance(line, Refused | Scored):
                return
            sent, found = problems(data, where, self.board.settings, self.facts, self.ids)
            if sent and sent.by not in self.board.settings.submitters:
                raise SubmissionError("not_approved", where)
            if found or not sent:
                raise found[0]
            if twin := self.shown.get(about["submission"]):
                raise SubmissionError("already_scored", f"submissions/{twin}")
            row = self.by_file(sent) if self.ids else self.by_run(sent)
            fields = sent.model_dump(exclude={"board"}) | about
            new = Scored.model_validate(fields | {"scores": about["submission"]} | row)
            self.rows.append(new)
            self.shown[new.submission] = file
            self.new.append(new)
            end = Outcome(file, sent.model, "scored", values=new.values)
        except SubmissionError as error:
            gone = line and about["submission"] == NONE  # it cannot be read any more
            if gone and isinstance(line, Refused):
                return
            why = SubmissionError("changed", where) if gone else error
            outcome = why.code if why.code in _UNLOGGED else "refused"
            if outcome == "refused":
                self.new.append(Refused(**about, code=why.code, detail=why.what))
            end = Outcome(file, getattr(sent or line, "model", ""), outcome, why.what, why.fix)
        except CurationError as error:
            if about["submission"] == NONE:  # the file may not be read
                raise
            self.new += [] if line else [Waits(**about)]
            place = 1 + sum(each.outcome == "waits" for each in self.done)
            end = Outcome(file, sent.model if sent else "", "waits", error.what, error.fix, place)
        self.done.append(end)

    def check_turn(self, sent: Submission, revision: str) -> None:
        """Check that a model has no row yet, and that submissions are still scored."""
        key = (sent.model, revision, sent.profile)
        for row in self.rows:
            if key == (row.model, row.revision, row.profile):
                raise SubmissionError("already_scored", f"submissions/{row.file}")
        if self.closed:
            raise CurationError(self.closed, _ROTATE)

    def by_file(self, sent: Submission) -> Fields:
        """The row of a submission with scores, if the budget has room for it."""
        self.check_turn(sent, sent.revision)
        most = min(n for n in (self.board.settings.rows, self.facts.rows) if n is not None)
        if len(self.shown) >= most:
            raise CurationError(f"the {amount(most, 'row')} of the test set are used up", _ROTATE)
        shown = values(self.cats, sent.scores or {}, hide="labels")
        given = numbers.GivenOut(
            version=sent.version,
            cats=numbers.fingerprint(self.hidden),
            name=f"board {sent.board}: {sent.model} {sent.revision} ({sent.profile})",
            value=numbers.telling_values(shown.overall),
        )
        if given.content not in self.ledger:
            if len(self.given) >= self.room:
                why = "no more values about these hidden labels may be given out"
                raise CurationError(f"{why}: {LEDGER} has those that were", _ROTATE)
            self.given.append(given)
        return {"values": shown}

    def by_run(self, sent: Submission) -> Fields:
        """The row of a model that the owner has scored; a copy of its scores is kept.

        A tag counts as the revision that the owner's run has found for it. Each revision has a
        folder of its own, because a run does not say for which tag it was made.
        """
        root = self.owner / RUNS / folder_name(sent.revision)
        found = find_runs(root, model=folder_name(sent.model), skipped=self.reporter.warn)
        run = next((run for run in found if _fits(run, sent)), None)
        rules = {
            str(name): rules_of(of, CAT_KINDS)
            for name, of in PROFILES.get(sent.profile, {}).items()
        }
        for each in [] if run else found:
            if rules.get(each.family, sent.rules) != sent.rules:
                where = f"the family of {sent.model} is {each.family}"
                raise SubmissionError("rules_differ", where)
        lacks = sum(not run.has(cat) for cat in self.cats) if run else 0
        if run and lacks and all(map(run.was_asked, self.cats)):
            raise SubmissionError("not_scorable", f"{lacks:,} of {amount(len(self.cats), 'CAT')}")
        if not run or lacks:
            self.check_turn(sent, sent.revision)
            raise CurationError("the model is not scored yet", self.command(sent, root))
        revision = str(run.about.get("revision") or sent.revision)
        self.check_turn(sent, revision)
        data = read_bytes(Path(run.where) / (COMPARISONS if run.by_choice else SCORES))
        scores, dtype = sha256(data).hexdigest(), str(run.about.get("dtype") or sent.format)
        _write(self.owner / ROWS / f"{scores}.jsonl", [data])
        shown = of_results(results(comparisons(self.cats, run), model=""), hide="all")
        return {"revision": revision, "format": dtype, "scores": scores, "values": shown}

    def command(self, sent: Submission, root: Path) -> str:
        """The command that scores a model for its submission."""
        local = sent.revision.startswith("sha256:")
        name = "chat:" * ("choice" in sent.rules.values()) + ("FOLDER" if local else sent.model)
        model = [f"{sent.model}={name}"] if local else [name, f"--revision={sent.revision}"]
        where = ["--profile", sent.profile, "--gold", str(self.gold), "--scores", str(root)]
        return shlex.join(["curation", "scores", "models", *model, *where])


def _fits(run: Run, sent: Submission) -> bool:
    """Whether a run has the model and rules of a submission, and no other weights."""
    known, named = str(run.about.get("revision") or ""), sent.revision
    same = known == named if known and _EXACT.fullmatch(named) else True
    own = run.model == sent.model and run.rules == sent.rules
    return same and own and not (run.variant or run.about.get("own_head"))
