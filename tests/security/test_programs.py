"""What programs may call by name, in each mode: what a visitor may do on the page, and nothing by number."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from playground.runs import launcher, queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.ui import routes
from playground.ui.api import answers
from playground.ui.auth import access, calls, limiter
from tests.security import pages
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import recorded  # noqa: F401

PUBLIC = "93.184.218."
MANY = {"ppo.num_updates": 500}  # goes on until it is stopped
ARGUMENTS = {
    "start": {"settings": MANY},
    "change": {"run": "done", "settings": {"kl.coef": 1}},
    "stop": {"run": "done"},
    "generate": {"run": "done", "prompt": "The film was"},
    "estimate": {},
}


@pytest.fixture(scope="module")
def local(tmp_path_factory, recorded):  # noqa: F811
    """A page on one's own machine."""
    outputs = tmp_path_factory.mktemp("outputs-local")
    fake_run.write_run(outputs, "done")
    with pages.served("local", outputs, recorded) as page:
        yield page


def called(client, name, **arguments):
    """What a program gets: the answer, or the sentence of its error."""
    posted = client.post(f"gradio_api/call/v2/{name}", json=arguments)
    if posted.status_code != 200:
        return posted.json()["error"]
    with client.stream("GET", f"gradio_api/call/v2/{name}/{posted.json()['event_id']}") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: {"):
                return json.loads(line[6:])["error"]
            if line.startswith("data: ["):
                return json.loads(line[6:])[0]
    raise AssertionError("there was no answer")


def alive(page):
    return {run.id for run in launcher.living_runs(page.outputs)} | set(queue.waiting(page.outputs))


@contextlib.contextmanager
def nothing_changes(page):
    before, asked = page.tree(), list(page.running.demo.serving.service.asked)
    yield
    assert page.tree() == before
    assert page.running.demo.serving.service.asked == asked
    assert not alive(page)


def test_the_page_s_own_functions_are_called_by_no_number_and_by_no_name(local, figure):
    """On one's own machine, where everything is allowed to the page."""
    offered = set(local.access.endpoints)
    private = {index: item for index, item in local.functions().items() if item.api_name not in offered}
    assert len(private) > 20
    assert {item.api_visibility for item in private.values()} == {"private"}
    answers = []
    with nothing_changes(local), local.program() as program:
        for index, item in private.items():
            data = {"data": pages.arguments(item)}
            by_number = {**data, "fn_index": index, "session_hash": "mine"}
            answers += [
                (403, program.post(f"gradio_api/{way}", json=by_number)) for way in ("queue/join", "run/predict")
            ]
            for way in (f"call/{index}", f"call/v2/{index}", f"run/{index}", f"api/{index}", f"api/{item.api_name}"):
                answers.append((404, program.post(f"gradio_api/{way}", json=by_number)))
            for way in (f"call/{item.api_name}", f"call/v2/{item.api_name}", f"run/{item.api_name}"):
                answers.append((404, program.post(f"gradio_api/{way}", json=data)))
        for component, name, _ in local.server_functions():
            answers.append((403, pages.ask(program, component, name, "done")))
        answers.append((403, program.post("gradio_api/queue/join", json={"fn_index": True, "data": [""]})))
    assert [
        (wanted, answer.status_code, answer.url) for wanted, answer in answers if answer.status_code != wanted
    ] == []
    figure("calls of the page's own functions by programs, refused", len(answers), len(answers))


def test_by_name_only_with_the_arguments_that_there_are(local):
    with local.program() as program:
        assert called(program, "status", run="done")["state"] == "finished"
        for path, sent, words in (
            ("status", {"data": ["done"]}, "The parameters are: run, wait."),
            ("status", {"run": "done"}, 'Send JSON: {"data": [...]}'),
            ("v2/status", {}, "`run` is missing."),
            ("v2/status", {"run": "done", "fn_index": 3}, "There is no `fn_index`."),
            ("v2/status", ["done"], "an object of them"),
        ):
            answer = program.post(f"gradio_api/call/{path}", json=sent)
            assert answer.status_code == 422 and words in answer.json()["error"], path
        for value, kind in ((5, "int"), (["done"], "list"), (None, "NoneType")):
            assert called(program, "status", run=value) == f"run: must be text (got {kind})."
        assert called(program, "status", run="done", wait="x", figures=1).startswith("There is no `figures`.")
        assert called(program, "start", preset=3, settings=[1]).splitlines() == [
            "preset: must be text (got int).",
            'settings: must be an object of settings, such as {"kl.coef": 0.2} (got list).',
        ]


def test_what_runs_hold_is_read_by_their_ids_alone(local):
    with nothing_changes(local), local.program() as program:
        for name in ("status", "metrics", "samples", "compare", "outcome", "stop"):
            for run in ("../done", "/etc", ".incoming", "", "not-there", "x" * 10_000):
                refusal = called(program, name, run=run)
                assert isinstance(refusal, str) and re.search("no run|not a run", refusal), (name, refusal)


def test_a_class_s_programs_watch_and_with_the_host_s_token_they_do_more(classroom, figure):
    refused = []
    with classroom.program() as watcher, nothing_changes(classroom):
        for name in ("status", "metrics", "samples", "compare", "outcome"):
            assert called(watcher, name, run="done")["run"] == "done"
        refused += [called(watcher, name, **ARGUMENTS[name]) for name in ("start", "change", "stop", "estimate")]
        refused.append(called(watcher, "generate", **ARGUMENTS["generate"]))
    assert refused == [access.WATCHERS] * (len(refused) - 1) + [access.NOT_JOINED]
    figure("calls of a class's programs beyond watching, refused", len(refused), len(refused))
    with classroom.program(pages.TOKEN) as host:
        run = called(host, "start", **ARGUMENTS["start"])["run"]
        assert run in alive(classroom)
        changed = wait_until(lambda: called(host, "change", run=run, settings={"kl.coef": 1}))
        assert changed == {"run": run, "changed": {"kl.coef": 1.0}}
        called(host, "stop", run=run)
    wait_until(lambda: not alive(classroom))


def test_a_wrong_token_is_refused_and_counted_and_the_right_one_always_works(classroom):
    address = f"{PUBLIC}1"
    with classroom.program("hf_" + "x" * 30, address) as visitor:  # a token for the hub, which is none of ours
        assert called(visitor, "status", run="done")["run"] == "done"
    with classroom.program("guessed", address) as guesser:
        answers = [guesser.get("config") for _ in range(limiter.PER_MINUTE["wrong tokens"] + 1)]
    assert [answer.status_code for answer in answers] == [403] * (len(answers) - 1) + [429]
    assert answers[0].json()["error"] == access.WRONG_TOKEN
    with classroom.program(pages.TOKEN, address) as host:
        assert host.get("live/_access").json()["role"] == "host"
    with classroom.client(headers={"Authorization": "Basic " + "a" * 20, "X-Forwarded-For": address}) as proxied:
        assert proxied.get("live/_access").json()["role"] == "visitor"


def test_a_public_page_s_programs_have_the_quotas_of_its_visitors(space, figure):
    with space.program(address=f"{PUBLIC}11") as first, space.program(address=f"{PUBLIC}12") as second:
        run = called(first, "start", **ARGUMENTS["start"])["run"]
        asked = requests.of(RunDirectory(space.outputs / run))
        assert asked.mode == "space"
        assert asked.visitor
        assert RunDirectory(space.outputs / run).config().max_minutes == 30
        assert "You have a run here already" in called(first, "start", settings=MANY | {"seed": 1})
        refused = [called(second, name, **(ARGUMENTS[name] | {"run": run})) for name in ("stop", "change")]
        assert all(access.NOT_YOURS.partition("{")[0] in sentence for sentence in refused)
        assert called(second, "status", run=run)["run"] == run
        assert alive(space) == {run}
        assert called(first, "stop", run=run)["run"] == run
        figure("calls of a public visitor's programs on another's run, refused", len(refused), len(refused))
    wait_until(lambda: not alive(space))


def test_caps_are_refused_all_at_once_each_by_the_name_of_its_setting(space):
    beyond = {
        "ppo": {"num_updates": 501, "batch_size": 112},
        "sampling.max_new_tokens": 129,
        "prompts.source": "/etc/passwd",
        "model.source": "/etc",
    }
    with nothing_changes(space), space.program(address=f"{PUBLIC}13") as visitor:
        for name in ("start", "estimate"):
            refusal = called(visitor, name, settings=beyond)
            fields = {line.partition(":")[0] for line in refusal.splitlines()}
            assert fields >= {"ppo.num_updates", "ppo.batch_size", *list(beyond)[1:]}, name
        assert "kind" in called(visitor, "start", settings={"rewards": [{"kind": "python", "path": "/x"}]})
        assert "2,000" in called(visitor, "generate", run="done", prompt="a" * 2_001)
        assert "1 to 4 samples" in called(visitor, "generate", run="done", prompt="a", n=5)


@pytest.mark.parametrize(
    "settings",
    [
        {f"kl.coef.a{number}": 1 for number in range(9_000)},
        {f"a{number}": number for number in range(9_000)},
        {f"{'a.' * 4_900}b{number}": 1 for number in range(90)},
    ],
)
def test_settings_beyond_all_forms_cost_little_and_are_told_in_few_words(space, settings):
    with space.program(address=f"{PUBLIC}14") as visitor:
        began = time.process_time()
        refusal = called(visitor, "estimate", settings=settings)
    assert time.process_time() - began < 2
    assert len(refusal) < 10_000


def test_what_a_configuration_says_of_itself_is_set_by_no_program(space):
    with space.program(address=f"{PUBLIC}15") as visitor:
        for field in ("about.title", " about.title", "about", "format", "format "):
            assert "cannot be set here" in called(visitor, "estimate", settings={field: "x"}), field


def test_one_address_leaves_places_of_the_queue_to_the_others(space, monkeypatch):
    read = threading.Event()
    monkeypatch.setattr(answers, "comparison", lambda *_: {"read": read.wait(30)})
    with space.program(address=f"{PUBLIC}16") as many, space.program(address=f"{PUBLIC}17") as other:
        other.timeout = 5
        try:
            for _ in range(45):
                assert many.post("gradio_api/call/v2/compare", json={"run": "done"}).status_code == 200
            assert called(other, "presets")["presets"]
            assert called(many, "compare", run="done") == access.MANY_PROGRAMS
        finally:
            read.set()
        wait_until(lambda: not space.access.limiter.held)


def test_replays_keep_nobody_from_comparing(classroom, monkeypatch):
    made, address = threading.Event(), "live/done/export/replay"
    monkeypatch.setattr(routes, "_replay", lambda _: str(made.wait(30)))
    held = classroom.access.limiter.held
    with classroom.program(address=f"{PUBLIC}18") as many, classroom.program() as other, ThreadPoolExecutor(2) as pool:
        try:
            asked = [pool.submit(many.get, address) for _ in range(2)]
            wait_until(lambda: sum(count for (kind, _), count in held.items() if kind == "replays") == 2)
            assert other.get("live/done/compare", timeout=5).status_code == 200
            refused = many.get(address)
            assert (refused.status_code, refused.json()["error"]) == (429, routes.MANY_REPLAYS)
        finally:
            made.set()
        assert [answer.result().text for answer in asked] == ["True", "True"]


@pytest.mark.parametrize("mode", ["local", "classroom"])
def test_neither_another_site_s_page_nor_another_name_reaches_them(mode, local, classroom):
    page = {"local": local, "classroom": classroom}[mode]
    body = {"run": "done"}
    with page.program(pages.TOKEN) as program:
        assert program.post("gradio_api/call/v2/status", json=body).status_code == 200
        for headers, status in (
            ({"Origin": "https://evil.example"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Host": "evil.example"}, 421),
        ):
            for method, path in (("POST", "call/v2/status"), ("GET", "call/v2/status/abc"), ("POST", "mcp/")):
                answer = program.request(method, f"gradio_api/{path}", headers=headers, json=body)
                assert answer.status_code == status, (path, headers)


def test_agents_are_offered_nothing_where_the_page_was_not_started_for_them(local):
    with local.program() as program:
        for method in ("GET", "POST", "DELETE"):
            for path in ("", "/", "/http", "/sse", "/schema", "/messages/"):
                assert program.request(method, f"gradio_api/mcp{path}").status_code == 404


def test_few_programs_follow_runs_at_a_time_and_each_is_let_go_when_it_goes(local):
    rules = local.access.limiter
    with local.program() as program:
        event = program.post("gradio_api/call/v2/follow", json={"run": "done"}).json()["event_id"]
        with program.stream("GET", f"gradio_api/call/v2/follow/{event}") as stream:
            names = [line for line in stream.iter_lines() if line.startswith("event:")]
        assert names == ["event: generating", "event: complete"]
        wait_until(lambda: not rules.held)
        rules.held["followers", ""] = rules.at_once["followers"]
        assert "Too many programs follow runs here" in called(program, "follow", run="done")
        assert called(program, "status", run="done", wait=50)["ended"]  # which answers without waiting
        rules.held.clear()


def test_a_call_s_way_is_known_by_its_address():
    endpoints = {"status": calls.Endpoint(7, ("run",), ("run",))}

    def refusal(path, data=None, **headers):
        found = calls.refusal_of(f"/gradio_api/{path}", pages.httpx.Headers(headers), data, endpoints)
        return found and found[0]

    page = {"origin": "http://127.0.0.1"}
    assert refusal("queue/join", {"fn_index": 7}) is None
    assert refusal("queue/join", {"fn_index": 8}) == 403
    assert refusal("queue/join", {"fn_index": 8}, **page) is None
    assert refusal("queue/join", None) == 403
    assert refusal("component_server/", {}) == 403
    assert refusal("component_server", {}, **page) is None
    assert refusal("call/7", {"data": ["a"]}) == refusal("call/start_run", {}, **page) == 404
    assert refusal("call/status", {"data": ["a"]}) is refusal("call/status/abc") is None
    assert refusal("call/v2/status") == 422
    assert refusal("call/v2/other/abc") == 404
    asks = {"id": 1, "method": "tools/call"}
    assert refusal("mcp", [1]) == refusal("mcp", {"id": 1, "result": "a"}) == 400
    assert refusal("mcp/", asks) is None
    assert refusal("mcp", {**asks, "params": {"name": "status", "arguments": {"run": "a" * 2_000}}}) is None
    for name in ("\x1b]0;a\a", "a\nb", "a" * 129, 5):
        assert refusal("mcp", {**asks, "params": {"name": name}}) == 400, name
    told = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    assert refusal("mcp", told) is None
    assert refusal("mcp", {**told, "params": {"reason": "a" * 2_000}}) == 400
