"""The rankings of a board, computed from its log, and the pages that show them.

There is one ranking for each test set and profile. Models that were scored by other rules are never
in one ranking, because a difference may come from the rules.
"""

import shutil
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from itertools import chain
from operator import itemgetter
from pathlib import Path

from curation.board import every_eval
from curation.board.about import TEMPLATES, BoardSettings, SetFacts
from curation.board.folder import Board
from curation.board.log import Closed, Entry, Opened, Rechecked, Refused, Scored, Waits, head
from curation.board.submission import REASONS
from curation.files import dump_json, dump_line, read_text, refuse_links, sweep_beside, writing
from curation.formats.table_words import FIRST, read_shipped
from curation.formats.tables import csv_text
from curation.pages.report import Report, environment, given_to
from curation.pages.tables import tables
from curation.pages.terms import slim
from curation.records import Fields
from curation.stats.metrics import METRICS, Metric, shared_metrics
from curation.version import __version__

PAGE, CONTENT, TABLE = "index.html", "results/board.json", "results/board.csv"
SUMS = "results/SHA256SUMS"  # of all other files of the pages
STYLE = Path(__file__).parent / "static" / "board.css"
COLUMNS = ("version", "profile", "rank", "change", "state", "model")  # if there are no rows
IDEAL = {metric.name: metric.ideal for metric in METRICS.values()}
"""What an ideal model would have (ACL §5.3)."""
IDEAL_MODEL = "IdealLM"  # its name among the baselines of a release
RANKED = frozenset({"rechecked", "run-by-owner"})
"""The states of rows that are ranked; the others are self-reported and differs."""


def pages(board: Board) -> dict[str, bytes]:
    """The files of a board's pages by their path in its folder: the same log gives the same bytes.

    Raises:
        CurationError: the log was changed, or the facts of a test set are damaged.
    """
    facts = {version: board.test_set(version).facts for version in board.opened()}
    content = standings(board.entries(), board.settings, facts)
    sources = {"board": (CONTENT, content)}
    given = given_to(Report(content["name"], read_shipped("report", FIRST), "en", sources))
    style = slim(given["style"] + read_text(STYLE))
    given |= {"style": style, "digest": b64encode(sha256(style.encode()).digest()).decode()}
    given["order"] = metric_order(facts.values())
    template = environment(TEMPLATES).get_template("board.html")
    made = {
        PAGE: slim(template.render(given, reasons=REASONS)).encode(),
        CONTENT: dump_json(content),
        TABLE: _csv(content),
        ".nojekyll": b"",
        **dict(every_eval.files(content)),
    }
    sums = (f"{sha256(data).hexdigest()}  {path}\n" for path, data in sorted(made.items()))
    return {SUMS: "".join(sums).encode(), **made}


def build(board: Board) -> Path:
    """Write the pages of a board. What else is in the folder of Every Eval Ever is deleted.

    Returns:
        The first page.

    Raises:
        CurationError: the log was changed, or a file or folder of the pages is a link.
    """
    made = pages(board)
    for path in (*made, every_eval.FOLDER):
        refuse_links(board.root / path, below=board.root)
    shutil.rmtree(board.root / every_eval.FOLDER, ignore_errors=True)
    for path, data in made.items():
        sweep_beside(board.root / path)  # of a build that was killed
        with writing(board.root / path) as file:
            file.write(data)
    return board.root / PAGE


def metric_order(sets: Iterable[SetFacts]) -> list[str]:
    """The metrics in the order of the columns of a ranking: first the one that it is by."""
    first = ranking_metric(kind for each in sets for kind in each.kinds)
    return sorted(METRICS, key=lambda name: first is None or name != first.name)


def _csv(content: Fields) -> bytes:
    """Every row of every ranking: what is in an object of its own has columns with its name."""
    rows = [
        {"version": test_set["version"], "profile": ranking["profile"]}
        | {**row, "recheck": row["recheck"] or {}, "values": {}}
        | {**row["values"]["overall"], **row["values"], "overall": {}}
        for test_set in content["sets"]
        for ranking in test_set["rankings"]
        for row in ranking["rows"]
    ]
    return tables({"board": rows}, private=False)[0].data if rows else csv_text([COLUMNS]).encode()


def standings(
    entries: Sequence[Entry], settings: BoardSettings, facts: Mapping[str, SetFacts]
) -> Fields:
    """The rankings of all test sets of a board, and what became of the other submissions.

    It depends on nothing but its arguments: not on the day on which it is called.

    Args:
        entries: the log.
        settings: ``board.toml``.
        facts: what is known of each test set, by version.

    Returns:
        The content of ``results/board.json``; docs/board.md describes its fields.
    """
    last = entries[-1].date if entries else ""
    opened = [entry for entry in entries if isinstance(entry, Opened)]
    own = {each.version: [e for e in entries if e.version == each.version] for each in opened}
    sets = [_test_set(own[v], settings, facts[v], last) for v in reversed(own)]
    about = {"id", "name", "contact", "rotates", "expires"}
    return {
        "curation": __version__,
        **settings.model_dump(mode="json", include=about),
        "opened": opened[0].date if opened else "",
        "last": last,
        "lines": len(entries),
        "head": head([*map(dump_line, entries[-1:])]),
        "ideal": IDEAL,
        "sets": sorted(sets, key=lambda each: not each["open"]),
    }


def _test_set(
    entries: Sequence[Entry], settings: BoardSettings, facts: SetFacts, last: str
) -> Fields:
    """A test set: its facts, its rankings, and its submissions without a score."""
    opened = next(entry for entry in entries if isinstance(entry, Opened))
    closed = next((entry for entry in entries if isinstance(entry, Closed)), None)
    scored = [entry for entry in entries if isinstance(entry, Scored)]
    profiles = (() if closed else settings.profiles, (each.profile for each in scored))
    rankings = [_ranking(entries, each, facts) for each in dict.fromkeys(chain(*profiles))]
    limits = [n for n in (facts.rows, settings.rows) if n is not None]
    days = date.fromisoformat(closed.date if closed else last) - date.fromisoformat(opened.date)
    known = facts.model_dump(mode="json", exclude={"rows", "sums"})
    return {
        **known,
        "baselines": [each for each in known["baselines"] if each["model"] != IDEAL_MODEL],
        "open": closed is None,
        "opened": opened.date,
        "closed": closed and closed.date,
        "revealed": closed and closed.revealed,
        "days": days.days,
        "rows": {
            "used": len(scored),
            "allowed": None if facts.rows is None else min(limits),
            "ranked": sum(ranking["ranked"] for ranking in rankings),
        },
        "rankings": rankings,
        "waiting": _waiting(entries),
        "refused": _refused(entries),
    }


def _ranking(entries: Sequence[Entry], profile: str, facts: SetFacts) -> Fields:
    """The ranking of a profile: ranked rows, the highest first, then the others by name."""
    days = [entry.date for entry in entries if isinstance(entry, Scored | Rechecked)]
    before = [entry for entry in entries if entry.date < max(days, default="")]
    old = {row["submission"]: row["rank"] for row in _rows(before, profile, facts)}
    rows = _rows(entries, profile, facts)
    ranked = 0
    for row in (row for row in rows if row["rank"]):
        then, ranked = old.get(row["submission"]), ranked + 1
        row |= {"new": not then, "change": then and then - row["rank"]}
    return {"profile": profile, "ranked": ranked, "rows": rows}


def _rows(entries: Sequence[Entry], profile: str, facts: SetFacts) -> list[Fields]:
    """The rows of a profile with their ranks, in the order of the page.

    Without an interval, the value of a row may be anything.
    """
    ranking = ranking_metric(facts.kinds)
    by = ranking.name if ranking else ""
    checks = {each.submission: each for each in entries if isinstance(each, Rechecked)}
    rows = [
        _row(entry, checks.get(entry.submission), facts)
        for entry in entries
        if isinstance(entry, Scored) and entry.profile == profile
    ]
    ranked = [row for row in rows if row["state"] in RANKED]
    intervals = [row["values"]["overall"][f"{by}_ci"] or (0.0, 100.0) for row in ranked]
    for row, rank in zip(ranked, ranks(intervals), strict=True):
        row["rank"] = rank
    ranked.sort(key=lambda row: (row["rank"], -row["values"]["overall"][by], row["model"]))
    others = (row for row in rows if row["state"] not in RANKED)
    return ranked + sorted(others, key=itemgetter("model", "revision", "submission"))


def ranking_metric(kinds: Iterable[str]) -> Metric | None:
    """The metric by which models are ranked on CATs of these kinds; None if there is none.

    It is the last one of which more is better, since later ones are computed from earlier ones.
    """
    ranking = (m for m in shared_metrics(kinds) if m.direction == "higher is better")
    return next(reversed([*ranking]), None)


def _row(entry: Scored, check: Rechecked | None, facts: SetFacts) -> Fields:
    state = "self-reported" if check is None else "rechecked" if check.agrees else "differs"
    found = {"date", "agrees", "cats", "orders", "beyond", "largest", "revision"}
    return {
        "rank": None,
        "change": None,
        "new": False,
        "state": "run-by-owner" if facts.hide == "all" else state,
        **entry.model_dump(mode="json", exclude={"previous", "what", "version", "profile"}),
        "recheck": check and check.model_dump(mode="json", include=found),
    }


def ranks(intervals: Sequence[tuple[float, float]]) -> list[int]:
    """The rank of each interval: 1 and the number of intervals that lie wholly above it.

    >>> ranks([(80, 90), (85, 95), (60, 79), (70, 81)])
    [1, 1, 3, 2]
    """
    return [1 + sum(low > high for low, _ in intervals) for _, high in intervals]


def _waiting(entries: Sequence[Entry]) -> list[Fields]:
    """The submissions that wait, each with its place in the queue."""
    queue: dict[tuple[str, str], Waits] = {}
    for entry in entries:
        if isinstance(entry, Waits):
            queue.setdefault((entry.file, entry.submission), entry)
        elif isinstance(entry, Scored | Refused):
            queue.pop((entry.file, entry.submission), None)
    waits = [each.model_dump(include={"file", "submission", "date"}) for each in queue.values()]
    return [{"place": place, **each} for place, each in enumerate(waits, 1)]


def _refused(entries: Sequence[Entry]) -> Fields:
    """The refused submissions, the latest first, and how often each reason was given."""
    refused = [entry for entry in entries if isinstance(entry, Refused)]
    fields = {"file", "submission", "date", "code", "detail"}
    return {
        "reasons": dict(Counter(entry.code for entry in refused).most_common()),
        "rows": [entry.model_dump(include=fields) for entry in reversed(refused)],
    }
