"""The two pictures of the README, of the page as it is: `make pictures`.

docs/images/first-minutes.webp moves: the leash is turned on the first page, then a real run trains, one frame for each
update of it. docs/images/train.png is the Train page when that run has ended. Nothing in them is drawn by hand.
Needs playwright; CHROMIUM names the browser.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from bench.experiments import PROJECT
from bench.page_load import browser, served

IMAGES = PROJECT / "docs" / "images"
MOST_BYTES = {IMAGES / "first-minutes.webp": 1_500_000, IMAGES / "train.png": 300_000}
MOVING, STILL = MOST_BYTES
WIDTH, HEIGHT, STILL_WIDTH = 1200, 800, 1440
QUALITY = 70  # of WebP, 0 to 100
SLIDER = ".leash-board input[type=range]"
BAR = ".status [role=progressbar]"
UPDATE = f"Number(document.querySelector('{BAR}').getAttribute('aria-valuenow'))"
RUN_MS = 300_000
THUMB = 16  # pixels, of the slider
TURN_MS, READ_MS, UPDATE_MS, END_MS = 120, 1100, 110, 2500  # how long a frame is shown
SETTLE_MS = 300  # until what moves on the page has come to rest


class Film:
    """Frames, and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.slider = page.locator(SLIDER).first
        self.frames: list[Image.Image] = []
        self.durations_ms: list[int] = []

    def take(self, duration_ms: int) -> None:
        """The page as it now is."""
        self.page.wait_for_timeout(SETTLE_MS)
        picture = io.BytesIO(self.page.screenshot())
        self.frames.append(Image.open(picture).convert("RGB"))
        self.durations_ms.append(duration_ms)

    def save(self, path: Path) -> None:
        """As WebP, over and over."""
        first, *later = self.frames
        form = {"loop": 0, "quality": QUALITY, "method": 6, "minimize_size": True}
        first.save(path, save_all=True, append_images=later, duration=self.durations_ms, **form)

    def turn_the_leash(self) -> None:
        """From where it stands to loose, to tight, and back."""
        self.slider.wait_for()
        self.page.wait_for_selector(".doors-row [data-key=train]")
        self.page.wait_for_timeout(4 * SETTLE_MS)
        start, tight = int(self.slider.input_value()), int(self.slider.get_attribute("max") or 0)
        self.take(READ_MS)
        self.point_at(start)
        self.page.mouse.down()
        for target in (0, tight, start):
            self.drag_to(target)
        self.page.mouse.up()

    def drag_to(self, target: int) -> None:
        """A frame for each stop on the way; at the last one there is time to read."""
        stop = int(self.slider.input_value())
        step = 1 if target > stop else -1
        for place in range(stop + step, target + step, step):
            self.point_at(place)
            self.take(READ_MS if place == target else TURN_MS)

    def point_at(self, stop: int) -> None:
        """The mouse, over a stop of the slider."""
        box = self.slider.bounding_box()
        assert box is not None
        share = stop / int(self.slider.get_attribute("max") or 1)
        x = box["x"] + THUMB / 2 + share * (box["width"] - THUMB)
        self.page.mouse.move(x, box["y"] + box["height"] / 2)

    def train(self) -> None:
        """The second door, and then a frame for each update."""
        page = self.page
        page.click(".doors-row [data-key=train]")
        page.wait_for_selector(".status .state:has-text('running')", timeout=RUN_MS)
        last = int(page.get_attribute(BAR, "aria-valuemax") or 0)
        update = 0
        while update < last:
            page.wait_for_function(f"{UPDATE} > {update}", timeout=RUN_MS)
            update = page.evaluate(UPDATE)
            self.take(UPDATE_MS)
        page.wait_for_selector(".status .state:has-text('finished')", timeout=RUN_MS)
        page.mouse.move(0, 0)
        self.take(END_MS)


def main() -> None:
    """Take both and say how large they are."""
    with served() as url, browser() as chromium:
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(url)
        film = Film(page)
        film.turn_the_leash()
        film.train()
        film.save(MOVING)
        page.set_viewport_size({"width": STILL_WIDTH, "height": HEIGHT})
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=STILL, full_page=True)
    print(f"{len(film.frames)} frames, {sum(film.durations_ms) / 1000:.1f} s")
    sizes = {path: path.stat().st_size for path in MOST_BYTES}
    for path, size in sizes.items():
        print(f"{path.name}: {size:,} bytes")
    if any(size > MOST_BYTES[path] for path, size in sizes.items()):
        sys.exit("A picture has become too large.")


if __name__ == "__main__":
    main()
