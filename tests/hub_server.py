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
            status, content, headers = answer(self.path.split("?")[0].strip("/"))
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_: Any) -> None:
            """Silence."""

    def answer(path: str) -> tuple[int, bytes, dict[str, str]]:
        api, path = path.startswith("api/models/"), path.removeprefix("api/models/")
        name = next((name for name in models if path.startswith(name)), None)
        if name is None:
            return 404, b"", {"X-Error-Code": "RepoNotFound"}
        rest = path.removeprefix(name).strip("/").split("/")
        if rest[0] in ("revision", "tree") and rest[1] not in ("main", COMMIT):
            return 404, b"", {"X-Error-Code": "RevisionNotFound"}
        files = sorted(file for file in models[name].iterdir() if file.is_file())
        if api:
            sizes = [(file.name, file.stat().st_size, _etag(file)) for file in files]
            facts = {"id": name, "sha": COMMIT, "tags": ["license:mit"], "private": False, "gated": name in gated}
            facts["siblings"] = [{"rfilename": file, "size": size} for file, size, _ in sizes]
            facts["safetensors"] = {"parameters": {"BF16": NUM_WEIGHTS}, "total": NUM_WEIGHTS}
            tree = [{"type": "file", "path": file, "size": size, "oid": etag} for file, size, etag in sizes]
            content = json.dumps(tree if rest[0] == "tree" else facts).encode()
            return 200, content, {"Content-Type": "application/json"}
        if name in gated:
            return 403, b"", {"X-Error-Code": "GatedRepo"}
        file = models[name] / rest[-1]
        if not file.is_file():
            return 404, b"", {"X-Error-Code": "EntryNotFound"}
        return 200, file.read_bytes(), {"ETag": f'"{_etag(file)}"', "X-Repo-Commit": COMMIT}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()
