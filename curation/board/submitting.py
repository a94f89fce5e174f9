"""Make submissions: from a model that is run here, or from a file of predictions."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.board.checking import association_ids, public_cats
from curation.board.folder import Board
from curation.board.opening import refused
from curation.board.submission import FIELDS, SubmissionError, problems
from curation.files import dump_json, read_bytes, read_records, writing
from curation.models.rules import rules_for
from curation.models.scoring import ModelSpec, identify
from curation.records import Fields, Rejection, Score
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
