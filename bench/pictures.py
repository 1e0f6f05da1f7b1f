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
from playwright.sync_api import Page, sync_playwright

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench.page_load import served  # noqa: E402
from bench.screenshots import CHROMIUM, FLAGS  # noqa: E402

IMAGES = PROJECT / "docs" / "images"
MOVING, STILL = IMAGES / "first-minutes.webp", IMAGES / "train.png"
MOVING_BYTES, STILL_BYTES = 1_500_000, 300_000  # at most
WIDTH, HEIGHT, STILL_WIDTH = 1200, 800, 1440
QUALITY = 70  # of WebP, 0 to 100

SLIDER = ".leash-board input[type=range]"
UPDATE = "Number(document.querySelector('.status [role=progressbar]').getAttribute('aria-valuenow'))"
RUN_SECONDS = 300
THUMB = 16  # pixels, of the slider

TURN_MS, LOOK_MS, UPDATE_MS, END_MS = 120, 1100, 110, 2500  # how long a frame is shown
SETTLE_MS = 300  # until what moves on the page has come to rest


class Film:
    """Frames, and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.shown_ms: list[int] = []

    def take(self, shown_ms: int) -> None:
        """The page as it now is."""
        self.page.wait_for_timeout(SETTLE_MS)
        picture = io.BytesIO(self.page.screenshot())
        self.frames.append(Image.open(picture).convert("RGB"))
        self.shown_ms.append(shown_ms)

    def save(self, path: Path) -> None:
        """As WebP, over and over."""
        first, *others = self.frames
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=self.shown_ms,
            loop=0,
            quality=QUALITY,
            method=6,
            minimize_size=True,
        )


def main() -> None:
    """Take both and say how large they are."""
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        film = Film(page)
        page.goto(url)
        turn_the_leash(film)
        train(film)
        film.save(MOVING)
        page.set_viewport_size({"width": STILL_WIDTH, "height": HEIGHT})
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=STILL, full_page=True)
        browser.close()
    seconds = sum(film.shown_ms) / 1000
    print(f"{MOVING.name}: {len(film.frames)} frames, {seconds:.1f} s, {MOVING.stat().st_size:,} bytes")
    print(f"{STILL.name}: {STILL.stat().st_size:,} bytes")
    if MOVING.stat().st_size > MOVING_BYTES or STILL.stat().st_size > STILL_BYTES:
        sys.exit("A picture has become too large.")


def turn_the_leash(film: Film) -> None:
    """From where it stands to loose, to tight, and back."""
    slider = film.page.locator(SLIDER).first
    slider.wait_for()
    film.page.wait_for_selector(".doors-row [data-key=train]")
    film.page.wait_for_timeout(4 * SETTLE_MS)
    start = int(slider.input_value())
    tight = int(slider.get_attribute("max") or 0)
    film.take(LOOK_MS)
    point_at(film, start)
    film.page.mouse.down()
    for target in (0, tight, start):
        drag_to(film, target)
    film.page.mouse.up()


def drag_to(film: Film, target: int) -> None:
    """A frame for each stop on the way; at the last one there is time to read."""
    stop = int(film.page.locator(SLIDER).first.input_value())
    step = 1 if target > stop else -1
    while stop != target:
        stop += step
        point_at(film, stop)
        film.take(LOOK_MS if stop == target else TURN_MS)


def point_at(film: Film, stop: int) -> None:
    """The mouse, over a stop of the slider."""
    slider = film.page.locator(SLIDER).first
    place = slider.bounding_box()
    assert place is not None
    share = stop / int(slider.get_attribute("max") or 1)
    way = place["width"] - THUMB
    film.page.mouse.move(place["x"] + THUMB / 2 + share * way, place["y"] + place["height"] / 2)


def train(film: Film) -> None:
    """The button "Train it now", then Start, and then a frame for each update."""
    page = film.page
    page.click(".doors-row [data-key=train]")
    page.wait_for_selector("#needs .needs-short")
    film.take(LOOK_MS)
    page.click("#start")
    page.wait_for_selector(".status .state:has-text('running')")
    last = int(page.get_attribute(".status [role=progressbar]", "aria-valuemax") or 0)
    update = 0
    while update < last:
        page.wait_for_function(f"{UPDATE} > {update}", timeout=RUN_SECONDS * 1000)
        update = page.evaluate(UPDATE)
        film.take(UPDATE_MS)
    page.wait_for_selector(".status .state:has-text('finished')", timeout=RUN_SECONDS * 1000)
    page.mouse.move(0, 0)
    film.take(END_MS)


if __name__ == "__main__":
    main()
