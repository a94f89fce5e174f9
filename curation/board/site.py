"""The pages of a board: one page, and what it shows as JSON and CSV."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from curation.board import every_eval
from curation.board.opening import TEMPLATES
from curation.files import dump_json, read_text
from curation.formats.tables import csv_text
from curation.pages.report import Report, environment, given_to
from curation.pages.tables import tables
from curation.pages.terms import slim
from curation.records import Fields

PAGE, CONTENT, TABLE = "index.html", "results/board.json", "results/board.csv"
STYLE = Path(__file__).parent / "static" / "board.css"
FIRST = ("version", "profile", "rank", "change", "state", "model")  # if there are no rows


def files(
    content: Fields, texts: Mapping[str, Any], reasons: Mapping[str, Any]
) -> Iterator[tuple[str, bytes]]:
    """All files of the pages: the path of each in the board's folder, and what is in it.

    Args:
        content: of ``ranking.standings``.
        texts: every string of the page, by section and key.
        reasons: what the codes of refused submissions mean, by code.
    """
    report = Report(content["name"], texts, "en", {"board": (CONTENT, content)})
    given = given_to(report)
    style = slim(given["style"] + read_text(STYLE))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    template = environment(TEMPLATES).get_template("board.html")
    page = template.render(given | {"style": style, "digest": digest, "reasons": reasons})
    yield PAGE, slim(page).encode()
    yield CONTENT, dump_json(content)
    yield TABLE, _csv(content)
    yield ".nojekyll", b""
    yield from every_eval.files(content)


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
    return tables({"board": rows}, private=False)[0].data if rows else csv_text([FIRST]).encode()
