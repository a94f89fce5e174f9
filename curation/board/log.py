"""The log of a board: one line for each thing that happened. Nothing in it is ever changed.

Each line has the sha256 of the line before it, so nobody can change a line without changing all
later ones. The sha256 of the last line is the *head*: if you keep it, you can check later that the
log still begins in the same way.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, TypeAdapter, ValidationError

from curation.campaign.settings import Hide, Version
from curation.files import CurationError, dump_line, read_bytes
from curation.kinds import Kind
from curation.records import Cat, Record
from curation.text.times import now

Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Day = Annotated[str, AfterValidator(lambda day: str(date.fromisoformat(day)))]
NONE = "0" * 64  # what the first line has in place of the sha256 of the line before


def read_day() -> date:
    """The day in UTC, which new lines have."""
    return date.fromisoformat(now()[:10])


class Figures(Record):
    """Metrics with intervals over terms, in points; None if secret, or if the CATs lack them."""

    lms: float | None = None
    ss: float | None = None
    icat: float | None = None
    lms_ci: tuple[float, float] | None = None
    ss_ci: tuple[float, float] | None = None
    icat_ci: tuple[float, float] | None = None


class Cell(Figures):
    """Metrics, and on how many CATs and terms they were computed."""

    cats: int
    terms: int


class Values(Record):
    """What a row shows. With hidden labels: overall, rounded to one decimal, and no parts."""

    overall: Cell
    kinds: dict[Kind, Cell]
    domains: dict[str, Cell]


class _Line(Record):
    previous: Hash = NONE
    date: Day


class Opened(_Line):
    """A test set was opened. ``facts`` is the sha256 of its ``set.json``."""

    what: Literal["opened"] = "opened"
    version: Version
    facts: Hash


class _Submitted(_Line):
    """About a submission: its file in ``submissions/`` and the file's sha256."""

    version: Version
    file: str
    submission: Hash


class Waits(_Submitted):
    """A submission waits: the rows of the test set are used up, or its model is not scored yet."""

    what: Literal["waits"] = "waits"


class Refused(_Submitted):
    """A submission gets no score, with a code of ``data/board/reasons.toml``."""

    what: Literal["refused"] = "refused"
    code: str
    detail: str


class Scored(_Submitted):
    """A submission has a score.

    ``scores`` is the sha256 of its scores by association: with hidden labels that of the
    submission, which has them; for a sealed test set that of a file that is published when the set
    is closed.
    """

    what: Literal["scored"] = "scored"
    file: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\.json$")]
    model: str
    revision: str
    profile: str
    rules: dict[Kind, str]
    by: str
    link: str
    how: str
    format: str
    scores: Hash
    values: Values


class Compared(Record):
    """A comparison of a secret sample of a row's CATs with the scores of the model itself.

    Attributes:
        agrees: whether orders and scores agree within the tolerance of the number format.
        cats: how many whole CATs were compared.
        orders: how many of them have another order of the three associations.
        beyond: how many have a score beyond the tolerance.
        largest: the largest relative difference of a score.
    """

    agrees: bool
    cats: int
    orders: int
    beyond: int
    largest: float


class Rechecked(_Submitted, Compared):
    """The owner compared a row with the scores of the model itself.

    ``revision`` is that of the weights that were run: for a tag, the commit that it named then.
    """

    what: Literal["rechecked"] = "rechecked"
    revision: str


class Closed(_Line):
    """A test set was closed and revealed. ``revealed`` is the sha256 of its ``SHA256SUMS``."""

    what: Literal["closed"] = "closed"
    version: Version
    revealed: Hash


Entry = Annotated[
    Opened | Waits | Refused | Scored | Rechecked | Closed, Field(discriminator="what")
]
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)
_FIX = (
    "the log is only ever appended to: restore results/log.jsonl from version control; if you "
    "did not change it, ask the owner of the board"
)


def head(lines: Sequence[bytes]) -> str:
    """The sha256 of the last line of a log, in hex; 64 zeros if there is none."""
    return sha256(lines[-1]).hexdigest() if lines else NONE


def each_entry(lines: Iterable[bytes]) -> Iterator[tuple[Entry | None, str]]:
    """The entry of each line, and what is wrong with the line: "" if nothing."""
    before = NONE
    for line in lines:
        try:
            entry = _ENTRY.validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            yield None, f"field {'.'.join(map(str, first['loc']))!r}: {first['msg']}"
        else:
            problem = "" if dump_line(entry) == line else "is not written as curation writes it"
            if entry.previous != before:
                problem = "does not follow the line before it: one of the two was changed"
            yield entry, problem
        before = sha256(line).hexdigest()


def read_log(path: Path) -> tuple[list[Entry], list[bytes]]:
    """The entries of a log, and its lines.

    Raises:
        CurationError: there is no line, or one is not an entry, or was changed, so that the next
            one does not fit.
    """
    lines = read_bytes(path).splitlines(keepends=True) if path.exists() else []
    if not lines:
        raise CurationError(f"{path}: is lost or empty", _FIX)
    entries: list[Entry] = []
    for number, (entry, problem) in enumerate(each_entry(lines), 1):
        if problem or entry is None:
            raise CurationError(f"{path} line {number}: {problem}", _FIX)
        entries.append(entry)
    return entries, lines


def rows_of(entries: Sequence[Entry], version: str) -> list[tuple[Scored, bool]]:
    """The rows of a test set, each with whether its last recheck agrees; True without a recheck."""
    agrees = {each.file: each.agrees for each in entries if isinstance(each, Rechecked)}
    rows = (each for each in entries if isinstance(each, Scored) and each.version == version)
    return [(row, agrees.get(row.file, True)) for row in rows]


def chained(lines: Sequence[bytes], entries: Iterable[Entry]) -> list[bytes]:
    """The lines of a log with more entries, each linked to the line before it."""
    made = list(lines)
    for entry in entries:
        made.append(dump_line(entry.model_copy(update={"previous": head(made)})))
    return made


_DECIMALS = 1  # of values about hidden labels


def values(cats: Sequence[Cat], scores: Mapping[str, float], *, hide: Hide) -> Values:
    """What a row shows of a model's scores.

    Args:
        cats: all CATs of the test set, with their gold labels.
        scores: by association; a higher score means likelier.
        hide: with «labels», only what releases show of such a test set: overall values, rounded to
            one decimal. With «all», also those of kinds and domains, in full.

    Raises:
        KeyError: an association has no score.
    """
    from curation.stats.metrics import comparisons, results

    return of_results(results(comparisons(cats, scores), model=""), hide=hide)


def of_results(result: Mapping[str, Any], *, hide: Hide) -> Values:
    """What a row shows of ``metrics.results``, whose ``overall`` is not None; see ``values``."""
    if hide == "labels":
        return Values(overall=_cell(result["overall"], _DECIMALS), kinds={}, domains={})
    kinds = {kind: _cell(part["overall"]) for kind, part in result["kinds"].items()}
    domains = {name: _cell(cell) for name, cell in result["domains"].items()}
    return Values(overall=_cell(result["overall"]), kinds=kinds, domains=domains)


def _cell(cell: Mapping[str, Any], digits: int | None = None) -> Cell:
    def shown(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(shown, value))
        return value if digits is None or not isinstance(value, float) else round(value, digits)

    return Cell(**{name: shown(cell[name]) for name in Cell.model_fields if name in cell})
