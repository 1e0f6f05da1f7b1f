"""Who has no mouse: a keyboard reaches everything, shows where it is, and stays there while the page follows what goes
on. What axe-core finds on every page; and that in three widths, with the usual text and with larger, none scrolls
sideways and no text lies on another."""

import pytest
from playwright.sync_api import expect

from playground.runs.folder.directory import RunDirectory
from tests.nights import nightly
from tests.support import data_beside
from tests.ui import fake_run
from tests.ui.conftest import HEIGHT, PROJECT, go, in_page, open_section, unfold, visit
from tests.ui.test_browser import SECTIONS

AXE = PROJECT / "node_modules" / "axe-core" / "axe.min.js"
SETTLED = in_page("settled")
STANDS = in_page("stands")
LOOK = in_page("axe-look")


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


LONG, BOARDS = "a run with long words", "lessons and boards"
# where one goes, and what is there then
PLACES = data_beside(__file__, "tables.yaml")["places"]
PAGES = {"lessons": list(PLACES)[:3], "train": list(PLACES)[3:5], "others": list(PLACES)[5:]}


@pytest.fixture(scope="module")
def runs(site):
    """Two short runs, of which one has long words."""
    for seed, name in enumerate(("long", "beside")):
        config = fake_run.settings(name, "yes-man", 12, 8).model_copy(update={"seed": seed})
        fake_run.write_run(site.outputs, name, config)
    RunDirectory(site.outputs / "long").write_label("N" * 80, "n" * 300)


def look_at(page, name):
    """Go to a place, where all that is folded is open."""
    place, there = PLACES[name]
    go(page, **place)
    if name == BOARDS:
        unfold(page, "[data-key=chalkboard]")
    expect(page.locator(there).locator("visible=true").first).to_be_visible()
    for key in SECTIONS if name == LONG else ():
        open_section(page, key)


def faults_of_pages(page, names, **options):
    faults = []
    for name in names:
        look_at(page, name)
        faults += [f"{name}: {fault}" for fault in serious_faults(page, **options)]
    return faults


@pytest.mark.parametrize("pages", PAGES)
def test_no_page_has_a_serious_fault_of_accessibility(runs, page, pages):
    faults = faults_of_pages(page, PAGES[pages])
    assert not faults, "\n".join(faults)
    if pages == "others":  # axe passes over single figures
        go(page, "compare", run="long")
        expect(page.locator("#ask .min_value")).to_have_css("color", "rgb(82, 96, 119)")


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


def test_from_a_run_to_a_comparison_by_keyboard_alone(runs, page):
    go(page, "train", run="long")
    expect(page.locator(".status .state strong")).to_have_text("finished")
    page.locator("#run-title").focus()
    stops = tab_to(page, page.locator(".status").get_by_role("button", name="Compare", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator("#page-compare")).to_be_focused()
    expect(page.locator("#compare .outcome")).to_contain_text("95 % interval")
    stops += tab_to(page, page.locator("#ask-prompt textarea"))
    page.keyboard.type("The film was")
    page.keyboard.press("Enter")
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    stops += tab_to(page, page.get_by_label("Sort"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Sort")).to_have_value("loss")
    assert_seen(stops)


# widths, each with whether the text is larger
BY_DAY, AT_NIGHT = [(390, False), (390, True), (1024, True), (1440, True)], [(1024, False), (1440, False)]
STICKS_OUT = in_page("sticks-out")
OVERLAPS = in_page("overlaps")
TOO_SMALL = in_page("too-small")


@pytest.mark.parametrize("layouts", [BY_DAY, nightly(AT_NIGHT)], ids=["by-day", "at-night"])
@pytest.mark.parametrize("pages", PAGES)
def test_nothing_scrolls_sideways_and_no_text_lies_on_another(runs, page, pages, layouts):
    faults = []
    for name in PAGES[pages]:
        look_at(page, name)
        for width, larger in layouts:
            page.evaluate("(larger) => document.body.classList.toggle('projector', larger)", larger)
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.wait_for_function("width => innerWidth === width", arg=width)  # the page hears of it later
            page.evaluate(SETTLED)
            layout = f"{name}, {width} px{', larger text' if larger else ''}"
            for look in (STICKS_OUT, OVERLAPS, TOO_SMALL):
                faults += [f"{layout}: {fault}" for fault in page.evaluate(look)]
    page.evaluate("document.body.classList.remove('projector')")
    assert not faults, "\n".join(faults)
