"""``curation board recheck``: score a secret sample of a row's CATs with the model itself.

A CAT's *order* is what its three comparisons are: which of two associations has the higher score,
or neither. Orders decide lms, ss and icat, so a row can only be improved by other orders. Scores
show, beyond that, that they are of this model and rule at all.
"""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from curation.board.about import refused
from curation.board.folder import Board, keep_head, owner_folder
from curation.board.log import Compared, Rechecked, Scored, read_day, rows_of
from curation.board.submission import SubmissionError, read_file, read_submission
from curation.campaign.source import Source
from curation.campaign.store import Campaign
from curation.campaign.versions import gold_file
from curation.catsets.stereoset import read_cats
from curation.files import dump_json, read_json, read_records, writing
from curation.kinds import Kind
from curation.models.scoring import ModelSpec
from curation.records import Cat, Fields, Score
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
        found = compare(drawn, sent, scored, rules=made.rules, format=row.format, turned=turned)
        if made.rules != row.rules:  # the right scores under the name of another rule
            found = found.model_copy(update={"agrees": False})
        about = row.model_dump(include={"version", "file", "submission"}) | found.model_dump()
        about |= {"date": str(today or read_day()), "revision": str(known)}
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


SHARE, FOUND = 0.05, 0.95
"""A row with this share of its CATs altered is found with at least this probability."""
HONEST = 0.99
"""An honest row agrees with at least this probability."""


class Precision(NamedTuple):
    """What may differ if a model is run with the same number format on another machine.

    Attributes:
        relative: the largest relative difference of a score.
        turns: the share of CATs whose order turns, because two scores are nearly the same.
    """

    relative: float
    turns: float


PRECISIONS = {
    "float32": Precision(2e-5, 0.0),
    "float16": Precision(2e-3, 0.01),
    "bfloat16": Precision(1e-2, 0.01),
}
"""By number format.

Measured between CPU and GPU, the largest relative difference is 1.4e-6 in float32 and 1.9e-3 in
bfloat16; float16 is eight times as fine as bfloat16. The limits leave a factor of at least five. If
scores of four models on 334 CATs of StereoSet move by a normal error with 1.9e-3 as three standard
deviations, the order of 0.1 to 1.0 % of the CATs turns. In float32, none does.
"""
_LEAST = {"ratio": 50.0, "nsp": 10.0}
"""The size of the numbers, in nats, whose difference a rule's score is: it may be near 0."""


_FAR = 1e9  # a relative difference; a larger one is shown as this, so never as infinite
_MOST = 400  # CATs: more than any set needs


class Size(NamedTuple):
    """A sample: how many CATs are drawn, and how many may have another order."""

    cats: int
    turned: int


def size(cats: int, format: str) -> Size:
    """How many CATs to draw for a recheck.

    The smallest number for which both hold: of an honest row, more than ``turned`` orders turn with
    a probability of at most 1 - HONEST (binomial). If SHARE of all CATs have another order, more
    than ``turned`` of them are drawn with a probability of at least FOUND (hypergeometric).

    Args:
        cats: how many CATs the test set has.
        format: the number format of the model when it was scored.

    Returns:
        The size; all CATs if there are too few for both.

    >>> size(1_000, "float32"), size(1_000, "bfloat16"), size(10, "bfloat16")
    (Size(cats=57, turned=0), Size(cats=221, turned=6), Size(cats=10, turned=0))
    """
    import numpy as np
    from scipy.stats import binom, hypergeom

    altered, drawn = math.ceil(SHARE * cats), np.arange(1, min(cats, _MOST) + 1)
    turned = binom.ppf(HONEST, drawn, PRECISIONS[format].turns).astype(int)
    enough = hypergeom.cdf(turned, cats, altered, drawn) <= 1 - FOUND
    first = int(enough.argmax()) if enough.any() else cats - 1
    return Size(first + 1, min(int(turned[first]), altered - 1))


def compare(
    cats: Sequence[Cat],
    sent: Mapping[str, float],
    scored: Mapping[str, float],
    *,
    rules: Mapping[Kind, str],
    format: str,
    turned: int,
) -> Compared:
    """Compare the scores of a row with those of the model itself.

    Args:
        cats: the sample.
        sent: the scores of the row, by association.
        scored: those of the model; a CAT without one counts as beyond the tolerance.
        rules: by kind of CAT.
        format: the number format.
        turned: in how many CATs the order may differ.

    Returns:
        ``agrees`` if no score is beyond the tolerance, and at most ``turned`` orders differ.
    """
    orders = beyond = 0
    largest = 0.0
    for cat in cats:
        ids = [association.id for association in cat.associations]
        if any(id not in scored for id in ids):
            beyond += 1
            continue
        least = _LEAST.get(rules[cat.kind], 1.0)
        apart = max(abs(sent[id] - scored[id]) / max(abs(scored[id]), least) for id in ids)
        beyond += apart > PRECISIONS[format].relative
        orders += _order(ids, sent) != _order(ids, scored)
        largest = max(largest, min(apart, _FAR))
    agrees, largest = not beyond and orders <= turned, float(f"{largest:.3g}")
    counts = {"cats": len(cats), "orders": orders, "beyond": beyond}
    return Compared(agrees=agrees, largest=largest, **counts)


def _order(ids: Sequence[str], scores: Mapping[str, float]) -> list[int]:
    pairs = combinations((scores[id] for id in ids), 2)
    return [(a > b) - (a < b) for a, b in pairs]
