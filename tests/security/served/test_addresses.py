"""Which addresses are open and to whom, that no file is served, and that where things lie on the server's disk is shown
to the host only."""

import re

import pytest

from playground.runs.folder.writer import RunWriter
from playground.ui.auth import middleware
from playground.ui.train import filling
from tests.reward_tools import finished
from tests.security import DATA, pages
from tests.security.served.test_rights import ours
from tests.support import PROJECT, small_config
from tests.ui import fake_run

DECIDED = [line.split() for line in (DATA / "gradio_addresses.txt").read_text(encoding="utf-8").splitlines()]
OPEN, CLOSED = ({(path, method) for how, method, path in DECIDED if how == word} for word in ("open", "closed"))


def addresses(routes):
    """Path and method of every route, those of included routers too."""
    for route in routes:
        yield from addresses(getattr(getattr(route, "original_router", None), "routes", ()))
        yield from ((route.path, method) for method in getattr(route, "methods", None) or ())


def filled(path, value):
    """An address of a route, with a value for each of its parts."""
    return re.sub(r"\{[^}]*\}", value, path)


def test_every_address_of_the_gradio_that_is_installed_is_open_or_closed_on_purpose(space, figure):
    """Another version's new addresses are closed too; here they are to be looked at, and named."""
    own = {route.path for route in ours(space)} | {"/playground/static"}
    installed = {(path.rstrip("/") or "/", method) for path, method in addresses(space.gradio.routes)}
    installed = {(path, method) for path, method in installed if path not in own}
    assert installed - OPEN - CLOSED == set(), "new in this Gradio: decide whether the page needs it"
    assert (OPEN | CLOSED) - installed == set(), "not in this Gradio any more"
    with space.client() as client:
        for path, method in sorted(CLOSED):
            for address in (path, f"{path}/"):
                answer = client.request(method, filled(address, "7").lstrip("/"))
                assert answer.status_code == 404, address
                assert method == "HEAD" or answer.json()["error"] == "There is nothing here.", address
    for path, method in OPEN | {("/pwa_icon/7", "GET")}:
        assert "{size}" in path or middleware.is_needed(filled(path, "predict"), method), path
    assert not middleware.is_needed("/gradio_api/run/start_run", "POST")
    assert not middleware.is_needed("/gradio_api/of-the-next-version", "GET")
    assert not middleware.is_needed("/", "OPTIONS")
    assert all(middleware.OURS.fullmatch(path) or path == "/playground/static" for path in own)
    figure("addresses of Gradio's that the page does not need, closed", len(CLOSED), len(CLOSED))


def test_our_routes_of_runs_only_read(classroom):
    with classroom.client() as client, classroom.nothing_changes():
        for route in ours(classroom):
            if "POST" not in route.methods:
                path = filled(route.path.replace("{run_id}", "done"), "0").lstrip("/")
                for method in ("POST", "PUT", "DELETE"):
                    assert client.request(method, path).status_code in (404, 405), (method, path)


CALLED = """
    POST queue/join  POST component_server  POST upload  POST call/v2/status  GET call/v2/status/abc  POST mcp/
    POST ../class/join  POST ../class/answer  POST ../class/lead  GET ../class/state  GET ../class/front
    GET ../live/_runs
""".split()
OF_ANOTHER_SITE = [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
UNDER_ANOTHER_NAME = {"Host": "evil.example", "Origin": "http://evil.example"}


@pytest.mark.parametrize("mode", ["local", "classroom"])
def test_neither_another_site_s_page_nor_another_name_reaches_any_address(mode, request):
    """In the host's browser, which sends the host's cookie along; as text, which a browser sends without asking."""
    page = request.getfixturevalue(mode)
    with page.host() if mode == "classroom" else page.client() as host:
        for method, path in zip(CALLED[::2], CALLED[1::2], strict=True):
            address = f"gradio_api/{path}".replace("gradio_api/../", "")
            for headers, status in (*((headers, 403) for headers in OF_ANOTHER_SITE), (UNDER_ANOTHER_NAME, 421)):
                sent = {
                    "headers": {**headers, "Content-Type": "text/plain"},
                    "content": b'{"do": "end", "run": "done"}',
                }
                assert host.request(method, address, **sent).status_code == status, (address, headers)
        assert host.post("gradio_api/call/v2/status", json={"run": "done"}).status_code == 200


@pytest.mark.parametrize("opened", [False, True])
def test_no_file_of_runs_or_of_the_project_is_served(opened, classroom, monkeypatch):
    """Not by the middleware, and not by Gradio either where the middleware would let it through."""
    if opened:
        monkeypatch.setattr(middleware, "OURS", re.compile(".*", re.DOTALL))
    files = classroom.outputs / "done" / "status.json", PROJECT / "app.py"
    with classroom.client() as client:
        for path in [*map(str, files), "app.py", "outputs", "http://127.0.0.1/", "https://example.org/"]:
            for prefix in ("gradio_api/file=", "gradio_api/file/", "gradio_api/proxy=", "file=", "static/../"):
                for address in (prefix + path, prefix + path.replace("/", "%2F")):
                    answer = client.get(address)
                    assert answer.status_code in (400, 403, 404), address
                    assert ("There is nothing here." in answer.text) == (not opened), address


def test_a_call_leaves_what_it_brought_nowhere_in_the_server(classroom, figure):
    """Gradio keeps arguments in the session that the caller names, before the handler can refuse."""
    keeping, tried = [], 0
    with classroom.client() as client:
        session = pages.session_of(client)
        for index, item in classroom.functions().items():
            if not item.inputs or any(component.stateful for component in item.inputs):
                continue
            data = [f"canary-{index}"] * len(item.inputs)
            client.post("gradio_api/run/predict", json={"fn_index": index, "data": data, "session_hash": session})
            state = classroom.gradio.state_holder.session_data[session]
            tried += 1
            keeping += [item.fn.__name__] if f"canary-{index}" in repr((state.config_values, state.state_data)) else []
    assert keeping == []
    assert tried > 5
    figure("refused calls that leave their arguments in no session", tried, tried - len(keeping))


FAR = "/home/teacher/models"


DAMAGES = {
    "missing": lambda config: config.unlink(),
    "link": lambda config: (config.unlink(), config.symlink_to("/etc/hostname")),
    "bytes": lambda config: config.write_bytes(b"\xff\xfe"),
    "setting": lambda config: config.write_text("prompts: 7"),
}


def shown_of(classroom, client, name):
    """What a watcher gets of a run or a reward model by any route, and by any function that parts offer."""
    for route in ours(classroom):
        if "{" in route.path and route.path != "/live/{run_id}" and "replay" not in route.path:
            path = re.sub(r"\{(run_id|name)\}", name, route.path).replace("{kind}", "yaml")
            yield path, client.get(re.sub(r"\{[^}]*\}", "0", path).lstrip("/")).text
    yield "compared", client.get(f"live/_overlay?runs={name},done").text
    with client.stream("GET", f"live/{name}") as stream:
        yield "feed", "" if stream.status_code == 200 else stream.read().decode()
    for component, function, _ in classroom.server_functions():
        yield f"{function} of {name}", pages.ask(client, component, function, name).text


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_server_s_folders_are_shown_to_no_watcher_even_of_damaged_runs(damage, classroom):
    outputs, own = classroom.outputs, f"damaged-{damage}"
    fake_run.write_run(outputs, own)
    training = finished(outputs, own, base=f"{FAR}/base", pairs={"source": f"{FAR}/pairs.jsonl"})
    RunWriter(training, 3).finish("failed", "bug", f"Cannot read {FAR}/pairs.jsonl.")
    with classroom.client() as client:
        whole = client.get(f"live/_rewards/{own}").text
        for config in (outputs / own / "config.yaml", training.config_path):
            DAMAGES[damage](config)
        texts = {
            "whole": whole,
            **dict(shown_of(classroom, client, own)),
            **dict(shown_of(classroom, client, "not-there")),
        }
    for folder in (str(outputs), str(outputs.resolve()), FAR):
        assert [where for where, text in texts.items() if folder in text] == []
    assert '"base":"base"' in whole
    assert "Cannot read pairs.jsonl." in whole


def test_the_log_of_a_failed_reward_training_is_for_who_may_read_logs(classroom):
    training = finished(classroom.outputs, "broken")
    training.log_path.write_text("Traceback: /home/teacher/pairs.jsonl\n")
    RunWriter(training, 3).finish("failed", "bug", "It failed.")
    with classroom.client() as anybody, classroom.host() as host:
        watched, of_host = (client.get("live/_rewards/broken").json() for client in (anybody, host))
    assert watched["state"] == of_host["state"] == "failed"
    assert watched["log"] == ""
    assert "pairs.jsonl" in of_host["log"]


def test_the_paths_of_the_host_s_models_are_shown_to_the_host_only(classroom):
    folder = f"{FAR}/mine"
    run = fake_run.write_run(classroom.outputs, "own-model", small_config(model={"source": folder}))
    with classroom.client() as watcher, classroom.host() as host:
        exports = [client.get(f"live/{run.id}/export/yaml").text for client in (watcher, host)]
        report = watcher.get(f"live/{run.id}/export/html").text
        addresses = f"{run.id}/poll", "_runs", f"_overlay?runs={run.id},done"
        texts = [watcher.get(f"live/{address}").text for address in addresses]
    texts.append(repr(filling.filled_from(f"run:{run.id}", classroom.outputs, whole=False)))
    assert "source: mine" in exports[0]
    assert f"source: {folder}" in exports[1]
    assert "source: mine" in report
    assert not [text for text in (exports[0], report, *texts) if "/home/teacher" in text]


@pytest.mark.parametrize("field", ["prompts__source", "evaluation__text", "model__source", "reference__source"])
def test_the_form_does_not_tell_which_files_there_are(field, space, tmp_path):
    (tmp_path / "there.txt").write_text("One prompt\nAnother\n")
    answers, (part, _, name) = [], field.partition("__")
    with space.visitor() as visitor:
        for path in ("/etc/passwd", "/etc/nothing-of-that-name", str(tmp_path / "there.txt")):
            values = pages.form_values(**{field: path})[1:]
            checked = pages.call(visitor, space.index_of("check"), values)["output"]["data"][0]["problems"]
            text = f"rewards: [{{kind: length}}]\n{part}: {{{name}: {path}}}"
            used = pages.call(visitor, space.index_of("use"), [text, *values])["output"]["data"]
            answer = str((checked, used)).replace(path, "")  # the form gives back what was typed
            answers.append(answer.replace(path[:60], "").replace(path.split("/")[-1], ""))
    assert answers[0].count("must be one of") >= 2
    assert "on a public page" in answers[0]
    assert answers == [answers[0]] * 3
