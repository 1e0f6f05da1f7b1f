"""One bad file or record costs its own run at most: every list, page and command goes on to show the others.

All damages lie in one outputs folder, each in a run of its own, beside one that is whole.
"""

import contextlib
import json
import os
from functools import partial

import httpx
import pytest
from starlette.applications import Starlette

from playground import cli
from playground.analysis.compute import MODEL
from playground.cli import health
from playground.errors import InvalidConfig
from playground.runs import history
from playground.runs.folder import changes, checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation
from playground.runs.folder.writer import RunWriter
from playground.runs.supervisor import Supervisor
from playground.training.loop.scoring import Scorer
from playground.training.process import resuming
from playground.ui.feed import compare_serializer
from playground.ui.feed.feed import Hub
from playground.ui.routes import routes
from tests.support import config_with, data_beside, run_async, small_config
from tests.ui import fake_run

OF_ALL = ("_home", "_runs", "_rewards", "good/poll")
OF_A_RUN = "poll moment/0 compare metrics.csv samples.csv outcome log resume export/yaml export/trl".split()
# In tests/faults/damages.json "<1e999>" stands for what Python would not write, and these words for longer ones.
WORDS = {"HUGE": "9" * 400, "SURROGATE": r"\ud800", "LONG": "a" * 1000, "SEXAGESIMAL": "1:" * 400, "DEEP": "[" * 50_000}
DATA = data_beside(__file__, "damages.json")


def raw(text):
    """Text with what its words stand for."""
    for word, meaning in WORDS.items():
        text = text.replace(word, meaning)
    return text.replace('"<', "").replace('>"', "")


def record(name, changes, run):
    """The first record of a kind once more for each of these changes."""
    path = run / f"{name}.jsonl"
    first = json.loads(path.read_text().splitlines()[0])
    with open(path, "a") as file:
        file.writelines(raw(json.dumps({**first, **changed})) + "\n" for changed in changes)


def status(changes, run):
    """Other values in status.json."""
    before = json.loads((run / "status.json").read_text())
    (run / "status.json").write_text(raw(json.dumps({**before, **changes})))


def content(name, data, run):
    """A file with other content; None: a pipe in its place."""
    path = run / name.format(run=run.name)
    path.unlink(missing_ok=True)
    if data is None:
        os.mkfifo(path)
    else:
        path.write_bytes(raw(data).encode("latin-1"))


def damages():
    """What is done to a run's folder, by its name."""
    numbers, texts = DATA["numbers"], DATA["contents"].items()
    for word, odd in DATA["not numbers"].items():
        for name in ("metrics", "samples"):
            yield f"{name}: {word}", partial(record, name, [{field: odd} for field in numbers[name]])
        yield f"status: {word}", partial(status, dict.fromkeys(numbers["status"], odd))
    for what, (name, *lines) in DATA["records"].items():
        yield what, partial(record, name, lines)
    for what, fields in DATA["status"].items():
        yield what, partial(status, fields)
    for text in (*DATA["config.yaml"], "\xff\xfe\x00"):
        yield f"config: {text[:20]!r}", partial(content, "config.yaml", text)
    for name in DATA["files"]:
        yield f"pipe: {name}", partial(content, name, None)
    for name in DATA["small files"]:
        yield from ((f"{name}: {word}", partial(content, name, text)) for word, text in texts)


DAMAGES = dict(damages())


def sound(outputs):
    """The files of a run that has ended early, by name."""
    evaluation = {"every": 2, "num_prompts": 4, "rollout_texts": 2}
    small = {"ppo__num_updates": 6, "checkpoint__every": 2, "evaluation": evaluation}
    config = config_with({}, {"name": "run", "rewards": [{"kind": "sentiment"}], **small})
    run = fake_run.write_ended(outputs, "run", "killed", "interrupted", at=4, config=config)
    writer = RunWriter(run, 6)
    writer.evaluation(Evaluation(update=4, stage="during", perplexity_text=7.0, text_documents=2, text_tokens=20))
    writer.event(MODEL, "The model.", parameters=1000, trained_parameters=1000, matrix_parameters=900, prompt_tokens=5)
    fake_run.write_status(run, run.status_on_disk().model_copy(update={"state": "interrupted", "reason": "killed"}))
    return {str(path.relative_to(run.path)): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def write(files, run):
    (run / "control").mkdir(parents=True)
    for name, data in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(data)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A run for each damage, and a good one, after the supervisor has looked at them."""
    folder, files = tmp_path_factory.mktemp("outputs"), sound(tmp_path_factory.mktemp("sound"))
    (folder / ".queue").mkdir()
    write(files, folder / "good")
    for number, damage in enumerate(DAMAGES.values()):
        write(files, folder / f"bad-{number}")
        damage(folder / f"bad-{number}")
    Supervisor(folder).look()
    return folder


async def ask(page, address):
    """What it answers; never a failure, and strict JSON where it is any."""
    answer = await page.get(f"/live/{address}")
    assert answer.status_code in (200, 404, 409), (address, answer.status_code, answer.text[:500])
    if answer.status_code == 200 and "json" in answer.headers["content-type"]:
        return json.loads(answer.text, parse_constant=pytest.fail)
    return None


async def ask_for_all(page):
    names, at_once = [f"bad-{number}" for number in range(len(DAMAGES))], compare_serializer.MAX_RUNS - 1
    for name, damage in zip(names, DAMAGES, strict=True):
        try:
            for address in OF_A_RUN:
                await ask(page, f"{name}/{address}")
        except Exception as error:
            raise AssertionError(f"{damage}: {error}") from error
    for first in range(0, len(names), at_once):
        await ask(page, f"_overlay?runs={','.join(names[first : first + at_once])},good")
    for address in OF_ALL:
        assert await ask(page, address), address
    assert "good" in {run["id"] for run in (await ask(page, "_runs"))["runs"]}
    return len(names)


def test_the_page_shows_the_others_and_answers_for_each_damaged_run(outputs, figure):
    page = httpx.AsyncClient(
        transport=httpx.ASGITransport(Starlette(routes=routes(Hub(outputs)))), base_url="http://page"
    )
    survived = run_async(ask_for_all(page))
    figure("damaged files and records of a run: the other runs are listed and shown", len(DAMAGES), survived)


def test_the_commands_list_and_examine_damaged_runs(outputs, capsys, monkeypatch):
    monkeypatch.setattr(health, "_devices", list)  # a process that asks PyTorch for them
    some = range(0, len(DAMAGES), 9)  # the page was asked for all
    shows = [["show", f"bad-{number}", *["--json"][number % 2 :]] for number in some]
    for command in (["runs"], ["runs", "--json"], ["doctor"], *shows):
        with pytest.raises(SystemExit) as left:
            cli.main([*command, "--outputs", str(outputs)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out, command
        assert left.value.code in (0, 1, 2), command
        assert command[0] != "runs" or (left.value.code == 0 and "good" in said.out)
    assert [run.id for run in history.list_runs(outputs)].count("good") == 1


def test_what_a_worker_reads_that_takes_up_a_damaged_run_is_read(outputs):
    for number in range(len(DAMAGES)):
        run = RunDirectory(outputs / f"bad-{number}")
        with contextlib.suppress(InvalidConfig):  # such a run is not resumed
            checkpoints.search(run)
        changes.replay(run.all_events(), run.status().update)
        changes.take(run)
        resuming._scale_from_events(run.all_events(), Scorer(small_config()))
