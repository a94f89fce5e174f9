"""A real browser, which the tests of all platforms share."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from filelock import FileLock
from playwright.sync_api import sync_playwright

CHROMIUM = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
AXE = "axe-core@4.14.1"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium, driven by Playwright."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "no chromium on this machine; «apt-get install chromium» brings it"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=CHROMIUM.split())
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def node_package() -> Callable[[str], Path]:
    """Gives the folder of a package of npm, in an environment that is kept."""
    return _node_package


@pytest.fixture(scope="session")
def axe(node_package: Callable[[str], Path]) -> str:
    """The script of axe-core, which finds what keeps people from using a page."""
    return (node_package(AXE) / "axe.min.js").read_text("utf-8")


def _node_package(name: str) -> Path:
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
