"""The page as a part of another app, as `demo.mount` has it: in a browser, and what it is to others there."""

import os
import re
import secrets
import stat
import threading
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import expect

from playground.errors import PlaygroundError
from playground.ui import server
from playground.ui.auth import incoming, sharing, visitors
from tests.security import pages
from tests.security.pages import TOKEN
from tests.support import wait_until
from tests.ui.asking import refused
from tests.ui.conftest import free_port, open_section, visit
from tests.ui.test_browser import SCORE

PATH, CLASS = "/playground", "/class"


@pytest.fixture(scope="module")
def patched():
    """What a process is changed by, for as long as the module takes."""
    with pytest.MonkeyPatch.context() as patch:
        pages.stand_in(patch, "0.05")
        yield patch


@pytest.fixture(scope="module")
def mounted(patched, tmp_path_factory, recorded):
    """An app of a person's own, with one of Gradio's in it, the page, and the page once more for a class."""
    app, folder = FastAPI(), tmp_path_factory.mktemp("mounted")
    app.get("/")(lambda: {"whose": "mine"})
    with gr.Blocks() as beside:
        gr.Button().click(lambda files: len(files), gr.File(file_count="multiple"), gr.Number())
    app = gr.mount_gradio_app(app, beside, path="/beside")
    patched.delenv(visitors.TOKEN_VARIABLE, raising=False)
    demo = server.new_demo(folder / "outputs", "local", recorded)
    app = demo.mount(app, PATH)
    patched.setenv(visitors.TOKEN_VARIABLE, TOKEN)
    app = server.new_demo(folder / "class", "classroom", recorded).mount(app, CLASS)
    patched.delenv(visitors.TOKEN_VARIABLE, raising=False)
    assert not (folder / "outputs").exists()
    assert demo.serving.standby.wanted == 0
    before = os.environ.get(incoming.GRADIO_VARIABLE)
    port = free_port()
    serving = uvicorn.Server(
        uvicorn.Config(app, host="0.0.0.0", port=port, log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    wait_until(lambda: serving.started)
    origin = f"http://127.0.0.1:{port}"
    yield SimpleNamespace(url=f"{origin}{PATH}/", origin=origin, demo=demo, outputs=folder / "outputs", port=port)
    assert os.environ.get(incoming.GRADIO_VARIABLE) == before
    serving.should_exit = True
    thread.join(60)
    assert not thread.is_alive()
    assert not demo.serving.incoming.folder.exists()
    assert demo.serving.standby.closed


def test_from_the_start_to_the_comparison_under_a_path(mounted, make_page):
    page = make_page(height=1000)
    asked = set()
    page.on("request", lambda request: asked.add(request.url.partition("?")[0]))
    visit(page, mounted, "?set=ppo.num_updates:12")
    page.locator("#start").click()
    expect(page.locator(".status .state strong")).to_have_text("finished")
    expect(page.locator(SCORE)).to_have_attribute("aria-label", re.compile("now"))
    open_section(page, "export")
    with page.expect_download() as download:
        page.get_by_role("link", name="metrics").first.click()
    assert "score_mean" in download.value.path().read_text()
    page.locator(".status").get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#compare .outcome")).to_contain_text("95 % interval")
    assert re.search(PATH + r"/\?\S*tab=compare", page.url)
    assert [url for url in asked if not url.startswith((mounted.url, "data:", "blob:"))] == []


def test_the_page_looks_and_answers_as_it_does_by_itself(mounted):
    with httpx.Client(base_url=mounted.url, timeout=60) as client:
        page = client.get("")
        config = client.get("config").json()
        assert page.headers["content-encoding"] == "br"
        assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
        assert 'id="lists"' in page.text
        assert "playground/static/" in page.text
        assert not re.findall(r'(?:href|src)="/[^"]*"', page.text)  # files outside its path
        assert config["footer_links"] == []
        assert config["run_history"] is False
        assert config["show_error"] is False
        for closed in ("monitoring", "gradio_api/file=/etc/passwd", "docs", "openapi.json"):
            assert client.get(closed).status_code == 404
        assert client.get("host").headers["location"] == "./"


def test_a_page_of_one_s_own_is_for_this_computer_whatever_the_app_around_it_listens_on(mounted):
    """By name or by address, and from elsewhere: what a proxy or a tunnel on this computer passes on says so."""
    from_here = {"Host": "127.0.0.1"}
    for headers, status in ((from_here, 200), ({"Host": "localhost"}, 200), *refused("from_elsewhere")):
        answer = httpx.get(mounted.url, headers=headers, timeout=60)
        assert answer.status_code == status, headers
    assert "classroom" in answer.json()["error"]
    for address in sharing.machine_addresses()[:1]:
        url = mounted.url.replace("127.0.0.1", address)
        assert [httpx.get(url, headers=one, timeout=60).status_code for one in ({}, from_here)] == [403, 403]


def test_a_class_s_page_in_another_app_takes_the_token_for_its_own_path_only(mounted):
    url = mounted.origin + CLASS
    answer = httpx.get(f"{url}/host", params={"token": TOKEN}, timeout=60)
    assert "; " + f"Path={CLASS};" in answer.headers["set-cookie"]
    with httpx.Client(timeout=60) as client:
        assert client.get(f"{url}/live/_access").json()["role"] == "visitor"
        client.get(f"{url}/host", params={"token": TOKEN})
        assert client.get(f"{url}/live/_access").json()["role"] == "host"
        assert client.get(f"{mounted.origin}/").json() == {"whose": "mine"}
        assert "playground_host" not in client.get(f"{mounted.origin}/").request.headers.get("cookie", "")


def test_an_app_of_gradio_s_beside_it_is_what_it_was(mounted):
    """Its uploads, several at once, by which it is called; the page takes one file, and keeps what comes to itself."""
    sent = [("files", (f"{name}.txt", b"The film was")) for name in ("a", "b")]
    with httpx.Client(base_url=f"{mounted.origin}/beside/", timeout=60) as client:
        names = client.post("gradio_api/upload", files=sent).json()
        files = [{"path": name, "meta": {"_type": "gradio.FileData"}} for name in names]
        body = {"fn_index": 0, "data": [files], "session_hash": secrets.token_hex(6)}
        assert client.post("gradio_api/run/predict", json=body).json()["data"] == [2]
    with httpx.Client(base_url=mounted.url, timeout=60) as client:
        assert client.post("gradio_api/upload", files=sent).status_code != 200
        (name,) = client.post("gradio_api/upload", files=sent[:1]).json()
    folder = mounted.demo.serving.incoming.folder
    assert name.startswith(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not str(names[0]).startswith(str(folder.parent))


@pytest.mark.parametrize("login", [{"auth": ("me", "secret")}, {"auth_dependency": lambda request: "me"}])
def test_logins_of_gradio_s_are_refused_for_they_would_guard_a_part_of_it(login, tmp_path, patched):
    demo = server.new_demo(tmp_path / "outputs", "local", tmp_path)
    with pytest.raises(PlaygroundError, match="classroom"):
        demo.mount(FastAPI(), PATH, **login)
    with pytest.raises(PlaygroundError, match="mounted in another app"):
        demo.launch()
    other = server.new_demo(tmp_path / "outputs", "local", tmp_path)
    with pytest.raises(PlaygroundError, match=r"demo\.mount"):  # without what guards it
        gr.mount_gradio_app(FastAPI(), other, path=PATH)
    with pytest.raises(PlaygroundError, match="classroom"):
        other.launch(prevent_thread_lock=True, **login)
    assert not list((tmp_path / "outputs" / incoming.FOLDER).iterdir())  # what had begun has ended
