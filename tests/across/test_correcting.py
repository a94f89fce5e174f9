"""Corrections of texts, withdrawals that ask, and folders of tables."""

import json
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
import typer

from curation.records import Item, Rejection
from curation.rounds.platforms.web.store import Store
from curation.terminal.console import confirm
from curation.text.rules import stable_id
from support.desk import Desk, item_row, label_row, write_csv

pytestmark = pytest.mark.long
WRITERS, VALIDATORS = ["ann", "ben"], [f"val-{n}" for n in range(5)]
TARGET = {stable_id("term", "profession", name): name for name in ("baker", "potter")}
WHO = ("--by", "dr. Sari", "--why", "a typing error")


@pytest.fixture(scope="module")
def labelled(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Four items with five labels each, decided; the round of validation is still open."""
    root = tmp_path_factory.mktemp("correct") / "c"
    desk = Desk.make(forked, root, ["baker", "potter"], items=2, consent=False)
    desk.open("intrasentence", "w")
    desk.written("w", WRITERS)
    desk.open("validation", "v")
    desk.bring("v", desk.labels("v", VALIDATORS), "v.csv")
    desk.does("decisions", "agreement")
    desk.does("decisions", "split")
    return desk


@pytest.fixture
def desk(labelled: Desk, tmp_path: Path) -> Desk:
    return labelled.copy(tmp_path / "c")


def items(desk: Desk) -> list[Item]:
    return desk.records("w/items.jsonl", Item)


def correct(desk: Desk, item: str, field: str, text: str, *more: Any) -> Any:
    return desk.say(
        "rounds", "correct", item, "--field", field, "--text", text, *WHO, "--yes", *more
    )


def test_a_word_is_changed_and_labelled_again(desk: Desk) -> None:
    first = items(desk)[0]
    raw = [path.read_bytes() for path in desk.rounds.glob("w/raw/*")]
    said = correct(desk, first.id, "stereotype", "friendly")
    sentence = first.context.replace("BLANK", "friendly")
    assert said["texts"] == [{"before": first.associations[0].sentence, "after": sentence}]
    # Five validators labelled the word; their labels on the other two still count.
    assert (said["labels_lost"], said["was_cat"], said["asked_in"]) == (5, True, ["v"])
    assert said["changed"]["CATs"] == [4, 3]
    assert said["changed"]["labels"] == [60, 55]
    new = items(desk)[0]
    assert [a.id for a in new.associations] == [a.id for a in first.associations]
    assert new.associations[0].sentence == sentence
    assert raw == [path.read_bytes() for path in desk.rounds.glob("w/raw/*")]
    lines = desk.records("v/rejected.jsonl", Rejection)
    assert [line.code for line in lines] == ["text_changed"] * 5
    (line,) = (desk.rounds / "corrections.jsonl").read_text("utf-8").splitlines()
    assert "dr. Sari" not in line
    assert (desk.rounds / "corrections.jsonl").stat().st_mode & 0o777 == 0o600
    # The same round asks for the new labels: one task with the new words.
    status = desk.status("v")
    assert (status["void"], status["remaining"]) == (1, 5)
    (task,) = desk.export("v")
    assert sentence in [task[f"text_{n}"] for n in (1, 2, 3)]
    golds = desk.golds()
    desk.bring("v", [label_row(task, f"new-{n}", golds, n) for n in range(5)], "again.csv")
    desk.does("decisions", "split")
    assert len((desk.root / "3-decisions/cats.jsonl").read_text("utf-8").splitlines()) == 4


def test_a_new_context_takes_the_words_along(desk: Desk) -> None:
    first = items(desk)[0]
    words = [a.sentence.split()[-1] for a in first.associations]
    said = correct(desk, first.id, "context", f"Every {TARGET[first.term]} I know is BLANK.")
    assert [a.sentence for a in items(desk)[0].associations] == [
        f"Every {TARGET[first.term]} I know is {word}" for word in words
    ]
    assert said["labels_lost"] == 15
    # Another correction, after that: of one word only.
    correct(desk, first.id, "unrelated", "green")
    assert items(desk)[0].associations[2].sentence.endswith("I know is green.")


def test_what_changes_no_word_keeps_the_labels(desk: Desk) -> None:
    first = items(desk)[0]
    text = first.context.upper().replace("blank", "BLANK")
    asked = desk.run("rounds", "correct", first.id, "--field", "context", "--text", text, *WHO)
    assert "every label still counts" in asked.out
    said = correct(desk, first.id, "context", text)
    assert (said["labels_lost"], said["asked_in"], said["changed"]) == (0, [], {})


def test_a_correction_of_a_pilot_says_how_to_label_it_again(desk: Desk) -> None:
    first = items(desk)[0]
    desk.does("rounds", "close", "v")
    path = desk.rounds / "w" / "round.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"pilot": True}), "utf-8")
    more = ("rounds", "correct", first.id, "--field", "stereotype", *WHO, "--yes", "--text")
    said = desk.does(*more, "friendly").out
    again = "curation rounds open validation --of w --name pilot-again"
    assert f"next: {again}\n" in said
    # Nobody has labelled the new word yet.
    assert "every label still counts\n" in desk.does(*more, "nice").out
    desk.does(*again.split()[1:], "--platform", "files")


def test_an_item_that_came_without_a_task(desk: Desk) -> None:
    row = {"item_id": "own-1", "domain": "profession", "target": "baker", "writer": "dora"}
    row |= {"context": "A baker came in.", "stereotype": "He was kind.", "unrelated": "It rains."}
    rows = [row | {"anti_stereotype": "He was rude."}]
    desk.say("import", "answers", write_csv(desk.out / "own.csv", rows), "--round", "main")
    label = {"item_id": "own-1", "validator": "zoe", "label": "stereotype"}
    labels = [label | {"association": text} for text in ("He was kind.", "It rains.")]
    desk.say("import", "answers", write_csv(desk.out / "own-l.csv", labels), "--round", "main")
    said = correct(desk, "own-1", "stereotype", "He was  friendly.")
    assert said["texts"] == [{"before": "He was kind.", "after": "He was friendly."}]
    assert (said["labels_lost"], said["was_cat"], said["asked_in"]) == (1, False, [])
    association = desk.records("main/items.jsonl", Item)[0].associations[1]
    assert correct(desk, "own-1", association.id, "He was loud.")["texts"][0]["after"]
    # Then it is the same text as that of another item, which came later.
    twin = rows[0] | {"item_id": "own-2", "context": "A baker went out."}
    desk.say("import", "answers", write_csv(desk.out / "twin.csv", [twin]), "--round", "main")
    correct(desk, "own-1", "stereotype", "He was kind.")
    correct(desk, "own-1", "anti_stereotype", "He was rude.")
    assert correct(desk, "own-1", "context", "A baker went out.")["items_refused"] == ["own-2"]


def test_on_our_own_pages_people_get_the_new_words(labelled: Desk, tmp_path: Path) -> None:
    desk = labelled.copy(tmp_path / "c")
    first = items(desk)[0]
    correct(desk, first.id, "stereotype", "friendly")
    desk.say("rounds", "close", "v")
    desk.say("rounds", "open", "validation", "--name", "v1", "--common-link")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        (old,) = store.loads("v1")
        assert correct(desk, first.id, "stereotype", "polite")["asked_in"] == ["v1"]
        loads = store.loads("v1")
        assert {id == old: load.asked for id, load in loads.items()} == {True: 0, False: 5}
        plan = store.plan("v1")
        assert plan is not None
        assert plan.common_link


def test_a_correction_that_is_stopped_can_be_repeated(desk: Desk, tmp_path: Path) -> None:
    first = items(desk)[0]
    command = ("rounds", "correct", first.id, "--field", "stereotype", "--text", "friendly", *WHO)
    _, copies = desk.killed(
        (*command, "--yes"), tmp_path, lambda writes: [*writes[:22:5], writes[30]]
    )
    for own in copies:
        again = own.run(*command, "--yes")
        assert again.code == 0 or "has this text already" in again.err
        status = own.status("v")
        assert (status["void"], status["remaining"], status["asked"]) == (1, 5, 25), own.root


def test_it_asks(desk: Desk) -> None:
    first = items(desk)[0]
    command = ("rounds", "correct", first.id, "--field", "stereotype", "--text", "friendly", *WHO)
    assert "add --yes in scripts" in desk.run(*command).err
    assert "add --yes in scripts" in desk.run("rounds", "withdraw", "ann").err
    assert not list(desk.rounds.glob("corrections.jsonl"))
    assert not list(desk.rounds.glob("standing.jsonl"))
    shown = desk.does(*command, "--yes").out
    assert "5 labels by 5 people no longer count" in shown
    assert "it is a CAT now, and is not one until it has new labels" in shown
    assert "v asks for labels of the new words" in shown


@pytest.mark.parametrize("answer", [True, False])
def test_what_is_answered_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, answer: bool
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, err: answer)
    with nullcontext() if answer else pytest.raises(typer.Exit):
        confirm("Correct it?", yes=False)
    assert ("nothing was changed" in capsys.readouterr().out) is not answer


def test_what_a_withdrawal_will_do(desk: Desk) -> None:
    shown = desk.run("rounds", "withdraw", "ann").err
    # Ann wrote two of the four items, all CATs, with 15 labels each.
    assert "gave 2 answers. None will count" in shown
    assert "2 items, with 30 labels of others; 2 CATs are among them and will be lost" in shown
    shown = desk.run("rounds", "withdraw", "val-1", "--erase").err
    assert "12 labels on items of others; 4 CATs have such labels and may be lost" in shown
    assert "the answers are erased from the archive" in shown


def test_corrections_that_cannot_be(desk: Desk) -> None:
    first = items(desk)[0]
    target = TARGET[first.term]

    def refused(item: str, field: str, text: str, *who: str) -> str:
        given = ("--field", field, "--text", text, *(who or WHO), "--yes")
        return desk.refused("rounds", "correct", item, *given)

    assert "no item 'item-9'" in refused("item-9", "context", "x")
    assert "has no text 'template'" in refused(first.id, "template", "x")
    assert "would be refused (blank_missing)" in refused(first.id, "context", f"No gap, {target}.")
    assert "would be refused (same_text_twice)" in refused(
        first.id, "unrelated", first.associations[0].sentence
    )
    assert "has this text already" in refused(first.id, "context", first.context)
    assert "--why is empty" in refused(first.id, "context", "x", "--by", "a", "--why", " ")
    assert not list(desk.rounds.glob("corrections.jsonl"))
    edits = desk.root / "1-terms/edits.csv"
    edits.write_text(f"domain,term,action,into,note\nprofession,{target},drop,,\n", "utf-8")
    said = refused(first.id, "context", f"A {target} is BLANK.")
    assert f"item {first.id} is about '{target}', which is not a term of the campaign" in said
    assert "edits.csv" in said


def test_the_last_word_is_the_writers_and_an_erasure_takes_corrections_along(desk: Desk) -> None:
    first = items(desk)[0]
    correct(desk, first.id, "stereotype", "friendly")
    lines = desk.rounds / "corrections.jsonl"
    later = lines.read_text("utf-8").replace('"friendly"', '"friendlier"')
    lines.write_text(lines.read_text("utf-8") + later.replace(first.id, "item-gone"), "utf-8")
    desk.does("rounds", "status")
    left_out = desk.records("w/rejected.jsonl", Rejection)
    assert [(r.code, r.record["item"]) for r in left_out] == [("unknown_item", "item-gone")]
    desk.say("rounds", "withdraw", "--yes", "ann", "--erase")
    assert "friendly" not in lines.read_text("utf-8")


def test_a_folder_of_tables(desk: Desk) -> None:
    desk.open("intrasentence", "w2")
    tables = desk.tables("w2", ["eve", "fay"])
    folder = desk.out / "back"
    folder.mkdir()
    for name, (who, tasks) in zip(("eve.csv", "FAY.CSV"), tables.items(), strict=True):
        write_csv(folder / name, [item_row(t, who, n) for n, t in enumerate(tasks)])
    write_csv(folder / "other.csv", [{"name": "x", "place": "y"}])
    write_csv(folder / "empty.csv", [row | {"annotator": ""} for row in tables["eve"]])
    (folder / "~$eve.xlsx").write_bytes(b"lock")
    write_csv(folder / "w2-who-gets-which.csv", [{"file": "x", "person": "y"}])
    done = desk.run("rounds", "import", "w2", folder)
    assert done.code == 1
    assert "w2: 4 new" in done.out
    assert f"{folder}: not imported: empty.csv, other.csv" in done.err
    assert "no column task_id" in done.err
    assert "nobody has filled in a row" in done.err
    for name in ("other", "empty"):
        (folder / f"{name}.csv").unlink()
    assert desk.say("rounds", "import", "w2", folder) == {
        **{"round": "w2", "new": 0, "known": 4, "refused": {}}
    }
    for path in [*folder.glob("*.csv"), *folder.glob("*.CSV")]:
        path.unlink()
    assert "no table in it" in desk.refused("rounds", "import", "w2", folder)
