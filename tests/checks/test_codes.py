"""Code, documentation and StereoSet's rates have the same table of pitfalls."""

import re
from pathlib import Path
from typing import get_args

from curation.checks.codes import PITFALLS
from curation.files import read_json, shipped
from curation.kinds import GOLDS
from curation.reasons import REASONS
from curation.records import Severity
from support.offenders import refuse

PAGE = (Path(__file__).parents[2] / "docs" / "measures.md").read_text("utf-8")
RATES = read_json(shipped("data", "rates", "stereoset_dev.json"))["counts"]


def documented() -> dict[str, list[str]]:
    """The rows of the table of codes, by code."""
    section = PAGE.split("\n## Pitfalls\n")[1].split("\n## ")[0]
    table = section.split("| code |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.split("\n")[2:]]
    return {row[0].strip("`"): row[1:] for row in rows}


def rate(code: str) -> str:
    """StereoSet's rate as the page has it."""
    count, of = RATES.get(code, {}).get("all", (0, 0))
    return f"{100 * count / of:.2f} %" if of else "–"


def test_every_code_is_documented_as_it_is() -> None:
    table, found = documented(), []
    for code, about in PITFALLS.items():
        cells = [about.severity, about.unit, about.says, about.fix, about.languages, rate(code)]
        if table.get(code) != cells:
            found.append(f"docs/measures.md: | {' | '.join([f'`{code}`', *cells])} |")
    refuse(found, fix="write the row of the pitfall as it is here")


def test_no_other_code_is_documented_and_every_code_has_a_rate() -> None:
    assert list(documented()) == list(PITFALLS)
    assert set(RATES) == set(PITFALLS)


def test_the_words_are_those_of_the_records() -> None:
    for code, about in PITFALLS.items():
        assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", code)
        assert about.severity in get_args(Severity)
        assert about.role in ("", *GOLDS)
        assert not (about.says + about.fix).endswith(".")


def test_what_stops_an_import_has_its_name_in_a_dataset_and_stops_a_release() -> None:
    flaws = {
        *("empty_text", "blank_missing", "blank_twice", "blank_glued", "blank_left"),
        *("target_missing", "template_not_reproduced", "same_text_twice", "duplicate_item"),
        "meta_text",
    }
    assert set(PITFALLS) & set(REASONS) == {*flaws, "near_duplicate"}
    blocking = {code for code, about in PITFALLS.items() if about.severity == "block"}
    assert blocking == {*flaws, "gold_conflict", "context_repeated_mixed"}
