"""``curation rounds plan``, and pilots: their figures are used, and their items are not data."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.decisions.steps import agreement_report
from curation.files import read_records
from curation.records import Answer, Decision, Item, Rejection, Task
from curation.rounds.answers.people import pseudonyms, read_key
from curation.rounds.planning import is_pilot
from support.commands import set_to
from support.desk import Desk, label_row, write_csv

pytestmark = pytest.mark.long
PEOPLE = ("cal", "dan", "eve", "fay", "gil")
TIMES = ("--write-seconds", "120", "--label-seconds", "30")
FILES = ("--platform", "files")


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A pilot of two items on each of six terms; one is dropped. And one term's real items."""
    root = tmp_path_factory.mktemp("plan") / "c"
    names = ("pilot-w", "Pilot-v", "w", "v")
    terms = ["baker", "potter", "fiddler", "thatcher", "wheelwright", "lamplighter"]
    desk = Desk.make(forked, root, terms, accept_times=names)
    desk.open("intrasentence", "pilot-w")
    desk.written("pilot-w", ["ann", "ben"])
    desk.open("validation", "Pilot-v")
    golds, tasks = desk.golds(), desk.export("Pilot-v")
    rows = [
        label_row(task, who, golds, n, wrong="" if n else "unrelated")
        for n, task in enumerate(tasks)
        for who in PEOPLE
    ]
    desk.bring("Pilot-v", rows)
    return desk


def test_items_of_a_pilot_become_cats_only_if_the_settings_ask_for_it(desk: Desk) -> None:
    assert json.loads((desk.rounds / "Pilot-v" / "round.json").read_text())["pilot"] is True
    desk.does("decisions", "agreement")
    path = desk.root / "3-decisions"
    decisions = read_records(path / "decisions.jsonl", Decision)
    assert [each.reason for each in decisions] == ["pilot"] * 12
    assert {each.code for each in read_records(path / "rejected.jsonl", Rejection)} == {"pilot"}
    report = json.loads((path / "agreement.json").read_text("utf-8"))
    assert (report["items"]["in"], report["items"]["labels"], report["measures"]) == (0, 0, [])
    # Somebody labels an association of a pilot twice.
    item = desk.records("pilot-w/items.jsonl", Item)[0]
    row = {"item_id": item.id, "validator": "zoe", "association": item.associations[0].sentence}
    twice = [row | {"label": "stereotype", "answer_id": str(n)} for n in (1, 2)]
    desk.say("import", "answers", write_csv(desk.out / "more.csv", twice), "--round", "more")
    desk.does("decisions", "agreement")
    said = json.loads((path / "agreement.json").read_text("utf-8"))["repeats"]
    assert set(said.values()) == {0}

    set_to(desk.root, "pilots = false", "pilots = true")
    desk.does("decisions", "agreement")
    decisions = read_records(path / "decisions.jsonl", Decision)
    assert [each.reason for each in decisions].count(None) == 11
    assert json.loads((path / "agreement.json").read_text("utf-8"))["items"]["labels"] == 180
    said = json.loads((path / "agreement.json").read_text("utf-8"))["repeats"]
    assert said["labels"] == 1


def test_pilots_label_items_of_pilots_and_no_other_round_does(desk: Desk) -> None:
    said = desk.refused("rounds", "open", "validation", "--name", "v", *FILES)
    assert "every item has its labels" in said
    said = desk.refused("rounds", "open", "validation", "--name", "v", "--of", "pilot-w", *FILES)
    assert "error: pilot-w is a pilot: items of pilots do not become CATs" in said
    assert "pilots = true in [decisions]" in said
    desk.open("intrasentence", "w", "--term", "baker")
    desk.written("w", ["hal", "ivy"])
    said = desk.refused("rounds", "open", "validation", "--name", "pilot-2", "--of", "w", *FILES)
    assert "error: pilot-2 is a pilot, and w is not" in said
    done = desk.does("rounds", "open", "validation", "--name", "v", *FILES)
    assert "2 tasks" in done.out
    assert "is a pilot" not in done.err
    said = desk.refused("rounds", "open", "validation", "--name", "pilot-2", *FILES)
    assert "open a pilot of writing first" in said


def test_a_round_says_that_it_is_a_pilot(desk: Desk) -> None:
    done = desk.does("rounds", "open", "intersentence", "--name", "pilot-x", *FILES)
    assert "pilot-x is a pilot: its items do not become CATs" in done.err
    assert is_pilot("PILOT")
    assert not is_pilot("the-pilot")


def test_a_plan_from_the_pilots_own_figures(desk: Desk) -> None:
    made = desk.say("rounds", "plan", "--budget", "100", "--floor", "15", "--people", "6")
    figures = made["figures"]
    # Of twelve items on six terms one is dropped: (5 · 1 + 1/2) / 6.
    assert figures["retention"]["mean"] == pytest.approx(5.5 / 6)
    assert figures["retention"]["source"] == "pilot-w and Pilot-v (12 items)"
    assert figures["fewer"]["mean"] == pytest.approx(0.15 * 5 + 0.85 * 3)
    assert (figures["write_paid"]["mean"], figures["label_paid"]["mean"]) == (1, 1)
    # 60 and 30 seconds at 15 an hour: 0.25, and 0.125 that is rounded up.
    assert (figures["pay_write"]["mean"], figures["pay_label"]["mean"]) == (0.25, 0.13)
    assert made["wage"] == {"write": pytest.approx(15), "label": pytest.approx(15.6)}
    # An item costs 0.25 + 5 · 0.13 = 0.90: 111 items, 55 of each kind, 9 on each of six terms.
    plan = made["plan"]
    assert (plan["whole"]["terms"], plan["items"], plan["whole"]["items"]) == (6, 9, 108)
    assert plan["cost"] == pytest.approx(97.2)
    assert plan["hours"] == {"write": pytest.approx(1.8), "label": pytest.approx(4.5)}
    assert (made["people"], made["weeks"], made["currency"]) == (6, None, "USD")
    weeks = ("--people", "2", "--hours", "1")
    assert desk.say("rounds", "plan", "--budget", "100", "--floor", "15", *weeks)["weeks"] == 4
    given = ("--retention", "0.5", "--write-seconds", "120", "--pilot", "Pilot-v")
    other = desk.say("rounds", "plan", "--budget", "100", "--floor", "15", *given)
    assert other["figures"]["retention"]["mean"] == 0.5
    assert other["figures"]["pay_write"]["mean"] == 0.5
    assert other["figures"]["labels"]["source"] == "Pilot-v (12 items)"


def test_what_is_left_of_the_budget_is_said(desk: Desk) -> None:
    # An item costs 0.90, as above: six terms with 2 items of each kind cost 21.60.
    plan = ("rounds", "plan", "--budget", "100", "--floor", "15")
    assert desk.say(*plan, "--items", "2")["left"] == pytest.approx(78.4)
    assert desk.say(*plan)["left"] == pytest.approx(2.8)
    said = " ".join(desk.does(*plan, "--items", "2").out.split())
    assert "left 78.40 of 100.00; without --items, it buys more items on each term" in said
    assert "left 2.80 of 100.00 pay" in " ".join(desk.does(*plan).out.split())
    fewer = desk.does(*plan, "--items", "2", "--terms", "90").out  # not enough for all terms
    assert "left 2.80 of 100.00 pay" in " ".join(fewer.split())


def test_an_answer_that_is_sent_again_is_paid_once(desk: Desk) -> None:
    pays = ("rounds", "plan", "--budget", "100", "--floor", "15")
    again = desk.records("Pilot-v/tasks.jsonl", Task)[0].id
    row = {"task_id": again, "annotator": "cal", "answer_id": "second", "label_1": "unrelated"}
    desk.bring("Pilot-v", [row | {"label_2": "unrelated", "label_3": "unrelated"}], "again.csv")
    answers = desk.records("Pilot-v/answers.jsonl", Answer)
    assert [each.code for each in answers if each.code] == ["second_answer"]
    assert desk.say(*pays)["figures"]["label_paid"]["mean"] == 1


@pytest.mark.parametrize("given", [("--budget", "inf"), ("--budget", "1e300"), ("--floor", "inf")])
def test_money_has_a_limit(forked: Any, tmp_path: Path, given: tuple[str, str]) -> None:
    options = {"--budget": "500", "--floor": "15", **dict([given])}
    new = Desk.make(forked, tmp_path / "c", ["baker"])
    done = new.run("rounds", "plan", *TIMES, *(word for pair in options.items() for word in pair))
    assert done.code == 2
    assert given[0] in done.err


def test_people_who_failed_checks_are_compared_on_the_same_items(desk: Desk) -> None:
    """Two items of data with five labels each, all alike; three of four labels decide them, too."""
    desk.open("intrasentence", "w", "--term", "baker")
    desk.written("w", ["hal", "ivy"])
    desk.open("validation", "v")
    desk.bring("v", desk.labels("v", PEOPLE))
    desk.does("decisions", "agreement")
    campaign = open_campaign(desk.root)
    who = pseudonyms(read_key(campaign.settings.campaign.id))("cal")
    line = {"annotator": who, "shown": 2, "failed": 2}
    (desk.rounds / "v" / "checks.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    failed = agreement_report(campaign, measures=["alpha"])["failed_checks"]
    assert failed == {
        "people": 1,
        "all": {"labels": 30, "cats": 2, "gold": 100.0, "alpha": 1.0},
        "without": {"labels": 24, "cats": 2, "gold": 100.0, "alpha": 1.0},
    }


def test_the_table_has_the_sources_and_the_paper(desk: Desk) -> None:
    set_to(desk.root, "pay_label = 0.0", "pay_label = 0.5")
    said = desk.does(
        "rounds", "plan", "--budget", "100", "--floor", "15", "--kind", "intrasentence"
    )
    text = " ".join(said.out.split())
    assert "What 100.00 USD buys" in text
    assert "pay to label an item 0.5 campaign.toml" in text
    assert "pay to write an item 0.25 the floor, 15.00 an hour (campaign.toml: 0)" in text
    assert "seconds to write an item 60 pilot-w and Pilot-v; median 60" in text
    assert "StereoSet 321 – about 26 a term, kind – 1.2" in text
    assert "weeks give --people and --hours" in text
    assert "twice the cost" in text


def test_a_plan_before_anything_is_known(forked: Any, tmp_path: Path) -> None:
    new = Desk.make(forked, tmp_path / "c", decisions={"needed": 4}, labels="needed")
    plan = ("rounds", "plan", "--budget", "500")
    assert "nothing says what people are paid" in new.refused(*plan)
    said = new.refused(*plan, "--floor", "15")
    assert "--floor needs times, and nothing says how long it takes to write an item" in said
    said = new.refused(*plan, "--floor", "15", "--write-seconds", "120")
    assert "how long it takes to label an item" in said
    said = new.refused("rounds", "plan", "--budget", "1", "--floor", "15", *TIMES)
    assert "a budget of 1.00 buys less than one item of each kind" in said
    assert "no round 'x' was opened here" in new.refused(*plan, "--pilot", "x")
    made = new.say(*plan, "--floor", "15", *TIMES)
    assert made["plan"]["domains"][0]["domain"] == "profession"
    assert made["figures"]["terms"] == {
        **{"mean": 120, "source": "StereoSet (ACL Table 1); no terms are selected here"},
        **{"error": 0, "between": 0, "within": 0, "df": 1_000_000},
    }
    assert made["figures"]["retention"]["mean"] < 0.65  # four of five must agree
    assert made["figures"]["labels"]["mean"] == made["figures"]["fewer"]["mean"] < 5
    assert new.say(*plan, "--floor", "15", *TIMES, "--terms", "7")["plan"]["whole"]["terms"] == 7
    new.does("terms", "select")
    assert new.say(*plan, "--floor", "15", *TIMES)["plan"]["whole"]["terms"] == 7
    set_to(new.root, "wage_floor = 0.0", "wage_floor = 15.0")  # it is the default of --floor
    assert new.say(*plan, *TIMES) == new.say(*plan, "--floor", "15", *TIMES)
    assert "nothing says what people are paid" in new.refused(*plan)
    set_to(new.root, "per_person_label = 0", "per_person_label = 100")
    many = new.say(*plan, "--floor", "15", *TIMES)
    assert many["people"] == -(-many["plan"]["answers"]["label"] // 100)
