"""The web server as a command, links to it, and what opening a round there prints."""

import re
import resource
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from curation.across.serving import opened_store
from curation.campaign.private import PRIVATE
from curation.campaign.store import open_campaign
from curation.records import Item, Label, Standing
from support.commands import in_a_new_process, set_to
from support.desk import Desk, read_csv
from support.label_studio import free_port
from support.pages import labelled, pseudonyms, work
from support.serving import serving

pytestmark = pytest.mark.long
COMMON = re.compile(r"http://127\.0\.0\.1:\d+/join/[\w-]{16,}")
FORM = b"POST /join/x HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n"
FORM += b"Content-Type: application/x-www-form-urlencoded\r\n\r\nagree="
PERSONAL = re.compile(r"http://127\.0\.0\.1:\d+/p/w-[a-z0-9]{12}\.[0-9a-f]{32}")


@pytest.fixture(scope="module")
def written(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Two items by two writers, from a round with tables."""
    root = tmp_path_factory.mktemp("serving") / "c"
    desk = Desk.make(forked, root, ["baker", "potter"], items=1, write_seconds=0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.say("rounds", "close", "w")
    return desk


@pytest.fixture
def desk(written: Desk, tmp_path: Path) -> Desk:
    return written.copy(tmp_path / "c")


def test_a_server_says_where_it_is_serves_new_rounds_and_ends(desk: Desk) -> None:
    with serving("rounds", "serve", "-c", desk.root) as server:
        (owner,) = re.findall(r"http\S+/owner/[0-9a-f]{32}", server.said)
        assert server.said == (
            f"pages for annotators: {server.url}\n"
            "  no round is open on these pages yet\n"
            f"owner's page, for you alone: {owner}\n"
            "Press Ctrl-C to stop. In another window: curation rounds open KIND\n"
        )
        assert requests.get(f"{server.url}/health", timeout=20).status_code == 200
        opened = desk.say("rounds", "open", "review")
        assert opened["platform"] == "web"
        assert COMMON.fullmatch(opened["address"])
        assert opened["address"].startswith(server.url)
        page = requests.get(opened["address"], timeout=20)
        assert page.status_code == 200
        assert "the Academy" in page.text
        (row,) = read_csv(Path(desk.say("rounds", "links", "--count", 1)["file"]))
        assert row["link"].startswith(f"{server.url}/p/")
        reply = requests.get(row["link"], allow_redirects=False, timeout=20)
        assert (reply.status_code, reply.headers["Location"]) == (303, "/")
        # Neither a second server of the campaign nor another use of the port begins.
        said = desk.refused("rounds", "serve", "--port", free_port())
        assert "another server" in said
        other = desk.copy(desk.root.parent / "other")
        said = other.refused("rounds", "serve", "--port", server.port)
        assert f"port {server.port} of 127.0.0.1 is already in use" in said
        # The address of the running server has not changed by this.
        assert desk.say("rounds", "open", "review")["address"] == opened["address"]
        onward = f"Next: {desk.say('rounds', 'status', 'review-1')[0]['next']}"
        with requests.Session() as session:  # the figures come from a process of their own
            for _ in range(300):
                page = session.get(owner, timeout=20).text
                if "from what was pulled" in page and onward in page:
                    break
                time.sleep(0.1)
        assert "from what was pulled" in page
        assert onward in page
        code, _, log = server.stop()
    assert code == 0
    for secret in (row["link"], row["person"], opened["address"], owner):
        assert secret.rpartition("/")[2] not in log
    with serving("rounds", "serve", "--new-links", "-c", desk.root) as server:
        (new,) = re.findall(r"/owner/[0-9a-f]{32}", server.said)
        assert not owner.endswith(new)
        assert requests.get(f"{server.url}{new}", timeout=20).status_code == 200
        old = requests.get(f"{server.url}/owner/{owner.rpartition('/')[2]}", timeout=20)
        assert old.status_code == 404
        assert server.stop()[0] == 0


def test_1100_slow_clients_shut_out_nobody_and_delay_no_end(desk: Desk) -> None:
    with serving("rounds", "serve", "-c", desk.root) as server, ExitStack() as stack:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        for _ in range(1100):
            end = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 20))
            with suppress(ConnectionError):  # the oldest are closed already
                end.sendall(FORM)
        for _ in range(3):
            assert requests.get(f"{server.url}/health", timeout=60).status_code == 200
        code, _, log = server.stop(signal.SIGTERM)
    assert code == 0
    assert log.startswith("the server has stopped"), log
    assert log.count("\n") == 1


def test_the_public_address_is_kept_for_links(desk: Desk) -> None:
    desk.does("rounds", "open", "review")
    desk.say("rounds", "links", "--count", 1)
    address = "https://study.example.org"
    with serving("rounds", "serve", "--address", f"{address}/", "-c", desk.root) as server:
        assert f"\n  public address {address}\n" in server.said
        assert f"  review-1: {address}/join/" in server.said
        code, _, log = server.stop(signal.SIGTERM)
        assert code == 0
        assert (
            "2-rounds/links-1.csv: links made before have another address; «curation rounds" in log
        )
    with serving("rounds", "serve", "-c", desk.root) as server:
        assert f"  review-1: {address}/join/" in server.said
        assert "another address" not in server.stop()[2]
    ask = ("rounds", "links", "review-1", "--people", desk.rounds / "links-1.csv")
    (row,) = read_csv(Path(desk.say(*ask)["file"]))
    assert (row["name"], row["link"].startswith(f"{address}/p/w-")) == ("person-1", True)
    for words in (ask, ("rounds", "open", "review")):  # the server has run
        assert "curation rounds serve" not in desk.does(*words).out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--role", "writers"), "--role is not an option of web"),
        (("--platform", "files"), "platform 'files' has no server here"),
        (
            ("--platform", "label_studio", "--address", "https://a.example"),
            "--address is not an option of label_studio",
        ),
        (("--address", "study.example.org"), "'study.example.org' is not the address of a server"),
        (("--address", "https://a.example/study"), "is not the address of a server"),
        (("--address", "https://me:pass@a.example"), "'https://a.example' is not the address"),
        (("--host", "::1"), "'::1' is not an address to listen on"),
    ],
)
def test_options_that_do_not_fit_are_refused(desk: Desk, words: tuple[str, ...], says: str) -> None:
    said = desk.refused("rounds", "serve", *words)
    assert says in said
    assert "pass" not in said
    assert not (desk.rounds / "web.sqlite").exists()


def test_label_studio_is_served_if_asked_for(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "label-studio"
    script.write_text("#!/bin/sh\necho no luck\nexit 3\n", "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("CURATION_LABEL_STUDIO", str(script))
    monkeypatch.setenv("CURATION_SERVERS", str(tmp_path / "servers"))
    serve = ("rounds", "serve", "--platform", "label_studio")
    assert "no role 'reviewers'" in desk.refused(*serve, "--role", "reviewers")
    done = desk.run(*serve, "--role", "validators", "--port", free_port())
    assert done.code == 1
    assert "starting the server for validators; the first time takes a minute" in done.err
    assert "error: Label Studio for the validators ended with code 3:\nno luck\n" in done.err
    assert not (desk.rounds / "web.sqlite").exists()


def test_opening_says_how_people_get_in(desk: Desk) -> None:
    said = desk.does("rounds", "open", "review").out
    assert said.startswith("round review-1 is open: 2 tasks, 6 answers asked for.\n")
    assert COMMON.search(said)
    assert "\nfor one person each: curation rounds links review-1 --count N\n" in said
    serve = "next: curation rounds serve (nobody can open these links before)\n"
    assert said.endswith(f"{serve}next: curation rounds status review-1 --watch 60\n")
    assert desk.does("rounds", "links", "--count", 1).out.endswith(serve)
    owner = r"\nowner's page, for you alone: http://127\.0\.0\.1:8100/owner/[0-9a-f]{32}\n$"
    assert re.search(owner, desk.does("rounds", "links").out)
    said = desk.does("rounds", "open", "validation", "--name", "v").out
    assert "/join/" not in said
    assert "\npeople need personal links: curation rounds links v --count N\n" in said
    done = desk.does("rounds", "open", "validation", "--name", "v", "--common-link")
    assert COMMON.search(done.out)
    assert "one person with two browsers can label an item twice" in done.err
    # It stays so: nobody's link stops working because somebody opened the round again.
    assert COMMON.search(desk.does("rounds", "open", "validation", "--name", "v").out)
    assert desk.run("rounds", "open", "review", "--platform", "files", "--common-link").code == 1


def test_a_language_without_training_is_named_at_the_opening(desk: Desk) -> None:
    text = "no training examples for review in «ar»: write 2-rounds/training.csv, or people begin"
    assert "no training examples" not in desk.does("rounds", "open", "review").err
    set_to(desk.root, 'language = "en"', 'language = "ar"')
    words = desk.root / "1-terms" / "jobs.txt"
    words.write_text(words.read_text("utf-8").replace("language: en", "language: ar"), "utf-8")
    assert text in desk.does("rounds", "open", "review", "--name", "r2").err
    done = desk.does("rounds", "open", "review", "--name", "r3", "--platform", "files")
    assert "no training examples" not in done.err


def test_links_are_for_one_person_each_and_stay(desk: Desk) -> None:
    desk.does("rounds", "open", "review")
    first = desk.say("rounds", "links", "--count", 2)
    path = Path(first["file"])
    assert first == {
        "file": str(desk.rounds / "links-1.csv"), "rounds": ["review-1"], "people": 2, "new": 2,
    }  # fmt: skip
    rows = read_csv(path)
    assert [row["name"] for row in rows] == ["person-1", "person-2"]
    assert all(PERSONAL.fullmatch(row["link"]) for row in rows)
    assert all(f"/p/{row['person']}." in row["link"] for row in rows)
    assert len({row["link"] for row in rows}) == 2
    # Private, also for git.
    database = [p for p in desk.rounds.glob("web.sqlite*") if p.is_file()]
    assert {p.stat().st_mode & 0o777 for p in (path, *database)} == {0o600}
    assert {"2-rounds/web.sqlite*", "2-rounds/links-*.csv"} <= set(PRIVATE)
    # The same people, in a list of names or the list of before, keep their links in the next round.
    desk.does("rounds", "open", "validation")
    names = desk.listed("person-2", "Zoë <zoe@example.invalid>")
    done = desk.does("rounds", "links", "validation-1", "--people", names)
    assert done.out.startswith("2 personal links (1 for new people) to validation-1\n")
    second = read_csv(desk.rounds / "links-2.csv")
    assert second[0] == rows[1]
    assert second[1]["name"] == "Zoë <zoe@example.invalid>"
    third = desk.say("rounds", "links", "--people", path)
    assert (third["rounds"], third["new"]) == (["review-1", "validation-1"], 0)
    assert read_csv(Path(third["file"])) == rows
    assert (
        read_csv(Path(desk.say("rounds", "links", "--count", 1)["file"]))[0]["name"] == "person-3"
    )


def test_everybody_who_came_can_be_let_into_the_next_round_but_those_who_are_out(
    desk: Desk,
) -> None:
    assert "no round is open on the web server" in desk.refused("rounds", "links", "--everybody")
    assert not (desk.rounds / "web.sqlite").exists()
    desk.does("rounds", "open", "review")
    assert "nobody has a link yet" in desk.refused("rounds", "links", "--everybody")
    campaign = open_campaign(desk.root)
    with opened_store(campaign) as store:
        ids = [store.add_person(str.upper, ["review-1"], at=n).id for n in range(3)]
        links = [store.secret_of(id) for id in ids]
    out = Standing(
        person=ids[1].upper(), action="exclude", reason="bot", at="2026-03-01T00:00:00.000Z"
    )
    (desk.rounds / "standing.jsonl").write_text(out.model_dump_json() + "\n", "utf-8")
    desk.does("rounds", "open", "validation")
    made = desk.say("rounds", "links", "validation-1", "--everybody")
    assert (made["people"], made["new"]) == (2, 0)
    rows = read_csv(Path(made["file"]))
    assert [(row["name"], row["person"]) for row in rows] == [(ids[0],) * 2, (ids[2],) * 2]
    assert [row["link"].rpartition("/")[2] for row in rows] == [links[0], links[2]]
    said = desk.refused("rounds", "links", "--people", desk.listed(ids[1]))
    assert f"{ids[1]!r} is out of the campaign (excluded)" in said
    with opened_store(campaign) as store:
        assert [store.rounds_of(id) for id in ids] == [
            ["review-1", "validation-1"], ["review-1"], ["review-1", "validation-1"],
        ]  # fmt: skip


def test_where_people_enter_is_shown_again(desk: Desk) -> None:
    assert "no round is open" in desk.refused("rounds", "links")
    common = desk.say("rounds", "open", "review")["address"]
    *lines, owner = desk.does("rounds", "links").out.splitlines()
    assert owner.startswith("owner's page, for you alone: http://127.0.0.1:8100/owner/")
    assert lines == [
        "review-1",
        f"for everybody: {common}",
        "for one person each: curation rounds links review-1 --count N",
        "next: curation rounds serve (nobody can open these links before)",
    ]
    desk.does("rounds", "open", "validation", "--name", "v")
    desk.does("rounds", "open", "review", "--name", "f", "--platform", "files", "--term", "baker")
    assert "several rounds are open: review-1, v, f" in desk.refused("rounds", "links")
    assert desk.say("rounds", "links", "review-1", "v") == [
        {"round": "review-1", "address": common, "sign_up": ""},
        {"round": "v", "address": "", "sign_up": ""},
    ]
    said = desk.does("rounds", "links", "v").out
    assert "\npeople need personal links: curation rounds links v --count N\n" in said
    assert "round f runs on tables, so it has no links" in desk.refused("rounds", "links", "f")
    reset = ("rounds", "links", "--reset")
    assert "nobody signs up for round review-1" in desk.refused(*reset, "review-1")
    assert "--reset is for one round" in desk.refused(*reset, "review-1", "v")
    assert not list(desk.rounds.glob("links-*.csv"))


def test_links_that_cannot_be_are_refused(desk: Desk) -> None:
    ask = ("rounds", "links", "--count", "1")
    assert "no round is open on the web server" in desk.refused(*ask)
    desk.does("rounds", "open", "review")
    assert "round w is not open on the web server" in desk.refused("rounds", "links", "w", *ask[2:])
    damaged = desk.out / "links.csv"
    damaged.write_text("name,person,link\nann,w-1,x\n,w-2,y\n", "utf-8")
    assert "line 3: no name" in desk.refused("rounds", "links", "--people", damaged)
    missing = desk.refused("rounds", "links", "--people", desk.out / "none.txt")
    assert "none.txt" in missing
    twice = desk.out / "twice.txt"
    twice.write_text("ann\nann\n", "utf-8")
    assert "line 2: 'ann' is already in line 1" in desk.refused(
        "rounds", "links", "--people", twice
    )
    both = ("rounds", "links", "--people", twice, "--count", "1")
    assert "say for whom the links are" in desk.refused(*both)
    assert "say for whom the links are" in desk.refused(*ask, "--reset")
    desk.does("rounds", "close", "review-1")
    assert "no round is open on the web server" in desk.refused(*ask)
    assert not list(desk.rounds.glob("links-*.csv"))


def test_who_wrote_in_tables_is_the_same_person_here(desk: Desk) -> None:
    desk.does("rounds", "open", "validation", "--name", "v")
    writers = {item.writer for item in desk.records("w/items.jsonl", Item)}
    listed = desk.listed(" ann ", "Ben", "Zoë")
    first = desk.say("rounds", "links", "v", "--people", listed)
    assert (first["people"], first["new"]) == (3, 3)
    rows = read_csv(Path(first["file"]))
    assert all(PERSONAL.fullmatch(row["link"]) for row in rows)  # a link names nobody
    with opened_store(open_campaign(desk.root)) as store:
        here = store.people()
        assert {person.pseudonym for person in here[:2]} == writers
        assert here[2].pseudonym == pseudonyms(desk)(here[2].id)
        for person in here:
            store.consent(person.id, "v", at=time.time())
        done = [work(store, "v", person, labelled(desk.golds())) for person in here]
    assert done == [1, 1, 2]  # nobody is given their own item
    assert desk.say("rounds", "pull", "v")["new"] == 4
    assert desk.say("rounds", "pull", "v", "--full")["new"] == 0
    labels = desk.records("v/labels.jsonl", Label)
    assert {label.annotator for label in labels} == {person.pseudonym for person in here}
    # Another spelling of a person's name is no second person, and a new number is nobody's.
    again = desk.say("rounds", "links", "v", "--people", desk.listed("Ann"))
    assert (again["new"], read_csv(Path(again["file"]))[0]["link"]) == (0, rows[0]["link"])
    desk.say("rounds", "withdraw", "--yes", "ann")
    for name in ("ann", "Ann"):
        said = desk.refused("rounds", "links", "v", "--people", desk.listed(name))
        assert f"{name!r} is out of the campaign (withdrawn)" in said


def test_new_links_are_not_for_people_of_tables(desk: Desk) -> None:
    desk.open("intrasentence", "w2")
    desk.written("w2", ["person-1", "person-3"])
    desk.does("rounds", "open", "review")
    rows = read_csv(Path(desk.say("rounds", "links", "--count", 3)["file"]))
    assert [row["name"] for row in rows] == ["person-2", "person-4", "person-5"]


def test_who_was_here_before_they_wrote_in_tables_gets_no_item_to_label(desk: Desk) -> None:
    desk.does("rounds", "open", "review")
    desk.does("rounds", "links", "--people", desk.listed("cyd"))
    desk.open("intrasentence", "w2")
    desk.written("w2", ["cyd", "dan"])
    desk.does("rounds", "links", "review-1", "--people", desk.listed("cyd"))
    desk.does("rounds", "open", "validation")
    said = desk.refused("rounds", "links", "validation-1", "--people", desk.listed("cyd"))
    assert "'cyd' is p-" in said
    assert f"{pseudonyms(desk)('cyd')} elsewhere, and so could get items of their own" in said
    with opened_store(open_campaign(desk.root)) as store:
        assert store.rounds_of(store.people()[0].id) == ["review-1"]


def test_a_name_of_two_people_reaches_neither(desk: Desk) -> None:
    desk.does("rounds", "open", "review")
    with opened_store(open_campaign(desk.root)) as store:
        other = store.add_person(pseudonyms(desk), ["review-1"], name="ann", at=time.time())
    writer = pseudonyms(desk)("ann")
    both = f"'ann' is the name of several people: {', '.join(sorted((other.pseudonym, writer)))}\n"
    for command in (
        ("exclude", "ann", "--reason", "bot"),
        ("withdraw", "--yes", "ann"),
        ("withdraw", "--yes", "ann", "--erase"),
    ):
        assert both in desk.refused("rounds", *command)
    assert not (desk.rounds / "standing.jsonl").exists()
    for person in (writer, other.pseudonym):
        assert desk.say("rounds", "withdraw", "--yes", person, "--erase")["person"] == person
    assert writer not in {item.writer for item in desk.records("w/items.jsonl", Item)}
    with opened_store(open_campaign(desk.root)) as store:
        assert store.people() == []


def test_one_erasure_reaches_all_of_a_person(desk: Desk) -> None:
    desk.does("rounds", "open", "validation", "--name", "v")
    desk.does("rounds", "links", "v", "--people", desk.listed("ann"))
    with opened_store(open_campaign(desk.root)) as store:
        (ann,) = store.people()
        store.consent(ann.id, "v", at=time.time())
        assert work(store, "v", ann, labelled(desk.golds())) == 1
    assert desk.say("rounds", "pull", "v")["new"] == 1
    assert desk.say("rounds", "withdraw", "--yes", "ann", "--erase")["erased"] == 1 + 2
    with opened_store(open_campaign(desk.root)) as store:
        assert (store.people(), store.lines("v", all=True)) == ([], [])
    raw = b"".join(path.read_bytes() for path in desk.rounds.glob("*/raw/*"))
    assert b'"ann"' not in raw
    assert desk.records("v/labels.jsonl", Label) == []


def test_all_addresses_of_a_machine_need_one_for_links(desk: Desk) -> None:
    port = free_port()
    everywhere = ("rounds", "serve", "--host", "0.0.0.0", "--port", port)
    with socket.create_server(("0.0.0.0", port)):  # no server may wait here
        refused = desk.run(*everywhere)
    assert refused.code == 1
    assert "\nerror: --host 0.0.0.0: people's links need the address" in refused.err
    assert not (desk.rounds / "web.sqlite").exists()
    desk.does("rounds", "open", "review")
    with serving("rounds", "serve", "-c", desk.root):
        pass  # an address that only this machine can reach is kept now
    assert "\nfix:   add it, for example --address http://" in desk.run(*everywhere).err
    address = "http://192.0.2.7:8100"
    for more in (("--address", address), ()):  # it is kept
        with serving(*everywhere[:4], *more, "-c", desk.root) as server:
            assert f"  review-1: {address}/join/" in server.said


def test_the_demo_on_the_web_is_ready_for_three_people(tmp_path: Path) -> None:
    with serving("demo", "--web", "made", cwd=tmp_path) as server:
        links = dict(re.findall(r"^  (\w+) +(http\S+)$", server.said, re.MULTILINE))
        assert set(links) == {"reviewer", "writer", "validator", "owner"}
        assert "Links to send" in requests.get(links.pop("owner"), timeout=20).text
        seen = {}
        for who, link in links.items():
            with requests.Session() as session:
                page = session.get(link, timeout=20)
            assert (page.status_code, page.url.startswith(f"{server.url}/")) == (200, True)
            seen[who] = set(re.findall(r"/r/([\w-]+)", page.text + page.url))
        assert seen["writer"] >= {"intrasentence-1", "intersentence-1"}
        assert seen["reviewer"] >= {"review-1"}
        assert seen["validator"] >= {"validation-1"}
        code, rest, log = server.stop()
    assert (code, rest) == (0, "To go on: cd made; curation rounds serve\n"), log
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for _ in range(2):  # a port that is in use leaves no folder
            again = in_a_new_process("demo", "--web", "other", "--port", port, cwd=tmp_path)
            assert (again.code, f"port {port} of 127.0.0.1 is already in use" in again.err) == (
                1, True,
            )  # fmt: skip
    again = in_a_new_process("demo", "--web", "made", cwd=tmp_path)
    assert (again.code, "made: is not empty" in again.err) == (1, True)
