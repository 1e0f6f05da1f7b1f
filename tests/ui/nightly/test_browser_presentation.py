# ruff: noqa: F811 - pytest finds the fixture by this name
"""More of the presentation: runs that train, have ended or went wrong, and charts that follow the window."""

import re

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import go, in_page
from tests.ui.test_browser_presentation import look_at_every_screen, page  # noqa: F401

IN_THEIR_PLACE = in_page("in-their-place")


def test_all_of_a_run_that_trains_is_in_sight_on_every_screen(begin, page):
    go(page, "train", run=begin("trains", "yes-man").id, present=True)
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Add to the queue")).to_be_visible()
    expect(page.locator(".present-why")).to_contain_text("one run at a time on this device")
    expect(page.locator(".meter-line .verdict")).to_have_count(3)  # the first evaluation after training began
    look_at_every_screen(page)


def test_an_example_and_runs_of_long_words_that_failed_or_were_wrong_are_in_sight_on_every_screen(site, page):
    fake_run.write_run(site.outputs, "long", catalog.preset("yes-man")).write_label("N" * 80, "n" * 300)
    message = "It needed more memory than there is: lower ppo.batch_size, or take a smaller model, and start again."
    fake_run.write_ended(site.outputs, "no-memory", "out_of_memory", message=message)
    faulty = catalog.preset("kinder-reviews").model_copy(update={"experiments": True, "faults": ("reward-sign",)})
    fake_run.write_run(site.outputs, "on-purpose", faulty)
    parts = {"_recorded": ".meter-line .verdict", "long": ".next"}
    parts |= {"no-memory": ".notice h2", "on-purpose": ".status .wrong-note"}
    for run, words in parts.items():
        go(page, "train", run=run, present=True)
        expect(page.locator(words).first).to_be_visible()
        look_at_every_screen(page)


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
def test_marks_stand_at_their_update_whatever_the_window_becomes(site, page, present):
    run = changed_run(site, f"changed-{present}".lower())
    page.set_viewport_size({"width": 1440, "height": 900})
    go(page, "train", run=run.id, present=present)
    expect(page.locator('[data-chart="score"] .edit-mark')).to_have_count(1)
    expect(page.locator('[data-chart="kl"] .flag.checkpoint')).to_have_count(1)
    for width, height in ((1024, 768), (1920, 1080), (1366, 640), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(f"() => ({IN_THEIR_PLACE})(30)")  # as soon as the picture has followed its place
    if present:
        expect(page.locator(".leash-now")).to_have_text(re.compile(r"0\.05 since update 30 \(before: 0\.25\)$"))
