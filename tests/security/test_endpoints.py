"""Everything that can be asked of the page is asked by who may not: anonymously, as a watcher, as another visitor.

Found by looking, not from a list: all of Gradio's handlers by their index, all functions that components offer to
their scripts, all our routes, all of Gradio's own addresses.
"""

from __future__ import annotations

import re

import pytest
from starlette.routing import Route

from playground.runs import launcher
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui import demo, routes
from playground.ui.auth import middleware
from playground.ui.auth.access import OF_THE_CLASS, TABLE, Action, Role
from tests.reward_tools import finished
from tests.security import pages
from tests.security.pages import GRANTED_TO_ALL
from tests.support import wait_until
from tests.ui import fake_run

HOW = (
    "is not guarded: register it through `access.guard(Action.X, handler)` (our routes: with its Action in the table "
    "of `routes.routes`), so that it asks who may call it. See playground/ui/auth/access.py and docs/security.md."
)


FAR = "/home/teacher/models"


def ours(page):
    """All routes of ours, those of a class too."""
    serving = page.running.demo.serving
    return [*routes.routes(serving.hub), *demo.classroom(serving)]


def test_every_handler_function_and_route_asks_who_may_call_it(classroom):
    for index, item in classroom.functions().items():
        assert isinstance(getattr(item.fn, "action", None), Action), f"Gradio's handler {index} ({item.fn}) {HOW}"
    for _, name, function in classroom.server_functions():
        assert isinstance(getattr(function, "action", None), Action), f"the server function {name} {HOW}"
    for route in ours(classroom):
        if isinstance(route, Route):
            assert isinstance(getattr(route.endpoint, "action", None), Action), f"the route {route.path} {HOW}"


def test_what_changes_something_is_not_called_watching(classroom):
    """A wrong action in a registration would let everybody in, so the harmless ones are counted by name."""
    watching = {item.fn.__name__ for item in classroom.functions().values() if item.fn.action in GRANTED_TO_ALL}
    watching |= {name for _, name, function in classroom.server_functions() if function.action in GRANTED_TO_ALL}
    reading = {"presets", "runs", "status", "follow", "metrics", "samples", "compare", "outcome"}  # what programs may
    assert watching == {"choose_at_load", "fork_points", "newly_trained", "offer", "reward_models", *reading}, (
        "A handler that everybody may call must only read; if this one does, add it here. " + HOW
    )


def test_visitors_may_what_the_documentation_says():
    """By the words, for the tests below take what is refused from the table itself."""
    watching = {"watch", "export", "take part in the class"}
    asking = watching | {"ask a model", "write rewards", "try rewards on texts"}
    assert {action.value for action in TABLE["classroom", Role.VISITOR].all} == watching
    assert {action.value for action in OF_THE_CLASS} == asking - watching
    assert TABLE["classroom", Role.VISITOR].own == frozenset()
    public = asking | {"fill in the form", "start a run", "upload a file", "measure a run or a start"}
    assert {action.value for action in TABLE["space", Role.VISITOR].all} == public
    own = {"steer a run", "resume a run", "delete a run", "read the log"}
    assert {action.value for action in TABLE["space", Role.VISITOR].own} == own


def mutating(page, role):
    """Handlers and functions that a role may not call at all."""
    granted = TABLE[page.mode, role].all
    handlers = {index: item for index, item in page.functions().items() if item.fn.action not in granted}
    return handlers, [item for item in page.server_functions() if item[2].action not in granted]


ARGUMENTS = [
    "done",
    {"run": "done", "command": "pause", "changes": {"kl.coef": 1}, "as": "merged", "name": "mine", "note": "x"},
    {"values": {"name": "mine"}, "replace": True},
    None,
]


def try_everything(page, client, role, **headers):
    """Call all that the role may not call, in every way; how many calls there were, and those that were not refused."""
    handlers, functions = mutating(page, role)
    assert len(handlers) > 1
    assert len(functions) > 5
    tried, passed = 0, []
    for index, item in handlers.items():
        queued = pages.call(client, index, pages.arguments(item), **headers)
        direct = pages.call_directly(client, index, pages.arguments(item), **headers)
        tried += 2
        passed += [(item.fn.__name__, shown) for shown in (queued, direct) if not pages.is_refusal(shown)]
    for component, name, _ in functions:
        for argument in ARGUMENTS:
            answer = pages.ask(client, component, name, argument, **headers)
            tried += 1
            passed += [] if pages.was_refused(answer.text) else [(name, answer.text[:200])]
    return tried, passed


@pytest.mark.parametrize("who", ["anonymous", pytest.param("forger", marks=pytest.mark.nightly)])
def test_a_class_can_only_watch(who, classroom, figure):
    before, service = classroom.tree(), classroom.running.demo.serving.service
    with classroom.client(cookies={"playground_host": "0" * 64} if who == "forger" else {}) as client:
        client.get("")
        tried, passed = try_everything(classroom, client, Role.VISITOR)
    assert passed == []
    assert classroom.tree() == before
    assert service.asked == []
    assert classroom.running.demo.serving.standby.wanted == 1
    assert not launcher.living_runs(classroom.outputs)
    figure(f"calls in a class refused: {who}", tried, tried - len(passed))


def test_a_visitor_of_a_public_page_can_only_do_what_visitors_may(space, figure):
    before = space.tree()
    with space.visitor() as client:
        tried, passed = try_everything(space, client, Role.VISITOR)
    assert passed == []
    assert space.tree() == before
    assert space.running.demo.serving.service.asked == []
    figure("calls of a public visitor beyond their rights refused", tried, tried - len(passed))


def test_the_host_can_do_what_the_class_cannot(classroom):
    """Else the tests above would pass on a page on which nothing works."""
    with classroom.host() as client:
        run, problems = pages.start(classroom, client)
        assert problems == []
        assert run in [item.id for item in launcher.living_runs(classroom.outputs)]
        stopped, deleted = (
            pages.ask(client, classroom.server_function(name), name, run).json() for name in ("stop_run", "delete_run")
        )
    assert stopped == {"error": ""}
    assert "still training" in deleted["error"]
    wait_until(lambda: not launcher.living_runs(classroom.outputs))


def addresses(routes):
    """Path and method of every route, those of included routers too."""
    for route in routes:
        yield from addresses(getattr(getattr(route, "original_router", None), "routes", ()))
        yield from ((route.path, method) for method in getattr(route, "methods", None) or ())


READING = ("GET", "HEAD", "OPTIONS")
OPEN = """
    GET /  HEAD /  GET /config  GET /theme.css  GET /manifest.json  GET /favicon.ico  GET /robots.txt  GET /pwa_icon
    GET /pwa_icon/{size}  GET /assets/{path:path}  GET /static/{path:path}  GET /svelte/{path:path}
    GET /gradio_api/info  GET /gradio_api/app_id  GET /gradio_api/theme.css  GET /gradio_api/startup-events
    GET /gradio_api/queue/data  GET /gradio_api/heartbeat/{session_hash}  POST /gradio_api/queue/join
    POST /gradio_api/run/{api_name}  POST /gradio_api/component_server  POST /gradio_api/upload
    POST /gradio_api/cancel  POST /gradio_api/reset  POST /gradio_api/call/{api_name}
    POST /gradio_api/call/v2/{api_name}  GET /gradio_api/call/{api_name}/{event_id}
    GET /gradio_api/call/v2/{api_name}/{event_id}
"""
CLOSED = """
    POST /login  GET /logout  GET /monitoring  GET /monitoring/summary  GET /monitoring/{key}  GET /gradio_api/deep_link
    GET /gradio_api/login_check  GET /gradio_api/user  GET /gradio_api/token  GET /gradio_api/dev/reload
    GET /gradio_api/openapi.json  GET /gradio_api/runs  GET /gradio_api/queue/status
    GET /gradio_api/custom_component/{id}/{environment}/{type}/{file_name}
    GET /gradio_api/file={path_or_url:path}  HEAD /gradio_api/file={path_or_url:path}  GET /gradio_api/file/{path:path}
    GET /gradio_api/proxy={url_path:path}  HEAD /gradio_api/proxy={url_path:path}  GET /gradio_api/upload_progress
    POST /gradio_api/stream/{event_id}  POST /gradio_api/stream/{event_id}/close
    GET /gradio_api/stream/{session_hash}/{run}/{component_id}/playlist-file
    GET /gradio_api/stream/{session_hash}/{run}/{component_id}/playlist.m3u8
    GET /gradio_api/stream/{session_hash}/{run}/{component_id}/{segment_id}.{ext}
    POST /gradio_api/api/{api_name}
    POST /gradio_api/process_recording  POST /gradio_api/vibe-edit  POST /gradio_api/undo-vibe-edit
    GET /gradio_api/vibe-code  POST /gradio_api/vibe-code  POST /gradio_api/vibe-starter-queries
"""


def filled(path, value):
    """An address of a route, with a value for each of its parts."""
    return re.sub(r"\{[^}]*\}", value, path)


def named(text):
    words = text.split()
    return {(path, method) for method, path in zip(words[::2], words[1::2], strict=True)}


def test_every_address_of_the_gradio_that_is_installed_is_open_or_closed_on_purpose(space, figure):
    """Another version's new addresses are closed too; here they are to be looked at, and named."""
    own = {route.path for route in ours(space)}
    found = {(path.rstrip("/") or "/", method) for path, method in addresses(space.gradio.routes) if path not in own}
    assert found - named(OPEN) - named(CLOSED) == set(), "new in this Gradio: decide whether the page needs it"
    assert (named(OPEN) | named(CLOSED)) - found == set(), "not in this Gradio any more"
    with space.client() as client:
        for path, method in sorted(named(CLOSED)):
            for address in (path, f"{path}/"):
                answer = client.request(method, filled(address, "7").lstrip("/"))
                assert answer.status_code == 404, address
                assert method == "HEAD" or answer.json()["error"] == "There is nothing here.", address
    assert all(
        middleware.is_needed(filled(path, "predict"), method) for path, method in named(OPEN) if "pwa" not in path
    )
    assert middleware.is_needed("/pwa_icon/7", "GET")
    assert not middleware.is_needed("/gradio_api/run/start_run", "POST")
    assert not middleware.is_needed("/gradio_api/of-the-next-version", "GET")
    assert not middleware.is_needed("/", "OPTIONS")
    assert all(middleware.OURS.fullmatch(path) or path == "/playground/static" for path in own)
    figure("addresses of Gradio's that the page does not need, closed", len(named(CLOSED)), len(named(CLOSED)))


def test_our_routes_only_read_and_the_log_is_for_the_host(classroom):
    before = classroom.tree()
    with classroom.client() as anybody, classroom.host() as host:
        for route in routes.routes(classroom.running.demo.serving.hub):
            if not isinstance(route, Route) or route.path == "/live/{run_id}":
                continue
            path = route.path.replace("{run_id}", "done").replace("{kind}", "yaml").replace("{update:number}", "40")
            for method in ("post", "put", "delete"):
                assert getattr(anybody, method)(path.lstrip("/")).status_code in (404, 405)
            status = anybody.get(path.lstrip("/")).status_code
            assert status == 403 if path == "/live/done/log" else status != 500, path
        assert "not markup" in host.get("live/done/log").text
    assert classroom.tree() == before


@pytest.mark.parametrize("opened", [False, True])
def test_no_file_of_runs_or_of_the_project_is_served(opened, classroom, monkeypatch):
    """Not by the middleware, and not by Gradio either where the middleware would let it through."""
    if opened:
        monkeypatch.setattr(middleware, "OURS", re.compile(".*", re.DOTALL))
    files = classroom.outputs / "done" / "status.json", catalog.PROJECT / "app.py"
    with classroom.client() as client:
        for path in [*map(str, files), "app.py", "outputs", "http://127.0.0.1/", "https://example.org/"]:
            for prefix in ("gradio_api/file=", "gradio_api/file/", "gradio_api/proxy=", "file=", "static/../"):
                for asked in (prefix + path, prefix + path.replace("/", "%2F")):
                    answer = client.get(asked)
                    assert answer.status_code in (400, 403, 404), asked
                    assert ("There is nothing here." in answer.text) == (not opened), asked


def test_a_call_leaves_what_it_brought_nowhere_in_the_server(classroom, figure):
    """Gradio keeps arguments in the session that the caller names, before the handler can refuse."""
    kept, tried = [], 0
    with classroom.client() as client:
        for index, item in classroom.functions().items():
            if not item.inputs or any(component.stateful for component in item.inputs):
                continue
            session = f"kept-{index}"
            data = [f"canary-{index}"] * len(item.inputs)
            client.post("gradio_api/run/predict", json={"fn_index": index, "data": data, "session_hash": session})
            state = classroom.gradio.state_holder.session_data[session]
            tried += 1
            kept += [item.fn.__name__] if f"canary-{index}" in repr((state.config_values, state.state_data)) else []
    assert kept == []
    assert tried > 5
    figure("refused calls that leave their arguments in no session", tried, tried - len(kept))


def _link(config):
    config.unlink()
    config.symlink_to("/etc/hostname")


DAMAGES = {
    "missing": lambda config: config.unlink(),
    "link": _link,
    "bytes": lambda config: config.write_bytes(b"\xff\xfe"),
    "setting": lambda config: config.write_text("prompts: 7"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_server_s_folders_are_shown_to_no_watcher_even_of_damaged_runs(damage, classroom):
    """By any route, and by any function that a watcher may call, of a run and of a reward model."""
    outputs, own = classroom.outputs, f"damaged-{damage}"
    fake_run.write_run(outputs, own)
    training = finished(outputs, own, base=f"{FAR}/base", pairs={"source": f"{FAR}/pairs.jsonl"})
    RunWriter(training, 3).finish("failed", "bug", f"Cannot read {FAR}/pairs.jsonl.")
    shown = {}
    with classroom.client() as client:
        shown["before"] = client.get(f"live/_rewards/{own}").text
        for config in (outputs / own / "config.yaml", training.config_path):
            DAMAGES[damage](config)
        for name in (own, "not-there"):
            for route in routes.routes(classroom.running.demo.serving.hub):
                path = route.path.replace("{run_id}", name).replace("{name}", name).replace("{kind}", "yaml")
                if isinstance(route, Route) and route.path != "/live/{run_id}":
                    shown[path] = client.get(filled(path, "0").lstrip("/")).text
            shown["compared"] = client.get(f"live/_overlay?runs={name},done").text
            with client.stream("GET", f"live/{name}") as stream:
                shown["feed"] = "" if stream.status_code == 200 else stream.read().decode()
            for component, function, _ in classroom.server_functions():
                shown[f"{function} of {name}"] = pages.ask(client, component, function, name).text
    for folder in (str(outputs), str(outputs.resolve()), FAR):
        assert [where for where, text in shown.items() if folder in text] == []
    assert '"base":"base"' in shown["before"]
    assert "Cannot read pairs.jsonl." in shown["before"]


def test_the_log_of_a_failed_reward_training_is_for_who_may_read_logs(classroom):
    training = finished(classroom.outputs, "broken")
    training.log_path.write_text("Traceback: /home/teacher/pairs.jsonl\n")
    RunWriter(training, 3).finish("failed", "bug", "It failed.")
    with classroom.client() as anybody, classroom.host() as host:
        seen, shown = (client.get("live/_rewards/broken").json() for client in (anybody, host))
    assert seen["state"] == shown["state"] == "failed"
    assert seen["log"] == ""
    assert "pairs.jsonl" in shown["log"]
