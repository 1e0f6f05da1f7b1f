"""The host's token: what it opens, and how it is guessed in vain; and how strangers are told apart."""

import os
import re

import httpx
import psutil
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from playground.errors import InvalidConfig
from playground.ui import serving
from playground.ui.auth import limiter, sharing, visitors
from playground.ui.auth.access import Access, Role
from tests.security import DATA, pages
from tests.security.pages import PUBLIC, connection
from tests.support import run_async


def knock(page, token, address=""):
    """The answer to who opens the host's address with a token."""
    with page.program(address=address) as client:
        return client.get("host", params={"token": token})


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
    with classroom.client(headers={"Cookie": f"{classroom.named(visitors.HOST_COOKIE)}={cookie}".encode()}) as client:
        assert client.get("live/_access").json()["role"] == "visitor"


def test_wrong_tokens_are_refused_and_then_have_to_wait_and_the_right_one_is_always_accepted(classroom, figure):
    near, other = f"{PUBLIC}1", f"{PUBLIC}2"
    wrong = ["", pages.TOKEN[:-1], pages.TOKEN + "x", pages.TOKEN.upper(), "a" * 10_000, *map(str, range(5))]
    assert len(wrong) == limiter.PER_MINUTE["wrong tokens"]
    answers = [knock(classroom, token, near) for token in wrong]
    assert [answer.status_code for answer in answers] == [403] * len(wrong)
    late = knock(classroom, "once more", near)
    assert (late.status_code, late.headers["retry-after"]) == (429, "60")
    assert not any("set-cookie" in answer.headers for answer in [*answers, late])
    assert knock(classroom, "another's", other).status_code == 403
    for address in (near, other):  # the host is not kept out by somebody who guesses, not even beside them
        assert knock(classroom, pages.TOKEN, address).status_code == 303
    figure("guessed tokens refused", len(wrong) + 1, len(answers) + 1)


def test_the_token_is_in_no_file_no_answer_no_log_and_no_command_line(classroom, capfd, figure):
    with classroom.host() as host, classroom.program(pages.TOKEN) as program:
        run, _ = pages.start(classroom, host)
        assert pages.called(program, "stop", run=run)["run"] == run
        kinds = "poll compare log metrics.csv samples.csv export/yaml export/trl export/html outcome".split()
        paths = ["", "config", "gradio_api/info", "theme.css", "live/_access", "live/_home", "live/_runs"]
        places = {path: host.get(path).text for path in [*paths, *(f"live/{run}/{kind}" for kind in kinds)]}
    files = [path for path in classroom.outputs.rglob("*") if path.is_file()]
    places |= {str(path): path.read_bytes().decode("latin-1") for path in files}
    places["printed"] = "".join(capfd.readouterr())
    places |= {str(process.pid): str(process.info["cmdline"]) for process in psutil.process_iter(["cmdline"])}
    assert [place for place, text in places.items() if pages.TOKEN in text] == []
    figure("places searched for the host's token, free of it", len(places), len(places))


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
            assert guess(proxy, f"{PUBLIC}1", limiter.PER_MINUTE["wrong tokens"] + 1) == 429
            assert guess(proxy, f"{PUBLIC}2", 1) == of_another


def test_a_page_without_a_host_has_none(tmp_path):
    with TestClient(Starlette(routes=[Route("/host", Access("space", tmp_path).enter)])) as client:
        for token in ("", "x" * 40):
            answer = client.get("/host", params={"token": token}, follow_redirects=False)
            assert answer.status_code == 404
            assert "set-cookie" not in answer.headers


def test_a_token_is_made_for_a_class_taken_from_the_environment_and_removed_there(monkeypatch):
    made = {visitors.token_for("classroom") for _ in range(20)}
    assert len(made) == 20
    assert all(len(token) >= 32 for token in made)
    assert visitors.token_for("local") == visitors.token_for("space") == ""
    monkeypatch.setenv(visitors.TOKEN_VARIABLE, "a-token-of-the-teacher")
    assert visitors.token_for("space") == "a-token-of-the-teacher"
    assert visitors.TOKEN_VARIABLE not in os.environ
    monkeypatch.setenv(visitors.TOKEN_VARIABLE, "short")
    with pytest.raises(InvalidConfig, match="at least 20 characters"):
        visitors.token_for("classroom")


def test_the_host_of_a_class_goes_on_after_a_restart_by_a_file_that_makes_nobody_the_host(tmp_path):
    def restarted(token, **options):
        return serving.rules("classroom", tmp_path, token, **options)

    def is_host(rules, cookie):
        return rules.caller(connection("1.1.1.1", {visitors.HOST_COOKIE: cookie})).role is Role.HOST

    first = restarted("first" * 5, keeps_host=True)
    run_async(first.enter(connection("1.1.1.1", query="token=wrong")))
    assert not (tmp_path / visitors.HOSTS_FILE).exists()
    answer = run_async(first.enter(connection("1.1.1.1", query="token=" + "first" * 5)))
    cookie = answer.headers["set-cookie"].partition(";")[0].partition("=")[2]
    hosts = tmp_path / visitors.HOSTS_FILE
    assert hosts.stat().st_mode & 0o777 == 0o600
    assert cookie not in hosts.read_text()
    assert is_host(restarted("second" * 5, keeps_host=True), cookie)
    for wrong in ("", "0" * 64, *hosts.read_text().split()):
        assert not is_host(restarted("second" * 5, keeps_host=True), wrong)
    assert not is_host(restarted("lasting" * 5), cookie)  # the owner's own token, which may be a changed one
    hashed, at = hosts.read_text().split()
    for text in (f"{hashed} {int(at) - visitors.COOKIE_SECONDS}", f"{hashed} \u00b2", hashed, "\xff", ""):
        hosts.write_text(text)
        assert not is_host(restarted("second" * 5, keeps_host=True), cookie)


def test_visitors_are_kept_as_hashes_that_need_the_page_s_own_key(tmp_path):
    asking = connection("93.184.216.34", {visitors.VISITOR_COOKIE: "c" * 30})
    first = Access("space", tmp_path).caller(asking).visitor
    assert first == Access("space", tmp_path).caller(asking).visitor  # after a restart too
    (tmp_path / "other").mkdir()
    assert first != Access("space", tmp_path / "other").caller(asking).visitor
    assert (tmp_path / visitors.KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert not re.search("c{30}|93.184.216.34", str(first))


@pytest.mark.parametrize("case", (DATA / "client_addresses.txt").read_text(encoding="utf-8").splitlines())
def test_an_address_is_the_last_public_one_behind_a_proxy_and_all_of_an_ipv6_subscriber_s(case):
    way, peer, passed_on, counted = case.split()
    asking = connection(peer, headers={"X-Forwarded-For": passed_on})
    assert visitors.address_of(asking, proxied=way == "proxied") == counted


def test_cookies_cross_sites_only_where_the_page_is_shown_inside_another():
    by_tls = {"X-Forwarded-Proto": "https"}
    plain, safe = connection("1.1.1.1"), connection("1.1.1.1", headers=by_tls)
    assert "SameSite=Lax" in Access("space").new_visitor_cookie(plain)
    assert "Secure; SameSite=None; Partitioned" in Access("space").new_visitor_cookie(safe)
    assert Access("classroom").new_visitor_cookie(safe) is None
    assert Access().new_visitor_cookie(safe) is None
    knocks = connection("1.1.1.1", headers=by_tls, query=f"token={pages.TOKEN}")
    for mode, sites in (("classroom", "Secure; SameSite=Lax"), ("space", "Secure; SameSite=None; Partitioned")):
        answer = run_async(Access(mode, None, pages.TOKEN).enter(knocks))
        assert answer.headers["set-cookie"].endswith(sites)


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
