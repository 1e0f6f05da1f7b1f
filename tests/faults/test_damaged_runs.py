"""One bad file or record costs its own run at most: every list, page and command goes on to show the others."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground import cli
from playground.errors import InvalidConfig
from playground.insight.compute import MODEL
from playground.runs import history
from playground.runs.folder import changes, checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation
from playground.runs.folder.writer import RunWriter
from playground.runs.supervisor import Supervisor
from playground.training.loop.scoring import Scorer
from playground.training.process import resuming
from playground.ui.live.feed import Hub
from playground.ui.routes import routes
from tests.figures import Figure
from tests.support import config_with, small_config
from tests.thoroughness import cases
from tests.ui import fake_run

HUGE, DEEP, SURROGATE = "9" * 400, "[" * 50_000, r"\ud800"
ADDRESSES = (
    "_home", "_runs", "_overlay?runs=bad,good", "_rewards", "bad/poll", "bad/moment/0", "bad/compare",
    "bad/metrics.csv", "bad/samples.csv", "bad/outcome", "bad/log", "bad/resume", "bad/export/yaml", "bad/export/trl",
    "good/poll",
)  # fmt: skip
COMMANDS = (["runs"], ["runs", "--json"], ["show", "bad"], ["show", "bad", "--json"])


def _line(name: str, **changes: Any) -> Callable[[Path], None]:
    """The first record of a kind once more, with changes; text in <> is written as it stands."""

    def damage(run: Path) -> None:
        path = run / f"{name}.jsonl"
        record = json.loads(path.read_text().splitlines()[0])
        for field, value in changes.items():
            record[field] = value
        with open(path, "a") as file:
            file.write(_raw(record) + "\n")

    return damage


def _lines(name: str, fields: tuple[str, ...], value: Any) -> Callable[[Path], None]:
    """One more record for each of these fields, which holds the value."""

    def damage(run: Path) -> None:
        for field in fields:
            _line(name, **{field: value})(run)

    return damage


def _status(**changes: Any) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        record = json.loads((run / "status.json").read_text())
        (run / "status.json").write_text(_raw({**record, **changes}))

    return damage


def _event(kind: str, data: Any, **more: Any) -> Callable[[Path], None]:
    return _line("events", kind=kind, data=data, **more)


def _file(name: str, content: bytes | None) -> Callable[[Path], None]:
    """A file with other content; None: a pipe in its place."""

    def damage(run: Path) -> None:
        path = run / name
        path.unlink(missing_ok=True)
        if content is None:
            os.mkfifo(path)
        else:
            path.write_bytes(content)

    return damage


def _raw(record: dict[str, Any]) -> str:
    """JSON in which "<1e999>" stands for what Python would not write."""
    return json.dumps(record).replace('"<', "").replace('>"', "").replace("SURROGATE", SURROGATE)


METRICS = ("score_mean", "kl_to_reference", "seconds", "update", "kl_coef", "perplexity_reference", "tokens")
SAMPLES = ("score", "kl", "prompt_id", "update", "tokens")
ODD_NUMBERS = {"infinite": "<1e999>", "-infinite": "<-1e999>", "NaN": "<NaN>", "Infinity": "<Infinity>",
               "huge": f"<{HUGE}>", "largest": 1.7e308, "text": "nan", "list": [1], "none": None}  # fmt: skip
DAMAGES: dict[str, Callable[[Path], None]] = {
    **{f"metrics: {word}": _lines("metrics", METRICS, value) for word, value in ODD_NUMBERS.items()},
    "metrics.perplexity_reference: negative": _line("metrics", perplexity_reference=-1.0),
    "metrics.update: negative": _line("metrics", update=-5),
    "metrics.episodes: negative": _line("metrics", episodes=-5),
    "metrics.terms: odd": _line("metrics", terms={"SURROGATE": "<1e999>", "=1+1": 1.7e308}),
    "metrics.contributions: odd": _line("metrics", contributions={"SURROGATE": "<NaN>", "a" * 1000: "<1e999>"}),
    "metrics.kl_estimates: odd": _line("metrics", kl_estimates={"k1": "<1e999>", "SURROGATE": 1}),
    **{f"status.{field}: {word}": _status(**{field: ODD_NUMBERS[word]})
       for field in ("started_at", "updated_at", "update", "num_updates", "attempt", "pid", "pid_started_at")
       for word in ("infinite", "NaN", "huge")},
    "status.state: unknown": _status(state="dreaming"),
    "status.message: surrogate": _status(message="SURROGATE", phase="SURROGATE", reason="SURROGATE"),
    "status.reason: unknown": _status(reason="of old age"),
    "status.started_at: negative": _status(started_at=-1e11),
    "status.started_at: far": _status(started_at=1e25),
    **{f"samples: {word}": _lines("samples", SAMPLES, value) for word, value in ODD_NUMBERS.items()},
    "samples: surrogates": _line("samples", prompt="SURROGATE", completion="SURROGATE", scores={"SURROGATE": 1}),
    "samples.judges: odd": _line("samples", judges={"SURROGATE": "<1e999>"}),
    "samples.scores: odd": _line("samples", scores={"a": "<NaN>", "b": 1.7e308, "=1": "<1e999>"}),
    **{f"edit {number}": _event("edit", data) for number, data in enumerate([
        {}, {"field": 1, "value": 1}, {"field": "kl.coef", "value": "<1e999>"}, {"field": "kl.coef", "value": [1]},
        {"field": "kl.coef", "value": {"a": {}}}, {"field": "__class__", "value": 1}, {"field": "", "value": None},
        {"field": "SURROGATE", "value": "SURROGATE"}, {"field": ["kl.coef"], "value": "x", "replayed": "x"}, [1],
        "x"])},
    **{f"model {number}": _event("model", data) for number, data in enumerate([
        {"matrix_parameters": "x", "prompt_tokens": 1}, {"matrix_parameters": [1], "prompt_tokens": 10**7},
        {"matrix_parameters": "<1e999>", "prompt_tokens": "<NaN>"}, {"parameters": "many"},
        {"parameters": f"<{HUGE}>", "trained_parameters": None}, {"matrix_parameters": -1, "prompt_tokens": True}])},
    **{f"scale {number}": _event("score_scale", data) for number, data in enumerate([
        {"mean": "x", "sd": "y", "terms": "z"}, {"mean": "<1e999>", "sd": 0, "terms": {"a": 1}},
        {"mean": 0, "sd": 1, "terms": {"sentiment": {"mean": "x", "sd": None}}}, {"mean": 0, "sd": 1, "terms": []}])},
    "resumed: odd": _event("resumed", {"from": "SURROGATE"}, attempt=f"<{HUGE}>"),
    "state: odd": _event("state", {"state": ["paused"]}, time="<1e999>"),
    "warning: odd": _event("warning", {"evidence": "SURROGATE"}, message="SURROGATE", update="<-1e999>"),
    "event.kind: surrogate": _event("SURROGATE", {}),
    "evaluation: odd": _line("evaluations", perplexity_text="<1e999>", seconds="<NaN>"),
    "evaluation: negative": _line("evaluations", perplexity_text=-1.0, text_tokens=f"<-{HUGE}>"),
    **{f"config: {text[:20]!r}": _file("config.yaml", text.encode()) for text in (
        "!!bool x", 'seed: !!int ""', "seed: !!timestamp x", f"seed: {'1:' * 400}1.5", "", "[1]", "a: *b", "\x00",
        "name:", "name: run", '"\\ud800": 1', "rewards: [{kind: length}]\nengine: trl\nname: a\n")},
    "config: bytes": _file("config.yaml", b"\xff\xfe\x00"),
    **{f"pipe: {name}": _file(name, None) for name in (
        "config.yaml", "status.json", "metrics.jsonl", "samples.jsonl", "events.jsonl", "evaluations.jsonl",
        "tokens.jsonl", "worker.log", "request.json", "vitals.json", "control/killed", "worker.lock",
        "control/set-1.json")},
    **{f"{name}: {word}": _file(name, content)
       for name in ("request.json", "vitals.json", "control/killed", "status.json")
       for word, content in {"deep": DEEP.encode(), "NaN": b'{"attempt": NaN, "slot": 1, "visitor": 3}', "empty": b"",
                             "huge": f'{{"pid": {HUGE}, "attempt": {HUGE}, "beat": 1e999}}'.encode()}.items()},
    "queue entry: huge": _file("../.queue/bad.json", f'{{"ticket": {HUGE}, "run": "bad", "attempt": NaN}}'.encode()),
    "queue entry: pipe": _file("../.queue/bad.json", None),
}  # fmt: skip


# Another odd number, or another of a numbered list, where one is tried already. All are in the folder full of them.
ONE_MORE = re.compile(r"(-infinite|NaN|Infinity|huge|largest|list|empty)$|^(edit|model|scale) [1-9]")
ONE_OF_EACH = [name for name in DAMAGES if not ONE_MORE.search(name)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that has ended early, by name."""
    config = config_with({}, {"name": "run", "rewards": [{"kind": "sentiment"}], "ppo__num_updates": 6,
                              "evaluation__every": 2, "checkpoint__every": 2})  # fmt: skip
    run = fake_run.write_ended(tmp_path_factory.mktemp("sound"), "bad", "killed", "interrupted", at=4, config=config)
    writer = RunWriter(run, 6)
    writer.evaluation(Evaluation(update=4, stage="during", perplexity_text=7.0, text_documents=2, text_tokens=20))
    writer.event(MODEL, "The model.", parameters=1000, trained_parameters=1000, matrix_parameters=900, prompt_tokens=5)
    fake_run.write_status(run, run.status_on_disk().model_copy(update={"state": "interrupted", "reason": "killed"}))
    return {str(path.relative_to(run.path)): path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def _write(files: dict[str, bytes], run: Path) -> None:
    (run / "control").mkdir(parents=True)
    for name, content in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_bytes(content)


@pytest.mark.parametrize("name", cases(DAMAGES, always=ONE_OF_EACH))
def test_a_damaged_run_costs_only_itself(
    name: str, sound: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], figure: Figure
) -> None:
    outputs = tmp_path / "outputs"
    for run_id in ("good", "bad"):
        _write(sound, outputs / run_id)
    (outputs / ".queue").mkdir()
    DAMAGES[name](outputs / "bad")
    Supervisor(outputs).look()
    capsys.readouterr()
    with TestClient(Starlette(routes=routes(Hub(outputs)))) as page:
        for address in ADDRESSES:
            answer = page.get(f"/live/{address}")
            assert answer.status_code in (200, 404, 409), (address, answer.status_code, answer.text[:500])
            if answer.status_code == 200 and "json" in answer.headers["content-type"]:
                json.loads(answer.text, parse_constant=_refuse)
        assert {"good"} <= {run["id"] for run in page.get("/live/_runs").json()["runs"]}
        assert page.get("/live/good/poll").status_code == 200
    for command in COMMANDS:
        with pytest.raises(SystemExit) as left:
            cli.main([*command, "--outputs", str(outputs)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        assert left.value.code in (0, 1, 2)
        if command[0] == "runs":
            assert left.value.code == 0 and "good" in said.out
    assert [run.id for run in history.list_runs(outputs)].count("good") == 1
    _goes_on(RunDirectory(outputs / "bad"))
    figure("damaged files and records of a run: the other runs are listed and shown", 1, 1)


def test_a_folder_full_of_damaged_runs_is_listed_and_examined(
    sound: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All damages at once, each in a run of its own."""
    outputs = tmp_path / "outputs"
    (outputs / ".queue").mkdir(parents=True)
    for number, damage in enumerate(DAMAGES.values()):
        _write(sound, outputs / f"bad-{number}")
        damage(outputs / f"bad-{number}")
    _write(sound, outputs / "good")
    for command in (["runs"], ["doctor"]):
        with pytest.raises(SystemExit) as left:
            cli.main([*command, "--outputs", str(outputs)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        assert command == ["doctor"] or (left.value.code == 0 and "good" in said.out)


@pytest.mark.parametrize("packed", [True, False])
def test_files_of_nothing_but_empty_records_take_no_time_from_the_others(
    sound: dict[str, bytes], tmp_path: Path, *, packed: bool
) -> None:
    outputs = tmp_path / "outputs"
    for run_id in ("good", "bad"):
        _write(sound, outputs / run_id)
    lines = b"{}\n" * 1_000_000
    for name in ("metrics", "samples", "evaluations", "events"):
        path = outputs / "bad" / f"{name}.jsonl"
        path.unlink()
        if packed:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(lines, 1))
        else:
            path.write_bytes(lines)
    begun = time.process_time()
    with TestClient(Starlette(routes=routes(Hub(outputs)))) as page:
        for address in ADDRESSES:
            assert page.get(f"/live/{address}").status_code in (200, 404, 409), address
            assert time.process_time() - begun < 10, address


def _goes_on(run: RunDirectory) -> None:
    """What a worker reads that takes the run up again, and what is asked before it."""
    status = run.status()
    with contextlib.suppress(InvalidConfig):  # such a run is not resumed
        checkpoints.search(run)
    changes.replay(run.all_events(), status.update)
    changes.take(run)
    resuming._scale_from_events(run.all_events(), Scorer(small_config()))


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} in an answer")
