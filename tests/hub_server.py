"""A hub of our own on this machine: serves folders as model repositories, as far as the hub's library asks for them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.model_folders import NUM_WEIGHTS

COMMIT = "1234567890" * 4


@contextlib.contextmanager
def hub(models: dict[str, Path], *, gated: tuple[str, ...] = ()) -> Iterator[str]:
    """Serve `models` (id -> folder); those in `gated` may be seen and not be had. Yields the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve(body=True)

        def do_HEAD(self) -> None:
            self._serve(body=False)

        def log_message(self, *_: Any) -> None:
            """Silence."""

        def _serve(self, body: bool) -> None:
            path = self.path.split("?")[0].strip("/")
            api = path.startswith("api/models/")
            name = next((name for name in models if path.removeprefix("api/models/").startswith(name)), None)
            if name is None:
                return self._answer(404, b"", {"X-Error-Code": "RepoNotFound"}, body)
            rest = path.removeprefix("api/models/").removeprefix(name).strip("/").split("/")
            if rest[0] in ("revision", "tree") and rest[1] not in ("main", COMMIT):
                return self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"}, body)
            files = sorted(file for file in models[name].iterdir() if file.is_file())
            if api and rest[0] == "tree":
                tree = [{"type": "file", "path": f.name, "size": f.stat().st_size, "oid": _etag(f)} for f in files]
                return self._json(tree, body)
            if api:
                facts = {
                    "id": name,
                    "sha": COMMIT,
                    "siblings": [{"rfilename": file.name, "size": file.stat().st_size} for file in files],
                    "tags": ["license:mit"],
                    "private": False,
                    "gated": "manual" if name in gated else False,
                    "safetensors": {"parameters": {"BF16": NUM_WEIGHTS}, "total": NUM_WEIGHTS},
                }
                return self._json(facts, body)
            file = models[name] / rest[-1]
            if name in gated:
                return self._answer(403, b"", {"X-Error-Code": "GatedRepo"}, body)
            if not file.is_file():
                return self._answer(404, b"", {"X-Error-Code": "EntryNotFound"}, body)
            return self._answer(200, file.read_bytes(), {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": COMMIT}, body)

        def _json(self, value: Any, body: bool) -> None:
            self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"}, body)

        def _answer(self, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()
