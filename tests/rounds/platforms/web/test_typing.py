"""How texts come about: what the pages count, what is kept of it, and that the consent says so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from curation.rounds.platforms import pages
from support import web
from support.web import Site, plan, put
from support.web_tab import GAP, SENDS, Tab

ROUND = "intrasentence-1"
COUNTS = {"keys": 5, "pasted": 0, "left": 1, "seconds": 2.5}


def typings(site: Site, round: str = ROUND) -> list[Any]:
    lines = (line.payload for line in site.store.lines(round, all=True))
    return [line.get("typing") for line in lines if "task_id" in line]


def test_the_counts_are_kept_with_the_answer_and_a_broken_one_never_refuses_it(site: Site) -> None:
    put(site.store, plan("intrasentence", typing=True))
    ann = site.person(ROUND).begin(ROUND)
    sent: list[dict[str, str]] = [
        {"typing": json.dumps({"stereotype": COUNTS, "template": COUNTS | {"pasted": 30}})},
        {},
        {"typing": "{"},
        {"typing": json.dumps({"template": COUNTS | {"text": "what I typed"}, "other": COUNTS})},
    ]
    for more in sent:
        assert ann.answer(ann.next(ROUND), **more).status_code == 200
    # «quiet» has 5 characters, and «The librarian was BLANK at the party.» 37.
    kept = {
        "stereotype": COUNTS | {"characters": 5},
        "template": COUNTS | {"pasted": 30, "characters": 37},
    }
    assert typings(site) == [kept, None, None, None]


def test_a_round_that_does_not_count_keeps_no_counts_and_offers_no_field(site: Site) -> None:
    put(site.store, plan("intrasentence"))
    ann = site.person(ROUND).begin(ROUND)
    path = ann.next(ROUND)
    assert 'name="typing"' not in ann.get(path).text
    ann.answer(path, typing=json.dumps({"stereotype": COUNTS}))
    assert typings(site) == [None]


def test_the_counts_are_no_part_of_an_item_that_is_compared(site: Site) -> None:
    put(site.store, plan("intrasentence", typing=True))
    ann = site.person(ROUND).begin(ROUND)
    ann.answer(ann.next(ROUND), typing=json.dumps({"stereotype": COUNTS}))
    assert [*site.store.written("intrasentence", "term-librarian", ("", ""))[0]] == [
        *("stereotype", "anti_stereotype", "unrelated", "template")
    ]


@pytest.mark.parametrize("language", ["en", "id", "ja", "ar"])
def test_the_consent_says_it_where_it_is_counted(language: str, tmp_path: Path) -> None:
    counted, plain = (pages.texts(language, None, typing=on) for on in (True, False))
    (line,) = {*counted["consent"]["lines"]} - {*plain["consent"]["lines"]}
    assert line == counted["consent"]["typing"]
    assert (pages.says_typing(counted), pages.says_typing(plain)) == (True, False)
    assert pages.consent_version(counted) != pages.consent_version(plain)
    own = tmp_path / "text.toml"
    own.write_text('[consent]\nlines = ["Our own words."]\n')
    assert not pages.says_typing(pages.texts(language, pages.read_own(language, own), typing=True))


def counts_of(site: Site) -> dict[str, dict[str, Any]]:
    (counts,) = typings(site)
    return {name: {**one} for name, one in counts.items()}


def test_a_browser_counts_keys_pasted_characters_and_changes_of_window(
    browser: Any, site: Site
) -> None:
    shown = web.texts()
    shown["consent"]["lines"].append(shown["consent"]["typing"])
    put(site.store, plan("intrasentence", texts=shown, typing=True), 1)
    tab = Tab(browser, site, "desk", permissions=["clipboard-read", "clipboard-write"])
    token = site.store.token(ROUND)
    tab.go(f"/join/{token}")
    assert "we count the keys" in tab.text()
    tab.begin(site.person(ROUND), ROUND)
    page, keys = tab.page, tab.page.keyboard
    # Else each page has the focus for itself, as if it was the only window.
    devtools = tab.context.new_cdp_session(page)
    devtools.send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    page.bring_to_front()

    def paste(text: str) -> None:
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        keys.press("Control+v")

    def leave() -> None:
        """Another tab is in front for a while; on a phone, this one is hidden, too."""
        other = tab.context.new_page()
        other.bring_to_front()
        page.wait_for_function("!document.hasFocus()", polling=50)
        page.evaluate(
            "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
            "document.dispatchEvent(new Event('visibilitychange')); delete document.hidden;"
        )
        other.close()
        page.bring_to_front()
        page.wait_for_function("document.hasFocus()", polling=50)

    page.click("#stereotype")
    keys.type("quite")  # 5 keys, 2 to delete, 2 more; arrows and Shift write nothing
    for key in ("Backspace", "Backspace", "ArrowLeft", "ArrowRight", "Shift", "e", "t"):
        keys.press(key)
    page.fill("#stereotype", "quiet")  # no key: as if it was dictated
    page.wait_for_timeout(300)
    page.click("#anti_stereotype")
    paste("boisterous")
    leave()
    leave()
    page.click("#unrelated")
    keys.type("rectangular")
    page.click(GAP)
    target = tab.text("h1 em")
    keys.type("Our ")
    paste(f"{target} was ")
    page.click("#gap")
    keys.type(" there.")
    page.reload()  # the draft goes on counting
    page.click(GAP)
    keys.press("End")
    keys.press("Backspace")
    keys.press(".")
    page.click("#unrelated")
    page.evaluate(
        "() => { const data = new DataTransfer(); data.setData('text/plain', 'ab'); "
        "document.querySelector('#unrelated').dispatchEvent("
        "new DragEvent('drop', { bubbles: true, dataTransfer: data })); }"
    )
    page.click(SENDS)
    page.wait_for_url("**/done")
    counts = counts_of(site)
    seconds = {name: one.pop("seconds") for name, one in counts.items()}
    assert counts == {
        "stereotype": {"keys": 9, "pasted": 0, "left": 0, "characters": 5},
        "anti_stereotype": {"keys": 0, "pasted": 10, "left": 2, "characters": 10},
        "unrelated": {"keys": 11, "pasted": 2, "left": 0, "characters": 11},
        # «Our » and « there.» are 4 and 7 keys, and two more after the draft was opened again.
        # «Our librarian was BLANK there.» has 30 characters.
        "template": {"keys": 13, "pasted": len(target) + 5, "left": 0, "characters": 30},
    }
    assert 0.3 <= seconds["stereotype"] < 60
    kept = json.dumps(typings(site))
    assert not re.search("quiet|boisterous|rectangular|there", kept), "no content"
    tab.close()


def test_a_browser_counts_nothing_where_it_is_off(browser: Any, site: Site) -> None:
    put(site.store, plan("intrasentence"), 1)
    tab = Tab(browser, site, "desk").begin(site.person(ROUND), ROUND)
    assert "we count the keys" not in tab.text()
    tab.write()
    draft = tab.page.evaluate("Object.values(localStorage).join()")
    assert '"typing":{}' in draft
    tab.page.click(SENDS)
    tab.page.wait_for_url("**/done")
    assert typings(site) == [None]
    tab.close()
