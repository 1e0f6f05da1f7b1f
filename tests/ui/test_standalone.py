"""Pages without a server: everything that their scripts can ask was answered when they were made."""

import re
import shutil

import pytest

from playground.errors import PlaygroundError
from playground.runs.folder.directory import RunDirectory
from playground.ui import routes
from playground.ui.feed.feed import RECORDED
from playground.ui.standalone import answers, parts, replay, site

RUN = "_recorded"
# What the scripts can ask of a server, but not of a recording
NEVER_ASKED = {
    "resume": "a recording has ended well",
    "log": "the same",
    "what-if": "it takes the model service, and is not shown without the right to ask it",
    "moment": "a recording brings all of its evaluations",
}


@pytest.fixture(scope="module")
def packs():
    return answers.of_runs({RUN: RECORDED / "kinder-reviews"}, routes.routes)


def test_whatever_the_scripts_can_ask_about_a_run_is_answered(packs):
    known = {pack.split("/")[2] for pack in packs if pack.count("/") == 2}
    sources = "".join(parts.scripts(site.ENTRY).values())
    asked = set(re.findall(r'runPath\([\w.]+, (?:`|")([a-z-]+)', sources)) - {"lesson", "mystery"}  # of a site only
    assert {"poll", "compare", "tokens", "rollout", "frontier", "outcome"} <= asked
    assert asked - known - {"export"} <= NEVER_ASKED.keys() | {"trace"}
    assert {"trace", "export", "overlay", "metrics.csv", "samples.csv"} <= known
    general = set(re.findall(r"live/(_[a-z]+)", sources)) - {
        "_recorded",
        "_lessons",
        "_leash",
        "_chalkboard",
        "_mysteries",
    }
    assert general == {"_access", "_home", "_runs", "_page", "_overlay", "_sweeps"}, "of sweeps there are none"
    shown = packs[f"live/{RUN}/poll"][""]["snapshot"]
    pack = {kind: packs[f"live/{RUN}/{kind}"] for kind in known}
    assert {str(update) for update in shown["metrics"]["update"]} == pack["rollout"].keys()
    assert [moment["update"] for moment in shown["moments"]] == shown["updates"] == [0, *pack["compare"][""]["moments"]]
    assert pack["compare"].keys() == {"", *(f"?update={update}" for update in shown["updates"][1:])}
    assert pack["trace"].keys() == {str(one["update"]) for one in shown["events"] if one["kind"] == "trace"} != set()
    rows = pack["compare"][""]["rows"]
    assert {f"{row['id']}?seed={row['seed']}" for row in rows} < pack["tokens"].keys()
    assert {str(prompt["id"]) for prompt in shown["prompts"]} < pack["tokens"].keys()
    failed = [(kind, key) for kind, found in pack.items() for key, one in found.items() if "error" in one]
    assert failed == []


def test_the_answers_tell_nothing_of_the_machine_and_allow_nothing_but_watching(packs):
    home, access = packs["live/_home"][""], packs["live/_access"][""]
    assert home["machine"] == "recordings"
    assert home["training"] == []
    assert home["living"] is None
    assert {action for action, may in access["may"].items() if may != "no"} == {"watch", "export"}
    assert access["share"] == []
    assert access["caps"] == []


def test_a_replay_that_would_be_too_large_goes_without_its_largest_parts_and_says_which(packs):
    whole = replay.in_one_file(packs, RUN, "Kinder reviews")
    assert whole.left_out == []
    assert len(whole.html.encode()) < replay.MOST_BYTES / 2
    most = len(whole.html.encode()) - 250_000
    less = replay.in_one_file(packs, RUN, "Kinder reviews", most)
    assert less.left_out[0] == "answers token by token"
    assert len(less.html.encode()) <= most
    with pytest.raises(PlaygroundError, match="larger than"):
        replay.in_one_file(packs, RUN, "Kinder reviews", 500_000)
    every = {replay.PARTS[kind] for kind in replay.PARTS}
    least = len(replay.in_one_file({"live/_home": {}, f"live/{RUN}/poll": {"": {}}}, RUN, "").html)
    assert set(replay.in_one_file(packs, RUN, "", least + 75_000).left_out) == every


def test_names_and_texts_stay_texts_in_the_file(packs):
    hostile = "</script></title><script>$answers</script>"
    found = replay.in_one_file(packs, RUN, hostile).html
    assert hostile not in found
    assert found.count("</script>") == 4
    assert "&lt;/script&gt;&lt;/title&gt;" in found
    again = replay.in_one_file(packs, RUN, hostile).html
    nonce = re.search(r"'nonce-([^']+)'", found)[1]
    assert len(nonce) > 20 and nonce not in again, "a nonce that could be guessed would be none"


def test_a_run_without_anything_yet_is_a_page_too(tmp_path):
    run = RunDirectory(shutil.copytree(RECORDED / "kinder-reviews", tmp_path / "mine"))
    for name in ("metrics", "samples", "events", "rollouts", "tokens"):
        (run.path / f"{name}.jsonl.gz").unlink()
    made = replay.page(run, routes.routes)
    assert made.left_out == []
    assert "Kinder reviews, replay" in made.html


def test_a_folder_with_something_else_in_it_is_not_written_into(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PlaygroundError, match="not empty"):
        site.write(tmp_path, routes.routes)
    with pytest.raises(PlaygroundError, match="no recordings"):
        site.write(tmp_path / "new", routes.routes, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
