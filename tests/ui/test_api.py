"""Scripts and agents drive the page by its named endpoints: the examples of docs/api.md as they are, and the edges."""

from __future__ import annotations

import concurrent.futures
import contextlib
import io
import json
import re
import shutil
import subprocess
import sys

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

from playground.config import flatten
from playground.errors import InvalidConfig
from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui import server
from playground.ui.api import answers
from playground.ui.auth import visitors
from tests.security import pages
from tests.support import PROJECT, run_async, wait_until
from tests.ui import fake_run
from tests.ui.conftest import START_SECONDS, free_port

DOC = (PROJECT / "docs" / "api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", DOC, re.DOTALL)
HERE = "http://127.0.0.1:7860/"
BY_CLIENT, AS_HOST, BY_AGENT = (text for kind, text in BLOCKS if kind == "python")
(BY_CURL,) = (text for kind, text in BLOCKS if kind == "bash")
TINY = {"ppo.num_updates": 2, "ppo.batch_size": 16, "evaluation.num_prompts": 8, "evaluation.every": 2}


@pytest.fixture(scope="module")
def page(tmp_path_factory, recorded):
    """A page on one's own machine that agents may use, with a run that has ended."""
    outputs = tmp_path_factory.mktemp("outputs-api")
    fake_run.write_run(outputs, "done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "SECONDS_PER_UPDATE", "0.05")
        with pages.served("local", outputs, recorded, mcp=True) as served:
            yield served


@pytest.fixture(scope="module")
def client(page):
    found = Client(page.url, verbose=False, download_files=False, analytics_enabled=False)
    yield found
    found.close()


def executed(example, page):
    """What an example in Python prints, on this page. In a thread of its own: see `run_async`."""
    assert HERE in example
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(exec, example.replace(HERE, page.url), {"__name__": "example"}).result()
    return shown.getvalue()


def test_the_table_names_what_there_is_with_its_arguments(page):
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", DOC, re.MULTILINE)
    told = {name: tuple(re.findall(r"`(\w+)[=`]", arguments)) for name, arguments in rows}
    assert told == {name: endpoint.parameters for name, endpoint in page.access.endpoints.items()}


def test_the_example_in_python_goes_from_start_to_comparison(page):
    lines = executed(BY_CLIENT, page).splitlines()
    followed = [line for line in lines if re.match(r"(queued|starting|running|finished) \d+ ", line)]
    assert len(followed) > 2
    assert followed[-1].startswith("finished 10 ")
    assert "Score +" in lines[len(followed)]
    assert [line.count(" | ") for line in lines[-3:]] == [2, 2, 2]


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_example_with_curl_starts_one_run_and_compares_it(page):
    before = set(page.outputs.glob("kinder-reviews-*"))
    assert HERE in BY_CURL
    example = BY_CURL.replace(HERE, page.url)
    done = subprocess.run(["sh", "-c", example], capture_output=True, text=True, timeout=START_SECONDS)
    (made,) = set(page.outputs.glob("kinder-reviews-*")) - before
    data = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("data: [")]
    assert all(found[0]["run"] == made.name for found in data)
    assert len(data) > 4
    assert data[-2][0]["state"] == "finished"
    assert "Score +" in data[-1][0]["outcome"]
    assert len(data[-1][0]["pairs"]) == 1


def test_the_example_of_an_agent_runs_an_experiment(page):
    shown = executed(BY_AGENT, page).splitlines()
    assert set(json.loads(shown[0].replace("'", '"'))) == set(page.access.endpoints) - {"follow"}
    assert [line.split()[0] for line in shown[1:]] == ["0.05", "0.5"]
    assert all("Score" in line for line in shown[1:])


def test_the_example_as_the_host_of_a_class_starts_a_run(tmp_path, recorded, monkeypatch):
    with pages.served("classroom", tmp_path, recorded) as classroom:
        monkeypatch.setenv(visitors.TOKEN_VARIABLE, pages.TOKEN)
        run = executed(AS_HOST, classroom).strip()
        assert RunDirectory(tmp_path / run).config().ppo.num_updates == 10


def test_the_configuration_of_an_agent_is_json_with_the_address(page):
    (text,) = (text for kind, text in BLOCKS if kind == "json")
    (named,) = json.loads(text)["mcpServers"].values()
    assert named["url"] == f"{HERE}gradio_api/mcp/"


def test_every_parameter_is_described(page):
    for name, endpoint in page.access.endpoints.items():
        documented = page.running.demo.fns[endpoint.number].fn.__doc__
        assert all(f"{parameter}: " in documented for parameter in endpoint.parameters), name


def test_what_is_wrong_with_settings_is_told_all_at_once_and_nothing_starts(page, client):
    before = page.tree()
    wrong = {"kl": {"coef": -1, "coeff": 1}, "ppo.num_updates": "many", "nothing.x": 1, "about.title": "x", "a=b": 1}
    for api_name in ("/start", "/estimate"):
        with pytest.raises(AppError) as caught:
            client.predict("kinder-reviews", wrong, api_name=api_name)
        fields = {line.partition(": ")[0] for line in str(caught.value).splitlines()}
        assert fields == {"kl.coef", "kl.coeff", "ppo.num_updates", "nothing", "about.title", "a=b"}
        assert "kl.coeff: There is no such setting. Did you mean `kl.coef`?" in str(caught.value)
    assert page.tree() == before


def test_a_key_that_would_not_be_kept_is_refused(page, client):
    before = page.tree()
    for key in ("short", "with a space"):
        with pytest.raises(AppError, match="key: must have 8 to 40 letters, digits and hyphens, or be left out"):
            client.predict("kinder-reviews", {}, key, api_name="/start")
    assert page.tree() == before


def test_settings_by_dotted_names_and_nested_mean_the_same(page, client):
    settings = [
        {"kl.coef": 0.4, "rewards.0.weight": 2.0, "ppo.num_updates": 3},
        {"kl": {"coef": 0.4}, "rewards": [{"kind": "sentiment", "weight": 2.0}], "ppo": {"num_updates": 3}},
    ]
    runs = [client.predict("kinder-reviews", one, api_name="/start")["run"] for one in settings]
    configs = [flatten(RunDirectory(page.outputs / run).config()) for run in runs]
    assert configs[0] == configs[1]
    assert configs[0]["rewards"][0]["weight"] == 2.0
    assert configs[0]["kl.coef"] == 0.4
    with pytest.raises(AppError, match=r"^kl\.coef: is given twice"):
        client.predict("kinder-reviews", {"kl": {"coef": 1}, "kl.coef": 2}, api_name="/start")
    again = client.predict(f"run:{runs[0]}", {"seed": 7}, api_name="/start")["run"]
    assert flatten(RunDirectory(page.outputs / again).config()) == configs[0] | {"seed": 7}
    for run in (*runs, again):
        client.predict(run, api_name="/stop")
    wait_until(lambda: not launcher.living_runs(page.outputs))


def test_what_a_preset_sets_can_be_set(client):
    told = client.predict("short-leash", api_name="/presets")
    names = [one["preset"] for one in client.predict(api_name="/presets")["presets"]]
    assert names[: len(catalog.preset_names())] == catalog.preset_names()
    assert told["settings"]["kl.coef"] == catalog.preset("short-leash").kl.coef
    about = told["help"]["kl.coef"]
    assert (about["minimum"], about["maximum"], about["unit"]) == (0, 1000, "sd of score per nat")
    assert about["live"]
    assert told["help"]["kl.controller"]["options"] == ["fixed", "adaptive", "ziegler"]
    assert client.predict("short-leash", {"kl.coef": told["settings"]["kl.coef"]}, api_name="/estimate")["verdict"]


def test_figures_and_texts_are_of_the_wanted_updates_and_bounded(client, monkeypatch):
    told = client.predict("done", since=38, figures=["score_mean"], api_name="/metrics")
    assert told["metrics"]["update"] == [39, 40]
    assert list(told["metrics"]) == ["update", "score_mean"]
    assert told["units"] == {"score_mean": "sd"}
    assert told["updates"] == 40
    assert told["ended"]
    monkeypatch.setattr(answers, "MOST_ROWS", 10)
    assert len(client.predict("done", api_name="/metrics")["metrics"]["update"]) <= 10
    with pytest.raises(AppError, match=r"figures: must be a list of texts \(got str\)\."):
        client.predict("done", figures="score_mean", api_name="/metrics")
    with pytest.raises(AppError, match=r"figures: There is no figure `x`\. There are: .*kl_to_reference"):
        client.predict("done", figures=["x"], api_name="/metrics")
    newest, first = (client.predict("done", update=update, api_name="/samples") for update in (-1, 0))
    assert (newest["update"], first["update"]) == (40, 0)
    assert len(first["samples"]) == 64
    assert first["samples"][0]["completion"] == fake_run.completion(0, 0.0)
    with pytest.raises(AppError, match=r"update: The fixed prompts were answered at these updates: 0, .*40"):
        client.predict("done", update=1, api_name="/samples")
    monkeypatch.setattr(answers, "MOST_CHARACTERS", 5)
    assert {len(one["completion"]) for one in client.predict("done", api_name="/samples")["samples"]} == {6}


def test_a_recorded_run_is_read_and_not_asked(client):
    (recorded, *_) = client.predict(api_name="/runs")["recorded"]
    assert client.predict(recorded, pairs=2, api_name="/compare")["pairs"][0]["gain"] is not None
    assert client.predict(recorded, api_name="/outcome")["state"] == "finished"
    for api_name, arguments in (("/generate", ("The film was",)), ("/stop", ()), ("/change", ({"kl.coef": 1},))):
        with pytest.raises(AppError):
            client.predict(recorded, *arguments, api_name=api_name)


def test_completions_come_by_side_in_the_same_order(client):
    told = client.predict("done", "The film was", n=2, seed=3, api_name="/generate")
    assert [one["completion"] for one in told["before"]] == [" dull and number 0.", " dull and number 1."]
    assert [one["completion"] for one in told["after"]] == [" wonderful and number 0.", " wonderful and number 1."]
    for n in (0, 33, 10**30):
        with pytest.raises(AppError, match=r"Ask for 1 to 32 samples\."):
            client.predict("done", "The film was", n=n, api_name="/generate")
    with pytest.raises(AppError, match="The seed must be"):
        client.predict("done", "The film was", seed=-1, api_name="/generate")


def asked(url, *calls, headers=None):
    """What an agent gets of tools: a list of (whether it failed, text)."""

    async def ask():
        async with (
            streamablehttp_client(f"{url}gradio_api/mcp/", headers=headers) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            found = [await session.call_tool(tool, arguments) for tool, arguments in calls]
            return [(one.isError, one.content[0].text) for one in found]

    return run_async(ask())


def test_an_agent_gets_json_and_sentences_and_nothing_else_of_gradio(page):
    good, wrong, private, streamed = asked(
        page.url,
        ("status", {"run": "done"}),
        ("start", {"settings": {"kl.coef": -1, "seed": "x"}}),
        ("start_run", {}),
        ("follow", {"run": "done", "x": 1}),
    )
    assert not good[0]
    assert json.loads(good[1])["state"] == "finished"
    assert wrong == (True, "seed: must be a whole number (got 'x').\nkl.coef: must be at least 0 (got -1).")
    assert private == (True, "Unknown tool for this Gradio app: start_run")
    assert streamed[0]
    with page.program() as program:
        for method, path in (("GET", "sse"), ("POST", "messages/"), ("GET", "schema"), ("POST", "http/")):
            assert program.request(method, f"gradio_api/mcp/{path}").status_code == 404
        assert program.get("gradio_api/mcp/").status_code == 405
        assert program.post("gradio_api/mcp/", content="[" * 9_990).status_code == 400


def test_a_page_for_agents_says_what_it_lacks_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(server.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match=r"mcp: needs one more package: pip install -r requirements-mcp\.txt"):
        server.launch(port=free_port(), outputs=tmp_path, mcp=True)


@pytest.mark.nightly
def test_the_app_as_it_is_started_trains_for_a_script_and_for_an_agent(tmp_path):
    """`app.py`, a real worker, real models: from start to comparison, by both."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "app.py", "--mcp", "--port", str(port), "--outputs", str(tmp_path)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            wait_until(lambda: "is ready" in process.stdout.readline(), START_SECONDS)
            script = Client(url, verbose=False, download_files=False, analytics_enabled=False)
            mine = script.predict("kinder-reviews", TINY, api_name="/start")["run"]
            ((_, started),) = asked(url, ("start", {"settings": TINY | {"seed": 1}}))
            theirs = json.loads(started)["run"]
            assert list(script.submit(mine, api_name="/follow"))[-1]["state"] == "finished"
            ended, compared = asked(url, ("status", {"run": theirs, "wait": 50}), ("compare", {"run": theirs}))
            assert json.loads(ended[1])["state"] == "finished", ended
            for found in (script.predict(mine, api_name="/compare"), json.loads(compared[1])):
                assert len(found["pairs"]) == 8
                assert "on 8 prompts" in found["outcome"]
            script.close()
        finally:
            process.terminate()
            process.wait(120)
