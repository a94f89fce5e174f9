"""Verify a board: what anyone can check of it, without the owner's files."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from curation import __version__
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, digest, read_bytes, read_records, read_text
from curation.formats.tables import read_json_lines
from curation.formats.toml_files import shipped_table
from curation.pages.board.log import NONE, Closed, Entry, Opened, Rechecked, Scored, each_entry
from curation.pages.board.submission import Submission, read_file, read_submission
from curation.pages.board.values import of_results
from curation.records import Cat, Score
from curation.release.contents import REVEAL, SUMS
from curation.release.hidden import commitments
from curation.scores.boards import comparisons
from curation.scores.runs import Run, read_outcomes
from curation.stats.metrics import results
from curation.steps.board.building import pages
from curation.steps.board.folder import FACTS, Board, TestSet
from curation.steps.release.versions import read_sums
from curation.text.wording import some
from curation.work.manifest import is_inside

MEANS: dict[str, str] = shipped_table("board", "findings.toml")
"""What each code of a finding means."""
LOG = "results/log.jsonl"
_SHOWN = 3  # CATs that a finding names
_EXACT = 1e-9  # how much a value may differ between machines


class Finding(NamedTuple):
    """What is not as it should be: a code of ``MEANS``, the file and the place in it, and what."""

    code: str
    where: str
    what: str


class Verified(NamedTuple):
    """What was verified.

    Attributes:
        findings: what is not as it should be.
        counts: how many lines, test sets, submissions, pages and scores were checked.
        unknown: what nobody but the owner can check yet.
        head: the sha256 of the last line of the log, for readers to keep.
    """

    findings: list[Finding]
    counts: dict[str, int]
    unknown: list[str]
    head: str


def verify(board: Board, *, kept: str = NONE) -> Verified:
    """Check what anyone can check of a board.

    Args:
        board: the board.
        kept: the head of the log that a reader kept earlier.

    Raises:
        CurationError: the board has no log.
    """
    lines = read_bytes(board.log).splitlines(keepends=True)
    heads = [NONE, *(sha256(line).hexdigest() for line in lines)]
    each = [(f"{LOG} line {n}", *entry) for n, entry in enumerate(each_entry(lines), 1)]
    log = {where: entry for where, entry, _ in each if entry}
    findings = [Finding("log_changed", where, problem) for where, _, problem in each if problem]
    if kept not in heads:
        findings.append(Finding("head_missing", LOG, f"no line has the sha256 {kept}"))
    sets: dict[str, TestSet] = {}
    for version in dict.fromkeys(e.version for e in log.values() if isinstance(e, Opened)):
        with _noted(findings, f"sets/{version}/{FACTS}"):
            sets[version] = board.test_set(version)
    closed = [e.version for e in log.values() if isinstance(e, Closed) and e.version in sets]
    findings += _order(log, sets)
    unknown = [f"the scores of {v}, before it is revealed" for v in sets if v not in closed]
    whole = not any(finding.code in ("log_changed", "unreadable") for finding in findings)
    made = pages(board) if whole else {}
    unknown += [] if whole else ["the pages, because the log or a test set is damaged"]
    expected = dict(_expected(board, log.values(), sets, closed))
    findings += _files(board.root, expected, {n: sha256(d).hexdigest() for n, d in made.items()})
    golds: dict[str, list[Cat]] = {}
    for version in closed:
        with _noted(findings, f"sets/{version}/revealed"):
            golds[version] = read_cats(sets[version].folder / "revealed" / "test.json")
            findings += _proofs(sets[version], golds[version])
    rows = {where: row for where, row in log.items() if isinstance(row, Scored)}
    for where, row in rows.items():
        with _noted(findings, where):
            own = read_submission(read_file(board.submissions / row.file, row.file), row.file)
            findings += _submitted(own, where, row)
            if row.version in golds:
                run = _run(sets[row.version], row, own.scores)
                findings += _values(golds[row.version], run, where, row)
    counts = {
        "lines": len(lines),
        "test sets": len(sets),
        "files": len(expected),
        "pages": len(made),
    }
    counts |= {"rows": len(rows), "scores": sum(row.version in golds for row in rows.values())}
    return Verified(findings, counts, unknown, heads[-1])


@contextmanager
def _noted(findings: list[Finding], where: str) -> Iterator[None]:
    """An error of reading is a finding."""
    try:
        yield
    except CurationError as error:
        findings.append(Finding("unreadable", where, error.what))


def _order(log: Mapping[str, Entry], sets: Mapping[str, TestSet]) -> Iterator[Finding]:
    """What the log says that cannot be."""
    now, opened, rows, agrees = "", set[str](), Counter[str](), dict[tuple[str, str], bool]()
    models: dict[tuple[str, ...], tuple[str, str]] = {}
    for where, entry in log.items():
        version = entry.version
        if isinstance(entry, Opened):
            if now or version in opened:
                yield Finding("not_in_order", where, f"{now or version} was opened before")
            opened.add(now := version)
        elif isinstance(entry, Scored | Closed) and version != now:
            yield Finding("not_in_order", where, f"the test set {version} is not open")
        if isinstance(entry, Closed):
            now = ""
        elif isinstance(entry, Rechecked):
            if (version, entry.submission) not in agrees:
                yield Finding("not_in_order", where, f"{entry.file} has no row")
            agrees[version, entry.submission] = entry.agrees
        elif isinstance(entry, Scored):
            rows[version] += 1
            most = sets[version].facts.rows if version in sets else None
            if most is not None and rows[version] > most:
                yield Finding("too_many_rows", where, f"{version} may show {most} rows")
            model, own = (version, entry.model, entry.revision, entry.profile), entry.submission
            if model in models and agrees[models[model]]:
                yield Finding("scored_twice", where, f"{entry.model} has a row already")
            models[model] = (version, own)
            agrees[version, own] = True


def _expected(
    board: Board, log: Iterable[Entry], sets: Mapping[str, TestSet], closed: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The files that a log names, and their sha256."""
    for entry in log:
        folder, sums = f"sets/{entry.version}", dict[str, str]()
        if isinstance(entry, Opened):
            yield f"{folder}/{FACTS}", entry.facts
            sums = sets[entry.version].facts.sums if entry.version in sets else {}
        elif isinstance(entry, Scored):
            yield f"submissions/{entry.file}", entry.submission
            if entry.version in closed and entry.scores != entry.submission:
                yield f"{folder}/scores/{entry.scores}.jsonl", entry.scores
        elif isinstance(entry, Closed):
            folder += "/revealed"
            yield f"{folder}/{SUMS}", entry.revealed
            sums = dict(read_sums(board.root / folder / SUMS))
        yield from ((f"{folder}/{name}", sha) for name, sha in sums.items())


def _files(root: Path, named: Mapping[str, str], made: Mapping[str, str]) -> Iterator[Finding]:
    """Files that are not there, or not as the log says; ``made`` are the pages that it gives."""
    folders, expected = ("sets", "results") if made else ("sets",), {**named, **made}
    there = (path for folder in folders for path in (root / folder).rglob("*") if path.is_file())
    names = {path.relative_to(root).as_posix() for path in there} - {LOG}
    board, other = root / "results" / "board.json", False
    if made and board.is_file():
        other = f'"curation": "{__version__}"'.encode() not in read_bytes(board)
    for name in sorted(names | expected.keys()):
        sha = digest(root / name) if is_inside(name) else None
        if sha == expected.get(name) or (other and name in made):
            continue
        code = "extra" if name not in expected else "changed" if sha else "missing"
        code = "page_changed" if name in made else code
        yield Finding(code, name, f"has the sha256 {sha}" if sha else "no such file")
    if other:
        what = f"not made by curation {__version__}, which looks at it now"
        yield Finding("other_version", "results/board.json", what)


def _proofs(of: TestSet, cats: Sequence[Cat]) -> Iterator[Finding]:
    """Whether revealed gold labels are those of the commitments."""
    public, proofs = (
        [row for _, row in read_json_lines(read_text(path), path)]
        for path in (of.cats, of.folder / "revealed" / REVEAL)
    )
    if problems := commitments.verify(public, proofs) + commitments.unlike(cats, proofs):
        where = f"sets/{of.facts.version}/revealed"
        yield Finding("not_as_committed", where, some(problems, _SHOWN))


def _submitted(own: Submission, where: str, row: Scored) -> Iterator[Finding]:
    """Whether a row says of its model what the submission says."""
    owners = {"scores"} if row.scores == row.submission else {"scores", "revision", "format"}
    for name in Submission.model_fields.keys() & Scored.model_fields.keys() - owners:
        if getattr(own, name) != getattr(row, name):
            what = f"{name} is {getattr(row, name)}, and in {row.file} {getattr(own, name)}"
            yield Finding("not_as_submitted", where, what)


def _run(of: TestSet, row: Scored, scores: Mapping[str, float] | None) -> Run:
    """What a row was computed from: scores or, of a chat model, comparisons."""
    path, about = of.folder / "scores" / f"{row.scores}.jsonl", {"rules": row.rules}
    if of.facts.hide == "labels":
        return Run(row.model, "", "", scores or {}, about)
    if "choice" in row.rules.values():
        return Run(row.model, "", "", {}, about, comparisons=read_outcomes(path))
    known = {score.association: score.value for score in read_records(path, Score)}
    return Run(row.model, "", "", known, about)


def _values(cats: Sequence[Cat], run: Run, where: str, row: Scored) -> Iterator[Finding]:
    """Whether a row is what its scores and the gold labels give."""
    table = comparisons(cats, run)
    if lacking := len(cats) - len(table):
        yield Finding("not_its_scores", where, f"{row.model}: {lacking} CATs have no score")
        return
    rounded = row.scores == row.submission  # the labels are hidden
    made = of_results(results(table, model=row.model), hide="all")
    made = made.model_copy(update={"kinds": {}, "domains": {}}) if rounded else made
    shown, found = (pd.json_normalize(v.model_dump()).iloc[0].to_dict() for v in (row.values, made))
    for name in sorted(shown.keys() | found.keys()):
        a, b = (np.array(each.get(name), float) for each in (shown, found))
        exact = not rounded or np.array_equal(a, a.round(1), equal_nan=True)
        by = _EXACT + (0.05 if rounded else 0)
        if not (exact and np.allclose(a, b, rtol=0, atol=by, equal_nan=True)):
            what = f"{row.model}: {name} is {shown.get(name)}, its scores give {found.get(name)}"
            yield Finding("not_its_scores", where, what)
