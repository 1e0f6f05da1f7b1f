"""The host's token: what it opens, how it is guessed in vain, and where it never turns up."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.testclient import TestClient

from playground.errors import InvalidConfig, NotAllowed
from playground.ui import serving
from playground.ui.auth import limiter, sharing, visitors
from playground.ui.auth.access import Access, Action, Role
from tests.security import pages
from tests.support import PROJECT, run_async, wait_until
from tests.ui.conftest import START_SECONDS, free_port


def knock(page, token, headers=None):
    """The answer to who opens the host's address with a token."""
    return httpx.get(page.url + "host", params={"token": token}, headers=headers, timeout=60)


def test_the_address_with_the_token_makes_the_host_and_takes_the_token_out_of_the_address(classroom):
    answer = knock(classroom, pages.TOKEN)
    assert answer.status_code == 303
    assert answer.headers["location"] == "./"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert pages.TOKEN not in cookie
    with classroom.client() as anybody, classroom.host() as host:
        assert anybody.get("live/_access").json()["role"] == "visitor"
        assert host.get("live/_access").json()["role"] == "host"


@pytest.mark.parametrize("cookie", ["", "0" * 64, pages.TOKEN, "é", "x" * 5000])
def test_a_made_up_cookie_makes_no_host(cookie, classroom):
    with classroom.client(headers={"Cookie": f"{visitors.HOST_COOKIE}={cookie}".encode()}) as client:
        assert client.get("live/_access").json()["role"] == "visitor"


def test_wrong_tokens_are_refused_and_then_have_to_wait(classroom, figure):
    forwarded = {"X-Forwarded-For": "93.184.217.1"}
    wrong = ["", pages.TOKEN[:-1], pages.TOKEN + "x", pages.TOKEN.upper(), "a" * 10_000, *map(str, range(5))]
    assert len(wrong) == limiter.PER_MINUTE["wrong tokens"]
    answers = [knock(classroom, token, forwarded) for token in wrong]
    assert [answer.status_code for answer in answers] == [403] * len(wrong)
    assert not any("set-cookie" in answer.headers for answer in answers)
    late = knock(classroom, "once more", forwarded)
    assert late.status_code == 429
    assert late.headers["retry-after"] == "60"
    assert "set-cookie" not in late.headers
    other = {"X-Forwarded-For": "93.184.217.2"}
    assert knock(classroom, "another's", other).status_code == 403
    for headers in (forwarded, other):  # the host is not kept out by somebody who guesses, not even beside them
        assert knock(classroom, pages.TOKEN, headers).status_code == 303
    figure("guessed tokens refused", len(wrong) + 1, len(answers) + 1)


def test_only_a_proxy_that_is_named_is_believed_the_address_of_a_client(tmp_path, recorded, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "127.0.0.5")  # as docs/security.md tells whoever has a proxy elsewhere
    with pages.served("classroom", tmp_path, recorded) as page:

        def guess(proxy, address, times):
            """The last answer to so many guesses, all passed on by a proxy for one client."""
            transport = httpx.HTTPTransport(local_address=proxy)
            with httpx.Client(transport=transport, headers={"X-Forwarded-For": address}) as client:
                for _ in range(times):
                    answer = client.get(page.url + "host", params={"token": "guessed"})
            return answer.status_code

        for proxy, of_another in (("127.0.0.5", 403), ("127.0.0.6", 429)):
            assert guess(proxy, "93.184.217.1", limiter.PER_MINUTE["wrong tokens"] + 1) == 429
            assert guess(proxy, "93.184.217.2", 1) == of_another


def test_a_page_without_a_host_has_none(tmp_path):
    with TestClient(Starlette(routes=[Route("/host", Access("space", tmp_path).enter)])) as client:
        for token in ("", "x" * 40):
            answer = client.get("/host", params={"token": token}, follow_redirects=False)
            assert answer.status_code == 404
            assert "set-cookie" not in answer.headers


def test_a_token_is_made_for_a_class_taken_from_the_environment_and_removed_there():
    made = {visitors.token_for("classroom", {}) for _ in range(20)}
    assert len(made) == 20
    assert all(len(token) >= 32 for token in made)
    assert visitors.token_for("local", {}) == visitors.token_for("space", {}) == ""
    environment = {visitors.TOKEN_VARIABLE: "a-token-of-the-teacher"}
    assert visitors.token_for("space", environment) == "a-token-of-the-teacher"
    assert environment == {}
    with pytest.raises(InvalidConfig, match="at least 20 characters"):
        visitors.token_for("classroom", {visitors.TOKEN_VARIABLE: "short"})


def test_the_host_of_a_class_goes_on_after_a_restart_by_a_file_that_makes_nobody_the_host(tmp_path):
    def restarted(token, **options):
        return serving.rules("classroom", tmp_path, token, **options)

    def is_host(rules, cookie):
        return rules.caller(_connection({visitors.HOST_COOKIE: cookie}, "1.1.1.1")).role is Role.HOST

    first = restarted("first" * 5, keeps_host=True)
    run_async(first.enter(_connection({}, "1.1.1.1", query="token=wrong")))
    assert not (tmp_path / visitors.HOSTS_FILE).exists()
    answer = run_async(first.enter(_connection({}, "1.1.1.1", query="token=" + "first" * 5)))
    cookie = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
    kept = tmp_path / visitors.HOSTS_FILE
    assert kept.stat().st_mode & 0o777 == 0o600
    assert cookie not in kept.read_text()
    assert is_host(restarted("second" * 5, keeps_host=True), cookie)
    for wrong in ("", "0" * 64, *kept.read_text().split()):
        assert not is_host(restarted("second" * 5, keeps_host=True), wrong)
    assert not is_host(restarted("lasting" * 5), cookie)  # the owner's own token, which may be a changed one
    hashed, at = kept.read_text().split()
    for text in (f"{hashed} {int(at) - visitors.COOKIE_SECONDS}", f"{hashed} \u00b2", hashed, "\xff", ""):
        kept.write_text(text)
        assert not is_host(restarted("second" * 5, keeps_host=True), cookie)


def test_visitors_are_kept_as_hashes_that_need_the_page_s_own_key(tmp_path):
    connection = _connection({visitors.VISITOR_COOKIE: "c" * 30}, "93.184.216.34")
    first = Access("space", tmp_path).caller(connection).visitor
    assert first == Access("space", tmp_path).caller(connection).visitor  # after a restart too
    (tmp_path / "other").mkdir()
    assert first != Access("space", tmp_path / "other").caller(connection).visitor
    assert (tmp_path / visitors.KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert not re.search("c{30}|93.184.216.34", str(first))


def test_without_a_request_a_caller_is_a_visitor():
    for mode in ("classroom", "space"):
        rules = Access(mode)
        assert rules.caller(None).role is Role.VISITOR
        assert rules.guard(Action.DELETE, lambda run: 1 / 0, lambda sentence: sentence)("done").endswith(".")
    assert Access().guard(Action.DELETE, lambda run: run)("done") == "done"


ADDRESSES = """
    no 10.0.0.9 1.1.1.1,93.184.216.34 10.0.0.9
    yes 10.0.0.9 1.1.1.1,93.184.216.34,10.0.0.7 93.184.216.34
    yes 10.0.0.9 x 10.0.0.9
    yes 10.0.0.9 2606:2800:220:1::7 2606:2800:220:1::/64
    no 2001:db8:1:2:ffff:ffff:ffff:ffff - 2001:db8:1:2::/64
    no 2001:db8:1:3::1 - 2001:db8:1:3::/64
    no ::ffff:93.184.216.34 - 93.184.216.34
    no fe80::1%eth0 - fe80::/64
    no testclient - testclient
"""


@pytest.mark.parametrize("case", ADDRESSES.strip().splitlines())
def test_an_address_is_the_last_public_one_behind_a_proxy_and_all_of_an_ipv6_subscriber_s(case):
    proxied, peer, passed_on, counted = case.split()
    connection = _connection({}, peer, {"X-Forwarded-For": passed_on})
    assert visitors.address_of(connection, proxied=proxied == "yes") == counted


def test_a_subscriber_has_the_quotas_of_one():
    """Sixty starts a minute: the next one is refused from any address of the same /64, and none of another."""
    rules = Access("space")
    one, other = ([_connection({}, f"2606:2800:220:{net}::{number:x}") for number in range(61)] for net in (1, 2))
    for connection in one[:60]:
        rules.demand(connection, Action.START)
    with pytest.raises(NotAllowed):
        rules.demand(one[60], Action.START)
    rules.demand(other[0], Action.START)


def test_cookies_cross_sites_only_where_the_page_is_shown_inside_another():
    plain, safe = _connection({}, "1.1.1.1"), _connection({}, "1.1.1.1", {"X-Forwarded-Proto": "https"})
    assert "SameSite=Lax" in Access("space").new_visitor_cookie(plain)
    assert "Secure; SameSite=None; Partitioned" in Access("space").new_visitor_cookie(safe)
    assert Access("classroom").new_visitor_cookie(safe) is None
    assert Access().new_visitor_cookie(safe) is None
    knocks = _connection({}, "1.1.1.1", {"X-Forwarded-Proto": "https"}, f"token={pages.TOKEN}")
    for mode, sites in (("classroom", "Secure; SameSite=Lax"), ("space", "Secure; SameSite=None; Partitioned")):
        answer = run_async(Access(mode, None, pages.TOKEN).enter(knocks))
        assert answer.headers["set-cookie"].endswith(sites)


def _connection(cookies, address, headers=None, query=""):
    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    raw += [(b"cookie", f"{name}={value}".encode()) for name, value in cookies.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query.encode(), "scheme": "http"}
    return Request({**scope, "headers": raw, "client": (address, 1), "server": ("127.0.0.1", 80)})


def test_the_terminal_shows_the_host_s_address_in_a_class_only(tmp_path):
    share = ["http://192.168.1.5:7860/"]
    shown = sharing.greeting("http://127.0.0.1:7860/", share, "classroom", "T0KEN", tmp_path)
    assert "http://127.0.0.1:7860/host?token=T0KEN" in shown
    assert "http://192.168.1.5:7860/host?token=T0KEN" in shown
    assert shown.index("host?token") < shown.index("class/desk") < shown.index("Everyone else opens")
    assert "    http://192.168.1.5:7860/class\n" in shown
    for mode in ("local", "space"):
        assert "T0KEN" not in sharing.greeting("http://127.0.0.1:7860/", [], mode, "T0KEN", tmp_path)
    assert sharing.addresses("192.168.1.5", 7860, "classroom") == share
    assert sharing.addresses("0.0.0.0", 7860, "local") == []


@pytest.mark.nightly
def test_the_token_turns_up_nowhere(tmp_path, figure):
    """A web process of its own with a token in its environment: it is used, and then looked for everywhere."""
    token, outputs, log = f"canary{secrets.token_hex(16)}", tmp_path / "outputs", tmp_path / "server.log"
    port = free_port()
    with open(log, "wb") as file:
        command = [sys.executable, "-m", "tests.ui.fake_server", "--port", str(port), "--mode", "space"]
        around = {**os.environ, visitors.TOKEN_VARIABLE: token, "PLAYGROUND_TEST_SECONDS_PER_UPDATE": "0.2"}
        printed = {"stdout": file, "stderr": subprocess.STDOUT}
        process = subprocess.Popen([*command, "--outputs", str(outputs)], cwd=PROJECT, env=around, **printed)
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_until(lambda: _answers(url, process), START_SECONDS)
        with httpx.Client(base_url=url, timeout=60, headers={"Origin": url.rstrip("/")}) as host:
            assert host.get("host", params={"token": token}).status_code == 303
            assert host.get("live/_access").json()["role"] == "host"
            run = _started_by(host)
            by_program = {"Authorization": f"Bearer {token}"}
            asked = httpx.post(f"{url}gradio_api/call/v2/stop", json={"run": run}, headers=by_program, timeout=60)
            assert asked.status_code == 200
            found = _everywhere(host, run, outputs, log, process.pid)
    finally:
        process.terminate()
        process.wait(30)
    found["log at the end"] = log.read_bytes()
    assert len(found) > 20
    seen = [place for place, text in found.items() if token.encode() in text]
    assert seen == []
    figure("places searched for the host's token, free of it", len(found), len(found) - len(seen))


def _answers(url, process):
    assert process.poll() is None
    try:
        return httpx.get(url + "live/_home", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _started_by(host):
    """Press Start, which is known by what it takes and gives."""
    for item in host.get("config").json()["dependencies"]:
        clicked = any(target[1] == "click" for target in item["targets"])
        if clicked and len(item["inputs"]) > 50 and len(item["outputs"]) == 3:
            view = pages.call(host, item["id"], pages.form_values())["output"]["data"][0]
            if isinstance(view, dict) and view.get("run"):
                return view["run"]
    raise AssertionError("the Start button was not found")


def _everywhere(host, run, outputs: Path, log: Path, server: int) -> dict[str, bytes]:
    """Every file of the outputs folder, every answer of ours, the page, the log, command lines and environments."""
    found: dict[str, bytes] = {"log": log.read_bytes()}
    of_run = "poll compare log metrics.csv samples.csv export/yaml export/trl export/html outcome"
    paths = ["", *"config gradio_api/info live/_access live/_home live/_runs theme.css".split()]
    for path in [*paths, *(f"live/{run}/{kind}" for kind in of_run.split())]:
        found[f"answer /{path}"] = host.get(path).content
    for path in outputs.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(outputs))] = path.read_bytes()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found[f"command line of {folder.name}"] = (folder / "cmdline").read_bytes()
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == server:  # what the server has started; its own was given the token
                found[f"environment of {folder.name}"] = (folder / "environ").read_bytes()
        except OSError:
            continue
    return found
