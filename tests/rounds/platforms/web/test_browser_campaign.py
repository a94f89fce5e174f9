"""A whole campaign in a real browser: eight people on phones, from the review to decisions."""

from collections import Counter
from pathlib import Path
from typing import Any

from curation.kinds import GOLD_COLUMNS
from curation.records import Decision, Item, Label, Rejection
from curation.rounds.platforms.pages import values_of
from support.desk import Desk, word
from support.pages import pseudonyms
from support.web import Site
from support.web_tab import CHIP, GAP, SENDS, Tab

QUICK = {"write_seconds": 0, "label_seconds": 0, "pause_after": 0}
KINDS = {"r": "review", "w": "intrasentence", "w2": "intersentence", "v": "validation"}


class People:
    """The eight, each with an own link, and what they do on their pages."""

    def __init__(self, browser: Any, site: Site, desk: Desk) -> None:
        self.browser, self.site, self.desk = browser, site, desk
        self.all = [site.person(name=f"person {n}") for n in range(8)]

    def admit(self, round: str, *numbers: int) -> None:
        for n in numbers:
            self.site.store.admit(self.all[n].id, round)

    def tab(self, n: int, round: str, tab: Tab | None = None) -> Tab:
        """Somebody opens their link, agrees, and passes the training."""
        tab = tab or Tab(self.browser, self.site)
        tab.go(self.all[n].link)
        tab.go(f"/r/{round}")
        if tab.page.query_selector("#agree"):
            tab.page.check("#agree")
            tab.press()
        if tab.path.endswith("/training"):
            self.train(tab, round)
            tab.press()
        tab.press()
        return tab

    def train(self, tab: Tab, round: str, *, right: bool = True) -> None:
        plan = self.site.store.plan(round)
        assert plan is not None
        values = values_of(plan.kind)
        for n, example in enumerate(plan.training, 1):
            wrong = values[values.index(example.label) - 1]
            tab.page.check(f"[name=example_{n}][value={example.label if right else wrong}]")
        tab.press()

    def answer(self, tab: Tab, round: str, *, send: bool = True) -> None:
        """Fill in the form of a task; ``send`` is false for those whom something befalls."""
        page, task = tab.page, tab.path.rsplit("/", 1)[1]
        target = tab.text("h1 em")
        kind = KINDS[round]
        here, *words = (word(task, n) for n in range(4))
        if kind == "review":
            page.check("[value=drop]" if target == "court jester" else "[value=keep]")
            if target == "court jester":
                page.check("[name=reasons][value=insult]")
        elif kind == "intrasentence":
            for name, text in zip(GOLD_COLUMNS, words, strict=True):
                page.fill(f"#{name}", text)
            page.click(GAP)
            page.keyboard.type(f"In {here} the {target} is ")
            page.click("#gap")
            page.keyboard.type(".")
        elif kind == "intersentence":
            page.fill("#context", f"In {here} came a {target}.")
            for name, text in zip(GOLD_COLUMNS, words, strict=True):
                page.fill(f"#{name}", f"It was {text}.")
        else:
            golds = self.desk.golds()
            for fieldset in page.query_selector_all("fieldset[data-keys]"):
                gold = golds[fieldset.query_selector("legend").inner_text()]
                fieldset.query_selector(f"[value={gold}]").check()
        if send:
            tab.send()

    def work(self, tab: Tab, round: str) -> int:
        """Answer all that is given; how many tasks."""
        for n in range(50):
            if not tab.page.query_selector("#task"):
                assert tab.path.endswith("/done")
                return n
            self.answer(tab, round)
        raise AssertionError("the tasks do not end")


def test_eight_people_from_review_to_decisions(browser: Any, cli: Any, tmp_path: Path) -> None:
    terms = ["librarian", "baker", "court jester"]
    desk = Desk.make(cli, tmp_path / "c", terms, items=1, accept_times=(), **QUICK)
    opened = desk.say("rounds", "open", "review", "--name", "r")
    site = Site(desk.rounds, pseudonym=pseudonyms(desk))
    site.pseudonym = pseudonyms(desk)
    with site.served():
        people = People(browser, site, desk)
        review(people, desk, opened["address"].rsplit("/", 1)[1])
        write(people, desk)
        label(people, desk)
    decide(desk)


def review(people: People, desk: Desk, token: str) -> None:
    """Two with their links; and one, who is new, comes by the common link."""
    people.admit("r", 0, 1)
    for n in (0, 1):
        tab = people.tab(n, "r")
        assert people.work(tab, "r") == 3
        assert tab.text("h1") == "Thank you"
        tab.close()
    tab = Tab(people.browser, people.site)
    tab.go(f"/join/{token}")
    tab.page.check("#agree")
    tab.press()
    assert "/p/" in tab.page.input_value("#own-link")
    tab.press()
    if tab.path.endswith("/training"):
        people.train(tab, "r")
        tab.press()
    tab.press()
    assert people.work(tab, "r") == 3
    tab.close()
    desk.say("rounds", "pull", "r")
    assert desk.status("r")["remaining"] == 0
    edits = desk.say("rounds", "close", "r")["edits"]
    assert [(edit["term"], edit["action"]) for edit in edits] == [("court jester", "drop")]
    desk.say("terms", "select")


def write(people: People, desk: Desk) -> None:
    """Two share a phone, and one of them loses the network."""
    for round, kind in (("w", "intrasentence"), ("w2", "intersentence")):
        desk.say("rounds", "open", kind, "--name", round)
    people.admit("w", 2, 3)
    people.admit("w2", 2)
    phone = people.tab(2, "w")
    people.answer(phone, "w", send=False)
    phone.page.route("**/t/*", lambda route: route.abort())
    phone.page.click(SENDS)
    phone.page.wait_for_selector("#waiting:visible")
    phone.page.unroute_all()
    people.tab(3, "w", phone)
    assert phone.page.input_value("#stereotype") == ""
    assert phone.page.locator(CHIP).count() == 0
    assert people.work(phone, "w") == 1
    phone.page.click("#leave button")
    phone.page.wait_for_url("**/leave")
    assert len(phone.kept()) == 2
    phone.go(people.all[2].link)
    phone.emptied()
    phone.go("/r/w2")
    phone.page.check("#agree")
    phone.press()
    if phone.path.endswith("/training"):
        people.train(phone, "w2")
        phone.press()
    phone.press()
    assert people.work(phone, "w2") == 2
    phone.close()
    for round in ("w", "w2"):
        desk.say("rounds", "pull", round)
        refused = desk.records(f"{round}/rejected.jsonl", Rejection)
        said = [(r.code, r.detail[:200]) for r in refused]
        assert said == []
        assert desk.status(round)["remaining"] == 0
        desk.say("rounds", "close", round)
    items = [*desk.records("w/items.jsonl", Item), *desk.records("w2/items.jsonl", Item)]
    writers = [people.site.pseudonym(people.all[n].id) for n in (2, 3)]
    assert Counter(item.writer for item in items) == {writers[0]: 3, writers[1]: 1}


def label(people: People, desk: Desk) -> None:
    """One fails the training, one changes the device, one goes back and reloads, writers label."""
    opened = desk.say("rounds", "open", "validation", "--name", "v")
    assert (opened["tasks"], opened["answers_asked"], opened["address"]) == (4, 20, "")
    people.admit("v", 0, 1, 3, 4, 5, 6, 7)
    failing = Tab(people.browser, people.site)
    failing.go(people.all[4].link)
    failing.page.check("#agree")
    failing.press()
    for attempt in range(2):
        people.train(failing, "v", right=False)
        if not attempt:
            failing.press()
    assert failing.text("h1") == "Thank you for your time"
    failing.close()

    phone = people.tab(5, "v")
    people.answer(phone, "v")
    people.answer(phone, "v", send=False)
    desk_tab = people.tab(5, "v", Tab(people.browser, people.site, "desk"))
    assert desk_tab.path == phone.path
    assert people.work(desk_tab, "v") == 3
    phone.page.click(SENDS)  # once more, the task that was answered on the other device
    phone.page.wait_for_url("**/r/v/done")
    phone.close()
    desk_tab.close()

    back = people.tab(6, "v")
    for _ in range(4):
        people.answer(back, "v", send=False)
        back.page.reload()
        back.send()
        back.page.go_back()
        back.page.reload()
        back.send()  # the same answer, as a change
    assert back.path.endswith("/done")
    back.close()

    for n, tasks in ((3, 3), (0, 4), (1, 4), (7, 1)):
        tab = people.tab(n, "v")
        done = people.work(tab, "v")
        assert done == tasks, n
        tab.close()
    desk.say("rounds", "pull", "v")


def decide(desk: Desk) -> None:
    assert desk.status("v")["remaining"] == 0
    codes = Counter(r.code for r in desk.records("v/rejected.jsonl", Rejection))
    assert codes == {"second_answer": 1, "superseded": 4}
    desk.say("rounds", "close", "v")
    desk.does("decisions", "filter")
    decisions = desk.records("../3-decisions/decisions.jsonl", Decision)
    assert [decision.kept for decision in decisions] == [True] * 4
    labels = desk.records("v/labels.jsonl", Label)
    assert len(labels) == 4 * 5 * 3
    own = {
        item.id: item.writer
        for name in ("w", "w2")
        for item in desk.records(f"{name}/items.jsonl", Item)
    }
    assert not [label for label in labels if own[label.item] == label.annotator]
