"""A worker that trains nothing: writes what a recorded one wrote through the real RunWriter, at any speed.

Used as a function (`write_run`, a finished run at once) and as a process in place of the worker (`main`, forked by
tests/forking.py), which takes over the lock and honours stop requests like the real one.
"""

import contextlib
import functools
import itertools
import json
import math
import operator
import os
import time
from pathlib import Path

from playground.config import yaml_io
from playground.process_identity import boot_id
from playground.rewards.behaviours import Behaviours
from playground.rewards.mixture import term_names
from playground.runs import launcher
from playground.runs.folder import checkpoints, heartbeat, requests, traces
from playground.runs.folder.changes import Steering
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import RESUMED, TRACE, to_json_line
from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import catalog
from tests.forking import Forker
from tests.support import config_with
from tests.ui import fake_trace

SECONDS_VARIABLE = "PLAYGROUND_TEST_SECONDS_PER_UPDATE"
STEPS_VARIABLE = "PLAYGROUND_TEST_STEPS"  # a file that says after which update runs wait, if there is one
WAITING_SECONDS = 0.05
OTHER_CHOICES = ((" <i>rare</i>", 0.2, 0.05), (" likely", 0.1, 0.3))  # tokens, and how likely before and now


@functools.cache
def recorded(preset, kind):
    """Records of a recording that ships, those of an update in a list of their own."""
    records = getattr(RunDirectory.open(catalog.RECORDED / preset), kind)()
    return [list(group) for _, group in itertools.groupby(records, key=operator.attrgetter("update"))]


def at(kind, update, config):
    """What a recording had after the same share of its updates."""
    moments = recorded("yes-man" if config.prompts.source == "pocket/claims" else "kinder-reviews", kind)
    return moments[(len(moments) - 1) * update // config.ppo.num_updates]


def samples_of(config, update):
    """One evaluation of the fixed prompts. Judges like the texts until the middle of the run, then less and less."""
    num_updates, samples = config.ppo.num_updates, at("samples", update, config)[: config.evaluation.num_prompts]
    stage = "before" if update == 0 else "after" if update == num_updates else "during"
    judges, half = term_names(config.judges), 1 - abs(2 * update / num_updates - 1)
    count = Behaviours([behaviour for behaviour in config.behaviours or () if behaviour.measure])
    marks = count([item.prompt for item in samples], [one.completion for one in samples], [True] * len(samples))
    changed = []
    for row, sample in enumerate(samples):
        judged = dict.fromkeys(judges, 3 * half + 0.3 * (row % 4))
        marked = {name: values[row] for name, values in marks.items()}
        changes = {"update": update, "stage": stage, "ended": True, "judges": judged, "behaviours": marked}
        changed.append(sample.model_copy(update=changes))
    return changed


def write_tokens(run):
    """What the recording kept of the first fixed prompts token by token. Made up are the values, the choices that there
    were, and that the second token was likelier before."""
    with open(run.tokens_path, "w", encoding="utf-8") as file:
        for figures in itertools.chain(*recorded("kinder-reviews", "token_figures")):
            log_probs = [*figures.log_probs]
            log_probs[1] = figures.reference_log_probs[1] - 0.5
            choices = [[(piece, 0.37, 0.4), *OTHER_CHOICES] for piece in figures.pieces]
            made_up = {"log_probs": log_probs, "choices": choices, "values": [0.3] * len(choices)}
            file.write(to_json_line(figures.model_copy(update=made_up)))


def metrics(update, config, seconds):
    """One update as it was in a recording, of a run with other settings."""
    (figures,) = at("metrics", update, config)
    names, beta = term_names(config.rewards), config.kl.coef
    texts = update * config.ppo.batch_size
    changes = {"update": update, "episodes": texts, "tokens": texts * 20, "seconds": seconds, "kl_coef": beta}
    changes["contributions"] = dict.fromkeys(names, figures.score_mean / len(names))
    changes["penalised_reward"] = figures.score_mean - beta * figures.kl_to_reference
    return figures.model_copy(update=changes)


def settings(name, preset=catalog.DEFAULT_PRESET, num_updates=40, num_prompts=64):
    changes = {"name": name, "ppo__num_updates": num_updates, "evaluation__num_prompts": num_prompts}
    return config_with(catalog.preset(preset).model_dump(mode="json"), changes)


def last_update():
    """The one after which a run has to wait, as a test says."""
    with contextlib.suppress(KeyError, FileNotFoundError):
        return int(Path(os.environ[STEPS_VARIABLE]).read_text())
    return math.inf


def play(writer, config, *, seconds_per_update=0.0, first=1, fail_at=0):
    """The life of a run from its update `first` on, or until it is stopped. Without waiting, times are made up."""
    began, updates = time.monotonic(), config.ppo.num_updates

    def wait(seconds):
        if seconds_per_update:
            time.sleep(seconds)
            beat(writer)

    def stop_if_asked():
        if writer.run.stop_requested:
            raise InterruptedError
        if seconds_per_update:
            beat(writer)

    writer.set_status(state="running", phase="loading the model")
    wait(min(1.0, seconds_per_update))
    writer.event("score_scale", "Score scale measured on the untrained model: mean -0.50, sd 1.90.", mean=-0.5, sd=1.9)
    if first == 1:
        writer.set_status(phase="answering the fixed prompts")
        writer.samples(samples_of(config, 0))
    current = [config]
    steering = Steering(writer, config, lambda changed, _: current.__setitem__(0, changed), stop_if_asked)
    for update in range(first, updates + 1):
        try:
            stop_if_asked()
            steering.before_update()
            while seconds_per_update and update > last_update():
                time.sleep(WAITING_SECONDS)
                stop_if_asked()
                steering.before_update()
        except InterruptedError:
            writer.finish("stopped", "stopped", f"Stopped after update {update - 1}.")
            return
        config = current[0]
        if fail_at == update:
            print("Traceback (most recent call last):\n  ...\nTrainingDiverged: The loss became infinite.")
            writer.finish("failed", "diverged", "The loss became infinite. Lower the learning rate and start again.")
            return
        writer.set_status(phase="writing and learning", update=update - 1)
        wait(seconds_per_update)
        seconds = time.monotonic() - began if seconds_per_update else 2.0 + 1.2 * update
        if config.evaluation.rollout_texts:
            writer.rollout(at("rollouts", update, config)[0].model_copy(update={"update": update}))
        writer.metrics(metrics(update, config, seconds))
        writer.set_status(update=update)
        if steering.trace_asked:
            writer.event(TRACE, file=traces.write(writer.run, fake_trace.trace(update)))
            steering.trace_asked = False
        if update % config.evaluation.every == 0 or update == updates:
            writer.set_status(phase="answering the fixed prompts")
            writer.samples(samples_of(config, update))
        if config.checkpoint.every and update % config.checkpoint.every == 0:
            write_checkpoint(writer.run, update)
            writer.event("checkpoint", f"Saved the policy after update {update}.")
    writer.finish("finished")


def beat(writer):
    """A sign of life, as the worker's watch writes it."""
    status = writer.status
    facts = {"boot_id": boot_id(), "pid": status.pid, "attempt": status.attempt, "patient": False}
    heartbeat.write(writer.run.path, heartbeat.Heartbeat(beat=heartbeat.now(), **facts))


def write_checkpoint(run, update):
    """A checkpoint that counts as intact, with a few bytes for weights."""
    folder = run.checkpoints_path / checkpoints.name_of(update)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / checkpoints.OPTIMIZER).write_bytes(b"moments")
    (folder / checkpoints.TRAINER).write_text(json.dumps({"update": update}), encoding="utf-8")
    manifest = {"format": 1, "files": checkpoints.listed(folder)}
    (folder / checkpoints.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def write_run(outputs, run_id, config=None, *, fail_at=0, age_seconds=0.0, **end):
    """A finished (or failed) run on disk; `end`: what its status says of that. A run from the last line on: a server
    that saw it half written would write an end of its own."""
    config = config or catalog.preset(catalog.DEFAULT_PRESET)
    run = RunDirectory.reserve(outputs, config, run_id)
    run.log_path.write_text("loading pocket-2m\n<b>not markup</b>\n", encoding="utf-8")
    writer = RunWriter(run, config.ppo.num_updates)
    play(writer, config, fail_at=fail_at)
    took = 2.0 + 1.2 * config.ppo.num_updates
    now = time.time() - age_seconds
    write_status(run, writer.status.model_copy(update={"started_at": now - took, "updated_at": now, **end}))
    run.publish(config)
    return run


def write_sweep(outputs, name, vary, *, finished=None):
    """A sweep of kinder-reviews on disk, of which the first runs have finished, by default all; others were stopped."""
    base = yaml_io.read_yaml(catalog.preset_path("kinder-reviews"))
    count = math.prod(map(len, vary.values()))
    runs = [f"{name}-{number}" for number in range(1, count + 1)]
    facts = {"preset": "kinder-reviews", "base": base, "vary": vary}
    sweep = Sweep(name=name, created_at=time.time(), runs=runs, **facts)
    for number, run_id in enumerate(sweep.runs):
        if number < (count if finished is None else finished):
            run = write_run(outputs, run_id, sweep.config(run_id))
        else:
            run = write_ended(outputs, run_id, "stopped", "stopped", config=sweep.config(run_id))
        requests.record(run, sweep.request(run_id), "cpu")
    sweep_record.write(outputs, sweep)
    return sweep


def write_ended(outputs, run_id, reason, state="failed", *, at=12, message="", config=None):
    """A run on disk that ended after update `at` for a reason."""
    return write_run(outputs, run_id, config, fail_at=at + 1, state=state, reason=reason, message=message)


def frontier_samples(question):
    """What the model service has drawn for the frontier of a recording."""
    yield {"phase": "loading the models", "done": 0, "of": 0}
    yield {"measured": json.loads((catalog.RECORDED / "kinder-reviews" / "frontier.json").read_text())}


def write_status(run, status):
    """Replace its status, as the worker does: the server looks at it meanwhile, and must not find half a file."""
    write_atomically(run.status_path, status.model_dump_json())


def spawn(run, lock):
    """Like launcher.new_worker, with the fake worker."""
    module = "tests.fake_worker" if isinstance(run, RewardTraining) else "tests.ui.fake_run"
    return Forker.of_pages().spawn(run, lock, module)


def main(arguments):
    run = RunDirectory.open(Path(arguments[0]))
    lock = launcher.adopt_lock()
    config = run.config()
    attempt = run.status().attempt
    newest = checkpoints.search(run).found if attempt > 1 else None
    done = newest.update if newest else 0
    writer = RunWriter(run, config.ppo.num_updates, attempt)
    writer.set_status(update=done)
    if attempt > 1:
        writer.event(RESUMED)
    seconds = float(os.environ.get(SECONDS_VARIABLE, "0.25"))
    play(writer, config, seconds_per_update=seconds, first=done + 1)
    if lock:
        lock.close()
    return 0
