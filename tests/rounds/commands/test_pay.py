"""The pay list: one row per person by their id on the platform, exact, and private."""

import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.pipeline import STEPS
from curation.rounds.answers import archive
from curation.rounds.answers.people import KEYS, key_path
from support.commands import set_to
from support.desk import Desk, Row, item_row, read_csv, write_csv

pytestmark = pytest.mark.long
WRITERS = ["=Ann()", "Ben@example.invalid", "chris"]
VALIDATORS = [f"val-{n}" for n in range(3)]
WORDS = {"stereotype": "early", "anti_stereotype": "late", "unrelated": "blue"}
ITEM = {"domain": "profession", "target": "baker", "context": "The baker is BLANK today.", **WORDS}


def bring_items(desk: Desk, name: str, *rows: Row) -> None:
    """Answers that came without tasks."""
    file = write_csv(desk.out / f"{name}.csv", list(rows))
    desk.say("import", "answers", file, "--round", name)


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Two rounds with refused and skipped answers, and answers that came without tasks."""
    desk = Desk.make(
        forked, tmp_path_factory.mktemp("pay") / "c", ["baker", "potter", "tailor"],
        items=3, consent=False, pay_write=0.1, pay_label=0.333, currency="EUR",
    )  # fmt: skip
    desk.open("intrasentence", "w")
    rows = [item_row(row, WRITERS[n % 3], n) for n, row in enumerate(desk.export("w"))]
    rows[0]["template"] = "There is no gap here."
    rows[1] |= {"seconds": "", "annotator": WRITERS[1].lower()}  # the same person
    rows[2] |= dict.fromkeys(("template", "stereotype", "anti_stereotype", "unrelated"), "")
    desk.bring("w", rows)
    desk.open("validation", "v")
    labels = desk.labels("v", VALIDATORS)
    labels[0]["seconds"] = 1
    desk.bring("v", labels, "v.csv")
    own = {**ITEM, "writer": "dora", "item_id": "own-1", "seconds": 30}
    gapless = {**own, "context": "No gap for a baker.", "kind": "intrasentence"}
    bring_items(desk, "main", own, {**gapless, "item_id": "own-2"}, {**gapless, "writer": " "})
    label = {"item_id": "own-1", "validator": "val-0", "label": "unrelated"}
    words = enumerate(WORDS.values(), 10)
    bring_items(desk, "main", *({**label, "association": word, "seconds": n} for n, word in words))
    return desk


def paid(desk: Desk, *rounds: str) -> tuple[Any, dict[str, Row]]:
    said = desk.say("rounds", "pay", *rounds)
    return said, {row["person"]: row for row in read_csv(Path(said["file"]))}


def test_everybody_has_one_row_by_their_id(desk: Desk) -> None:
    said, people = paid(desk)
    assert said["file"] == str(desk.rounds / "pay.csv")
    # A spreadsheet would run the first id; an e-mail address has one spelling.
    assert list(people) == ["'=Ann()", "Ben@example.invalid", "chris", "dora", *VALIDATORS]
    ann, ben, chris = list(people.values())[:3]
    assert ann["accepted in w (intrasentence)"] == "2"
    assert (ann["accepted"], ann["refused"], ann["amount"]) == ("2", "1", "0.20")
    assert (ann["minutes"], ann["timed"], ann["amount_refused"]) == ("2.0", "2", "0.10")
    # 0.1 * 3 is not 0.3 in binary numbers.
    assert (ben["accepted"], ben["amount"], ben["currency"]) == ("3", "0.30", "EUR")
    assert (ben["minutes"], ben["timed"]) == ("2.0", "2")
    assert (chris["accepted"], chris["refused"]) == ("2", "0")  # nobody is paid for skips
    # Three labels of an item are one answer, in one row or in three.
    val = people["val-0"]
    assert (val["accepted in v (validation)"], val["accepted in main (labels)"]) == ("6", "1")
    assert (val["refused"], val["amount"], val["amount_refused"]) == ("1", "2.331", "0.333")
    dora = people["dora"]
    assert (dora["accepted in main (items)"], dora["refused"], dora["amount"]) == ("1", "1", "0.10")
    assert dora["minutes"] == "0.5"


def test_what_came_several_times_is_one_answer(desk: Desk) -> None:
    desk.open("intrasentence", "w2")
    rows = [item_row(task, "eve", n) for n, task in enumerate(desk.export("w2")[:2])]
    for row in rows:  # with times, each would be a later version of the first
        del row["submitted_at"]
    for n, heading in enumerate(("templat", "tmpl", "a text")):
        wrong = [{heading if k == "template" else k: v for k, v in row.items()} for row in rows]
        assert desk.bring("w2", wrong, f"wrong-{n}.csv")["refused"] == {"missing_field": 2}
    own = {**ITEM, "writer": "fay", "target": "potter", "context": "A potter is there."}
    for note in "abc":
        row = {**own, "kind": "intrasentence", "submitted_at": "2026-05-03T10:00:00Z", "note": note}
        bring_items(desk, "main", row)
    people = paid(desk)[1]
    assert [people[who]["refused"] for who in ("eve", "fay")] == ["2", "1"]
    desk.bring("w2", rows, "right.csv")
    bring_items(desk, "main", {**own, "context": "A potter is BLANK.", "note": "d"})
    said, people = paid(desk)
    check_costs(desk, said)
    for who, answers, pay in (("eve", "2", "0.20"), ("fay", "1", "0.10")):
        row = people[who]
        assert (row["accepted"], row["refused"], row["amount"]) == (answers, "0", pay)


def test_pay_for_an_hour_of_work(desk: Desk) -> None:
    set_to(desk.root, "wage_floor = 0.0\n", "wage_floor = 15.0\n")
    said, people = paid(desk)
    # Ann: three answers of 60 seconds at minutes 0, 3 and 6, and two gaps of 120, are 420 seconds
    # for 0.20. Ben has a third answer without a time: it has the usual 60, and 0.30 for them.
    # Chris: two answers, one gap, 240 seconds, 0.20. Dora: two items, one of them refused, are 60
    # seconds for 0.10.
    # Val-1: seven answers of 30 seconds and six gaps of 30 are 390 seconds for 2.331. Of val-0, the
    # first one took 1 second, and an answer without a task took 12: 373 seconds for as much.
    wanted = {
        "'=Ann()": ("0.12", "1.71", "1.55"),
        "Ben@example.invalid": ("0.12", "2.57", "1.45"),
        "chris": ("0.07", "3.00", "0.80"),
        "dora": ("0.02", "6.00", "0.15"),
        "val-0": ("0.10", "22.50", "0.00"),
        "val-1": ("0.11", "21.52", "0.00"),
        "val-2": ("0.11", "21.52", "0.00"),
    }
    columns = ("hours", "hourly_wage", "top_up")
    assert {who: tuple(row[c] for c in columns) for who, row in people.items()} == wanted
    sums = {"median": "6.00", "people": 7, "below_floor": 4, "top_up": "3.95"}
    assert said["hourly_wage"] == sums
    done = desk.run("rounds", "pay")
    assert "an hour of work: 6.00 EUR (the median of 7 people whose time is known)" in done.out
    assert "4 earn less than 15.00 EUR; 3.95 EUR would bring them up to it" in done.out


def test_a_floor_without_times(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=1, consent=False, wage_floor=15.0)
    desk.open("intrasentence", "w")
    desk.bring("w", [item_row(row, "ann", 0) | {"seconds": ""} for row in desk.export("w")])
    done = desk.does("rounds", "pay")
    assert "the column seconds" in done.err
    assert "an hour of work" not in done.out
    said, people = paid(desk)
    assert said["hourly_wage"] == {"median": None, "people": 0, "below_floor": 0, "top_up": "0.00"}
    assert [people["ann"][name] for name in ("hours", "hourly_wage", "top_up")] == [""] * 3


def test_cost_against_the_budget(desk: Desk) -> None:
    assert "budget" not in desk.does("rounds", "status", "v").out
    set_to(desk.root, "budget = 0.0\n", "budget = 10.0\n")
    (cost, all_) = (
        sum(s[k] for s in desk.say("rounds", "status")) for k in ("cost", "cost_in_all")
    )
    line = f"budget: {cost:.2f} of 10.00 EUR ({100 * cost / 10:.0f} %); with the answers still "
    assert f"{line}to come {all_:.2f}" in desk.does("rounds", "status", "v").out  # of all rounds
    set_to(desk.root, "budget = 10.0\n", "budget = 5.0\n")
    assert f"{all_ - 5:.2f} more than the budget" in desk.does("rounds", "status").out


def check_costs(desk: Desk, said: Any) -> None:
    """The amounts of a round are its cost."""
    for line in said["rounds"]:
        if line["round"] != "main":
            both = Decimal(line["amount"]) + Decimal(line["amount_refused"])
            assert both == Decimal(str(desk.status(line["round"])["cost"])), line


def test_the_amounts_are_those_of_the_rounds_cost(desk: Desk) -> None:
    set_to(desk.root, "pay_write = 0.1\n", "pay_write = 7.0\n")
    said, people = paid(desk)
    check_costs(desk, said)
    lines = {line["round"]: line for line in said["rounds"]}
    # Its own pay holds for a round, the settings for answers without one.
    assert (lines["w"]["pay"], people["dora"]["amount"]) == ("0.10", "7.00")
    for name in ("amount", "amount_refused"):
        assert sum(Decimal(row[name]) for row in people.values()) == Decimal(said[name])


def test_on_label_studio_people_are_known_by_their_address(desk: Desk, made: Desk) -> None:
    task = read_csv(made.out / "v.csv")[0]["task_id"]
    texts = {"label_1": "stereotype", "label_2": "anti-stereotype", "label_3": "unrelated"}
    result = [{"from_name": name, "value": {"choices": [text]}} for name, text in texts.items()]
    whole = {"id": 7, "lead_time": 33.5, "created_at": "2026-05-03T10:00:00Z", "result": result}
    payload = {"task": task, "person": "p-017@study.invalid", "annotation": whole}
    # A terminal would obey this one.
    other = {**payload, "person": "\x1b[2J=eve\x9b1m", "annotation": {**whole, "id": 8}}
    archive.deliver(desk.rounds / "v" / "raw", "label_studio", [payload, other])
    said, people = paid(desk, "v")
    assert r"\x1b[2J=eve\x9b1m" in people
    assert Path(said["file"]).read_text("utf-8").replace("\n", "").isprintable()
    row = people["p-017@study.invalid"]
    assert (row["accepted"], row["minutes"], row["timed"]) == ("1", "0.6", "1")


def test_some_rounds_and_unknown_ones(desk: Desk) -> None:
    said, people = paid(desk, "v", "w")
    assert said["file"] == str(desk.rounds / "pay-w+v.csv")
    assert "dora" not in people
    assert people["val-0"]["accepted"] == "6"
    assert "'x' has no answers" in desk.refused("rounds", "pay", "w", "x")
    assert not (desk.rounds / "pay.csv").exists()
    long = [f"{n}" * 99 for n in "rst"]
    for name in long:
        context = f"A {name} is BLANK."
        bring_items(desk, name, {**ITEM, "target": name, "context": context, "writer": "x"})
    said, people = paid(desk, *long)
    assert Path(said["file"]).name.startswith("pay-3-rounds-")
    assert people["x"]["accepted"] == "3"


def test_people_who_are_out_are_marked_and_their_work_counts(desk: Desk) -> None:
    _, before = paid(desk)
    desk.say("rounds", "exclude", "chris", "--reason", "copied")
    desk.say("rounds", "withdraw", "--yes", "val-1")
    said, after = paid(desk)
    for person, code in (("chris", "excluded"), ("val-1", "withdrawn")):
        assert after[person] == {**before[person], "standing": code}
    amounts = {code: (n["people"], n["amount"]) for code, n in said["standing"].items()}
    assert amounts == {
        "excluded": (1, before["chris"]["amount"]),
        "withdrawn": (1, before["val-1"]["amount"]),
    }
    check_costs(desk, said)
    done = desk.run("rounds", "pay")
    assert "of these, excluded: 1 person, 0.20 EUR; decide whether you pay them" in done.out


def test_erased_answers_cannot_be_paid_by_name(desk: Desk) -> None:
    desk.say("rounds", "withdraw", "--yes", "val-1", "--erase")
    said, people = paid(desk)
    assert "val-1" not in people
    assert said["erased"] == 7
    done = desk.run("rounds", "pay")
    assert "7 lines of the archive are erased" in done.err
    assert "use an earlier list" in done.err


def test_when_there_is_no_list(desk: Desk, forked: Any, monkeypatch: Any, tmp_path: Path) -> None:
    bare = Desk.make(forked, tmp_path / "bare", ["baker"], items=1)
    bare.open("intrasentence", "w")
    assert "there are no answers yet" in bare.refused("rounds", "pay")
    with monkeypatch.context() as patch:
        (tmp_path / "keys").mkdir()
        patch.setenv(KEYS, str(tmp_path / "keys"))
        said = desk.refused("rounds", "pay")
        assert str(key_path(open_campaign(desk.root).settings.campaign.id)) in said
        assert f"set {KEYS} to its folder" in said
    for raw in desk.rounds.glob("*/raw"):
        shutil.rmtree(raw)
    assert "the raw answers are not here" in desk.refused("rounds", "pay")
    assert not list(desk.rounds.glob("pay*"))


def test_nothing_of_the_list_leaves_the_campaign(desk: Desk) -> None:
    shown = str(desk.run("rounds", "pay"))
    said, people = paid(desk)
    assert not [id for id in people if id.removeprefix("'") in shown + str(said)]
    file = Path(said["file"])
    assert file.stat().st_mode & 0o777 == 0o600
    first = file.read_bytes()
    file.chmod(0o644)
    paid(desk, "w")
    assert file.stat().st_mode & 0o777 == 0o600  # repaired by every command that writes
    paid(desk)
    assert file.read_bytes() == first
    for words in (["init", "-q"], ["add", "-A"], ["ls-files"]):
        listed = subprocess.check_output(["git", "-C", str(desk.root), *words], text=True)
    assert "2-rounds/manifest.json" in listed
    assert "pay" not in listed
    # The archive has the ids, too; no file that is shared has any.
    for name in listed.splitlines():
        text = (desk.root / name).read_text("utf-8")
        assert not [id for id in people if id.removeprefix("'") in text], name
    for step in STEPS:  # no step reads it
        campaign = open_campaign(desk.root)
        assert campaign.relative(file) not in step.state(campaign)["inputs"], step.name
