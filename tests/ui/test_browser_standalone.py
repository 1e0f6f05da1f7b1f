"""Pages without a server, used in a browser: the page of recordings from a plain file server, a replay from disk."""

import mimetypes
import shutil
from pathlib import Path

import pytest

from playground.cli import standalone_commands
from playground.lessons import mysteries
from playground.runs.folder.directory import RunDirectory
from playground.ui import routes
from playground.ui.feed.feed import RECORDED
from playground.ui.standalone import answers, site
from tests.hub_server import File, Refused, serving
from tests.ui.conftest import open_section

HOSTILE = "</title><script>window.taken = true</script>"
MISSING = []  # what the file server was asked for and does not have


def copied(folder, *presets):
    """A folder with the recordings of some presets."""
    for preset in presets:
        shutil.copytree(RECORDED / preset, folder / preset)
    return folder


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("recordings"), "kinder-reviews", "no-leash")


@pytest.fixture(scope="module")
def written(tmp_path_factory, recordings):
    """The page, without mystery runs and replays to save, which are most of it."""
    root = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mysteries, "recorded", list)
        patch.setattr(site, "FILES", answers.FILES)
        site.write(root / "some" / "path", routes.routes, recordings, "https://example.org/playground")
    return root


@pytest.fixture(scope="module")
def served(written):
    def file_of(asked):
        path = written / (asked.path if Path(asked.path).suffix else f"{asked.path}/index.html")
        if not path.is_file():
            MISSING.append(asked.path)
            raise Refused(404)
        return File(path.read_bytes(), {"Content-Type": mimetypes.guess_type(path)[0] or "application/octet-stream"})

    with serving(file_of) as address:
        yield f"{address}/some/path/"


@pytest.fixture
def page(make_page, served):
    MISSING.clear()
    yield make_page()
    assert MISSING == []


def chosen(page, part, words):
    """A part of the page, once it says these words."""
    said = page.locator(part, has_text=words).first
    said.wait_for()
    return said


def scrub(page, at):
    """Show another update of a recording."""
    page.locator(".scrub input").evaluate("(slider, at) => { slider.value = at; slider.oninput(); }", at)


def test_a_recording_is_played_scrubbed_and_read_from_files_alone(page, served):
    page.goto(served)
    chosen(page, "h1", "Kinder reviews")
    chosen(page, ".state", "update 40 of 40")
    assert "https://example.org/playground" in page.locator(".access-banner").inner_text()
    assert page.locator("#controls .taught").inner_text().startswith("Paid:")
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
    chosen(page, "#controls .taught", "Kind words at any price")
    assert page.url.endswith("?preset=no-leash")
    page.get_by_role("link", name="Lessons", exact=True).click()
    page.get_by_role("button", name="Ask it yourself").click()
    page.get_by_role("button", name="Write", exact=True).click()
    answers = page.locator(".doors-ask td.output, .doors-ask .output")
    answers.first.wait_for()
    assert all(len(answer.split()) > 3 for answer in answers.all_inner_texts())


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
