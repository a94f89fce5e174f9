"""People in rounds are excluded, withdraw or are erased; nothing personal leaves the campaign."""

import csv
import io
import json
import random
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from curation.across.serving import opened_store
from curation.campaign.store import open_campaign
from curation.files import read_json
from curation.records import FLAGS, Answer, Item, Label, Person, Rejection, Task
from curation.rounds.answers.people import pseudonyms, read_key
from curation.rounds.platforms import pages
from curation.rounds.platforms.web.store import Store
from curation.text.rules import stable_id
from support.commands import set_to
from support.desk import MEANT, Desk, item_row, label_row, read_csv, told, write_csv
from support.pages import join, work, written

pytestmark = pytest.mark.long

WRITERS = ["Ann W.", "ben@example.invalid", "Chlöe", "dan"]
VALIDATORS = [f"val-{n}@Example.Invalid" for n in range(6)]


@pytest.fixture(scope="module")
def whole(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A campaign with a release: four writers, six validators, items in dev and in test."""
    desk = Desk.make(forked, tmp_path_factory.mktemp("whole") / "c", items=4)
    desk.open("intrasentence", "w")
    tasks = enumerate(desk.export("w"))  # all columns come back
    desk.bring("w", [{**task, **item_row(task, WRITERS[n % 4], n)} for n, task in tasks], "w.csv")
    desk.open("validation", "v")
    golds, tasks, rows = desk.golds(), desk.export("v"), []
    (desk.out / "v.csv").rename(desk.out / "v-sent.csv")
    for n, task in enumerate(tasks):
        rows += [{**task, **label_row(task, VALIDATORS[(n + k) % 6], golds, n)} for k in range(5)]
    desk.bring("v", rows, "v.csv")
    desk.say("rounds", "close", "v")
    desk.say("run")
    return desk


@pytest.fixture
def desk(whole: Desk, tmp_path: Path) -> Desk:
    made = whole.copy(tmp_path / "c")
    shutil.copytree(whole.out, made.out, dirs_exist_ok=True)
    return made


def name_of(desk: Desk, person: str) -> str:
    return pseudonyms(read_key(open_campaign(desk.root).settings.campaign.id))(person)


def words_of(desk: Desk, person: str) -> list[str]:
    """The words that somebody wrote; each occurs nowhere else."""
    own = [row for row in read_csv(desk.out / "w.csv") if row["annotator"] == person]
    assert own
    return [word for row in own for word in (row["template"].split()[1], *(row[n] for n in MEANT))]


def holding(root: Path, *needles: str) -> dict[str, list[str]]:
    """The files that contain a text; a licence has many words."""
    found: dict[str, list[str]] = {}
    for path in sorted(p for p in root.rglob("*") if p.is_file() and p.name != "LICENSE"):
        data = path.read_bytes()
        hits = [n for n in needles if n.encode() in data or json.dumps(n)[1:-1].encode() in data]
        if hits:
            found[path.relative_to(root).as_posix()] = hits
    return found


# --- exclude, and take it back --------------------------------------------------------------------


@pytest.mark.parametrize("person", ["Ann W.", "val-0@Example.Invalid"])
def test_an_exclusion_taken_back_leaves_no_trace(desk: Desk, content: Any, person: str) -> None:
    before = told(content, desk.root)
    said = desk.say("rounds", "exclude", person, "--reason", "asleep")
    assert said["person"] == name_of(desk, person)
    assert said["changed"]["labels"][1] < said["changed"]["labels"][0]
    during = told(content, desk.root)
    assert during != before
    refused = [r for name in "wv" for r in desk.records(f"{name}/rejected.jsonl", Rejection)]
    assert {"asleep" in r.detail for r in refused if r.code == "excluded"} == {True}
    desk.say("rounds", "exclude", person, "--undo")
    after = told(content, desk.root)
    standing = after.pop("2-rounds/standing.jsonl")
    assert [line["action"] for line in standing] == ["exclude", "readmit"]
    assert after == before


def test_items_of_somebody_who_is_out_are_asked_of_nobody(desk: Desk) -> None:
    desk.say("rounds", "open", "validation", "--name", "v")  # again
    lost = {i.id for i in desk.records("w/items.jsonl", Item) if i.writer == name_of(desk, "dan")}
    said = desk.say("rounds", "exclude", "dan", "--reason", "all copied")
    assert len(said["cats_lost"]) == len(lost)
    tasks = {t.id: t for t in desk.records("v/tasks.jsonl", Task)}
    assert desk.status("v")["remaining"] == 0  # they need nothing any more
    assert desk.say("rounds", "top-up", "v")["answers"] == 0
    # Nor are they exported with the tasks that somebody else's labels were lost on.
    desk.say("rounds", "exclude", VALIDATORS[0], "--reason", "asleep")
    assert desk.say("rounds", "top-up", "v")["answers"] == desk.status("v")["remaining"] > 0
    exported = {row["task_id"] for row in desk.export("v")}
    assert exported
    assert not {t for t in exported if tasks[t].item in lost}


def test_a_person_with_refused_answers_alone_can_be_taken_out(desk: Desk) -> None:
    said = desk.say("rounds", "open", "intrasentence", "--name", "w2", "--platform", "files")
    assert said["tasks"]
    row = item_row(desk.export("w2")[0], "eve@example.invalid", 900)
    for n, bad in enumerate((
        [{**row, "task_id": "t-of-nobody"}, {**row, "template": "No gap."}],
        [{"task_id": "", "annotator": "fay", "consent": row["consent"]}],
    )):  # fmt: skip
        desk.bring("w2", bad, f"bad-{n}.csv")
    known = {p.id for p in desk.records("people.jsonl", Person)}
    for person in ("eve@example.invalid", "fay"):
        assert name_of(desk, person) in known
        desk.say("rounds", "withdraw", "--yes", person, "--erase")
        assert holding(desk.root, person) == {}


def test_nobody_is_named_outside_the_archive_or_without_being_there(
    desk: Desk, untouched: Any
) -> None:
    people = [*WRITERS, *VALIDATORS, *(name.lower() for name in VALIDATORS)]
    named = holding(desk.root, *people)
    assert named
    assert [path for path in named if "/raw/" not in path] == []
    assert {path.stat().st_mode & 0o077 for path in desk.rounds.glob("*/raw")} == {0}
    before = untouched(desk.root)
    for person in ("nobody", "p-0000000000000000", ""):
        said = desk.refused("rounds", "withdraw", "--yes", person)
        assert f"under the name {person!r}" in said
    assert untouched(desk.root) == before


# --- withdraw, and be erased ----------------------------------------------------------------------


def counts_add_up(desk: Desk) -> None:
    """Check that everything that was ever sent counts, is refused, or was erased."""
    for round in ("w", "v"):
        events = [
            json.loads(line)
            for path in sorted((desk.rounds / round / "raw").glob("*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]
        assert [e["position"] for e in events] == list(range(len(events)))
        assert len({e["id"] for e in events}) == len(events)
        assert all(e["payload"] == {} for e in events if e["source"] == "erased")
        there = [e for e in events if e["source"] != "erased" and e["payload"].get("task_id")]
        answers = desk.records(f"{round}/answers.jsonl", Answer)
        assert len(answers) == len(there)
        refused = [a for a in answers if a.code]
        assert len(desk.records(f"{round}/rejected.jsonl", Rejection)) == len(refused)
    items = desk.records("w/items.jsonl", Item)
    labels = desk.records("v/labels.jsonl", Label)
    counted = [a for a in desk.records("v/answers.jsonl", Answer) if a.code is None]
    assert len(labels) == 3 * len(counted)
    assert {label.item for label in labels} <= {item.id for item in items}


@pytest.mark.parametrize("erase", [False, True])
@pytest.mark.parametrize("person", ["Chlöe", "val-0@Example.Invalid"])
def test_who_withdraws_is_out_for_good(desk: Desk, person: str, erase: bool) -> None:
    words = words_of(desk, person) if person in WRITERS else []
    if person == "Chlöe":
        there = {"7-release/0.1.0/test.json", "2-rounds/v/tasks.jsonl"}
        assert there <= holding(desk.root, *words).keys()
    more = ["--erase", "--releases"] if erase else []
    said = desk.say("rounds", "withdraw", "--yes", person, *more)
    assert said["released_in"] == ["0.1.0"]
    assert said["releases_deleted"] == (["0.1.0"] if erase else [])
    assert bool(said["erased"]) == erase
    counts_add_up(desk)
    out = name_of(desk, person)
    assert out not in {label.annotator for label in desk.records("v/labels.jsonl", Label)}
    assert out not in {item.writer for item in desk.records("w/items.jsonl", Item)}
    assert holding(desk.root / "3-decisions", out) == {}
    assert (desk.root / "7-release" / "0.1.0").exists() != erase
    assert "cannot be taken back" in desk.refused("rounds", "exclude", person, "--undo")
    if erase:
        assert (
            desk.say("rounds", "withdraw", "--yes", person, "--erase")["erased"] == 0
        )  # said twice
        assert holding(desk.root, person, person.lower(), *words) == {}
        barred = {"2-rounds/v/tasks.jsonl"} if words else set()
        assert set(holding(desk.root, out)) == {"2-rounds/standing.jsonl"} | barred


def test_a_second_delivery_brings_nothing_back(desk: Desk, content: Any) -> None:
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    desk.say("rounds", "open", "validation", "--name", "v")
    words = words_of(desk, "Ann W.")
    for person in ("Ann W.", VALIDATORS[1]):
        desk.say("rounds", "withdraw", "--yes", person, "--erase")
    # A platform's table has the texts of the task in each validator's row.
    assert holding(desk.rounds, *words).keys() <= {"v/tasks.jsonl"}

    def rounds() -> Any:
        return {k: v for k, v in content(desk.root).items() if k.startswith("2-rounds")}

    before = rounds()
    for round in ("w", "v"):
        said = desk.say("rounds", "import", round, desk.out / f"{round}.csv")
        assert (said["new"], said["refused"]) == (0, {})
    assert rounds() == before
    # With a column more each row is another: kept as a tombstone, and nothing of it.
    for round in ("w", "v"):
        rows = read_csv(desk.out / f"{round}.csv")
        desk.bring(round, [{**row, "batch": 2} for row in rows], f"{round}-2.csv")
    assert holding(desk.root, "Ann W.", VALIDATORS[1]) == {}
    assert holding(desk.rounds / "w", *words) == {}
    out = {name_of(desk, "Ann W."), name_of(desk, VALIDATORS[1])}
    assert not out & {a.annotator for r in "wv" for a in desk.records(f"{r}/answers.jsonl", Answer)}


def test_an_erasure_killed_anywhere_and_said_again(
    desk: Desk, content: Any, tmp_path: Path
) -> None:
    person = "Ann W."

    def draw(writes: Sequence[int]) -> list[int]:
        return sorted(random.Random(person).sample(writes, 6))

    command = ("rounds", "withdraw", "--yes", person, "--erase", "--releases")
    done, killed = desk.killed(command, tmp_path, draw)
    for own in killed:
        own.say(*command)
        found, wanted = told(content, own.root), told(content, done.root)
        # What was deleted before the kill is in the first of two lines.
        assert any(line["released"] for line in found["2-rounds/standing.jsonl"])
        for each in (found, wanted):
            (*_, last) = each["2-rounds/standing.jsonl"]
            each["2-rounds/standing.jsonl"] = [{**last, "released": "as then"}]
        assert found == wanted, own.root
        assert holding(own.root, person) == {}
        assert not (own.root / "7-release" / "0.1.0").exists()


def test_an_erasure_goes_on_by_a_name_that_only_our_pages_knew(desk: Desk, tmp_path: Path) -> None:
    """The name is gone with the person; the command that was killed has it, and is said again."""
    desk.say("rounds", "open", "review", "--name", "r", "--platform", "web")
    ann, reached = name_of(desk, "Ann W."), 0
    with opened_store(open_campaign(desk.root)) as store:
        store.add_person(lambda _: ann, ["r"], name="The Baker's Ann", at=0.0)
    command = ("rounds", "withdraw", "--yes", "The Baker's Ann", "--erase", "--releases")
    done, killed = desk.killed(command, tmp_path, lambda writes: writes[-25::3])
    for own in (*killed, done):
        with opened_store(open_campaign(own.root)) as store:
            reached += not store.people()
        assert own.say(*command)["person"] == ann
        assert not (own.root / "7-release" / "0.1.0").exists()
        assert holding(own.root, "The Baker's Ann", "Ann W.") == {}
    assert reached > 2, "none was killed after the name was gone"
    assert "nobody here" in done.refused("rounds", "withdraw", "--yes", "The Potter's Ann")


WORDS: dict[str, tuple[str, ...]] = {
    "exclude": ("exclude", "--reason", "x"),
    "withdraw": ("withdraw", "--yes"),
    "erase": ("withdraw", "--yes", "--erase", "--releases"),
}


@pytest.mark.parametrize("how", WORDS)
def test_when_nothing_is_left_to_release(desk: Desk, how: str) -> None:
    verb, *more = WORDS[how]
    words = [text for person in WRITERS for text in words_of(desk, person)]
    for person in WRITERS:
        done = desk.run("rounds", verb, person, *more)
        assert done.code == 0, (person, done.err)
    # What was released is out of date, and an erased person's words are not left in it.
    if how == "erase":
        assert holding(desk.root / "7-release", *words) == {}


def test_nobody_is_kept_in_by_a_step_that_cannot_be_done(desk: Desk) -> None:
    words = words_of(desk, "Chlöe")
    set_to(desk.root, 'reference = "wordfreq"', 'reference = "nothere"')
    assert holding(desk.root / "4-measures", *words)
    done = desk.run("rounds", "withdraw", "--yes", "Chlöe", "--erase", "--releases")
    assert done.code == 0, done.err
    assert "not all results could be computed again" in done.err
    assert holding(desk.root, *words) == {}


def test_a_release_whose_dev_part_is_empty(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=3, near=1.0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben", "cho"])
    desk.open("validation", "v")
    desk.bring("v", desk.labels("v", [f"v-{k}" for k in range(5)]))
    set_to(desk.root, "accept = []", 'accept = ["domain_in_one_split"]')
    desk.say("run")
    for how, (verb, *more) in WORDS.items():
        said = desk.copy(tmp_path / how).say("rounds", verb, "ben", *more)
        assert len(said["cats_lost"]) == 1, how


# --- what leaves us -------------------------------------------------------------------------------


def test_nothing_of_what_was_meant_or_who_wrote_leaves(whole: Desk) -> None:
    items, tasks = whole.records("w/items.jsonl", Item), whole.records("v/tasks.jsonl", Task)
    secret = {i.id for i in items} | {a.id for i in items for a in i.associations}
    secret |= {str(i.writer) for i in items} | {*WRITERS[:3]}
    secret |= {t.barred for t in tasks}
    texts = pages.texts("en", pages.read_own("en", whole.rounds / "text.toml"))
    data = json.dumps([pages.task_data(t, "validation", texts=texts) for t in tasks])
    form = pages.config("validation", texts) + pages.instruction("validation", texts)
    table, page = (
        (whole.out / f"v-{end}").read_text("utf-8") for end in ("sent.csv", "instructions.html")
    )
    for sent in (data, table, page, form):
        assert [s for s in secret if s in sent] == []
    heads = list(csv.DictReader(io.StringIO(table)).fieldnames or [])
    places = [f"{name}_{n}" for n in (1, 2, 3) for name in ("id", "text", "label")]
    flags = [f"flags.{flag}" for flag in FLAGS]
    assert heads == ["task_id", "target", "domain", "context", "answers_needed", *places, *flags,
                     "annotator", "consent"]  # fmt: skip
    assert "stereotype" not in data


def test_ids_say_nothing_without_the_key(whole: Desk) -> None:
    tasks = whole.records("v/tasks.jsonl", Task)
    shown = {s.id for t in tasks for s in t.shown} | {t.id for t in tasks}
    tries = set()
    for item in whole.records("w/items.jsonl", Item):
        for association in item.associations:
            for parts in ((association.sentence,), (item.id, association.sentence),
                          (item.id, str(association.intent)), (association.id,),
                          ("v", association.id)):  # fmt: skip
                for prefix in ("t", "a", "association", "task", "item"):
                    tries.add(stable_id(prefix, *parts)[-20:][:16])
                    tries.add(pseudonyms(b"")("\x1f".join(("sealed", prefix, *parts)))[2:])
    assert not {id.partition("-")[2][:16] for id in shown} & tries


def test_a_release_names_nobody_and_tells_no_intent(desk: Desk) -> None:
    release = desk.root / "7-release" / "0.1.0"
    writers = [name_of(desk, person) for person in WRITERS]
    (release / "LICENSE").unlink()  # its English words contain short names
    assert holding(release, *WRITERS, *VALIDATORS, *writers) == {}
    # Where validators saw it otherwise than the writer, the order must not tell what was meant.
    desk.open("intrasentence", "w2")
    desk.written("w2", ["eve", "fay"])
    desk.open("validation", "v2")
    golds = desk.golds()
    swap = {"stereotype": "anti-stereotype", "anti-stereotype": "stereotype"}
    rows = desk.labels("v2", [f"v-{k}" for k in range(5)])
    desk.bring("v2", [{name: swap.get(cell, cell) for name, cell in row.items()} for row in rows])
    set_to(desk.root, 'version = "0.1.0"', 'version = "0.2.0"')
    desk.say("run")
    orders: dict[bool, set[tuple[str, ...]]] = {True: set(), False: set()}
    for name in ("dev.json", "test.json"):
        for items in read_json(release.with_name("0.2.0") / name)["data"].values():
            for item in items:
                first, *_ = item["sentences"]
                swapped = golds[first["sentence"]] != first["gold_label"]
                orders[swapped].add(tuple(s["gold_label"] for s in item["sentences"]))
    assert not (len(orders[True]) == 1 and len(orders[False]) == 1), orders


def test_people_who_never_answered_are_not_counted(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", ["baker"], items=2, accept_times=(), pause_after=0)
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        ann, ben, _eve = join(store, desk, "w", "ann", "ben", "eve")  # eve fails the training
        assert work(store, "w", ann, written, 1) == 1
        assert work(store, "w", ben, lambda *given: written(*given) | {"template": "No."}, 1) == 1
    desk.say("rounds", "pull", "w")
    one = {"domain": "profession", "target": "baker", "kind": "intrasentence"}
    texts = {"context": "The baker BLANK.", "stereotype": "x", "anti_stereotype": "y"}
    rows = [{"annotator": "dora", **one, **texts, "unrelated": "z"}]
    heads = ["Your id", *one, "Write a sentence.", "A word", "Another word", "A third word"]
    codes = [json.dumps({"ImportId": f"QID{n}_TEXT"}) for n in range(len(heads))]
    rows[:0] = [dict(zip(rows[0], more, strict=True)) for more in (heads, codes)]
    desk.does("import", "answers", write_csv(desk.out / "others.csv", rows), "--round", "other")
    # Ann and dora. Nothing of ben's, or of what a survey tool writes below the heads, counts.
    (steps,) = [s for s in desk.say("status")["steps"] if s["step"] == "answers"]
    assert steps["counts"]["people"] == 2
    assert desk.say("rounds", "quality")["met"] == 2
    assert desk.status("w")["people"] == 1
    desk.does("pages", "build")
    made = read_json(desk.root / "8-pages/numbers/made.json")
    assert {row["name"]: row["people"] for row in made["rounds"]} == {"w": 1, "other": 1}
    assert read_json(desk.root / "8-pages/numbers/state.json")["people"] == 2
    desk.say("rounds", "exclude", "ann", "--reason", "r")
    told = desk.say("rounds", "quality")
    assert (told["excluded"], told["met"]) == (1, 2)  # whoever is out has answered all the same
