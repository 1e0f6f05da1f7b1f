"""A run that is wrong on purpose says so wherever a person could take its figures for real ones."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui import fake_run

WORDS = "! Wrong on purpose: Ratios are not clipped, with 16 epochs to a batch and ten times the learning rate."


@pytest.fixture
def wrong(site):
    config = catalog.preset("kinder-reviews").model_copy(update={"experiments": True, "faults": ("no-clip",)})
    run = fake_run.write_run(site.outputs, "planted", config)
    yield run.id
    shutil.rmtree(run.path)


def test_it_is_marked_in_the_run_above_its_curves_in_compare_and_in_the_list(site, wrong, make_page):
    page = make_page()
    page.goto(f"{site.url}?run={wrong}")
    expect(page.locator(".status .wrong-note")).to_have_text(WORDS)
    expect(page.locator(".charts .wrong-note")).to_have_text(WORDS)
    report = page.get_by_role("link", name="Report, HTML")
    expect(report).to_have_attribute("href", f"{site.url}live/{wrong}/export/html")
    page.goto(f"{site.url}?tab=compare&run={wrong}")
    expect(page.locator(".compare-top .wrong-note")).to_have_text(WORDS)
    page.goto(f"{site.url}?tab=runs&overlay={wrong}")
    expect(page.locator("table.runs .wrong-note")).to_have_text(WORDS)
    expect(page.locator("li .wrong-note")).to_have_text(WORDS)
