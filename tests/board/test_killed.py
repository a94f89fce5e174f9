"""``board score`` is killed again and again: nothing is lost or doubled, the log is the same."""

import os
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from curation.board import scoring
from curation.board.folder import Board
from curation.board.log import Refused, Scored, Waits, read_log, values
from curation.board.scoring import ROWS, score
from curation.campaign.settings import Hide
from curation.campaign.versions import History
from curation.files import read_records
from curation.released import numbers
from curation.released.numbers import GivenOut
from support.hosting import BOARD_ID, TODAY, Hosted, host, score_here, submission, submit
from support.strike import KilledError, strike

FIRST, LAST = 11, 26  # touches of the disk: after the lock is taken; the last of the shortest run
ENDS = Scored | Refused | Waits
EXPECTED = {
    # Of 200, every seventh is not approved: 28. Of the 172 others, every fifth lacks a score: 35.
    "labels": {"refused": 35, "scored": 80, "waits": 57},
    # Of 60, 8 are not approved, 12 others are refused, and every third model has a run.
    "all": {"refused": 12, "scored": 13, "waits": 28},
}


def in_a_fork(hosted: Hosted, before: Callable[[], None]) -> int:
    """Score in a process of its own; gives the signal that ended it, or 0."""
    with warnings.catch_warnings():  # Python 3.12 warns of forks beside threads
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            before()
            with hosted.campaign.lock():
                score(hosted.board, hosted.campaign, today=TODAY)
            code = 0
        finally:
            os._exit(code)
    return -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(hosted: Hosted, total: int) -> Iterator[Mapping[str, object]]:
    """Submissions: every fifth lacks a score, every seventh is not approved."""
    scores = hosted.scores()
    lacks = dict(list(scores.items())[1:])
    sealed = hosted.board.open_set.facts.hide == "all"
    for number in range(total):
        own = (lacks if number % 5 == 4 else scores) if not sealed else None
        about = {"by": "Eve Example"} if number % 7 == 6 else {}
        about |= {"revision": "§"} if sealed and number % 5 == 4 else {}
        yield submission(hosted, own, model=f"a/m{number}", **about)


def arrive(hosted: Hosted, some: Sequence[Mapping[str, object]]) -> None:
    """Submissions come in; on a sealed board, the owner has scored every third model."""
    for path in submit(hosted, *some):
        number = int(path.stem) - 1
        if hosted.board.open_set.facts.hide == "all" and number % 3 == 0:
            score_here(hosted, hosted.scores(), model=f"a/m{number}")


def owned(hosted: Hosted) -> dict[str, bytes]:
    """What must be the same: the log, the ledger, and the owner's copies of scores."""
    folder = hosted.campaign.folder("boards") / BOARD_ID
    paths = [hosted.board.log, hosted.campaign.folder("release") / "given-out.jsonl"]
    paths += sorted((folder / ROWS).glob("*"))
    return {path.name: path.read_bytes() for path in paths if path.exists()}


def check_whole(hosted: Hosted) -> int:
    """No row is shown whose value is not in the ledger, and no submission is there twice.

    Gives the number of values in the ledger whose row is not shown yet.
    """
    entries = read_log(hosted.board.log)[0]
    ledger = read_records(
        hosted.campaign.folder("release") / "given-out.jsonl", GivenOut, missing_ok=True
    )
    names = {value.name for value in ledger}
    assert len(names) == len(ledger)
    ends = [entry for entry in entries if isinstance(entry, Scored | Refused)]
    assert len({entry.file for entry in ends}) == len(ends)
    for row in entries:
        if isinstance(row, Scored) and row.values.kinds == {}:
            assert any(f" {row.model} " in name for name in names)
    return len(names) - sum(isinstance(each, Scored) for each in ends)


@pytest.mark.parametrize(("hide", "number", "kills"), [("labels", 200, 50), ("all", 60, 15)])
def test_killed_fifty_times_during_two_hundred_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hide: Hide, number: int, kills: int
) -> None:
    whole, killed = (
        host(tmp_path / name, hide=hide, cats=12, terms=3, rows=80) for name in ("whole", "killed")
    )
    row = values(whole.cats, whole.scores(), hide=hide)
    # All models have the same scores, so that their rows need not be computed again in each fork.
    monkeypatch.setattr(scoring, "values", lambda cats, scores, hide: row)
    monkeypatch.setattr(scoring, "results", lambda table, model: {})
    monkeypatch.setattr(scoring, "of_results", lambda result, hide: row)
    made = list(contents(whole, number))
    arrive(whole, made)
    assert in_a_fork(whole, lambda: None) == 0
    draw, size, between = Random(hide), number // kills, 0
    for start in range(0, number, size):
        arrive(killed, made[start : start + size])
        moment = strike(killed.campaign.root, killed.board.root, at=draw.randint(FIRST, LAST))
        assert in_a_fork(killed, moment) == signal.SIGKILL
        between += check_whole(killed) > 0
    assert between >= (5 if hide == "labels" else 0)  # killed after the ledger, before the log
    assert in_a_fork(killed, lambda: None) == 0
    assert check_whole(killed) == 0 or hide == "all"
    assert owned(killed) == owned(whole)
    last = {e.file: e.what for e in read_log(killed.board.log)[0] if isinstance(e, ENDS)}
    assert Counter(last.values()) == EXPECTED[hide]


def test_a_value_in_the_ledger_is_not_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = host(tmp_path, cats=12, terms=3)
    submit(hosted, submission(hosted, hosted.scores(1), model="a/m1"))

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Board, "append", killed)
        with pytest.raises(KilledError):
            score(hosted.board, hosted.campaign, today=TODAY)
    ledger = hosted.campaign.folder("release") / "given-out.jsonl"
    given = ledger.read_bytes()
    assert given.count(b"\n") == 1
    # No more values may be given out, and this one would come first.
    monkeypatch.setattr(numbers, "board_rows_left", lambda *_, dev: 0)
    sizes = [SimpleNamespace(split="dev", cats=1_000)]
    facts = SimpleNamespace(hidden=None, sizes=sizes)
    release = SimpleNamespace(version="0.1.0", cats=[], facts=facts)
    monkeypatch.setattr(History, "built", [release])
    (first,) = submit(hosted, submission(hosted, hosted.scores(2), model="a/m2"))
    first.rename(first.with_name("000.json"))
    found = score(hosted.board, hosted.campaign, today=TODAY + timedelta(1))
    assert [(each.file, each.outcome, each.place) for each in found] == [
        *(("000.json", "waits", 1), ("001.json", "scored", None))
    ]
    assert ledger.read_bytes() == given
