"""The real worker on the smallest shipped model: in this process, or in one that was forked from a warm one."""

import json
import os
import signal

import pytest
import torch

from playground import worker
from playground.errors import ServiceUnavailable
from playground.runs import launcher
from playground.runs.folder import changes, traces
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.setup.estimates import memory
from playground.training.loop import evaluation
from playground.training.models import language_model
from tests.nights import cases
from tests.service_here import ServiceHere
from tests.support import data_beside, wait_until
from tests.training import small_run
from tests.training.conftest import FINISHED

LONG_PAUSE_SECONDS = 1e6


def work_here(outputs, config, run_id="r"):
    """What the worker makes of a run in this process, which has imported everything."""
    run = RunDirectory.create(outputs, config, run_id)
    assert worker.main([str(run.path)]) in (0, 1)
    return run


def test_a_run_writes_everything_that_the_format_promises_and_before_and_after_share_prompts_and_seeds(finished):
    status = finished.status()
    assert (status.state, status.update, status.num_updates) == ("finished", 3, 3), finished.log_tail()
    assert finished.config() == FINISHED
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
    by_stage = {stage: [s for s in finished.samples() if s.stage == stage] for stage in ("before", "after")}
    keys = [[(s.prompt_id, s.prompt, s.seed) for s in samples] for samples in by_stage.values()]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 12
    assert all(sample.kl == 0 for sample in by_stage["before"])


def test_the_same_configuration_gives_the_same_run_also_in_a_new_process(finished, outputs, forker):
    again, process = launcher.start(FINISHED, outputs, "again", forker)
    assert process.wait() == 0, again.log_tail()
    for mine, theirs in zip(again.metrics(), finished.metrics(), strict=True):
        for name, value in mine.model_dump().items():
            if not name.startswith("seconds") and name != "memory_gb":
                assert value == theirs.model_dump()[name], name
    assert [s.completion for s in again.samples()] == [s.completion for s in finished.samples()]


def test_a_run_that_gets_sigterm_stops_within_its_update_and_keeps_its_weights(outputs, forker):
    endless = small_run.config(ppo__num_updates=10_000, evaluation__every=10_000)
    run, process = launcher.start(endless, outputs, "long", forker)
    wait_until(lambda: run.metrics())
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == 3
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "stopped")
    assert run.latest_checkpoint().name == f"update-{status.update:06d}"
    assert not run.is_alive()


def test_a_run_that_cannot_start_says_why_and_names_the_field(tmp_path):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("".join(f"Review of the {thing}: {'very ' * 300}\n" for thing in ("film", "book")))
    status = work_here(tmp_path / "outputs", small_run.config(prompts={"source": str(prompts)})).status()
    assert (status.state, status.reason) == ("failed", "invalid")
    assert "too long" in status.message
    assert "prompts.source" in status.message


@pytest.fixture(scope="module")
def service():
    service = ServiceHere()
    yield service
    service.close()


def test_the_service_answers_with_both_sides_and_again_with_the_same_words(finished, service):
    samples = list(service.compare(finished.path, "Review of the film:", num_samples=3, seed=1))
    assert [(sample.side, sample.index) for sample in samples] == [
        (side, index) for index in range(3) for side in ("reference", "policy")
    ]
    assert all(sample.kl == 0 for sample in samples if sample.side == "reference")
    assert all(sample.score is not None and set(sample.scores) == {"sentiment", "length"} for sample in samples)
    again = list(service.compare(finished.path, "Review of the film:", num_samples=3, seed=1))
    assert again == samples
    other = list(service.compare(finished.path, "Review of the film:", num_samples=3, seed=2))
    assert [sample.completion for sample in other] != [sample.completion for sample in samples]


@pytest.mark.parametrize(("source", "prompt", "times", "words"), data_beside(__file__, "tables.yaml")["questions"])
def test_the_service_says_what_is_wrong_and_stays_usable(finished, service, source, prompt, times, words):
    with pytest.raises(ServiceUnavailable, match=words):
        list(service.compare(finished.path if source == "run" else source, prompt * times, num_samples=1))
    assert list(service.compare(finished.path, "Story: Ben lost his red ball.", num_samples=1))


@pytest.mark.parametrize("engine", cases(["playground", "trl"], always=["playground"]))
def test_a_run_is_paused_stepped_traced_and_resumed_and_a_pause_is_no_training_time(engine, tmp_path, skip_time):
    asked = []

    def between():
        if session.writer.status.state == "paused":
            asked.append((session.writer.status.update, traces.updates(run)))
            skip_time(LONG_PAUSE_SECONDS)
            steps.pop(0)()
        elif len(steps) == 3 and session.writer.status.update == 1:
            changes.request_pause(run)

    config = small_run.config(engine=engine, ppo__num_updates=5, evaluation__every=5, evaluation__traces=0)
    session = small_run.session(tmp_path, config, between=between)
    run = session.run
    one_more = changes.request_trace if engine == "playground" else changes.request_step  # TRL shows no token's figures
    steps = [lambda: changes.request_step(run), lambda: one_more(run), lambda: changes.request_resume(run)]
    session.writer.set_status(state="running")
    with launcher.take_lock(run):
        session.train()
    stood_at, *then = [update for update, _ in asked]
    assert then == [stood_at + 1, stood_at + 2]
    assert [traced for _, traced in asked] == [[], [], [stood_at + 2] if engine == "playground" else []]
    assert len(run.metrics()) == 5
    assert run.metrics()[-1].seconds < LONG_PAUSE_SECONDS
    assert run.status().worked_seconds < LONG_PAUSE_SECONDS


@pytest.mark.parametrize(
    ("device", "seen", "number"),
    [("auto", "7,5", "7"), ("all", "7,5", "7"), ("cuda", "7,5", "7"), ("cuda:1,0", "7,5", "5"), ("auto", "", "")],
)
def test_trainers_that_take_all_gpus_see_one_and_none_where_none_is_to_be_seen(device, seen, number, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    worker.show_one_gpu(device)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == number


@pytest.mark.parametrize("source", ["r/update-000003", "pocket-2m"])
def test_the_reference_may_be_an_earlier_run_or_another_model(finished, service, source):
    name = f"from-{source.replace('/', '-')}"
    short = small_run.config(reference={"source": source}, ppo__num_updates=1, evaluation__num_prompts=2)
    run = work_here(finished.path.parent, short, name)
    assert run.status().state == "finished", run.log_tail()
    assert run.metrics()[0].kl_estimates["full"] > 1e-3
    before = [sample.kl for sample in run.samples() if sample.stage == "before"]
    assert any(kl != 0 for kl in before), "the start is not the reference"
    answers = list(service.compare(run.path, "Review of the film: The", num_samples=2))
    assert all(answer.kl != 0 for answer in answers), "also of typed prompts, on both sides"


def test_weights_that_are_not_finite_never_reach_the_disk(tmp_path):
    session = small_run.session(tmp_path, small_run.config())
    session.save()
    with torch.no_grad():
        next(session.policy.parameters())[0] = float("nan")
    session.trainer.updates_done = 1
    session.save()
    assert [folder.name for folder in session.run.checkpoints_path.iterdir()] == ["update-000000"]
    assert "not finite" in session.run.events()[-1].message


def test_out_of_memory_ends_with_what_to_change(tmp_path, monkeypatch):
    def fail(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(worker, "train_policy", fail)
    status = work_here(tmp_path, catalog.preset("gpt2")).status()
    assert status.reason == "out_of_gpu_memory"
    assert "Train with LoRA" in status.message


def test_a_model_that_is_not_here_is_fetched_in_a_phase_of_its_own_that_can_be_stopped(tmp_path, monkeypatch):
    run = RunDirectory.create(tmp_path, small_run.config(), "r")
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


@pytest.mark.parametrize(("kind", "samples"), [("run", 64), ("trial", 20)])
def test_the_scale_of_the_reference_is_of_a_whole_batch_and_in_a_trial_of_what_is_written_at_once(
    tmp_path, monkeypatch, kind, samples
):
    monkeypatch.setattr(language_model.LanguageModel, "is_small", False)
    monkeypatch.setattr(memory.Memory, "reference_rows", lambda _: 20)
    config = small_run.config(score={"normalise": "reference"}, kind=kind)
    run = RunDirectory(tmp_path / "one")
    run.control_path.mkdir(parents=True)
    run.publish(config)
    small_run.Session(run, config, RunWriter(run, 3), lambda: None).begin()
    (scale,) = [event for event in run.events() if event.kind == "score_scale"]
    assert scale.data["samples"] == samples
    assert f"from {samples} texts of the reference" in scale.message
    assert 0 < scale.data["sd_error"] < scale.data["sd"]


def test_the_first_answers_to_the_fixed_prompts_are_written_with_the_texts_of_the_reference(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model.LanguageModel, "is_small", False)
    session = small_run.session(tmp_path, small_run.config(evaluation__token_samples=2))
    batches, written = [], evaluation.answer
    monkeypatch.setattr(evaluation, "answer", lambda *args: batches.append(len(args[2])) or written(*args))
    session.begin()
    session.evaluate_if_due()
    assert batches == [small_run.FEW + 4]
    assert session.fixed_prompts.ahead is None
    alone, _, tokens = session.evaluate("before")
    assert batches[1:] == [4], "by themselves"
    assert list(alone) == session.run.samples()
    figures = session.run.token_figures()
    assert [figure.pieces for figure in tokens] == [figure.pieces for figure in figures]
    assert figures[0].log_probs == pytest.approx(tokens[0].log_probs, abs=1e-3)


@pytest.mark.parametrize("changes", [{"sampling__top_k": 4}, {"reference": {"source": "pocket-2m"}}])
def test_answers_that_are_no_texts_of_the_reference_are_written_by_themselves(tmp_path, monkeypatch, changes):
    small = small_run.session(tmp_path, small_run.config(), "small")
    assert not small.begins_alike, "a small model, whose texts stay what they were"
    monkeypatch.setattr(language_model.LanguageModel, "is_small", False)
    assert small_run.session(tmp_path, small_run.config(), "alike").begins_alike
    assert not small_run.session(tmp_path, small_run.config(**changes), "other").begins_alike
