"""The leash of the form in a browser: while a run trains it is that of the run in view."""

import re

from playwright.sync_api import expect

from playground.runs.folder import changes
from tests.ui.conftest import choose_preset, go, open_section
from tests.ui.test_browser import said, wait_for_update

LEASH = "#knob-kl-coef"
# an arrow key that is held down
HELD = """slider => { for (let times = 0; times < 12; times += 1) {
    slider.stepDown();
    for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name));
} }"""

# where the parts of the form stand
TOPS = """() => Object.fromEntries([...document.querySelectorAll("#controls [id]:not([id^=html-])")]
    .filter((part) => part.offsetHeight).map((part) => [part.id, part.getBoundingClientRect().top]))"""


def test_the_leash_of_the_form_is_that_of_the_run_in_view_and_a_held_key_is_one_change(site, open_page, begin):
    site.let_runs_reach(1)
    run, page = begin("on-a-leash"), open_page
    go(page, "train", run="on-a-leash")
    wait_for_update(page, 1)
    slider, badge = page.locator("#field-kl-coef .knob-slider"), page.locator("#field-kl-coef .knob-badge")
    expect(badge).to_have_text(re.compile("^live: ."))  # of a run whose experiment is not that of the form
    expect(badge).to_have_class(re.compile("now"))
    before = page.evaluate(TOPS)
    slider.focus()
    slider.evaluate(HELD)
    expect(said(page, "kl.coef")).to_have_text("Set after update 1.")
    value = float(page.locator(LEASH).input_value())
    assert value < 0.25
    assert [edit.value for edit in changes.edits_of(run.all_events())] == [value]
    assert page.evaluate(TOPS) == before
    open_section(page, "curves")  # where the changes are told in words
    expect(page.locator(".edits li")).to_have_text(re.compile(f"update 1: .*0.25 \u2192 {value:g}"))
    site.let_runs_reach(2)
    wait_for_update(page, 2)
    for chart in ("score", "beta"):
        page.locator(f'[data-chart="{chart}"]').scroll_into_view_if_needed()  # small ones are drawn when they are seen
        expect(page.locator(f'[data-chart="{chart}"] .edit-mark')).to_have_count(1)
    page.locator("#preset select").select_option("no-leash")  # for the next run; this one keeps its leash
    expect(said(page, "kl.coef")).to_contain_text("Next run: 0.")
    expect(page.locator(LEASH)).to_have_value(f"{value:g}")
    go(page, "train", run="_recorded")
    expect(page.locator(LEASH)).to_have_value("0")
    expect(said(page, "kl.coef")).to_have_text("")
    choose_preset(page, "kinder-reviews")
