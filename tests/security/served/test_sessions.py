"""Sessions that strangers make up: only names like those of Gradio's own pages, and none is kept for good."""

import asyncio
import secrets

from gradio.routes import file_upload_statuses

from playground.ui.auth import incoming, sessions
from tests.security import pages
from tests.support import wait_until

LONG = "x" * 50_000  # as much as a watcher may send
NAMES = [LONG, "", "a b", "a/b", "ä", "x" * 65, "a\n", 7, ["a"], {"a": 1}]


def waiting(page):
    """What Gradio holds under the names of sessions."""
    queue = page.running.demo._queue
    held = (queue.pending_messages_per_session, queue.pending_event_ids_session, page.gradio.state_holder.session_data)
    return [set(names) for names in held]


def calls(page):
    """Every way to call a handler: address and body, without the session."""
    handler = {"fn_index": page.index_of("start_run"), "data": []}
    number, name, _ = page.server_functions()[0]
    function = {"data": None, "fn_name": name, "component_id": number}
    yield from (("queue/join", handler), ("run/predict", handler), ("run/predict/", handler))
    yield from (("component_server", function), ("component_server/", function))
    yield from (("call/presets", {"data": [""]}), ("call/presets/", {"data": [""]}))
    yield "cancel", {"fn_index": handler["fn_index"], "event_id": "a"}


def stream(client, address, params=None):
    """What a stream begins with: one that is let in goes on for ever."""
    with client.stream("GET", address, params=params) as answer:
        if answer.status_code == 400:
            answer.read()
        return answer


def left_after_a_look(page, before):
    """What one look through Gradio's memory leaves, on its own event loop."""
    looking = sessions.drop_unread(page.running.demo._queue, before)
    return asyncio.run_coroutine_threadsafe(looking, page.running.demo._loop).result()


def join(client, page, *names):
    """Ask for the points to fork at, under these names of sessions."""
    for name in names:
        body = {"fn_index": page.index_of("choose_at_load"), "data": [], "session_hash": name}
        assert client.post("gradio_api/queue/join", json=body).status_code == 200


def test_a_session_by_another_name_than_a_page_gives_is_refused_and_forgotten(classroom, figure):
    before, answers = waiting(classroom), []
    with classroom.client() as stranger:
        for name in NAMES:
            for address, body in calls(classroom):
                answers.append(stranger.post(f"gradio_api/{address}", json={**body, "session_hash": name}))
            if isinstance(name, str):
                answers.append(stream(stranger, "gradio_api/queue/data", {"session_hash": name}))
                if name.isprintable() and "/" not in name:
                    answers.append(stream(stranger, f"gradio_api/heartbeat/{name}"))
        twice = b'{"session_hash": "good", "data": [], "fn_index": 0, "session_hash": "not good"}'
        answers.append(stranger.post("gradio_api/queue/join", content=twice, headers={"Content-Type": "text/plain"}))
    refused = [answer for answer in answers if answer.status_code == 400 and answer.json()["error"] == sessions.REFUSED]
    figure("sessions by names that no page gives, refused", len(answers), len(refused))
    assert all(now <= earlier for now, earlier in zip(waiting(classroom), before, strict=True))  # old ones may be gone
    assert all(len(answer.text) < 1000 for answer in answers)  # the name is not sent back either


def test_names_as_pages_and_programs_give_them_are_let_in():
    for name in ("k3jd9fj2ls", "0b3b9f52-3f5c-4b0c-9a55-0f9be2a3c2f7", "a" * 64, "A_b"):
        assert not sessions.refusal_of("/gradio_api/queue/data", f"session_hash={name}".encode())
        assert not sessions.refusal_of(f"/gradio_api/heartbeat/{name}", b"")
    for body in (b"", b"{", b"[1]", b'{"data": []}', b'{"session_hash": null}', b"[" * 9_000):
        assert not sessions.refusal_of("/gradio_api/run/predict", b"", body)


def test_unread_answers_are_dropped_and_calls_at_work_stay(classroom):
    """Calls whose answers nobody reads, under ten names, and a hundred times under one, and by name; and one still at
    work."""
    queue = classroom.running.demo._queue
    with classroom.client() as stranger:
        unread = [secrets.token_hex(6) for _ in range(10)]
        join(stranger, classroom, *[unread[0]] * 100, *unread)
        for name, body in (("status", {"data": ["done", 0]}), ("v2/status", {"run": "done"})):
            unread.append(stranger.post(f"gradio_api/call/{name}", json=body).json()["event_id"])
    wait_until(lambda: not queue.event_ids_to_events)
    queue.event_ids_to_events["e"] = type("Event", (), {"session_hash": "slow"})()
    queue.pending_event_ids_session["slow"] = {"e"}
    first = left_after_a_look(classroom, {})
    queue.pending_event_ids_session[unread[1]] = {"a new call"}
    second = left_after_a_look(classroom, first)
    del queue.event_ids_to_events["e"]
    assert {*unread, "slow"} <= first.keys()
    assert first[unread[0]][0] > 100
    assert {*unread, "slow"} & second.keys() == {unread[1], "slow"}  # in which something has happened in between
    assert not left_after_a_look(classroom, second).keys() & {*unread, "slow"}
    assert not {*unread, "slow"} & {*queue.pending_messages_per_session, *queue.pending_event_ids_session}


def test_calls_that_wait_for_a_client_that_reads_nothing_are_dropped(classroom):
    """And those of a page that reads stay, however long they wait."""
    queue = classroom.running.demo._queue
    limits = {key: events.concurrency_limit for key, events in queue.event_queue_per_concurrency_id.items()}
    for events in queue.event_queue_per_concurrency_id.values():
        events.concurrency_limit = 0
    with classroom.client() as stranger:
        join(stranger, classroom, "read", "unread")
    unread = left_after_a_look(classroom, {})
    reading = queue.pending_messages_per_session["read"].get()  # what Gradio's stream of messages does
    asyncio.run_coroutine_threadsafe(reading, classroom.running.demo._loop).result()
    left_after_a_look(classroom, unread)
    left = {event.session_hash for event in queue.event_ids_to_events.values()}
    for key, limit in limits.items():
        queue.event_queue_per_concurrency_id[key].concurrency_limit = limit
    assert unread["read"][0] == unread["unread"][0] == 1
    assert left == {"read"}
    assert len(queue) <= 1


def test_the_watch_over_sessions_runs_while_the_page_does(monkeypatch, tmp_path):
    monkeypatch.setattr(sessions, "UNREAD_SECONDS", 0.05)
    with pages.served("local", tmp_path, tmp_path / "recorded") as page:
        calls = page.running.demo._queue.pending_event_ids_session
        calls["gone"] = {"a call"}
        wait_until(lambda: "gone" not in calls)


def test_the_name_of_an_upload_is_not_kept(space, monkeypatch):
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, space.running.demo.serving.incoming.told)
    with space.visitor() as visitor:
        sent = visitor.post(f"gradio_api/upload?upload_id={LONG}", files={"files": ("a.txt", b"one")})
        assert (sent.status_code, len(sent.json())) == (200, 1)
        assert visitor.get("gradio_api/upload_progress", params={"upload_id": LONG}).status_code == 404
    assert not file_upload_statuses._statuses
    assert not file_upload_statuses._signals
