"""Predictions: files with a model's score of each sentence, by the sentence's id.

StereoSet's form is ``{"intrasentence": [{"id", "score"}], "intersentence": [...]}``. A JSON list of
such rows, JSON Lines and a CSV table with the columns id and score are read too: the gold file says
of which kind the CAT of a sentence is. A CSV table as CrowS-Pairs' ``metric.py`` writes it has the
sentences themselves, and two scores in a row.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError, read_json, read_text
from curation.formats.tables import read_csv, read_json_lines
from curation.kinds import KINDS, Kind
from curation.records import Cat
from curation.text.wording import amount

_FORMATS = "see «Predictions» in docs/formats.md for the forms that are read"


PAIR_SCORES = {"sent_more_score": "stereotype", "sent_less_score": "anti-stereotype"}
"""The columns of ``metric.py`` with scores, and whose scores they are."""


def read_predictions(path: Path, cats: Sequence[Cat] = ()) -> Iterator[tuple[str, Any]]:
    """The (id, score) pairs of a predictions file, unchecked.

    Args:
        path: a ``.jsonl`` file has one row per line; a ``.csv`` file has the columns id and score,
            or those of ``metric.py``; any other file is JSON.
        cats: the pairs whose sentences a file of ``metric.py`` has.

    Raises:
        CurationError: the file cannot be read or has another form; the message names the place.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        yield from _csv(path, cats)
        return
    for where, row in _lines(path) if suffix == ".jsonl" else _json(path):
        if not isinstance(row, dict) or "id" not in row or "score" not in row:
            raise CurationError(f"{where}: no «id» and «score»", _FORMATS)
        yield str(row["id"]), _number(row["score"])


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a JSON file, each with its place."""
    content = read_json(path)
    if isinstance(content, list) and content:
        yield from ((f"{path} [{index}]", row) for index, row in enumerate(content))
        return
    if not isinstance(content, dict) or not set(KINDS) & set(content):
        raise CurationError(
            f"{path}: not predictions: no «intrasentence» or «intersentence» list", _FORMATS
        )
    for kind in KINDS:
        rows = content.get(kind) or []
        if not isinstance(rows, list):
            raise CurationError(f"{path}: {kind} is not a list", _FORMATS)
        yield from ((f"{path} {kind}[{index}]", row) for index, row in enumerate(rows))


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    for number, row in read_json_lines(read_text(path), path):
        yield f"{path} line {number}", row


def _csv(path: Path, cats: Sequence[Cat]) -> Iterator[tuple[str, Any]]:
    columns, rows = read_csv(read_text(path), path)
    if {"sent_more", "sent_less", *PAIR_SCORES} <= set(columns):
        yield from _by_sentences(path, rows, cats)
        return
    if missing := [name for name in ("id", "score") if name not in columns]:
        raise CurationError(
            f"{path}: not predictions: no column «{missing[0]}»",
            "name the columns id and score",
        )
    for number, row in rows:
        name, cell = row.get("id", "").strip(), row.get("score")
        if not name or cell is None:
            raise CurationError(
                f"{path} line {number}: no «id» and «score»", "complete the row, or delete it"
            )
        yield name, _number(cell)


def _by_sentences(
    path: Path, rows: Iterable[tuple[int, Mapping[str, str]]], cats: Sequence[Cat]
) -> Iterator[tuple[str, Any]]:
    """Scores of pairs that are found by their sentences; a pair's second row is left out."""
    known: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for cat in cats:
        of = {a.gold: a for a in cat.associations}
        texts = tuple(
            " ".join(of[gold].sentence.split()) for gold in PAIR_SCORES.values() if gold in of
        )
        known.setdefault(texts, []).append({gold: a.id for gold, a in of.items()})
    for number, row in rows:
        texts = tuple(" ".join(row.get(n, "").split()) for n in ("sent_more", "sent_less"))
        if texts not in known:
            yield f"line {number}", None  # counted as unknown
        elif known[texts]:
            ids = known[texts].pop(0)
            for column, gold in PAIR_SCORES.items():
                yield ids[gold], _number(row.get(column))


def _number(score: Any) -> Any:
    """A score that is a number in quotation marks as that number; others as they are."""
    try:
        return float(score) if isinstance(score, str) else score
    except ValueError:
        return score


def finite(score: Any) -> float | None:
    """A score of a predictions file as a number; None if it is not a finite number.

    >>> finite(2), finite("2"), finite(float("nan")), finite(10**400)
    (2.0, None, None, None)
    """
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    try:
        value = float(score)
    except OverflowError:  # an integer above 1.8e308
        return None
    return value if math.isfinite(value) else None


class Scores(NamedTuple):
    """The scores of a predictions file.

    Attributes:
        values: by the sentence's id; a higher score means likelier.
        bad: ids whose score is not a finite number; empty unless such scores were accepted.
        unknown: the number of predictions for ids that were not wanted.
    """

    values: dict[str, float]
    bad: frozenset[str]
    unknown: int


def scores_of(
    pairs: Iterable[tuple[str, Any]],
    *,
    where: str,
    wanted: Collection[str] | None = None,
    lower_is_likelier: bool = False,
    partial: bool = False,
) -> Scores:
    """The checked scores of a predictions file.

    Args:
        pairs: (id, score) as they are in the file.
        where: the file, for errors.
        wanted: ids; predictions for other ids are counted and not checked. None: all ids.
        lower_is_likelier: the scores are perplexities or losses; their sign is changed.
        partial: leave out scores that are not finite numbers.

    Raises:
        CurationError: an id has two scores, or one that is not a finite number; names the id.
    """
    values: dict[str, float] = {}
    bad: set[str] = set()
    unknown = 0
    for name, score in pairs:
        if wanted is not None and name not in wanted:
            unknown += 1
            continue
        if name in values or name in bad:
            raise CurationError(f"{where}: two predictions for id {name}", "keep one of them")
        value = finite(score)
        if value is not None:
            values[name] = -value if lower_is_likelier else value
        elif partial:
            bad.add(name)
        else:
            raise _not_a_score(where, name, score)
    return Scores(values, frozenset(bad), unknown)


def turn_signs(values: Mapping[str, float], cats: Iterable[Cat], kind: Kind) -> dict[str, float]:
    """Scores by id with the sign of those of one kind of CAT changed."""
    ids = {a.id for cat in cats if cat.kind == kind for a in cat.associations}
    return {name: -value if name in ids else value for name, value in values.items()}


def _not_a_score(where: str, name: str, score: Any) -> CurationError:
    """The error of a prediction that is not a finite number; it shows the score's beginning."""
    shown = repr(score) if not isinstance(score, int) or abs(score) < 10**40 else "a huge number"
    shown = f"{shown[:40]}…" if len(shown) > 40 else shown
    return CurationError(
        f"{where}: the prediction for id {name} is {shown}, not a finite number",
        "score this sentence again; «curation scores predictions» and «compare» leave out its CAT "
        "with --partial",
    )


def check_complete(
    cats: Sequence[Cat], scores: Scores, *, where: str, fix: str = "score every sentence"
) -> None:
    """Raise if a sentence of the CATs has no score.

    Args:
        cats: the CATs.
        scores: of ``scores_of``.
        where: the file, for errors.
        fix: what the error advises.

    Raises:
        CurationError: a score is missing; names the first id, and counts all.
    """
    ids = [a.id for cat in cats for a in cat.associations]
    missing = [name for name in ids if name not in scores.values]
    if missing:
        raise CurationError(
            f"{where}: no prediction for id {missing[0]} "
            f"({len(missing):,} of {amount(len(ids), 'sentence')} missing)",
            fix,
        )
