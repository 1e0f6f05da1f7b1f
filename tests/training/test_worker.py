"""The real worker on the shipped model, at the smallest sizes: in this process, in one that was forked from a warm one,
and, where that a run is the same in another process is the claim, in a new one."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
import torch

from playground import worker
from playground.config.yaml_io import from_dict
from playground.errors import ServiceUnavailable
from playground.runs import launcher
from playground.runs.folder import changes, traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.setup.estimates import memory
from playground.training.loop import evaluation
from playground.training.models import language_model
from playground.training.process import progress
from playground.training.process.session import Session
from tests.nights import cases
from tests.service_here import ServiceHere

DEADLINE_SECONDS = 120
PAUSE_SECONDS = 0.5


def config(**changes):
    data = {
        "name": "small",
        "model": {"source": "pocket-2m"},
        "rewards": [{"kind": "sentiment"}, {"kind": "length", "weight": 0.1}],
        "ppo": {"num_updates": 3, "batch_size": 8, "minibatch_size": 4, "micro_batch_size": 4, "num_epochs": 1},
        "prompts": {"limit": 32},
        "sampling": {"max_new_tokens": 16},
        "evaluation": {"num_prompts": 6, "samples_per_prompt": 2, "every": 2},
        "checkpoint": {"every": 2, "keep": 1},
    }
    for path, value in changes.items():
        part, _, field = path.partition("__")
        data[part] = {**data[part], field: value} if field else value
    return from_dict(data)


def quick(**changes):
    """Without the half of its time that a small run takes to measure the scale of its score."""
    return config(score={"normalise": "none"}, **changes)


def wait_for(condition, what: str):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.02)


def train(outputs: Path, made, run_id: str = "r") -> RunDirectory:
    """Train in a new process."""
    run, process = launcher.start(made, outputs, run_id)
    assert process.wait(DEADLINE_SECONDS) in (0, 1, 3), run.log_tail()
    return run


def train_here(outputs: Path, made, run_id: str = "r") -> RunDirectory:
    """Let the worker train in this process, which has imported everything."""
    run = RunDirectory.create(outputs, made, run_id)
    assert worker.main([str(run.path)]) in (0, 1, 3)
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> RunDirectory:
    return train_here(tmp_path_factory.mktemp("outputs"), config())


def test_a_run_writes_everything_that_the_format_promises(finished):
    status = finished.status()
    assert (status.state, status.update, status.num_updates) == ("finished", 3, 3), finished.log_tail()
    assert finished.config() == config()
    metrics = finished.metrics()
    assert [item.update for item in metrics] == [1, 2, 3]
    assert [item.episodes for item in metrics] == [8, 16, 24]
    assert list(metrics[0].terms) == ["sentiment", "length"]
    assert metrics[0].kl_to_reference == pytest.approx(0, abs=1e-4)
    assert 0 < metrics[0].seconds < metrics[-1].seconds
    stages = [(sample.stage, sample.update) for sample in finished.samples()]
    assert stages == [("before", 0)] * 12 + [("during", 2)] * 12 + [("after", 3)] * 12
    kinds = [event.kind for event in finished.events()]
    assert kinds.count("score_scale") == 1
    assert kinds.count("checkpoint") == 2
    assert [event.seq for event in finished.events()] == list(range(len(kinds)))
    assert finished.latest_checkpoint().name == "update-000003"
    for name in ("metrics", "samples", "events"):
        for line in (finished.path / f"{name}.jsonl").read_text().splitlines():
            json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_before_and_after_share_prompts_and_seeds_and_before_has_no_kl(finished):
    by_stage = {stage: [s for s in finished.samples() if s.stage == stage] for stage in ("before", "after")}
    keys = [[(s.prompt_id, s.prompt, s.seed) for s in samples] for samples in by_stage.values()]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 12
    assert all(sample.kl == 0 for sample in by_stage["before"])


def test_the_same_configuration_gives_the_same_run_also_in_a_new_process(finished, tmp_path):
    again = train(tmp_path, config())
    for mine, theirs in zip(again.metrics(), finished.metrics(), strict=True):
        for name, value in mine.model_dump().items():
            if not name.startswith("seconds") and name != "memory_gb":
                assert value == theirs.model_dump()[name], name
    assert [s.completion for s in again.samples()] == [s.completion for s in finished.samples()]


@pytest.mark.parametrize("how", cases(["request", "terminate"], always=["terminate"]))
def test_a_running_run_can_be_stopped_keeps_its_weights_and_lets_a_second_one_wait(outputs, forker, how):
    endless = quick(ppo__num_updates=10_000, evaluation__every=10_000)
    run, process = launcher.start(endless, outputs, "long", forker.spawn)
    wait_for(lambda: run.metrics(), "the first update")
    assert run.status().state == "running"
    assert launcher.start(config(), outputs).process is None
    stopping = time.monotonic()
    run.request_stop() if how == "request" else os.kill(process.pid, signal.SIGTERM)
    assert process.wait(DEADLINE_SECONDS) == 3
    assert time.monotonic() - stopping < 10
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "stopped")
    assert run.latest_checkpoint() is not None
    assert not run.is_alive()


def test_a_run_that_cannot_start_says_why_and_names_the_field(tmp_path):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Review of the film: " + "very " * 300 + "\n")
    status = train_here(tmp_path / "outputs", config(prompts={"source": str(prompts)})).status()
    assert (status.state, status.reason) == ("failed", "invalid")
    assert "too long" in status.message
    assert "prompts.source" in status.message


@pytest.fixture(scope="module")
def service():
    made = ServiceHere()
    yield made
    made.close()


def test_the_service_answers_with_both_sides_and_again_with_the_same_words(finished, service):
    samples = list(service.compare(finished.path, "Review of the film:", num_samples=3, seed=1))
    assert [(sample.side, sample.index) for sample in samples] == [
        (side, index) for index in range(3) for side in ("reference", "policy")
    ]
    assert all(sample.kl == 0 for sample in samples if sample.side == "reference")
    assert all(sample.score is not None and set(sample.scores) == {"sentiment", "length"} for sample in samples)
    again = list(service.compare(finished.path, "Review of the film:", num_samples=3, seed=1))
    assert again == samples
    assert [s.completion for s in service.compare(finished.path, "Review of the film:", num_samples=3, seed=2)] != [
        s.completion for s in samples
    ]


@pytest.mark.parametrize(
    ("source", "prompt", "words"),
    [
        ("run", "", "prompt is empty"),
        ("run", "very " * 300, "has room for"),
        ("run", "x" * 5000, "longer than 4000 characters"),
        ("no-such-model", "Hi", "no model `no-such-model`"),
    ],
)
def test_the_service_says_what_is_wrong_and_stays_usable(finished, service, source, prompt, words):
    with pytest.raises(ServiceUnavailable, match=words):
        list(service.compare(finished.path if source == "run" else source, prompt, num_samples=1))
    assert list(service.compare(finished.path, "Story: Ben lost his red ball.", num_samples=1))


def test_a_paused_run_records_one_update_when_it_is_asked(outputs, forker):
    endless = quick(ppo__num_updates=10_000, evaluation__every=10_000, evaluation__traces=0)
    run, process = launcher.start(endless, outputs, "slow", forker.spawn)
    wait_for(lambda: run.status().update >= 1, "the first update")
    changes.request_pause(run)
    wait_for(lambda: run.status().state == "paused", "the pause")
    paused_at = run.status().update
    assert traces.updates(run) == []
    changes.request_trace(run)
    wait_for(lambda: run.status().update == paused_at + 1 and run.status().state == "paused", "one more update")
    assert traces.updates(run) == [paused_at + 1]
    assert traces.read(run, paused_at + 1)
    run.request_stop()
    assert process.wait(DEADLINE_SECONDS) == 3


@pytest.mark.parametrize("engine", cases(["playground", "trl"], always=["playground"]))
def test_beta_is_changed_in_mid_run_paused_stepped_and_resumed(engine, outputs, forker):
    endless = quick(engine=engine, ppo__num_updates=10_000, evaluation__every=10_000)
    run, process = launcher.start(endless, outputs, "steered", forker.spawn)
    wait_for(lambda: run.status().update >= 1, "the first update")
    changes.request_pause(run)
    wait_for(lambda: run.status().state == "paused", "the pause")
    paused_at, since = run.status().update, time.monotonic()
    wait_for(lambda: time.monotonic() - since > PAUSE_SECONDS, "the pause to last")
    changes.request_edits(run, [changes.Edit("kl.coef", 2.0), changes.Edit("ppo.learning_rate", 1e-5)])
    changes.request_step(run)
    wait_for(lambda: run.status().update == paused_at + 1 and run.status().state == "paused", "one more update")
    before, after = run.metrics()[-2:]
    assert (before.kl_coef, after.kl_coef) == (0.25, 2.0)
    worked = after.seconds_rollout + after.seconds_score + after.seconds_update
    assert after.seconds - before.seconds - worked < PAUSE_SECONDS / 2  # the pause is no part of the training's time
    status = run.status()
    assert status.worked_seconds <= status.updated_at - status.started_at - PAUSE_SECONDS
    assert after.learning_rate < 0.1 * before.learning_rate
    edits = [(event.data["field"], event.update) for event in run.events() if event.kind == "edit"]
    assert edits == [("kl.coef", paused_at), ("ppo.learning_rate", paused_at)]
    changes.request_resume(run)
    wait_for(lambda: run.status().update >= paused_at + 2, "going on")
    changes.request_pause(run)
    wait_for(lambda: run.status().state == "paused", "the second pause")
    run.request_stop()
    assert process.wait(DEADLINE_SECONDS) == 3
    assert run.status().state == "stopped"
    assert run.latest_checkpoint() is not None


def test_the_reference_may_be_another_model_or_an_earlier_run(finished, service):
    outputs = finished.path.parent
    for source, where in [("r/update-000003", "policy of a run"), ("r", "its newest"), ("pocket-1m", "another model")]:
        short = quick(reference={"source": source}, ppo__num_updates=1, evaluation__num_prompts=2)
        run = train_here(outputs, short, f"from-{source.replace('/', '-')}")
        assert run.status().state == "finished", run.log_tail()
        first = run.metrics()[0]
        assert first.kl_estimates["full"] > 1e-3, where
        before = [sample.kl for sample in run.samples() if sample.stage == "before"]
        assert any(kl != 0 for kl in before), "the start is not the reference"
    answers = list(service.compare(run.path, "Review of the film: The", num_samples=2))
    assert all(answer.kl != 0 for answer in answers), "also of typed prompts, on both sides"


def test_weights_that_are_not_finite_never_reach_the_disk(tmp_path):
    made = config()
    run = RunDirectory.create(tmp_path, made, "broken")
    session = Session(run, made, RunWriter(run, 3), lambda: None)
    session.save()
    with torch.no_grad():
        next(session.policy.parameters())[0] = float("nan")
    session.trainer.updates_done = 1
    session.save()
    assert [folder.name for folder in run.checkpoints_path.iterdir()] == ["update-000000"]
    assert "not finite" in run.events()[-1].message


def test_out_of_memory_ends_with_what_to_change(tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path, catalog.preset("gpt2"), "r")

    def fail(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(worker, "train_policy", fail)
    assert worker.main([str(run.path)]) == 1
    assert run.status().reason == "out_of_gpu_memory"
    assert "Train with LoRA" in run.status().message


def test_a_model_that_is_not_here_is_fetched_in_a_phase_of_its_own_that_can_be_stopped(tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path, config(), "r")
    phases = []

    def fetch(needed, progress):
        progress("downloading someone/tiny: 1 of 2 MB")
        phases.append(run.status().phase)
        run.request_stop()
        progress("downloading someone/tiny: 2 of 2 MB")

    monkeypatch.setattr(worker.checks, "fetch", fetch)
    assert worker.main([str(run.path)]) == 3
    assert phases == ["downloading someone/tiny: 1 of 2 MB"]
    assert run.status().state == "stopped"


@pytest.mark.parametrize(("name", "samples"), [("whole", 64), (launcher.TRIAL, 20)])
def test_measuring_the_reference_says_how_far_it_is_and_a_trial_measures_what_is_written_at_once(
    tmp_path, monkeypatch, name, samples
):
    made = config(score={"normalise": "reference"})
    monkeypatch.setattr(language_model.LanguageModel, "is_small", False)
    monkeypatch.setattr(memory, "reference_rows", lambda *_: 20)
    monkeypatch.setattr(progress, "SAY_SECONDS", 0.0)
    run = RunDirectory(tmp_path / name)
    run.control_path.mkdir(parents=True)
    run.publish(made)
    phases = []
    writer = RunWriter(run, 3)
    monkeypatch.setattr(writer, "set_status", lambda **changed: phases.append(changed["phase"]))
    session = Session(run, made, writer, lambda: None)
    assert phases
    assert all(phase.startswith("loading the model") for phase in phases)
    phases.clear()
    session.begin()
    assert phases[0] == "measuring the reference"
    assert phases[-1].endswith(" s left")
    shares = [int(phase.split()[3]) for phase in phases[1:]]
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert shares[0] < 10
    (scale,) = [event for event in run.events() if event.kind == "score_scale"]
    assert scale.data["samples"] == samples
    assert f"from {samples} texts of the reference" in scale.message
    assert 0 < scale.data["sd_error"] < scale.data["sd"]
    assert 0 < scale.data["mean_error"] < scale.data["sd"]


def test_the_first_answers_to_the_fixed_prompts_are_written_with_the_texts_of_the_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model.LanguageModel, "is_small", False)
    made = config(evaluation__token_samples=2)
    run = RunDirectory.create(tmp_path, made, "r")
    session = Session(run, made, RunWriter(run, 3), lambda: None)
    batches = []
    written = evaluation.answer
    monkeypatch.setattr(evaluation, "answer", lambda *args: batches.append(len(args[2])) or written(*args))
    session.begin()
    session.evaluate_if_due()
    assert batches == [64 + 6 * 2]
    fixed, alone = session.fixed_prompts, [dict(sample) for sample in run.samples()]
    assert fixed.ahead is None
    samples, _, tokens = session.evaluate("before")
    assert batches[1:] == [6 * 2], "by themselves"
    assert [dict(sample) for sample in samples] == alone
    kept = run.token_figures()
    assert [(one.prompt_id, one.pieces) for one in tokens] == [(one.prompt_id, one.pieces) for one in kept]
    assert len(kept) == 2
    assert kept[0].log_probs == pytest.approx(tokens[0].log_probs, abs=1e-3)


def test_answers_that_are_no_texts_of_the_reference_are_written_by_themselves(tmp_path, monkeypatch):
    def begins_alike(number: int, **changes) -> bool:
        run = RunDirectory.create(tmp_path, config(**changes), f"r{number}")
        return Session(run, run.config(), RunWriter(run, 3), lambda: None).begins_alike

    assert not begins_alike(0), "a small model, whose texts stay what they were"
    monkeypatch.setattr(language_model.LanguageModel, "is_small", False)
    assert begins_alike(1)
    assert not begins_alike(2, sampling__top_k=4)
    assert not begins_alike(3, reference={"source": "pocket-2m"})
