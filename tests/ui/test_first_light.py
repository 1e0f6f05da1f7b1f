"""The whole path with nothing made up: the served app, a browser, a real worker, answers of the shipped model."""

import re

import pytest

from playground.runs import history, model_service
from tests.ui.conftest import open_section, serving, visit
from tests.ui.test_browser import expect

TRAINING_MS = 180_000
ANSWER_MS = 1000 * (model_service.START_TIMEOUT_SECONDS + model_service.ANSWER_TIMEOUT_SECONDS) + 10_000
ENDED = re.compile("finished|failed|interrupted|stopped")
ANSWERED = "document.querySelector('#answers .problem') || document.querySelectorAll('#answers tbody tr').length >= 3"


@pytest.fixture(scope="module")
def site(tmp_path_factory, forker):
    with serving(tmp_path_factory.mktemp("outputs"), forker=forker, module="tests.ui.real_server") as served:
        yield served


def train_watch_compare_and_ask(page, outputs, num_prompts):
    """From the form, which has one update, to the answers of both models."""
    expect(page.locator("#start")).to_have_text("Start training")
    page.locator("#start").click()
    state = page.locator(".status .state strong")
    expect(state).to_have_text(ENDED, timeout=TRAINING_MS)
    assert state.inner_text() == "finished", page.locator(".status").inner_text()
    expect(page.locator(".texts-now tbody tr")).to_have_count(3)
    expect(open_section(page, "texts").locator(".changed .at")).to_have_text(re.compile("after update 1"))
    run = history.list_runs(outputs)[0]
    assert (run.status.state, run.status.update) == ("finished", 1)
    page.locator(".status").get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#compare .outcome")).to_contain_text(f"on {num_prompts} prompts")
    page.locator("#ask-prompt textarea").fill("Review of the film: The plot was")
    page.get_by_role("button", name="Ask both").click()
    page.wait_for_function(ANSWERED, timeout=ANSWER_MS)
    assert page.locator("#answers tbody tr").count() == 3, page.locator("#answers .answers-line").inner_text()
    expect(page.locator("#answers tbody tr").first).to_contain_text("\u2192")  # score of both sides


def test_a_real_run_is_started_watched_compared_and_asked_on_the_page(site, make_page):
    small = "ppo.num_updates:1,ppo.num_epochs:1,ppo.batch_size:16,sampling.max_new_tokens:12,prompts.limit:64"
    page = visit(make_page(), site, f"?preset=kinder-reviews&set={small},evaluation.num_prompts:4,score.normalise:none")
    train_watch_compare_and_ask(page, site.outputs, num_prompts=4)
