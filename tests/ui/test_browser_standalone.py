"""Pages without a server, used in a browser: the page of recordings from a plain file server, a replay from disk."""

import functools
import http.server
import re
import shutil
import threading
from typing import ClassVar
from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.cli import standalone_commands
from playground.runs.folder.directory import RunDirectory
from playground.ui import routes
from playground.ui.feed.feed import RECORDED, Hub
from playground.ui.standalone import site
from tests.ui.conftest import of_module, open_section, present

RECORDINGS = ("kinder-reviews", "no-leash", "short-leash")
THREE = ["_recorded", "_recorded-no-leash", "_recorded-short-leash"]
HOSTILE = "</title><script>window.taken = true</script>"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and notes what it does not have."""

    missing: ClassVar[list[str]] = []

    def log_message(self, *_):
        """Nothing."""

    def send_error(self, code, *rest):
        self.missing.append(f"{code} {self.path}")
        super().send_error(code, *rest)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    for name in RECORDINGS:
        shutil.copytree(RECORDED / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory, recordings):
    root = tmp_path_factory.mktemp("served")
    found = site.write(root / "some" / "path", routes.routes, recordings, "https://example.org/playground")
    assert found.num_runs == 3
    assert found.num_bytes < 6_500_000
    return root


@pytest.fixture(scope="module")
def served(written):
    handler = functools.partial(Quiet, directory=str(written))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/path/"
        server.shutdown()


@pytest.fixture
def page(make_page, served):
    Quiet.missing.clear()
    page = make_page()
    yield page
    assert Quiet.missing == []


def chosen(page, part, words):
    """A part of the page, once it says these words."""
    found = page.locator(part, has_text=words)
    found.first.wait_for()
    return found.first


def scrub(page, at):
    page.locator(".scrub input").evaluate("(slider, at) => { slider.value = at; slider.oninput(); }", at)


def test_a_newcomer_begins_with_the_lessons_whose_runs_are_recordings(make_page, served):
    Quiet.missing.clear()
    page = make_page(newcomer=True)
    page.goto(served)
    page.get_by_role("link", name="Why there is a leash").click()
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="That is my prediction").click()
    for after in ("Next: With a leash", "Why is that?"):
        assert page.get_by_role("button", name="Start the run").count() == 0
        page.get_by_role("button", name="Play the recording").click()
        page.get_by_role("button", name=after).click()
    chosen(page, "[data-step=explain]", "nats")
    page.get_by_role("button", name="Open in Train").click()
    page.locator("#preset").wait_for()
    chosen(page, "#run-title", "Kinder reviews")
    assert Quiet.missing == []


def test_a_recording_is_played_scrubbed_and_read_from_files_alone(page, served):
    page.goto(served)
    chosen(page, "h1", "Kinder reviews")
    chosen(page, ".state", "update 40 of 40")
    assert "https://example.org/playground" in page.locator(".access-banner").inner_text()
    assert page.locator("#controls .taught").inner_text().startswith("Taught:")
    assert page.locator("#header nav a").all_inner_texts() == ["Lessons", "Train", "Compare", "Runs"]
    for name in ("Start training", "Pause", "Set up a run", "Sweep"):
        assert not page.get_by_role("button", name=name).filter(visible=True).count(), name
    scrub(page, 12)
    chosen(page, ".state", "update 12 of 40")
    open_section(page, "texts")
    chosen(page, "#section-texts .at", "after update 10")
    page.locator("#section-texts .tokens-button").nth(1).click()
    chosen(page, ".microscope", "tokens add up to a KL of")
    page.keyboard.press("Escape")
    open_section(page, "update")
    chosen(page, "#section-update", "Under each token")
    open_section(page, "frontier")
    chosen(page, "#section-frontier .frontier-table", "after update 10")
    assert "after update 15" not in page.locator("#section-frontier .frontier-table").inner_text()
    open_section(page, "export")
    with page.expect_download() as download:
        page.get_by_role("link", name="YAML").click()
    assert download.value.suggested_filename == "recorded.yaml"
    assert "format: 1" in download.value.path().read_text()
    page.get_by_label("Experiment").select_option("no-leash")
    chosen(page, "h1", "No leash")
    chosen(page, "#controls .taught", "Praise at any price")
    assert page.url.endswith("?preset=no-leash")


def test_a_presentation_shows_the_run_alone_from_the_top_of_the_screen(page, served):
    page.goto(served)
    chosen(page, "h1", "Kinder reviews")
    present(page)
    page.locator("#controls").wait_for(state="hidden")
    above = page.evaluate("getComputedStyle(document.getElementById('page-train')).paddingTop")
    assert above == "0px"  # which is room that the run is given


def test_it_plays_where_motion_is_welcome_and_stops_where_one_says(make_page, served):
    page = make_page(390, 800, reduced_motion="no-preference")
    page.goto(served)
    chosen(page, ".state", re.compile("update [1-9]"))
    page.get_by_role("button", name="Stop here").click()
    shown = page.locator(".state").inner_text()
    page.get_by_role("button", name="Play on").click()
    page.wait_for_function("shown => document.querySelector('.state').innerText !== shown", arg=shown)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_recordings_are_compared_and_laid_over_each_other_as_a_server_does_it(page, served, recordings, tmp_path):
    hub = Hub(tmp_path, recordings)
    client = TestClient(Starlette(routes=routes.routes(hub)))
    page.goto(f"{served}?tab=compare&run=_recorded&with=_recorded-no-leash")
    expected = client.get("/live/_recorded/compare?with=_recorded-no-leash").json()
    chosen(page, ".compare-view .outcome", expected["outcome"])
    assert page.locator(".compare-top input[type=range]").is_disabled()
    assert page.get_by_text("Two recordings are compared at their ends.").is_visible()
    page.get_by_label("Against").select_option("")
    page.locator(".compare-top input[type=range]:enabled").evaluate("(one) => { one.value = 2; one.oninput(); }")
    chosen(page, ".compare-view .outcome", client.get("/live/_recorded/compare?update=15").json()["outcome"])
    page.get_by_role("link", name="Runs").click()
    page.locator("table.runs tbody tr").nth(2).wait_for()
    assert page.locator("table.runs tbody tr").count() == 3
    page.get_by_role("button", name="More: Kinder reviews").click()
    page.get_by_role("menuitem", name="Texts, CSV").wait_for()
    assert not page.get_by_role("menuitem", name="Delete").is_visible()  # there is nobody to do it
    page.keyboard.press("Escape")
    for box in page.locator("table.runs .tick input").all()[:2]:
        box.check()
    page.get_by_role("button", name="Overlay curves of 2 runs").click()
    page.locator(".overlay .legend li").nth(1).wait_for()
    chosen(page, ".overlay-settings", "Leash (beta)")
    asked = f"live/_overlay?runs={','.join(THREE)}"
    (address,) = (script.get_attribute("src") for script in page.locator("script[type=module]").all())
    server = address.replace("standalone/site.js", "core/server.js")
    shown = of_module(page, urljoin(page.url, server), "(m, asked) => m.getJson(asked)", asked)
    assert shown == client.get(f"/{asked}").json()


def test_a_replay_opened_from_disk_plays_scrubs_and_opens_tokens_without_a_network(
    browser, make_page, tmp_path, capsys
):
    run = RunDirectory(shutil.copytree(RECORDED / "kinder-reviews", tmp_path / "mine"))
    run.write_label(HOSTILE, "")
    file = tmp_path / "run.html"
    standalone_commands.replay("mine", file, tmp_path)
    said = capsys.readouterr()
    assert said.out.strip() == str(file)
    assert "MB" in said.err
    assert file.stat().st_size < 3_000_000
    page = make_page(forgive=[f"request to {file.as_uri()}"])
    browser.set_offline(True)
    try:
        page.goto(file.as_uri())
        chosen(page, "h1", HOSTILE)
        chosen(page, ".charts-first", "Score")
        scrub(page, 20)
        chosen(page, ".state", "update 20 of 40")
        page.locator(".charts-first .stage canvas").first.wait_for(state="attached")
        page.locator(".texts-now .output").first.wait_for()
        open_section(page, "health")
        chosen(page, "#section-health", "Known at the end of the recording.")
        open_section(page, "texts")
        page.locator("#section-texts .tokens-button").nth(1).click()
        chosen(page, ".microscope", "tokens add up to a KL of")
        page.keyboard.press("Escape")
        open_section(page, "update")
        chosen(page, "#section-update", "Under each token")
        page.get_by_role("link", name="Compare").click()
        chosen(page, ".compare-view .outcome", "Score +")
        assert page.get_by_label("Run", exact=True).locator("option:checked").inner_text() == f"{HOSTILE}, recorded"
        assert page.evaluate("window.taken") is None
        assert page.title() == "RLHF Playground"
    finally:
        browser.set_offline(False)
