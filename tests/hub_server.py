"""The hub in small, on this machine, for `huggingface_hub` itself to talk to: its models, and what it refuses."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import yaml

from tests.model_folders import NUM_WEIGHTS

COMMIT = "1234567890" * 4


class Asked(NamedTuple):
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    data: bytes


class File(NamedTuple):
    """An answer that is a file, and its headers."""

    data: bytes
    headers: Mapping[str, str]


class Refused(Exception):
    """An answer other than 200: status, what it says, and the hub's own word for it."""

    def __init__(self, status, message="", code="", url=""):
        super().__init__(message)
        body = {"error": message, "errors": [{"message": message}], "url": url} if isinstance(message, str) else message
        self.status, self.body, self.code = status, body, code


@contextlib.contextmanager
def serving(answer):
    """A server on a port of its own; what is no file is sent as JSON. Yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, parts = 200, {"Content-Type": "application/json"}, urlsplit(self.path)
            try:
                sent = answer(Asked(parts.path.strip("/"), dict(parse_qsl(parts.query)), self.headers, data))
            except Refused as error:
                status, sent, headers["X-Error-Code"] = error.status, error.body, error.code
            if isinstance(sent, File):
                sent, headers = sent.data, dict(sent.headers)
            content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_POST = do_PUT = do_GET

        def log_message(self, *_):
            """Silence."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def hub(models, *, gated=()):
    """Serve `models` (id -> folder); those in `gated` may be seen and not be had. Yields the address."""

    def answer(request):
        api, path = request.path.startswith("api/models/"), request.path.removeprefix("api/models/")
        name = next((name for name in models if path.startswith(name)), None)
        if name is None:
            raise Refused(404, code="RepoNotFound")
        parts = path.removeprefix(name).strip("/").split("/")
        if parts[0] in ("revision", "tree") and parts[1] not in ("main", COMMIT):
            raise Refused(404, code="RevisionNotFound")
        files = sorted(file for file in models[name].iterdir() if file.is_file())
        sizes = [(file.name, file.stat().st_size, _etag(file)) for file in files]
        if api and parts[0] == "tree":
            return [{"type": "file", "path": file, "size": size, "oid": etag} for file, size, etag in sizes]
        if api:
            facts = {"id": name, "sha": COMMIT, "tags": ["license:mit"], "private": False}
            facts["siblings"] = [{"rfilename": file, "size": size} for file, size, _ in sizes]
            facts["safetensors"] = {"parameters": {"BF16": NUM_WEIGHTS}, "total": NUM_WEIGHTS}
            return {**facts, "gated": name in gated}
        if name in gated:
            raise Refused(403, code="GatedRepo")
        file = models[name] / parts[-1]
        if not file.is_file():
            raise Refused(404, code="EntryNotFound")
        return File(file.read_bytes(), {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": COMMIT})

    return serving(answer)


def _etag(file):
    return hashlib.sha1(file.read_bytes()).hexdigest()


def header_of(readme):
    """What the hub reads at its top."""
    return yaml.safe_load(readme.split("---\n", 2)[1])
