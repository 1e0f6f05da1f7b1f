"""Pages without a server: everything that their scripts can ask was answered when they were made."""

import re
import shutil

import pytest

from playground.errors import PlaygroundError
from playground.lessons import mysteries
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
LEAST = {"live/_home": {}, f"live/{RUN}/poll": {"": {}}}
OF_LESSONS = {"_lessons", "_leash", "_chalkboard", "_mysteries"}


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
    general = set(re.findall(r"live/(_[a-z]+)", sources)) - {RUN} - OF_LESSONS
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
    least = len(replay.in_one_file(LEAST, RUN, "").html)
    assert set(replay.in_one_file(packs, RUN, "", least + 75_000).left_out) == set(replay.PARTS.values())


def test_names_and_texts_stay_texts_in_the_file():
    hostile = "</script></title><script>$answers</script>"
    first, second = (replay.in_one_file({**LEAST, "live/_home": {"": hostile}}, RUN, hostile).html for _ in range(2))
    assert hostile not in first
    assert first.count("</script>") == 4
    assert "&lt;/script&gt;&lt;/title&gt;" in first
    nonce = re.search(r"'nonce-([^']+)'", first)[1]
    assert len(nonce) > 20
    assert nonce not in second, "a nonce that could be guessed would be none"


def test_a_run_without_anything_yet_is_a_page_too(tmp_path):
    run = RunDirectory(shutil.copytree(RECORDED / "kinder-reviews", tmp_path / "mine"))
    for name in ("metrics", "samples", "events", "rollouts", "tokens"):
        (run.path / f"{name}.jsonl.gz").unlink()
    empty = replay.page(run, routes.routes)
    assert empty.left_out == []
    assert "Kinder reviews, replay" in empty.html


def test_a_folder_with_something_else_in_it_is_not_written_into(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PlaygroundError, match="not empty"):
        site.write(tmp_path, routes.routes)
    with pytest.raises(PlaygroundError, match="no recordings"):
        site.write(tmp_path / "new", routes.routes, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
