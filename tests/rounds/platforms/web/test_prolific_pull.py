"""What people from Prolific sent, in a campaign: what a pull lets in, refuses, and takes back."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.records import Answer, Rejection
from curation.rounds.platforms.opening import open_platform
from curation.rounds.platforms.web import arrivals, forms
from curation.rounds.platforms.web.arrivals import Claim
from curation.rounds.platforms.web.store import Person, Store
from support.desk import Desk
from support.pages import pseudonyms, reviewed, work
from support.prolific import FAULTS, STUDY, TOKEN, Played

WAIT = "answers of {} people wait until Prolific has confirmed"


@pytest.fixture
def desk(forked: Any, tmp_path: Path, played: Played) -> Desk:
    """A review of three terms, each by three people from Prolific."""
    made = Desk.make(
        forked, tmp_path / "c", ["baker", "potter", "fiddler"], accept_times=(), pause_after=0
    )
    opened = made.say("rounds", "open", "review", "--name", "r", "--prolific")
    assert opened["address"].endswith(
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert opened["answers_asked"] == 9
    return made


def platform(desk: Desk) -> Any:
    campaign = open_campaign(desk.root)
    return open_platform(campaign, campaign.round("r"))


def enter(desk: Desk, store: Store, claim: Claim, standing: str = "checked") -> Person:
    name, at = pseudonyms(desk), time.time()
    person = arrivals.enter(store, "r", claim, (standing, ""), pseudonym_of=name, at=at)
    store.consent(person.id, "r", at=time.time())
    return person


def pull(desk: Desk, *more: str) -> tuple[int, int]:
    """New and changed answers of a pull."""
    said = desk.say("rounds", "pull", "r", *more)
    return said["new"], said["changed"]


def refused(desk: Desk) -> Counter[str]:
    return Counter(one.code for one in desk.records("r/rejected.jsonl", Rejection))


def valid(desk: Desk) -> Counter[str]:
    """By pseudonym, the answers that count."""
    answers = desk.records("r/answers.jsonl", Answer)
    return Counter(one.annotator for one in answers if one.code is None)


def test_answers_count_once_their_submission_is_checked_and_as_long_as_it_stands(
    desk: Desk, played: Played
) -> None:
    """Three tasks, three answers each. Each person answers all three.

    | who | at first | then | at the end |
    |---|---|---|---|
    | one | checked: 3 count | 3 | 3 |
    | two | API down: wait | confirmed: 3 | 3 |
    | three | API down: wait | invented: 3 refused, 3 places free | refused |
    | four | – | takes these 3 places: 3 | returned: 3 refused, then approved: 3 |
    """
    one, two, four = (played.reserve(n) for n in (1, 2, 4))
    three = Claim("0" * 24, "1" * 24, STUDY)
    who = {claim: pseudonyms(desk)(claim.participant) for claim in (one, two, three, four)}
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        first = enter(desk, store, one)
        rest = [enter(desk, store, claim, "unchecked") for claim in (two, three)]
        assert [work(store, "r", person, reviewed) for person in (first, *rest)] == [3, 3, 3]
        played.always = FAULTS["down"]
        said = desk.does("rounds", "pull", "r")
        assert "submissions are not checked now: Prolific: answered 503" in said.err
        assert WAIT.format(2) in said.err
        assert valid(desk) == {who[one]: 3}
        assert platform(desk).waiting() == 6
        # What waits is on its way: nothing is asked for in its place.
        assert desk.say("rounds", "top-up", "r")["answers"] == 0
        before = {path: path.read_bytes() for path in (desk.rounds / "r/raw").iterdir()}

        played.always = None
        assert pull(desk) == (6, 0)
        assert (valid(desk), refused(desk)) == ({who[one]: 3, who[two]: 3}, {"forged": 3})
        assert (pull(desk), pull(desk, "--full"), platform(desk).waiting()) == ((0, 0), (0, 0), 0)
        assert desk.say("rounds", "top-up", "r")["answers"] == 0
        assert work(store, "r", enter(desk, store, four), reviewed) == 3
        assert pull(desk) == (3, 0)
        assert desk.status("r")["remaining"] == 0

        # Each change sends the three answers once more: a version that supersedes the last one.
        played.becomes("RETURNED", four)
        assert pull(desk) == (0, 3)
        assert refused(desk) == {"forged": 3, "superseded": 3, "returned": 3}
        assert (desk.status("r")["remaining"], pull(desk)) == (3, (0, 0))
        assert desk.say("rounds", "top-up", "r")["answers"] == 0  # the places are free already
        five = enter(desk, store, played.reserve(5))
        assert store.standing(five, "r", at=time.time()).left == 3
        assert work(store, "r", five, reviewed, 1) == 1
        played.becomes("APPROVED", four)
        assert pull(desk) == (1, 3)
        assert refused(desk) == {"forged": 3, "superseded": 6}
        assert valid(desk)[who[four]] == 3
        assert pull(desk, "--full") == (0, 0)
        assert {path: path.read_bytes() for path in before} == before


def test_what_a_returned_submission_sent_stays_out_when_its_participant_comes_again(
    desk: Desk, played: Played
) -> None:
    """One answer under each of two submissions; the first is returned before the second begins."""
    first, second = played.reserve(1), played.claim(9)._replace(participant=played.claim(1)[1])
    played.said[second.id] = played.said[first.id] | {"id": second.id}
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        person = enter(desk, store, first)
        assert work(store, "r", person, reviewed, 1) == 1
        played.becomes("RETURNED", first)
        assert pull(desk) == (1, 0)
        assert enter(desk, store, second) == person
        assert work(store, "r", person, reviewed, 1) == 1
        arrivals.end(store, person.id, "r", "finished", at=time.time())
        assert pull(desk) == (1, 0)
        for changes in ((0, 0), (0, 1), (0, 1)):  # none; the second is returned; and counts again
            assert (valid(desk)[person.pseudonym], refused(desk)["returned"]) in ((1, 1), (0, 2))
            assert (pull(desk), pull(desk, "--full")) == (changes, (0, 0))
            gone = played.said[second.id]["status"] == "RETURNED"
            played.becomes("APPROVED" if gone else "RETURNED", second)
        assert (valid(desk)[person.pseudonym], refused(desk)["returned"]) == (1, 1)
        assert sum(load.answered for load in store.loads("r").values()) == 1
        assert store.give(person, "r", at=time.time()) != "closed"
    shown = [
        (one.standing, one.outcome, one.answered)
        for one in platform(desk).study.submissions(ask=False)
    ]
    assert shown == [("returned", "", 1), ("checked", "finished", 1)]


def test_who_comes_while_a_pull_runs_waits_for_the_next_one(
    desk: Desk, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, claim = Store.lines, Claim("0" * 24, "1" * 24, STUDY)

    def later(store: Store, *args: Any, **how: Any) -> Any:
        assert work(store, "r", enter(desk, store, claim, "unchecked"), reviewed) == 3
        return lines(store, *args, **how)

    monkeypatch.setattr(Store, "lines", later)
    assert platform(desk).pull().new == 0
    monkeypatch.setattr(Store, "lines", lines)
    assert pull(desk) == (3, 0)
    assert refused(desk) == {"forged": 3}


def test_the_list_of_submissions_says_what_each_is_worth(desk: Desk, played: Played) -> None:
    """Also of one with which nobody came, and of a claim that contradicts a confirmed one."""
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        claims = [played.reserve(n) for n in (1, 2, 3)]
        forger = claims[0]._replace(participant="1" * 24)
        enter(desk, store, forger, "unchecked")
        person = enter(desk, store, claims[0])
        assert work(store, "r", person, reviewed) == 3
        arrivals.end(store, person.id, "r", "finished", at=time.time())
        arrivals.decline(store, "r", claims[1], ("checked", "ACTIVE"), at=time.time())
        stolen = claims[2]._replace(participant="2" * 24)  # its own participant never comes
        enter(desk, store, stolen, "unchecked")
        code = forms.study_code(store, "r", "finished")
    played.becomes("AWAITING REVIEW", claims[0], claims[2])
    place = platform(desk)
    shown = [
        (one.id, one.standing, one.status, one.outcome, one.answered)
        for one in place.study.submissions(ask=True)
    ]
    assert shown == [
        (claims[0].id, "forged", "AWAITING REVIEW", "", 0),
        (claims[0].id, "checked", "AWAITING REVIEW", "finished", 3),
        (claims[1].id, "checked", "ACTIVE", "no_consent", 0),
        (claims[2].id, "forged", "AWAITING REVIEW", "", 0),
        (claims[2].id, "unknown", "AWAITING REVIEW", "", 0),
    ]
    assert place.study.codes()["finished"] == code
    assert place.codes([claims[0].participant]) == {claims[0].participant: code}
    assert place.study.can_approve
    became = place.study.approve([claims[0].id, claims[1].id, "f" * 24])
    assert became[claims[0].id] == "APPROVED"
    assert "It is ACTIVE" in became[claims[1].id]
    assert "no such submission" in became["f" * 24]
    assert played.approved == [claims[0].id]
    played.always = FAULTS["expired"]
    assert len(place.study.submissions(ask=False)) == 4
    with pytest.raises(CurationError, match="401"):
        place.study.submissions(ask=True)


def test_only_studies_of_the_round_count_once_one_is_named(desk: Desk, played: Played) -> None:
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        part = played.reserve(3, study="7" * 24)
        played.said[part.id]["parent_study_id"] = STUDY
        for claim in (played.reserve(1), played.reserve(2, study="9" * 24), part):
            enter(desk, store, claim)
    played.reserve(4, study="9" * 24)  # nobody came with it
    place = platform(desk).study
    checked = ["checked"] * 3
    assert [one.standing for one in place.submissions(ask=True)] == [*checked, "unknown"]
    place.add(STUDY)
    place.add("8" * 24)  # such as a pilot
    after = [one.standing for one in place.submissions(ask=True)]
    assert after == ["checked", "forged", "checked"]
    place.add("9" * 24)
    assert [one.standing for one in place.submissions(ask=True)] == [*checked, "unknown"]


def test_a_person_is_found_and_erased_by_their_id_at_prolific(desk: Desk, played: Played) -> None:
    """They came twice: once provisionally, which is a person of its own."""
    claims = [played.reserve(1)._replace(id=f"{n:024x}") for n in (1, 2)]
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        for claim in claims:
            person = enter(desk, store, claim, "unchecked")
            assert work(store, "r", person, reviewed, 1) == 1
        for other in (claims[0]._replace(id="f" * 24), played.reserve(2)):
            arrivals.decline(store, "r", other, ("checked", "ACTIVE"), at=time.time())
        place, name = platform(desk), pseudonyms(desk)(claims[0].participant)
        assert place.named(claims[0].participant) == name
        assert place.named(person.id) == name
        # They may be anybody, so their rows open no other round.
        assert "nobody has a link" in desk.refused("rounds", "links", "r", "--everybody")
        other_id = f"{claims[0].participant}0"  # without a token any text may be an id
        for list_, rest in (("bonus-r-1.csv", ",1.25\n"), ("approve-r.csv", "\n")):
            text = f"{claims[0].participant}{rest}{other_id}{rest}"
            (desk.rounds / list_).write_text(text, encoding="utf-8")
        assert place.erase(name) == 2
        assert store.people() == []
        left = [(desk.rounds / one).read_text() for one in ("bonus-r-1.csv", "approve-r.csv")]
        assert left == [f"(erased),1.25\n{other_id},1.25\n", f"{other_id}\n"]
        assert [one.outcome for one in arrivals.of_round(store, "r")] == ["no_consent"]


def test_without_a_token_answers_count_and_the_owner_is_warned(
    desk: Desk, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROLIFIC_TOKEN")
    assert "PROLIFIC_TOKEN is not set" in desk.does("rounds", "open", "review", "--name", "r").err
    with closing(Store(desk.rounds / "web.sqlite")) as store:
        claims = [played.reserve(1), Claim("0" * 24, "1" * 24, STUDY)]
        for claim in claims:
            work(store, "r", enter(desk, store, claim, "unchecked"), reviewed)
    said = desk.does("rounds", "pull", "r")
    assert "PROLIFIC_TOKEN is not set" in said.err
    assert sum(valid(desk).values()) == 6
    place = platform(desk).study
    assert not place.can_approve
    assert [one.standing for one in place.submissions(ask=True)] == ["unchecked"] * 2
    with pytest.raises(CurationError, match="PROLIFIC_TOKEN"):
        place.approve(["x"])
    # With a token, what was let in is checked as well.
    monkeypatch.setenv("PROLIFIC_TOKEN", TOKEN)
    assert pull(desk) == (0, 3)
    assert refused(desk) == {"superseded": 3, "forged": 3}
    monkeypatch.delenv("PROLIFIC_TOKEN")
    assert desk.does("rounds", "close", "r").err.count("PROLIFIC_TOKEN is not set") == 1


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--platform", "files"), "--prolific is for our own pages"),
        (("--common-link",), "leave one of them out"),
    ],
)
def test_the_link_for_prolific_is_for_our_own_pages_alone(
    desk: Desk, options: tuple[str, ...], what: str
) -> None:
    assert what in desk.refused("rounds", "open", "review", "--prolific", *options)


def test_other_platforms_have_no_submissions(desk: Desk) -> None:
    desk.open("review", "s")
    campaign = open_campaign(desk.root)
    assert open_platform(campaign, campaign.round("s")).study is None
