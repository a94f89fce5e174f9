"""A tab of a real browser on our own pages."""

from contextlib import suppress
from typing import Any

from playwright.sync_api import Error as Navigating

from curation.kinds import GOLD_COLUMNS
from support import web
from support.browsers import violations
from support.web import Site, Someone

SIZES = {"phone": (360, 640), "desk": (1280, 800)}
SENDS, CHIP, GAP = "#task .act .main", ".gap-field .chip", ".gap-field"


class Tab:
    """A tab of a browser of one's own; it remembers errors of scripts."""

    def __init__(self, browser: Any, site: Site, size: str = "phone", **how: Any) -> None:
        width, height = SIZES[size]
        self.site, self.errors = site, list[str]()
        self.context = browser.new_context(viewport={"width": width, "height": height}, **how)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        # That a page was refused, or that there is no network, is an error to the console, too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(self.site.url):
            self.errors.append(f"a request to {request.url}")

    def go(self, path: str) -> None:
        self.page.goto(path if path.startswith("http") else self.site.url + path)

    def begin(self, someone: Someone, round: str) -> "Tab":
        """Open a personal link, agree if asked, and take the first task."""
        self.go(someone.link)
        self.go(f"/r/{round}")
        if self.page.query_selector("#agree"):
            self.page.check("#agree")
            self.press()
        self.press()
        self.page.wait_for_url("**/t/*")
        return self

    def press(self, selector: str = "main .main >> nth=-1") -> None:
        self.page.click(selector)
        self.page.wait_for_load_state()

    @property
    def path(self) -> str:
        return str(self.page.url).removeprefix(self.site.url)

    def text(self, selector: str = "main") -> str:
        return str(self.page.inner_text(selector))

    def write(self, target: str = "") -> None:
        """Fill in a form of writing with a gap, as people do."""
        target = target or self.text("h1 em")
        right = web.WRITTEN["intrasentence"]
        for name in GOLD_COLUMNS:
            self.page.fill(f"#{name}", right[name])
        before, after = right["template"].format(target).split("BLANK")
        self.page.click(GAP)
        self.page.keyboard.type(before)
        self.page.click("#gap")
        self.page.keyboard.type(after)

    def send(self) -> None:
        """Send, and wait for the next page."""
        path = self.path
        self.page.click(SENDS)
        self.page.wait_for_url(lambda url: not url.endswith(path))

    def kept(self) -> list[str]:
        """The names of what is kept in this browser."""
        return sorted(self.page.evaluate("Object.keys(localStorage)"))

    def emptied(self) -> None:
        """Wait until all answers are sent."""
        for _ in range(150):
            with suppress(Navigating):  # what was sent leads to another page
                if not self.kept():
                    return
            self.page.wait_for_timeout(100)
        raise AssertionError(self.kept())

    def close(self) -> None:
        assert self.errors == [], self.errors
        self.context.close()


def audit(tab: Tab, axe: str) -> None:
    """Nothing keeps people from using the page, and it is not wider than the screen."""
    assert violations(tab.page, axe) == [], tab.path
    low = tab.page.evaluate(
        "[...document.querySelectorAll('main button, summary, .choice, [type=text]')]"
        ".filter(e => e.offsetHeight && e.offsetHeight < 44).map(e => e.outerHTML)"
    )
    assert low == [], tab.path
