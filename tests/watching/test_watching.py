"""Runs that other programs train: what their logs say becomes a run of ours, and nothing else."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from playground import Watch
from playground.analysis.run_report import RunReport
from playground.config import flatten
from playground.errors import InvalidConfig, RunNotResumable, RunNotSteerable
from playground.exports import csv_tables, html_report, scripts
from playground.runs import fork, launcher
from playground.runs.folder import processes
from playground.runs.folder.directory import RunDirectory
from playground.watching import verl
from tests.support import PROJECT, wait_until

PROMPTS = ["2 + 3 =", "What is 7 - 4?"]
FIGURES = {"actor/pg_clipfrac": 0.4, "response_length/mean": 20.0, "response_length/clip_ratio": 0.25}
KNOWN = {"behaviours": [], "score.normalise": "none", "checkpoint.every": 0, "ppo.num_updates": 6}


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def sources(tmp_path):
    """What verl 0.9.1 writes: a line of `FileLogger` for each step, and dumps as `_dump_generations` names them."""
    folder, log = tmp_path / "verl", [{"step": 0, "data": {"val-core/sums/acc/mean@1": 0.1}}]
    for step in range(1, 7):
        moving = {"critic/score/mean": step / 10, "actor/kl_loss": step / 100, "timing_s/step": 2.0}
        log.append({"step": step, "data": {**FIGURES, **moving}})
        texts = [{"input": f"{row} + 1 =", "output": " 5", "gts": "5", "score": row, "step": step} for row in range(8)]
        write_lines(folder / "rollouts" / f"{step}.jsonl", texts)
    for step in (0, 3, 6):
        answers = [{"input": prompt, "output": f" {step}", "score": step / 3, "step": step} for prompt in PROMPTS]
        write_lines(folder / "validation" / f"{step}.jsonl", answers)
    write_lines(folder / "log.jsonl", log)
    return verl.Sources(folder / "log.jsonl", folder / "rollouts", folder / "validation")


def test_the_files_of_verl_become_a_run_that_says_nothing_else(tmp_path, sources):
    run, is_done = verl.watch(sources, 6, "Qwen/Qwen3-8B", tmp_path / "outputs", "Big run", once=True)
    report = RunReport.of(run)
    assert (is_done, run.id, report.status.state, run.is_alive()) == (True, "big-run", "finished", False)
    assert [item.update for item in report.metrics] == [1, 2, 3, 4, 5, 6]
    last = report.metrics[-1]
    figures = last.score_mean, last.kl_to_reference, last.clip_fraction, last.completion_length, last.eos_fraction
    assert figures == pytest.approx((0.6, 6 / 100 * 20, 0.4, 20.0, 0.75))
    assert (last.seconds, report.status.seconds_at_work()) == pytest.approx((12.0, 12.0), abs=1.0)
    assert {last.kl_coef, last.learning_rate, last.episodes, last.tokens, last.perplexity_reference} == {None}
    settings = {name: value for name, value in flatten(report.config).items() if not name.startswith("about.")}
    assert settings == {"name": "Big run", "model.source": "Qwen/Qwen3-8B", **KNOWN}
    answers = [(item.update, item.stage, item.prompt, item.completion, item.score) for item in report.samples[::2]]
    moments = [(0, "before", " 0", 0), (3, "during", " 3", 1), (6, "after", " 6", 2)]
    assert answers == [(update, stage, PROMPTS[0], text, score) for update, stage, text, score in moments]
    assert report.outcome.gain == 2
    assert "how far it is from the reference was not measured" in report.sentence
    assert [(item.update, len(item.texts)) for item in run.rollouts()] == [(step, 8) for step in range(1, 7)]
    assert [(alert.name, alert.remedies) for alert in report.checks if alert.lit] == [("clipping", ())]
    assert ["KL in the loss" in note for note in report.warnings] == [True]
    page = html_report.page(report)
    assert "method verl, watched" in page
    assert not any(word in page for word in ("seed 0", "pocket-2m", "nan nats"))
    assert csv_tables.metrics_csv(report).count("\r\n") == 1 + 6
    assert scripts.yaml_text(report.config).startswith("# Another program trains this run")
    for refused, act in (
        (RunNotSteerable, lambda: launcher.stop(run)),
        (RunNotSteerable, lambda: processes.end(run)),
        (RunNotResumable, lambda: launcher.resume(run)),
        (RunNotResumable, lambda: fork.fork(run, 3, [])),
        (InvalidConfig, lambda: scripts.trl_script(report.config)),
    ):
        with pytest.raises(refused, match="Another program trains"):
            act()


def test_a_run_lives_as_long_as_it_is_watched(tmp_path, sources):
    command = [sys.executable, "-m", "playground", "watch", str(sources.log), "--as", "verl", "--updates", "9"]
    watching = subprocess.Popen([*command, "--outputs", str(tmp_path / "outputs")], cwd=PROJECT)
    run = RunDirectory(tmp_path / "outputs" / "log")
    try:
        wait_until(lambda: run.config_path.exists() and run.status().update == 6)
        assert (run.status().state, processes.worker_of(run).pid) == ("running", watching.pid)
        assert launcher.in_the_way(run.path.parent, "cpu") is None
    finally:
        os.kill(watching.pid, signal.SIGKILL)
        watching.wait()
    assert (run.status().state, run.status().reason, run.status().resumable) == ("interrupted", "watch_lost", False)


def test_what_verl_shows_in_a_terminal_is_watched_too(tmp_path):
    log = tmp_path / "job.log"
    log.write_text("begins\n(pid=1) step:1 - critic/score/mean:0.5\n")
    run, is_done = verl.watch(verl.Sources(log), 1, "", tmp_path / "outputs", "run", once=True)
    assert (is_done, run.metrics()[0].score_mean) == (True, 0.5)
    with pytest.raises(InvalidConfig, match="no line of it is a step"):
        verl.watch(verl.Sources(tmp_path / "none"), 1, "", tmp_path / "outputs", "none", once=True)


def test_a_dump_that_is_still_written_is_waited_for(tmp_path, sources, monkeypatch):
    dump = sources.rollouts / "6.jsonl"
    rows = dump.read_text()
    dump.write_text(rows[:20])
    looks = iter([lambda: dump.write_text(rows[:200]), lambda: dump.write_text(rows)])
    monkeypatch.setattr(verl.time, "sleep", lambda _: next(looks, lambda: None)())
    run, _ = verl.watch(sources, 6, "", tmp_path / "outputs", "run", once=False)
    assert len(run.rollouts()[-1].texts) == 8


def test_prompts_are_not_answered_by_weights_that_accelerate_divides(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    watch = Watch(tmp_path / "outputs" / "mine", prompts=PROMPTS)
    state = SimpleNamespace(is_world_process_zero=True, max_steps=2, global_step=0)
    watch.on_train_begin(SimpleNamespace(seed=5, learning_rate=1e-3), state, None, model=None, processing_class=None)
    assert not watch.prompts


def test_a_callback_writes_what_its_trainer_logs_and_never_breaks_it(tmp_path):
    args = SimpleNamespace(seed=5, learning_rate=1e-3)
    state = SimpleNamespace(is_world_process_zero=True, max_steps=2, global_step=0)
    (tmp_path / "file").write_text("")
    good, broken = Watch(tmp_path / "outputs" / "mine"), Watch(tmp_path / "file" / "mine")
    with pytest.warns(UserWarning, match="no longer watches") as warnings:
        for watch in (good, broken):
            watch.on_train_begin(args, state, None)
    for state.global_step in (1, 2):
        for watch in (good, broken):
            watch.on_an_event_of_a_later_version(args, state, None, model=None)
            watch.on_log(args, state, None, logs={"loss": 0.5, "grad_norm": float("nan"), "reward": "0.25"})
    good.on_train_end(args, state, None)
    assert len(warnings) == 1
    run = RunDirectory(tmp_path / "outputs" / "mine")
    assert (run.status().state, run.config().seed, run.config().reads("kl.coef")) == ("finished", 5, False)
    assert [(item.update, item.policy_loss, item.grad_norm, item.score_mean) for item in run.metrics()] == [
        (1, 0.5, None, 0.25),
        (2, 0.5, None, 0.25),
    ]
