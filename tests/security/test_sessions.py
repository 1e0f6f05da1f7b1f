"""Sessions that strangers make up: only names like those of Gradio's own pages, and none is kept for good."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from playground.ui.door import sessions
from tests.security import pages
from tests.support import run_async, wait_until
from tests.ui.conftest import recorded  # noqa: F401

LONG = "x" * 50_000  # as much as a watcher may send
NAMES = [LONG, "", "a b", "a/b", "ä", "x" * 65, "a\n", 7, ["a"], {"a": 1}]


def waiting(page):
    """What Gradio holds under the names of sessions."""
    queue = page.running.demo._queue
    held = (queue.pending_messages_per_session, queue.pending_event_ids_session, page.gradio.state_holder.session_data)
    return [set(names) for names in held]


def calls(page):
    """Every way to call a handler: address and body, without the session."""
    index = page.index_of("start_run")
    number, name, _ = page.server_functions()[0]
    return [
        ("queue/join", {"fn_index": index, "data": []}),
        ("run/predict", {"fn_index": index, "data": []}),
        ("run/predict/", {"fn_index": index, "data": []}),
        ("component_server", {"data": None, "fn_name": name, "component_id": number}),
        ("component_server/", {"data": None, "fn_name": name, "component_id": number}),
        ("cancel", {"fn_index": index, "event_id": "a"}),
    ]


def asked(client, address, params=None):
    """What a stream begins with: one that is let in goes on for ever."""
    with client.stream("GET", address, params=params) as answer:
        if answer.status_code == 400:
            answer.read()
        return answer


@pytest.mark.parametrize("mode", ["classroom", "space", "local"])
def test_a_session_by_another_name_than_a_page_gives_is_refused_and_forgotten(mode, request, figure):
    page = request.getfixturevalue(mode)
    before, answers = waiting(page), []
    with page.client() as stranger:
        for name in NAMES:
            for address, body in calls(page):
                answers.append(stranger.post(f"gradio_api/{address}", json={**body, "session_hash": name}))
            if isinstance(name, str):
                answers.append(asked(stranger, "gradio_api/queue/data", {"session_hash": name}))
                if name.isprintable() and "/" not in name:
                    answers.append(asked(stranger, f"gradio_api/heartbeat/{name}"))
        twice = b'{"session_hash": "good", "data": [], "fn_index": 0, "session_hash": "not good"}'
        answers.append(stranger.post("gradio_api/queue/join", content=twice, headers={"Content-Type": "text/plain"}))
    refused = [answer for answer in answers if answer.status_code == 400 and answer.json()["error"] == sessions.REFUSED]
    figure("sessions by names that no page gives, refused", len(answers), len(refused))
    assert waiting(page) == before
    assert all(len(answer.text) < 1000 for answer in answers)  # the name is not sent back either


def test_names_as_pages_and_programs_give_them_are_let_in():
    for name in ("k3jd9fj2ls", "0b3b9f52-3f5c-4b0c-9a55-0f9be2a3c2f7", "a" * 64, "A_b"):
        assert not sessions.problem_of("/gradio_api/queue/data", f"session_hash={name}".encode())
        assert not sessions.problem_of(f"/gradio_api/heartbeat/{name}", b"")
    for body in (b"", b"{", b"[1]", b'{"data": []}', b'{"session_hash": null}', b"[" * 9_000):
        assert not sessions.problem_of("/gradio_api/run/predict", b"", body)


def test_what_nobody_fetches_is_dropped_and_what_is_being_made_stays(local):
    """Calls whose answers nobody reads, under ten names, and a hundred times under one; and one still at work."""
    queue, index = local.running.demo._queue, local.index_of("start_run")
    with local.client() as stranger:
        unread = [secrets.token_hex(6) for _ in range(10)]
        for name in [*unread, *[unread[0]] * 100]:
            body = {"fn_index": index, "data": [], "session_hash": name}
            assert stranger.post("gradio_api/queue/join", json=body).status_code == 200

        async def look():
            while queue.event_ids_to_events:  # until all have failed for want of arguments
                await asyncio.sleep(0.01)
            slow = type("Event", (), {"session_hash": "slow"})()
            queue.event_ids_to_events["e"] = slow
            queue.pending_event_ids_session["slow"] = {"e"}
            first = sessions._forget(queue, {})
            queue.pending_event_ids_session[unread[1]] = {"a new call"}
            second = sessions._forget(queue, first)
            del queue.event_ids_to_events["e"]
            return first, second, sessions._forget(queue, second)

        loop = local.running.loop()
        first, second, third = asyncio.run_coroutine_threadsafe(look(), loop).result(60)
    assert set(unread) <= first.keys() and "slow" not in first and first[unread[0]][0] > 100
    assert set(unread) & second.keys() == {unread[1]}  # in which something has happened in between
    assert "slow" in third and not {*unread} & {*queue.pending_messages_per_session, *queue.pending_event_ids_session}
    queue.pending_event_ids_session.pop("slow")


def test_calls_that_wait_for_somebody_who_reads_nothing_are_dropped(local):
    """And those of a page that reads stay, however long they wait."""
    queue, index = local.running.demo._queue, local.index_of("start_run")

    async def looked_through(read):
        unread = await sessions._drop_given_up(queue, {})
        await read.get()  # what Gradio's stream of messages does
        return unread, await sessions._drop_given_up(queue, unread)

    with local.client() as stranger:
        for name in ("first", "read", "unread"):
            body = {"fn_index": index, "data": [], "session_hash": name}
            assert stranger.post("gradio_api/queue/join", json=body).status_code == 200
            if name == "first":
                wait_until(lambda: not queue.event_ids_to_events)
                limits = {key: events.concurrency_limit for key, events in queue.event_queue_per_concurrency_id.items()}
                for events in queue.event_queue_per_concurrency_id.values():
                    events.concurrency_limit = 0
        looked = looked_through(queue.pending_messages_per_session["read"])
        unread, after = asyncio.run_coroutine_threadsafe(looked, local.running.loop()).result(60)
        left = {event.session_hash for event in queue.event_ids_to_events.values()}
        for key, limit in limits.items():
            queue.event_queue_per_concurrency_id[key].concurrency_limit = limit
    assert unread == {"read": 1, "unread": 1} and after == {} and left == {"read"} and len(queue) <= 1


def test_a_page_that_reads_gets_all_its_answers(local):
    """Also when Gradio's memory is looked through between the call and its reading, and again and again."""
    queue, index = local.running.demo._queue, local.index_of("start_run")
    body, left = {"fn_index": index, "data": [], "session_hash": "reads"}, {}
    with local.client() as visitor:
        for _ in range(3):
            assert visitor.post("gradio_api/queue/join", json=body).status_code == 200
            wait_until(lambda: not queue.event_ids_to_events)
            left = sessions._forget(queue, left)
            told = visitor.get("gradio_api/queue/data", params={"session_hash": "reads"}).text
            assert "process_completed" in told and "close_stream" in told


def test_the_watch_over_sessions_runs_while_the_page_does(monkeypatch, tmp_path, recorded):  # noqa: F811
    monkeypatch.setattr(sessions.forget_unread, "__defaults__", (0.05,))
    with pages.served("local", tmp_path, recorded) as page:
        queue = page.running.demo._queue

        async def leave():
            queue.pending_event_ids_session["gone"] = {"a call"}
            while "gone" in queue.pending_event_ids_session:
                await asyncio.sleep(0.01)

        asyncio.run_coroutine_threadsafe(leave(), page.running.loop()).result(60)


def test_gradio_keeps_no_statistics_of_calls():
    from gradio.queueing import Queue

    assert run_async(_limits(Queue)) == (1, 10**9)


async def _limits(kind):
    queue = kind(True, 1, 1.0, None, None)
    return queue.ANALYTICS_MAX_EVENTS, queue.ANAYLTICS_CACHE_FREQUENCY


def test_the_name_of_an_upload_is_not_kept(local):
    from gradio.routes import file_upload_statuses

    with local.client() as visitor:
        sent = visitor.post(f"gradio_api/upload?upload_id={LONG}", files={"files": ("a.txt", b"one")})
        assert sent.status_code == 200 and len(sent.json()) == 1
        assert visitor.get("gradio_api/upload_progress", params={"upload_id": LONG}).status_code == 404
    assert not file_upload_statuses._statuses and not file_upload_statuses._signals
