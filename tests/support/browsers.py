"""A real browser, and packages of Node, for tests of pages."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock
from playwright.sync_api import sync_playwright

CHROMIUM = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
AXE = "axe-core@4.14.1"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@contextmanager
def chromium() -> Iterator[Any]:
    """A Chromium, driven by Playwright."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "no chromium on this machine; «apt-get install chromium» brings it"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=CHROMIUM.split())
        yield browser
        browser.close()


def violations(page: Any, axe: str) -> list[tuple[str, list[str]]]:
    """What of a page keeps people from using it, by rule; and the page is as wide as the screen."""
    page.evaluate(axe)
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    result = page.evaluate("options => axe.run(document, options)", options)
    assert result["passes"], "axe looked at nothing"
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1], page.url
    return [(v["id"], [n["html"][:200] for n in v["nodes"]]) for v in result["violations"]]


def node_package(name: str) -> Path:
    """The folder of a package of npm, in an environment that is kept."""
    home = Path(platformdirs.user_cache_dir("curation")) / "node" / name.replace("@", "-")
    folder = home / "node_modules" / name.rpartition("@")[0]
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(home / "lock"):
        if not (folder / "package.json").exists():
            npm = shutil.which("npm")
            assert npm, "no npm on this machine; «apt-get install npm» brings it"
            command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run([*command, "--prefix", str(home), name], check=True)
    return folder
