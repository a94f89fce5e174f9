"""Thirty people from a played Prolific in a real browser, in a campaign, to the last place."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

from curation.campaign.store import open_campaign
from curation.records import Answer, Rejection
from curation.rounds.platforms.opening import open_platform
from curation.rounds.platforms.web import forms
from curation.rounds.platforms.web.arrivals import Claim
from support.desk import Desk
from support.pages import pseudonyms
from support.prolific import FAULTS, STUDY, Played, entry
from support.web import Site
from support.web_tab import Tab

TERMS = ("baker", "potter", "fiddler", "thatcher")
DOWN, REAL, LAST = range(1, 6), range(6, 20), 20
"""The numbers of those who finish: they enter while the API is down, while it answers, last."""
RETURNING, LEAVING, PASTING = range(21, 25), (25, 26), 27


class Crowd:
    """Thirty people, and what they do on the pages of a round."""

    def __init__(self, browser: Any, site: Site, desk: Desk, token: str) -> None:
        self.browser, self.site, self.desk, self.token = browser, site, desk, token

    def come(self, claim: Claim) -> Tab:
        """Somebody opens the link at Prolific, agrees, and takes the first task, if any."""
        tab = Tab(self.browser, self.site)
        tab.go(entry(self.token, claim))
        tab.page.check("#agree")
        tab.press()
        if tab.path == "/r/r":
            tab.press()
        return tab

    def work(self, claim: Claim, most: int = 99) -> tuple[int, Tab]:
        """Answer up to so many tasks; how many there were, and the tab."""
        tab = self.come(claim)
        for n in range(most):
            if not tab.page.query_selector("#task"):
                return n, tab
            tab.page.check("[value=keep]")
            tab.send()
        return most, tab

    def finish(self, claim: Claim) -> int:
        """Answer all that is given, and look at the code; how many tasks."""
        tasks, tab = self.work(claim)
        code = forms.study_code(self.site.store, "r", "finished")
        assert tab.text(".code") == code
        assert claim.id not in tab.page.url
        back = tab.page.get_attribute("main a.main", "href")
        assert back == f"https://app.prolific.com/submissions/complete?cc={code}"
        tab.close()
        return tasks

    def answered(self) -> int:
        """The answers that take places."""
        return sum(load.answered for load in self.site.store.loads("r").values())


def test_thirty_people_from_prolific(
    browser: Any, forked: Any, tmp_path: Path, played: Played
) -> None:
    """Four tasks of 20 answers each: 80 places.

    | people | what they do | answers | count |
    |---|---|---|---|
    | 1 to 5 | enter while the API is down, finish | 5 x 4 | 20 |
    | forger 1 | enters while the API is down with an invented id, finishes | 4 | 0 |
    | forgers 2, 3 | invent an id, take another one's: no tasks | 0 | 0 |
    | 21 to 24 | return after two tasks | 4 x 2 | 0 |
    | 25 | leaves after one task and times out | 1 | 0 |
    | 26 | leaves after one task, and stays active | 1 | 1 |
    | 6 to 19 | finish | 14 x 4 | 56 |
    | 20 | finishes last, and shares the code with 27 | 3 | 3 |
    | 27 | never comes, and pastes the code | 0 | 0 |

    That is 5 + 3 + 4 + 2 + 14 + 2 = 30 people, and 20 + 1 + 56 + 3 = 80 answers that count. Person
    20 gets three tasks, because the fourth has 5 + 1 + 14 = 20 answers. Before the first pull 20 +
    4 + 8 + 2 = 34 places are taken; after it 34 - 4 - 8 - 1 = 21, so 13 were given back.
    """
    desk = Desk.make(
        forked, tmp_path / "c", TERMS, reviewers=20, pause_after=0, training_pass=0, pay_review=0.25
    )
    opened = desk.say("rounds", "open", "review", "--name", "r", "--prolific")
    assert (opened["tasks"], opened["answers_asked"]) == (4, 80)
    # 80 answers of 20 people: 4 tasks each, which pay 1.00.
    study = desk.say("rounds", "study", "r", "--places", "20", "--id", STUDY)
    assert (study["external_study_url"], study["reward"]) == (opened["address"], 100)
    clock = [time.time()]
    site = Site(
        desk.rounds, pseudonym=pseudonyms(desk), crowd=played.client(), pace=3600.0,
        now=lambda: clock[0],
    )  # fmt: skip
    with site.served():
        token = site.store.token("r")
        people(Crowd(browser, site, desk, token), played, clock)
    submissions(desk, played)
    approvals(desk, played)


def people(crowd: Crowd, played: Played, clock: list[float]) -> None:
    """They come, work, return and leave; what is free after that."""
    claims = {n: played.reserve(n) for n in range(1, 28)}
    invented = Claim("0" * 24, "1" * 24, STUDY)
    played.always = FAULTS["down"]
    assert [crowd.finish(claims[n]) for n in DOWN] == [4] * 5
    assert crowd.finish(invented) == 4
    played.always = None
    others = claims[6]._replace(participant="2" * 24)
    for forged in (invented._replace(id="3" * 24), others):
        tab = crowd.come(forged)
        assert tab.text("h1") == "Prolific does not confirm this link"
        tab.close()
    returning = [crowd.work(claims[n], 2)[1] for n in RETURNING]
    leaving = [crowd.work(claims[n], 1)[1] for n in LEAVING]
    assert crowd.answered() == 34
    played.becomes("RETURNED", *(claims[n] for n in RETURNING))
    played.becomes("TIMED-OUT", claims[LEAVING[0]])
    crowd.desk.say("rounds", "pull", "r")
    assert crowd.answered() == 21
    for tab in returning:  # they have a task on their screen, and go on
        tab.page.check("[value=keep]")
        tab.send()
        assert tab.text("h1") == "Your submission has ended"
        tab.close()
    assert crowd.answered() == 21
    assert [crowd.finish(claims[n]) for n in REAL] == [4] * 14
    clock[0] += 3600  # the task that person 26 holds is free again
    assert crowd.finish(claims[LAST]) == 3
    assert crowd.answered() == 80
    for tab in leaving:
        tab.close()
    finished = [claims[n] for n in (*DOWN, *REAL, LAST, PASTING)]
    played.becomes("AWAITING REVIEW", *finished)


def platform(desk: Desk) -> Any:
    campaign = open_campaign(desk.root)
    return open_platform(campaign, campaign.round("r"))


def submissions(desk: Desk, played: Played) -> None:
    """What counts in the campaign, and what the list of submissions says.

    The list has the 27 submissions at Prolific and the invented one. 20 + 1 (person 26) are
    checked, 4 + 1 (person 25) are returned. The refused answers: 4 forged; 4 x 3 + 1 returned, of
    which 4 came after the return; the first pull had no answer of those who returned.
    """
    desk.say("rounds", "pull", "r")
    shown = platform(desk).study.submissions(ask=True)
    assert Counter(one.standing for one in shown) == {
        "checked": 21, "returned": 5, "forged": 1, "unknown": 1,
    }  # fmt: skip
    ready = [one for one in shown if (one.standing, one.outcome) == ("checked", "finished")]
    assert Counter((one.status, one.answered) for one in ready) == {
        ("AWAITING REVIEW", 4): 19,
        ("AWAITING REVIEW", 3): 1,
    }
    (unknown,) = (one for one in shown if one.standing == "unknown")
    assert unknown.status == "AWAITING REVIEW"
    status = desk.status("r")
    assert (status["remaining"], status["missing"]) == (0, 0)
    codes = Counter(one.code for one in desk.records("r/answers.jsonl", Answer))
    assert codes == {None: 80, "forged": 4, "returned": 13}
    refused = Counter(one.code for one in desk.records("r/rejected.jsonl", Rejection))
    assert refused == {"forged": 4, "returned": 13}
    name = pseudonyms(desk)
    valid = {one.annotator for one in desk.records("r/answers.jsonl", Answer) if one.code is None}
    real = [played.claim(n) for n in (*DOWN, *REAL, LAST, LEAVING[1])]
    assert valid == {name(claim.participant) for claim in real}


def approvals(desk: Desk, played: Played) -> None:
    """20 are approved. Of the rest, 5 worked for nothing that counts, and get a bonus.

    Who finished has the pay of 4 answers, 1.00, or of 3, 0.75: the reward is 1.00, so no bonus.
    21 to 24 sent 3 answers each, 0.75; 25 sent one, 0.25: 4 x 0.75 + 0.25 = 3.25.
    """
    claims = {n: played.claim(n) for n in range(1, 28)}
    ready = {claims[n].id for n in (*DOWN, *REAL, LAST)}
    said = desk.say("rounds", "approve", "r", "--yes")
    assert said["complete"] == 20
    assert said["became"] == dict.fromkeys(ready, "APPROVED")
    assert sorted(played.approved) == sorted(ready)
    left = Counter(one["reason"] for one in said["left"])
    assert left == {"returned": 5, "under_way": 1, "forged": 1, "unknown": 1}
    again = desk.say("rounds", "approve", "r", "--yes")
    assert (again["complete"], len(played.approved)) == (0, 20)
    bonus = desk.say("rounds", "approve", "r", "--bonus")
    assert (bonus["people"], bonus["amount"]) == (5, "3.25")
    owed = {claims[n].participant: "0.75" for n in RETURNING}
    owed[claims[LEAVING[0]].participant] = "0.25"
    lines = Path(bonus["file"]).read_text("utf-8").splitlines()
    assert dict(line.split(",") for line in lines) == owed
    assert desk.say("rounds", "approve", "r", "--bonus")["file"] is None
