"""Spaces as the hub starts them, and a visitor who trains a run there. A CPU Space: user 1000, a home that cannot be
written. A ZeroGPU Space as `make space` writes it, with the hub's package `spaces` itself and a device API of ours.
What is large for it is a pocket model that lies in the hub's cache under the name of a suggested one."""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys

import httpx
import pytest

from bench import space as make_space
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog, limits
from playground.ui.auth import visitors
from tests.faults import resuming
from tests.model_folders import hub_cache
from tests.security import pages
from tests.spaces import gpu_page
from tests.spaces.test_cpu_space import space  # noqa: F401
from tests.support import PROJECT, wait_until
from tests.ui.conftest import free_port

SIZES = dict.fromkeys(["ppo__batch_size", "ppo__minibatch_size", "ppo__micro_batch_size"], 4)
PASSES = {"ppo__num_updates": 1, "ppo__num_epochs": 1, "evaluation__num_prompts": 2, "prompts__limit": 8}
SMALL = {"model__source": "pocket-1m", **SIZES, **PASSES}


def opened(url, alive):
    """A visitor with a cookie of their own, and a browser that says where it comes from, once the page answers.
    `alive` says whether the page's process is still there."""
    cookies, page = {visitors.VISITOR_COOKIE: secrets.token_urlsafe(24)}, {"Origin": url.rstrip("/")}
    once = httpx.Limits(max_keepalive_connections=0)  # the server closes those that are idle, while one is sent again
    client = httpx.Client(base_url=url, timeout=300, cookies=cookies, headers=page, limits=once)

    def answers():
        assert alive(), "the page has ended"
        with contextlib.suppress(httpx.TransportError):
            return client.get("live/_home").status_code == 200
        return False

    wait_until(answers, 300)
    return client


def start(client, **changes):
    """Press Start with a small run: its name, and the problems that the page has with it."""
    config = client.get("config").json()
    (button,) = [part["id"] for part in config["components"] if part["props"].get("elem_id") == "start"]
    (handler,) = [item["id"] for item in config["dependencies"] if [button, "click"] in item["targets"]]
    return pages.started(pages.call(client, handler, pages.form_values(**{**SMALL, **changes})))


def test_a_visitor_of_a_space_trains_a_run_where_only_the_outputs_can_be_written(space):  # noqa: F811
    port = free_port()
    page = space.start(port)
    try:
        with contextlib.closing(opened(f"http://127.0.0.1:{port}/", lambda: page.poll() is None)) as visitor:
            name, problems = start(visitor)
            assert name is not None, problems
            run = RunDirectory(space.volumes[0] / name)
            wait_until(lambda: run.status().ended, 300)
            again, refused = start(visitor, model__source="openai-community/gpt2")
            assert again is None
            assert refused[0]["field"] == "model.source"
        assert run.status().state == "finished"
        assert run.config().max_minutes == 30
        assert run.status().update == 1
    finally:
        page.terminate()
        page.wait()
    log = space.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log
    assert "ermission" not in log, log
    places = (space.home, space.root, space.app, *space.volumes, space.temporary)
    assert [path for path in places if space.can_write(path)] == [*space.volumes, space.temporary]


LARGE = "HuggingFaceTB/SmolLM2-135M"
RUN = {"ppo__num_updates": 8, "checkpoint__every": 1, "evaluation__every": 4}
TOKEN = {"X-IP-Token": "header.eyJ1c2VyIjogImEifQ.signature"}  # by which the hub knows whose quota a call is charged to


class Page:
    """A page of a ZeroGPU Space in a process of its own, and a visitor of it."""

    def __init__(self, folder):
        self.outputs, self.log = folder / "outputs", folder / "page.log"
        self.plan = folder / "plan"
        self.plan.touch()
        make_space.write(folder / "space", "me/space")
        shutil.copytree(catalog.model_folder("pocket-1m"), hub_cache(folder / "hf" / "hub", LARGE), dirs_exist_ok=True)
        port = free_port()
        command = [sys.executable, "-m", "tests.spaces.gpu_page", str(self.outputs), str(port)]
        paths = {"PYTHONPATH": f"{folder / 'space'}{os.pathsep}{PROJECT}", "HF_HOME": str(folder / "hf")}
        environment = {**os.environ, **paths, "OMP_NUM_THREADS": "1", limits.CAPS_VARIABLE: "all"}
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=folder / "space", env=environment, stdout=log, stderr=log)
        self.visitor = opened(f"http://127.0.0.1:{port}/", lambda: self.process.poll() is None)
        self.visitor.headers.update(TOKEN)

    def close(self):
        self.visitor.close()
        self.process.terminate()
        self.process.wait()

    def start(self, **changes):
        name, problems = start(self.visitor, **{"model__source": LARGE, **RUN, **changes})
        assert name is not None, problems
        return RunDirectory(self.outputs / name)

    def resume(self, run):
        parts = self.visitor.get("config").json()["components"]
        (view,) = [part["id"] for part in parts if part["props"].get("elem_id") == "run-view"]
        assert pages.ask(self.visitor, view, "resume_run", run.id).json()["error"] == ""

    def asked(self):
        return [json.loads(line) for line in self.outputs.with_name("asked.jsonl").read_text().splitlines()]

    def named(self, what):
        """One kind of that, since the test has begun."""
        return [call for call in self.asked()[self.before :] if call["what"] == what]

    def follow(self, plan):
        """Where calls end from now on; what was asked before is not counted."""
        self.plan.write_text(plan)
        self.before = len(self.asked())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with contextlib.closing(Page(tmp_path_factory.mktemp("space"))) as page:
        yield page


def ended(run, attempt):
    wait_until(lambda: run.status().ended and run.status().attempt == attempt and not run.is_alive(), 300)
    return run


def test_a_pocket_model_trains_on_the_processor_and_takes_nothing_of_a_quota(page):
    assert [call["what"] for call in page.asked()] == ["startup-report"]  # the hub has seen that a function asks
    page.follow("")
    run = ended(page.start(model__source="pocket-1m", ppo__num_updates=2), 1)
    assert run.status().state == "finished"
    assert requests.of(run).slot == "cpu"
    assert page.named("schedule") == []
    assert "Traceback" not in run.log_path.read_text(encoding="utf-8")


def test_three_calls_are_three_attempts_and_the_run_is_the_uninterrupted_one(page):
    page.follow("1:3 2:6")
    run = ended(page.start(), 1)
    status = run.status()
    assert (status.state, status.reason, status.update) == ("stopped", "time_limit", 3)
    page.resume(run)
    assert ended(run, 2).status().update == 6
    page.resume(run)
    assert ended(run, 3).status().state == "finished"
    wait_until(lambda: len(page.named("release")) == 3)
    assert [call["durationSeconds"] for call in page.named("schedule")] == ["60"] * 3
    assert {call["token"] for call in page.named("schedule")} == {TOKEN["X-IP-Token"]}  # the visitor's, each time
    assert len(page.named("allow")) == 1  # the fork was used again
    assert [call["fail"] for call in page.named("release")] == ["false"] * 3
    undisturbed = ended(page.start(device="cpu"), 1)  # on the processor, by an ordinary worker, in one go
    assert (undisturbed.status().state, len(page.named("schedule"))) == ("finished", 3)
    assert resuming.are_same(run, undisturbed)
    log = run.log_path.read_text(encoding="utf-8")
    assert "--- attempt 3" in log
    assert "Traceback" not in log + page.log.read_text(encoding="utf-8")


def test_a_call_that_gets_no_gpu_says_so_and_can_be_made_again(page):
    page.follow("1:1 2:1")
    refuse = page.outputs.with_name(gpu_page.REFUSED)
    refuse.touch()
    run = ended(page.start(), 1)
    status = run.status()
    assert (status.state, status.update) == ("stopped", 0)
    assert "exceeded your ZeroGPU quota (" in status.message
    assert "s requested vs. 0s left" in status.message
    wait_until(lambda: not run.queue_path.exists())
    assert not page.named("allow")
    refuse.unlink()
    page.resume(run)
    assert ended(run, 2).status().update == 1
