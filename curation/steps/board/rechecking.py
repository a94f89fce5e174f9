"""``curation board recheck``: score a secret sample of a row's CATs with the model itself."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from curation.campaign import Campaign
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, dump_json, read_json, read_records, writing
from curation.models.rules import rules_name
from curation.models.scoring import ModelSpec, identify
from curation.pages.board.log import Rechecked, Scored
from curation.pages.board.sample import Compared, compare, size
from curation.pages.board.submission import REASONS, read_file, read_submission
from curation.records import Fields, Score
from curation.scores.run_folder import SCORES
from curation.scores.running import Job, score_cats
from curation.scores.runs import folder_name
from curation.steps.board.folder import Board, owner_folder
from curation.steps.board.scoring import finish_plan
from curation.steps.release.history import gold_file
from curation.steps.step import QUIET, Reporter
from curation.text.wording import did_you_mean, some
from curation.work.engine import Engine

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
    engine: Engine = "local",
    workers: int | None = 1,
    today: date | None = None,
    reporter: Reporter = QUIET,
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
        engine: where the work is done.
        workers: processes at once.
        today: the day of the new lines of the log; by default today in UTC.
        reporter: receives progress and warnings.

    Returns:
        What was found, for each row of the model.

    Raises:
        CurationError: the test set is sealed, the model has no row, its file was changed, or the
            model cannot be run or has other weights than the row says.
    """
    day = (today or datetime.now(UTC).date()).isoformat()
    facts, owner = board.open_set.facts, owner_folder(board, campaign)
    if facts.hide == "all":
        raise CurationError(
            f"the test set {facts.version} is sealed, so you scored its rows yourself",
            "recheck rows of a test set with hidden labels",
        )
    cats = {cat.id: cat for cat in read_cats(gold_file(campaign, facts.version))}
    with campaign.lock():
        finish_plan(board, campaign)
        rows = _rows(board, facts.version, spec.label or spec.name)
        samples = [_sample(owner, row, [*cats], again=again) for row in rows]
    done = []
    for row, ids in zip(rows, samples, strict=True):
        drawn, sent = [cats[id] for id in ids], _sent(board, row)
        work = _job(spec, row, owner / RECHECKS / row.submission[:16])
        with reporter.counted(f"{row.model}, {row.file}") as bar:
            score_cats(
                *(work, drawn),
                engine=engine,
                workers=workers,
                begin=bar.begin,
                tell=bar.advance,
                notice=reporter.note,
            )
        made = read_records(work.folder / SCORES, Score, missing_ok=True)
        scored = {score.association: score.value for score in made}
        turned = size(len(cats), row.format).turned
        found = compare(*(drawn, sent, scored), rules=row.rules, format=row.format, turned=turned)
        about: Fields = {"version": row.version, "file": row.file, "submission": row.submission}
        line = Rechecked(date=day, **about, **found._asdict())
        with campaign.lock():
            finish_plan(board, campaign)
            board.append([line])
            finish_plan(board, campaign)  # notes the new head
        done.append(Recheck(row, turned, found))
    return done


def _rows(board: Board, version: str, model: str) -> list[Scored]:
    """The rows of a model on a test set."""
    rows = [e for e in board.entries() if isinstance(e, Scored) and e.version == version]
    if own := [row for row in rows if row.model == model]:
        return own
    names = [row.model for row in rows]
    known = f"name one of {some(names, _SHOWN)}" if names else "run «curation board score» first"
    raise CurationError(
        f"the test set {version} has no row of the model {model[:100]!r}",
        f"{did_you_mean(model, names, known)} To name a local copy, write MODEL=FOLDER",
    )


def _sample(owner: Path, row: Scored, cats: Sequence[str], *, again: bool) -> list[str]:
    """The ids of the CATs that are looked at: drawn once, unless another sample is asked for."""
    path = owner / SAMPLES / f"{row.submission}.json"
    if again or not path.exists():
        drawn = secrets.SystemRandom().sample(cats, size(len(cats), row.format).cats)
        with writing(path, private=True) as file:
            file.write(dump_json(drawn))
    return [str(id) for id in read_json(path)]


def _sent(board: Board, row: Scored) -> Mapping[str, float]:
    """The scores of a row, from its submission."""
    where = f"submissions/{row.file}"
    data = read_file(board.submissions / row.file, where)
    if sha256(data).hexdigest() != row.submission:
        reason = REASONS["changed"]
        raise CurationError(f"{where}: {reason['says']}", reason["fix"])
    return read_submission(data, where).scores or {}


def _job(spec: ModelSpec, row: Scored, root: Path) -> Job:
    """The model, to be scored as a row says, into a folder of its own below ``root``."""
    digest = row.revision.startswith("sha256:")
    revision = None if digest or Path(spec.name).exists() else row.revision
    precision = row.format if spec.dtype == "auto" else spec.dtype
    spec = replace(spec, label=row.model, dtype=precision, revision=spec.revision or revision)
    identity, rules = identify(spec), dict(row.rules)
    known = identity.get("revision")
    if digest and known and known != row.revision:
        raise CurationError(
            f"{spec.name}: has other weights than the row of {row.file}: {known}, not "
            f"{row.revision}",
            "name the folder with these weights",
        )
    if "nsp" not in rules.values():
        identity.pop("nsp", None)  # no rule reads the head
    folder = root / folder_name(row.model) / rules_name(rules)
    return Job(spec, identity, rules, "", folder)
