"""What programs may call by name, in each mode, and nothing by number."""

import re
import time

import pytest
from starlette.datastructures import Headers

from playground.ui.auth import access, calls, limiter
from tests.security import pages, table
from tests.security.pages import PUBLIC, called


def test_the_page_s_own_functions_are_called_by_no_number_and_by_no_name(local, figure):
    """On one's own machine, where everything is allowed to the page."""
    offered = set(local.access.endpoints)
    private = {index: item for index, item in local.functions().items() if item.api_name not in offered}
    assert len(private) > 20
    assert {item.api_visibility for item in private.values()} == {"private"}
    answers = []
    with local.nothing_changes(), local.program() as program:
        for index, item in private.items():
            data = {"data": pages.arguments(item)}
            by_number = {**data, "fn_index": index, "session_hash": "mine"}
            for way in ("queue/join", "run/predict"):
                answers.append((403, program.post(f"gradio_api/{way}", json=by_number)))
            for way in (f"call/{index}", f"call/v2/{index}", f"run/{index}", f"api/{index}", f"api/{item.api_name}"):
                answers.append((404, program.post(f"gradio_api/{way}", json=by_number)))
            for way in (f"call/{item.api_name}", f"call/v2/{item.api_name}", f"run/{item.api_name}"):
                answers.append((404, program.post(f"gradio_api/{way}", json=data)))
        for component, name, _ in local.server_functions():
            answers.append((403, pages.ask(program, component, name, "done")))
        answers.append((403, program.post("gradio_api/queue/join", json={"fn_index": True, "data": [""]})))
    assert [(status, answer.url) for status, answer in answers if answer.status_code != status] == []
    figure("calls of the page's own functions by programs, refused", len(answers), len(answers))


def test_by_name_only_with_the_arguments_that_there_are(local):
    with local.program() as program:
        for name in ("status", "metrics", "samples", "compare", "outcome"):
            assert called(program, name, run="done")["run"] == "done"
        for path, sent, words in table("called")["not callable"]:
            answer = program.post(f"gradio_api/call/{path}", json=sent)
            assert answer.status_code == 422, path
            assert words in answer.json()["error"], path
        for value, kind in ((5, "int"), (["done"], "list"), (None, "NoneType")):
            assert called(program, "status", run=value) == f"run: must be text (got {kind})."
        assert called(program, "status", run="done", wait="x", figures=1).startswith("There is no `figures`.")
        assert called(program, "start", preset=3, settings=[1]).splitlines() == [
            "preset: must be text (got int).",
            'settings: must be an object of settings, such as {"kl.coef": 0.2} (got list).',
        ]


def test_what_runs_hold_is_read_by_their_ids_alone(local):
    with local.nothing_changes(), local.program() as program:
        for name in ("status", "metrics", "samples", "compare", "outcome", "stop"):
            for run in ("../done", "/etc", ".incoming", "", "not-there", "x" * 10_000):
                refusal = called(program, name, run=run)
                assert isinstance(refusal, str), (name, refusal)
                assert re.search("no run|not a run", refusal), (name, refusal)


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
    with classroom.client(address, {"Authorization": "Basic " + "a" * 20}) as proxied:
        assert proxied.get("live/_access").json()["role"] == "visitor"


@pytest.mark.parametrize(
    "settings",
    [
        {f"kl.coef.a{number}": 1 for number in range(9_000)},
        {f"a{number}": number for number in range(9_000)},
        {f"{'a.' * 4_900}b{number}": 1 for number in range(90)},
    ],
    ids=["below a number", "unknown", "deep"],
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


def test_agents_are_offered_nothing_where_the_page_was_not_started_for_them(local):
    with local.program() as program:
        for method in ("GET", "POST", "DELETE"):
            for path in ("", "/", "/http", "/sse", "/schema", "/messages/"):
                assert program.request(method, f"gradio_api/mcp{path}").status_code == 404


@pytest.mark.parametrize(("address", "sent", "by_page", "status"), table("called")["calls"])
def test_by_which_way_a_function_is_called_is_known_by_address_number_and_sender(address, sent, by_page, status):
    headers = {"Origin": "http://127.0.0.1"} if by_page else {}
    offered = {"status": calls.Endpoint(7, ("run",), ("run",))}
    refusal = calls.refusal_of(f"/gradio_api/{address}", Headers(headers), sent, offered)
    assert (refusal and refusal[0]) == status
