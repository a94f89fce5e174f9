"""Counts of typing and instruction checks in a campaign: kept in private, compared, erased."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.private import PRIVATE
from curation.campaign.store import open_campaign
from curation.files import read_json
from curation.kinds import CAT_KINDS, ROUND_KINDS
from curation.records import Answer, FieldTyping, InstructionChecks, Typing
from curation.rounds.platforms import pages
from curation.rounds.platforms.opening import counts_typing
from curation.rounds.platforms.web import checks
from curation.rounds.platforms.web.rounds import Plan
from curation.rounds.platforms.web.store import Store
from support.commands import set_to
from support.desk import Desk
from support.pages import join, labelled, work, written

pytestmark = pytest.mark.long
COUNTS = {"keys": 5, "pasted": 90, "left": 1, "seconds": 2.5}
WRONG = dict.fromkeys(("label_1", "label_2", "label_3"), "stereotype")


def plan_of(store: Store, round: str) -> Plan:
    plan = store.plan(round)
    assert plan is not None
    return plan


def test_traces_of_a_campaign(forked: Any, tmp_path: Path) -> None:
    own = {"items": 1, "accept_times": (), "pause_after": 0, "instruction_checks": 12}
    desk = Desk.make(forked, tmp_path / "c", decisions={"needed": 2, "of": 3}, **own)
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        whole(desk, store)


def whole(desk: Desk, store: Store) -> None:
    # Writing: the consent says that it is counted; tables, or with the setting off, it does not.
    line = pages.texts("en", None)["consent"]["typing"]
    assert plan_of(store, "w").typing
    ann, ben = join(store, desk, "w", "ann", "ben")

    def typed(task: Any, person: Any) -> dict[str, Any]:
        return written(task, person) | {"typing": {"template": COUNTS}}

    assert work(store, "w", ann, typed, 3) == 3
    assert work(store, "w", ben, typed) == 4
    assert desk.say("rounds", "pull", "w")["new"] == 7
    rows = desk.records("w/typing.jsonl", Typing)
    assert [row.annotator for row in rows] == [ann.pseudonym] * 3 + [ben.pseudonym] * 4
    template = rows[0].fields["template"]
    assert template == FieldTyping(**COUNTS, characters=template.characters)
    assert template.characters > 20
    assert (desk.rounds / "w/typing.jsonl").stat().st_mode & 0o777 == 0o600
    assert {"2-rounds/*/typing.jsonl", "2-rounds/*/checks.jsonl"} <= {*PRIVATE}
    set_to(desk.root, "typing_counts = true", "typing_counts = false")
    desk.say("rounds", "open", "intersentence", "--name", "both", "--term", "baker")
    assert not plan_of(store, "both").typing
    said = {
        round: line in next((desk.rounds / round).glob("consent-*.md")).read_text("utf-8")
        for round in ("w", "both")
    }
    assert said == {"w": True, "both": False}
    set_to(desk.root, "typing_counts = false", "typing_counts = true")
    campaign = open_campaign(desk.root)
    kinds = {kind: counts_typing(campaign, kind, "web") for kind in ROUND_KINDS}
    assert kinds == dict.fromkeys(ROUND_KINDS, False) | dict.fromkeys(CAT_KINDS, True)
    assert not counts_typing(campaign, "intersentence", "files")
    assert not counts_typing(campaign, "intersentence", "label_studio")

    # Labels: three of each item. Two people say what was meant, one chooses always the same and
    # fails two checks; one more label of each item came too late to count.
    desk.say("rounds", "open", "validation", "--name", "v")
    plan = plan_of(store, "v")
    assert (plan.instruction_checks, plan.typing) == (12, False)
    assert line not in next((desk.rounds / "v").glob("consent-*.md")).read_text("utf-8")
    one, two, bad = join(store, desk, "v", "one", "two", "bad")
    right = labelled(desk.golds())
    assert work(store, "v", one, right, 6) == 6
    assert work(store, "v", bad, lambda *_: WRONG) == 7
    assert work(store, "v", two, right) == 7
    for who, number in ((one, 0), (bad, 0), (bad, 1)):
        checks.answer(store, who.id, plan, checks.task(plan, number), WRONG, at=time.time())
    assert desk.say("rounds", "pull", "v")["new"] == 20
    rows_of = desk.records("v/checks.jsonl", InstructionChecks)
    found = {row.annotator: (row.shown, row.failed) for row in rows_of}
    assert found == {one.pseudonym: (1, 1), bad.pseudonym: (2, 2)}
    assert len(desk.records("v/answers.jsonl", Answer)) == 20

    # With all labels each item has two right votes of 3, but for one that has only one.
    failed = desk.say("decisions", "agreement")["failed_checks"]
    assert failed["people"] == 1
    assert (failed["all"]["labels"], failed["all"]["cats"]) == (60, 6)
    assert (failed["without"]["labels"], failed["without"]["cats"]) == (39, 6)
    assert failed["without"]["alpha"] == 1
    assert failed["all"]["alpha"] < 0.8
    shown = " ".join(desk.does("decisions", "agreement").out.split())
    assert "1 person failed two checks of reading in a round, and their labels count." in shown
    assert "without them: 6 CATs" in shown
    stored = (desk.root / "3-decisions/agreement.json").read_text("utf-8")
    assert bad.pseudonym in stored  # as an annotator of labels, and nowhere else
    assert stored.count(bad.pseudonym) == 1
    desk.say("rounds", "exclude", "bad", "--reason", "did not read")
    after = read_json(desk.root / "3-decisions/agreement.json")
    assert after["failed_checks"] is None
    assert desk.say("decisions", "filter")["items_kept"] == failed["without"]["cats"]

    # All of it goes with the person.
    desk.say("rounds", "withdraw", "bad", "--erase", "--yes")
    (left,) = desk.records("v/checks.jsonl", InstructionChecks)
    assert left.annotator == one.pseudonym
    desk.say("rounds", "withdraw", "ann", "--erase", "--yes")
    rows = desk.records("w/typing.jsonl", Typing)
    assert [row.annotator for row in rows] == [ben.pseudonym] * 4
