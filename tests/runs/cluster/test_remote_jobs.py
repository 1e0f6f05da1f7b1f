"""What becomes of runs whose jobs wait, work, end, are lost, or cannot be submitted; and what is started on a node: the
ordinary worker, in the folder that both sides see."""

import shutil
import threading

import pytest

from playground.errors import BackendUnavailable, RunBusy
from playground.runs import history, launcher, lifeline, queue, supervisor
from playground.runs.cluster import elsewhere, look_after, node, remote_jobs
from playground.runs.folder import placed, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.runs.cluster.scripted import Scripted, connect, handed_over
from tests.support import data_beside, small_config, update_metrics


@pytest.fixture(autouse=True)
def slurm(monkeypatch):
    backend = Scripted()
    connect(monkeypatch, backend)
    monkeypatch.setenv(lifeline.POLICY_VARIABLE, "survive")  # what a node changes of its process is put back
    return backend


def begun(run):
    """Its worker, as far as files tell of it."""
    writer = RunWriter(run, 3, run.status().attempt)
    writer.metrics(update_metrics(1))
    writer.set_status(state="running", update=1)
    return writer


def end(run):
    status = run.status()
    return status.state, status.reason


def test_a_run_waits_for_its_node_as_a_living_one(outputs, slurm):
    run = handed_over(outputs, None, "one", "cpus=2")
    assert (run.status().state, run.is_alive(), queue.waiting(outputs)) == ("queued", True, [])
    assert [living.id for living in launcher.living_runs(outputs)] == ["one"]
    assert [(job.run.id, job.attempt, job.cpus, job.gpus) for job in slurm.jobs] == [("one", 1, 2, 0)]
    where = placed.read(run.path)
    assert where
    assert (where.place, where.options, where.job) == ("slurm", ["cpus=2"], slurm.jobs[0].name)
    look_after(outputs)
    assert (end(run), run.status().phase) == (("queued", ""), "waiting for a node")
    for refused in (launcher.resume, history.delete_run):
        with pytest.raises(RunBusy):
            refused(run)
    supervisor.Supervisor(outputs).look()
    assert (launcher.start_waiting(outputs), run.status_on_disk().state) == ([], "queued")
    begun(run).finish("finished")
    look_after(outputs)
    assert end(run) == ("finished", "")
    assert not run.is_alive()


def test_a_run_elsewhere_takes_no_device_here(outputs, fake_worker):
    assert requests.of(handed_over(outputs)).slot == "slurm"
    here = launcher.start(small_config("finish"), outputs, "here")
    assert here.process is not None
    assert here.process.wait(60) == 0


@pytest.mark.parametrize("words", ["over (NODE_FAIL)", "gone"])
def test_a_run_that_loses_its_node_ends_and_can_be_resumed(outputs, slurm, monkeypatch, words):
    run, clock = handed_over(outputs), [1e9]
    begun(run)
    monkeypatch.setattr(remote_jobs.time, "time", lambda: clock[0])
    known = {} if words == "gone" else {slurm.jobs[0].name: words}
    looks = [(known, 0.0), ({slurm.jobs[0].name: ""}, 99.0), (known, 1.0), (known, 50.0)]
    for slurm.known, seconds in looks:
        clock[0] += seconds
        look_after(outputs)
        assert end(run) == ("running", ""), "it may be missing for a moment"
    clock[0] += 11.0
    look_after(outputs)
    assert end(run) == ("interrupted", "place_lost")
    assert run.status().resumable
    assert words in run.status().message
    assert not run.is_alive()
    assert launcher.resume(run, elsewhere("slurm", [])).process is None
    assert [job.attempt for job in slurm.jobs] == [1, 2]
    assert slurm.jobs[0].name != slurm.jobs[1].name


def test_a_run_that_waits_is_stopped_at_once_and_one_whose_node_does_not_answer_is_given_up(
    outputs, slurm, monkeypatch
):
    waiting, training = (handed_over(outputs, None, name) for name in ("waiting", "training"))
    begun(training)
    for run in (waiting, training):
        launcher.stop(run)
    look_after(outputs)
    assert end(waiting) == ("stopped", "stopped")
    assert training.status().state == "stopping"
    assert slurm.cancelled == [slurm.jobs[0].name]
    monkeypatch.setattr(remote_jobs, "STOP_SECONDS", -1.0)
    look_after(outputs)
    assert slurm.cancelled == [job.name for job in slurm.jobs]
    assert end(training) == ("stopped", "stopped")


def test_a_job_that_is_refused_is_the_end_of_its_run_with_words(outputs, slurm):
    slurm.is_away = True
    with pytest.raises(BackendUnavailable):
        handed_over(outputs)
    run = RunDirectory.open(outputs / "one")
    assert end(run) == ("interrupted", "place_lost")
    assert run.status().message == "The controller does not answer."
    slurm.is_away = False
    launcher.resume(run, elsewhere("slurm", []))
    assert end(run) == ("queued", "")
    assert len(slurm.jobs) == 1


def test_neither_a_backend_that_is_away_nor_one_bad_run_costs_another_run(outputs, slurm, capsys):
    bad, good = handed_over(outputs, None, "bad"), handed_over(outputs, None, "good")
    slurm.is_away = True
    look_after(outputs)
    assert "The controller does not answer." in capsys.readouterr().err
    assert end(bad) == end(good) == ("queued", "")
    slurm.is_away, slurm.trouble = False, "bad"
    for run in (bad, good):
        launcher.stop(run)
    look_after(outputs)
    assert "bad could not be looked at: Stale file handle" in capsys.readouterr().err
    assert bad.status_on_disk().state == "queued"
    assert end(good) == ("stopped", "stopped")


def test_a_run_of_a_backend_that_is_gone_is_one_without_a_worker(outputs):
    run = handed_over(outputs)
    placed.write(run.path, placed.read(run.path).model_copy(update={"place": "jobs", "options": ["bucket=me/runs"]}))
    begun(run)
    look_after(outputs)
    assert [ended.id for ended in supervisor.Supervisor(outputs).end_the_dead()] == ["one"]
    assert run.status().resumable


def test_a_copy_of_a_run_has_no_job(outputs):
    run = handed_over(outputs)
    begun(run)
    shutil.copytree(run.path, outputs / "copy")
    assert not RunDirectory(outputs / "copy").is_alive()
    assert run.is_alive()


def compute(run, attempt=1, *seconds):
    """As a node does it, but not in the first thread of a process."""
    thread = threading.Thread(target=node.compute, args=(run.path, attempt, *seconds))
    thread.start()
    thread.join()


@pytest.mark.parametrize(("does", "state", "reason"), data_beside(__file__, "options.yaml")["ends"])
def test_a_run_ends_on_a_node_as_it_would_here(outputs, fake_worker, does, state, reason):
    run = handed_over(outputs, small_config(does))
    compute(run)
    assert (run.status().state, run.status().reason, run.is_alive()) == (state, reason, False)
    assert "fake worker's last words" in run.log_tail()
    assert does != "crash" or "exit code 9" in run.status().message  # which only the node has seen


@pytest.mark.parametrize("attempt", [0, 2])
def test_a_job_whose_attempt_is_not_asked_for_does_nothing(outputs, fake_worker, attempt, monkeypatch):
    monkeypatch.setattr(node, "STALE_SECONDS", 0.0)
    run = handed_over(outputs, small_config())
    compute(run, attempt)
    assert run.status().state == "queued"
    assert not run.log_path.exists()
    compute(run)
    compute(run)
    assert len(run.metrics()) == 3, "nor does the second of two that were submitted for one"


def test_a_worker_ends_before_the_time_of_its_job_is_up(outputs, fake_worker, monkeypatch):
    monkeypatch.setattr(node, "LOOK_SECONDS", 0.05)
    run = handed_over(outputs, small_config("wait"))
    compute(run, 1, 4.0)
    assert run.status_on_disk().reason == "killed", "a worker by script saves nothing"
