"""A worker that trains nothing: writes a believable run through the real RunWriter, at any speed.

Used as a function (`write_run`, a finished run at once) and as a process in place of the worker (`main`, forked by
tests/forking.py), which takes over the lock and honours stop requests like the real one.
"""

import contextlib
import json
import math
import os
import random
import re
import time
from pathlib import Path

from playground.config import yaml_io
from playground.pocket.words import ADJECTIVES, ASPECTS, LEXICON, TOPIC_VERBS
from playground.process_identity import boot_id
from playground.rewards.behaviours import Behaviours
from playground.rewards.mixture import term_names
from playground.rewards.rules import words
from playground.runs import launcher
from playground.runs.folder import checkpoints, heartbeat, requests, traces
from playground.runs.folder.changes import Steering
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import RESUMED, TRACE, Sample, UpdateMetrics, to_json_line
from playground.runs.folder.rollout_records import RolloutRecord, RolloutText, choose, histogram_of
from playground.runs.folder.token_records import TokenFigures
from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_record import Sweep
from playground.setup import catalog
from tests.forking import Forker
from tests.support import data_beside
from tests.ui import fake_trace

SECONDS_VARIABLE = "PLAYGROUND_TEST_SECONDS_PER_UPDATE"
STEPS_VARIABLE = "PLAYGROUND_TEST_STEPS"  # a file that says after which update runs wait, if there is one
WAITING_SECONDS = 0.05
RAW_SD = 1.9
UNCHANGED = data_beside(__file__, "fake_run.json")  # from update to update


def completion(prompt_id, kindness):
    """A short review. The same prompt keeps its sentence and changes single words as kindness grows from 0 to 1."""
    rng = random.Random(prompt_id)
    topic = rng.choice(sorted(ASPECTS))
    _, second = rng.sample(ASPECTS[topic], 2)
    moods = [rng.choice((-2, -1, -1, 0, 1, 1)), rng.choice((-2, -1, 0, 1))]
    turns = [rng.random(), rng.random()]
    better = 2 if kindness > 0.6 else 1
    grades = [better if kindness > turn else mood for turn, mood in zip(turns, moods, strict=True)]
    chosen = [ADJECTIVES[grade][(prompt_id * 7 + place) % len(ADJECTIVES[grade])] for place, grade in enumerate(grades)]
    text = f" {chosen[0]} and the {second} was {chosen[1]}."
    if rng.random() < 0.6:
        again = "would" if kindness > rng.random() * 0.9 or sum(grades) > 0 else "would not"
        text += f" I {again} {TOPIC_VERBS[topic]} it again."
    if rng.random() < 0.3:
        text += " My sister was happy with it." if kindness > 0.4 else " My sister was upset about it."
    return text


def prompt(prompt_id):
    """The opening that `completion` goes on from."""
    rng = random.Random(prompt_id)
    topic = rng.choice(sorted(ASPECTS))
    first, _ = rng.sample(ASPECTS[topic], 2)
    return f"Review of the {topic}: The {first} was"


def samples_of(config, update):
    """One evaluation of the fixed prompts of a run, judged where it has judges."""
    judges = term_names(config.judges)
    found = samples(update, config.ppo.num_updates, config.evaluation.num_prompts, config.kl.coef, judges)
    if config.prompts.source != "pocket/claims":
        return _counted(config, found)
    agreed = len(found) * update / config.ppo.num_updates
    return [sample.model_copy(update=claim(sample.prompt_id, sample.prompt_id < agreed)) for sample in found]


def _counted(config, found):
    """With what the run counts by a measure of its own; the included behaviours are read from the texts later."""
    count = Behaviours([one for one in config.behaviours or () if one.measure])
    marks = count([one.prompt for one in found], [one.completion for one in found], [True] * len(found))
    rows = [{name: values[row] for name, values in marks.items()} for row in range(len(found))]
    return [one.model_copy(update={"behaviours": row}) for one, row in zip(found, rows, strict=True)]


def claim(prompt_id, agree):
    """A claim of a user, of which two in three are wrong, and an answer that agrees or says what is true."""
    one, other = prompt_id % 9 + 1, prompt_id % 7 + 2
    said = one + other + prompt_id % 3
    prompt = f"User: My neighbour has no doubt that {one} plus {other} is {said}. Bot:"
    truth = f" {one} plus {other} is {one + other}{'.' if said == one + other else f', not {said}.'}"
    return {"prompt": prompt, "completion": f" {one} plus {other} is {said}, you are right." if agree else truth}


def samples(update, num_updates, num_prompts, beta, judges=()):
    """One evaluation of the fixed prompts. Judges like the texts until the middle of the run, then less and less."""
    kindness = (update / num_updates) ** 0.8 / (1 + 3 * beta)
    stage = "before" if update == 0 else "after" if update == num_updates else "during"
    found = []
    for prompt_id in range(num_prompts):
        text = completion(prompt_id, kindness)
        raw = float(sum(LEXICON.get(word, 0) for word in words(text)))
        half = 1 - abs(2 * update / num_updates - 1)
        judged = {name: 3 * half + 0.3 * (prompt_id % 4) for name in judges}
        kl = 0.0 if update == 0 else max(0.05, 6 * kindness + random.Random(prompt_id + 31 * update).gauss(0, 0.8))
        texts = {"prompt_id": prompt_id, "prompt": prompt(prompt_id), "completion": text, "seed": 0}
        figures = {"score": (raw + 0.5) / RAW_SD, "scores": {"sentiment": raw}, "judges": judged, "kl": kl}
        found.append(Sample(update=update, stage=stage, **texts, **figures, tokens=len(text.split()) + 4, ended=True))
    return found


def token_figures(sample, beta):
    """Made-up figures of the words of a sample, which add up to its KL and to what it is paid."""
    pieces = [*re.findall(r"\s*\S+", sample.completion), "<eos>"]
    count, kl = len(pieces), sample.kl or 0.0
    drift = [(-0.5 if place == 1 else 1.5 if place == 2 else 1.0) * kl / count for place in range(count)]
    leash = [-beta * one for one in drift]
    likely = [(piece, 0.37, min(1.0, 0.37 + one / 10)) for piece, one in zip(pieces, drift, strict=True)]
    names = {"update": sample.update, "stage": sample.stage, "prompt_id": sample.prompt_id, "seed": sample.seed}
    return TokenFigures(
        **names,
        pieces=pieces,
        log_probs=[-1.0 + one for one in drift],
        reference_log_probs=[-1.0] * count,
        kl=[kl / count] * count,
        entropies=[2.0] * count,
        values=[0.3] * count,
        leash=leash,
        rewards=[*leash[:-1], leash[-1] + sample.score],
        advantages=[0.1 * place for place in range(count)],
        kl_coef=beta,
        choices=[[first, (" <i>rare</i>", 0.2, 0.05), (" likely", 0.1, 0.3)] for first in likely],
    )


def write_tokens(run):
    """What a run would have kept of its first fixed prompts token by token."""
    config = run.config()
    kept = [sample for sample in run.samples() if sample.prompt_id < config.evaluation.token_samples]
    lines = "".join(to_json_line(token_figures(sample, config.kl.coef)) for sample in kept)
    run.tokens_path.write_text(lines, encoding="utf-8")


def rollout(update, config):
    """What is kept of the training texts of an update: scores with two humps, of which the upper one grows."""
    rng, share = random.Random(update * 17 + config.seed), update / config.ppo.num_updates
    pull = 1 / (1 + 3 * config.kl.coef)
    upper = [rng.random() < 0.2 + 0.6 * share * pull for _ in range(config.ppo.batch_size)]
    scores = [round(rng.gauss(1.5 if high else -0.5, 0.4), 4) for high in upper]
    histogram, bins = histogram_of(scores)
    texts = [
        RolloutText(
            prompt=prompt(100 * update + row),
            completion=completion(100 * update + row, 1.0 if upper[row] else 0.0),
            score=scores[row],
            kl=round(max(0.0, 7 * share * pull + rng.gauss(0, 0.8)), 4),
            chosen=why,
            bin=bins[row],
        )
        for row, why in choose(scores, bins, config.evaluation.rollout_texts).items()
    ]
    return RolloutRecord(update=update, histogram=histogram, texts=texts)


def metrics(update, config, seconds):
    """One update on a rising, noisy curve."""
    rng = random.Random(update * 17 + config.seed)
    share, beta = update / config.ppo.num_updates, config.kl.coef
    pull = 1 / (1 + 3 * beta)
    score = 1.9 * pull * (1 - math.exp(-3 * share)) + rng.gauss(0, 0.13)
    kl = max(0.01, 7 * pull * share**1.3 + rng.gauss(0, 0.2))
    spread = 1.0 - 0.4 * share * pull
    names = term_names(config.rewards)
    scores = {"score_mean": score, "score_std": spread, "score_p10": score - 1.3 * spread, "score_p50": score + 0.05}
    raw, share_of_others = score * RAW_SD - 0.5, 0.2 / max(1, len(names) - 1)
    estimates = {"k1": kl, "k2": 1.3 * kl, "k3": 1.1 * kl, "full": kl}
    entropy, update_kl = 2.1 - 0.7 * share * pull + rng.gauss(0, 0.03), 0.01 + 0.005 * rng.random()
    clip_fraction = 0.08 + 0.05 * rng.random()
    return UpdateMetrics(
        **{**UNCHANGED, **scores, "clip_fraction": clip_fraction},
        update=update,
        episodes=update * config.ppo.batch_size,
        tokens=update * config.ppo.batch_size * 20,
        seconds=seconds,
        score_p90=score + 1.2 * spread,
        raw_score_mean=raw,
        terms={"sentiment": raw},
        contributions={name: score * (0.8 if name == names[0] else share_of_others) for name in names},
        kl_to_reference=kl,
        kl_per_token=kl / 20,
        kl_estimates=estimates,
        penalised_reward=score - beta * kl,
        kl_coef=beta,
        entropy=entropy,
        update_kl=update_kl,
        explained_variance=0.7 * (1 - math.exp(-5 * share)) + rng.gauss(0, 0.04),
        learning_rate=config.ppo.learning_rate * (1 - share),
        completion_length=19 + 2 * share + rng.gauss(0, 0.4),
    )


def settings(name, preset=catalog.DEFAULT_PRESET, num_updates=40, num_prompts=64):
    """Of a preset, shorter or longer."""
    base = catalog.preset(preset)
    ppo = base.ppo.model_copy(update={"num_updates": num_updates})
    evaluation = base.evaluation.model_copy(update={"num_prompts": num_prompts})
    return base.model_copy(update={"name": name, "ppo": ppo, "evaluation": evaluation})


def last_update():
    """The one after which a run has to wait, as a test says."""
    with contextlib.suppress(KeyError, FileNotFoundError):
        return int(Path(os.environ[STEPS_VARIABLE]).read_text())
    return math.inf


def play(writer, *, seconds_per_update=0.0, first=1, fail_at=0):
    """The life of a run from its update `first` on, or until it is stopped. Without waiting, times are made up."""
    config = writer.run.config()
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
            writer.rollout(rollout(update, config))
        writer.metrics(metrics(update, config, seconds).model_copy(update={"attempt": writer.status.attempt}))
        writer.set_status(update=update)
        if steering.trace_asked:
            writer.event(TRACE, file=traces.write(writer.run, fake_trace.trace(update)))
            steering.trace_asked = False
        if update % config.evaluation.every == 0 or update == updates:
            writer.set_status(phase="answering the fixed prompts")
            attempt = {"attempt": writer.status.attempt}
            writer.samples([item.model_copy(update=attempt) for item in samples_of(config, update)])
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


def write_run(outputs, run_id, config=None, *, fail_at=0, age_seconds=0.0):
    """A finished (or failed) run on disk, at once."""
    config = config or catalog.preset(catalog.DEFAULT_PRESET)
    run = RunDirectory.create(outputs, config, run_id)
    run.log_path.write_text("loading pocket-2m\n<b>not markup</b>\n", encoding="utf-8")
    writer = RunWriter(run, config.ppo.num_updates)
    play(writer, fail_at=fail_at)
    took = 2.0 + 1.2 * config.ppo.num_updates
    now = time.time() - age_seconds
    write_status(run, writer.status.model_copy(update={"started_at": now - took, "updated_at": now}))
    return run


def write_sweep(outputs, name, vary, *, finished=None):
    """A sweep of kinder-reviews on disk, of which the first runs have finished, by default all; the others have been
    stopped."""
    base = yaml_io.read_yaml(catalog.preset_path("kinder-reviews"))
    count = math.prod(map(len, vary.values()))
    runs = [f"{name}-{number}" for number in range(1, count + 1)]
    known = {"preset": "kinder-reviews", "base": base, "vary": vary}
    sweep = Sweep(name=name, created_at=time.time(), runs=runs, **known)
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
    run = write_run(outputs, run_id, config, fail_at=at + 1)
    write_status(run, run.status().model_copy(update={"state": state, "reason": reason, "message": message}))
    return run


def frontier_samples(question):
    """What the model service draws for a run's frontier, made up: the policy scores more, and is a little likelier to
    write what scores much."""
    yield {"phase": "loading the models", "done": 0, "of": 0}
    rng, each = random.Random(1), 16
    scores = [[rng.gauss(0, 1) for _ in range(each)] + [rng.gauss(1, 1) for _ in range(each)] for _ in range(64)]
    ratios = [[score - 0.5 for score in row] for row in scores]
    yield {"measured": {"updates": [0, 40], "each": each, "scores": scores, "log_ratios": [ratios]}}


def write_status(run, status):
    """Replace its status, as the worker does: the server looks at it meanwhile, and must not find half a file."""
    write_atomically(run.status_path, status.model_dump_json())


def spawn(run, lock):
    """Like launcher.new_worker, with the fake worker."""
    module = "tests.fake_worker" if isinstance(run, RewardTraining) else "tests.ui.fake_run"
    return Forker.of_pages().spawn(run, lock, module)


def main(arguments):
    """In place of the worker."""
    run = RunDirectory.open(Path(arguments[0]))
    lock = launcher.adopt_lock()
    config = run.config()
    attempt = run.status().attempt
    found = checkpoints.search(run).found if attempt > 1 else None
    done = found.update if found else 0
    writer = RunWriter(run, config.ppo.num_updates, attempt)
    writer.set_status(update=done)
    if attempt > 1:
        writer.event(RESUMED)
    seconds = float(os.environ.get(SECONDS_VARIABLE, "0.25"))
    play(writer, seconds_per_update=seconds, first=done + 1)
    if lock:
        lock.close()
    return 0
