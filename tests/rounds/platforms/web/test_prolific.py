"""People from Prolific, over a real server, with an API that is played: also down, and lying."""

import logging
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests

from curation.files import CurationError
from curation.kinds import LABELS
from curation.rounds.platforms.web import arrivals, forms, prolific
from curation.rounds.platforms.web.arrivals import Claim, Seen
from curation.rounds.platforms.web.rounds import Load
from support import web
from support.prolific import FAULTS, STUDY, Played, entry, wait_for
from support.servers import Fault, running
from support.web import Site, Someone, plan, put, said, title
from support.web_tab import Tab

ROUND = "validation-1"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for an API that is slow, and it is asked again at once."""
    monkeypatch.setattr(prolific, "QUICK", 0.3)
    monkeypatch.setattr(prolific, "SLOW", 0.3)


@pytest.fixture
def played() -> Iterator[Played]:
    with running(Played()) as made:
        yield made


@pytest.fixture
def site(tmp_path: Path, played: Played) -> Iterator[Site]:
    """A server that checks submissions only when people enter, and when a test wants it."""
    made = Site(tmp_path, crowd=played.client(), pace=3600.0)
    with made.served():
        yield made


def opened(site: Site, count: int = 3, asked: int = 1, **changes: Any) -> str:
    """A round for people from Prolific; returns the token of its link."""
    made = plan("validation", prolific=True, common_link=False, **changes)
    return put(site.store, made, count, asked)


def come(site: Site, token: str, claim: Claim, who: Someone | None = None) -> Someone:
    """Somebody opens the link at Prolific, and agrees; ``who.last`` is the page that they see."""
    who = who or Someone(site, id=claim.participant)
    who.get(entry(token, claim))
    who.last = who.post(entry(token, claim), agree="yes")  # type: ignore[attr-defined]
    return who


def page(who: Someone) -> str:
    return title(who.last)  # type: ignore[attr-defined]


def work(who: Someone, most: int = 99) -> int:
    """Answer what is given; how many tasks."""
    for n in range(most):
        path = who.next(ROUND)
        if path.endswith("/done"):
            return n
        assert who.answer(path, id=uuid.uuid4().hex).status_code == 200
    return most


def refresh(site: Site, played: Played) -> None:
    arrivals.refresh(site.store, played.client(), ROUND)


def standings(site: Site) -> list[tuple[str, str]]:
    return [(one.standing, one.outcome) for one in arrivals.of_round(site.store, ROUND)]


def code(site: Site, outcome: str) -> str:
    return forms.study_code(site.store, ROUND, outcome)


def loads(site: Site) -> list[Load]:
    return list(site.store.loads(ROUND).values())


# --- entering -----------------------------------------------------------------------------------


def test_a_confirmed_participant_works_under_the_id_at_prolific(
    site: Site, played: Played, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token, claim = opened(site), played.reserve(1)
    who = come(site, token, claim)
    assert who.last.url == f"{site.url}/r/{ROUND}"  # type: ignore[attr-defined]
    (person,) = site.store.people()
    assert (person.name, person.pseudonym) == (claim.participant, site.pseudonym(claim.participant))
    assert work(who) == 3
    done = who.get(f"/r/{ROUND}/done")
    assert title(done) == said("done_title")
    assert f'href="https://app.prolific.com/submissions/complete?cc={code(site, "finished")}"' in (
        done.text
    )
    assert standings(site) == [("checked", "finished")]
    assert len({code(site, outcome) for outcome in arrivals.OUTCOMES}) == 4
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("curation")]
    assert "POST join 303" in ours
    assert not any(part in line for part in (*claim, token) for line in ours)


def test_previews_change_nothing_and_ask_nothing(site: Site, played: Played) -> None:
    token, claim = opened(site), played.reserve(1)
    for _ in range(5):
        assert Someone(site).get(entry(token, claim)).status_code == 200
        requests.head(site.url + entry(token, claim), timeout=30)
    assert (site.store.people(), standings(site), played.asked) == ([], [], [])


FORGED = {
    "invented": lambda claim: claim._replace(id="0" * 24),
    "not an id": lambda claim: claim._replace(id="x"),
    "another participant": lambda claim: claim._replace(participant="1" * 24),
    "another study in the address": lambda claim: claim._replace(study="2" * 24),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_id_gets_no_tasks(site: Site, played: Played, name: str) -> None:
    token = opened(site)
    who = come(site, token, FORGED[name](played.reserve(1)))
    assert page(who) == said("not_confirmed_title")
    assert (site.store.people(), standings(site)) == ([], [])
    # The page changes nothing for the one whose id it is.
    assert page(come(site, token, played.reserve(1))) == said("kind_validation")


def test_a_submission_of_another_study_gets_no_tasks(site: Site, played: Played) -> None:
    token = opened(site)
    site.store.set_fact(f"studies {ROUND}", STUDY)
    other = played.reserve(1, study="9" * 24)
    assert page(come(site, token, other)) == said("not_confirmed_title")
    played.always = FAULTS["down"]
    assert page(come(site, token, other)) == said("not_confirmed_title")
    part = played.reserve(2, study="8" * 24)  # of a study that has several parts
    played.always = None
    played.said[part.id]["parent_study_id"] = STUDY
    assert page(come(site, token, part)) == said("kind_validation")


@pytest.mark.parametrize(
    "query",
    [
        "PROLIFIC_PID=a&STUDY_ID=b",
        "PROLIFIC_PID=a&STUDY_ID=b&SESSION_ID=",
        "PROLIFIC_PID={{%25PROLIFIC_PID%25}}&STUDY_ID=b&SESSION_ID=c",
        "PROLIFIC_PID=a&STUDY_ID=b&SESSION_ID=../../users/me",
        f"PROLIFIC_PID={'a' * 65}&STUDY_ID=b&SESSION_ID=c",
        "PROLIFIC_PID=%C3%A9&STUDY_ID=b&SESSION_ID=c",
    ],
)
def test_damaged_parameters_are_refused(site: Site, played: Played, query: str) -> None:
    refused = Someone(site).get(f"/join/{opened(site)}?{query}")
    assert (refused.status_code, title(refused)) == (400, said("not_confirmed_title"))
    assert played.asked == []


def test_without_the_parameters_nobody_enters_a_round_for_prolific(site: Site) -> None:
    refused = Someone(site).get(f"/join/{opened(site)}")
    assert (refused.status_code, title(refused)) == (403, said("prolific_only_title"))


def test_the_same_link_in_a_second_browser_is_the_same_person(site: Site, played: Played) -> None:
    token, claim = opened(site), played.reserve(1)
    first = come(site, token, claim)
    assert work(first, 1) == 1
    second = Someone(site, id="second")
    assert title(second.get(entry(token, claim))) == said("kind_validation")
    assert work(second) == 2
    assert (len(site.store.people()), work(first)) == (1, 0)
    assert [load.answered for load in loads(site)] == [1, 1, 1]


def test_a_session_of_another_participant_is_refused_also_if_the_api_is_down(
    site: Site, played: Played
) -> None:
    token, claim = opened(site), played.reserve(1)
    played.always = FAULTS["down"]
    come(site, token, claim)
    other = claim._replace(participant="7" * 24)
    assert page(come(site, token, other)) == said("not_confirmed_title")
    assert len(site.store.people()) == 1
    # If the first one was the forger, the API says so, and the real one enters.
    played.always = None
    played.said[claim.id]["participant"] = other.participant
    assert page(come(site, token, other)) == said("kind_validation")
    refresh(site, played)
    assert standings(site) == [("forged", ""), ("checked", "")]


def test_who_is_signed_in_becomes_another_person_only_by_the_rules(
    site: Site, played: Played
) -> None:
    token = opened(site)
    one = come(site, token, played.reserve(1))
    before = one.session.cookies["curation"]
    two = played.reserve(2)
    assert title(one.get(entry(token, two))) == said("join_title")
    assert site.store.session(before) is not None  # only looking changes nothing
    come(site, token, two, one)
    assert site.store.session(before) is None
    assert len(site.store.people()) == 2
    forged = two._replace(id="0" * 24)
    assert page(come(site, token, forged, one)) == said("not_confirmed_title")


def test_a_participant_is_one_person_in_two_studies_once_it_is_confirmed(
    site: Site, played: Played
) -> None:
    token = opened(site)
    again = put(site.store, plan("review"))
    first = played.reserve(1)
    come(site, token, first)
    later = first._replace(id="a" * 24)
    played.said[later.id] = played.said[first.id] | {"id": later.id}
    played.always = FAULTS["down"]
    come(site, again, later)
    assert len(site.store.people()) == 2  # provisional: nobody else's row
    assert arrivals.of_round(site.store, "review-1")[0].standing == "unchecked"
    third = first._replace(id="b" * 24)
    played.said[third.id] = played.said[first.id] | {"id": third.id}
    played.always = None
    come(site, again, third)
    assert len(site.store.people()) == 2
    assert arrivals.participants(site.store) == {
        person.id: first.participant for person in site.store.people()
    }


def test_nobody_gets_an_item_of_the_participant_whose_id_they_claim(
    site: Site, played: Played
) -> None:
    """A forger comes while the API is down, and then the real one, who wrote one of two items."""
    claim = played.reserve(1)
    made = plan("validation", prolific=True, common_link=False)
    tasks = web.tasks(made, 2)
    tasks[0] = msgspec.structs.replace(tasks[0], barred=site.pseudonym(claim.participant))
    token = site.store.put_round(made, tasks, {task.id: 2 for task in tasks})
    played.always = FAULTS["down"]
    forger = come(site, token, claim._replace(id="0" * 24))
    played.always = None
    real = come(site, token, claim)
    assert [work(forger), work(real)] == [1, 1]
    assert {one.pseudonym for one in site.store.people()} == {site.pseudonym(claim.participant)}
    assert [load.answered for load in loads(site)] == [0, 2]
    site.out.add(site.pseudonym(claim.participant))
    assert title(real.get(f"/r/{ROUND}")) == said("out_title")


def test_a_claim_that_is_not_confirmed_opens_no_other_round(site: Site, played: Played) -> None:
    """Else a forger's answers there would be those of the participant whose id they claim."""
    token, other = opened(site), put(site.store, plan("review"))
    claims = [played.reserve(1), played.claim(2)]
    played.always = FAULTS["down"]
    real, forger = (come(site, token, claim) for claim in claims)
    played.always = None
    refresh(site, played)
    for who, is_new in ((real, False), (forger, True)):
        before = site.store.session(who.session.cookies["curation"])
        who.post(f"/join/{other}", agree="yes")
        now = site.store.session(who.session.cookies["curation"])
        assert (now != before, len(site.store.people())) == (is_new, 3 if is_new else 2)
    assert arrivals.participants(site.store).keys() == {p.id for p in site.store.people()[:2]}
    assert title(forger.get(entry(token, claims[0]))) == said("kind_validation")


def test_who_is_out_of_the_campaign_does_not_come_back(site: Site, played: Played) -> None:
    token, claim = opened(site), played.reserve(1)
    site.out.add(site.pseudonym(claim.participant))
    assert page(come(site, token, claim)) == said("out_title")
    assert site.store.people() == []


# --- the API does not answer --------------------------------------------------------------------


@pytest.mark.parametrize("name", FAULTS)
def test_people_enter_and_get_their_code_whatever_the_api_does(
    site: Site, played: Played, name: str
) -> None:
    token, claim = opened(site), played.reserve(1)
    played.always = FAULTS[name]
    who = come(site, token, claim)
    assert page(who) == said("kind_validation")
    assert standings(site) == [("unchecked", "")]
    assert work(who) == 3
    assert code(site, "finished") in who.get(f"/r/{ROUND}/done").text
    with pytest.raises(CurationError):
        refresh(site, played)
    assert standings(site) == [("unchecked", "finished")]
    played.always = None
    refresh(site, played)
    assert standings(site) == [("checked", "finished")]
    (person,) = site.store.people()
    assert person.name == claim.participant


def test_an_expired_token_is_named_with_what_to_do(played: Played) -> None:
    played.always = FAULTS["expired"]
    with pytest.raises(CurationError, match=r"answered 401: .*Invalid token") as caught:
        played.client().listed(STUDY)
    assert "PROLIFIC_TOKEN" in caught.value.fix


def test_a_submission_that_nobody_may_see_keeps_no_other_from_being_checked(
    site: Site, played: Played
) -> None:
    """One comes with a submission to somebody else's study, before two others; the API is down.

    Nothing is known of the round's study at first, so there is no list to ask for.
    """
    token = opened(site, count=3, asked=3)
    claims = [played.reserve(n) for n in (1, 2, 3)]
    played.foreign.add(claims[0].id)
    played.always = FAULTS["down"]
    people = [come(site, token, claim) for claim in claims]
    played.always = None
    with pytest.raises(CurationError, match="403"):
        refresh(site, played)
    assert standings(site) == [("unchecked", "")] * 3
    site.store.set_fact(f"studies {ROUND}", STUDY)
    del played.said[claims[0].id]
    refresh(site, played)
    assert [one.standing for one in arrivals.of_round(site.store, ROUND)] == (
        ["unchecked", "checked", "checked"]
    )
    assert [work(who, 1) for who in people] == [1, 1, 1]


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("http://api.example.org", "your token would be sent unencrypted"),
        ("api.prolific.com", "is not an address"),
    ],
)
def test_the_address_of_the_api_must_keep_the_token(
    monkeypatch: pytest.MonkeyPatch, url: str, what: str
) -> None:
    monkeypatch.setenv("PROLIFIC_TOKEN", "x")
    monkeypatch.setenv("PROLIFIC_URL", url)
    with pytest.raises(CurationError, match=what):
        prolific.from_environment()


def test_a_busy_api_is_asked_again(played: Played) -> None:
    claim = played.reserve(1)
    played.faults += [FAULTS["busy"], FAULTS["down"]]
    seen = played.client().submission(claim.id)
    assert seen == Seen(claim.participant, STUDY, "ACTIVE")
    assert len(played.asked) == 3


def test_a_list_has_all_pages(played: Played) -> None:
    claims = [played.reserve(n) for n in range(250)]
    assert list(played.client().listed(STUDY)) == [claim.id for claim in claims]
    assert len(played.asked) == 3
    assert played.client().listed("f" * 24) == {}
    played.faults.append(Fault(404, "{}"))
    assert played.client().listed(STUDY) == {}


def test_approving_twice_is_once_and_what_is_refused_has_its_reason(played: Played) -> None:
    done, back = played.reserve(1, "AWAITING REVIEW"), played.reserve(2, "RETURNED")
    client = played.client()
    assert [client.approve(done.id), client.approve(done.id)] == ["APPROVED", "APPROVED"]
    with pytest.raises(CurationError, match="It is RETURNED"):
        client.approve(back.id)
    with pytest.raises(CurationError, match="no such submission"):
        client.approve("0" * 24)


def test_without_a_token_people_enter_and_nobody_is_another_ones_person(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with site.served():
        token, claim = opened(site), Claim("s1", "p1", STUDY)
        assert work(come(site, token, claim), 1) == 1
        other = come(site, token, Claim("s2", "p1", STUDY))
        assert page(other) == said("kind_validation")
        assert len(site.store.people()) == 2
        assert page(come(site, token, claim._replace(participant="p2"))) == (
            said("not_confirmed_title")
        )
        assert standings(site) == [("unchecked", "")] * 2
        site.person(ROUND, name="person-1")
        named = come(site, token, Claim("s3", "Person-1", STUDY))
        assert page(named) == said("not_confirmed_title")


# --- how it ends --------------------------------------------------------------------------------


def test_who_declines_gets_a_code_and_may_still_agree(site: Site, played: Played) -> None:
    token, claim = opened(site), played.reserve(1)
    who = Someone(site, id=claim.participant)
    assert said("decline_button") in who.get(entry(token, claim)).text
    declined = who.post(entry(token, claim), decline="yes")
    assert title(declined) == said("declined_title")
    assert code(site, "no_consent") in declined.text
    assert (site.store.people(), standings(site)) == ([], [("checked", "no_consent")])
    come(site, token, claim, who)
    assert (len(site.store.people()), standings(site)) == (1, [("checked", "")])


def test_who_has_agreed_does_not_decline_with_an_old_page(site: Site, played: Played) -> None:
    """They went back in the browser: their work counts, and their code is that of finished work."""
    token, claim = opened(site), played.reserve(1)
    who = come(site, token, claim)
    asked = len(played.asked)
    for form in ({"decline": "yes"}, {"agree": "yes"}):
        assert who.post(entry(token, claim), **form).url == f"{site.url}/r/{ROUND}"
    assert (standings(site), len(played.asked)) == ([("checked", "")], asked)
    assert work(who) == 3
    assert standings(site) == [("checked", "finished")]
    assert code(site, "finished") in who.get(f"/r/{ROUND}/done").text


def test_only_people_from_prolific_can_decline_with_a_button(site: Site) -> None:
    token = put(site.store, plan("review"))
    assert said("decline_button") not in Someone(site).get(f"/join/{token}").text


def test_who_does_not_pass_the_training_is_screened_out_with_a_code(
    site: Site, played: Played
) -> None:
    token = opened(site, training=web.EXAMPLES, training_pass=0.6)
    who = come(site, token, played.reserve(1))
    wrong = {f"example_{n}": "stereotype" for n in (1, 2, 3)}
    for attempt in ("0", "1"):
        last = who.post(f"/r/{ROUND}/training", attempt=attempt, **wrong)
    assert title(last) == said("training_end_title")
    assert code(site, "screened_out") in last.text
    assert standings(site) == [("checked", "screened_out")]
    assert code(site, "screened_out") in who.get(f"/r/{ROUND}/training").text


def test_who_fails_two_instruction_checks_has_a_code_and_gets_no_more_tasks(
    site: Site, played: Played
) -> None:
    who = come(site, opened(site, count=40, instruction_checks=12), played.reserve(1))
    path, checks = who.next(ROUND), 0
    while not path.endswith("/done"):
        checks += "/check-" in path
        labels = dict.fromkeys(LABELS, "stereotype") if "/check-" in path else {}
        last = who.answer(path, id=uuid.uuid4().hex, **labels)
        path = who.next(ROUND)
    assert (checks, title(last)) == (2, said("failed_title"))
    assert code(site, "failed") in last.text
    assert standings(site) == [("checked", "failed")]
    # The second check comes in the second twelve tasks.
    assert 12 < sum(load.answered for load in loads(site)) <= 24


def test_who_gets_no_task_any_more_has_a_code(site: Site, played: Played) -> None:
    """The round is closed while one works; another comes when no task is left."""
    token = opened(site, count=1)
    one, two = (come(site, token, played.reserve(n)) for n in (1, 2))
    assert (work(one), work(two)) == (1, 0)
    shown = two.get(f"/r/{ROUND}/done")
    assert title(shown) == said("done_none_title")
    assert code(site, "finished") in shown.text
    site.store.stop(ROUND)
    closed = one.get(f"/r/{ROUND}")
    assert said("done_closed") in closed.text
    assert code(site, "finished") in closed.text


def test_who_stops_early_has_no_code_until_the_tasks_are_done(site: Site, played: Played) -> None:
    who = come(site, opened(site), played.reserve(1))
    work(who, 2)
    shown = who.get(f"/r/{ROUND}/done")
    assert title(shown) == said("done_more_title")
    assert code(site, "finished") not in shown.text
    work(who)
    site.store.ask(ROUND, {"t-1": 9, "t-2": 9, "t-3": 9})
    put(site.store, plan("validation", prolific=True, common_link=False), 4, 2)
    # More tasks than before: the code stays.
    assert code(site, "finished") in who.get(f"/r/{ROUND}/done").text


def test_in_a_browser_people_are_led_back_with_their_code_or_told_that_it_has_ended(
    browser: Any, site: Site, played: Played
) -> None:
    token, claims = opened(site, asked=2), [played.reserve(n) for n in (1, 2)]
    finishing, returning = tabs = [Tab(browser, site) for _ in claims]
    for tab, claim in zip(tabs, claims, strict=True):
        tab.go(entry(token, claim))
        tab.page.check("#agree")
        tab.press()
        tab.press()
    played.becomes("RETURNED", claims[1])
    refresh(site, played)

    def label(tab: Tab) -> None:
        for n in (1, 2, 3):
            tab.page.check(f"[name=label_{n}][value=stereotype]")
        tab.send()

    label(returning)  # the task that was on their screen
    assert returning.text("h1") == "Your submission has ended"
    for _ in range(3):
        label(finishing)
    own = code(site, "finished")
    assert finishing.text(".code") == own
    assert claims[0].id not in finishing.page.url
    back = finishing.page.get_attribute("main a.main", "href")
    assert back == f"https://app.prolific.com/submissions/complete?cc={own}"
    for tab in tabs:
        tab.close()


# --- statuses in any order ----------------------------------------------------------------------

COUNTING = ("RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "SCREENED OUT", "SOMETHING NEW")


def test_what_the_api_said_last_decides_and_places_come_back(site: Site, played: Played) -> None:
    """Three tasks of one answer each. One person answers t-1 and t-2, holds t-3, and returns.

    While it counts: answered 1, 1, 0, and t-3 is held, so that nobody else gets a task. Gone:
    answered 0, 0, 0, and another person could get all three.
    """
    token, claim = opened(site), played.reserve(1)
    who, other = come(site, token, claim), come(site, token, played.reserve(2))
    assert work(who, 2) == 2
    held = who.next(ROUND)
    _, two = site.store.people()

    def free() -> int:
        return site.store.standing(two, ROUND, at=site.services.now()).left

    for status in ("RETURNED", "ACTIVE", "TIMED-OUT", "APPROVED", "REJECTED", *COUNTING):
        played.becomes(status, claim)
        refresh(site, played)
        gone = status in arrivals.GONE
        assert standings(site)[0] == ("returned" if gone else "checked", ""), status
        assert [load.answered for load in loads(site)] == ([0, 0, 0] if gone else [1, 1, 0])
        assert free() == (3 if gone else 1), status  # the lease of t-3 has ended for good
        shown = who.get(f"/r/{ROUND}/done")
        assert title(shown) == said("gone_title" if gone else "done_more_title")
        assert who.get(entry(token, claim)).url.endswith("/done") == gone
        assert (code(site, "finished") in shown.text) == gone  # it is no outcome
    played.becomes("RETURNED", claim)
    refresh(site, played)
    assert who.next(ROUND).endswith("/done")
    assert who.answer(held, id="f" * 32).status_code == 200  # kept, and does not count
    assert [load.answered for load in loads(site)] == [0, 0, 0]
    assert sum("task_id" in line.payload for line in site.store.lines(ROUND)) == 3
    assert work(other) == 3
    played.becomes("APPROVED", claim)
    refresh(site, played)
    assert [load.answered for load in loads(site)] == [2, 2, 2]
    assert standings(site)[0] == ("checked", "")


def test_a_returned_submission_cannot_enter_anew(site: Site, played: Played) -> None:
    token, claim = opened(site), played.reserve(1, "RETURNED")
    assert page(come(site, token, claim)) == said("gone_title")
    assert site.store.people() == []


def test_the_server_checks_provisional_people_while_they_work(
    tmp_path: Path, played: Played
) -> None:
    """The API is down when three enter, two with invented ids; it fails once more, then answers."""
    site = Site(tmp_path, crowd=played.client(), pace=0.05)
    with site.served():
        token, real = opened(site, count=3, asked=3), played.reserve(1)
        played.always = FAULTS["down"]
        claims = [real, real._replace(id="0" * 24), real._replace(id="1" * 24)]
        people = [come(site, token, claim) for claim in claims]
        assert [work(who, 1) for who in people] == [1, 1, 1]
        assert [one.standing for one in arrivals.of_round(site.store, ROUND)] == ["unchecked"] * 3
        played.always = None
        played.faults.append(FAULTS["html"])
        wait_for(lambda: [s for s, _ in standings(site)] == ["checked", "forged", "forged"])
        assert sum(load.answered for load in loads(site)) == 1
        assert work(people[0]) == 2
        for refused in (people[1].post(f"/r/{ROUND}/next"), people[1].get(f"/r/{ROUND}")):
            assert title(refused) == said("not_confirmed_title")
    asked = len(played.asked)
    time.sleep(0.2)  # four times the pace
    assert len(played.asked) == asked  # the check has stopped with the server
