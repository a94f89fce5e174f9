"""Verify a board: what anyone can check of it, without the owner's files."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from curation.board.building import pages
from curation.board.folder import FACTS, Board, TestSet
from curation.board.log import NONE, Closed, Opened, Rechecked, Scored, each_entry, of_results
from curation.board.rechecking import size
from curation.board.submission import read_file, read_submission
from curation.campaign.manifest import file_names, is_inside
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, digest, read_bytes, read_records, read_text
from curation.formats.tables import read_json_lines
from curation.formats.toml_files import shipped_table
from curation.records import Cat, Score
from curation.release.versions import read_sums
from curation.released import commitments
from curation.released.contents import REVEAL, SUMS
from curation.scores.boards import comparisons
from curation.scores.runs import Run, read_outcomes
from curation.stats.metrics import results
from curation.text.wording import some
from curation.version import __version__

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
        CurationError: the board has no log, or ``kept`` is not a head.
    """
    if not re.fullmatch("[0-9a-f]{64}", kept):
        fix = "copy it whole, as «curation board verify» or the page shows it"
        raise CurationError(f"--head {kept[:100]}: a head is 64 of 0-9 and a-f", fix)
    lines = read_bytes(board.log).splitlines(keepends=True)
    heads = [NONE, *(sha256(line).hexdigest() for line in lines)]
    check = _Check(board)
    if kept not in heads:
        check.find("head_missing", LOG, f"no line has the sha256 {kept}")
    check.replay(lines)
    unknown = [
        f"the scores of {v}, before it is revealed" for v in check.sets if v not in check.golds
    ]
    made: dict[str, bytes] = {}
    if {found.code for found in check.findings} & {"log_changed", "unreadable"}:
        unknown.append("the pages, because the log or a test set is damaged")
    else:
        made = pages(board)
    check.files(made)
    for where, row in check.rows.items():
        with check.reading(where):
            check.row(where, row)
    counts = {"lines": len(lines), "test sets": len(check.sets), "files": len(check.named)}
    counts |= {"pages": len(made), "rows": len(check.rows)}
    counts["scores"] = sum(row.version in check.golds for row in check.rows.values())
    return Verified(check.findings, counts, unknown, heads[-1])


class _Check:
    """What a check has found, and what the log says.

    Attributes:
        sets: the test sets, by version.
        golds: the CATs of those that are closed, with their gold labels, by version.
        rows: the rows, by their place in the log.
        named: the sha256 of each file that the log names.
    """

    def __init__(self, board: Board) -> None:
        self.board, self.findings = board, list[Finding]()
        self.sets, self.golds = dict[str, TestSet](), dict[str, list[Cat]]()
        self.rows, self.named = dict[str, Scored](), dict[str, str]()

    def find(self, code: str, where: str, what: str) -> None:
        """Note a finding."""
        self.findings.append(Finding(code, where, what))

    @contextmanager
    def reading(self, where: str) -> Iterator[None]:
        """An error of reading is a finding."""
        try:
            yield
        except CurationError as error:
            self.find("unreadable", where, error.what)

    def replay(self, lines: Sequence[bytes]) -> None:
        """Read the log: what it says that cannot be, and what it names."""
        now, day, shown = "", "", Counter[str]()
        agrees, models = dict[object, bool](), dict[str, object]()
        for number, (entry, problem) in enumerate(each_entry(lines), 1):
            where = f"{LOG} line {number}"
            if problem:
                self.find("log_changed", where, problem)
            if entry and entry.date < day:
                self.find("not_in_order", where, f"is of {entry.date}, a line before it of {day}")
            day = max(day, entry.date) if entry else day
            if isinstance(entry, Opened):
                if now or f"sets/{entry.version}/{FACTS}" in self.named:
                    self.find("not_in_order", where, f"{now or entry.version} was opened before")
                now = entry.version
                with self.reading(f"sets/{now}/{FACTS}"):
                    self.named[f"sets/{now}/{FACTS}"] = entry.facts
                    self.sets[now] = self.board.test_set(now)
                    sums = self.sets[now].facts.sums.items()
                    self.named |= {f"sets/{now}/{name}": sha for name, sha in sums}
            elif isinstance(entry, Scored | Closed) and entry.version != now:
                self.find("not_in_order", where, f"the test set {entry.version} is not open")
            if isinstance(entry, Scored):
                self.rows[where] = entry
                self.named[f"submissions/{entry.file}"] = entry.submission
                shown[entry.version] += 1
                most = self.sets[now].facts.rows if now in self.sets else None
                if most is not None and shown[entry.version] > most:
                    self.find("too_many_rows", where, f"{now} may show {most} rows")
                model = (entry.version, entry.model, entry.revision, entry.profile)
                if agrees.get(model):
                    self.find("scored_twice", where, f"{entry.model} has a row already")
                agrees[model], models[entry.submission] = True, model
            elif isinstance(entry, Rechecked):
                self.recheck(where, entry)
                agrees[models.get(entry.submission)] = entry.agrees
            elif isinstance(entry, Closed):
                with self.reading(f"sets/{entry.version}/revealed"):
                    self.closed(entry)
                now = ""

    def recheck(self, where: str, entry: Rechecked) -> None:
        """Whether a recheck is of a row, of as many CATs as it needs, and agrees as it may."""
        row = next((r for r in self.rows.values() if r.submission == entry.submission), None)
        if row is None or row.version not in self.sets:
            self.find("not_in_order", where, f"{entry.file} has no row")
            return
        need = size(self.sets[row.version].facts.cats, row.format)
        agrees = not entry.beyond and entry.orders <= need.turned
        if entry.cats != need.cats or (entry.agrees and not agrees):
            what = f"{entry.cats} CATs, {entry.orders} orders and {entry.beyond} scores differ"
            self.find("weak_recheck", where, f"{entry.file}: {what}; agrees is {entry.agrees}")

    def closed(self, entry: Closed) -> None:
        """Read a revealed test set: whether its gold labels are those of the commitments."""
        folder, of = f"sets/{entry.version}", self.board.test_set(entry.version)
        self.named[f"{folder}/revealed/{SUMS}"] = entry.revealed
        sums = read_sums(of.folder / "revealed" / SUMS)
        self.named |= {f"{folder}/revealed/{name}": sha for name, sha in sums}
        own = {row.scores for row in self.rows.values() if row.version == entry.version}
        if of.facts.hide == "all":
            self.named |= {f"{folder}/scores/{sha}.jsonl": sha for sha in own}
        public, proofs = (
            [row for _, row in read_json_lines(read_text(path), path)]
            for path in (of.cats, of.folder / "revealed" / REVEAL)
        )
        cats = self.golds[entry.version] = read_cats(of.folder / "revealed" / "test.json")
        if problems := commitments.verify(public, proofs) + commitments.find_unlike(cats, proofs):
            self.find("not_as_committed", f"{folder}/revealed", some(problems, _SHOWN))

    def files(self, made: Mapping[str, bytes]) -> None:
        """Files that are not there, or not as the log says; ``made`` are the pages."""
        root, board = self.board.root, self.board.root / "results" / "board.json"
        expected = self.named | {name: sha256(data).hexdigest() for name, data in made.items()}
        places = ("sets", "results") if made else ("sets",)
        names = {f"{at}/{name}" for at in places for name in file_names(root / at)} - {LOG}
        version = f'"curation": "{__version__}"'.encode()
        other = board.is_file() and version not in read_bytes(board)
        for name in sorted(names | expected.keys()):
            sha = None
            with self.reading(name):
                sha = digest(root / name) if is_inside(name) else None
            code = "extra" if name not in expected else "changed" if sha else "missing"
            if name in made:
                code = "other_version" if other else "page_changed"
            if sha != expected.get(name):
                self.find(code, name, f"has the sha256 {sha}" if sha else "no such file")

    def row(self, where: str, row: Scored) -> None:
        """Whether a row says what its submission says, and what its scores give."""
        own = read_submission(read_file(self.board.submissions / row.file, row.file), row.file)
        hidden = (of := self.board.test_set(row.version)).facts.hide == "labels"
        if hidden and row.scores != row.submission:
            self.find("not_as_submitted", where, f"its scores are not those of {row.file}")
        names = {"version", "model", "profile", "rules", "by", "link", "how"}
        for name in sorted(names | ({"revision", "format"} if hidden else set())):
            if (said := getattr(row, name)) != (wants := getattr(own, name)):
                what = f"{name} is {said}, and in {row.file} {wants}"
                self.find("not_as_submitted", where, what)
        shown = pd.json_normalize(row.values.model_dump()).iloc[0].to_dict()
        if hidden and any(str(k).count(".") > 1 or not _is_rounded(v) for k, v in shown.items()):
            self.find("too_much", where, f"{row.model}: more than overall values of one decimal")
        if row.version not in self.golds:
            return
        cats, path = self.golds[row.version], of.folder / "scores" / f"{row.scores}.jsonl"
        run = Run(row.model, "", "", own.scores or {}, {"rules": row.rules})
        if not hidden and "choice" in row.rules.values():
            run = replace(run, comparisons=read_outcomes(path))
        elif not hidden:
            run = replace(run, scores={s.association: s.value for s in read_records(path, Score)})
        table = comparisons(cats, run)
        if lacking := len(cats) - len(table):
            self.find("not_its_scores", where, f"{row.model}: {lacking} CATs have no score")
            return
        made = of_results(results(table, model=row.model), hide="all").model_dump()
        made = {"overall": made["overall"]} if hidden else made
        found = pd.json_normalize(made).iloc[0].to_dict()
        for name in sorted(map(str, shown.keys() | found.keys())):
            a, b = (np.array(each.get(name), float) for each in (shown, found))
            by = _EXACT + (0.05 if hidden else 0)
            if not np.allclose(a, b, rtol=0, atol=by, equal_nan=True):
                what = f"{name} is {shown.get(name)}, its scores give {found.get(name)}"
                self.find("not_its_scores", where, f"{row.model}: {what}")


def _is_rounded(value: Any) -> bool:
    """Whether numbers have one decimal at most; an empty part has none."""
    if isinstance(value, dict):
        return not value
    numbers = np.array(value, float)
    return np.array_equal(numbers, numbers.round(1), equal_nan=True)
