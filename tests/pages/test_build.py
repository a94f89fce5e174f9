"""The report of a campaign and of gold files: what it is made of, and what it must not tell."""

import csv
import gzip
import json
import shutil
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from curation.across.people import decide_on_person
from curation.campaign.settings import new_settings
from curation.campaign.store import create_campaign, open_campaign
from curation.kinds import GOLDS
from curation.pages.steps import hides
from curation.pages.summary import numbers
from curation.pipeline import build_pages
from support.attack import chance
from support.labelled import Desk, answer
from support.scored import put
from support.written import files, lines, read

MARK = "Private: "


class Words(HTMLParser):
    """The text of a page, without its style."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.words: list[str] = []
        self.inside = ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.inside = tag

    def handle_data(self, data: str) -> None:
        if self.inside != "style":
            self.words += data.split()


@pytest.fixture
def desk(done: Desk, tmp_path: Path) -> Desk:
    return done.copy(tmp_path / "c")


def words(desk: Desk, folder: str = "8-pages") -> str:
    return " ".join(Words(desk.root / folder / "report.html").words)


def built(desk: Desk, *options: str) -> dict[str, bytes]:
    """The files of the report, after it was built."""
    desk.done("pages", "build", *options)
    return files(desk.root / "8-pages")


def summary(desk: Desk) -> Any:
    return read(desk.root / "8-pages/numbers/summary.json")


# --- what it is made of --------------------------------------------------------------------------


def test_a_campaign_before_its_first_answer(waiting: Any, forked: Any, tmp_path: Path) -> None:
    root = tmp_path / "new"
    create_campaign(root, new_settings(name="New", language="en", domains=["profession"]))
    new = Desk(forked, root)
    built(new)
    assert summary(new) == dict.fromkeys(
        ("size", "kept", "people", "agreement", "ss", "worst", "trust", "open", "cost")
    ) | {"steps": {"all": 12, "done": 0}}
    said = words(new)
    assert "No item has become a CAT yet." in said
    assert "Next step: curation terms query" in said
    assert read(root / "8-pages/numbers/state.json")["steps"]["select"]["state"] == "not yet"


def test_figures_are_those_of_the_results(desk: Desk) -> None:
    built(desk)
    cats = desk.cats()
    found = summary(desk)
    assert found["size"] == {"cats": len(cats), "terms": 5, "domains": 1}
    rows = read(desk.root / "3-decisions/agreement.json")["measures"]
    (alpha,) = (
        row
        for row in rows
        if (row["by"], row["scope"], row["classes"], row["measure"])
        == ("overall", "kept", "all", "alpha")
    )
    assert found["agreement"]["value"] == alpha["value"]
    # Ten items of two writers, all kept: Wilson's interval of 10 in 10 is from 1 / (1 + 1.96²/10).
    assert found["kept"]["items"] == len(cats) == 10
    assert found["kept"]["ci"] == pytest.approx([100 / (1 + 1.96**2 / 10), 100])
    assert found["people"] == len(lines(desk.root / "2-rounds/people.jsonl")) == 8
    assert found["ss"] is None
    assert found["worst"] is None
    assert found["trust"] is None
    assert found["open"] == 0
    said = words(desk)
    assert "10 CATs on 5 terms (domains: 1" in said
    assert "8 people have answered so far." in said
    assert "no model is scored yet" in said


def cell(ss: float, ci: list[float], *, few: bool = False) -> dict[str, Any]:
    return {"ss": ss, "ss_ci": ci, "cats": 20, "terms": 5, "few_terms": few}


def test_the_worst_domain_is_furthest_from_even_and_has_enough_terms() -> None:
    domains = {"race": cell(58, [52, 64]), "trade": cell(30, [20, 51])}
    domains["faith"] = cell(90, [60, 95], few=True)
    run = {"label": "a", "overall": cell(55, [50, 60]), "domains": domains}
    worst = numbers({"scores": {"runs": {"a/b": run}}})["worst"]
    assert (worst["domain"], worst["beyond"], worst["of"]) == ("trade", False, 2)
    one = {"label": "b", "overall": None, "kinds": {"intrasentence": run}}  # a run of one kind
    domains["trade"] = cell(30, [20, 41])
    worst = numbers({"scores": {"runs": {"b/c": one}}})["worst"]
    assert (worst["model"], worst["domain"], worst["beyond"]) == ("b", "trade", True)
    domains.pop("race"), domains.pop("trade")
    assert numbers({"scores": {"runs": {"a/b": run}}})["worst"]["few_terms"] is True


@pytest.mark.parametrize(
    ("ci", "reached"), [([0.7, 0.8], True), ([0.5, 0.6], False), ([0.6, 0.8], None)]
)
def test_agreement_is_enough_if_its_whole_interval_is(
    ci: list[float], reached: bool | None
) -> None:
    about = {"by": "overall", "classes": "all", "measure": "alpha", "ci": ci, "cats": 9}
    rows = [{**about, "scope": "kept", "value": 0.7}, {**about, "scope": "decided", "value": 0.5}]
    trust = {"thresholds": {"agreement": 0.667}, "rows": []}
    found = numbers({"agreement": {"measures": rows}, "trust": trust})["agreement"]
    assert found["reached"] is reached
    assert found["decided"]["value"] == 0.5


def test_two_builds_have_the_same_bytes_and_a_second_one_writes_nothing(
    done: Desk, tmp_path: Path, untouched: Any
) -> None:
    desk, other = done.copy(tmp_path / "c"), done.copy(tmp_path / "d")
    first = built(desk)
    before = untouched(desk.root / "8-pages")
    assert built(desk) == first
    assert untouched(desk.root / "8-pages") == before
    second = built(other)
    first.pop("manifest.json"), second.pop("manifest.json")  # it says when
    assert first == second


def test_every_table_is_a_csv_that_no_spreadsheet_runs(desk: Desk) -> None:
    built(desk)
    folder = desk.root / "8-pages"
    listed = read(folder / "numbers/tables.json")
    assert {row["file"] for row in listed} == {path.name for path in (folder / "tables").iterdir()}
    for about in listed:
        head, *rows = csv.reader((folder / "tables" / about["file"]).open(encoding="utf-8"))
        assert head == about["columns"]
        assert len(rows) == about["rows"]
    retention = read(desk.root / "3-decisions/agreement.json")["retention"]
    (own,) = (row for row in listed if row["file"] == "agreement-retention.csv")
    assert own["rows"] == len(retention)
    assert own["columns"] == [*retention[0]]
    assert "agreement-annotators.csv" not in {row["file"] for row in listed}


def test_what_is_out_of_date_is_marked(desk: Desk) -> None:
    built(desk)
    assert "Out of date:" not in words(desk)
    # The filter cannot run, so everything after it stays as it was.
    desk.set(rounds=["nobody"])
    told = desk.done("pages", "build").err
    assert "not all results are up to date, and the report marks those" in told
    assert "[decisions] rounds names 'nobody', which has no answers" in told
    assert "Out of date: out of date" in words(desk)
    assert summary(desk)["size"]["cats"] == 10


def test_status_knows_when_the_report_is_out_of_date(desk: Desk) -> None:

    def state() -> str:
        (own,) = (s for s in desk.say("status")["steps"] if s["step"] == "pages")
        return str(own["state"])

    assert state() == "not yet"
    built(desk)
    assert state() == "up to date"
    (desk.root / "7-release").mkdir(exist_ok=True)
    (desk.root / "7-release/statement.toml").write_text('description = "Trades."\n', "utf-8")
    assert state() == "out of date"
    built(desk)
    assert "Trades." in words(desk)
    put(desk.root / "5-scores", "m", "default", chance(1), desk.cats())
    assert state() == "out of date"


@pytest.mark.parametrize("lost", ["4-measures/manifest.json", "8-pages/manifest.json"])
def test_files_of_an_earlier_report_are_deleted(desk: Desk, lost: str) -> None:
    assert "tables/statistics-terms.csv" in built(desk)
    mine = {"note.txt": b"mine", "table.csv": b"1", "tables/note.txt": b"too"}
    for name, data in mine.items():
        (desk.root / "8-pages" / name).write_bytes(data)
    (desk.root / "4-measures/statistics.json").unlink()
    (desk.root / "4-measures/manifest.json").unlink()
    (desk.root / lost).unlink(missing_ok=True)
    now = built(desk)
    assert not [name for name in now if "statistics" in name]
    assert mine.items() <= now.items()


def test_no_file_behind_a_link_is_deleted(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "own.html").write_text("mine", "utf-8")
    built(desk)
    shutil.rmtree(desk.root / "8-pages/terms")
    (desk.root / "8-pages/terms").symlink_to(elsewhere)
    ran = desk.forked("pages", "build", "-c", desk.root)
    assert ran.code == 1
    assert "terms" in ran.err
    assert [path.name for path in elsewhere.iterdir()] == ["own.html"]


def test_texts_of_people_are_no_markup(desk: Desk) -> None:
    desk.set(name='<b>"A&B"<b>')
    (desk.root / "7-release").mkdir(exist_ok=True)
    said = "description = '''<script>alert(1)</script>{{ 7 }}{n}'''\n"
    (desk.root / "7-release/statement.toml").write_text(said, "utf-8")
    built(desk)
    page = (desk.root / "8-pages/report.html").read_text("utf-8")
    assert "<script" not in page
    assert "<b>&#34;" not in page
    assert '<b>"A&B"<b>' in words(desk)
    assert "<script>alert(1)</script>{{ 7 }}{n}" in words(desk)


# --- hidden gold labels --------------------------------------------------------------------------


def rotated(desk: Desk, tasks: Any, cats: Any) -> dict[str, str]:
    """What people say if each association of these CATs has the next gold label."""
    golds = desk.golds()
    texts = {a.sentence for cat in cats for a in cat.associations}
    changed = {text for text in golds if text in texts}
    assert len(changed) == 3 * len(cats)
    names = list(dict.fromkeys(golds.values()))
    assert len(names) == len(GOLDS)
    following = dict(zip(names, names[1:] + names[:1], strict=True))
    return {t: following[gold] if t in changed else gold for t, gold in golds.items()}


@pytest.fixture
def pair(waiting: Any, done: Desk, tmp_path: Path) -> tuple[Desk, Desk]:
    """Two campaigns that differ only in the labels of the CATs to hide."""
    first, (before, tasks) = done.copy(tmp_path / "a"), waiting
    other = before.copy(tmp_path / "b")
    answer(other, tasks, rotated(other, tasks, first.cats("test")))
    for words_ in (("decisions", "split"), ("decisions", "agreement"), ("measures", "statistics")):
        other.done(*words_)
    for desk in (first, other):
        put(desk.root / "5-scores", "m", "default", chance(1), desk.cats())
        desk.done("measures", "sentiment")
        desk.done("measures", "keywords")
        desk.done("measures", "pitfalls")
        desk.done("trust", "report")
    assert [c.id for c in first.cats()] == [c.id for c in other.cats()]
    assert first.cats("dev") == other.cats("dev")
    assert not [c for c in first.cats("test") if c in other.cats("test")]
    return first, other


def without_times(made: dict[str, bytes]) -> dict[str, Any]:
    """The files of a report; its manifest without the time and what depends on the folder."""
    steps = json.loads(made["manifest.json"])["steps"]
    return {**made, "manifest.json": {k: {**v, "finished_at": ""} for k, v in steps.items()}}


@pytest.mark.long
def test_the_public_report_does_not_depend_on_hidden_labels(pair: tuple[Desk, Desk]) -> None:
    first, other = pair
    open_ = [built(desk) for desk in pair]  # the attack works: without hide it sees the labels
    assert open_[0] != open_[1]
    for desk in pair:
        desk.set(hide="labels")
    made = [without_times(built(desk)) for desk in pair]
    assert made[0] == made[1]
    about_cats = ("cats", "scores", "baselines", "agreement", "sentiment", "keywords", "trust")
    assert not [name for name in made[0] if name.split("/")[-1].startswith(about_cats)]
    assert "there is nothing to say of the CATs" in words(first)
    assert summary(first)["size"] is None
    # With a built release, its figures are all that there is.
    first.build()
    shutil.copytree(first.releases, other.releases, dirs_exist_ok=True)
    for desk in pair:  # both were built from something else
        (desk.releases / "manifest.json").unlink()
    made = [without_times(built(desk)) for desk in pair]
    assert made[0] == made[1]
    assert summary(first)["size"]["cats"] == sum(s["cats"] for s in first.facts()["sizes"])
    read_from = made[0]["manifest.json"]["pages"]["inputs"]
    assert "7-release/0.1.0/release.json" in read_from
    assert not [name for name in read_from if name[0] in "3456"]
    whole = b"".join(files(first.root / "8-pages").values())
    assert not [cat.id for cat in first.cats("test") if f'"{cat.id}"'.encode() in whole]
    assert [cat.id for cat in first.cats("dev") if f'"{cat.id}"'.encode() in whole]
    # A later setting changes nothing: the version is still hidden. The reveal does.
    first.set(hide="")
    assert hides(first.campaign)
    assert "numbers/cats.json" not in built(first)
    first.reveal()
    assert not hides(first.campaign)
    assert "numbers/cats.json" in built(first)


SECRET = "hidden until the labels are revealed"


def test_what_is_hidden_is_called_hidden_and_not_missing(desk: Desk) -> None:
    desk.set(hide="labels")
    built(desk)  # nothing is hidden of a trust report and scores that there are not
    assert "There is no trust report." in words(desk)
    assert f"Agreement on CATs (alpha) {SECRET}" in words(desk)
    assert "– no model is scored yet" in words(desk)
    put(desk.root / "5-scores", "m", "default", chance(1), desk.cats())
    desk.done("trust", "report")
    desk.build()
    built(desk)
    said = words(desk)
    for untrue in (
        "no trust report",
        "there is none yet",
        "no model is scored",
        "No model has been",
    ):
        assert untrue not in said, untrue
    for name in (
        *("Agreement on CATs (alpha)", "ss of models, the highest and the lowest"),
        *("Checks of trust that hold", "is that real?", "What would make it better?"),
    ):
        assert f"{name} {SECRET}" in said, name
    assert said.count(f"Checks of trust that hold: {SECRET}.") == 2  # in short, and the section
    assert f"Do people agree? {SECRET}" in said
    assert "Which words are typical?" not in said  # nobody counted them yet
    desk.set(hide="")
    shutil.rmtree(desk.first)
    desk.gold.unlink()
    built(desk)
    assert SECRET not in words(desk)


@pytest.mark.parametrize("level", ["labels", "all"])
def test_a_cat_that_an_earlier_version_hides_is_not_shown(desk: Desk, level: str) -> None:
    desk.build("--hide", level)
    secret, known = desk.cats("test"), desk.cats("dev")
    desk.set(dev=0.9, version="0.2.0")
    desk.done("decisions", "split")
    moved = [cat.id for cat in desk.cats("dev") if cat.id in {each.id for each in secret}]
    assert moved
    built(desk)
    shown = (desk.root / "8-pages/numbers/terms.json").read_text("utf-8")
    assert not [cat.id for cat in secret if f'"{cat.id}"' in shown]
    still = {cat.id for cat in desk.cats("dev")}
    assert {cat.id for cat in known if f'"{cat.id}"' in shown} == {c.id for c in known} & still
    # What was never built is in no version, and may come to be in test.
    shutil.rmtree(desk.first)
    built(desk)
    assert not (desk.root / "8-pages/numbers/terms.json").exists()


def test_a_sealed_version_hides_too(desk: Desk) -> None:
    desk.build("--hide", "all")
    desk.set(hide="")
    assert hides(desk.campaign)
    desk.gold.unlink()  # lost: what is public still says that something is hidden
    assert hides(desk.campaign)


def test_the_private_report_is_marked_and_for_its_owner_alone(desk: Desk) -> None:
    desk.set(hide="labels")
    public = built(desk)
    assert MARK not in words(desk)
    made = built(desk, "--private")
    private = desk.root / "8-pages/private"
    assert {n: data for n, data in made.items() if not n.startswith("private/")} == public
    pages = [*private.rglob("*.html")]
    assert pages
    for page in pages:
        assert MARK in " ".join(Words(page).words)
    for path in private.rglob("*"):
        assert path.is_dir() or stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert read(private / "numbers/summary.json")["size"]["cats"] == len(desk.cats())
    assert (private / "tables/agreement-annotators.csv").exists()
    assert "8-pages/private/" in (desk.root / ".gitignore").read_text("utf-8").splitlines()
    place = '"8-pages/private/numbers/summary.json"'
    assert place in (private / "report.html").read_text("utf-8")


# --- people who leave ----------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["withdraw", "erase"])
def test_nothing_of_a_person_who_leaves_stays(desk: Desk, action: Any) -> None:
    built(desk), built(desk, "--private")
    person = desk.cats()[0]
    items = {item["id"]: item for item in lines(desk.root / "2-rounds/w/items.jsonl")}
    writer = items[person.id]["writer"]
    theirs = [i for i in items.values() if i["writer"] == writer]
    assert 0 < len(theirs) < len(items)
    with desk.campaign.lock():
        decide_on_person(desk.campaign, writer, action, "asked us to")
    assert not (desk.root / "8-pages/private").exists()
    now = b"".join(files(desk.root / "8-pages").values())
    for item in theirs:
        for text in (writer, item["id"], item["context"]):
            assert text.encode() not in now
    assert summary(desk)["size"]["cats"] == len(desk.cats()) == len(items) - len(theirs)
    assert "Out of date" not in words(desk)


def test_what_cannot_be_computed_again_is_not_shown_after_an_erasure(desk: Desk) -> None:
    built(desk)
    desk.set(rounds=["nobody"])
    writer = lines(desk.root / "2-rounds/w/items.jsonl")[0]["writer"]
    with desk.campaign.lock(), pytest.warns(UserWarning, match="the old ones are deleted"):
        decide_on_person(desk.campaign, writer, "erase", "asked us to")
    assert not [n for n in files(desk.root / "8-pages") if n != "manifest.json"]
    with desk.campaign.lock(), pytest.warns(UserWarning, match="the report marks those"):
        build_pages(open_campaign(desk.root))
    assert summary(desk)["size"] is None


# --- gold files ----------------------------------------------------------------------------------


def test_the_report_of_gold_files(desk: Desk, tmp_path: Path) -> None:
    desk.build()
    gold, to = desk.first / "test.json", tmp_path / "out"
    ran = desk.free("pages", "build", "--gold", gold, "--scores", tmp_path / "none", "--to", to)
    assert str(to / "report.html") in ran.out
    assert read(to / "numbers/cats.json") == {"cats": 8, "terms": 4, "domains": 1}
    page = (to / "report.html").read_text("utf-8")
    assert 'data-file="numbers/summary.json"' in page
    assert "8 CATs on 4 terms (domains: 1" in " ".join(Words(to / "report.html").words)
    assert MARK not in page
    before = files(to)
    desk.free("pages", "build", "--gold", gold, "--scores", tmp_path / "none", "--to", to)
    assert without_times(files(to)) == without_times(before)


def test_gold_files_that_are_hidden_need_private(desk: Desk, tmp_path: Path) -> None:
    desk.build("--hide", "labels")
    packed, mapping = tmp_path / "gold.jsonl.gz", tmp_path / "mapping.toml"
    packed.write_bytes(gzip.compress(desk.gold.read_bytes()))
    mapping.write_text(f'files = ["{desk.gold.as_posix()}"]\n', "utf-8")
    for gold in (desk.gold, packed, mapping):
        ran = desk.forked("pages", "build", "--gold", gold, "--to", tmp_path / "out")
        assert ran.code == 1
        assert f"{gold.name}: has hidden gold labels" in ran.err
        assert "add --private" in ran.err
        assert not (tmp_path / "out").exists()
    words_ = ("pages", "build", "--gold", desk.gold, "--to", tmp_path / "out")
    desk.free(*words_, "--private")
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert (tmp_path / "out/.gitignore").read_text("utf-8") == "*\n"
    page = tmp_path / "out/report.html"
    assert MARK in " ".join(Words(page).words)
