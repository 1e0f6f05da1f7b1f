"""The whole path with nothing faked: the served app, a browser, the real worker and service on the shipped model."""

import re

import pytest

from playground.runs import history
from tests.ui.conftest import Site, visit
from tests.ui.test_browser import expect, fill

TRAINING_MS = 180_000


class RealSite(Site):
    """`app.py` itself."""

    def command(self) -> list[str]:
        return ["app.py"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    served = RealSite(tmp_path_factory.mktemp("outputs"), tmp_path_factory.mktemp("unused"))
    served.start()
    yield served
    served.stop()


def test_train_watch_compare_and_ask(site, make_page):
    page = visit(make_page(), site)
    expect(page.locator(".badge", has_text="recorded")).to_be_visible()
    fill(page, "ppo.num_updates", "2")
    expect(page.locator("#start")).to_have_text("Start training")
    page.locator("#start").click()
    page.wait_for_function(
        "() => Number(document.querySelector('.state .where')?.textContent.match(/update (\\d+) of 2/)?.[1] ?? 0) >= 1",
        timeout=TRAINING_MS,
    )
    expect(page.locator(".state strong")).to_have_text("finished", timeout=TRAINING_MS)
    expect(page.locator(".changed .at")).to_have_text(re.compile("after update 2"))
    run = history.list_runs(site.outputs)[0]
    assert (run.status.state, run.status.update) == ("finished", 2)
    page.get_by_role("button", name="Compare before and after").click()
    expect(page.locator("#compare .outcome")).to_contain_text("on 64 prompts")
    page.locator("#ask-prompt textarea").fill("Review of the film: The plot was")
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator("#answers tbody tr")).to_have_count(3, timeout=TRAINING_MS)
    expect(page.locator("#answers tbody tr").first).to_contain_text("\u2192")  # score of both sides
