"""The owner's pages in a real browser: nothing keeps people from using them; links are copied."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.rounds.platforms.interface import Overview, Progress, RoundFigures
from curation.rounds.quality import Mark, PersonQuality
from support.web import Site, plan, put
from support.web_tab import Tab, audit

NOW = 1_000_000.0


def overview() -> Overview:
    """Invented figures of a round of validation in which everything occurs."""
    progress = Progress(
        round="validation-1", kind="validation", state="open", tasks=80, void=2, done=60,
        decided=61, people=12, answers=312, refused=8, labels_per_item=3.91, asked=400,
        remaining=90, out=88, missing=2, per_day=120.5, done_at="1970-01-14T10:00:00.000Z",
        cost=37.44, cost_in_all=48.24,
    )  # fmt: skip
    refused = {"too_fast": 6, "second_answer": 2}
    figures = RoundFigures(progress, "2 missing; curation rounds top-up", refused, {"fact": ["i"]})
    marks = (Mark("slow", "3.5 times the usual time: 129 seconds a task, on 19 tasks"),)
    people = [PersonQuality("p-0", tasks=19, agreement=0.88, agreement_ci=(0.8, 0.9), marks=marks)]
    people += [PersonQuality(f"p-{n}", tasks=25, agreement=0.5 + n / 40) for n in range(1, 12)]
    rounds, by_round = {"validation-1": figures}, {"validation-1": people}
    return Overview("Trades", "USD", 40.0, rounds, by_round, "1970-01-12T13:00:00.000Z")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, now=lambda: NOW, overview=overview)
    with made.served():
        put(made.store, plan("validation"))
        for n in range(3):
            someone = made.person("validation-1").begin("validation-1")
            someone.answer(someone.next("validation-1"), id=f"{n:032x}")
        yield made


@pytest.mark.parametrize("size", ["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_owners_pages(browser: Any, axe: str, site: Site, size: str, scheme: str) -> None:
    tab = Tab(browser, site, size, color_scheme=scheme)
    tab.go(f"/owner/{site.store.owner_secret()}")
    assert tab.path == "/owner"
    audit(tab, axe)
    tab.page.click("h2 a")
    audit(tab, axe)
    for summary in tab.page.query_selector_all("main summary"):
        summary.click()
    audit(tab, axe)
    shown = tab.page.locator("main svg[role=img]")
    heights = [shown.nth(n).bounding_box()["height"] for n in range(shown.count())]
    assert (len(heights), min(heights) >= 20) == (3, True)
    assert tab.page.locator(".strip circle").count() == 11
    width = tab.page.evaluate("document.querySelector('.is-decided').getBoundingClientRect().width")
    whole = tab.page.evaluate("document.querySelector('.bar').getBoundingClientRect().width")
    assert width / whole == pytest.approx(61 / 80, abs=0.01)
    tab.page.click("main [data-copy]")
    tab.page.wait_for_selector("main .link .kept:visible")
    tab.go("/owner")
    tab.press("main form[method=post] button")
    assert tab.text("h1") == "Who is who"
    audit(tab, axe)
    tab.press("footer form button")
    assert tab.text("h1") == "You are signed out"
    tab.close()


def test_on_paper_it_is_black_on_white_with_addresses_and_without_buttons(
    browser: Any, site: Site
) -> None:
    tab = Tab(browser, site, color_scheme="dark")
    tab.go(f"/owner/{site.store.owner_secret()}")
    assert tab.page.locator("button:visible").count() > 0
    tab.page.emulate_media(media="print")
    ground = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    after = "getComputedStyle(document.querySelector('h2 a'), '::after').content"
    assert ground == "rgb(255, 255, 255)"
    assert tab.page.evaluate(after) == '" (/owner/r/validation-1)"'
    assert tab.page.locator("button:visible").count() == 0
    tab.close()


def test_without_script_and_with_drafts_of_somebody_in_this_browser(
    browser: Any, site: Site
) -> None:
    someone = site.person("validation-1")
    tab = Tab(browser, site).begin(someone, "validation-1")
    tab.page.check("[name=label_1][value=stereotype]")
    assert tab.kept()
    tab.go(f"/owner/{site.store.owner_secret()}")
    assert tab.text("h1") == "Trades"
    tab.close()  # no script has failed
    plain = Tab(browser, site, java_script_enabled=False)
    plain.go(f"/owner/{site.store.owner_secret()}")
    plain.page.click("text=Refresh every minute")
    assert plain.page.locator("meta[http-equiv=refresh]").get_attribute("content") == "60"
    plain.page.click("text=Stop refreshing")
    plain.go("/owner/r/validation-1")
    plain.page.click("summary >> nth=0")
    assert "asked for in all" in plain.text("details >> nth=0")
    assert not plain.page.is_visible("[data-copy]")
    plain.close()
