"""The report in a real browser, with the network blocked."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.browsers import violations
from support.commands import run

LOOKS = [(360, "light"), (360, "dark"), (1280, "light"), (1280, "dark")]


def build(campaign: Path, language: str) -> Path:
    """The page of the finished example, in a language."""
    settings = campaign / "campaign.toml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace('language = "en"', f'language = "{language}"', 1), "utf-8")
    did = run("pages", "build", "-c", campaign)
    assert did.code == 0, did.err
    return campaign / "8-pages" / "report.html"


@pytest.mark.parametrize(("language", "direction"), [("en", "ltr"), ("ar", "rtl")])
def test_everybody_can_read_the_report(
    browser: Any, axe: str, finished: Path, language: str, direction: str
) -> None:
    page_file = build(finished, language)
    for width, scheme in LOOKS:
        asked, errors = list[str](), list[str]()
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
        )
        page = context.new_page()
        page.on("request", lambda request, to=asked: to.append(request.url))
        page.on("console", lambda message, to=errors: to.append(message.text))
        page.goto(page_file.as_uri())
        assert page.evaluate("document.documentElement.dir") == direction
        assert asked == [page_file.as_uri()]
        assert violations(page, axe) == [], (width, scheme)
        for fold in page.query_selector_all("summary"):
            fold.click()
        assert violations(page, axe) == [], (width, scheme, "open folds")
        assert errors == []
        context.close()


def test_each_entry_of_the_contents_leads_to_a_section(browser: Any, finished: Path) -> None:
    page = browser.new_context(java_script_enabled=False, offline=True).new_page()
    page_file = build(finished, "en")
    page.goto(page_file.as_uri())
    heads = {head.inner_text() for head in page.query_selector_all("main section > h2")}
    links = page.query_selector_all("nav a")
    assert heads == {link.inner_text() for link in links} != set()
    for link in links:
        name = link.get_attribute("href").removeprefix("#")
        assert page.query_selector(f"section#{name} > h2").inner_text() == link.inner_text()


def test_the_printed_report_is_white_with_its_links(browser: Any, finished: Path) -> None:
    page = browser.new_context(color_scheme="dark", offline=True).new_page()
    page.goto(build(finished, "en").as_uri())
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) != "rgb(255, 255, 255)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert not page.is_visible("nav")
    assert not page.is_visible("summary >> nth=0")  # a fold that is closed
    link = page.query_selector('a[href^="http"]')
    if link:
        written = link.evaluate("a => getComputedStyle(a, '::after').content")
        assert link.get_attribute("href") in written
    pages = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))
    assert len(pages) > 1
