"""What ``curation status`` names as the next step, along whole campaigns, by the table in the docs.

Each test walks on with the command that the line names.
"""

import json
import re
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.files import read_records
from curation.records import Cat, Item
from curation.rounds.platforms.opening import write_round
from curation.rounds.platforms.web import arrivals
from curation.rounds.platforms.web.store import Given, Store
from curation.scores.run_folder import cats_digest
from support.cats import intra
from support.commands import set_to
from support.desk import Desk, Row, item_row, label_row, read_csv
from support.pages import join, labelled, pseudonyms, reviewed, send, work, written
from support.prolific import STUDY, Played
from support.scored import likes, put, write_gold
from support.serving import serving

VALIDATORS = ("v-1", "v-2", "v-3", "v-4", "v-5")
PAGE = Path(__file__).parents[2] / "docs" / "campaign.md"
WORDS = {
    "N": r"(?:[\d,]+|N)", "ROUND": r"(?!ROUND)[\w-]+", "FILE": r"[\w.-]+", "KIND": r"\w+",
    "DATE": r"\d{4}-\d\d-\d\d", "MODEL": r"[\w/-]+", "FOLDER": r"7-release/[\d.]+", "…": ".+",
    "LANGUAGE": r"[a-z-]+", "FIELDS": r"(?:institution|contact)(?: and contact)?",
    "answers": "answers?", "items": "items?", "have": "(?:have|has)", "are": "(?:are|is)",
}  # fmt: skip
"""What a word of the table may be in a line."""


def table() -> dict[str, str]:
    """The line by state, as the page of the docs has it."""
    section = PAGE.read_text("utf-8").split("\n## What to do next\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| `next: (.+)` \|$", section, re.MULTILINE)
    assert len(rows) == len(dict(rows)) == section.count("\n| ") - 1
    return dict(rows)


LINES = table()


class Campaign:
    """A campaign whose next step is compared with the table."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def line(self) -> str:
        return str(self.desk.say("status")["next"])

    def at(self, state: str) -> None:
        """The line is that of a state of the table, and of no other one."""
        line = self.line()
        fitting = [name for name, row in LINES.items() if _pattern(row).fullmatch(line)]
        assert fitting == [state], line

    def write(self, name: str, refused: Iterable[int] = ()) -> None:
        """A round of writing, from its opening to its end."""
        desk = self.desk
        desk.open("intrasentence", name)
        self.at("nobody has the tables")
        rows = [item_row(t, f"{name}-{n}", n) for n, t in enumerate(desk.export(name))]
        self.at("tables are with people")
        for n in refused:
            rows[n]["template"] = "No gap."
        desk.bring(name, rows)

    def label(self, name: str, *more: str) -> None:
        """A round of validation, from its opening to its end."""
        desk = self.desk
        desk.open("validation", name, *more)
        self.at("nobody has the tables")
        desk.bring(name, desk.labels(name, VALIDATORS), f"{name}.csv")
        self.close(name)

    def close(self, name: str) -> None:
        self.at("a round has all its answers")
        self.desk.say("rounds", "close", name)

    def score(self) -> None:
        """A model's scores of the CATs as they are now."""
        cats = read_records(self.desk.root / "3-decisions/cats.jsonl", Cat)
        run = self.desk.root / "5-scores/model/default"
        if not run.exists():
            put(self.desk.root / "5-scores", "model", "default", likes, cats)
        of = {"of": {"sha256": cats_digest(cats)}}
        (run / "results.json").write_text(json.dumps(of), "utf-8")


def _pattern(row: str) -> re.Pattern[str]:
    parts = re.split(r"(\w+|…)", row)
    return re.compile("".join(WORDS.get(part, re.escape(part)) for part in parts))


@pytest.fixture
def desk(forked: Any, tmp_path: Path) -> Desk:
    return Desk.make(forked, tmp_path / "c", items=1)


def test_every_row_of_the_table_is_reached() -> None:
    source = Path(__file__).read_text("utf-8")
    reached = re.findall(r'\.at\(\s*"([^"]+)"', source)
    assert sorted(LINES) == sorted(set(reached))


def sheets(desk: Desk, name: str) -> list[Row]:
    """All rows of the sheets of refused answers."""
    told = desk.say("rounds", "refused", name, "--format", "csv", "--to", desk.out)
    return [row for path in told["files"] for row in read_csv(Path(path))]


def test_tables_from_terms_to_a_release(desk: Desk) -> None:
    campaign = Campaign(desk)
    campaign.at("domains have lists of words")
    desk.say("terms", "select")
    campaign.at("terms are selected")
    desk.open("review", "r")
    rows = [
        {key: task[key] for key in ("task_id", "consent")}
        | {"annotator": who, "decision": "drop" if n == 0 else "keep"}
        for n, task in enumerate(desk.export("r"))
        for who in ("a", "b", "c")
    ]
    desk.bring("r", rows)
    campaign.close("r")
    campaign.at("the review is closed, and has changed terms")
    desk.say("terms", "select")
    campaign.at("the review is closed, and terms are selected")

    campaign.write("w", refused=(0, 1, 2))
    campaign.at("answers in tables were refused, and people can correct them")
    back = sheets(desk, "w")
    campaign.at("sheets of refused answers are with people")
    for n, each in enumerate(back):
        each["template"] = f"In v{n} the {each['target']} is BLANK."
    desk.bring("w", back[1:], "back.csv")
    campaign.at("tables are with people")  # one sheet is still out
    desk.say("rounds", "top-up", "w", "--recall", back[0]["annotator"])
    campaign.at("nobody has the tables")
    (task,) = desk.export("w")
    desk.bring("w", [item_row(task, "w-9", 9)], "last.csv")
    campaign.close("w")

    campaign.at("no item has labels enough")
    desk.open("validation", "v")
    rows = desk.labels("v", VALIDATORS)
    desk.bring("v", [{**row, "seconds": 1} for row in rows[:2]] + rows[2:10], "v.csv")
    desk.say("rounds", "export", "v", "--to", desk.out, "--recall", "v.csv")
    desk.bring("v", rows[10:], "rest.csv")
    campaign.at("answers are missing that nobody was asked for")
    desk.say("rounds", "top-up", "v")
    campaign.at("nobody has the tables")
    desk.say("rounds", "close", "v")
    campaign.at("items have labels enough")
    desk.does("run")
    campaign.at("there are CATs, and no scores")
    campaign.score()
    campaign.at("the built release is older than CATs or scores")
    set_to(desk.root, 'version = "0.1.0"', 'version = "0.2.0"')
    campaign.at("the release is not built")
    desk.does("release", "build")
    campaign.at("the release is up to date")
    where = campaign.line().rpartition("; curation release check ")[2].split()[0]
    assert desk.forked("release", "check", desk.root / where).code == 0

    item, *_ = desk.records("w/items.jsonl", Item)
    change = ("--field", "unrelated", "--text", "quadrangular", "--why", "r", "--by", "me")
    desk.does("rounds", "correct", item.id, *change, "--yes")
    campaign.at("some items lack labels")
    campaign.label("v2")
    campaign.at("items have labels enough")
    desk.does("run")
    campaign.at("scores are of older CATs")
    campaign.score()
    campaign.at("the built release is older than CATs or scores")
    desk.say("rounds", "withdraw", "w-5", "--yes")
    campaign.at("scores are of older CATs")
    for who in VALIDATORS[:3]:
        desk.say("rounds", "exclude", who, "--reason", "r")
    campaign.at("no item has labels enough")
    desk.open("validation", "v3")
    campaign.at("nobody has the tables")


def test_answers_that_are_all_refused_and_labels_that_do_not_agree(desk: Desk) -> None:
    campaign = Campaign(desk)
    desk.say("terms", "select")
    campaign.write("w", refused=range(7))
    desk.say("rounds", "close", "w")
    campaign.at("all answers were refused")
    campaign.write("s")
    campaign.close("s")
    desk.open("validation", "v")
    golds, tasks = desk.golds(), desk.export("v")
    desk.bring(
        "v",
        [
            label_row(t, who, golds, n, wrong="stereotype")
            for n, t in enumerate(tasks)
            for who in VALIDATORS
        ],
    )
    campaign.close("v")
    campaign.at("items have labels enough")
    assert desk.run("run").code == 1
    campaign.at("people do not agree on any item")

    desk.open("neutral", "n")
    rows = desk.tables("n", ["x"])["x"]
    answer = {"annotator": "x", "neutral": "usual", "seconds": 40}
    desk.bring("n", [row | answer for row in rows])
    campaign.close("n")
    campaign.at("a neutral round is closed and its associations lack labels")
    path = desk.rounds / "n" / "items.jsonl"
    good = path.read_text("utf-8")
    path.write_text("{", "utf-8")
    campaign.at("settings or terms have changed, and items are not computed again")
    path.write_text(good, "utf-8")
    desk.does(*campaign.line().split("curation ")[1].split(), "--platform", "files")
    campaign.at("nobody has the tables")


def test_from_a_pilot_to_the_real_rounds(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(
        forked, tmp_path / "c", items=1, accept_times=("pilot", "pilot-validation", "w", "v")
    )
    campaign = Campaign(desk)
    desk.say("terms", "select")
    campaign.write("pilot")
    campaign.close("pilot")
    campaign.at("the items of a pilot have no labels")
    assert desk.run("run").code == 1  # nobody asked for it, and it changes nothing
    campaign.at("the items of a pilot have no labels")
    campaign.label("pilot-validation")
    campaign.at("a pilot is labelled")
    set_to(desk.root, "pay_write = 0.0", "pay_write = 0.5")
    campaign.at("a pilot is labelled, and the pay is set")
    times = ("--write-seconds", 60, "--label-seconds", 20)
    desk.does("rounds", "plan", "--budget", 100, "--floor", 10, *times)
    campaign.write("w")
    campaign.close("w")
    campaign.at("no item has labels enough")
    desk.open("validation", "v")
    campaign.at("nobody has the tables")
    set_to(desk.root, "label_seconds = 3", "label_seconds = 4")
    campaign.at("settings or terms have changed, and items are not computed again")
    desk.does("rounds", "status")
    campaign.at("nobody has the tables")


def imported(forked: Any, folder: Path, labels: Any = None) -> Campaign:
    """A campaign of one published CAT; ``labels`` gives the labels of each of its sentences."""
    desk = Desk.make(forked, folder / "c", items=1)
    cat = intra("The baker is BLANK.", "warm", "cold", "round", domain="profession", target="baker")
    path = write_gold(folder / "gold.json", [cat])
    content = json.loads(path.read_text("utf-8"))
    for sentence in content["data"]["intrasentence"][0]["sentences"] if labels else ():
        sentence["labels"] = labels(sentence["gold_label"])
    path.write_text(json.dumps(content), "utf-8")
    desk.does("import", "stereoset", path)
    return Campaign(desk)


def test_published_gold_labels_to_scores(forked: Any, tmp_path: Path) -> None:
    campaign = imported(forked, tmp_path)
    desk = campaign.desk
    campaign.at("imported items have gold labels and no votes")
    labelling = desk.copy(tmp_path / "other")
    of = re.findall(r"--of (\S+)»", campaign.line())
    labelling.open("validation", "v", "--of", *of)
    Campaign(labelling).at("nobody has the tables")
    set_to(desk.root, "trust_gold = false", "trust_gold = true")
    set_to(desk.root, "accept = []", 'accept = ["domain_in_one_split"]')
    campaign.at("items have labels enough")
    desk.does("run")
    campaign.at("there are CATs, and no scores")


def test_published_labels_that_are_too_few(forked: Any, tmp_path: Path) -> None:
    def two(gold: str) -> list[dict[str, str]]:
        return [{"human_id": f"h-{n}", "label": gold} for n in range(2)]

    campaign = imported(forked, tmp_path, two)
    campaign.at("imported items have labels, and not enough")
    (of,) = re.findall(r"--of (\w+)", campaign.line())
    campaign.desk.open("validation", "v", "--of", of)
    campaign.at("nobody has the tables")


def test_texts_and_study_come_before_a_round(desk: Desk) -> None:
    campaign, own = Campaign(desk), desk.rounds / "text.toml"
    desk.say("terms", "select")
    for language in ("sw", "en"):
        words = desk.root / "1-terms" / "jobs.txt"
        old = "en" if language == "sw" else "sw"
        set_to(desk.root, f'language = "{old}"', f'language = "{language}"')
        words.write_text(words.read_text("utf-8").replace(f": {old}", f": {language}"), "utf-8")
        desk.say("terms", "select")
        if language == "sw":
            campaign.at("no texts are shipped in the language")
            assert "sw" in desk.refused("rounds", "open", "intrasentence", "--platform", "files")
            desk.does("rounds", "texts", "sw")
            campaign.at("texts in the language are begun")
            own.unlink()
            campaign.at("no texts are shipped in the language")
    campaign.at("the texts do not name who asks")
    desk.refused("rounds", "open", "intrasentence", "--platform", "files")
    own.write_text('[study]\ninstitution = "the Academy"\n', "utf-8")
    campaign.at("the texts do not name who asks")
    own.write_text("[study", "utf-8")
    assert "text.toml" in campaign.line()
    own.write_text('[study]\ninstitution = "the Academy"\ncontact = "a@b.invalid"\n', "utf-8")
    campaign.at("terms are selected")
    # Each command that the line names works as it is.
    _, _, plan = campaign.line().partition("curation rounds plan ")
    given = plan.split(" (")[0].replace("AMOUNT", "15").replace(" N", " 100").replace(" S", " 60")
    desk.does("rounds", "plan", *given.split())
    desk.does("rounds", "ethics")
    set_to(desk.root, "pay_write = 0.0", "pay_write = 0.5")
    campaign.at("terms are selected, and the pay is set")
    desk.does("rounds", "plan", "--budget", 100)


def test_a_team_that_only_imports_answers_is_not_asked_for_texts_first(
    desk: Desk, tmp_path: Path
) -> None:
    (desk.rounds / "text.toml").unlink()
    table = tmp_path / "items.csv"
    columns = "domain,target,context,stereotype,anti_stereotype,unrelated"
    table.write_text(
        f"{columns}\nprofession,baker,The baker is BLANK today.,early,late,purple\n", "utf-8"
    )
    desk.does("import", "answers", table)
    assert Campaign(desk).line().startswith("more labels for 1 item: ")
    Campaign(desk).at("answers were imported, no round was opened, and texts or facts are missing")


def test_before_there_are_terms(forked: Any, tmp_path: Path) -> None:
    assert forked("init", tmp_path / "a", "--yes").code == 0
    Campaign(Desk(forked, tmp_path / "a")).at("a domain has properties of Wikidata")
    assert forked("init", tmp_path / "b", "--yes", "--domains", "trade").code == 0
    Campaign(Desk(forked, tmp_path / "b")).at("the settings name neither words nor properties")


class Pages(Campaign):
    """A campaign whose rounds run on our own pages."""

    @property
    def store(self) -> Any:
        return closing(Store(self.desk.rounds / "web.sqlite"))

    def open(self, kind: str, name: str, *more: Any) -> None:
        self.desk.say("rounds", "open", kind, "--name", name, *more)

    def pull(self, name: str) -> None:
        self.at("people have sent answers")
        self.desk.say("rounds", "pull", name)


def test_our_own_pages_from_writing_to_cats(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1, accept_times=(), pause_after=0)
    campaign = Pages(desk)
    desk.say("terms", "select")
    campaign.open("intrasentence", "w")
    campaign.at("our own pages never ran")
    with serving("rounds", "serve", "-c", desk.root):
        pass
    campaign.at("people can work")
    with campaign.store as store:
        ann, ben = join(store, desk, "w", "ann", "ben")
        assert work(store, "w", ann, written, 3) == 3
        campaign.pull("w")
        campaign.at("people can work")
        work(store, "w", ben, written)
        campaign.pull("w")
    campaign.close("w")
    campaign.at("no item has labels enough")
    campaign.open("validation", "v")
    campaign.at("a validation on our own pages has no link")
    desk.say("rounds", "links", "v", "--count", 6)
    campaign.at("people can work")
    golds = desk.golds()
    with campaign.store as store:
        people = [person for person in store.people() if person.id not in (ann.id, ben.id)]
        for person in people:
            store.consent(person.id, "v", at=time.time())
        for person in people[:4]:
            work(store, "v", person, labelled(golds))
        given = store.give(people[4], "v", at=time.time())
        assert isinstance(given, Given)
        campaign.pull("v")
        campaign.at("people can work")
        desk.say("rounds", "close", "v")
        fields = labelled(golds)(given.task, people[4])
        send(store, "v", people[4], given.task.id, fields)
    campaign.at("answers came to a closed round")
    desk.say("rounds", "pull", "v")
    campaign.at("items have labels enough")
    desk.does("run")
    campaign.at("there are CATs, and no scores")


def test_refused_answers_on_our_own_pages(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1, accept_times=(), pause_after=0)
    campaign = Pages(desk)
    campaign.open("intrasentence", "w")
    with campaign.store as store:
        store.set_fact("address", "https://study.example.org")  # as ``rounds serve`` does
        ann, ben = join(store, desk, "w", "ann", "ben")
        work(store, "w", ann, lambda task, who: written(task, who) | {"template": "No gap."}, 2)
        work(store, "w", ben, written, 3)
        campaign.pull("w")
        desk.say("rounds", "status", "w")
        assert campaign.line() == "w: 2 answers to come, 2 missing; curation rounds top-up w"
        one, _ = sheets(desk, "w")
        line = campaign.line()
        assert line.startswith("w: 2 answers are out (w-refused-001.csv, since 20")
        assert line.endswith("), 2 answers to come; curation rounds import w FILE")
        assert desk.say("rounds", "top-up", "w")["answers"] == 0
        one["template"] = f"In that the {one['target']} is BLANK."
        desk.bring("w", [one], "back.csv")
        assert desk.say("rounds", "top-up", "w", "--recall", "ann")["answers"] == 1
        campaign.at("people can work")
        work(store, "w", ben, written)
        campaign.pull("w")
    campaign.close("w")


def test_opening_that_was_interrupted(desk: Desk) -> None:
    campaign = Campaign(desk)
    desk.open("intrasentence", "w")
    opened = open_campaign(desk.root)
    round = opened.round("w").model_copy(update={"state": "planned"})
    write_round(opened, round)
    campaign.at("opening a round was interrupted")
    desk.does(*campaign.line().split("curation ")[1].split())
    campaign.at("nobody has the tables")


def test_people_from_prolific(forked: Any, tmp_path: Path, played: Played) -> None:
    desk = Desk.make(
        forked, tmp_path / "c", ["baker", "potter"], accept_times=(), pause_after=0, pay_review=0.1
    )
    toml = desk.root / "campaign.toml"
    toml.write_text(f"{toml.read_text('utf-8')}\n[people.review]\npeople = 3\n", "utf-8")
    campaign = Pages(desk)
    campaign.open("review", "r", "--prolific")
    with campaign.store as store:
        store.set_fact("address", "https://study.example.org")  # as ``rounds serve`` does
        campaign.at("no study on Prolific is known")
        desk.does("rounds", "study", "r")
        desk.say("rounds", "study", "r", "--id", STUDY)
        campaign.at("people can work")
        name, claims = pseudonyms(desk), [played.reserve(n) for n in (1, 2, 3)]

        def come(claim: Any, most: int) -> None:
            at = time.time()
            person = arrivals.enter(store, "r", claim, ("checked", ""), pseudonym_of=name, at=at)
            store.consent(person.id, "r", at=at)
            work(store, "r", person, reviewed, most)
            arrivals.end(store, person.id, "r", "finished", at=at)

        come(claims[0], 2)
        played.becomes("AWAITING REVIEW", claims[0])
        campaign.pull("r")
        campaign.at("submissions on Prolific are complete")
        desk.say("rounds", "approve", "r", "--yes")
        campaign.at("people can work")
        come(claims[1], 2)
        come(claims[2], 1)
        campaign.pull("r")
        campaign.at("all `people` of `[people.KIND]` came from Prolific and have ended")
        desk.say("rounds", "close", "r")
        campaign.at("the review is closed, and terms are selected")
        played.becomes("AWAITING REVIEW", *claims[1:])
        desk.say("rounds", "pull", "r")
        campaign.at("submissions to a closed round are complete")
        who = name(claims[1].participant)
        desk.say("rounds", "exclude", who, "--reason", "r")
        campaign.at("submissions to a closed round are complete")
        desk.say("rounds", "approve", "r", "--yes")
        assert played.approved == [claims[0].id, claims[2].id]
        campaign.at("the review is closed, and terms are selected")
