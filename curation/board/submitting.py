"""What submitters do: make a submission of a model or of predictions, and check files of them."""

import os
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from curation.board.about import refused
from curation.board.folder import Board, TestSet
from curation.board.log import Refused, Scored, Waits, rows_of
from curation.board.submission import FIELDS, SubmissionError, problems, read_file
from curation.files import (
    CurationError,
    digest,
    dump_json,
    read_bytes,
    read_records,
    read_text,
    writing,
)
from curation.formats.tables import read_json_lines
from curation.kinds import ITEMS
from curation.models.rules import rules_for
from curation.models.scoring import ModelSpec, identify
from curation.records import Cat, CatAssociation, Fields, Rejection, Score
from curation.scores.run_folder import REJECTED, SCORES
from curation.scores.running import job, score_cats
from curation.scores.runs import read_predictions_run
from curation.text.wording import amount
from curation.version import __version__
from curation.work.reporter import QUIET, Reporter


def submit_model(
    board: Board,
    spec: ModelSpec,
    about: Mapping[str, str],
    to: Path,
    *,
    accept_own_head: bool = False,
    reporter: Reporter = QUIET,
    **work: Any,
) -> Path:
    """Score a model on the public CATs of the open test set, and make a submission of its scores.

    Scores are kept in ``scores/`` of the current folder, as «curation scores models» keeps them. A
    run that is there is used, and continued if it was interrupted. For a sealed test set nothing is
    scored: the submission names the model.

    Args:
        board: the board.
        spec: the model, and how to run it.
        about: ``by``, ``link``, ``how`` and ``profile``; "" for the default of the last two. The
            profile is by default the first that the board allows.
        to: the folder to write to.
        accept_own_head: as in ``scores.running.job``.
        reporter: receives progress and notes.
        work: ``engine`` and ``workers``, as in ``scores.running.score_cats``.

    Returns:
        The file of the submission.

    Raises:
        SubmissionError: the board would not accept it; nothing is written.
        CurationError: the model cannot be run, or has no score of an association; another file
            has the submission's name.
    """
    is_sealed = board.open_set.facts.hide == "all"
    if spec.chat and not is_sealed:
        raise SubmissionError("chat_model", spec.name)
    run = identify(spec)
    profile = about["profile"] or ("choice" if spec.chat else board.settings.profiles[0])
    how = f"curation {__version__}"
    scores = None
    if not is_sealed:
        how += f", {run.get('device', 'an endpoint')}, {run.get('dtype', spec.dtype)}"
        scoring = job(spec, Path("scores"), profile=profile, accept_own_head=accept_own_head)
        with reporter.counted(f"{run['model']}, {scoring.folder.name}") as bar:
            told: Fields = {"begin": bar.begin, "tell": bar.advance, "notice": reporter.note}
            score_cats(scoring, public_cats(board.open_set), **told, **work)
        ids = association_ids(board.open_set)  # the run may also have scores of earlier test sets
        values = read_records(scoring.folder / SCORES, Score, missing_ok=True)
        scores = {each.association: each.value for each in values if each.association in ids}
        path = scoring.folder / REJECTED
        rejected = read_records(path, Rejection, missing_ok=True)
        if own := [each for each in rejected if each.record["association"] in ids]:
            count = amount(len(own), "association")
            raise refused("no_score", model=run["model"], count=count, first=own[0], path=path)
    fields: Fields = {"model": run["model"], "how": about["how"] or how, "profile": profile}
    fields |= {"scores": scores, "rules": rules_for(run["family"], rule=None, profile=profile)}
    fields |= {"revision": run.get("revision") or spec.revision or ""}
    return _write(board, {**about, **fields, "format": run.get("dtype", spec.dtype)}, to)


def submit_predictions(board: Board, named: str, about: Mapping[str, str], to: Path) -> Path:
    """Make a submission of a file of predictions.

    Args:
        board: the board.
        named: ``NAME@RULES=FILE``, as in ``scores.runs.read_predictions_run``.
        about: as in ``submit_model``; also ``revision``, and the number format as ``format``.
        to: the folder to write to.

    Returns:
        The file of the submission.

    Raises:
        SubmissionError: the board would not accept it; nothing is written.
        CurationError: the file is not valid, or does not say by which rules it was scored; another
            file has the submission's name.
    """
    run = read_predictions_run(named)
    if not run.rules:
        raise refused("no_rules", named=named)
    profile, how = about["profile"] or board.settings.profiles[0], about["how"]
    fields = {"model": run.model, "rules": run.rules, "profile": profile, "scores": run.scores}
    return _write(board, {**about, **fields, "how": how or "with another program"}, to)


def _write(board: Board, fields: Fields, to: Path) -> Path:
    """Check a submission of these fields and write it."""
    test_set = board.open_set
    if not fields["revision"] or fields["format"] == "auto":
        raise refused("no_weights", model=fields["model"])
    revision, version = fields["revision"][:19], test_set.facts.version
    name = f"{fields['model'].replace('/', '--')}-{fields['profile']}-{revision}-{version}"
    path = to / f"{re.sub('[^A-Za-z0-9._-]+', '-', name).strip('-._')}.json"
    content = {"board": board.settings.id, "version": version, **fields}
    data = dump_json({key: content[key] for key in FIELDS if content.get(key) is not None})
    fits = (board.settings, test_set.facts, association_ids(test_set))
    for error in problems(data, str(path), *fits)[1]:
        raise error
    if path.exists() and read_bytes(path) != data:
        raise refused("submitted", path=path)
    with writing(path) as file:
        file.write(data)
    return path


def public_cats(test_set: TestSet) -> list[Cat]:
    """The CATs of a test set as its board shows them; none if it is sealed.

    Their gold labels are not known: each association has the label of its place in the file.

    Raises:
        CurationError: the file of the CATs was changed.
    """
    path = test_set.cats
    if digest(path) != test_set.facts.sums.get(path.name):
        raise CurationError(f"{path}: was changed", "restore it from version control")
    if test_set.facts.hide == "all":
        return []
    cats = []
    for _, row in read_json_lines(read_text(path), path):
        options = zip(row["options"], ITEMS[row["kind"]].roles, strict=True)
        cats.append(
            Cat(
                id=row["id"],
                kind=row["kind"],
                domain=row["domain"],
                term=row["target"],
                target=row["target"],
                family=row["target"],
                split="test",
                context=row["context"],
                associations=tuple(
                    CatAssociation(id=option["id"], sentence=option["sentence"], gold=gold)
                    for option, gold in options
                ),
            )
        )
    return cats


def association_ids(test_set: TestSet) -> frozenset[str]:
    """The ids of all associations of a test set; none if it is sealed."""
    return frozenset(each.id for cat in public_cats(test_set) for each in cat.associations)


def check_files(
    board: Board, names: Sequence[str], *, proposal: bool = False
) -> dict[str, list[SubmissionError]]:
    """Whether files would be accepted by a board.

    Args:
        board: the board.
        names: paths of files, from the current folder.
        proposal: they are all paths that a proposal changes, so each must be a new file of the
            board's ``submissions/``.

    Returns:
        For each name, as it can be printed on one line, the first problem of each sort; none if the
        file would be accepted.

    Raises:
        CurationError: no test set is open, or the board is damaged.
    """
    test_set = board.open_set
    fits = (board.settings, test_set.facts, association_ids(test_set))
    entries = board.entries()
    logged = {e.file: e.submission for e in entries if isinstance(e, Waits | Refused | Scored)}
    scored = {entry.file for entry in entries if isinstance(entry, Scored)}
    rows = rows_of(entries, test_set.facts.version)
    known = {(row.model, row.revision, row.profile): row.file for row, agrees in rows if agrees}
    sent = {row.submission: row.file for row, _ in rows}
    found: dict[str, list[SubmissionError]] = {}
    for name in names:
        shown = name if name.isprintable() else ascii(name)
        path = Path(os.path.abspath(name))  # noqa: PTH100 - resolve() would follow links
        inside = path.parent == Path(os.path.abspath(board.submissions))  # noqa: PTH100
        try:
            if proposal and (not inside or ".." in Path(name).parts):
                raise SubmissionError("outside", shown)
            if proposal and not os.path.lexists(path):
                raise SubmissionError("removed", shown)
            data = read_file(path, shown)
            sha = sha256(data).hexdigest()
            if inside and logged.get(path.name, sha) != sha:
                raise SubmissionError("changed", shown)
            if inside and path.name in scored:  # maybe on a test set that is closed
                found[shown] = []
                continue
        except SubmissionError as error:
            found[shown] = [error]
            continue
        submission, found[shown] = problems(data, shown, *fits)
        if submission:
            key = (submission.model, submission.revision, submission.profile)
            twin = sent.get(sha) or known.setdefault(key, path.name)
            if twin != path.name:
                found[shown].append(SubmissionError("already_submitted", f"{shown} and {twin}"))
    return found
