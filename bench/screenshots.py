"""Screenshots of every page, wide and narrow, light and dark, for a person to look at.

    python bench/screenshots.py --url http://127.0.0.1:7860/ --out /tmp/shots [--only train-wide-light,...]

Needs playwright and a Chromium (path in CHROMIUM, by default /usr/bin/chromium). The page must already be served.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

SIZES = {"wide": (1440, 900), "narrow": (390, 844)}
PAGES = {name: f"tab={name}" for name in ("lessons", "train", "compare", "rewards", "runs")}
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:7860/")
    parser.add_argument("--out", type=Path, default=Path("screenshots"))
    parser.add_argument("--run", default="", help="run to show; by default what the page chooses")
    parser.add_argument("--overlay", default="", help="runs to overlay on the Runs page, for example one,two")
    parser.add_argument("--only", default="", help="comma-separated names such as train-wide-light")
    parser.add_argument("--wait", type=float, default=1.5, help="seconds to let the page settle")
    parser.add_argument("--still", action="store_true", help="ask for reduced motion: a recorded run shows its end")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pages = {**PAGES, **({"overlay": f"tab=runs&overlay={arguments.overlay}"} if arguments.overlay else {})}
    wanted = set(filter(None, arguments.only.split(",")))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for size, (width, height) in SIZES.items():
            for look in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=look,
                    reduced_motion="reduce" if arguments.still else "no-preference",
                )
                page = context.new_page()
                for name, query in pages.items():
                    title = f"{name}-{size}-{look}"
                    if not wanted or title in wanted:
                        take(page, arguments, title, query)
                context.close()
        browser.close()


def take(page: Page, arguments: argparse.Namespace, title: str, query: str) -> None:
    """One picture of the whole page, and what is wrong with its width."""
    run = f"run={arguments.run}" if arguments.run else ""
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{arguments.url}?{'&'.join(filter(None, (query, run)))}")
    page.wait_for_selector(".top nav a[aria-current]")
    page.wait_for_timeout(arguments.wait * 1000)
    sideways = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    page.screenshot(path=arguments.out / f"{title}.png", full_page=True)
    print(title, f"scrolls sideways by {sideways} px" if sideways > 0 else "", *errors[:5], sep="  ")


if __name__ == "__main__":
    main()
