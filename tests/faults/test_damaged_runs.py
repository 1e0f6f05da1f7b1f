"""One bad file or record costs its own run at most. Records cut at a byte of their last two lines, or with garbage in
them: no reader raises, and the next attempt repairs what it appends to. All other damages lie in one outputs folder,
each in a run of its own, beside one that is whole: every list, page and command goes on to show the others."""

import contextlib
import errno
import json
import os
from functools import partial

import httpx
import pytest
from starlette.applications import Starlette

from playground import cli
from playground.analysis.compute import MODEL
from playground.analysis.run_report import RunReport
from playground.cli import health
from playground.errors import InvalidConfig
from playground.exports import csv_tables
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
from playground.ui.feed.run_feed import RunFeed
from playground.ui.routes import routes
from playground.ui.runs import history_data
from tests.faults.resuming import strict_lines
from tests.nights import cases
from tests.support import config_with, data_beside, run_async, sample, small_config, update_metrics
from tests.ui import fake_run

READERS = {"metrics": RunDirectory.metrics, "samples": RunDirectory.samples, "events": RunDirectory.all_events}
GARBAGE = {
    "a line of NULs": b"\0" * 100,
    "a garbage line": b"\xff\xfe{]garbage",
    "a record of nothing": b'{"update": "many", "seq": {}, "kind": 3}',
    "a very deep line": b"[" * 100_000,
    "half a character": b"\xc3",
}


@pytest.fixture
def run(tmp_path):
    run = RunDirectory.create(tmp_path / "outputs", small_config(), "run")
    writer = RunWriter(run, 3)
    writer.samples([sample(0, "before", 0.0), sample(1, "before", 0.5, completion=" d\u00e9j\u00e0 vu \u2028 ")])
    writer.set_status(state="running")
    for update in (1, 2):
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        writer.event("warning", f"Caf\u00e9 {update}.", evidence=update)
    writer.finish("failed", "bug", "It broke.")
    return run


def all_readers(run):
    """The page's feed, the list of runs, the report, the tables."""
    feed = RunFeed(run)
    feed.poll()
    json.dumps(feed.snapshot(), allow_nan=False)
    assert len(history_data.history_data(run.path.parent)["runs"]) == 1
    report = RunReport.of(run)
    report.summary()
    csv_tables.metrics_csv(report)
    csv_tables.samples_csv(report)


def repaired(run):
    """A later attempt appends to all files: what it writes is read, and no line is glued to another."""
    writer = RunWriter(run, 3, attempt=2)
    writer.samples([sample(0, "during", 1.0, update=3)])
    writer.metrics(update_metrics(3))
    writer.event("warning", "New.")
    last = run.metrics()[-1], run.samples()[-1], run.all_events()[-1]
    for kind in READERS:
        strict_lines(run.path / f"{kind}.jsonl")
    return [item.attempt for item in last] == [2, 2, 2] and last[0].update == 3 and last[2].message == "New."


@pytest.mark.parametrize("name", READERS)
def test_records_cut_at_any_byte_of_their_last_two_lines_are_read_and_repaired(run, name, figure):
    path, read = run.path / f"{name}.jsonl", READERS[name]
    before = {kind: (run.path / f"{kind}.jsonl").read_bytes() for kind in READERS}
    data, records = before[name], read(run)
    lines = data.splitlines(keepends=True)
    assert len(lines) == len(records) >= 2
    start, border = len(data) - len(lines[-1]) - len(lines[-2]), len(data) - len(lines[-1])
    survived, cuts = 0, sorted({*range(start, len(data) + 1, 3), *range(border - 2, border + 2), len(data) - 1})
    for number, cut in enumerate(cuts):
        for kind, content in before.items():
            (run.path / f"{kind}.jsonl").write_bytes(content)
        path.write_bytes(data[:cut])
        at_a_border = b"\n" in data[cut - 1 : cut + 1]
        if number % 200 == 0 or at_a_border:
            all_readers(run)
        good = read(run) == records[: data[:cut].count(b"\n")]
        survived += good and (repaired(run) if number % 5 == 0 or at_a_border else True)
    figure("records cut at a byte of their last two lines: read, and repaired", len(cuts), survived)


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_costs_at_most_the_record_it_hits(run, what, figure):
    survived = 0
    records = {name: read(run) for name, read in READERS.items()}
    for name in READERS:
        path = run.path / f"{name}.jsonl"
        first, rest = path.read_bytes().split(b"\n", 1)
        line = first + GARBAGE[what] if what == "half a character" else first + b"\n" + GARBAGE[what]
        path.write_bytes(line + b"\n" + rest)
    all_readers(run)
    for name, read in READERS.items():
        left = read(run)
        survived += all(item in records[name] for item in left) and len(left) >= len(records[name]) - 1
    RunWriter(run, 3, attempt=2).metrics(update_metrics(3))
    assert run.metrics()[-1].attempt == 2
    figure("garbage among the records: no reader raises, at most one record is lost", len(READERS), survived)


def test_a_disk_that_takes_half_a_line_leaves_none(run, monkeypatch):
    writer, write, before = RunWriter(run, 3, attempt=2), os.write, run.metrics_path.read_bytes()

    def nearly_full(descriptor, data):
        if len(data) < 40:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[: len(data) - 30])

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(os, "write", nearly_full)
        writer.metrics(update_metrics(3))
    assert run.metrics_path.read_bytes() == before


OF_ALL = ("_home", "_runs", "_rewards", "good/poll")
PARTS = 3
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


async def ask_for_all(page, part):
    names, at_once = [f"bad-{number}" for number in range(len(DAMAGES))], compare_serializer.MAX_RUNS - 1
    for number, (name, damage) in enumerate(zip(names, DAMAGES, strict=True), part):
        try:
            for address in OF_A_RUN[number % PARTS :: PARTS]:
                await ask(page, f"{name}/{address}")
        except Exception as error:
            raise AssertionError(f"{damage}: {error}") from error
    for first in range(0, len(names), at_once):
        await ask(page, f"_overlay?runs={','.join(names[first : first + at_once])},good")
    for address in OF_ALL:
        assert await ask(page, address), address
    assert "good" in {run["id"] for run in (await ask(page, "_runs"))["runs"]}
    return len(names)


@pytest.mark.parametrize("part", cases(range(PARTS), always=[0]))
def test_the_page_shows_the_others_and_answers_for_each_damaged_run(outputs, figure, part):
    """By day each damaged run with a third of the addresses, another third for the next."""
    page = httpx.AsyncClient(
        transport=httpx.ASGITransport(Starlette(routes=routes(Hub(outputs)))), base_url="http://page"
    )
    survived = run_async(ask_for_all(page, part))
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
