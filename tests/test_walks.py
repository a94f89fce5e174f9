"""The walks of docs/architecture.md: a command is run for each, and its calls are followed.

A walk names functions in the order in which they begin, and each module of a stage, of ``across/``
and of ``released/`` on the way. Calls go down: to the same layer or a lower one.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from test_docs import page, section
from test_layers import GROUND, RANK

import curation
from curation.campaign.store import Campaign
from support.commands import load, set_to, well
from support.hosting import host, submission, submit
from support.offenders import refuse

CODE = f"{Path(curation.__file__).parent}/"
NAMED = re.compile(r"`([a-z_/]+\.py)`|`(\w+)\(\)`(?:\s+\(`([a-z_/]+\.py)`\))?")
EVERYWHERE = (GROUND - {"released"}) | {"campaign", "pipeline", "cli", "terminal", "__main__"}
"""What the page describes once, for all walks."""
READS = f"{CODE}campaign/store.py"
"""The module that reads datasets; walks stop where it calls a reader."""


class Call(NamedTuple):
    """A function that begins, and the module of ours that called it."""

    caller: str
    module: str
    name: str


def follow(*words: object) -> list[Call]:
    """The calls of a command that goes well, in their order."""
    load()  # what runs when a module is imported is no part of a walk
    calls = []
    reading = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal reading
        code, caller = frame.f_code, frame.f_back
        if caller is not None and caller.f_code.co_filename == READS:
            reading += {"call": 1, "return": -1}.get(event, 0)
        if event != "call" or reading or not code.co_filename.startswith(CODE):
            return
        while caller is not None and not caller.f_code.co_filename.startswith(CODE):
            caller = caller.f_back
        above = caller.f_code.co_filename if caller is not None else f"{CODE}__main__.py"
        calls.append(
            Call(above.removeprefix(CODE), code.co_filename.removeprefix(CODE), code.co_name)
        )

    sys.setprofile(note)
    try:
        well(*words)
    finally:
        sys.setprofile(None)
    return calls


def package(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def wrong_with(walk: str, calls: list[Call]) -> list[str]:
    """What a walk says wrongly: functions that do not run in this order, and modules it lacks."""
    found, last = [], 0
    named = {module or place for module, _, place in NAMED.findall(walk)}
    first: dict[str, int] = {}
    for number, call in enumerate(calls):
        first.setdefault(call.name, number)
        first.setdefault(f"{call.module} {call.name}", number)
    for _, name, place in NAMED.findall(walk):
        if not name:
            continue
        begins = first.get(f"{place} {name}" if place else name)
        if begins is None:
            found.append(f"{name}() {place}: does not run")
        elif begins < last:
            found.append(f"{name}() {place}: runs before the function that is named before it")
        else:
            last = begins
    on_the_way = {
        call.module
        for call in calls
        if call.module.endswith(".py") and package(call.module) not in EVERYWHERE  # no templates
    }
    found += [f"{module}: is not named" for module in sorted(on_the_way - named)]
    return found


def climbs(calls: list[Call]) -> set[str]:
    """Calls of a function in a higher layer by its name.

    A campaign is given steps and readers, and ``terminal/`` is given as the reporter.
    """
    return {
        f"{c.caller} calls {c.name}() in {c.module}"
        for c in calls
        if RANK[package(c.caller)] < RANK[package(c.module)]
        and not c.name.startswith("<")
        and package(c.caller) != "campaign"
        and package(c.module) != "terminal"
    }


def an_answer(tmp: SimpleNamespace) -> tuple[object, ...]:
    well("import", "answers", tmp.small.writers, "-c", tmp.campaign.root)
    return ("import", "answers", tmp.small.validators, "-c", tmp.campaign.root)


def a_cat(tmp: SimpleNamespace) -> tuple[object, ...]:
    set_to(tmp.finished, "count_writer = false", "count_writer = true")
    return ("decisions", "split", "-c", tmp.finished)


def a_release(tmp: SimpleNamespace) -> tuple[object, ...]:
    set_to(tmp.finished, 'version = "0.1.0"', 'version = "0.2.0"')
    return ("release", "build", "-c", tmp.finished)


def a_page(tmp: SimpleNamespace) -> tuple[object, ...]:
    (tmp.finished / "8-pages" / "report.html").unlink()
    return ("pages", "build", "-c", tmp.finished)


def a_submission(tmp: SimpleNamespace) -> tuple[object, ...]:
    hosted = host(tmp.path / "board", cats=60)
    submit(hosted, submission(hosted, hosted.scores()))
    return ("board", "score", "--board", hosted.board.root, "--campaign", hosted.campaign.root)


WALKS: dict[str, Callable[[SimpleNamespace], tuple[object, ...]]] = {
    "## An answer: from a row of a table to a label": an_answer,
    "## A CAT: from items to a split": a_cat,
    "## A release: from a campaign to a folder": a_release,
    "## A report page: from results to HTML": a_page,
    "## A submission: from a file to a row of a board": a_submission,
}


@pytest.mark.long
@pytest.mark.parametrize("heading", WALKS)
def test_a_walk_is_as_the_page_says(
    heading: str, campaign: Campaign, small: Any, finished: Path, tmp_path: Path
) -> None:
    given = SimpleNamespace(campaign=campaign, small=small, finished=finished, path=tmp_path)
    calls = follow(*WALKS[heading](given))
    refuse(wrong_with(section(page("architecture.md"), heading), calls), fix="correct the walk")
    refuse(sorted(climbs(calls)), fix="call downwards; what is needed from above is passed in")


def test_what_is_wrong_in_a_walk_is_seen() -> None:
    calls = [Call("cli/a.py", "scores/runs.py", "one"), Call("files.py", "scores/b.py", "two")]
    walk = "`two()` and `one()` (`scores/runs.py`), then `three()`"
    assert wrong_with(walk, calls) == [
        "one() scores/runs.py: runs before the function that is named before it",
        "three() : does not run",
        "scores/b.py: is not named",
    ]
    assert climbs(calls) == {"files.py calls two() in scores/b.py"}
