"""Every page in three widths, with the usual text and with larger: nothing scrolls sideways, and no text lies on
another."""

import pytest
from playwright.sync_api import expect

from playground.lessons import mysteries
from playground.runs.folder.directory import RunDirectory
from tests.nights import nightly
from tests.ui import fake_run
from tests.ui.conftest import HEIGHT, go, open_section
from tests.ui.test_browser import SECTIONS
from tests.ui.test_browser_keyboard import SETTLED

LONG = "long-words"
MYSTERY = f"_recorded-{mysteries.recorded()[0].name}"
# widths, each with whether the text is larger
BY_DAY, AT_NIGHT = [(390, False), (390, True), (1024, True), (1440, True)], [(1024, False), (1440, False)]
# where one goes, and what is there then
PAGES = {
    "lessons": {
        "lessons and boards": ({"tab": "lessons"}, "#chalkboard-lessons-stop"),
        "a lesson": ({"tab": "train", "lesson": "a-curve", "run": ""}, ".lesson-drawing svg"),
        "a mystery run": ({"tab": "train", "mystery": "1", "run": MYSTERY}, ".mystery-panel h2"),
    },
    "train": {
        "a recording": ({"tab": "train", "run": "_recorded"}, ".texts-now tbody tr"),
        "a run with long words": ({"tab": "train", "run": LONG}, "#page-train table.pairs tbody tr"),
    },
    "others": {
        "compare": ({"tab": "compare", "run": LONG}, "table.compare tbody tr"),
        "try rewards": ({"tab": "rewards"}, "#bench-texts"),
        "train a reward model": ({"tab": "rewards", "part": "train"}, ".reward-form"),
        "test a reward model": ({"tab": "rewards", "part": "test"}, "#check-row"),
        "runs": ({"tab": "runs"}, "table.runs tbody tr"),
        "an overlay": ({"tab": "runs", "overlay": [LONG, "other"]}, ".legend li"),
    },
}

# Pairs of texts that lie on each other. A line of a text is higher than its letters, so a quarter of it does not count;
# what stays in the window while the page scrolls (a header, a button) is compared with its own texts only.
OVERLAPS = """() => {
  const lines = [];
  const layers = new Map([[null, null]]);
  const layerOf = (node) => {
    if (!layers.has(node)) layers.set(node, /fixed|sticky/.test(getComputedStyle(node).position) ? node
      : layerOf(node.parentElement));
    return layers.get(node);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const own = node.parentElement;
    if (!node.data.trim() || !own.checkVisibility({ visibilityProperty: true }) || own.closest(".visually-hidden"))
      continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const spare = (bottom - top) / 8;
      const box = { left: left + 1, right: right - 1, top: top + spare, bottom: bottom - spare };
      for (let outer = own; outer; outer = outer.parentElement) {
        if (getComputedStyle(outer).overflow === "visible") continue;
        const edge = outer.getBoundingClientRect();
        box.left = Math.max(box.left, edge.left);
        box.right = Math.min(box.right, edge.right);
        box.top = Math.max(box.top, edge.top);
        box.bottom = Math.min(box.bottom, edge.bottom);
      }
      if (box.right > box.left && box.bottom > box.top) lines.push({ ...box, node, layer: layerOf(own) });
    }
  }
  const stages = [...document.querySelectorAll(".stage")].filter((stage) => stage.checkVisibility())
    .map((stage) => ({ node: stage, layer: layerOf(stage), ...stage.getBoundingClientRect().toJSON() }));
  const found = [];
  lines.forEach((one, index) => [...lines.slice(index + 1), ...stages].forEach((other) => {
    if (one.layer !== other.layer || other.node.contains(one.node) || one.node.parentElement.closest(".plot")) return;
    if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom)
      found.push(`${one.node.textContent.slice(0, 40)} | ${other.node.textContent.slice(0, 40)}`);
  }));
  return [...new Set(found)];
}"""


@pytest.fixture(scope="module")
def runs(site):
    """Two short runs, of which one has long words."""
    for name in (LONG, "other"):
        fake_run.write_run(site.outputs, name, fake_run.settings(name, "yes-man", 12, 16))
    RunDirectory(site.outputs / LONG).write_label("N" * 80, "n" * 300)


@pytest.mark.parametrize("layouts", [BY_DAY, nightly(AT_NIGHT)], ids=["by-day", "at-night"])
@pytest.mark.parametrize("pages", PAGES)
def test_nothing_scrolls_sideways_and_no_text_lies_on_another(runs, open_page, pages, layouts):
    page, faults = open_page, []
    for name, (place, there) in PAGES[pages].items():
        go(page, **place)
        expect(page.locator(there).locator("visible=true").first).to_be_visible()
        for key in SECTIONS if name == "a run with long words" else ():
            open_section(page, key)
        for width, larger in layouts:
            page.evaluate("(larger) => document.body.classList.toggle('projector', larger)", larger)
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.evaluate(SETTLED)
            layout = f"{name}, {width} px{', larger text' if larger else ''}"
            if page.evaluate("document.documentElement.scrollWidth") > width:
                faults.append(f"{layout}: scrolls sideways")
            faults += [f"{layout}: {pair}" for pair in page.evaluate(OVERLAPS)]
    page.evaluate("document.body.classList.remove('projector')")
    assert not faults, "\n".join(faults)
