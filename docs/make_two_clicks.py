"""Take the picture docs/images/two-clicks.png: from Label Studio's first page to the first task.

    python docs/make_two_clicks.py

It starts a Label Studio of its own, signs up in a Chromium, and marks the two clicks. Run it when
a new version of Label Studio looks different.
"""

import io
import sys
import tempfile
from pathlib import Path

import platformdirs
from PIL import Image
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from curation.rounds.platforms.label_studio import client, local
from support.browsers import CHROMIUM
from support.label_studio import CONFIG, data, fill_sign_up, free_port

PICTURE = Path(__file__).with_name("images") / "two-clicks.png"
SIZE = {"width": 1000, "height": 340}
TITLE = "intrasentence-1 · my-benchmark"
COLOURS = 48
MARK = """(e, number) => {
  const box = e.getBoundingClientRect(), ring = document.createElement("div");
  document.getElementById("ring")?.remove();
  ring.id = "ring";
  ring.style.cssText = `position: fixed; z-index: 9999; border: 3px solid #d92d20; color: #d92d20;
    border-radius: 8px; padding: 0 8px; font: bold 24px sans-serif; text-align: right;
    left: ${box.left - 8}px; top: ${box.top - 6}px; width: ${box.width + 44}px;
    height: ${box.height + 12}px; line-height: ${box.height + 6}px`;
  ring.textContent = number;
  document.body.append(ring);
}"""


def shot(page: Page, text: str, number: int) -> Image.Image:
    """The page with a mark around the place to click."""
    place = page.get_by_text(text, exact=True).first
    place.wait_for()
    page.wait_for_timeout(1500)
    place.evaluate(MARK, number)
    page.mouse.move(5, 300)
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot()))


def main() -> None:
    """Take both pictures, one above the other."""
    home = Path(platformdirs.user_cache_dir("curation"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        place = local.Place("writers", Path(folder) / "writers", free_port())
        server = local.start(place, executable=local.prepare(home, print), tell=print)
        try:
            to = client.connect(server.url, server.key)
            project = to.make_project(TITLE, config=CONFIG, instruction="", answers=2)
            to.put_tasks(project, data("a", "b", "c"))
            browser = driver.chromium.launch(
                executable_path="/usr/bin/chromium", args=CHROMIUM.split()
            )
            page = browser.new_page(viewport=SIZE)
            fill_sign_up(page, to.invite(), "p-017@study.invalid")
            first = shot(page, TITLE, 1)
            page.get_by_text(TITLE, exact=True).first.click()
            second = shot(page, "Label All Tasks", 2)
            browser.close()
        finally:
            server.stop()
    both = Image.new("RGB", (first.width, first.height + second.height + 6), "#667085")
    both.paste(first, (0, 0))
    both.paste(second, (0, first.height + 6))
    both.quantize(COLOURS).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
