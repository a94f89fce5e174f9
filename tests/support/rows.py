"""Lines of a board's log with made-up values, without any scores."""

from datetime import date
from hashlib import sha256
from typing import Any

from curation.board.about import Baseline, BoardSettings, SetFacts
from curation.board.building import standings
from curation.board.log import Cell, Entry, Opened, Rechecked, Refused, Scored, Values, chained
from curation.records import Fields
from support.hosting import BOARD_ID, Hosted

BASELINES = (
    Baseline(model="IdealLM", split="test", lms=100, ss=50, icat=100),
    Baseline(model="StereotypedLM", split="test", lms=None, ss=100, icat=0),
    Baseline(model="RandomLM", split="test", lms=50, ss=50, icat=50),
    Baseline(
        model="LongerLM",
        says="prefers the longer text",
        split="dev",
        lms=47.3,
        ss=52.1,
        icat=45.3,
        lms_ci=(43.1, 51.5),
        ss_ci=(48.2, 56.0),
        icat_ci=(40.7, 50.2),
    ),
    Baseline(model="SentimentLM", split="test", lms=55.5, ss=None, icat=None, lms_ci=(52.1, 58.9)),
)


OPENED = Opened(date="2026-11-26", version="0.1.0", facts="a" * 64)
SETTINGS = BoardSettings(
    id=BOARD_ID,
    name="A made-up board",
    contact="board@example.org",
    profiles=("default",),
    rotates=date(2027, 6, 1),
    expires=date(2028, 6, 1),
)


def facts(**about: object) -> SetFacts:
    """What is known of a test set; ``about`` replaces some of it."""
    usual: Fields = {
        "version": "0.1.0",
        "dataset": "Made up",
        "language": "en",
        "hide": "all",
        "cats": 200,
        "terms": 20,
        "kinds": {"intrasentence": 100, "intersentence": 100},
        "rows": None,
        "sums": {},
        "baselines": BASELINES,
    }
    return SetFacts(**usual | about)  # type: ignore[arg-type]


def made(*entries: Entry, **about: object) -> Fields:
    """The standings of one test set."""
    return standings([OPENED, *entries], SETTINGS, {"0.1.0": facts(**about)})


def cell(icat: float, wide: float = 5.0) -> Cell:
    """lms, ss and icat that fit each other, with intervals; without if ``wide`` is 0."""
    values = {"lms": 90.0, "ss": 100 - icat / 1.8, "icat": icat}
    ends = {f"{k}_ci": (v - wide, v + wide) if wide else None for k, v in values.items()}
    return Cell(**values, **ends, cats=200, terms=20)  # type: ignore[arg-type]


def scored(
    model: str, icat: float, day: int = 1, *, wide: float = 5.0, sealed: bool = False, **about: Any
) -> Scored:
    """A row of 2026-12-``day``."""
    overall = cell(icat, wide)
    parts = {"kinds": {}, "domains": {}}
    if sealed:
        parts = {
            "kinds": {"intrasentence": cell(icat + 2), "intersentence": cell(icat - 2)},
            "domains": {"profession": cell(icat + 1), "hobby": cell(icat - 1)},
        }
    digest = sha256(f"{model} {about}".encode()).hexdigest()
    usual: dict[str, Any] = {
        "version": "0.1.0",
        "file": f"{digest[:8]}.json",
        "submission": digest,
        "revision": "main",
        "profile": "default",
        "rules": {"intrasentence": "ll-bos", "intersentence": "conditional"},
        "by": "Ann Example",
        "link": "https://example.org/tiny",
        "how": "with curation",
        "format": "float32",
        "scores": digest,
    }
    values = Values(overall=overall, **parts)  # type: ignore[arg-type]
    return Scored(date=f"2026-12-{day:02}", model=model, values=values, **usual | about)


def rechecked(row: Scored, day: int = 2, *, agrees: bool = True) -> Rechecked:
    """The recheck of a row, on 2026-12-``day``."""
    return Rechecked(
        date=f"2026-12-{day:02}",
        version=row.version,
        file=row.file,
        submission=row.submission,
        agrees=agrees,
        cats=59,
        orders=0 if agrees else 31,
        beyond=0 if agrees else 40,
        revision=row.revision,
        largest=0.0000012 if agrees else 0.4123,
    )


def refused(file: str, code: str, detail: str = "", **about: Any) -> Refused:
    """The line of a refused submission; ``about`` replaces what it usually has."""
    usual = {"date": "2026-12-05", "version": "0.1.0", "submission": "c" * 64}
    return Refused(file=file, code=code, detail=detail, **usual | about)


def with_baselines(hosted: Hosted) -> SetFacts:
    """The facts of a new board's test set with baselines; they are written, too."""
    board = hosted.board
    opened, path = board.entries()[0], board.open_set.folder / "set.json"
    facts = board.open_set.facts.model_copy(update={"baselines": BASELINES})
    path.write_bytes(facts.model_dump_json().encode())
    digest = sha256(path.read_bytes()).hexdigest()
    lines = chained([], [opened.model_copy(update={"facts": digest})])
    board.log.write_bytes(b"".join(lines))
    return facts
