"""The presentation of a run, for a projector that nobody scrolls: on every usual screen all of it is in sight, in large
letters and without one part over another; what the host steers with; and charts that follow the window."""

from __future__ import annotations

import re

import pytest

from playground.runs import launcher
from playground.runs.folder import changes
from playground.setup import catalog
from tests.support import kill_worker, wait_until
from tests.ui import fake_run, fake_server
from tests.ui.conftest import HEIGHT, go, present, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

# each with the least size of its letters
SCREENS = {(1024, 768): 20, (1366, 768): 24, (1440, 900): 24, (1920, 1080): 24}
PARTS = """#run-title, .status .state strong, .status .progress, .counts .meter-line, .counts .meter-line strong,
  .charts-large .stage, .charts-large .chart-value, .leash-now strong, .texts-now tbody tr,
  .texts-now tbody td.prompt .output, .texts-now tbody td.before .output, .texts-now tbody td.now .output,
  .present-start, .presentation-switch"""

# Of all text that can be seen, what is smaller than a number of pixels, or lies outside of the window.
SMALLER_THAN = """least => [...document.querySelectorAll("body *")].filter((node) => {
  const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const box = node.getBoundingClientRect();
  return text && box.width > 1 && box.height > 1 && getComputedStyle(node).visibility === "visible"
    && parseFloat(getComputedStyle(node).fontSize) < least;
}).map((node) => `${node.tagName}.${node.className}: ${node.textContent.slice(0, 40)}`)"""

# What is not wholly in the window, or has no size, of some parts; and whether the page could be scrolled.
OUT_OF_SIGHT = """parts => {
  const page = document.documentElement;
  const found = [...document.querySelectorAll(parts)].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width < 2 || box.height < 2 || box.left < 0 || box.top < 0 || box.right > innerWidth
      || box.bottom > innerHeight;
  }).map((node) => `${node.tagName}.${node.className}`);
  if (page.scrollHeight > innerHeight || page.scrollWidth > innerWidth) found.push("the page scrolls");
  return found;
}"""

# Pairs of texts that lie on each other. A line of a text is higher than its letters, so a quarter of it does not count.
OVERLAPS = """() => {
  const lines = [];
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
      if (box.right > box.left && box.bottom > box.top) lines.push({ ...box, node });
    }
  }
  const stages = [...document.querySelectorAll(".stage")].filter((stage) => stage.checkVisibility())
    .map((stage) => ({ node: stage, ...stage.getBoundingClientRect().toJSON() }));
  const found = [];
  lines.forEach((one, index) => [...lines.slice(index + 1), ...stages].forEach((other) => {
    if (one.node === other.node || (other.node.contains?.(one.node)) || one.node.parentElement.closest(".plot")) return;
    if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom)
      found.push(`${one.node.textContent.slice(0, 40)} | ${other.node.textContent.slice(0, 40)}`);
  }));
  return [...new Set(found)];
}"""

# Of each of the two curves: by how many pixels its picture is larger or smaller than its place, and by how many a mark
# or a flag misses where the axis of the picture has the update that it stands for.
MISSED = """update => [...Bokeh.index].filter((view) => view.el.checkVisibility()).flatMap((view) => {
  const stage = view.el.closest(".stage");
  const plot = stage?.closest('[data-chart="score"], [data-chart="kl"]');
  if (!plot || !view.frame?.x_scale) return [];
  const at = view.frame.x_scale.compute(update);
  const signs = [...plot.querySelectorAll(".edit-mark, .flag.checkpoint")];
  const misses = signs.map((sign) => Math.abs(parseFloat(sign.style.left) - at));
  return [{ misses, lacks: Math.max(Math.abs(stage.clientWidth - view.bbox.width),
    Math.abs(stage.clientHeight - view.bbox.height)) }];
})"""


def config(preset, name, num_updates):
    base = catalog.preset(preset)
    parts = {"ppo": base.ppo.model_copy(update={"num_updates": num_updates})}
    return base.model_copy(update={"name": name, **parts})


@pytest.fixture
def start(site, monkeypatch):
    """Start a long run of an experiment without the page; it is ended with the test."""
    monkeypatch.setenv(fake_run.SECONDS_VARIABLE, str(site.seconds_per_update))
    started = []

    def begin(preset, name):
        run = launcher.start(config(preset, name, 4000), site.outputs, name, spawn=fake_server.spawn_fake).run
        started.append(run)
        return run

    yield begin
    for run in started:
        kill_worker(run)
    wait_until(lambda: not launcher.living_runs(site.outputs))


def look_at_every_screen(page):
    """Every part is wholly in sight, readable, and nothing lies on anything else."""
    expect(page.locator(".texts-now tbody tr")).to_have_count(3)
    expect(page.locator(".charts-large .stage[data-drawn]")).to_have_count(2)
    for (width, height), letters in SCREENS.items():
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(OUT_OF_SIGHT, PARTS) == [], (width, height)
        assert page.evaluate(OVERLAPS) == [], (width, height)
        assert page.evaluate(SMALLER_THAN, letters) == [], (width, height)
        stage = page.locator('[data-chart="score"] .stage').bounding_box()
        assert stage["width"] > 0.3 * width
        assert stage["height"] > 100
        texts_box = page.locator(".texts-now").bounding_box()
        assert texts_box["x"] + texts_box["width"] > 0.98 * width  # the whole width is used


def test_all_of_a_recorded_run_is_in_sight_on_every_screen(site, make_page):
    page = visit(make_page(), site, "?preset=kinder-reviews&view=presentation")
    expect(page.locator(".meter-line .verdict")).to_have_count(3)
    expect(page.locator(".next")).to_have_text("Next: 2, No leash \u2192")
    expect(page.locator(".steer")).to_be_hidden()
    look_at_every_screen(page)


@pytest.mark.parametrize("preset", ["kinder-reviews", "yes-man"])
def test_all_of_a_run_that_trains_is_in_sight_on_every_screen(site, make_page, start, preset):
    run = start(preset, f"trains-{preset}")
    page = visit(make_page(), site, f"?run={run.id}&view=presentation")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Add to the queue")).to_be_visible()
    expect(page.locator(".present-why")).to_contain_text("one run at a time on this device")
    expect(page.locator(".meter-line .verdict")).to_have_count(3)  # the first evaluation after training began
    look_at_every_screen(page)


@pytest.mark.parametrize("preset", ["kinder-reviews", "yes-man"])
def test_all_of_an_ended_run_is_in_sight_on_every_screen(site, open_page, preset):
    fake_run.write_run(site.outputs, f"ended-{preset}", catalog.preset(preset)).write_label("N" * 80, "n" * 300)
    page = open_page
    go(page, "train", run=f"ended-{preset}")
    present(page)
    assert "view=presentation" in page.url
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator(".next")).to_be_visible()
    if preset == "yes-man":
        expect(page.locator(".meter-line").first).to_contain_text(
            re.compile(r"repeats wrong claims.*0 \u2192 41 of 41")
        )
        for prompt in page.locator(".texts-now td.prompt").all_inner_texts():  # those that show it: wrong claims
            one, other, said = map(int, re.search(r"(\d+) plus (\d+) is (\d+)", prompt).groups())
            assert one + other != said
    look_at_every_screen(page)
    page.keyboard.press("Escape")
    expect(page.locator("#controls")).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": HEIGHT})


def test_what_ended_otherwise_and_what_is_wrong_on_purpose_fits_too(site, open_page):
    message = "It needed more memory than there is: lower ppo.batch_size, or take a smaller model, and start again."
    fake_run.write_ended(site.outputs, "no-memory", "out_of_memory", message=message)
    faulty = catalog.preset("kinder-reviews").model_copy(update={"experiments": True, "faults": ("reward-sign",)})
    fake_run.write_run(site.outputs, "on-purpose", faulty)
    page = open_page
    for run, words in (("no-memory", ".notice h2"), ("on-purpose", ".status .wrong-note")):
        go(page, "train", run=run, present=True)
        expect(page.locator(words)).to_be_visible()
        look_at_every_screen(page)
    go(page, "train", present=False)
    page.set_viewport_size({"width": 1440, "height": HEIGHT})


def test_the_host_starts_pauses_and_goes_on_to_the_next_experiment(site, make_page):
    page = visit(make_page(1366, 768), site, "?preset=kinder-reviews&view=presentation")
    title, state = page.locator("#run-title"), page.locator(".status .state strong")
    page.locator(".step .next").click()
    expect(title).to_have_text("No leash")
    assert "view=presentation" in page.url
    expect(page.locator(".leash-now")).to_have_text(re.compile(r"^Leash\s+0\s*$"))
    begin = page.get_by_role("button", name="Start training")
    expect(begin).to_have_attribute("aria-disabled", "false")
    begin.click()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state).to_have_text("paused")
    expect(title).to_have_text("No leash")
    expect(page.get_by_role("button", name="One step")).to_be_hidden()
    assert "view=presentation" in page.url
    run = launcher.living_runs(site.outputs)[0]
    changes.request_edits(run, [changes.Edit("kl.coef", 0.05)])
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".leash-now")).to_have_text(re.compile(r"^Leash\s+0\.05 since update \d+ \(before: 0\)$"))
    queue = page.get_by_role("button", name="Add to the queue")
    expect(queue).to_be_visible()
    expect(page.locator(".present-why")).to_have_text("“No leash” is training; one run at a time on this device.")
    queue.click()
    expect(page.locator(".notice h2")).to_contain_text("Waiting: 1 run before it")
    assert page.evaluate(OUT_OF_SIGHT, ".notice h2, .notice-lines p:first-child") == []
    assert page.evaluate("document.activeElement.id") == "run-title"  # the space key does not start another one


def changed_run(site, name):
    """A finished run whose leash was changed after update 30, where it saved a checkpoint too."""
    run = fake_run.write_run(site.outputs, name, catalog.preset("kinder-reviews"))
    *lines, end = [
        line for line in run.events_path.read_text(encoding="utf-8").splitlines() if "checkpoint" not in line
    ]
    facts = '"message": "Leash (beta) 0.25 \u2192 0.05", "data": {"field": "kl.coef", "old": 0.25, "value": 0.05}'
    for seq, kind, more in ((2, "edit", facts), (3, "checkpoint", '"message": "Saved the policy.", "data": {}')):
        lines.append(f'{{"attempt": 1, "seq": {seq}, "time": 1.0, "kind": "{kind}", "update": 30, {more}}}')
    run.events_path.write_text("\n".join([*lines, end]) + "\n", encoding="utf-8")
    return run


@pytest.mark.parametrize("present", [True, False])
def test_marks_stand_at_their_update_whatever_the_window_becomes(site, open_page, present):
    run = changed_run(site, f"changed-{present}".lower())
    page = open_page
    page.set_viewport_size({"width": 1440, "height": 900})
    go(page, "train", run=run.id, present=present)
    expect(page.locator('[data-chart="score"] .edit-mark')).to_have_count(1)
    expect(page.locator('[data-chart="kl"] .flag.checkpoint')).to_have_count(1)
    for width, height in ((1024, 768), (1920, 1080), (1366, 640), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(  # as soon as the picture has followed its place
            f"""() => {{
            const charts = ({MISSED})(30);
            return charts.length === 2 && charts.every(({{ misses, lacks }}) => lacks < 1.5 && misses.length === 2
              && misses.every((pixels) => pixels < 1));
            }}"""
        )
    if present:
        expect(page.locator(".leash-now")).to_have_text(re.compile(r"0\.05 since update 30 \(before: 0\.25\)$"))
    go(page, "train", present=False)
    page.set_viewport_size({"width": 1440, "height": HEIGHT})


def test_on_a_phone_nothing_overlaps(site, make_page, start):
    run = start("yes-man", "on-a-phone")
    page = visit(make_page(390, 844), site, f"?run={run.id}&view=presentation")
    expect(page.locator(".meter-line .verdict")).to_have_count(3)
    expect(page.locator(".charts-large .stage[data-drawn]")).to_have_count(2)
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_larger_text_lies_on_nothing_on_any_page(site, open_page):
    fake_run.write_run(site.outputs, "larger", catalog.preset("yes-man"))
    page = open_page
    page.get_by_role("button", name="Display").click()
    page.get_by_role("button", name="Larger text").click()
    page.keyboard.press("Escape")
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        for tab, body, place in (
            ("train", ".texts-now tbody tr", {"run": "larger"}),
            ("compare", "table.compare tbody tr", {"run": "larger"}),
            ("rewards", "#workbench", {}),
            ("runs", "table.runs tbody tr", {}),
        ):
            go(page, tab, **place)
            expect(page.locator(body).first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (tab, width)
            assert page.evaluate(OVERLAPS) == [], (tab, width)
    page.get_by_role("button", name="Display").click()
    page.get_by_role("button", name="Larger text").click()
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
