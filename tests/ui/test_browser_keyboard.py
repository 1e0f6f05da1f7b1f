"""Who has no mouse: a keyboard reaches everything, shows where it is, and stays there while the page follows what goes
on; and what axe-core finds on every page."""

import pytest
from playwright.sync_api import expect

from playground.runs.folder.directory import RunDirectory
from tests.ui import fake_run
from tests.ui.conftest import PROJECT, go, in_page, open_section, open_settings, visit
from tests.ui.test_browser import SECTIONS

AXE = PROJECT / "node_modules" / "axe-core" / "axe.min.js"
# what was asked for has been drawn, and the colours of another theme have faded in
SETTLED = """new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))"""

STANDS = in_page("stands")

LOOK = in_page("axe-look")
MODEL, FIRST = "#field-model-source input", "pocket-2m (ships with it)"


def faults_in(result):
    """What axe-core found that is serious, a line each."""
    faults = [item for item in result["violations"] if item["impact"] in ("serious", "critical")]
    return [f"{item['id']} at {node['target']}: {node['failureSummary']}" for item in faults for node in item["nodes"]]


def serious_faults(page, **options):
    """Those of the page in view, by all rules of axe-core unless `options` say which."""
    assert AXE.is_file(), f"axe-core is not at {AXE}: `make style` installs what the checks of the page need."
    if not page.evaluate("Boolean(window.axe)"):
        page.add_script_tag(path=AXE)
    page.evaluate(SETTLED)
    return faults_in(page.evaluate(LOOK, options))


def tab_to(page, control, most=60, key="Tab"):
    """Press Tab, or another key, until a control has the focus; returns where one stood on the way, the control too."""
    stops = []
    for _ in range(most):
        page.keyboard.press(key)
        stops.append(control.evaluate(STANDS))
        if stops[-1]["there"]:
            return stops
    raise AssertionError(f"{control} is not reached by Tab: {[stop['what'] for stop in stops]}")


def assert_seen(stops):
    """Each stop has a name, and one sees where one is."""
    for what, fault in (("name", "has no name"), ("ring", "does not show the focus"), ("seen", "is covered")):
        assert not [stop["what"] for stop in stops if not stop[what]], f"what {fault}"


def test_a_dropdown_opens_when_it_is_meant_and_closes_when_it_is_left(site, open_page):
    page = open_page
    field, lists, notes = page.locator(MODEL), page.get_by_role("listbox"), page.locator("#notes")
    press = page.keyboard.press
    open_settings(page)
    page.locator("#header .display-switch").focus()
    tab_to(page, field)
    page.evaluate(SETTLED)
    expect(lists).to_have_count(0)
    press("ArrowDown")
    expect(lists).to_have_count(1)
    press("Escape")
    expect(lists).to_have_count(0)
    expect(field).to_be_focused()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        press(key)
    expect(field).to_have_value("pocket-1m (ships with it)")
    expect(notes).to_contain_text("pocket-2m \u2192 pocket-1m")
    field.click()  # left without a choice, which changes nothing
    expect(lists).to_have_count(1)
    press("Tab")
    page.evaluate(SETTLED)
    expect(lists).to_have_count(0)
    expect(field).to_have_value("pocket-1m (ships with it)")
    field.focus()
    page.keyboard.type(FIRST)  # written out, it is chosen
    press("Tab")
    expect(notes).not_to_contain_text("pocket-1m")
    expect(field).to_have_value(FIRST)


LONG = "a run with long words"
# where one goes, and what is there then
PLACES = {
    "lessons and boards": ({"tab": "lessons"}, "#chalkboard-lessons-stop"),
    "a lesson": ({"tab": "train", "lesson": "a-curve", "run": ""}, ".lesson-drawing svg"),
    "a mystery": ({"tab": "train", "mystery": "1", "run": "_recorded-mystery-01"}, ".mystery-panel h2"),
    "a recording": ({"tab": "train", "run": "_recorded"}, ".texts-now tbody tr"),
    LONG: ({"tab": "train", "run": "long"}, "#page-train table.pairs tbody tr"),
    "compare": ({"tab": "compare", "run": "long"}, "table.compare tbody tr"),
    "try rewards": ({"tab": "rewards"}, "#bench-texts"),
    "train a reward model": ({"tab": "rewards", "part": "train"}, ".reward-form"),
    "test a reward model": ({"tab": "rewards", "part": "test"}, "#check-row"),
    "runs and curves": ({"tab": "runs", "overlay": ["long", "beside"]}, ".overlay .overlay-settings tbody tr"),
}
PAGES = {"lessons": list(PLACES)[:3], "train": list(PLACES)[3:5], "others": list(PLACES)[5:]}


@pytest.fixture(scope="module")
def runs(site):
    """Two short runs, of which one has long words."""
    for seed, name in enumerate(("long", "beside")):
        config = fake_run.settings(name, "yes-man", 12, 8).model_copy(update={"seed": seed})
        fake_run.write_run(site.outputs, name, config)
    RunDirectory(site.outputs / "long").write_label("N" * 80, "n" * 300)


def faults_of_pages(page, names, **options):
    """The serious ones, each with its page."""
    faults = []
    for name in names:
        place, there = PLACES[name]
        go(page, **place)
        expect(page.locator(there).locator("visible=true").first).to_be_visible()
        for key in SECTIONS if name == LONG else ():
            open_section(page, key)
        faults += [f"{name}: {fault}" for fault in serious_faults(page, **options)]
    return faults


@pytest.mark.parametrize("pages", PAGES)
def test_no_page_has_a_serious_fault_of_accessibility(runs, open_page, pages):
    faults = faults_of_pages(open_page, PAGES[pages])
    assert not faults, "\n".join(faults)
    if pages == "others":  # axe passes over single figures
        go(open_page, "compare", run="long")
        expect(open_page.locator("#ask .min_value")).to_have_css("color", "rgb(82, 96, 119)")


def test_from_the_first_visit_to_the_end_of_a_run_by_keyboard_alone(site, make_page):
    page = visit(make_page(), site)
    site.let_runs_reach(2)
    press = page.keyboard.press
    stops = tab_to(page, page.locator("#preset select"))
    press("ArrowDown")
    expect(page.locator("#preset select")).to_have_value("no-leash")
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
    stops += tab_to(page, page.locator(".all-settings-switch"), 8)
    press("Enter")
    page.locator("#knob-ppo-num_updates").wait_for()
    stops += tab_to(page, page.locator("#knob-ppo-num_updates"), key="Shift+Tab")
    page.keyboard.type("4")
    stops += tab_to(page, page.locator("#start"), 100)
    expect(page.locator("#notes")).to_contain_text("→ 4")
    press("Enter")
    expect(page.locator("#run-title")).to_be_focused()
    expect(page.locator(".status .state strong")).to_have_text("running")
    press("Space")
    expect(page.locator(".status .state strong")).to_have_text("paused")
    press("Space")
    site.let_runs_end()
    expect(page.locator(".status .state strong")).to_have_text("finished")
    assert_seen(stops)


def test_from_a_run_to_a_comparison_by_keyboard_alone(runs, open_page):
    page, press = open_page, open_page.keyboard.press
    go(page, "train", run="long")
    expect(page.locator(".status .state strong")).to_have_text("finished")
    page.locator("#run-title").focus()
    compare = page.locator(".status").get_by_role("button", name="Compare", exact=True)
    stops = tab_to(page, compare)
    press("Enter")
    expect(page.locator("#page-compare")).to_be_focused()
    expect(page.locator("#compare .outcome")).to_contain_text("95 % interval")
    stops += tab_to(page, page.locator("#ask-prompt textarea"))
    page.keyboard.type("The film was")
    press("Enter")
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    stops += tab_to(page, page.get_by_label("Sort"))
    press("ArrowDown")
    expect(page.get_by_label("Sort")).to_have_value("loss")
    assert_seen(stops)
