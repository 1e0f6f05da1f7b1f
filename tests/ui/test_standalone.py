"""Pages without a server: everything that their scripts can ask was answered when they were made. In a browser: the
page of recordings from a plain file server, a replay from disk."""

import mimetypes
import re
import shutil
from pathlib import Path

import pytest

from playground.cli import standalone_commands
from playground.errors import PlaygroundError
from playground.lessons import mysteries
from playground.runs.folder.directory import RunDirectory
from playground.ui import routes
from playground.ui.feed.feed import RECORDED
from playground.ui.standalone import answers, parts, replay, site
from tests.hub_server import File, Refused, serving
from tests.ui.conftest import open_section

RUN = "_recorded"
# What the scripts can ask of a server, but not of a recording
NEVER_ASKED = {
    "resume": "a recording has ended well",
    "log": "the same",
    "what-if": "it takes the model service, and is not shown without the right to ask it",
    "moment": "a recording brings all of its evaluations",
}
LEAST = {"live/_home": {}, f"live/{RUN}/poll": {"": {}}}


@pytest.fixture(scope="module")
def packs():
    return answers.of_runs({RUN: RECORDED / "kinder-reviews"}, routes.routes)


def test_whatever_the_scripts_can_ask_about_a_run_is_answered(packs):
    kinds = {pack.split("/")[2] for pack in packs if pack.count("/") == 2}
    sources = "".join(parts.scripts(site.ENTRY).values())
    asked = set(re.findall(r'runPath\([\w.]+, (?:`|")([a-z-]+)', sources)) - {"lesson", "mystery"}  # of a site only
    assert {"poll", "compare", "tokens", "rollout", "frontier", "outcome"} <= asked
    assert asked - kinds - {"export"} <= NEVER_ASKED.keys() | {"trace"}
    assert {"trace", "export", "overlay", "metrics.csv", "samples.csv"} <= kinds
    general = set(re.findall(r"live/(_[a-z]+)", sources)) - {RUN, "_lessons", "_leash", "_chalkboard", "_mysteries"}
    assert general == {"_access", "_home", "_runs", "_page", "_overlay", "_sweeps"}, "of sweeps there are none"
    shown = packs[f"live/{RUN}/poll"][""]["snapshot"]
    pack = {kind: packs[f"live/{RUN}/{kind}"] for kind in kinds}
    assert {str(update) for update in shown["metrics"]["update"]} == pack["rollout"].keys()
    assert [moment["update"] for moment in shown["moments"]] == shown["updates"] == [0, *pack["compare"][""]["moments"]]
    assert pack["compare"].keys() == {"", *(f"?update={update}" for update in shown["updates"][1:])}
    traced = {str(event["update"]) for event in shown["events"] if event["kind"] == "trace"}
    assert pack["trace"].keys() == traced != set()
    rows = pack["compare"][""]["rows"]
    assert {f"{row['id']}?seed={row['seed']}" for row in rows} < pack["tokens"].keys()
    assert {str(prompt["id"]) for prompt in shown["prompts"]} < pack["tokens"].keys()
    failed = [(kind, key) for kind, keys in pack.items() for key, answer in keys.items() if "error" in answer]
    assert failed == []


def test_the_answers_tell_nothing_of_the_machine_and_allow_nothing_but_watching(packs):
    home, access = packs["live/_home"][""], packs["live/_access"][""]
    assert (home["machine"], home["training"], home["living"]) == ("recordings", [], None)
    assert {action for action, may in access["may"].items() if may != "no"} == {"watch", "export"}
    assert access["share"] == access["caps"] == []
    assert "live/_lessons" not in packs


def test_lessons_and_mysteries_are_answered_too_each_answer_in_a_pack_of_its_own():
    cases = {"_recorded-mystery-01": mysteries.recorded()[0]}
    packs = answers.of_runs({}, routes.routes, files=(), lessons=True, mysteries=cases)
    assert packs["live/_lessons"][""]["courses"]
    assert packs["live/_mysteries"][""]["runs"] == list(cases)
    answered = [pack for pack, keys in packs.items() if "wrong" in str(keys) and "right" in keys.get("", {})]
    assert answered == ["live/_recorded-mystery-01/mystery"]


def test_a_replay_that_would_be_too_large_goes_without_its_largest_parts_and_says_which(packs, monkeypatch):
    whole = replay.in_one_file(packs, RUN, "Kinder reviews")
    assert whole.left_out == []
    assert len(whole.html.encode()) < replay.MOST_BYTES / 2
    most = len(whole.html.encode()) - 250_000
    monkeypatch.setattr(replay, "MOST_BYTES", most)
    less = replay.in_one_file(packs, RUN, "Kinder reviews")
    assert less.left_out[0] == "answers token by token"
    assert len(less.html.encode()) <= most
    least = len(replay.in_one_file(LEAST, RUN, "").html)
    monkeypatch.setattr(replay, "MOST_BYTES", 250_000)
    with pytest.raises(PlaygroundError, match="larger than"):
        replay.in_one_file(packs, RUN, "Kinder reviews")
    monkeypatch.setattr(replay, "MOST_BYTES", least + 75_000)
    assert set(replay.in_one_file(packs, RUN, "").left_out) == set(replay.PARTS.values())


def test_names_and_texts_stay_texts_in_the_file():
    hostile = "</script></title><script>$answers</script>"
    first, second = (replay.in_one_file({**LEAST, "live/_home": {"": hostile}}, RUN, hostile).html for _ in range(2))
    assert hostile not in first
    assert first.count("</script>") == 3
    assert "&lt;/script&gt;&lt;/title&gt;" in first
    nonce = re.search(r"'nonce-([^']+)'", first)[1]
    assert len(nonce) > 20
    assert nonce not in second, "a nonce that could be guessed would be none"


def test_a_folder_with_something_else_in_it_is_not_written_into(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PlaygroundError, match="not empty"):
        site.write(tmp_path, routes.routes)
    with pytest.raises(PlaygroundError, match="no recordings"):
        site.write(tmp_path / "new", routes.routes, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


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
    page.get_by_role("button", name="Let it write").click()
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
        page.locator(".charts-first .stage .curves path").first.wait_for(state="attached")
        page.locator(".texts-now .output").first.wait_for()
        open_section(page, "health")
        chosen(page, "#section-health", "Known at the end of the recording.")
        open_section(page, "texts")
        page.locator("#section-texts .tokens-button").nth(1).click()
        chosen(page, ".microscope", "tokens add up to a KL of")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Compare").click()
        chosen(page, ".compare-view .outcome", "Score +")
        assert page.get_by_label("Run", exact=True).locator("option:checked").inner_text() == f"{HOSTILE}, recorded"
        assert page.evaluate("window.taken") is None
        assert page.title() == "RLHF Playground"
    finally:
        browser.set_offline(False)
