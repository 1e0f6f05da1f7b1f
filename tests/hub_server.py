"""The hub in small, on this machine, for `huggingface_hub` itself to talk to: models, an account, Spaces, commits, and
what it refuses. What it knows of Spaces are the facts of docs/spaces.md; it takes all files in the commit.
"""

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import yaml

from tests.model_folders import NUM_WEIGHTS

COMMIT = "1234567890" * 4
TOKEN = "hf_of_the_tests"
ZERO_SPACES = 2  # of a free account


class Asked(NamedTuple):
    """A request."""

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


@dataclass
class Space:
    """One repository."""

    sdk: str
    hardware: str
    files: dict[str, bytes] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


class Account:
    """The user `me`, with a free account, and their Spaces. `answer` is for `serving`."""

    def __init__(self):
        self.spaces = dict[str, Space]()

    def answer(self, request):
        """One request. Raises: Refused."""
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "Invalid username or password.")
        here, lines = f"http://{request.headers['Host']}", [json.loads(line) for line in request.data.splitlines()]
        if request.path == "api/whoami-v2":
            return {"name": "me", "type": "user", "isPro": False}
        if request.path == "api/validate-yaml":
            return {"warnings": []}
        if request.path == "api/repos/create":
            return self._created(lines[0], here)
        owner, name, rest = [*request.path.removeprefix("api/spaces/").split("/", 2), ""][:3]
        if f"{owner}/{name}" not in self.spaces:
            raise Refused(404, "Repository not found", "RepoNotFound")
        space = self.spaces[f"{owner}/{name}"]
        kind = rest.partition("/")[0]
        if kind == "variables":
            space.variables[lines[0]["key"]] = lines[0]["value"]
            return {}
        if kind == "tree":
            files = space.files.items()
            return [{"type": "file", "path": path, "oid": "0" * 40, "size": len(data)} for path, data in files]
        if kind == "preupload":
            usual = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            return {"files": [{"path": item["path"], **usual} for item in lines[0]["files"]]}
        if kind == "commit":
            for key, value in (line.values() for line in lines):
                if key == "file":
                    space.files[value["path"]] = base64.b64decode(value["content"])
                elif key == "deletedFile":
                    del space.files[value["path"]]
            return {"commitUrl": f"{here}/spaces/{owner}/{name}/commit/{COMMIT}", "commitOid": COMMIT, "hookOutput": ""}
        return {"id": f"{owner}/{name}", "sha": COMMIT, "private": False, "tags": [], "siblings": []}

    def _created(self, sent, here):
        owner, hardware = sent["organization"] or "me", sent["hardware"]
        name = f"{owner}/{sent['name']}"
        if owner != "me":
            raise Refused(403, f'You don\'t have the rights to create a space under the namespace "{owner}".')
        if name in self.spaces:
            raise Refused(409, "You already created this space repo", url=f"{here}/spaces/{name}")
        if sum(space.hardware == hardware for space in self.spaces.values()) >= ZERO_SPACES:
            raise Refused(402, "You have reached the number of ZeroGPU Spaces of your account")
        self.spaces[name] = Space(sent["sdk"], hardware)
        return {"url": f"{here}/spaces/{name}"}


def header_of(readme):
    """What the hub reads at its top."""
    return yaml.safe_load(readme.split("---\n", 2)[1])
