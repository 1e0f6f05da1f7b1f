"""A public address through Gradio's tunnel: who comes by it is a stranger, whatever they send along. There is no tunnel
here: what one does is send requests from this machine, with the public name and what it says of who sent them."""

import httpx
import pytest
from gradio import networking

from playground.ui import server
from playground.ui.auth import sharing
from playground.ui.auth.access import TABLE, Role
from tests.security import pages
from tests.security.served.test_rights import doors
from tests.support import data_beside
from tests.ui.conftest import free_port
from tests.ui.fake_server import NoStandby

GRANTED = TABLE["classroom", Role.VISITOR].all
PUBLIC = "0123456789abcdef.gradio.live"
AS_IF_FROM_HERE = data_beside(__file__, "tables.yaml")["as_if_from_here"]


@pytest.fixture(scope="module")
def tunnel():
    """What Gradio asked its server for a tunnel with."""
    return {}


@pytest.fixture(scope="module")
def shared(tunnel, tmp_path_factory):
    """A page of one's own, started with `--share`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networking, "setup_tunnel", lambda **settings: tunnel.update(settings) or f"http://{PUBLIC}")
        folder = tmp_path_factory.mktemp("shared")
        with pages.served("local", folder / "outputs", folder, share=True) as page:
            yield page


def through(page, name=PUBLIC, **headers):
    """A client as it reaches the page through the tunnel."""
    return page.client(headers={"Host": name, "Origin": f"https://{name.lower()}", **headers})


def test_a_page_of_one_s_own_becomes_a_class_s_and_the_terminal_says_how_to_be_its_host(shared, tunnel):
    assert (shared.access.mode, tunnel["local_host"]) == ("classroom", "127.0.0.1")
    greeting = shared.running.greeting
    token = shared.running.demo.serving.token
    assert f"    {shared.url}host?token={token}\n" in greeting
    assert f"    https://{PUBLIC}/class\n" in greeting
    assert sharing.SHARED in greeting
    assert f"{PUBLIC}/host" not in greeting


@pytest.mark.parametrize("claim", AS_IF_FROM_HERE)
def test_who_comes_through_the_tunnel_is_a_stranger_whatever_they_claim(shared, claim):
    with through(shared, **AS_IF_FROM_HERE[claim]) as client:
        assert client.get("").status_code == 200
        rights = client.get("live/_access").json()
    assert (rights["role"], rights["share"]) == ("visitor", [])
    assert {name for name, may in rights["may"].items() if may != "no"} == {item.name.lower() for item in GRANTED}


def test_who_comes_through_the_tunnel_watches_and_does_nothing_else(shared, figure):
    claims = {**AS_IF_FROM_HERE["a name"], **AS_IF_FROM_HERE["all"]}
    with shared.nothing_changes(), through(shared, **claims) as client:
        refused = [ask(client) for _, action, ask in doors(shared) if action not in GRANTED]
    figure("calls through a tunnel refused", len(refused), sum(refused))


def test_only_the_name_that_the_tunnel_got_is_answered(shared):
    names = {PUBLIC: 200, f"{PUBLIC.upper()}:443": 200, "other.gradio.live": 421, "gradio.live": 421}
    for name, status in names.items():
        with through(shared, name) as client:
            assert client.get("").status_code == status
    for origin, refused in ((PUBLIC, False), ("other.gradio.live", True)):
        with through(shared, Origin=f"https://{origin}") as client:
            assert (client.post("gradio_api/queue/join", json={}).status_code == 403) == refused


def test_a_shared_page_loads_nothing_from_elsewhere(shared):
    """Gradio's own page for it would, from a server that holds its scripts."""
    with through(shared) as client:
        page = client.get("").text
    assert "amazonaws" not in page
    assert "playground/static/" in page
    assert "./assets/" in page


def test_the_host_has_the_token_wherever_they_are_and_hands_out_the_public_address(shared):
    token = shared.running.demo.serving.token
    with shared.client() as client:
        assert client.get("live/_access").json()["role"] == "visitor"
        client.get("host", params={"token": token})
        rights = client.get("live/_access").json()
    assert (rights["role"], rights["share"]) == ("host", [f"https://{PUBLIC}/"])
    with through(shared, **{"X-Forwarded-Proto": "https"}) as client:
        assert client.get("host", params={"token": "x" * 32}).status_code == 403
        answer = client.get("host", params={"token": token})
        assert answer.status_code == 303
        assert "; Secure" in answer.headers["set-cookie"]


def test_strangers_are_told_apart_by_what_the_tunnel_says_of_them(shared, monkeypatch):
    """The last public address counts: what stands before it, a stranger may have written."""
    monkeypatch.setitem(shared.access.limiter.per_minute, "views", 3)

    def status(passed_on, name=PUBLIC):
        with through(shared, name, **{"X-Forwarded-For": passed_on}) as client:
            return client.get("live/_access").status_code

    first = [status(f"{number}.1.1.1, 93.184.216.34, 10.0.0.7") for number in range(1, 5)]
    assert first == [200, 200, 200, 429]
    assert status("93.184.216.35, 10.0.0.7") == 200
    direct = [status(f"93.184.216.{number}, 10.0.0.8", "127.0.0.1") for number in range(40, 44)]
    assert direct == [200, 200, 200, 429]


def test_a_page_that_a_stranger_s_own_code_launches_gives_no_host_s_rights_away(tmp_path, monkeypatch, capsys):
    """`demo.launch(share=True)` on a page of one's own, and again without, while the old tunnel still leads there."""
    monkeypatch.setattr(networking, "setup_tunnel", lambda **_: f"http://{PUBLIC}")
    monkeypatch.setattr(server, "StandbyWorker", NoStandby)
    demo, port = server.new_demo(tmp_path / "outputs", "local", tmp_path), free_port()
    answers = []
    try:
        for share in (True, False):
            demo.launch(share=share, server_port=port, prevent_thread_lock=True)
            for name in (PUBLIC, f"127.0.0.1:{port}"):
                answer = httpx.get(f"http://127.0.0.1:{port}/live/_access", headers={"Host": name}, timeout=300)
                answers.append((answer.status_code, answer.json().get("role")))
    finally:
        demo.close()
    assert answers == [(200, "visitor"), (200, "visitor"), (421, None), (200, "host")]
    assert f"host?token={demo.serving.token}" in capsys.readouterr().out


def test_without_a_tunnel_the_page_is_a_class_s_and_the_terminal_says_so(tmp_path, monkeypatch):
    def fails(**_):
        raise RuntimeError("Could not get share link from Gradio API Server.")

    monkeypatch.setattr(networking, "setup_tunnel", fails)
    with pages.served("local", tmp_path / "outputs", tmp_path, share=True) as page:
        assert page.access.mode == "classroom"
        assert sharing.NOT_SHARED in page.running.greeting
        assert "Everyone else" not in page.running.greeting
        with through(page) as client:
            assert client.get("").status_code == 421
