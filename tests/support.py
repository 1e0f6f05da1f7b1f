"""Small things that several tests need: waiting on a condition, and records with known figures."""

import asyncio
import concurrent.futures
import contextlib
import json
import os
import signal
import time
from pathlib import Path

import psutil
import yaml

from playground.config import yaml_io
from playground.errors import InvalidConfig
from playground.runs.folder.records import Sample, UpdateMetrics

PROJECT = Path(__file__).resolve().parents[1]
TESTS_VARIABLE = "PLAYGROUND_TEST_PROCESS"  # in what a test starts: the process of the tests


def data_beside(module, name):
    """The data of a YAML or JSON file in or below the folder of a module, which is given by its `__file__`."""
    text = Path(module).parent.joinpath(name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else yaml.load(text, yaml.CSafeLoader)


def wait_until(condition, seconds=600):
    """The condition's first true value; fails the test at the deadline.

    Args:
        seconds: by default only what ends a test that hangs: a busy machine may take many times as long as usual.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)
    return value


def has_ended(pid):
    """True if there is no such process, or nothing of it but an exit code that nobody has fetched. While it ends, its
    first thread may be dead already when another still holds the files, and with them the locks."""
    try:
        process = psutil.Process(pid)
        return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
    except (psutil.NoSuchProcess, psutil.ZombieProcess):  # it may end between any two looks
        return True


def the_tests_have_ended():
    """True in a process that a test has started, once there are no more tests: then it ends too."""
    return not psutil.pid_exists(int(os.environ.get(TESTS_VARIABLE, 1)))


def kill_worker(run):
    """SIGKILL to the worker of a run, if there is one; one that has just begun may not have told its number yet."""
    pid = wait_until(lambda: run.status_on_disk().pid if run.is_alive() else -1)
    with contextlib.suppress(ProcessLookupError):
        if pid not in (-1, os.getpid()):
            os.kill(pid, signal.SIGKILL)


def at_once(*functions):
    """Call each in a thread of its own; return when all have. Raises: what the first that failed has raised."""
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        list(pool.map(lambda function: function(), functions))


def run_async(coroutine):
    """Like asyncio.run, in a thread of its own: tests in a browser leave a running loop in the thread of the tests."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def small_config(name="finish", **overrides):
    """A valid configuration of three updates. The fake worker acts on its name."""
    return yaml_io.from_dict({"name": name, "rewards": [{"kind": "length"}], "ppo": {"num_updates": 3}, **overrides})


def problems_of(call, *arguments, **options):
    """For what a call refuses a configuration; nothing, where it takes it."""
    try:
        call(*arguments, **options)
    except InvalidConfig as refused:
        return refused.problems
    return []


def fields_of(call, *arguments, **options):
    """The fields of these problems."""
    return [problem.field for problem in problems_of(call, *arguments, **options)]


def config_with(data, changes):
    """A configuration with changes: `ppo__num_epochs` stands for ppo.num_epochs, `ppo` for the whole part."""
    for name, value in changes.items():
        part, _, field = name.partition("__")
        if field:
            data.setdefault(part, {})[field] = value
        else:
            data[part] = value
    return yaml_io.from_dict(data)


def update_metrics(update, **changes):
    """Metrics with figures that are easy to follow: score update / 2, KL = update, two seconds an update."""
    groups = ("attempt", "ranks", "tokens_trained", "terms", "contributions", "kl_estimates", "kl_spreads")
    values = {name: 0.0 for name in UpdateMetrics.model_fields if name not in groups}
    values |= {"update": update, "episodes": 64 * update, "tokens": 640 * update, "seconds": 2.0 * update}
    values |= {"score_mean": update / 2, "kl_to_reference": float(update)}
    return UpdateMetrics(**{**values, **changes})


def sample(prompt_id, stage, score, **changes):
    """One evaluation sample: before training at update 0, after it at update 3."""
    values = {
        "update": 0 if stage == "before" else 3,
        "stage": stage,
        "prompt_id": prompt_id,
        "prompt": f"Prompt {prompt_id}",
        "completion": f" {stage} {prompt_id}",
        "seed": 100 + prompt_id,
        "score": score,
        "kl": 0.0 if stage == "before" else 4.0,
        "tokens": 10,
        "ended": True,
    }
    return Sample(**{**values, **changes})


class AskedService:
    """Stands in for the model service: remembers the questions and answers as told."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, []

    def ask(self, kind, question, timeout_seconds=0.0):
        self.asked.append((kind, question))
        yield from self.answers
