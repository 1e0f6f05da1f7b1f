"""One bad file or record costs its own run at most: every list, page and command goes on to show the others.

All damages lie in one outputs folder, each in a run of its own, beside one that is whole.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground import cli
from playground.analysis.compute import MODEL
from playground.errors import InvalidConfig
from playground.runs import history
from playground.runs.folder import changes, checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation
from playground.runs.folder.writer import RunWriter
from playground.runs.supervisor import Supervisor
from playground.training.loop.scoring import Scorer
from playground.training.process import resuming
from playground.ui.feed.feed import Hub
from playground.ui.routes import routes
from tests.figures import Figure
from tests.support import config_with, small_config
from tests.ui import fake_run

HUGE, DEEP, SURROGATE = "9" * 400, "[" * 50_000, r"\ud800"
OF_ALL = ("_home", "_runs", "_rewards", "good/poll")
OF_A_RUN = "poll moment/0 compare metrics.csv samples.csv outcome log resume export/yaml export/trl".split()
Damage = Callable[[Path], None]


def _raw(record: dict[str, Any]) -> str:
    """JSON in which "<1e999>" stands for what Python would not write."""
    return json.dumps(record).replace('"<', "").replace('>"', "").replace("SURROGATE", SURROGATE)


def line(name: str, **changed: Any) -> Damage:
    """The first record of a kind once more, with changes; text in <> is written as it stands."""

    def damage(run: Path) -> None:
        path = run / f"{name}.jsonl"
        record = json.loads(path.read_text().splitlines()[0])
        with open(path, "a") as file:
            file.write(_raw({**record, **changed}) + "\n")

    return damage


def each(name: str, fields: str, value: Any) -> Damage:
    """One more record for each of these fields, which holds the value."""
    return lambda run: [line(name, **{field: value})(run) for field in fields.split()] and None


def status(fields: str, value: Any) -> Damage:
    """Other values in status.json."""

    def damage(run: Path) -> None:
        record = json.loads((run / "status.json").read_text())
        (run / "status.json").write_text(_raw({**record, **dict.fromkeys(fields.split(), value)}))

    return damage


def content(name: str, data: bytes | str | None) -> Damage:
    """A file with other content; None: a pipe in its place."""

    def damage(run: Path) -> None:
        path = run / name.format(run=run.name)
        path.unlink(missing_ok=True)
        if data is None:
            os.mkfifo(path)
        else:
            path.write_bytes(data.encode() if isinstance(data, str) else data)

    return damage


METRICS = "score_mean kl_to_reference seconds update kl_coef perplexity_reference tokens"
SAMPLES = "score kl prompt_id update tokens"
STATUS = "started_at updated_at update num_updates attempt pid pid_started_at"
ODD: dict[str, Any] = {"infinite": "<1e999>", "huge": f"<{HUGE}>", "list": [1]}
EDITS: list[Any] = [
    {},
    {"field": 1, "value": 1},
    {"field": "kl.coef", "value": "<1e999>"},
    {"field": "kl.coef", "value": {"a": {}}},
    {"field": "__class__", "value": 1},
    {"field": ["kl.coef"], "value": "x", "replayed": "x"},
    [1],
]
MODELS: list[Any] = [
    {"matrix_parameters": "x", "prompt_tokens": 1},
    {"matrix_parameters": [1], "prompt_tokens": 10**7},
    {"parameters": f"<{HUGE}>", "trained_parameters": None},
    {"matrix_parameters": -1, "prompt_tokens": True},
]
SCALES: list[Any] = [
    {"mean": "x", "sd": "y", "terms": "z"},
    {"mean": "<1e999>", "sd": 0, "terms": {"a": 1}},
    {"mean": 0, "sd": 1, "terms": {"sentiment": {"mean": "x", "sd": None}}},
]
CONFIGS = ("!!bool x", 'seed: !!int ""', f"seed: {'1:' * 400}1.5", "", "[1]", "a: *b", "\x00", "name:", '"\\ud800": 1')
FILES = "config.yaml status.json metrics.jsonl samples.jsonl events.jsonl evaluations.jsonl tokens.jsonl worker.log"
FILES += " rollouts.jsonl"
FILES += " request.json vitals.json control/killed worker.lock control/set-1.json ../.queue/{run}.json"
SMALL_FILES = "request.json vitals.json control/killed status.json ../.queue/{run}.json"
CONTENTS = {"deep": DEEP, "odd": f'{{"pid": {HUGE}, "attempt": NaN, "slot": 1, "beat": 1e999}}', "empty": ""}
DAMAGES: dict[str, Damage] = {
    **{f"metrics: {word}": each("metrics", METRICS, value) for word, value in ODD.items()},
    **{f"samples: {word}": each("samples", SAMPLES, value) for word, value in ODD.items()},
    **{f"status: {word}": status(STATUS, value) for word, value in ODD.items()},
    **{f"negative {field}": line("metrics", **{field: -5}) for field in ("perplexity_reference", "update", "episodes")},
    "metrics.terms": line("metrics", terms={"SURROGATE": "<1e999>", "=1+1": 1.7e308}),
    "metrics.contributions": line("metrics", contributions={"SURROGATE": "<NaN>", "a" * 1000: "<1e999>"}),
    "status.state": status("state", "dreaming"),
    "status: surrogates": status("message phase reason", "SURROGATE"),
    "status.started_at: negative": status("started_at", -1e11),
    "status.started_at: far": status("started_at", 1e25),
    "samples: surrogates": line("samples", prompt="SURROGATE", completion="SURROGATE", scores={"SURROGATE": 1}),
    "samples.scores": line("samples", scores={"a": "<NaN>", "b": 1.7e308, "=1": "<1e999>"}),
    **{f"edit {number}": line("events", kind="edit", data=data) for number, data in enumerate(EDITS)},
    **{f"model {number}": line("events", kind="model", data=data) for number, data in enumerate(MODELS)},
    **{f"scale {number}": line("events", kind="score_scale", data=data) for number, data in enumerate(SCALES)},
    "resumed": line("events", kind="resumed", data={"from": "SURROGATE"}, attempt=f"<{HUGE}>"),
    "state": line("events", kind="state", data={"state": ["paused"]}, time="<1e999>"),
    "warning": line("events", kind="warning", data={"evidence": "SURROGATE"}, message="SURROGATE", update="<-1e999>"),
    "evaluation": line("evaluations", perplexity_text="<1e999>", seconds="<NaN>", text_tokens=f"<-{HUGE}>"),
    **{f"config: {text[:20]!r}": content("config.yaml", text) for text in CONFIGS},
    "config: bytes": content("config.yaml", b"\xff\xfe\x00"),
    **{f"pipe: {name}": content(name, None) for name in FILES.split()},
    **{f"{n}: {word}": content(n, text) for n in SMALL_FILES.split() for word, text in CONTENTS.items()},
}


def sound(outputs: Path) -> dict[str, bytes]:
    """The files of a run that has ended early, by name."""
    changed = {"name": "run", "rewards": [{"kind": "sentiment"}], "ppo__num_updates": 6}
    config = config_with({}, {**changed, "evaluation__every": 2, "checkpoint__every": 2})
    run = fake_run.write_ended(outputs, "run", "killed", "interrupted", at=4, config=config)
    writer = RunWriter(run, 6)
    writer.evaluation(Evaluation(update=4, stage="during", perplexity_text=7.0, text_documents=2, text_tokens=20))
    writer.event(MODEL, "The model.", parameters=1000, trained_parameters=1000, matrix_parameters=900, prompt_tokens=5)
    fake_run.write_status(run, run.status_on_disk().model_copy(update={"state": "interrupted", "reason": "killed"}))
    return {str(path.relative_to(run.path)): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def write(files: dict[str, bytes], run: Path) -> None:
    (run / "control").mkdir(parents=True)
    for name, data in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(data)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run for each damage, and a good one, after the supervisor has looked at them."""
    folder, files = tmp_path_factory.mktemp("outputs"), sound(tmp_path_factory.mktemp("sound"))
    (folder / ".queue").mkdir()
    write(files, folder / "good")
    for number, damage in enumerate(DAMAGES.values()):
        write(files, folder / f"bad-{number}")
        damage(folder / f"bad-{number}")
    Supervisor(folder).look()
    return folder


def refuse(word: str) -> None:
    raise AssertionError(f"{word} in an answer")


def ask(page: TestClient, address: str) -> Any:
    """What it answers; never a failure, and strict JSON where it is any."""
    answer = page.get(f"/live/{address}")
    assert answer.status_code in (200, 404, 409), (address, answer.status_code, answer.text[:500])
    if answer.status_code == 200 and "json" in answer.headers["content-type"]:
        return json.loads(answer.text, parse_constant=refuse)
    return None


def test_the_page_shows_the_others_and_answers_for_each_damaged_run(outputs: Path, figure: Figure) -> None:
    survived = 0
    with TestClient(Starlette(routes=routes(Hub(outputs)))) as page:
        for number, name in enumerate(DAMAGES):
            run_id = f"bad-{number}"
            try:
                for address in OF_A_RUN:
                    ask(page, f"{run_id}/{address}")
                ask(page, f"_overlay?runs={run_id},good")
                survived += 1
            except Exception as error:
                raise AssertionError(f"{name}: {error}") from error
        for address in OF_ALL:
            assert ask(page, address), address
        assert "good" in {run["id"] for run in ask(page, "_runs")["runs"]}
    figure("damaged files and records of a run: the other runs are listed and shown", len(DAMAGES), survived)


def test_the_commands_list_and_examine_them(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = range(0, len(DAMAGES), 9)  # each takes a quarter of a second; the page was asked for all
    shows = [["show", f"bad-{number}", *["--json"][number % 2 :]] for number in some]
    for command in (["runs"], ["runs", "--json"], ["doctor"], *shows):
        with pytest.raises(SystemExit) as left:
            cli.main([*command, "--outputs", str(outputs)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out and left.value.code in (0, 1, 2), command
        assert command[0] != "runs" or (left.value.code == 0 and "good" in said.out)
    assert [run.id for run in history.list_runs(outputs)].count("good") == 1


def test_what_a_worker_reads_that_takes_it_up_again_is_read(outputs: Path) -> None:
    for number in range(len(DAMAGES)):
        run = RunDirectory(outputs / f"bad-{number}")
        with contextlib.suppress(InvalidConfig):  # such a run is not resumed
            checkpoints.search(run)
        changes.replay(run.all_events(), run.status().update)
        changes.take(run)
        resuming._scale_from_events(run.all_events(), Scorer(small_config()))
