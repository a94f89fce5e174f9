"""The pages of a board in a real browser, with the network blocked."""

from pathlib import Path
from typing import Any

import pytest

from curation.board.building import build
from curation.board.folder import open_board
from support.browsers import violations
from support.hosting import host
from support.rows import rechecked, scored, with_baselines

LOOKS = [(360, "light"), (360, "dark"), (1280, "light"), (1280, "dark")]


def made(root: Path, hide: Any, rows: int) -> Path:
    """The page of a board; every fourth row is not rechecked."""
    hosted = host(root, hide=hide, cats=12, terms=3, rows=max(rows, 3))
    with_baselines(hosted)
    sealed, long = hide == "all", "a-model-with-a-very-long-name-" * 3
    lines = [scored(f"org/{long}{n}", 95 - n / 2, sealed=sealed) for n in range(rows)]
    checks = [rechecked(row, agrees=n % 5 > 0) for n, row in enumerate(lines) if n % 4]
    hosted.board.append([*lines, *([] if sealed else checks)])
    return build(open_board(hosted.board.root))


@pytest.mark.parametrize(("hide", "rows"), [("labels", 0), ("labels", 3), ("all", 40)])
def test_everybody_can_read_a_board(
    browser: Any, axe: str, tmp_path: Path, hide: str, rows: int
) -> None:
    file = made(tmp_path, hide, rows)
    for width, scheme in LOOKS:
        asked, errors = list[str](), list[str]()
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
        )
        page = context.new_page()
        page.on("request", lambda request, to=asked: to.append(request.url))
        page.on("console", lambda message, to=errors: to.append(message.text))
        page.goto(file.as_uri())
        assert violations(page, axe) == [], (width, scheme)
        for fold in page.query_selector_all("summary"):
            fold.click()
        assert violations(page, axe) == [], (width, scheme, "open folds")
        assert asked == [file.as_uri()]
        assert errors == []  # the style is applied: its digest is allowed
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        for heading in page.query_selector_all("main section > h2"):
            assert page.query_selector(f'nav a:text-is("{heading.inner_text()}")')
        context.close()


def test_a_printed_board_is_white_and_has_all_rows(browser: Any, tmp_path: Path) -> None:
    page = browser.new_context(color_scheme="dark", offline=True).new_page()
    page.goto(made(tmp_path, "all", 40).as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible("nav")
    rows = page.query_selector_all(".standing tbody:not(.unrelated) tr")
    assert [row.is_visible() for row in rows] == [True] * 40
    display = "row => getComputedStyle(row).display"
    assert {row.evaluate(display) for row in rows} == {"table-row"}  # on narrow paper, too
