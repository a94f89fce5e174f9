"""A whole campaign on our own pages, from a review to decisions, without a browser."""

import json
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.records import Answer, Decision, Item, Label, Rejection
from curation.rounds import running
from curation.rounds.platforms.web.forms import end_code
from curation.rounds.platforms.web.store import Given, Store
from support.desk import Desk, read_csv, write_csv
from support.pages import followed, join, labelled, pseudonyms, reviewed, send, work, written

pytestmark = pytest.mark.long


def refusals(desk: Desk, round: str) -> Counter[str]:
    return Counter(r.code for r in desk.records(f"{round}/rejected.jsonl", Rejection))


def pulled(desk: Desk, round: str) -> int:
    """The new answers of a pull; a second pull brings none, and a full one neither."""
    first = desk.say("rounds", "pull", round)["new"]
    assert desk.say("rounds", "pull", round)["new"] == 0
    assert desk.say("rounds", "pull", round, "--full")["new"] == 0
    return int(first)


def bytes_of(desk: Desk) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(desk.rounds.glob("web.sqlite*")))


def test_from_review_to_decisions(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1, accept_times=(), pause_after=0)
    opened = desk.say("rounds", "open", "review", "--name", "r")
    assert (opened["platform"], opened["tasks"], opened["answers_asked"]) == ("web", 7, 21)
    assert opened["address"].startswith("http://127.0.0.1:8100/join/")
    assert desk.say("rounds", "open", "review", "--name", "r")["address"] == opened["address"]
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        whole(desk, store)


def whole(desk: Desk, store: Store) -> None:
    # Review: each of 7 terms by 3 people. One skips a term, so a fourth person gets exactly that.
    one, two, three, four = join(store, desk, "r", "rev-1", "rev-2", "rev-3", "rev-4")
    given = store.give(one, "r", at=time.time())
    assert not isinstance(given, str)
    skip = {"id": "5" * 32, "reason": "upsetting", "at": time.time()}
    assert store.skip(one, "r", given.task.id, **skip) == "new"
    assert [work(store, "r", who, reviewed) for who in (one, two, three)] == [6, 7, 7]
    assert work(store, "r", four, reviewed) == 1
    assert pulled(desk, "r") == 21 + 1  # with the skip, without consents
    assert refusals(desk, "r") == {"skipped": 1}
    assert (desk.status("r")["remaining"], desk.status("r")["people"]) == (0, 4)
    assert desk.say("rounds", "top-up", "r")["answers"] == 0
    edits = desk.say("rounds", "close", "r")["edits"]
    assert [(edit["term"], edit["action"]) for edit in edits] == [("court jester", "drop")]
    assert store.give(four, "r", at=time.time()) == "closed"
    onward = "curation rounds open intrasentence, or curation rounds open intersentence"
    assert desk.say("status")["next"] == f"curation terms select, then {onward}"
    said = desk.does("rounds", "close", "r").out
    assert said.endswith(f"\nnext: curation terms select, then {onward}\n")
    desk.say("terms", "select")
    assert desk.say("status")["next"] == onward

    # Writing: one item on each of 6 terms, of both kinds. The one that repeats another is refused.
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    ann, ben = join(store, desk, "w", "Ann", "ben@example.invalid")
    assert work(store, "w", ann, written, 3) == 3
    assert work(store, "w", ben, written) == 3
    desk.say("rounds", "open", "intersentence", "--name", "w2", "--term", "baker")
    store.admit(ben.id, "w2")
    store.consent(ben.id, "w2", at=time.time())
    assert work(store, "w2", ben, followed) == 1
    assert (pulled(desk, "w"), pulled(desk, "w2")) == (6, 1)
    items = [*desk.records("w/items.jsonl", Item), *desk.records("w2/items.jsonl", Item)]
    assert Counter(item.writer for item in items) == {ann.pseudonym: 3, ben.pseudonym: 4}
    for round in ("w", "w2"):
        desk.say("rounds", "close", round)

    # Validation: 7 items, 5 labels each. Ann does not get her own. Nobody enters by a common link.
    opened = desk.say("rounds", "open", "validation", "--name", "v")
    assert (opened["tasks"], opened["answers_asked"], opened["address"]) == (7, 35, "")
    fill = labelled(desk.golds())
    store.admit(ann.id, "v")
    store.consent(ann.id, "v", at=time.time())
    assert work(store, "v", ann, fill) == 4
    five = join(store, desk, "v", *(f"val-{n}" for n in range(5)))
    assert [work(store, "v", who, fill) for who in five] == [7, 7, 7, 7, 3]
    assert pulled(desk, "v") == 35
    assert desk.status("v")["missing"] == 0

    # The last answer is changed: a new version of it, which counts once and is paid once.
    task, past = [*store.changeable(five[4].id, "v").items()][-1]
    changed = {"label_1": "unrelated" if past.payload["label_1"] != "unrelated" else "stereotype"}
    paid = desk.status("v")["cost"]
    how = {"id": "6" * 32, "fields": changed, "at": time.time()}
    assert store.edit(five[4], "v", task, **how) == "new"
    assert desk.status("v")["next"].startswith("1 answer came after the last pull")
    assert pulled(desk, "v") == 1
    assert refusals(desk, "v") == {"superseded": 1}
    shown = next(each for each in open_campaign(desk.root).tasks["v"] if each.id == task)
    mine = {
        label.association: label
        for label in desk.records("v/labels.jsonl", Label)
        if label.annotator == five[4].pseudonym
    }
    label = mine[shown.shown[0].association]
    assert (label.value, label.seconds) == (changed["label_1"], 60.0)
    assert label.submitted_at == past.payload["submitted_at"]
    assert desk.status("v")["cost"] == paid
    how = {"id": "7" * 32, "fields": {"label_1": past.payload["label_1"]}, "at": time.time()}
    assert store.edit(five[4], "v", task, **how) == "new"  # as it was
    assert pulled(desk, "v") == 1

    # Two people's lease ends. The place of one is taken meanwhile: the answer is late, and is paid.
    bad, erased, *_ = five
    out = desk.say("rounds", "exclude", "val-0", "--reason", "copied")
    assert out["person"] == bad.pseudonym
    assert desk.say("rounds", "top-up", "v") == {
        "round": "v",
        "tasks": 7,
        "answers": 7,
        "to_export": 0,
    }
    assert desk.say("rounds", "top-up", "v")["answers"] == 0
    slow, quick = join(store, desk, "v", "slow", "quick")
    given = store.give(slow, "v", at=time.time() - 4000)
    assert not isinstance(given, str)
    assert work(store, "v", quick, fill) == 7
    assert send(store, "v", slow, given.task.id, fill(given.task, slow)) == "late"
    assert pulled(desk, "v") == 8
    assert refusals(desk, "v") == {"excluded": 7, "late": 1, "superseded": 2}
    assert desk.status("v")["missing"] == 0
    answers = desk.records("v/answers.jsonl", Answer)
    assert [a.annotator for a in answers if a.code == "late"] == [slow.pseudonym]

    assert "2-rounds/links-N.csv" in desk.refused("rounds", "withdraw", "--yes", "nobody")

    # Everything of a person goes, here and in the archive, by the name that the owner knows.
    secret = store.secret_of(erased.id)
    (desk.rounds / "links-1.csv").write_text(f"name,link\nval-1,http://x/p/{secret}\nval-2,y\n")
    assert (
        desk.say("rounds", "withdraw", "--yes", "val-1", "--erase")["erased"] == 8
    )  # with the consent
    assert (desk.rounds / "links-1.csv").read_text() == "name,link\nval-2,y\n"
    assert store.person_by_secret(secret) is None
    assert b"val-1" not in bytes_of(desk)
    assert all(erased.id not in path.read_text() for path in desk.rounds.glob("v/raw/*"))
    assert desk.status("v")["missing"] == 0  # seven answers are asked for again
    (last,) = join(store, desk, "v", "last")
    assert work(store, "v", last, fill) == 7
    assert pulled(desk, "v") == 7

    rows = read_csv(Path(desk.say("rounds", "pay")["file"]))
    paid = {row["person"]: (int(row["accepted"]), int(row["refused"])) for row in rows}
    assert paid[slow.id] == (0, 1)
    assert paid[quick.id] == (7, 0)
    assert paid[bad.id] == (7, 0)  # what would count if nobody were out
    assert erased.id not in paid
    codes = {row["person"]: row["code"].split() for row in rows}
    assert codes[quick.id] == [end_code(store.secret_of(quick.id), "v")]
    assert codes[ann.id] == [end_code(store.secret_of(ann.id), name) for name in ("w", "v")]
    assert codes[slow.id] == [end_code(store.secret_of(slow.id), "v")]  # refused, and here

    assert desk.status("v")["remaining"] == 0
    desk.say("rounds", "close", "v")
    desk.does("decisions", "filter")
    decisions = desk.records("../3-decisions/decisions.jsonl", Decision)
    assert [decision.kept for decision in decisions] == [True] * 7
    labels = desk.records("v/labels.jsonl", Label)
    assert len(labels) == 3 * 35
    own = {item.id: item.writer for item in items}
    assert not [label for label in labels if own[label.item] == label.annotator]
    sent = [json.loads(line)["payload"] for p in desk.rounds.glob("v/raw/*") for line in p.open()]
    seen = [payload["order"] for payload in sent if "order" in payload]
    assert {tuple(sorted(order)) for order in seen} == {(1, 2, 3)}
    assert len({tuple(order) for order in seen}) == 6


def test_an_answer_after_the_closing_is_named_until_it_is_pulled(
    forked: Any, tmp_path: Path
) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker", "potter"], items=1, accept_times=())
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        (ann,) = join(store, desk, "w", "ann")
        assert work(store, "w", ann, written, 1) == 1
        given = store.give(ann, "w", at=time.time())
        assert not isinstance(given, str)
        desk.say("rounds", "close", "w")
        names = "1 answer came after the last pull: curation rounds pull w"
        assert names not in desk.does("rounds", "status").out
        assert send(store, "w", ann, given.task.id, written(given.task, ann)) == "new"
    assert f"\nw: closed; {names}\n" in desk.does("rounds", "status").out
    assert desk.say("status")["next"] == f"w: closed; {names}"
    assert f"w: {names}" in desk.say("status")["warnings"]
    assert f"w: {names}" in desk.does("rounds", "pay").err
    assert [each["new"] for each in desk.say("rounds", "pull")] == [1]  # it alone has something
    assert names not in desk.does("rounds", "status").out
    assert names not in desk.does("rounds", "pay").err
    assert "no round is open" in desk.refused("rounds", "pull")


def test_without_a_name_all_open_rounds_are_meant(
    forked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=2, accept_times=())
    for name in ("w", "w2"):
        desk.say("rounds", "open", "intrasentence", "--name", name)
    desk.open("intrasentence", "f")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        for name in ("w", "w2"):
            (ann,) = join(store, desk, name, f"ann-{name}")
            work(store, name, ann, lambda *given: written(*given) | {"template": "No gap."}, 1)
    # The answers of tables are imported and not pulled, which stops nothing.
    pulled = desk.say("rounds", "pull")
    assert [(each["round"], each["new"]) for each in pulled] == [("w", 1), ("w2", 1)]
    more = desk.say("rounds", "top-up")
    assert [(each["round"], each["answers"]) for each in more] == [("w", 1), ("w2", 1), ("f", 0)]
    assert "several rounds are open" in desk.refused("rounds", "top-up", "--recall", "x")
    close = running.close_round

    def gone(campaign: Any, round: Any, **how: Any) -> Any:
        if round.name == "w":
            raise CurationError("the server is gone", "start it")
        return close(campaign, round, **how)

    monkeypatch.setattr(running, "close_round", gone)
    ran = desk.run("rounds", "close", "--json")  # one that cannot be closed does not stop others
    assert ran.code == 1
    assert "w: the server is gone" in ran.err
    assert [each["round"] for each in json.loads(ran.out)] == ["w2", "f"]
    monkeypatch.undo()
    assert "round w is closed" in desk.does("rounds", "close").out
    assert "no round is open" in desk.refused("rounds", "close")
    assert "no round is open" in desk.refused("rounds", "top-up")


def test_words_of_an_erased_writer_leave_tasks_and_plans(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=2, accept_times=())
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        ann, ben = join(store, desk, "w", "ann", "ben")
        assert work(store, "w", ann, written, 1) == work(store, "w", ben, written, 1) == 1
        assert pulled(desk, "w") == 2
        desk.say("rounds", "open", "validation", "--name", "v")
        desk.say("rounds", "open", "intrasentence", "--name", "w3")
        plan = store.plan("w3")
        assert plan is not None
        assert [len(gists) for gists in plan.earlier.values()] == [2]
        (theirs,) = (i for i in desk.records("w/items.jsonl", Item) if i.writer == ann.pseudonym)
        place = theirs.context.split()[1].encode()
        assert place in bytes_of(desk)
        assert desk.say("rounds", "withdraw", "--yes", ann.pseudonym, "--erase")["erased"] == 2
        assert place not in bytes_of(desk)
        plan = store.plan("w3")
        assert plan is not None
        assert [len(gists) for gists in plan.earlier.values()] == [1]
        (val,) = join(store, desk, "v", "val")
        assert work(store, "v", val, labelled(desk.golds())) == 1
        assert pseudonyms(desk)(ann.id) == ann.pseudonym


def test_a_refused_answer_goes_back_as_a_table(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=2, accept_times=())
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        (ann,) = join(store, desk, "w", "ann")
        same = {"template": "The baker is BLANK.", "unrelated": "octal"}
        same |= {"stereotype": "early", "anti_stereotype": "late"}
        assert work(store, "w", ann, lambda *_: same) == 2
    assert pulled(desk, "w") == 2
    assert refusals(desk, "w") == {"duplicate_item": 1}
    made = desk.say("rounds", "refused", "w", "--to", desk.out, "--format", "csv")
    (row,) = read_csv(Path(made["files"][0]))
    assert (row["annotator"], row["template"]) == (ann.id, same["template"])
    other = {"stereotype": "rude", "anti_stereotype": "polite", "template": "A baker was BLANK."}
    file = write_csv(desk.out / "back.csv", [row | other])
    assert desk.say("rounds", "import", "w", file)["new"] == 1
    assert refusals(desk, "w") == {"superseded": 1}
    assert desk.status("w")["remaining"] == 0
    assert len(desk.records("w/items.jsonl", Item)) == 2


def test_closing_brings_in_what_people_send_meanwhile(
    forked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker", "potter"], items=1, accept_times=())
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        ann, ben = join(store, desk, "w", "ann", "ben")
        given = store.give(ann, "w", at=time.time())
        assert isinstance(given, Given)
        fold, campaign, sent = running.fold_answers, open_campaign(desk.root), []

        def folding(*args: Any, **options: Any) -> None:
            fold(*args, **options)
            if not sent:  # somebody finishes a task, and nobody gets another one
                sent.append(store.give(ben, "w", at=time.time()))
                sent.append(send(store, "w", ann, given.task.id, written(given.task, ann)))

        monkeypatch.setattr(running, "fold_answers", folding)
        with campaign.lock():
            running.close_round(campaign, campaign.round("w"))
        assert sent == ["closed", "new"]
        assert len(desk.records("w/items.jsonl", Item)) == 1


def test_times_that_cannot_be_are_named_and_can_be_accepted(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=1, accept_times=())
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        (ann,) = join(store, desk, "w", "ann")
        later = time.time() + 7200  # the clock of the server was wrong
        given = store.give(ann, "w", at=later)
        assert not isinstance(given, str)
        how = {"fields": written(given.task, ann), "seconds": 60.0, "at": later}
        assert store.submit(ann, "w", given.task.id, id="a" * 32, **how) == "new"
    done = desk.does("rounds", "pull", "w")
    assert "time_impossible" in done.out
    assert "accept_times of [rounds] in campaign.toml" in " ".join(done.out.split())
    assert (desk.status("w")["remaining"], desk.status("w")["missing"]) == (1, 1)
    toml = desk.root / "campaign.toml"
    text = toml.read_text("utf-8")
    assert text.count("accept_times = []") == 1
    toml.write_text(text.replace("accept_times = []", 'accept_times = ["w"]'), "utf-8")
    assert (desk.status("w")["remaining"], desk.status("w")["refused"]) == (0, 0)


def test_a_copy_without_private_files_says_so(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=1)
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    for path in desk.rounds.glob("web.sqlite*"):
        path.unlink()
    assert "is not in this copy of the campaign" in desk.refused("rounds", "pull", "w")
    assert desk.status("w")["answers"] == 0
    assert "runs on web and is open" in desk.refused("rounds", "export", "w")
