"""The pages in Firefox, driven by puppeteer-core: it edits text otherwise than Chromium does."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from curation.kinds import ROUNDS
from support.browsers import node_package
from support.web import Site, plan, put

SCRIPT = Path(__file__).parents[3] / "support" / "firefox.mjs"
PUPPETEER = "puppeteer-core@24.8.2"  # newer ones want a newer Node than Debian has


@pytest.mark.environment
def test_a_sentence_and_labels_in_firefox(tmp_path: Path) -> None:
    node, firefox = shutil.which("node"), shutil.which("firefox") or shutil.which("firefox-esr")
    assert node, "no node on this machine; «apt-get install nodejs» brings it"
    assert firefox, "no firefox on this machine; «apt-get install firefox-esr» brings it"
    site = Site(tmp_path)
    put(site.store, plan("intrasentence"), 2)
    put(site.store, plan("validation"), 1)
    someone = site.person("intrasentence-1", "validation-1")
    with site.served():
        done = subprocess.run(
            [
                *(node, str(SCRIPT), str(node_package(PUPPETEER)), firefox),
                *(someone.link, "intrasentence-1", "validation-1"),
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    whole = "The librarian was BLANK at the party."
    said = json.loads(done.stdout)
    # Firefox reports an icon that was still loading when the page was left.
    said["errors"] = [error for error in said["errors"] if "/static/icon.svg" not in error]
    assert said == {
        "errors": [],
        "focus": "stereotype",
        "empty": [f"fix-{name}" for name in ROUNDS["intrasentence"].fields],
        "first": "stereotype",
        "inserted": "The librarian was BLANK",
        "removed": "The librarian was ",
        "written": whole,
        "preview": [
            whole.replace("BLANK", word) for word in ("quiet", "boisterous", "rectangular")
        ],
        "restored": [whole, 1],
        "after": "/r/intrasentence-1/t/t-2",
        "labelled": ["stereotype", "anti-stereotype", "unrelated"],
        "end": "/r/validation-1/done",
    }
    written = [line.payload for line in site.store.lines("intrasentence-1")]
    assert [answer["template"] for answer in written if "template" in answer] == [whole]
