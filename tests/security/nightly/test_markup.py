"""Every page that shows text of models, data and users, with every payload."""

from playwright.sync_api import expect

from tests.security.payloads import PAYLOADS, SHORT
from tests.security.test_markup import assert_inert, hostile_site, page, shown, visit  # noqa: F401
from tests.ui.conftest import Site, browser, make_page, recorded  # noqa: F401

VISITS = {  # how many payloads each shows at least
    "?run=payloads-0": 40,
    "?run=payloads-1": 40,
    "?tab=compare&run=payloads-0": 20,
    "?tab=rewards&part=train": 12,
    "?tab=runs&overlay=payloads-0,payloads-1,payloads-2": 5,
    "?preset=run:payloads-0": 12,
    "?tab=compare&run=<img src=x onerror=window.hacked=1>": 1,
    "?run=${91*93-2}{{91*93-2}}": 2,
    "?preset=<script>window.hacked=1</script>": 1,
}


def test_payloads_are_inert_on_every_page(hostile_site, page, figure):  # noqa: F811
    literal: set[str] = set()
    for query, count in VISITS.items():
        visit(page, hostile_site, query, count)
        if query.startswith("?preset=run:"):
            page.locator(".all-settings-switch").click()
            page.get_by_role("button", name="Name, seed and text (YAML)").click()
            expect(page.locator("#field-name textarea, #field-name input").first).to_have_value(SHORT[0])
            page.get_by_role("button", name="Check it before you start").press("Enter")
            page.get_by_role("button", name="Read them: ").click()
            expect(page.locator(".tryout-part.prompts .seen").first).to_be_visible()
        literal |= shown(page)
        assert_inert(page)
    assert len({payload for payload in literal if payload.isprintable()}) >= 40, sorted(set(PAYLOADS) - literal)
    tried = len(PAYLOADS) * len(VISITS)
    figure("markup and template payloads shown as text in the browser (payloads x pages)", tried, tried)
