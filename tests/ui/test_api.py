"""Scripts and agents drive the page by its named endpoints: the examples of docs/api.md as they are, and the edges."""

import concurrent.futures
import contextlib
import io
import json
import re
import shutil
import subprocess

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

from playground.config import flatten
from playground.errors import InvalidConfig
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.setup.limits import LIMITS
from playground.ui import server
from playground.ui.api import answers, arguments
from playground.ui.auth import visitors
from playground.ui.auth.access import Caller
from tests.security import pages
from tests.support import PROJECT, run_async, wait_until
from tests.ui import fake_run
from tests.ui.conftest import TOKEN, free_port

DOC = (PROJECT / "docs" / "api.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", DOC, re.DOTALL)
HERE = "http://127.0.0.1:7860/"
BY_CLIENT, AS_HOST, BY_AGENT = (text for kind, text in BLOCKS if kind == "python")
(BY_CURL,) = (text for kind, text in BLOCKS if kind == "bash")


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
    client = Client(page.url, verbose=False, download_files=False, analytics_enabled=False)
    yield client
    client.close()


def executed(example, url, meanwhile=lambda shown: None):
    """What an example in Python prints, on a page. In a thread of its own: see `run_async`."""
    assert HERE in example
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), concurrent.futures.ThreadPoolExecutor(1) as pool:
        done = pool.submit(exec, example.replace(HERE, url), {"__name__": "example"})
        meanwhile(shown)
        done.result()
    return shown.getvalue()


def test_the_example_as_the_host_of_a_class_starts_a_run(class_site, monkeypatch):
    monkeypatch.setenv(visitors.TOKEN_VARIABLE, TOKEN)
    run = executed(AS_HOST, class_site.url).strip()
    assert RunDirectory(class_site.outputs / run).config().ppo.num_updates == 10


def test_the_table_names_what_there_is_with_its_arguments(page):
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", DOC, re.MULTILINE)
    table = {name: tuple(re.findall(r"`(\w+)[=`]", arguments)) for name, arguments in rows}
    assert table == {name: endpoint.parameters for name, endpoint in page.access.endpoints.items()}


def test_the_example_in_python_goes_from_start_to_comparison(page, tmp_path, monkeypatch):
    steps = tmp_path / "steps"
    steps.write_text("4")
    monkeypatch.setenv(fake_run.STEPS_VARIABLE, str(steps))

    def let_the_run_end(shown):
        wait_until(lambda: "running 4 " in shown.getvalue())
        steps.unlink()

    lines = executed(BY_CLIENT, page.url, let_the_run_end).splitlines()
    followed = [line for line in lines if re.match(r"(queued|starting|running|finished) \d+ ", line)]
    assert followed[-1].startswith("finished 10 ")
    assert "Score +" in lines[len(followed)]
    assert [line.count(" | ") for line in lines[-3:]] == [2, 2, 2]


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_example_with_curl_starts_one_run_and_compares_it(page):
    before = set(page.outputs.glob("kinder-reviews-*"))
    assert HERE in BY_CURL
    done = subprocess.run(["sh", "-c", BY_CURL.replace(HERE, page.url)], capture_output=True, text=True, timeout=300)
    (run,) = set(page.outputs.glob("kinder-reviews-*")) - before
    events = [json.loads(line[6:])[0] for line in done.stdout.splitlines() if line.startswith("data: [")]
    assert all(event["run"] == run.name for event in events)
    assert len(events) > 2
    assert events[-2]["state"] == "finished"
    assert "Score +" in events[-1]["outcome"]
    assert len(events[-1]["pairs"]) == 1


def test_the_example_of_an_agent_runs_an_experiment(page):
    tools, *lines = executed(BY_AGENT, page.url).splitlines()
    assert set(json.loads(tools.replace("'", '"'))) == set(page.access.endpoints) - {"follow"}
    assert [line.split()[0] for line in lines] == ["0.05", "0.5"]
    assert all("Score" in line for line in lines)


def test_what_is_wrong_with_settings_is_told_all_at_once_and_nothing_starts(page, client):
    before = page.tree()
    wrong = {"kl": {"coef": -1, "coeff": 1}, "ppo.num_updates": "many", "nothing.x": 1, "about.title": "x", "a=b": 1}
    for api_name in ("/start", "/estimate"):
        with pytest.raises(AppError) as caught:
            client.predict("kinder-reviews", wrong, api_name=api_name)
        fields = {line.partition(": ")[0] for line in str(caught.value).splitlines()}
        assert fields == {"kl.coef", "kl.coeff", "ppo.num_updates", "nothing", "about.title", "a=b"}
        assert "kl.coeff: There is no such setting. Did you mean `kl.coef`?" in str(caught.value)
    for key in ("short", "with a space"):
        with pytest.raises(AppError, match="key: must have 8 to 40 letters, digits and hyphens, or be left out"):
            client.predict("kinder-reviews", {}, key, api_name="/start")
    assert page.tree() == before


def configured(page, preset, settings):
    """The configuration that a start would have."""
    return flatten(arguments.configured(preset, settings, page.outputs, LIMITS["local"], Caller())[1])


def test_settings_by_dotted_names_and_nested_mean_the_same(page):
    dotted = configured(page, "kinder-reviews", {"kl.coef": 0.4, "rewards.0.weight": 2.0, "ppo.num_updates": 3})
    nested = {"kl": {"coef": 0.4}, "rewards": [{"kind": "sentiment", "weight": 2.0}], "ppo": {"num_updates": 3}}
    assert configured(page, "kinder-reviews", nested) == dotted
    assert (dotted["kl.coef"], dotted["rewards"][0]["weight"], dotted["ppo.num_updates"]) == (0.4, 2.0, 3)
    with pytest.raises(InvalidConfig, match=r"^kl\.coef: is given twice"):
        configured(page, "kinder-reviews", {"kl": {"coef": 1}, "kl.coef": 2})
    assert configured(page, "run:done", {"seed": 7}) == flatten(catalog.preset("kinder-reviews")) | {"seed": 7}


def test_what_a_preset_sets_can_be_set(client):
    preset = client.predict("short-leash", api_name="/presets")
    names = [row["preset"] for row in client.predict(api_name="/presets")["presets"]]
    assert names[: len(catalog.preset_names())] == catalog.preset_names()
    assert preset["settings"]["kl.coef"] == catalog.preset("short-leash").kl.coef
    about = preset["help"]["kl.coef"]
    assert (about["minimum"], about["maximum"], about["unit"]) == (0, 1000, "sd of score per nat")
    assert about["live"]
    assert preset["help"]["kl.controller"]["options"] == ["fixed", "adaptive", "ziegler"]
    assert client.predict("short-leash", {"kl.coef": preset["settings"]["kl.coef"]}, api_name="/estimate")["verdict"]


def test_figures_are_of_the_wanted_updates_and_bounded(client, monkeypatch):
    answer = client.predict("done", since=38, figures=["score_mean"], api_name="/metrics")
    assert answer["metrics"].keys() == {"update", "score_mean"}
    assert answer["metrics"]["update"] == [39, 40]
    assert (answer["units"], answer["updates"], answer["ended"]) == ({"score_mean": "sd"}, 40, True)
    monkeypatch.setattr(answers, "MOST_ROWS", 10)
    assert len(client.predict("done", api_name="/metrics")["metrics"]["update"]) <= 10
    with pytest.raises(AppError, match=r"figures: must be a list of texts \(got str\)\."):
        client.predict("done", figures="score_mean", api_name="/metrics")
    with pytest.raises(AppError, match=r"figures: There is no figure `x`\. There are: .*kl_to_reference"):
        client.predict("done", figures=["x"], api_name="/metrics")


def test_texts_are_of_the_wanted_evaluation_and_cut(client, monkeypatch):
    newest, first = (client.predict("done", update=update, api_name="/samples") for update in (-1, 0))
    assert (newest["update"], first["update"]) == (40, 0)
    assert len(first["samples"]) == 64
    assert first["samples"][0]["completion"] == fake_run.recorded("kinder-reviews", "samples")[0][0].completion
    with pytest.raises(AppError, match=r"update: The fixed prompts were answered at these updates: 0, .*40"):
        client.predict("done", update=1, api_name="/samples")
    monkeypatch.setattr(answers, "MOST_CHARACTERS", 5)
    assert {len(sample["completion"]) for sample in client.predict("done", api_name="/samples")["samples"]} == {6}


def test_completions_come_by_side_in_the_same_order(client):
    answer = client.predict("done", "The film was", n=2, seed=3, api_name="/generate")
    assert [sample["completion"] for sample in answer["before"]] == [" dull and number 0.", " dull and number 1."]
    after = [" wonderful and number 0.", " wonderful and number 1."]
    assert [sample["completion"] for sample in answer["after"]] == after
    for n in (0, 33, 10**30):
        with pytest.raises(AppError, match=r"Ask for 1 to 32 samples\."):
            client.predict("done", "The film was", n=n, api_name="/generate")
    with pytest.raises(AppError, match="The seed must be"):
        client.predict("done", "The film was", seed=-1, api_name="/generate")


def asked_by_agent(url, *calls):
    """What an agent gets of tools: a list of (whether it failed, text)."""

    async def ask():
        async with (
            streamablehttp_client(f"{url}gradio_api/mcp/") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            results = [await session.call_tool(tool, arguments) for tool, arguments in calls]
            return [(result.isError, result.content[0].text) for result in results]

    return run_async(ask())


def test_an_agent_gets_json_and_sentences_and_nothing_else_of_gradio(page):
    good, wrong, private, streamed = asked_by_agent(
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
