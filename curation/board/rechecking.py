"""``curation board recheck``: score a secret sample of a row's CATs with the model itself."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from curation.board.folder import Board, keep_head, owner_folder
from curation.board.log import Compared, Rechecked, Scored, rows_of
from curation.board.opening import refused
from curation.board.sample import compare, size
from curation.board.submission import SubmissionError, read_file, read_submission
from curation.campaign.source import Source
from curation.campaign.store import Campaign
from curation.campaign.versions import gold_file
from curation.catsets.stereoset import read_cats
from curation.files import dump_json, read_json, read_records, writing
from curation.models.scoring import ModelSpec
from curation.records import Fields, Score
from curation.scores.models import score_model
from curation.scores.run_folder import SCORES
from curation.text.wording import some
from curation.work.reporter import QUIET, Reporter

SAMPLES, RECHECKS = "samples", "rechecks"
_SHOWN = 5  # models that an error names


class Recheck(NamedTuple):
    """A row, in how many CATs its order may differ, and what was found."""

    row: Scored
    turned: int
    found: Compared


def recheck(
    board: Board,
    campaign: Campaign,
    spec: ModelSpec,
    *,
    again: bool = False,
    today: date | None = None,
    reporter: Reporter = QUIET,
    **work: Any,
) -> list[Recheck]:
    """Score a secret sample of the CATs of a model's rows, and compare. Takes the campaign's lock.

    The sample of a row is drawn once, and kept. So a command that was killed goes on with the same
    sample, and what is scored is not scored again. The campaign is not locked while the model runs.

    Args:
        board: the board, whose open test set has hidden labels.
        campaign: its owner's.
        spec: the model, and how it is run; its label or name is the row's model. With dtype
            «auto» and without a revision, it has those of the row.
        again: draw a new sample.
        today: the day of the new lines of the log; by default today in UTC.
        reporter: receives progress and warnings.
        work: more arguments of ``score_model``.

    Returns:
        What was found, for each row of the model on the open test set.

    Raises:
        CurationError: the test set is sealed, the model has no row, its file was changed, or the
            model cannot be run or has other weights than the row says.
    """
    facts, owner = board.open_set.facts, owner_folder(board, campaign)
    if facts.hide == "all":
        raise refused("no_recheck", version=facts.version)
    cats = {cat.id: cat for cat in read_cats(gold_file(campaign, facts.version))}
    rows = [row for row, _ in rows_of(board.entries(), facts.version)]
    if (model := spec.label or spec.name) not in (models := [row.model for row in rows]):
        shown = some(models, _SHOWN) or "none"
        raise refused("no_row", version=facts.version, model=model[:100], models=shown)
    done = []
    for row in (row for row in rows if row.model == model):
        where = f"submissions/{row.file}"
        data = read_file(board.submissions / row.file, where)
        if sha256(data).hexdigest() != row.submission:
            raise SubmissionError("changed", where)
        with campaign.lock():
            keep_head(board, owner)
            drawn = [cats[id] for id in _sample(owner, row, [*cats], again=again)]
        source = Source(drawn, "test", facts.language, owner / RECHECKS / row.submission[:16])
        how: Fields = {"profile": row.profile, "reporter": reporter, **work}
        made = score_model(_as_said(spec, row), source, **how).job
        known = made.identity.get("revision", row.revision)  # an endpoint has none
        if row.revision.startswith("sha256:") and known != row.revision:
            raise refused("other_weights", name=spec.name, row=row)
        sent, scores = read_submission(data, where).scores or {}, made.folder / SCORES
        scored = {score.association: score.value for score in read_records(scores, Score)}
        turned = size(len(cats), row.format).turned
        found = compare(*(drawn, sent, scored), rules=made.rules, format=row.format, turned=turned)
        if made.rules != row.rules:  # the right scores under the name of another rule
            found = found.model_copy(update={"agrees": False})
        about = row.model_dump(include={"version", "file", "submission"}) | found.model_dump()
        about |= {"date": str(today or datetime.now(UTC).date()), "revision": str(known)}
        with campaign.lock():
            keep_head(board, owner)
            board.append([Rechecked(**about)])
            keep_head(board, owner)
        done.append(Recheck(row, turned, found))
    return done


def _sample(owner: Path, row: Scored, cats: Sequence[str], *, again: bool) -> list[str]:
    """The ids of the CATs that are looked at: drawn once, unless another sample is asked for."""
    path = owner / SAMPLES / f"{row.submission}.json"
    if again or not path.exists():
        drawn = secrets.SystemRandom().sample(cats, size(len(cats), row.format).cats)
        with writing(path, private=True) as file:
            file.write(dump_json(drawn))
    return [str(id) for id in read_json(path)]


def _as_said(spec: ModelSpec, row: Scored) -> ModelSpec:
    """The model, to be run in the number format and with the revision that its row says."""
    local = row.revision.startswith("sha256:") or Path(spec.name).exists()
    revision = spec.revision or (None if local else row.revision)
    precision = row.format if spec.dtype == "auto" else spec.dtype
    return replace(spec, label=row.model, dtype=precision, revision=revision)
