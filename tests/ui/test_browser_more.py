"""More curves: the machinery of an update, folded away, and four estimates of one KL."""

from __future__ import annotations

import re
import shutil

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import WAIT_MS


@pytest.fixture
def run(site):
    made = fake_run.write_run(site.outputs, "more", catalog.preset("kinder-reviews"))
    yield made.id
    shutil.rmtree(made.path)


def test_more_curves_unfold_and_tell_the_losses_and_each_estimate_of_the_kl(site, run, make_page):
    page = make_page()
    page.goto(f"{site.url}?run={run}")
    expect(page.locator("[data-chart=score] canvas").first).to_be_visible(timeout=WAIT_MS)
    loss = page.locator("[data-chart=policy_loss]")
    expect(loss).to_be_hidden()
    page.get_by_text("More curves", exact=True).click()
    expect(loss.locator("canvas").first).to_be_visible()
    expect(loss.locator(".chart-value")).to_have_text("\u22120.02")
    expect(page.locator(".charts-folded .chart:visible")).to_have_count(5)
    rows = page.locator(".kl-strip li")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("spread 2")
    told = rows.first.locator(".told").inner_text()
    expect(rows.first.locator("svg")).to_have_attribute("aria-label", f"k1: {told}")
    expect(rows.last).to_contain_text("exact")


def test_beside_the_memory_by_role_stands_what_seven_billion_weights_would_need(site, make_page):
    page = make_page()
    page.goto(site.url)
    page.locator("details.needs summary").click(timeout=WAIT_MS)
    sizes = page.locator("details.needs .needs-size.larger")
    expect(sizes.first).to_have_text(re.compile(r"^\d{2,3} GB$"))  # all weights are trained, in fp32
    expect(page.locator("details.needs")).to_contain_text("with a model of 6.74 billion weights")
