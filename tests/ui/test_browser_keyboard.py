# ruff: noqa: F811 - pytest finds the fixture by this name
"""Who has no mouse: a keyboard or a finger reaches everything, sees where it is, finds each word explained, and stays
where it is while the page follows what goes on."""

import pytest

from playground.runs import launcher
from playground.runs.folder import changes
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import HEIGHT, PROJECT, go, open_section, open_settings, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import SECTIONS, press_display, wait_for_update
from tests.ui.test_browser_ends import ASK_NOW, begin, button  # noqa: F401

AXE = PROJECT / "node_modules" / "axe-core" / "axe.min.js"
# what was asked for has been drawn, and the colours of another theme have faded in
SETTLED = """new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    .then(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)))"""

# what has the focus, also inside Bokeh: its name, whether one sees that it has it, and whether something hides it
STANDS = """(wanted) => {
    let node = document.activeElement;
    while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    const label = node.labels?.[0] ?? document.getElementById(node.getAttribute("aria-labelledby"));
    const name = node.getAttribute("aria-label") || label?.textContent || node.textContent || node.title || "";
    const { left, top, width, height } = node.getBoundingClientRect();
    const style = getComputedStyle(node);
    const [x, y] = [left + width / 2, top + height / 2];
    const above = document.elementFromPoint(x, y);
    return {
        what: `${node.tagName} ${node.id} ${node.className} ${name.trim().slice(0, 40)}`,
        there: node === wanted,
        name: node !== document.body && name.trim(),
        ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && width > 8,
        seen: Boolean(above) && [node, node.labels?.[0]].some((part) => part?.contains(above) || above.contains(part)),
    };
}"""

MODEL, FIRST = "#field-model-source input", "pocket-2m (ships with it)"


def faults_in(result):
    """What axe-core found that is serious, a line each."""
    found = [item for item in result["violations"] if item["impact"] in ("serious", "critical")]
    return [f"{item['id']} at {node['target']}: {node['failureSummary']}" for item in found for node in item["nodes"]]


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


def test_the_form_as_a_drawer_takes_the_focus_and_gives_it_back(site, open_page):
    page = open_page
    page.set_viewport_size({"width": 390, "height": 844})
    opening = page.get_by_role("button", name="Set up a run")
    opening.click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_focused()
    open_settings(page)
    page.get_by_role("button", name="Close", exact=True).focus()
    tab_to(page, page.locator(MODEL))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("listbox")).to_have_count(1)
    page.keyboard.press("Escape")  # the list
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(page.locator(MODEL)).to_be_focused()
    page.keyboard.press("Escape")
    expect(opening).to_be_focused()
    page.set_viewport_size({"width": 1440, "height": HEIGHT})


LOOKS = {
    "lessons": ".course-lessons a",
    "a lesson": ".lesson-drawing svg",
    "train": "#run-view .charts-first",
    "compare": "table.compare tbody tr",
    "rewards": "#bench-texts",
    "train a reward model": ".reward-form",
    "test a reward model": "#check-row",
    "runs": ".overlay .overlay-settings tbody tr",
}
PARTS = {"train a reward model": "train", "test a reward model": "test"}


def test_no_page_has_a_serious_fault_of_accessibility(site, open_page):
    assert AXE.is_file(), f"axe-core is not at {AXE}: `make style` installs what the checks of the page need."
    base = catalog.preset("kinder-reviews")
    for name, seed in (("one", 601), ("other", 602)):
        fake_run.write_run(site.outputs, name, base.model_copy(update={"seed": seed}))
    page = open_page
    page.add_script_tag(path=AXE)
    found = []
    expect(page.locator("#ask .min_value")).to_have_css("color", "rgb(82, 96, 119)")  # axe passes over single figures
    for place, shown in LOOKS.items():
        run = "one" if place == "compare" else "_recorded"  # of a recording nobody can be asked
        if place == "a lesson":
            go(page, "train", lesson="a-curve", run="")
        elif place in PARTS:
            go(page, "rewards", part=PARTS[place])
        else:
            go(page, place, **({"overlay": ["one", "other"]} if place == "runs" else {"run": run}))
        expect(page.locator(shown).first).to_be_visible()
        for key in SECTIONS if place == "train" else ():
            open_section(page, key)
        for options in ({}, {"runOnly": ["color-contrast"]}):  # light: everything; dark: what differs there
            page.evaluate(SETTLED)
            result = page.evaluate("(options) => axe.run({ resultTypes: ['violations'], ...options })", options)
            found += [f"{place}, {'dark' if options else 'light'}: {fault}" for fault in faults_in(result)]
            press_display(page, "Dark colours", "false" if options else "true")  # the other theme
    assert not found, "\n".join(found)


def test_from_the_first_visit_to_a_comparison_by_keyboard_alone(site, make_page):
    page = visit(make_page(), site)
    press = page.keyboard.press
    stops = tab_to(page, page.locator("#preset select"))
    press("ArrowDown")
    expect(page.locator("#preset select")).to_have_value("no-leash")
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
    stops += tab_to(page, page.locator(".all-settings-switch"), 8)
    press("Enter")
    page.locator("#knob-ppo-num_updates").wait_for()
    stops += tab_to(page, page.locator("#knob-ppo-num_updates"), key="Shift+Tab")
    page.keyboard.type("24")
    stops += tab_to(page, page.locator("#start"), 100)
    expect(page.locator("#notes")).to_contain_text("→ 24")
    press("Enter")
    expect(page.locator("#run-title")).to_be_focused()
    expect(page.locator(".state strong")).to_have_text("running")
    press("Space")
    expect(page.locator(".state strong")).to_have_text("paused")
    press("Space")
    expect(page.locator(".state strong")).to_have_text("finished")
    compare = page.locator(".status").get_by_role("button", name="Compare", exact=True)
    stops += tab_to(page, compare)
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


def test_what_goes_with_the_end_of_a_run_leaves_the_focus_in_its_panel(site, open_page, begin):
    run = begin("left-alone")
    page = open_page
    go(page, "train", run="left-alone")
    wait_for_update(page, 1)
    button(page, "Pause").click()
    step = button(page, "One step")
    step.focus()
    changes.request_resume(run)  # by another person
    expect(step).to_be_hidden()
    expect(page.locator(".steer-main")).to_be_focused()
    page.locator(".steer-main").focus()
    launcher.stop(run)
    expect(page.locator(".steer")).to_be_hidden()
    expect(page.locator("#run-title")).to_be_focused()
