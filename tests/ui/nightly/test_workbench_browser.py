"""More of rewards in a browser: what is wrong with one, and the charts of rewards and judges."""

import re

from playwright.sync_api import expect

from playground.config import yaml_io
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import open_section, open_settings, visit
from tests.ui.test_workbench_browser import choose


def test_a_run_with_several_rewards_and_judges_shows_who_brings_the_gain_and_who_turns_down(site, make_page):
    base = catalog.preset("no-leash").model_dump(mode="json")
    rewards = [{"kind": "sentiment"}, {"kind": "length"}]
    fake_run.write_run(site.outputs, "judged", yaml_io.from_dict({**base, "rewards": rewards}))
    page = visit(make_page(height=1000), site, "?run=judged")
    farmed, judged = (page.locator(f'[data-chart="{key}"]') for key in ("farmed", "judged"))
    open_section(page, "curves")
    farmed.scroll_into_view_if_needed()  # what is out of sight is not drawn
    expect(farmed.locator(".chart-words")).to_have_text(
        "In the newest training batches 80 % of the gain comes from Sentiment, 20 % from Length."
    )
    expect(farmed.locator(".line-name")).to_have_count(2)
    judged.scroll_into_view_if_needed()
    expect(judged.locator(".line-name")).to_have_text(
        [re.compile("Trained"), re.compile("Grammar"), re.compile("Senti")]
    )
    expect(judged.locator(".chart-words .turned").first).to_contain_text("Grammar turned down after update 20")
    expect(judged.locator(".turn-mark")).to_have_count(2)
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".term-table tbody tr")).to_have_count(3)
    expect(page.locator(".term-table")).to_contain_text("monitor")


def test_the_form_says_what_is_wrong_beside_a_reward_of_ones_own_and_lets_one_try_it_before_a_start(site, make_page):
    page = visit(make_page(), site)
    open_settings(page)
    row = choose(page, "#field-rewards", 0, "expression")
    row.locator("textarea.written").fill("words(completion")
    expect(row.locator(".field-problem")).to_contain_text("A bracket is missing")
    expect(row.locator("textarea.written")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#start")).to_have_text("Fix 1 setting to start")
    row.locator("textarea.written").fill("words(completion)")
    expect(page.locator("#start")).to_have_text("Start training")
    row = choose(page, "#field-rewards", 0, "python")
    expect(row.locator(".warning")).to_contain_text("Runs your code on this machine")
    # written wide, and tried on texts before a start
    row.locator("textarea.written").fill("def reward(prompt, completion):\n    n = 0\n    return 1 / n")
    row.get_by_role("button", name="Try it on 8 real texts").click()
    editor = page.locator("dialog.editor")
    expect(editor.get_by_role("status").last).to_contain_text("ZeroDivisionError: division by zero, in line 3")
    box = editor.locator("textarea")
    expect(box).to_be_focused()
    assert box.bounding_box()["width"] > 900
    box.fill("def reward(prompt, completion):\n    return len(completion)")
    editor.get_by_role("button", name="Try it on 8 real texts").click()
    expect(editor.locator(".tried tbody tr")).to_have_count(8)
    editor.get_by_role("button", name="Back to the form").click()
    expect(row.locator("textarea.written")).to_have_value(re.compile("return len"))
    expect(row.get_by_role("button", name="Try it on 8 real texts")).to_be_focused()
    expect(page.locator("#start")).to_have_text("Start training")
