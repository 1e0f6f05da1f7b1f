"""Who may do what: everything that can be asked of a page is asked by who may not, over each door: Gradio's handlers by
their numbers and by their names, agents' tools, the functions that parts offer to their scripts, our routes.

Found by looking, not from a list.
"""

import re
import secrets

import pytest
from starlette.routing import Route

from playground.ui import demo, routes
from playground.ui.auth import access
from playground.ui.auth.access import OF_THE_CLASS, TABLE, Action, Role
from playground.ui.auth.visitors import CLASS_COOKIE, HOST_COOKIE
from tests.security import pages, table
from tests.security.pages import PUBLIC
from tests.support import PROJECT, wait_until

HOW = (
    "is not guarded: register it through `access.guard(Action.X, handler)` (our routes: with its Action in the table "
    "of `routes.routes`), so that it asks who may call it. See playground/ui/auth/access.py and docs/security.md."
)
WORDS = {what: [Action[name] for name in names] for what, names in table("rights").items()}  # of docs/security.md
COLUMNS = [("local", "host"), ("classroom", "host"), ("classroom", "visitor"), ("space", "visitor"), ("space", "host")]
BY_CAPS = {"within the caps": "yes", "within the host's caps": "yes", "of their own": "their own"}
OF_MEMBERS = "who has joined the open class, within its caps"


def ours(page):
    """All routes of ours, those of a class too."""
    serving = page.running.demo.serving
    return [route for route in (*routes.routes(serving.hub), *demo.classroom(serving)) if isinstance(route, Route)]


def test_every_handler_function_and_route_asks_who_may_call_it(classroom):
    for index, item in classroom.functions().items():
        assert isinstance(getattr(item.fn, "action", None), Action), f"Gradio's handler {index} ({item.fn}) {HOW}"
    for _, name, function in classroom.server_functions():
        assert isinstance(getattr(function, "action", None), Action), f"the server function {name} {HOW}"
    for route in ours(classroom):
        assert isinstance(getattr(route.endpoint, "action", None), Action), f"the route {route.path} {HOW}"


def test_what_changes_something_is_not_called_watching(classroom):
    """A wrong action in a registration would let everybody in, so the harmless ones are counted by name."""
    harmless = {Action.WATCH, Action.EXPORT}
    watching = {item.fn.__name__ for item in classroom.functions().values() if item.fn.action in harmless}
    watching |= {name for _, name, function in classroom.server_functions() if function.action in harmless}
    reading = {"presets", "runs", "status", "follow", "metrics", "samples", "compare", "outcome"}  # what programs may
    assert watching == {"choose_at_load", "fork_points", "newly_trained", "offer", "reward_models", *reading}, (
        "A handler that everybody may call must only read; if this one does, add it here. " + HOW
    )


def granted(mode, role, action):
    """In the documentation's words."""
    grants = TABLE[mode, Role(role)]
    if action in OF_THE_CLASS and (mode, role) == ("classroom", "visitor"):
        return OF_MEMBERS
    return "yes" if action in grants.all else "their own" if action in grants.own else "no"


def test_the_rights_are_those_of_the_documentation():
    document = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (.*) \|$", document.partition("| May |")[2].partition("| Python as a reward |")[0], re.MULTILINE
    )
    documented = {
        what: [BY_CAPS.get(cell, cell) for cell in cells] for what, *cells in (row.split(" | ") for row in rows)
    }
    assert documented.keys() == WORDS.keys()
    assert {action for actions in WORDS.values() for action in actions} == set(Action)
    for what, actions in WORDS.items():
        for action in actions:
            assert [granted(mode, role, action) for mode, role in COLUMNS] == documented[what], action


ASKED = table("asked")
FOR_AGENTS = {"Accept": "application/json, text/event-stream"}
SENTENCES = [access.WATCHERS, access.NOT_JOINED, access.NOT_HOST, access.NOT_YOURS, access.NOT_PUBLIC]


def says_no(text):
    """Whether an answer holds one of the sentences of `access`."""
    return any(re.split("[{(]", sentence)[0].strip() in text for sentence in SENTENCES)


def does_nothing(message):
    """Whether a handler gave one of those sentences, or answered that the page is to stay as it is."""
    data = (message.get("output") or {}).get("data") or [0]
    nothing = all(isinstance(item, dict) and item.get("__type__") == "update" for item in data)
    nothing = nothing and not any("value" in item for item in data)
    return message["status"] != 200 or says_no(message["text"]) or nothing


def call_directly(client, index, data):
    """Without Gradio's queue."""
    body = {"fn_index": index, "data": data, "session_hash": pages.session_of(client)}
    answer = client.post("gradio_api/run/predict", json=body)
    return {"status": answer.status_code, "text": answer.text, "output": answer.json()}


def use_tool(client, name, **arguments):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return client.post("gradio_api/mcp/", json=message, headers=FOR_AGENTS).text


def is_forbidden(answer):
    return answer.status_code == 403 and (says_no(answer.text) or "is for the host" in answer.text)


def doors(page):
    """All that can be asked: door and name, what it is, and a function that says whether a client is refused it."""
    for index, item in page.functions().items():
        name, call = item.fn.__name__, {"index": index, "data": pages.arguments(item)}
        yield f"queue {name}", item.fn.action, lambda client, call=call: does_nothing(pages.call(client, **call))
        yield f"direct {name}", item.fn.action, lambda client, call=call: does_nothing(call_directly(client, **call))
        if item.api_name in page.access.endpoints:
            call = {"name": name, **ASKED["by name"].get(name, {})}
            yield f"name {name}", item.fn.action, lambda client, call=call: says_no(str(pages.called(client, **call)))
            if page.access.mcp():
                yield f"tool {name}", item.fn.action, lambda client, call=call: says_no(use_tool(client, **call))
    for component, name, function in page.server_functions():
        for argument in ASKED["to parts"]:
            call = {"component": component, "name": name, "argument": argument}
            yield f"part {name}", function.action, lambda client, call=call: says_no(pages.ask(client, **call).text)
    for route in ours(page):
        path = re.sub(r"\{[^}]*\}", "0", route.path.replace("{run_id}", "done")).lstrip("/")
        for body in ASKED["to routes"] if "POST" in route.methods else [None]:
            call = {"method": "POST" if body else "GET", "url": path, "json": body}
            yield f"route {path}", route.endpoint.action, lambda client, call=call: is_forbidden(client.request(**call))


FORGED = {HOST_COOKIE: "0" * 64, CLASS_COOKIE: secrets.token_urlsafe(24)}
WHO = {
    "anonymous in a class": ("classroom", lambda page, code: page.client()),
    "forger in a class": (
        "classroom",
        lambda page, code: page.client(cookies={page.named(name): value for name, value in FORGED.items()}),
    ),
    "member of a class": ("classroom", lambda page, code: page.member(code, f"{PUBLIC}1")),
    "visitor of a public page": ("space", lambda page, code: page.visitor(f"{PUBLIC}2")),
}


@pytest.mark.parametrize("who", WHO)
def test_nobody_does_by_any_door_what_they_may_not(who, request, figure):
    mode, opened = WHO[who]
    page = request.getfixturevalue(mode)
    code = request.getfixturevalue("teacher").code if mode == "classroom" else ""
    may = TABLE[mode, Role.VISITOR].all | (OF_THE_CLASS if "member" in who else frozenset())
    with opened(page, code) as client:
        client.get("")
        before = page.running.demo.serving.standby.wanted
        with page.nothing_changes():
            answers = {
                name: says for name, action, ask in doors(page) if action not in may and not (says := ask(client))
            }
            tried = sum(action not in may for _, action, _ in doors(page))
    assert answers == {}
    assert page.running.demo.serving.standby.wanted == before
    figure(f"calls beyond one's rights refused: {who}", tried, tried - len(answers))


def test_the_host_gets_by_each_door_what_others_are_refused(classroom):
    """Else the test above would pass on a page on which nothing works."""
    with classroom.host() as browser, classroom.program(pages.TOKEN) as program:
        run, problems = pages.start(classroom, browser)
        assert problems == []
        assert run in classroom.alive()
        changed = wait_until(lambda: pages.called(program, "change", run=run, settings={"kl.coef": 1}))
        assert changed == {"run": run, "changed": {"kl.coef": 1.0}}
        assert '"kl.coef": 2.0' in use_tool(program, "change", run=run, settings={"kl.coef": 2}).replace("\\", "")
        assert "not markup" in browser.get("live/done/log").text
        deleted, stopped = (
            pages.ask(browser, classroom.server_function(name), name, run).json() for name in ("delete_run", "stop_run")
        )
    assert stopped == {"error": ""}
    assert "still training" in deleted["error"]
    wait_until(lambda: not classroom.alive())


def test_without_a_request_a_caller_is_a_visitor():
    for mode in ("classroom", "space"):
        rules = access.Access(mode)
        assert rules.caller(None).role is Role.VISITOR
        assert rules.guard(Action.DELETE, lambda run: 1 / 0, lambda sentence: sentence)("done").endswith(".")
    assert access.Access().guard(Action.DELETE, lambda run: run)("done") == "done"
