"""Verify a board: what anyone can check of it, without the owner's files."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

from curation.catsets.stereoset import read_cats
from curation.files import (
    CurationError,
    digest,
    read_bytes,
    read_json,
    read_records,
    read_text,
)
from curation.formats.tables import read_json_lines
from curation.formats.toml_files import shipped_table
from curation.pages.board.about import SetFacts
from curation.pages.board.log import NONE, Closed, Entry, Opened, Rechecked, Scored, each_entry
from curation.pages.board.values import of_results
from curation.records import Cat, Score
from curation.release.contents import REVEAL, SUMS
from curation.release.hidden import commitments
from curation.scores.boards import comparisons
from curation.scores.runs import Run, read_outcomes
from curation.stats.metrics import results
from curation.steps.board.folder import FACTS, Board
from curation.steps.release.versions import read_sums
from curation.work.manifest import is_inside

MEANS: dict[str, str] = shipped_table("board", "findings.toml")
"""What each code of a finding means."""
LOG = "results/log.jsonl"
_EXACT = 1e-9  # how much a value may differ between machines
_SHOWN = 3  # CATs or values that a finding names


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
    each = [(f"{LOG} line {n}", *entry) for n, entry in enumerate(each_entry(lines), 1)]
    log = {where: entry for where, entry, _ in each if entry}
    findings = [Finding("log_changed", where, problem) for where, _, problem in each if problem]
    heads = [sha256(line).hexdigest() for line in lines]
    if kept not in (NONE, *heads):
        findings.append(Finding("head_missing", LOG, f"no line has the sha256 {kept}"))
    rows = {where: entry for where, entry in log.items() if isinstance(entry, Scored)}
    closed = {entry.version for entry in log.values() if isinstance(entry, Closed)}
    facts: dict[str, SetFacts] = {}
    for version in dict.fromkeys(e.version for e in log.values() if isinstance(e, Opened)):
        with _noted(findings, f"sets/{version}/{FACTS}"):
            facts[version] = board.test_set(version).facts
    findings += _order(log, facts)
    findings += _files(board, dict(_expected(board, log.values(), facts, closed)))
    scores = 0
    for version in sorted(closed & facts.keys()):
        with _noted(findings, f"sets/{version}/revealed"):
            cats = read_cats(board.test_set(version).folder / "revealed" / "test.json")
            findings += _revealed(board, facts[version], cats)
            for where, row in rows.items():
                if row.version == version:
                    with _noted(findings, where):
                        findings += _scores(where, row, facts[version], cats, board)
                        scores += 1
    unknown = [f"the scores of {v}, before it is revealed" for v in facts if v not in closed]
    counts = {"lines": len(lines), "test sets": len(facts), "submissions": len(rows)}
    return Verified(findings, counts | {"scores": scores}, unknown, (NONE, *heads)[-1])


@contextmanager
def _noted(findings: list[Finding], where: str) -> Iterator[None]:
    """Make a finding of an error of reading."""
    try:
        yield
    except CurationError as error:
        findings.append(Finding("unreadable", where, error.what))


def _order(log: Mapping[str, Entry], facts: Mapping[str, SetFacts]) -> Iterator[Finding]:
    """What the log says that cannot be: rows that a test set may not have, or not any more."""
    now, opened, scored, shown = "", set[str](), set[tuple[str, ...]](), Counter[str]()
    for where, entry in log.items():
        version = entry.version
        if isinstance(entry, Opened):
            if now or version in opened:
                what = f"opens {version}, but {now or version} was opened before"
                yield Finding("not_in_order", where, what)
            opened.add(now := version)
        elif isinstance(entry, Scored | Closed) and version != now:
            yield Finding("not_in_order", where, f"the test set {version} is not open")
        if isinstance(entry, Closed):
            now = ""
        elif isinstance(entry, Scored):
            shown[version] += 1
            most = facts[version].rows if version in facts else None
            if most is not None and shown[version] > most:
                yield Finding("too_many_rows", where, f"{version} may show {most} rows")
            if (model := (version, entry.model, entry.revision, entry.profile)) in scored:
                yield Finding("scored_twice", where, f"{entry.model} has a row already")
            scored |= {model, (version, entry.submission)}
        elif isinstance(entry, Rechecked) and (version, entry.submission) not in scored:
            yield Finding("not_in_order", where, f"{entry.file} has no row")


def _expected(
    board: Board,
    log: Iterable[Entry],
    facts: Mapping[str, SetFacts],
    closed: Collection[str],
) -> Iterator[tuple[str, str]]:
    """The files that a log names, and their sha256."""
    for entry in log:
        folder, own = f"sets/{entry.version}", facts.get(entry.version)
        if isinstance(entry, Opened):
            yield f"{folder}/{FACTS}", entry.facts
            yield from (
                (f"{folder}/{name}", sha) for name, sha in (own.sums if own else {}).items()
            )
        elif isinstance(entry, Scored):
            yield f"submissions/{entry.file}", entry.submission
            if entry.version in closed and own and own.hide == "all":
                yield f"{folder}/scores/{entry.scores}.jsonl", entry.scores
        elif isinstance(entry, Closed):
            yield f"{folder}/revealed/{SUMS}", entry.revealed
            sums = read_sums(board.root / folder / "revealed" / SUMS)
            yield from ((f"{folder}/revealed/{name}", sha) for name, sha in sums)


def _files(board: Board, expected: Mapping[str, str]) -> Iterator[Finding]:
    """Files that are not there, or not as the log says."""
    there = (path for path in (board.root / "sets").rglob("*") if path.is_file())
    names = {path.relative_to(board.root).as_posix() for path in there}
    for name in sorted(names | expected.keys()):
        sha = digest(board.root / name) if is_inside(name) else None
        if sha != expected.get(name):
            code = "extra" if name not in expected else "changed" if sha else "missing"
            yield Finding(code, name, f"has the sha256 {sha}" if sha else "no such file")


def _revealed(board: Board, facts: SetFacts, cats: Sequence[Cat]) -> Iterator[Finding]:
    """Whether revealed gold labels are those of the commitments."""
    own = board.test_set(facts.version)
    public, proofs = (
        [row for _, row in read_json_lines(read_text(path), path)]
        for path in (own.cats, own.folder / "revealed" / REVEAL)
    )
    problems = commitments.verify(public, proofs)
    if not problems:
        said = {row["id"]: _sorted(json.loads(row["message"])) for row in proofs}
        other = {cat.id: _sorted(_content(cat)) for cat in cats}
        problems = [
            f"CAT {id}: test.json says something else than the proof"
            for id in sorted(said.keys() | other.keys())
            if said.get(id) != other.get(id)
        ]
    if problems:
        what = "; ".join(problems[:_SHOWN])
        what += f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        yield Finding("not_as_committed", f"sets/{facts.version}/revealed", what)


def _scores(
    where: str, row: Scored, facts: SetFacts, cats: Sequence[Cat], board: Board
) -> Iterator[Finding]:
    """Whether a row is what its scores and the gold labels give."""
    run = _run(board, facts, row)
    table = comparisons(cats, run)
    if lacking := len(cats) - len(table):
        yield Finding("not_its_scores", where, f"{row.model}: {lacking} CATs have no score")
        return
    made = of_results(results(table, model=row.model), hide="all").model_dump()
    made |= {"kinds": {}, "domains": {}} if facts.hide == "labels" else {}
    by = _EXACT + (0.05 if facts.hide == "labels" else 0)
    if wrong := [*_differences(row.values.model_dump(), made, by)]:
        yield Finding("not_its_scores", where, f"{row.model}: {'; '.join(wrong[:_SHOWN])}")


def _content(cat: Cat) -> dict[str, Any]:
    """A CAT as the message of its proof has it."""
    texts = {name: getattr(cat, name) for name in ("id", "kind", "domain", "target", "context")}
    options = [{"id": a.id, "sentence": a.sentence, "gold_label": a.gold} for a in cat.associations]
    return texts | {"options": options}


def _sorted(content: dict[str, Any]) -> dict[str, Any]:
    return content | {"options": sorted(content["options"], key=lambda option: str(option["id"]))}


def _run(board: Board, facts: SetFacts, row: Scored) -> Run:
    """What a row was computed from: the scores or, of a chat model, the comparisons."""
    path = board.root / "sets" / facts.version / "scores" / f"{row.scores}.jsonl"
    about = {"rules": row.rules}
    if facts.hide == "labels":
        content = read_json(board.submissions / row.file)
        scores = content.get("scores", {}) if isinstance(content, dict) else {}
    elif "choice" in row.rules.values():
        return Run(row.model, "", "", {}, about, comparisons=read_outcomes(path))
    else:
        scores = {score.association: score.value for score in read_records(path, Score)}
    return Run(row.model, "", "", scores, about)


def _differences(shown: Any, made: Any, by: float, name: str = "") -> Iterator[str]:
    """Where two values of the same form differ by more than ``by``."""
    if isinstance(shown, dict) and isinstance(made, dict):
        for key in sorted(shown.keys() | made.keys()):
            place = f"{name}.{key}".strip(".")
            yield from _differences(shown.get(key), made.get(key), by, place)
    elif isinstance(shown, tuple) and isinstance(made, tuple):
        for end, (a, b) in zip(("low", "high"), zip(shown, made, strict=True), strict=True):
            yield from _differences(a, b, by, f"{name}.{end}")
    elif isinstance(shown, float) and isinstance(made, float):
        if not abs(shown - made) <= by or (by > _EXACT and shown != round(shown, 1)):
            yield f"{name} is {shown:g}, and its scores give {made:.6g}"
    elif shown != made:
        yield f"{name} is {shown}, and its scores give {made}"
