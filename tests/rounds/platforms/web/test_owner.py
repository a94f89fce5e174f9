"""The owner's page: its figures are those of ``rounds status``, and nobody else can open it."""

import logging
import re
import time
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import requests

from curation.across import serving
from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.kinds import GOLDS
from curation.records import Item
from curation.rounds.platforms.interface import Overview, Progress, RoundFigures
from curation.rounds.platforms.web import arrivals
from curation.rounds.platforms.web.arrivals import Claim
from curation.rounds.platforms.web.owner import bar, over_time
from curation.rounds.platforms.web.rounds import SESSION
from curation.rounds.platforms.web.store import Store
from support.desk import Desk
from support.pages import join, labelled, work, written
from support.web import Site, Someone, plan, put


class Owner(Someone):
    """The owner's browser."""

    @property
    def csrf(self) -> str:
        return self.site.store.csrf(self.session.cookies.get("curation-owner", ""))

    def open(self) -> "Owner":
        assert self.get(f"/owner/{self.site.store.owner_secret()}").status_code == 200
        return self

    def shows(self, path: str = "/owner") -> str:
        page = self.get(path)
        assert page.status_code == 200
        return page.text


def text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def facts(html: str) -> dict[str, tuple[str, str]]:
    """By name the figures of the first round on a page, each with what belongs to it."""
    (shown, *_) = re.findall(r'<dl class="facts">(.*?)</dl>', html, re.DOTALL)
    found = re.findall(r"<dt>(.*?)</dt>\s*<dd>\s*<b>(.*?)</b>(.*?)</dd>", shown, re.DOTALL)
    return {name: (value, text(more)) for name, value, more in found}


def table(html: str, head: str) -> list[list[str]]:
    """The rows of the table whose first column has this head."""
    for rows in re.findall(r"<table>(.*?)</table>", html, re.DOTALL):
        cells = [
            [text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
            for row in re.findall(r"<tr>(.*?)</tr>", rows, re.DOTALL)
        ]
        if cells[0][0] == head:
            return cells[1:]
    raise AssertionError(head)


# --- who may open it ------------------------------------------------------------------------------


def test_the_owners_link_becomes_a_session_of_its_own(site: Site) -> None:
    owner = Owner(site)
    secret = site.store.owner_secret()
    first = owner.get(f"/owner/{secret}", allow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/owner")
    cookie = first.headers["set-cookie"]
    for part in ("curation-owner=", "HttpOnly", "Path=/owner", "SameSite=lax"):
        assert part in cookie
    assert secret not in cookie
    assert "Secure" not in cookie
    value = owner.session.cookies["curation-owner"]
    (kept,) = site.store.rows("SELECT key FROM owners")
    assert kept["key"] != value
    assert "curation rounds open KIND" in owner.shows()
    assert owner.get(f"/owner/{secret}").status_code == 200
    assert len(site.store.rows("SELECT key FROM owners")) == 1
    again = requests.get(
        f"{site.url}/owner/{secret}",
        headers={"X-Forwarded-Proto": "https"},
        allow_redirects=False,
        timeout=30,
    ).headers["set-cookie"]
    assert again.startswith("__Secure-curation-owner=")
    assert "; Secure" in again


def test_a_wrong_secret_looks_like_any_wrong_link(site: Site) -> None:
    put(site.store, plan("intrasentence"))
    someone = site.person("intrasentence-1")
    personal = someone.get("/p/w-000000000000.0")
    someone.begin("intrasentence-1")
    for wrong in ("x", site.store.owner_secret()[:-1], "%C3%A9", someone.link.rsplit("/", 1)[1]):
        page = Someone(site).get(f"/owner/{wrong}")
        assert (page.status_code, text(page.text)) == (404, text(personal.text))
        assert "set-cookie" not in page.headers
    for path in ("/owner", "/owner/r/intrasentence-1"):
        assert someone.get(path).status_code == 401
    assert someone.post("/owner/private").status_code == 403  # there is no session
    assert site.store.rows("SELECT key FROM owners") == []


def test_what_only_looks_at_a_link_begins_nothing(site: Site) -> None:
    secret = site.store.owner_secret()
    seen = requests.head(f"{site.url}/owner/{secret}", timeout=30)
    assert (seen.status_code, "set-cookie" in seen.headers) == (303, False)
    assert site.store.rows("SELECT key FROM owners") == []


def test_sessions_end_by_a_form_by_a_new_link_and_with_time(site: Site, clock: list[float]) -> None:
    one, other, late = Owner(site).open(), Owner(site).open(), Owner(site).open()
    cookie = one.session.cookies["curation-owner"]
    assert one.post("/owner/leave", csrf="wrong").status_code == 401
    assert one.shows()
    assert "no longer signed in" in one.post("/owner/leave").text
    assert "curation-owner" not in one.session.cookies
    taken = {"Cookie": f"curation-owner={cookie}"}
    assert requests.get(f"{site.url}/owner", headers=taken, timeout=30).status_code == 401
    clock[0] += SESSION - 1
    assert late.shows()
    clock[0] += 2
    assert late.get("/owner").status_code == 401
    before = site.store.owner_secret()
    other = Owner(site).open()
    assert len(site.store.rows("SELECT key FROM owners")) == 1  # old ones went
    site.store.renew_link()
    assert other.get("/owner").status_code == 401
    assert other.get(f"/owner/{before}").status_code == 404
    assert other.open().shows()


def test_the_log_has_no_secret(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    secret = site.store.owner_secret()
    owner = Owner(site).open()
    owner.get(f"/owner/{secret}x")
    owner.post("/owner/private")
    # Pytest listens to uvicorn's log of addresses, too, which a real server does not write:
    # ``test_serving.py`` looks at the whole log of one.
    said = [each.getMessage() for each in caplog.records if each.name.startswith("curation")]
    assert said[:3] == ["GET owner_enter 303", "GET owner 200", "GET owner_enter 404"]
    assert said[-1] == "POST owner_private 200"
    assert not any(secret in line for line in said)


# --- what it shows --------------------------------------------------------------------------------


def test_without_the_campaigns_files_it_shows_live_counts_and_says_why(
    tmp_path: Path, clock: list[float]
) -> None:
    def fails() -> Overview | None:
        raise CurationError("tasks.jsonl: is not in this copy", "copy it")

    clock[0] += 60  # a quarter of an hour after the full hour
    site = Site(tmp_path, now=lambda: clock[0], overview=fails)
    with site.served():
        put(site.store, plan("intrasentence"), 3, asked=1)
        people = [site.person("intrasentence-1").begin("intrasentence-1") for _ in range(3)]
        for one in people:
            path = one.next("intrasentence-1")
            if one is people[0]:
                one.post(f"{path}/skip", answer_id="a" * 32, reason="upset")
            elif one is people[1]:
                one.answer(path)
        html = Owner(site).open().shows("/owner/r/intrasentence-1")
        assert "tasks.jsonl: is not in this copy; copy it" in text(html)
        assert facts(html) == {
            "Answers, now": ("1", "1 in this hour"),
            "People, now": ("1", "2 at work"),  # who skips or answers is given the next task
        }
        waits = "Next: 1 answer came after the last pull: curation rounds pull intrasentence-1"
        assert waits in text(html)
        assert "intrasentence, open" in text(html)
        clock[0] += 4000
        live = site.store.live(clock[0])["intrasentence-1"]
        assert (live.working, live.people, live.answers, live.hours) == (0, 1, 1, {277: 1})
        assert Owner(site).open().get("/owner/r/no-such").status_code == 404


def test_the_link_of_a_round_for_prolific_has_the_parameters(site: Site) -> None:
    """Without them nobody could enter with it."""
    token = put(site.store, plan("review", prolific=True))
    put(site.store, plan("validation", common_link=False))
    html = unescape(Owner(site).open().shows())
    assert "Link to review-1, for Prolific, as the URL of the study" in html
    assert f"/join/{token}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID" in html
    assert "Link to validation-1" not in html


def test_a_damaged_list_of_groups_hides_people_alone(tmp_path: Path) -> None:
    at = "2026-11-26T07:00:00.000Z"
    figures = Overview("c", "USD", 0.0, {}, {}, at, "annotators.csv: no column 'group'; add it")
    site = Site(tmp_path, overview=lambda: figures)
    with site.served():
        said = text(Owner(site).open().shows())
        assert "Figures of people are not shown: annotators.csv: no column 'group'; add it" in said
        assert "cannot be read" not in said


def test_before_the_figures_are_there_it_says_so_and_loads_again(site: Site) -> None:
    put(site.store, plan("review"))
    html = Owner(site).open().shows()
    assert "figures are being computed" in html
    assert '<meta http-equiv="refresh" content="2">' in html


@pytest.mark.parametrize("is_old", [False, True])
def test_every_card_says_how_old_its_figures_are_and_contradicts_nothing(
    tmp_path: Path, is_old: bool
) -> None:
    """The round was closed and answers came since its figures were computed."""
    step = "1 answer came after the last pull: curation rounds pull review-1"
    progress = Progress(
        round="review-1", kind="review", state="open", tasks=6, void=0, done=0, decided=0,
        people=0, answers=0, refused=0, labels_per_item=None, asked=6, remaining=6, out=6,
        missing=0, per_day=None, done_at=None, cost=0.0, cost_in_all=3.0,
    )  # fmt: skip
    figures = {"review-1": RoundFigures(progress, step, {}, {})}
    overview = Overview("c", "USD", 0.0, figures, {}, "1970-01-12T13:00:00.000Z", is_old=is_old)
    site = Site(tmp_path, now=lambda: 1_000_000.0, overview=lambda: overview)
    with site.served():
        put(site.store, plan("review"), 6)
        one, other = (site.person("review-1").begin("review-1") for _ in range(2))
        for who in (one, other):
            who.answer(who.next("review-1"))
        site.store.stop("review-1")
        owner = Owner(site).open()
        for path in ("/owner", "/owner/r/review-1"):
            html = owner.shows(path)
            said = text(html)
            assert "review, closed" in said
            assert "Figures of 12 Jan 1970, 13:00 UTC, 46 minutes ago" in said  # 13:46:40 now
            assert said.count(" after the last pull") == 1
            assert "Next: 2 answers came after the last pull: curation rounds pull review-1" in said
            assert "wait" not in said.replace("wait for answers", "")
            assert ('http-equiv="refresh" content="2"' in html) == is_old
            assert ("the new ones are being computed" in said) == is_old
        assert "http-equiv" not in owner.post("/owner/private").text
        number = site.store.lines("review-1", all=True)[-1].number
        site.store.pulled("review-1", number, "1970-01-12T13:46:00.000Z")
        # What the old figures advise is not said while new ones are being computed.
        assert (step in text(owner.shows())) == (not is_old)


@pytest.fixture(scope="module")
def desk(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Rounds of writing and of validation: one person gives always one label, one is excluded."""
    desk = Desk.make(
        forked,
        tmp_path_factory.mktemp("owner") / "c",
        items=1,
        accept_times=(),
        pause_after=0,
        pay_write=0.75,
        pay_label=0.12,
        budget=6.0,
    )
    desk.say("rounds", "open", "intrasentence", "--name", "w")
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        (ann,) = join(store, desk, "w", "Ann Example")
        assert work(store, "w", ann, written) == 7
        desk.say("rounds", "pull", "w")
        desk.say("rounds", "close", "w")
        desk.does("rounds", "open", "validation", "--name", "v", "--common-link")
        fill = labelled(desk.golds())
        same = {f"label_{n}": "stereotype" for n in (1, 2, 3)}
        names = ("cyd@example.invalid", "5f0c1a2b3c4d5e6f7a8b9c0d", "eve", "bad")
        cyd, dan, eve, bad = join(store, desk, "v", *names)
        for who in (cyd, dan, bad):
            assert work(store, "v", who, fill) == 7
        assert work(store, "v", eve, lambda task, person: same) == 7
        desk.does("rounds", "pull", "v")
        desk.does("rounds", "exclude", "bad", "--reason", "copied")
        (fay,) = join(store, desk, "v", "fay")
        assert work(store, "v", fay, fill, 2) == 2
        store.give(fay, "v", at=time.time())
    return desk


@pytest.fixture(scope="module")
def served(desk: Desk) -> Iterator[Site]:
    campaign = open_campaign(desk.root)
    own = serving.services(campaign)
    items = {"find_items": own.find_items, "leave_out": own.leave_out}
    site = Site(desk.rounds, overview=serving.Overviews(campaign), **items)
    with site.served():
        Owner(site).open()
        while site.services.overview() is None:
            time.sleep(0.05)
        yield site


@pytest.mark.long
def test_every_figure_is_that_of_rounds_status(desk: Desk, served: Site) -> None:
    status = {each["round"]: each for each in desk.say("rounds", "status")}
    owner = Owner(served).open()
    v, html = status["v"], owner.shows("/owner/r/v")
    assert (v["decided"], v["answers"], v["refused"], v["people"]) == (0, 28, 7, 3)
    shown = facts(html)
    assert shown["Decided"] == (str(v["decided"]), f"of {v['tasks'] - v['void']} items")
    assert shown["Refused"] == (str(v["refused"]), f"of {v['answers']} answers")
    assert shown["Cost"] == (f"{v['cost']:.2f}", f"of {v['cost_in_all']:.2f} USD")
    assert shown["Answers, now"] == ("30", "30 in this hour")
    assert shown["People, now"] == ("5", "1 at work")
    assert shown["Pace"] == ("–", "")
    assert v["per_day"] is None
    assert f"Next: {v['next']}" in text(html)
    assert "2 answers came after the last pull: curation rounds pull v" in text(html)
    assert dict(table(html, "answers")) == {
        "asked for in all": str(v["asked"]),
        "came in": str(v["answers"]),
        "of these refused": str(v["refused"]),
        "still lacking": str(v["remaining"]),
        "on their way": str(v["out"]),
        "missing and not on their way": str(v["missing"]),
        "labels for each item, mean": f"{v['labels_per_item']:.2f}",
    }
    reasons = {code: int(n) for _, code, n, _ in table(html, "reason")}
    assert reasons == v["refused_by_reason"] == {"excluded": 7}
    assert re.findall(r'<rect class="(is-\S+)"', html)[:1] == ["is-open"]
    rounds = owner.shows()
    assert [row[:3] for row in table(rounds, "round")] == [
        [each["round"], f"{each['cost']:.2f}", f"{each['cost_in_all']:.2f}"]
        for each in (v, status["w"])  # those that are open come first
    ]
    cost, in_all = (sum(each[key] for each in status.values()) for key in ("cost", "cost_in_all"))
    assert f"People have earned {cost:.2f} USD" in text(rounds)
    assert f"it will be {in_all:.2f} of a budget of 6.00" in text(rounds)
    assert f"{in_all - 6:.2f} USD more than the budget" in text(rounds)
    w = facts(owner.shows("/owner/r/w"))
    assert (w["Done"], status["w"]["decided"]) == (("7", "of 7 tasks"), 7)
    assert w["Refused"] == ("0", "of 7 answers")


@pytest.mark.long
def test_people_and_marks_are_those_of_rounds_quality(desk: Desk, served: Site) -> None:
    quality = desk.say("rounds", "quality", "v")
    html = Owner(served).open().shows("/owner/r/v")
    rows = table(html, "person")
    marked = [each for each in quality["people"] if each["marks"]]
    assert len(marked) == 1
    for each, row in zip(marked, rows, strict=True):
        assert row[0] == each["person"]
        assert each["marks"][0]["evidence"] in row[1]
    assert html.count("<circle") + html.count('<path d="M0-6') == len(quality["people"]) == 3


@pytest.mark.long
def test_an_item_is_found_with_its_votes_and_flags_and_left_out(desk: Desk, served: Site) -> None:
    owner = Owner(served).open()
    first, second, *_ = desk.records("w/items.jsonl", Item)
    html = owner.shows(f"/owner/items?q={first.context.split()[1]}")
    assert first.id in html
    assert second.id not in html
    (told,) = desk.say("rounds", "item", first.id)
    assert [each["id"] for each in told["item"]["associations"]] == [
        verdict["id"] for verdict in told["decision"]["verdicts"]
    ]
    # Cyd and Dan say what is meant, Eve always the stereotype; the excluded one does not count.
    by_text = {row[0]: row[1:] for row in table(html, "text")}
    for meant, association in zip(GOLDS, first.associations, strict=True):
        votes = {gold: 2 * (gold == meant) for gold in GOLDS}
        votes["stereotype"] += 1
        counted = [str(votes[gold]) for gold in GOLDS]
        gold = meant if meant == "stereotype" else "–"
        assert by_text[association.sentence] == [meant, gold, *counted, "0"]
    rows = table(html, "person")
    assert told["labels"] == rows
    assert len(rows) == 3 * 3
    said = desk.does("rounds", "item", first.id, second.id).out
    assert first.context in said
    assert second.context in said
    assert "curation rounds correct ITEM" in said
    assert "no item has the id or the words" in desk.refused("rounds", "item", "no-such")
    # Only the owner finds and leaves out.
    nobody = Owner(served)
    assert nobody.get(f"/owner/items?q={first.id}").status_code == 401
    assert nobody.post("/owner/items", item=first.id).status_code == 403
    assert owner.post("/owner/items", csrf="x", item=first.id).status_code == 401
    assert owner.post("/owner/items", item="no-such").status_code == 404
    assert desk.say("rounds", "item", first.id)[0]["decision"]["reason"] == "too_few_labels"
    after = text(owner.post("/owner/items", item=first.id).text)
    assert "No CAT: leave_out in [decisions] lists the item." in after
    assert f'leave_out = ["{first.id}"]' in (desk.root / "campaign.toml").read_text("utf-8")
    assert desk.say("rounds", "item", first.id)[0]["decision"]["reason"] == "left_out"
    assert "No item that passed the checks" in owner.shows("/owner/items?q=xyzzy")


@pytest.mark.long
def test_only_the_private_list_says_who_is_who(desk: Desk, served: Site) -> None:
    private = ("Ann Example", "cyd@example.invalid", "5f0c1a2b3c4d5e6f7a8b9c0d")
    people = served.store.people()
    secrets = [served.store.secret_of(person.id) for person in people]
    owner = Owner(served).open()
    hidden = (*private, *secrets, *(person.id for person in people), served.store.owner_secret())
    for path in ("/owner", "/owner/r/v", "/owner/r/w", "/owner?refresh=yes", "/owner/private"):
        html = owner.shows(path)
        assert [each for each in hidden if each in html] == []
        assert ("http-equiv" in html) == path.endswith("refresh=yes")
    assert f"/join/{served.store.token('v')}" in owner.shows()
    listed = owner.post("/owner/private").text
    for each in (*private, *secrets, *(person.pseudonym for person in people)):
        assert each in listed
    assert served.store.owner_secret() not in listed


def test_people_from_prolific_are_listed_by_their_id_there(site: Site) -> None:
    put(site.store, plan("review"), 1)
    claim = Claim("c" * 24, "d" * 24, "e" * 24)
    arrivals.enter(
        site.store, "review-1", claim, ("unchecked", ""), pseudonym_of="p-{}".format, at=1.0
    )
    owner = Owner(site).open()
    assert claim.participant not in owner.shows()
    assert claim.participant in owner.post("/owner/private").text


@pytest.mark.long
def test_figures_are_read_again_only_when_a_file_changes(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, read = desk.copy(tmp_path / "c"), []

    def counted(work: Any, root: Path) -> Any:
        read.append(root)
        return work(root)

    monkeypatch.setattr(serving, "in_own_process", counted)
    monkeypatch.setattr(serving.Overviews, "WAIT", 30.0)
    monkeypatch.setattr(serving.Overviews, "OLD", 1e9)
    figures = serving.Overviews(open_campaign(own.root))
    first = figures()
    assert first is not None
    assert figures() is first
    assert len(read) == 1
    own.does("rounds", "pull", "v")
    with monkeypatch.context() as patch:
        patch.setattr(serving.Overviews, "WAIT", 0.0)
        before = figures()
        assert before == first._replace(is_old=True)
    later = figures()
    assert later is not None
    assert not later.is_old
    assert (len(read), later.rounds["v"].progress.answers) == (2, 30)
    settings = own.root / "campaign.toml"
    settings.write_text(settings.read_text("utf-8").replace("budget = 6.0", "budget = 7.5"))
    changed = figures()
    assert changed is not None
    assert changed.budget == 7.5
    (own.rounds / "annotators.csv").write_text("annotator\n", "utf-8")
    damaged = figures()
    assert damaged is not None
    assert (damaged.people, damaged.rounds.keys()) == ({}, changed.rounds.keys())
    assert "no column 'group'" in damaged.problem
    (own.rounds / "v" / "tasks.jsonl").unlink()
    with pytest.raises(CurationError, match=r"tasks.jsonl: is not in this copy"):
        figures()
    with pytest.raises(CurationError, match=r"tasks.jsonl"):
        figures()


def test_a_large_round_takes_few_queries(
    site: Site, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries: list[str] = []
    rows = Store.rows

    def counted(store: Store, sql: str, *values: object) -> Any:
        queries.append(sql)
        return rows(store, sql, *values)

    def count() -> int:
        owner.get("/owner/r/validation-1")
        queries.clear()
        owner.shows("/owner/r/validation-1")
        return len(queries)

    put(site.store, plan("validation"), 3)
    owner = Owner(site).open()
    monkeypatch.setattr(Store, "rows", counted)
    few = count()
    people = [site.person("validation-1").id for _ in range(200)]
    with site.store.change() as db:
        db.executemany(
            "INSERT INTO answers (id, form, person, round, task, at, counts, payload) "
            "VALUES (?, 'answer', ?, 'validation-1', ?, ?, 0, x'7b7d')",
            [(f"{n}", people[n % 200], f"t-{n}", clock[0] - 30 * n) for n in range(20_000)],
        )
    assert count() == few <= 12
    assert "20,000" in owner.shows("/owner/r/validation-1")


def test_charts() -> None:
    assert bar({"decided": 0, "open": 0}) == []
    # 10 o'clock: 3 answers, 11: none, 12: 1. The scale ends at 4, so 3 is a quarter below the top.
    day = 400 * 24
    chart = over_time({day + 10: 3, day + 12: 1}, (day + 12.5) * 3600)
    assert chart is not None
    assert (chart.unit, chart.top) == ("hour", 4)
    assert [n for _, n in chart.bins] == [3, 0, 1]
    assert chart.line == "M0 100V25h1V100h1V75h1V100"
    assert [text for _, text in chart.ticks] == ["5 Feb, 10:00", "5 Feb, 11:30", "5 Feb, 13:00"]
    # Thirty days do not fit as hours, nor as quarters of a day (120): 31 days.
    month = over_time({day: 2, day + 30 * 24: 5}, (day + 30 * 24) * 3600)
    assert month is not None
    assert (month.unit, len(month.bins), month.bins[-1][1]) == ("day", 31, 5)
    years = over_time({0: 1, 8 * 24 * 365: 1}, 8 * 365 * 24 * 3600)
    assert years is not None
    assert (years.unit, sum(n for _, n in years.bins)) == ("week", 2)
    assert over_time({}, 0) is None
