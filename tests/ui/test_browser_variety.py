"""Compare, where each fixed prompt was answered several times: how many of the answers differ."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import expect

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.support import sample, small_config, update_metrics
from tests.ui.conftest import WAIT_MS


@pytest.fixture
def run(site):
    made = RunDirectory.create(site.outputs, small_config(), "varied")
    writer = RunWriter(made, 3)
    answers = {"before": ["one two", "one three", "four five"], "after": ["one two", "one two", "one three"]}
    for stage, texts in answers.items():
        writer.samples([sample(0, stage, 0.0, seed=seed, completion=text) for seed, text in enumerate(texts)])
    writer.metrics(update_metrics(3))
    writer.finish("finished")
    yield made.id
    shutil.rmtree(made.path)


def test_each_row_and_the_summary_tell_how_many_answers_to_a_prompt_differ(site, run, make_page):
    page = make_page()
    page.goto(f"{site.url}?tab=compare&run={run}")
    cells = page.locator("table.compare td.variety")
    expect(cells).to_have_count(3, timeout=WAIT_MS)
    expect(cells.first).to_contain_text("3 \u2192 2 of 3")
    expect(cells.first).to_contain_text("distinct-2 1 \u2192 0.67")
    expect(page.locator("table.compare th.variety")).to_contain_text("Different")
    expect(page.locator(".compare-top .summary")).to_contain_text("different answers to a prompt 3 \u2192 2 of 3")
