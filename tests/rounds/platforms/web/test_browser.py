"""The pages in a real browser: looked at in every state, by keyboard, without a network, shared."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.kinds import RoundKindName
from curation.rounds.platforms.web import forms
from support import web
from support.web import Site, Someone, plan, put
from support.web_tab import CHIP, GAP, SENDS, Tab, audit


@pytest.fixture
def site(tmp_path: Path, clock: list[float]) -> Iterator[Site]:
    made = Site(tmp_path, now=lambda: clock[0], findings=forms.findings)
    forms.warm("en", made.services)  # it takes seconds, on a busy machine many
    with made.served():
        yield made


LOOKS = [
    ("phone", "ltr", "light"),
    ("phone", "rtl", "dark"),
    ("desk", "ltr", "dark"),
    ("desk", "rtl", "light"),
]


@pytest.mark.parametrize(("size", "direction", "scheme"), LOOKS)
def test_every_page_in_every_state(
    browser: Any, axe: str, site: Site, clock: list[float], size: str, direction: str, scheme: str
) -> None:
    shown = web.texts()
    shown["page"]["direction"] = direction
    more = {"training": web.EXAMPLES, "training_pass": 0.6, "pause_after": 1}
    web.every_round(
        site.store, lambda kind: {"texts": shown} | (more if kind == "validation" else {})
    )
    tab = Tab(browser, site, size, color_scheme=scheme)
    page = tab.page

    def look(path: str = "") -> None:
        if path:
            tab.go(path)
        audit(tab, axe)

    look("/")
    look(f"/join/{site.store.token('intrasentence-1')}")
    tab.press()
    assert tab.text(".fix") == web.texts()["web"]["agree_first"]
    look()
    page.check("#agree")
    tab.press()
    look()
    page.click("main button")
    page.wait_for_selector("main .link .kept:visible")
    look()
    look("/r/intrasentence-1")
    tab.press()
    look()
    tab.write()
    look()
    page.fill("#anti_stereotype", "quiet")
    page.click("#gap")
    page.click(SENDS)
    page.wait_for_selector("#fix-template .fix")
    look()
    page.fill("#anti_stereotype", "loud")
    page.fill("#stereotype", "shyy")  # a warning
    page.click("#gap")
    page.click("#unrelated")
    page.click("#stereotype")
    page.wait_for_selector("#fix-stereotype .advice")
    look()
    page.click("#skip summary")
    look()
    tab.context.set_offline(True)
    page.click(SENDS)
    page.wait_for_selector("#waiting:visible")
    look()
    page.click("#leave button")
    page.wait_for_selector("dialog[open]")
    look()
    page.click("dialog [value=leave]")
    page.wait_for_selector("#still-here:visible")
    look()
    tab.context.set_offline(False)
    page.wait_for_url("**/t/t-2")
    for path in ("/me", "/help", "/nowhere", "/r/intrasentence-1/done", "/r/intrasentence-1/t/t-1"):
        look(path)
    someone = site.person("review-1", "intersentence-1", "neutral-1", "validation-1")
    look(someone.link)  # which is a list of rounds
    for kind in ("review", "intersentence", "neutral", "validation"):
        look(f"/r/{kind}-1")
        page.check("#agree")
        tab.press()
        look()
        if kind == "validation":
            tab.press()
            required = web.texts()["web"]["training_required"]
            assert [tab.text(f"#fix-example_{n}") for n in (1, 2, 3)] == [required] * 3
            look()
            right = [example.label for example in web.EXAMPLES]
            for labels in (["stereotype"] * 3, right):
                for n, label in enumerate(labels, 1):
                    page.check(f"[name=example_{n}][value={label}]")
                tab.press()
                look()
                tab.press()
        tab.press()
        page.wait_for_url("**/t/*")
        look()
        page.click(SENDS)
        page.wait_for_selector(".fix")
        look()
        for details in page.query_selector_all("main summary"):
            details.click()
        if kind == "review":
            page.check("[value=drop]")
            look()
            page.check("[value=merge]")
            page.check("[name=merge_into][value=other]")
            look()
        look()
    for n in (1, 2, 3):
        page.check(f"[name=label_{n}][value=stereotype]")
    tab.send()
    assert tab.path.endswith("/pause")
    look()
    clock[0] += 400
    look("/r/validation-1/pause")
    site.store.stop("validation-1")
    look("/r/validation-1")
    look("/r/validation-1/done")
    site.out.add(site.pseudonym(someone.id))
    look("/r/review-1")
    tab.page.click("#leave button")
    page.wait_for_url("**/leave")
    look()
    tab.close()


def test_one_who_does_not_pass_the_training(browser: Any, axe: str, site: Site) -> None:
    put(site.store, plan("validation", training=web.EXAMPLES, training_pass=1.0))
    someone = site.person("validation-1")
    tab = Tab(browser, site)
    tab.go(someone.link)
    tab.page.check("#agree")
    tab.press()
    for last in (False, True):
        for n in (1, 2, 3):
            tab.page.check(f"[name=example_{n}][value=stereotype]")
        tab.press()
        audit(tab, axe)
        tab.page.reload()
        audit(tab, axe)
        if not last:
            tab.press()
    assert tab.text("h1") == "Thank you for your time"
    assert site.store.attempts(someone.id, "validation-1") == [False, False]
    tab.press()
    tab.page.wait_for_url("**/leave")
    assert tab.text("h1") == "You are signed out"
    assert site.store.lines("validation-1")[1:] == []
    tab.close()


def begun(browser: Any, site: Site, kind: RoundKindName, tasks: int = 2) -> Tab:
    """The tab of somebody who is at the first task of a new round."""
    put(site.store, plan(kind), tasks)
    return Tab(browser, site).begin(site.person(f"{kind}-1"), f"{kind}-1")


# --- the keyboard alone -------------------------------------------------------------------------


def typed(tab: Tab, *keys: str) -> None:
    for key in keys:
        tab.page.keyboard.press(key)


def focused(tab: Tab) -> str:
    return str(tab.page.evaluate("document.activeElement.name || document.activeElement.className"))


def tab_to(tab: Tab, selector: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(60):
        if tab.page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        typed(tab, "Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def enter(tab: Tab, someone: Someone) -> None:
    """From the link to the first task, by keyboard."""
    tab.go(someone.link)
    tab_to(tab, "#agree")
    typed(tab, "Space")
    tab_to(tab, "main .main")
    typed(tab, "Enter")
    tab.page.wait_for_selector("h2:has-text('What to expect')")
    tab_to(tab, "main .main")
    typed(tab, "Enter")
    tab.page.wait_for_url("**/t/*")
    has_focus(tab)


def has_focus(tab: Tab) -> None:
    """Wait until something on the page has the focus: a browser gives it after loading."""
    tab.page.wait_for_function("document.activeElement !== document.body")


def test_labels_by_keyboard_alone(browser: Any, site: Site) -> None:
    put(site.store, plan("validation"), 2)
    tab = Tab(browser, site, "desk")
    enter(tab, site.person("validation-1"))
    for n in (1, 2):
        # The first group has the focus, and no ring proposes its first label.
        assert tab.page.evaluate("document.activeElement.matches('main form > fieldset')")
        style = tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "none"
        typed(tab, "3", "1", "2")
        assert focused(tab) == "main"
        typed(tab, "Enter")
        tab.page.wait_for_url("**/done" if n == 2 else "**/t/t-2")
    assert tab.text("h1") == "Thank you"
    answers = [line.payload for line in site.store.lines("validation-1")][1:]
    for answer in answers:
        labels = [answer[f"label_{k}"] for k in answer["order"]]
        assert labels == ["unrelated", "stereotype", "anti-stereotype"]
    tab.close()


@pytest.mark.parametrize(("key", "part"), [("2", "merge_into"), ("3", "reasons")])
def test_a_review_by_keyboard_goes_to_the_question_that_opens(
    browser: Any, site: Site, key: str, part: str
) -> None:
    put(site.store, plan("review"), 2)
    tab = Tab(browser, site, "desk")
    enter(tab, site.person("review-1"))
    typed(tab, key)
    assert focused(tab) == part
    typed(tab, "Space")
    tab_to(tab, SENDS)
    typed(tab, "Enter")
    tab.page.wait_for_url("**/t/t-2")
    typed(tab, "1")
    assert focused(tab) == "main"
    tab.close()


def test_a_sentence_by_keyboard_alone(browser: Any, site: Site) -> None:
    put(site.store, plan("intrasentence"), 2)
    tab = Tab(browser, site)
    enter(tab, site.person("intrasentence-1"))
    assert focused(tab) == "stereotype"
    for word, key in (("quiet", "Enter"), ("boisterous", "Tab"), ("rectangular", "Enter")):
        tab.page.keyboard.type(word)
        typed(tab, key)
    assert focused(tab) == "gap-field"
    tab.page.keyboard.type("The librarian was")
    tab_to(tab, "#gap")
    typed(tab, "Enter")
    assert focused(tab) == "gap-field"
    tab.page.keyboard.type(" at the party.")
    lines = tab.text("#preview").splitlines()
    assert [line for line in lines if line] == [
        "The librarian was quiet at the party.",
        "The librarian was boisterous at the party.",
        "The librarian was rectangular at the party.",
    ]
    tab_to(tab, "main .main")
    typed(tab, "Enter")
    tab.page.wait_for_url("**/t/t-2")
    assert focused(tab) == "stereotype"
    assert tab.page.input_value("#stereotype") == ""
    (answer,) = [line.payload for line in site.store.lines("intrasentence-1")][1:]
    assert answer["template"] == "The librarian was BLANK at the party."
    tab.close()


def test_a_refused_answer_keeps_the_text_and_moves_the_focus(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "intrasentence")
    tab.write("postman")
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#fix-template .fix")
    assert focused(tab) == "gap-field"
    assert tab.text("#fix-template") == web.texts()["refused"]["target_missing"]
    assert tab.page.get_attribute(GAP, "aria-invalid") == "true"
    assert "fix-template" in str(tab.page.get_attribute(GAP, "aria-describedby"))
    assert tab.text(GAP).replace("\u200b", "") == "The postman was gap at the party."
    tab.page.reload()
    assert tab.page.input_value("#stereotype") == "quiet"
    assert tab.page.locator(CHIP).count() == 1
    tab.close()


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("intrasentence", ["stereotype", "anti_stereotype", "unrelated", "template"]),
        ("intersentence", ["context", "stereotype", "anti_stereotype", "unrelated"]),
    ],
)
def test_what_is_said_of_empty_fields_stays_until_they_are_filled(
    browser: Any, site: Site, kind: RoundKindName, fields: list[str]
) -> None:
    tab = begun(browser, site, kind)
    says = [f"#fix-{name}" for name in fields]
    tab.page.click(SENDS)
    tab.page.wait_for_selector(".fix")
    tab.page.wait_for_timeout(400)  # an answer of the live check would be here by now
    assert all(map(tab.text, says))
    assert focused(tab) == fields[0]
    tab.page.keyboard.type("quiet")
    assert tab.text(says[0]) == ""
    with tab.page.expect_response("**/check"):
        typed(tab, "Tab")
    tab.page.wait_for_timeout(100)
    assert all(map(tab.text, says[1:]))
    tab.close()


# --- the gap ------------------------------------------------------------------------------------


@pytest.fixture
def writing(browser: Any, site: Site) -> Iterator[Tab]:
    tab = begun(browser, site, "intrasentence")
    tab.page.click(GAP)
    yield tab
    tab.close()


def sentence(tab: Tab) -> str:
    return str(tab.page.eval_on_selector("#template", "field => field.value"))


def test_the_gap_is_one_character_to_the_caret(writing: Tab) -> None:
    writing.page.keyboard.type("A librarian is")
    writing.page.click("#gap")
    assert sentence(writing) == "A librarian is BLANK"
    assert writing.text("#gap") == "Remove the gap"
    typed(writing, "Backspace")
    assert sentence(writing) == "A librarian is "
    assert writing.text("#gap") == "Insert the gap"
    writing.page.click("#gap")
    writing.page.keyboard.type(" now.")
    assert sentence(writing) == "A librarian is BLANK now."
    typed(writing, *["ArrowLeft"] * 5, "Backspace")
    assert sentence(writing) == "A librarian is  now."
    writing.page.keyboard.type("x")
    assert sentence(writing) == "A librarian is x now."


def test_the_gap_goes_where_the_caret_is_and_touches_no_word(writing: Tab) -> None:
    writing.page.keyboard.type("The librarians")
    typed(writing, "Home", "ArrowRight", "ArrowRight", "ArrowRight")
    writing.page.click("#gap")
    assert sentence(writing) == "The BLANK librarians"
    typed(writing, "Home", "Delete", "Delete", "Delete", "Delete", "Delete")
    assert sentence(writing).strip() == "librarians"


@pytest.mark.parametrize(
    ("before", "after", "with_gap"),
    [
        ("كان خباز", "هادئ", "كان خباز BLANK هادئ"),
        ("पुस्तकालय", "", "पुस्तकालय BLANK"),
        ("司書は", "人だ", "司書はBLANK人だ"),
        ("データ", "です", "データBLANKです"),
        ("บรรณารักษ์", "มาก", "บรรณารักษ์BLANKมาก"),
    ],
)
def test_the_gap_gets_spaces_where_the_script_has_them(
    writing: Tab, before: str, after: str, with_gap: str
) -> None:
    writing.page.keyboard.type(before + after)
    for _ in after:
        typed(writing, "ArrowLeft" if after != "هادئ" else "ArrowRight")
    writing.page.click("#gap")
    assert sentence(writing) == with_gap


def test_a_gap_in_the_language_of_the_page_becomes_a_chip(writing: Tab) -> None:
    writing.page.keyboard.type("The librarian was BLANK today.")
    assert writing.page.locator(CHIP).count() == 1
    assert sentence(writing) == "The librarian was BLANK today."


def test_what_is_pasted_is_plain_text_on_one_line(writing: Tab) -> None:
    writing.page.evaluate(
        """() => {
        const data = new DataTransfer();
        data.setData("text/plain", "The librarian\\nwas BLANK.");
        data.setData("text/html", "<b>The librarian</b><img src=x><br>was BLANK.");
        document.querySelector(".gap-field").dispatchEvent(
            new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    assert sentence(writing) == "The librarian was BLANK."
    assert writing.page.locator(f"{GAP} b, {GAP} img, {GAP} br").count() == 0
    assert writing.page.locator(CHIP).count() == 1


def test_enter_for_an_input_method_sends_nothing(writing: Tab) -> None:
    writing.write()
    for pressed in ({"isComposing": True}, {"keyCode": 229}):
        writing.page.evaluate(
            "how => document.querySelector('.gap-field').dispatchEvent("
            "new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, ...how }))",
            pressed,
        )
    assert not any("unsent" in key for key in writing.kept())


def test_what_was_typed_twice_is_refused_with_its_fix(writing: Tab) -> None:
    writing.page.keyboard.type("The librarian was BLANK and BLANK.")
    writing.page.click("#stereotype")
    writing.page.wait_for_selector("#fix-template .fix")
    assert writing.text("#fix-template") == web.texts()["web"]["fix_blank_twice"]
    writing.page.click(GAP)
    writing.page.keyboard.type("x")  # what was said is about the text before
    assert writing.text("#fix-template") == ""
    assert writing.page.get_attribute(GAP, "aria-invalid") is None
    typed(writing, "Backspace")
    writing.page.click("#stereotype")
    writing.page.wait_for_selector("#fix-template .fix")


# --- nothing is lost ----------------------------------------------------------------------------


def answers(site: Site, round: str) -> list[dict[str, Any]]:
    lines = site.store.lines(round, all=True)
    return [line.payload for line in lines if "task_id" in line.payload]


def test_without_a_network_an_answer_waits_and_is_sent_once(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "intrasentence", 3)
    tab.write()
    tab.context.set_offline(True)
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#waiting:visible")
    assert answers(site, "intrasentence-1") == []
    tab.page.click("#again")
    tab.page.wait_for_selector("#waiting:visible")
    tab.context.set_offline(False)
    tab.page.wait_for_url("**/t/t-2")
    assert len(answers(site, "intrasentence-1")) == 1
    assert tab.kept() == []
    tab.close()


def shelves(tab: Tab) -> list[str]:
    """The tasks that are kept in this browser for a time without a network."""
    return list(
        tab.page.evaluate(
            """async () => {
            const kept = await Promise.all((await caches.keys()).map(async (name) =>
                (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname)));
            return kept.flat().filter((path) => path.startsWith("/r/")).sort();
            }"""
        )
    )


def shelved(tab: Tab, *tasks: str) -> None:
    """Wait until exactly these tasks are kept."""
    for _ in range(100):
        if (found := [path.rpartition("/")[2] for path in shelves(tab)]) == [*tasks]:
            return
        tab.page.wait_for_timeout(100)
    raise AssertionError(found)


def test_a_few_tasks_can_be_done_without_a_network(browser: Any, tmp_path: Path) -> None:
    site = Site(tmp_path)
    put(site.store, plan("intrasentence"), 6)
    with site.served():
        tab = Tab(browser, site).begin(site.person("intrasentence-1"), "intrasentence-1")
        shelved(tab, "t-1", "t-2", "t-3", "t-4")
    for n in (1, 2):
        tab.write()
        tab.page.reload()  # without a network, too
        assert tab.page.locator(CHIP).count() == 1
        tab.page.click(SENDS)
        tab.page.click("#ahead")
        tab.page.wait_for_url(f"**/t/t-{n + 1}")
        tab.page.wait_for_selector("#not-sent:visible")
    with site.served():
        tab.page.reload()
        tab.emptied()
        sent = {line["task_id"]: line["template"] for line in answers(site, "intrasentence-1")}
        assert sent.keys() == {"t-1", "t-2"}
        assert "baker" in sent["t-2"]
        tab.page.reload()
        shelved(tab, "t-3", "t-4", "t-5", "t-6")
        tab.close()


@pytest.mark.parametrize("how", ["leaves", "is out", "is erased", "another comes"])
def test_nothing_of_a_task_stays_on_a_shared_phone(browser: Any, site: Site, how: str) -> None:
    put(site.store, plan("intrasentence"), 6)
    someone = site.person("intrasentence-1")
    tab = Tab(browser, site).begin(someone, "intrasentence-1")
    shelved(tab, "t-1", "t-2", "t-3", "t-4")
    tab.page.fill("#stereotype", "quiet")
    assert len(tab.kept()) == 1
    if how == "leaves":
        tab.page.click("#leave button")
        tab.page.wait_for_url("**/leave")
    elif how == "another comes":
        tab.go(site.person("intrasentence-1").link)
    else:
        if how == "is out":
            site.out.add(site.pseudonym(someone.id))
        else:
            site.store.erase(site.pseudonym(someone.id))
        tab.go("/r/intrasentence-1")
    shelved(tab)
    # A draft of somebody who may come back to this phone waits for them.
    assert len(tab.kept()) == (how == "another comes")
    tab.close()


# The server has the answer, and the page never knows.
LOSES = """path => {
    const real = fetch;
    globalThis.fetch = async (to, how) => {
        const response = await real(to, how);
        if (to === path) throw new TypeError("lost");
        return response;
    };
}"""


def test_an_answer_whose_receipt_was_lost_is_one_answer(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "intrasentence", 3)
    tab.page.evaluate(LOSES, tab.path)
    tab.write()
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#waiting:visible")
    assert len(answers(site, "intrasentence-1")) == 1
    tab.page.reload()  # the task is answered by now; what waits is sent again from there
    tab.emptied()
    assert len(answers(site, "intrasentence-1")) == 1
    tab.close()


def waiting(tab: Tab) -> Tab:
    """Write and send while the server cannot be reached, which it can afterwards."""
    tab.write()
    tab.page.route("**/t/*", lambda route: route.abort())
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#waiting:visible")
    tab.page.unroute_all()
    return tab


def test_what_is_changed_while_an_answer_waits_is_sent(writing: Tab, site: Site) -> None:
    waiting(writing).page.fill("#stereotype", "shy")
    writing.page.click("#again")
    writing.page.wait_for_url("**/t/t-2")
    assert [answer["stereotype"] for answer in answers(site, "intrasentence-1")] == ["shy"]


@pytest.mark.parametrize(
    "storage",
    [
        "Storage.prototype.setItem = () => { throw new Error('full') }",
        "Object.defineProperty(window, 'localStorage', { get: () => null })",
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })",
    ],
)
def test_a_browser_that_keeps_nothing_loses_nothing(browser: Any, site: Site, storage: str) -> None:
    put(site.store, plan("intrasentence"), 2)
    tab = Tab(browser, site)
    tab.context.add_init_script(storage)
    waiting(tab.begin(site.person("intrasentence-1"), "intrasentence-1"))
    assert tab.page.input_value("#stereotype") == "quiet"
    tab.page.click("#again")
    tab.page.wait_for_url("**/t/t-2")
    assert len(answers(site, "intrasentence-1")) == 1
    tab.page.click("#leave button")
    tab.page.wait_for_url("**/leave")
    assert tab.context.cookies() == []
    tab.close()


def test_an_answer_that_another_tab_sends_first(writing: Tab, site: Site) -> None:
    waiting(writing).page.evaluate("Storage.prototype.getItem = () => null")
    writing.page.click("#again")
    writing.page.wait_for_url("**/r/intrasentence-1")
    writing.emptied()
    assert len(answers(site, "intrasentence-1")) == 1


def test_a_key_that_is_held_down_labels_once(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "validation")
    has_focus(tab)
    for _ in range(4):
        tab.page.keyboard.down("1")
    assert tab.page.locator("[name^=label_]:checked").count() == 1
    tab.close()


def test_a_draft_comes_back_and_goes_after_sending(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "validation")
    tab.page.check("[name=label_2][value=unrelated]")
    tab.page.click("main details summary")
    tab.page.check("[value=objective]")
    tab.page.reload()
    assert tab.page.is_checked("[name=label_2][value=unrelated]")
    assert tab.page.is_visible("[value=objective]")
    assert tab.page.is_checked("[value=objective]")
    (draft,) = tab.kept()
    assert "w-" not in draft
    for n in (1, 3):
        tab.page.check(f"[name=label_{n}][value=stereotype]")
    tab.send()
    assert tab.kept() == []
    assert not tab.page.is_checked("[name=label_2][value=unrelated]")
    tab.close()


def test_a_shared_phone_never_mixes_two_people(browser: Any, site: Site) -> None:
    put(site.store, plan("intrasentence"), 4, asked=2)
    ann, ben = site.person("intrasentence-1"), site.person("intrasentence-1")
    tab = Tab(browser, site).begin(ann, "intrasentence-1")
    tab.write()
    tab.page.route("**/t/*", lambda route: route.abort())
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#waiting:visible")
    # The network comes back only with the page of the other person.
    tab.page.goto("about:blank")
    tab.page.unroute_all()
    tab.begin(ben, "intrasentence-1")
    assert tab.text("h1 em") == "librarian"  # the same task
    assert tab.page.input_value("#stereotype") == ""
    assert tab.page.is_hidden("#not-sent")
    tab.page.fill("#stereotype", "early")
    assert answers(site, "intrasentence-1") == []
    tab.page.click("#leave button")
    tab.page.wait_for_url("**/leave")
    left = tab.kept()
    assert len(left) == 2  # the answer and the draft of the first
    tab.go(ann.link)
    tab.emptied()
    (answer,) = answers(site, "intrasentence-1")
    assert answer["annotator"] == ann.id
    tab.close()


def test_an_answer_that_was_refused_later_is_found_again(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "intrasentence", 3)
    path = tab.path
    waiting(tab)
    other = site.person("intrasentence-1").begin("intrasentence-1")
    while (theirs := other.next("intrasentence-1")) != path:
        other.post(theirs + "/skip", answer_id=theirs[-1] * 32, reason="none")
    assert other.answer(theirs).status_code == 200
    tab.go("/me")
    tab.page.click("#needs-change a")
    tab.page.wait_for_url(f"**{path}")
    assert tab.page.input_value("#stereotype") == "quiet"
    tab.page.fill("#stereotype", "shy")
    tab.page.fill("#anti_stereotype", "wild")
    tab.send()
    assert answers(site, "intrasentence-1")[-1]["stereotype"] == "shy"
    assert tab.kept() == []
    tab.close()


def test_leaving_asks_first_if_an_answer_is_unsent(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "intrasentence")
    tab.write()
    tab.page.route("**/t/*", lambda route: route.abort())
    tab.page.click(SENDS)
    tab.page.wait_for_selector("#waiting:visible")
    tab.page.click("#leave button")
    tab.page.wait_for_selector("dialog[open]")
    assert tab.page.evaluate("document.activeElement.value") == "stay"
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector("dialog:not([open])", state="attached")
    assert len(tab.kept()) == 2
    tab.page.click("#leave button")
    tab.page.click("dialog button[value=leave]")
    tab.page.wait_for_url("**/leave")
    assert tab.kept() == []
    assert tab.context.cookies() == []
    tab.close()


def test_leaving_without_a_network_says_that_one_is_still_signed_in(
    browser: Any, site: Site
) -> None:
    tab = begun(browser, site, "intrasentence")
    tab.page.fill("#stereotype", "quiet")
    tab.context.set_offline(True)
    tab.page.click("#leave button")
    tab.page.wait_for_selector("#still-here:visible")
    assert len(tab.kept()) == len(tab.context.cookies()) == 1
    tab.context.set_offline(False)
    tab.page.click("#leave button")
    tab.page.wait_for_url("**/leave")
    assert tab.text("h1") == "You are signed out"
    assert tab.kept() == tab.context.cookies() == []
    tab.close()


def test_after_an_erasure_the_browser_keeps_nothing(browser: Any, site: Site) -> None:
    put(site.store, plan("intrasentence"), 2)
    someone = site.person("intrasentence-1")
    tab = Tab(browser, site)
    tab.go("/")
    assert tab.page.is_hidden("#leave")
    tab.begin(someone, "intrasentence-1").page.fill("#stereotype", "quiet")
    site.store.erase(site.pseudonym(someone.id))
    tab.go("/")
    tab.emptied()
    tab.close()


def test_back_and_reload_lose_and_double_nothing(browser: Any, site: Site) -> None:
    put(site.store, plan("intrasentence"), 3)
    tab = Tab(browser, site)
    tab.go(f"/join/{site.store.token('intrasentence-1')}")
    tab.page.reload()
    tab.page.check("#agree")
    tab.press()
    tab.page.reload()
    tab.page.go_back()
    tab.page.reload()
    assert len(site.store.people()) == 1
    tab.go("/r/intrasentence-1")
    tab.press()
    for n in range(3):
        tab.page.wait_for_url(f"**/t/t-{n + 1}")
        tab.page.reload()
        tab.write()
        tab.page.reload()
        assert tab.page.locator(CHIP).count() == 1
        tab.send()
        tab.page.go_back()
        tab.page.reload()
        if n < 2:
            assert web.texts()["web"]["change_note"] in tab.text()
            tab.go("/r/intrasentence-1")
            tab.press()
    assert len(answers(site, "intrasentence-1")) == 3
    assert len(site.store.lines("intrasentence-1", all=True)) == 4
    tab.go("/")
    assert tab.text("h1") == "Thank you"
    tab.page.reload()
    code = tab.text(".code")
    assert re.fullmatch("[A-Z2-7]{10}", code)
    tab.close()


def test_the_last_answer_is_opened_again_and_changed(browser: Any, site: Site) -> None:
    tab = begun(browser, site, "validation", 3)
    for n in (1, 2, 3):
        tab.page.check(f"[name=label_{n}][value=stereotype]")
    tab.send()
    tab.press(f"main a:has-text('{web.texts()['web']['change_last']}')")
    assert tab.path.endswith("/t/t-1")
    assert tab.page.is_checked("[name=label_2][value=stereotype]")
    tab.page.check("[name=label_2][value=unrelated]")
    tab.send()
    assert tab.path.endswith("/t/t-2")
    assert not tab.page.is_checked("[name=label_2][value=stereotype]")
    assert [answer["label_2"] for answer in answers(site, "validation-1")] == [
        "stereotype", "unrelated",
    ]  # fmt: skip
    tab.go("/me")
    tab.page.click("main summary")
    assert f"{web.TEXTS[1]} – Unrelated" in tab.text()
    tab.close()


def test_somebody_goes_on_with_another_device(browser: Any, site: Site) -> None:
    put(site.store, plan("intrasentence"), 3)
    someone = site.person("intrasentence-1")
    phone = Tab(browser, site).begin(someone, "intrasentence-1")
    phone.write()
    phone.send()
    desk = Tab(browser, site, "desk").begin(someone, "intrasentence-1")
    assert desk.path == phone.path
    assert "Task 2 of 3" in desk.text("body")
    desk.write()
    desk.send()
    phone.write()
    phone.page.click(SENDS)  # the same task once more
    phone.page.wait_for_url("**/r/intrasentence-1")
    assert len([a for a in answers(site, "intrasentence-1") if a["task_id"] == "t-2"]) == 2
    (person,) = site.store.people()
    assert site.store.standing(person, "intrasentence-1", at=0.0).answered == 2
    for tab in (phone, desk):
        tab.close()


@pytest.mark.parametrize("script", [True, False])
def test_everything_works_with_and_without_the_script(
    browser: Any, site: Site, script: bool
) -> None:
    web.every_round(site.store)
    someone = site.person(*(f"{kind}-1" for kind in web.WRITTEN))
    tab = Tab(browser, site, java_script_enabled=script)
    page = tab.page
    for kind, right in web.WRITTEN.items():
        tab.begin(someone, f"{kind}-1")
        target = tab.text("h1 em")
        if script and kind == "intrasentence":
            tab.write(target)
        else:
            for name, value in right.items():
                if kind in ("review", "validation"):
                    page.check(f"[name={name}][value={value}]")
                else:
                    page.fill(f"#{name}", value.format(target))
        tab.send()
        assert tab.path.endswith("/t/t-2")
        page.click("#skip summary")
        page.check("[name=reason][value=upset]")
        page.click("#skip button")
        page.wait_for_url("**/t/t-3")
        assert len(answers(site, f"{kind}-1")) == 2
    tab.close()
