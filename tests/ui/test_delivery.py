"""How answers travel, and what a page asks for: compressed where that is taken, nothing twice, nothing too early."""

import gzip
import json
import re
import urllib.request
from types import SimpleNamespace

import brotli
import pytest

from playground.config.expression_language import FUNCTIONS
from playground.setup.limits import LIMITS
from playground.ui import delivery, own_files, page
from playground.ui.auth.access import Access
from playground.ui.classroom import class_routes
from playground.ui.train import form_parts
from tests.support import run_async, wait_until
from tests.ui.conftest import go, visit

PAGES = {
    "lessons": "lessons/lessons.js",
    "compare": "runs/compare.js",
    "rewards": "rewards/workbench.js",
    "runs": "runs/history.js",
}
SHEET = own_files.address(own_files.SHEET)
TEXT = b"the same words again and again " * 40


def asked(site, path, accepted):
    """Encoding and body of an answer, as they came."""
    request = urllib.request.Request(site.url + path, headers={"Accept-Encoding": accepted} if accepted else {})
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert answer.headers["Vary"] is None or "accept-encoding" in answer.headers["Vary"].lower()
        return answer.headers["Content-Encoding"] or "", answer.read()


def sent(path, body, accepted="br", status=200, kind="text/html", ahead=""):
    """The messages that pass, of an answer in two parts."""
    messages = []

    async def app(scope, receive, send):
        headers = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        half = len(body) // 2
        await send({"type": "http.response.body", "body": body[:half], "more_body": True})
        messages.append("half")
        await send({"type": "http.response.body", "body": body[half:]})

    async def send(message):
        messages.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"accept-encoding", accepted.encode())]}
    run_async(delivery.Delivery(app, ahead)(scope, None, send))
    return messages


@pytest.mark.parametrize(
    "path", ["", "live/_home", own_files.address("core/dom.js"), own_files.address(own_files.SHEET)]
)
def test_the_page_its_files_and_what_it_asks_come_compressed_to_who_takes_that_and_plain_to_others(site, path):
    encoding, plain = asked(site, path, None)
    assert encoding == ""
    for accepted, wanted in (("gzip, br", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), ("identity", "")):
        encoding, body = asked(site, path, accepted)
        assert encoding == wanted
        unpacked = {"br": brotli.decompress, "gzip": gzip.decompress, "": bytes}[wanted](body)
        assert len(unpacked) == pytest.approx(len(plain), rel=0.01)  # a header's figures change from one to the next
        assert wanted == "" or len(body) < len(plain)


def test_who_is_asking_is_told_plainly(site):
    """However long it is: no length of a compressed answer says anything of it."""
    assert asked(site, "live/_access", "br")[0] == ""
    assert sent("/live/_access", TEXT)[0]["headers"] == [(b"content-type", b"text/html")]
    assert b"".join(item["body"] for item in sent("/host", TEXT) if item != "half" and "body" in item) == TEXT


@pytest.mark.parametrize(("status", "kind"), [(200, "text/event-stream"), (200, "font/woff2"), (304, "text/html")])
def test_a_stream_passes_message_by_message_and_what_is_no_text_as_it_is(status, kind):
    start, first, half, second = sent("/live/one", TEXT, status=status, kind=kind)
    assert half == "half"
    assert first["body"] + second["body"] == TEXT
    assert len(start["headers"]) == 1


def test_an_answer_in_parts_is_compressed_as_a_whole_and_says_its_length():
    half, start, whole = sent("/live/one/compare", TEXT, kind="application/json")
    headers = dict(start["headers"])
    assert half == "half"
    assert brotli.decompress(whole["body"]) == TEXT
    assert headers[b"content-length"] == str(len(whole["body"])).encode()
    assert headers[b"vary"] == b"Accept-Encoding"
    assert sent("/live/one/compare", b"short")[-1]["body"] == b"short"


def test_what_the_page_needs_stands_first_in_its_head_and_nowhere_else():
    manifest = b'<link rel="manifest" href="/manifest.json" />'  # of the host's root: none of this page's
    script = b'<script type="%s" crossorigin src="./assets/index-a1.js"></script>'
    data = b'<script%s>window.gradio_config = {"is_colab":%s}</script>'
    gradios = manifest + data % (b"", b"false") + script % b"module"
    held = data % (b' type="module"', b"false") + script % b"held"
    document = b'<html><head>\n<meta charset="utf-8" /> <base href="./" />' + gradios + b"</head>" + TEXT
    for accepted in ("br", ""):
        body = sent("/", document, accepted, ahead="<link>")[-1]["body"]
        whole = brotli.decompress(body) if accepted else body
        assert whole == document.replace(gradios, b"<link>" + held)
    assert sent("/live/one", document, "", ahead="<link>")[-1]["body"] == document
    on_colab = document.replace(b"false", b"true")
    assert data % (b"", b"true") in sent("/", on_colab, "", ahead="<link>")[-1]["body"]


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip, deflate, br, zstd", "br"), ("GZIP;q=0.5", "gzip"), ("br;q=0.000,gzip;q=0", ""), ("*", ""), ("", "")],
)
def test_the_best_encoding_that_a_client_takes(accepted, encoding):
    assert delivery.encoding_of(accepted) == encoding


def test_files_are_compressed_better_once_they_are_asked_for_again():
    files, body = delivery.PackedFiles(), (own_files.STATIC / "core" / "dom.js").read_bytes()
    first = files.packed(body, "br")
    assert len(files.packed(body, "br")) == len(first)  # nobody waits for the better one
    wait_until(lambda: len(files.packed(body, "br")) < len(first))
    assert brotli.decompress(files.packed(body, "br")) == body


def test_what_several_parts_offer_is_in_the_page_once(site):
    offered = {one["kind"] for one in form_parts.lists(Access("space"))["kinds"]}
    assert offered
    assert offered.isdisjoint(LIMITS["space"].refused_rewards)
    lists = form_parts.lists(Access())
    assert len(lists["functions"]) == len(FUNCTIONS)
    text = asked(site, "", None)[1].decode()
    for help_text in (lists["kinds"][0]["help"], lists["functions"][0]["help"]):
        assert text.count(json.dumps(help_text)[1:-1]) == 1


def test_scripts_are_found_by_what_imports_them():
    needed = own_files.needed_by("core/poll.js")
    imported = "poll dom server format language kept sentences signals".split()  # by it, and by what it imports
    assert needed == {f"core/{name}.js" for name in imported}
    sheets = {path.stem for path in (own_files.STATIC / "css").glob("*.css")}
    assert sheets == {*own_files.SHEETS, *class_routes.SHEETS}, "a style sheet that no page would have"


def test_a_visit_asks_for_what_was_named_ahead_and_scripts_of_other_pages_wait_until_they_are_opened(site, make_page):
    opened, addresses = make_page(), []
    opened.on("request", lambda request: addresses.append(request.url.removeprefix(site.url)))
    visit(opened, site)
    text = asked(site, "", None)[1].decode()
    named = set(re.findall(r'<link rel="(?:modulepreload|preload" as="style)" href="([^"]+)"', text))
    files = {address for address in addresses if address.startswith("playground/static/")}
    assert files == named

    def came(name):
        return any(address.endswith(own_files.address(name)) for address in addresses)

    assert came("train/run_view.js")
    assert not any(came(name) for name in PAGES.values())
    for tab, name in PAGES.items():
        go(opened, tab)
        opened.locator(f"#page-{tab} h2:visible").first.wait_for()
        wait_until(lambda name=name: opened.evaluate("1") and came(name))
    scripts = [address for address in addresses if address.endswith(".js")]
    assert len(scripts) == len(set(scripts)), "a script was fetched twice"


def test_page_ahead_is_html_that_holds_no_markup_of_its_lists(monkeypatch, tmp_path):
    monkeypatch.setattr(form_parts, "lists", lambda access: {"kinds": ["</script><b>"]})
    monkeypatch.setattr(page.components, "modules", lambda demo, name: [])

    text = page.ahead(SimpleNamespace(config={"components": []}), Access())
    assert text.count("</script>") == 4
    assert "<b>" not in text
    assert json.loads(re.search(r'id="lists">(.*?)</script>', text)[1]) == {"kinds": ["</script><b>"]}
